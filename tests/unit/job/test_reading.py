"""A job file becomes a job, or every mistake in it is said at once, where it stands."""

import pathlib

import pytest

from stretto.errors import JobError
from stretto.job import Budget, Choice, job_from, read_job

SMALLEST = {"model": "resnet", "data": "digits", "task": "classification"}
EXAMPLES = sorted((pathlib.Path(__file__).parents[3] / "examples" / "jobs").glob("*.yaml"))

WRONG = """\
model: resnt
data: [digits]
training:
  batch: "12"
  lr: on
  lrr: 3
  lr: 3
  compile: yes
  precision: fp8
  until: 3epochs
  seed: 010
  average: 2
  accumulate: 1.5
validation:
  every: 3min
  metrics: [accuracy, accuracy]
strategy: local-sgd
lr: 3
engine: !!python/object:os.system local
stop: {target: {accuracy: 99}, patience: 0}
run: {name: ../else, folder: ""}
callbacks: mine:Callback
"""


def complaints(text):
    with pytest.raises(JobError) as refused:
        read_job("job.yaml", text=text)
    return str(refused.value).splitlines()


def test_three_lines_are_a_job_and_the_rest_has_defaults():
    job = read_job("job.yaml", text="model: resnet\ndata: digits\ntask: classification\n")
    assert job == job_from(SMALLEST)
    assert (job.training.batch, job.training.optimizer, job.training.lr) == (64, Choice("AdamW"), 0.001)
    assert (job.strategy, job.engine, job.layout) == (Choice("synchronous"), Choice("local"), Choice("replicated"))
    assert (job.training.until, job.validation.every) == (Budget(epochs=3), Budget(epochs=1))
    assert (job.checkpoint.best.name, job.cluster.workers, job.observe.every) == ("loss", 1, Budget(steps=10))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_is_a_job_that_survives_being_written(path):
    job = read_job(path)
    assert read_job("again.yaml", text=job.to_yaml()) == job
    assert job_from(job.model_dump()) == job


def test_all_that_is_wrong_is_said_at_once_in_the_order_of_the_lines():
    expected = [
        ('job.yaml:1: model: "resnt" is unknown; choose one of linear, mlp', 'did you mean "resnet"?)'),
        ("job.yaml:1: task: is missing; what the loss is", ""),
        ("job.yaml:2: data: must be a word", ""),
        ('job.yaml:4: training.batch: must be a whole number, not "12"', "write it without quotes"),
        ('job.yaml:5: training.lr: must be a number, not "on"', ""),
        ("job.yaml:6: training.lrr: unknown key; training has batch,", '(did you mean "training.lr"?)'),
        ("job.yaml:7: training.lr: is given twice, first in line 5; keep one", ""),
        ('job.yaml:8: training.compile: must be true or false, not "yes"', "is a text in YAML 1.2, write true"),
        ('job.yaml:9: training.precision: "fp8" is unknown; choose one of fp32, bf16, fp16', ""),
        ('job.yaml:10: training.until: unit "epochs" is unknown', '(did you mean "3ep"?)'),
        ("job.yaml:11: training.seed: 010 begins with a zero", ""),
        ("job.yaml:12: training.average: must be less than 1, not 2", ""),
        ("job.yaml:13: training.accumulate: must be a whole number, not 1.5", ""),
        ('job.yaml:15: validation.every: "3min" cannot be used here; the unit is ep or step', ""),
        ("job.yaml:17: strategy: ", '(did you mean "local_sgd"?)'),
        ("job.yaml:18: lr: unknown key; a job has model,", '(did you mean "training.lr"?)'),
        ("job.yaml:19: engine: the tag !!python/object:os.system is refused", ""),
        ("job.yaml:20: stop.patience: must be at least 1, not 0", ""),
        ("job.yaml:21: run.folder: must not be empty", ""),
        ("job.yaml:21: run.name: must be a name of letters", 'not "../else"'),
        ("job.yaml:22: callbacks: must be a list, such as [one, two]", 'not "mine:Callback"'),
    ]
    lines = complaints(WRONG)
    assert len(lines) == len(expected), "\n".join(lines)
    for line, (opening, ending) in zip(lines, expected, strict=True):
        assert line.startswith(opening)
        assert line.endswith(ending)


def test_contradictions_are_found_beside_mistakes_elsewhere_but_not_made_of_them():
    text = "model: resnet\ndata: digits\ntask: regression\ntraining: {batch: 8, accumulate: 9, lr: fast}\n"
    assert [line.split(": ")[1] for line in complaints(text)] == ["training.lr", "training.accumulate"]
    text = "model: resnet\ndata: digits\ntask: regression\ntraining: {batch: many, accumulate: 90}\n"
    assert [line.split(": ")[1] for line in complaints(text)] == ["training.batch"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "job.yaml:1: the job is empty; give at least model, data and task"),
        ("# nothing\n", "job.yaml:1: the job is empty; give at least model, data and task"),
        ("- a\n", "job.yaml:1: a job is a mapping of keys and values, not a list; give at least model, data and task"),
        (
            "\nhello\n",
            'job.yaml:2: a job is a mapping of keys and values, not "hello"; give at least model, data and task',
        ),
        (
            "!!python/none\n",
            "job.yaml:1: the tag !!python/none is refused; a job holds plain values only, so delete it",
        ),
    ],
)
def test_a_file_without_a_mapping_is_no_job(text, complaint):
    assert complaints(text) == [complaint]


def test_an_unknown_argument_place_is_shown_inside_a_choice_written_over_several_lines():
    text = "model:\n  depth: 3\n  name: resnt\ndata: digits\ntask: classification\n"
    (line,) = complaints(text)
    assert line.startswith('job.yaml:3: model.name: "resnt" is unknown')


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(JobError, match="cannot be read") as refused:
            read_job(path)
        assert str(refused.value).startswith(str(path))


def test_a_file_on_disk_with_a_byte_order_mark_is_read(tmp_path):
    path = tmp_path / "job.yaml"
    path.write_bytes(b"\xef\xbb\xbfmodel: resnet\r\ndata: digits\r\ntask: classification\r\n")
    assert read_job(path) == job_from(SMALLEST)


def test_mistakes_from_python_name_the_key():
    with pytest.raises(JobError) as refused:
        job_from(SMALLEST | {"training": {"batch": 2, "accumulate": 3, "lr": "x"}, 7: 8})
    assert [problem.key for problem in refused.value.problems] == [None, "training.lr", "training.accumulate"]
    assert {(problem.file, problem.line) for problem in refused.value.problems} == {(None, None)}


def test_values_from_python_may_be_choices_and_budgets():
    job = job_from(SMALLEST | {"model": Choice("mlp", {"width": 3}), "training": {"until": Budget(steps=5)}})
    assert (job.model.arguments, job.training.until.steps) == ({"width": 3}, 5)


def test_a_mapping_that_holds_itself_is_refused():
    endless = dict(SMALLEST)
    endless["training"] = endless  # type: ignore[assignment]
    with pytest.raises(JobError, match=r"training\.model: unknown key"):
        job_from(endless)


def test_a_job_can_be_shared_it_is_frozen_and_has_a_hash():
    job, same = job_from(SMALLEST), job_from(dict(reversed(SMALLEST.items())))
    assert hash(job) == hash(same)
    assert len({job, same}) == 1
    with pytest.raises(ValueError, match="frozen"):
        job.training.batch = 3  # type: ignore[misc]


def test_metrics_begin_with_the_loss_and_follow_the_task():
    assert [metric.name for metric in job_from(SMALLEST).metrics] == ["loss", "accuracy"]
    language = job_from(SMALLEST | {"task": "language_modelling"})
    assert [metric.name for metric in language.metrics] == ["loss", "perplexity"]
    own = job_from(SMALLEST | {"task": "mine:loss", "validation": {"metrics": ["F1Score", "loss"]}})
    assert [metric.name for metric in own.metrics] == ["loss", "F1Score"]
