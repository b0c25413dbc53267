import pytest

from stretto.communicate.alone import Alone
from stretto.errors import JobError
from stretto.evaluate.selection import make_metrics
from stretto.evaluate.watched import watch
from stretto.job import Choice


def names(*choices):
    return [metric.name for metric in make_metrics(choices, Alone())]


def test_the_loss_is_always_there_and_first():
    assert names() == names(Choice("loss")) == ["loss"]
    assert names(Choice("accuracy"), Choice("loss")) == ["loss", "accuracy"]


def test_metrics_of_torchmetrics_stand_beside_the_built_in_ones():
    pytest.importorskip("torchmetrics")
    assert names(Choice("perplexity"), Choice("MeanSquaredError")) == ["loss", "perplexity", "MeanSquaredError"]


def test_a_metric_named_twice_is_refused():
    with pytest.raises(JobError, match=r'validation\.metrics: "accuracy" is there 2 times; keep one'):
        names(Choice("accuracy"), Choice("accuracy"))


def test_arguments_for_a_built_in_metric_are_refused():
    with pytest.raises(JobError, match="accuracy takes no arguments, not top"):
        names(Choice("accuracy", {"top": 5}))


def test_a_watched_metric_knows_its_direction():
    metrics = make_metrics([Choice("accuracy")], Alone())
    assert watch("accuracy", metrics, "checkpoint.best").higher
    assert not watch("loss", metrics, "checkpoint.best").higher
    assert watch("loss", metrics, "checkpoint.best", higher=True).higher


def test_a_watched_metric_must_be_validated():
    with pytest.raises(JobError, match=r'checkpoint.best: metric "acuracy" is unknown; .*did you mean "accuracy"'):
        watch("acuracy", make_metrics([Choice("accuracy")], Alone()), "checkpoint.best")


def test_a_direction_nobody_knows_must_be_said():
    class Undirected:
        name = "Own"
        higher_is_better = None

    with pytest.raises(JobError, match=r"write checkpoint.best: \{name: Own, higher: true\}"):
        watch("Own", [Undirected()], "checkpoint.best")
    assert watch("Own", [Undirected()], "checkpoint.best", higher=True).higher
