"""What cannot be true together, and what can although it looks odd."""

import pytest

from stretto.errors import JobError
from stretto.job import impossible, job_from

SMALLEST = {"model": "resnet", "data": "digits", "task": "classification"}


@pytest.mark.parametrize(
    ("values", "key", "fact"),
    [
        ({"training": {"batch": 4, "accumulate": 5}}, "training.accumulate", "5 micro-batches cannot be made of 4"),
        ({"training": {"batch": 4}, "cluster": {"workers": 5}}, "cluster.workers", "5 workers cannot share 4 samples"),
        (
            {"training": {"batch": 4, "accumulate": 3}, "cluster": {"workers": 2}},
            "training.batch",
            "2 workers with 3 micro-batches each need 6 samples per update, not 4",
        ),
        (
            {"task": "regression", "validation": {"metrics": ["perplexity"]}},
            "validation.metrics.0",
            "perplexity needs classes",
        ),
        ({"validation": {"metrics": ["accuracy", "accuracy"]}}, "validation.metrics.1", "given twice"),
        (
            {"validation": {"metrics": [{"name": "accuracy", "top": 5}]}},
            "validation.metrics.0.top",
            "accuracy takes no arguments",
        ),
        ({"checkpoint": {"best": "accurcy"}}, "checkpoint.best", 'did you mean "accuracy"'),
        ({"checkpoint": {"best": "perplexity"}}, "checkpoint.best", "or add it to validation.metrics"),
        (
            {"checkpoint": {"best": "F1Score"}, "validation": {"metrics": ["F1Score"]}},
            "checkpoint.best",
            "write {name: F1Score, higher: true}",
        ),
        ({"checkpoint": {"best": {"name": "loss", "higher": True}}}, "checkpoint.best.higher", "lower loss is better"),
        ({"stop": {"target": {"perplexity": 3}}}, "stop.target.perplexity", 'metric "perplexity" is unknown'),
        ({"stop": {"target": {"accuracy": 99}}}, "stop.target.accuracy", "lies between 0 and 1"),
        (
            {"stop": {"target": {"F1Score": 0.9}}, "validation": {"metrics": ["F1Score"]}},
            "stop.target.F1Score",
            "whether more F1Score is better is known only of",
        ),
        ({"stop": {"target": {"loss": 1}}, "validation": {"every": None}}, "stop.target", "nothing is validated"),
        ({"stop": {"patience": 1}, "validation": {"every": None}}, "stop.patience", "waits for validations"),
        ({"training": {"optimizer": {"name": "SGD", "lr": 1}}}, "training.optimizer.lr", "given in training.lr"),
        ({"training": {"optimizer": "LBFGS"}}, "training.optimizer", "LBFGS asks for the loss several times"),
        ({"strategy": {"name": "synchronous", "interval": 3}}, "strategy.interval", "synchronous takes no arguments"),
        ({"strategy": {"name": "local_sgd", "intervall": 3}}, "strategy.intervall", 'did you mean "interval"'),
        ({"strategy": {"name": "local_sgd", "interval": 0}}, "strategy.interval", "at least 1"),
        ({"strategy": {"name": "local_sgd", "interval": True}}, "strategy.interval", "at least 1"),
        ({"model": {"name": "resnet", "dept": 8}}, "model.dept", 'argument "dept" is unknown; choose one of'),
        ({"model": {"name": "resnet", "depth": "8"}}, "model.depth", 'must be a whole number, at least 1, not "8"'),
        ({"model": {"name": "mlp", "dropout": True}}, "model.dropout", "must be a number, not true"),
        ({"data": {"name": "text", "file": 3}}, "data.file", "must be a text, or null, not 3"),
        ({"data": {"name": "arrays", "inputs": "a.npy"}}, "data", "arrays needs targets; write {name: arrays, targets"),
        ({"loading": {"order": {"name": "shuffled", "mix": 0}}}, "loading.order.mix", "at least 1, not 0"),
        ({"loading": {"transform": ["flip", "erase"]}}, "loading.transform.1", "erase needs size; write {name: erase"),
        (
            {"loading": {"transform": [{"name": "normalise", "mean": [0.5, "red"], "deviation": 1}]}},
            "loading.transform.0.mean",
            "must be a number, or a list of numbers",
        ),
        ({"engine": {"name": "local", "objects": {}}}, "engine.objects", "local takes no arguments"),
        ({"training": {"optimizer": {"name": "SGD", "momentun": 1}}}, "training.optimizer.momentun", '"momentum"?'),
        ({"training": {"schedule": {"name": "StepLR", "gamma": 1}}}, "training.schedule", "StepLR needs step_size"),
        (
            {"training": {"schedule": "CosineAnnealingLR", "until": "5min"}},
            "training.schedule",
            "has to know how long the training is, and 5min does not tell in steps; give T_max, or a second bound",
        ),
    ],
)
def test_what_no_training_could_follow_is_refused(values, key, fact):
    with pytest.raises(JobError) as refused:
        job_from(SMALLEST | values)
    (problem,) = refused.value.problems
    assert problem.key == key
    assert fact in problem.message


@pytest.mark.parametrize(
    "values",
    [
        {"training": {"batch": 4, "accumulate": 2}, "cluster": {"workers": 2}},
        {"validation": {"metrics": ["perplexity"]}},
        {"task": "mine:loss", "validation": {"metrics": ["accuracy"]}},
        {"checkpoint": {"best": {"name": "F1Score", "higher": True}}, "validation": {"metrics": ["F1Score"]}},
        {
            "stop": {"target": {"F1Score": 0.9}},
            "checkpoint": {"best": {"name": "F1Score", "higher": True}},
            "validation": {"metrics": ["F1Score"]},
        },
        {"validation": {"every": None}, "checkpoint": {"every": None}},
        {"strategy": {"name": "mine:Strategy", "anything": "goes"}},
        {"strategy": {"name": "local_sgd", "interval": 1}},
        {"model": {"name": "resnet", "width": None, "depth": 18}},
        {"model": {"name": "mine:Model", "depth": "deep"}, "data": {"name": "mine:data", "anything": True}},
        {"loading": {"transform": ["flip", {"name": "normalise", "mean": [0.5, 1], "deviation": 2}, "mine:Blur"]}},
        {"training": {"optimizer": {"name": "SparseAdam", "betas": [0.9, 0.99]}}},
        {"training": {"schedule": "CosineAnnealingLR", "until": "5min or 100step"}},
        {"training": {"schedule": {"name": "CosineAnnealingLR", "T_max": 100}, "until": "5min"}},
    ],
)
def test_what_is_only_unusual_is_allowed(values):
    assert impossible(job_from(SMALLEST | values)) == []


def test_a_job_put_together_without_reading_is_checked_too():
    job = job_from(SMALLEST)
    changed = job.model_copy(update={"cluster": job.cluster.model_copy(update={"workers": 65})})
    assert [problem.key for problem in impossible(changed)] == ["cluster.workers"]
