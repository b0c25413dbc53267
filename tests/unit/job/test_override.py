"""Values given on the command line after the file."""

import pytest

from stretto.errors import JobError
from stretto.job import Budget, Choice, read_job

TEXT = "model: resnet\ndata: digits\ntask: classification\n"


def job(*overrides, text=TEXT):
    return read_job("job.yaml", overrides, text=text)


def complaints(*overrides, text=TEXT):
    with pytest.raises(JobError) as refused:
        job(*overrides, text=text)
    return [str(problem) for problem in refused.value.problems]


def test_a_value_in_a_section_is_replaced_or_added():
    assert job("training.lr=1e-2").training.lr == 0.01
    assert job("training.until=10ep or 5min").training.until == Budget(epochs=10, seconds=300)
    assert job("checkpoint.every=null").checkpoint.every is None
    assert job("training.clip=").training.clip is None


def test_an_argument_is_put_into_a_choice_written_as_a_word_as_a_mapping_or_not_at_all():
    assert job("model.depth=14").model == Choice("resnet", {"depth": 14})
    assert job("model={name: mlp, width: 3}", "model.width=4").model == Choice("mlp", {"width": 4})
    assert job("training.optimizer.weight_decay=0.1").training.optimizer == Choice("AdamW", {"weight_decay": 0.1})
    assert job("strategy=local_sgd", "strategy.interval=4").strategy == Choice("local_sgd", {"interval": 4})
    best = job("checkpoint.best=F1Score", "validation.metrics=[F1Score]", "checkpoint.best.higher=true")
    assert best.higher_is_better("F1Score") is True


def test_an_item_of_a_list_is_replaced_by_its_number():
    text = TEXT + "validation: {metrics: [accuracy, F1Score]}\n"
    assert job("validation.metrics.1=Precision", text=text).metrics[2] == Choice("Precision")


def test_the_last_override_of_a_key_wins():
    assert job("training.batch=8", "training.batch=16").training.batch == 16


def test_what_stands_at_an_alias_changes_nothing_elsewhere():
    text = "model: &m {name: resnet, depth: 2}\ndata: digits\ntask: classification\nstrategy: {name: 'a:b', m: *m}\n"
    changed = job("model.depth=3", text=text)
    assert changed.strategy.arguments["m"]["depth"] == 2


@pytest.mark.parametrize(
    ("override", "complaint"),
    [
        ("training.lr=fast", 'training.lr=fast: must be a number, not "fast"'),
        ("training.lr", "training.lr: is no override; write key=value, such as training.lr=0.1"),
        ("=3", "=3: is no override; write key=value, such as training.lr=0.1"),
        ("training..lr=3", "training..lr=3: is no override; write key=value, such as training.lr=0.1"),
        ("training=3", "training=3: must be a mapping of keys and values, not 3"),
        ("training.seed=010", "training.seed=010: 010 begins with a zero"),
        ("model.depth=!!python/name:os x", "model.depth=!!python/name:os x: the tag"),
        (
            "strategy={name: local_sgd, interval: 0}",
            "strategy={name: local_sgd, interval: 0}: strategy.interval: must",
        ),
        ("training.lr=[1", "training.lr=[1: cannot be read as YAML"),
        ("trainin.lr=1", "trainin.lr=1: trainin: unknown key; a job has"),
        ("callbacks.5.x=1", "callbacks.5.x=1: callbacks: must be a list"),
    ],
)
def test_a_wrong_override_is_named_instead_of_the_file(override, complaint):
    (line,) = complaints(override)
    assert line.startswith(complaint)


def test_an_override_mends_what_is_wrong_in_the_file():
    assert job("training.lr=0.1", text=TEXT + "training:\n  lr: 010\n").training.lr == 0.1
    assert job("cluster.workers=2", text=TEXT + "cluster: 3\n").cluster.workers == 2


def test_problems_of_overrides_come_after_those_of_the_file():
    lines = complaints("training.lr=fast", "nothing", text=TEXT + "layout: cut\n")
    assert [line.partition(": ")[0] for line in lines] == ["job.yaml:4", "nothing", "training.lr=fast"]
