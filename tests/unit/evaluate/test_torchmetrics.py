import sys

import pytest
import torch
from judged_world import CLASSES, batches, model, outputs_of, together

from stretto.communicate.alone import Alone
from stretto.compute.task import Classification
from stretto.errors import JobError, MissingExtra, ModelError
from stretto.evaluate.metrics import Loss
from stretto.evaluate.torchmetrics_metric import TorchmetricsMetric
from stretto.evaluate.validation import Validation
from stretto.job import Choice

torchmetrics = pytest.importorskip("torchmetrics")
MULTICLASS = {"task": "multiclass", "num_classes": CLASSES}


class KeepsBatches(torchmetrics.Metric):
    """A metric with one state per batch, which cannot be brought together evenly."""

    higher_is_better = None

    def __init__(self):
        super().__init__()
        self.add_state("rows", default=[], dist_reduce_fx=None)

    def update(self, outputs, targets):
        self.rows.append(outputs)

    def compute(self):
        return torch.tensor(float(sum(len(rows) for rows in self.rows)))


def judge(parts, transport, choice):
    metrics = [Loss(), TorchmetricsMetric(choice, transport)]
    return Validation(parts, metrics, transport, Classification()).run(model())[metrics[1].name]


CHOICES = {
    "sums": Choice("F1Score", {**MULTICLASS, "average": "macro"}),
    "a matrix": Choice("CohenKappa", MULTICLASS),
    "lists that are joined": Choice("AUROC", MULTICLASS),
    "lists of sorted scores": Choice("AveragePrecision", MULTICLASS),
}


@pytest.mark.parametrize("shares", [(60,), (30, 30), (41, 19), (60, 0), (20, 0, 40)], ids=str)
@pytest.mark.parametrize("choice", CHOICES.values(), ids=CHOICES)
def test_any_sharing_among_seats_equals_torchmetrics_on_all_samples(choice, shares):
    logits, targets = outputs_of(model(), batches(60, batch=60))
    expected = getattr(torchmetrics, choice.name)(**choice.arguments)(logits, targets).item()
    starts = [sum(shares[:rank]) for rank in range(len(shares))]
    values = together(len(shares), lambda seat: judge(batches(shares[seat.rank], 8, starts[seat.rank]), seat, choice))
    assert values == pytest.approx([expected] * len(shares), rel=1e-6)


def test_a_second_validation_starts_from_nothing():
    def twice(seat):
        metric = TorchmetricsMetric(CHOICES["lists that are joined"], seat)
        validation = Validation(batches(20 + seat.rank, 8, 25 * seat.rank), [metric], seat, Classification())
        judged = model()
        return validation.run(judged) == validation.run(judged)

    assert together(2, twice) == [True, True]


def test_a_state_per_batch_is_shared_when_the_seats_have_equally_many():
    choice = Choice(f"{__name__}:KeepsBatches")
    assert together(2, lambda seat: judge(batches(16, 8), seat, choice)) == [32.0, 32.0]


def test_a_state_per_batch_that_cannot_be_shared_is_an_error_and_no_hang():
    choice = Choice(f"{__name__}:KeepsBatches")
    with pytest.raises(ModelError, match="KeepsBatches keeps each batch by itself"):
        together(2, lambda seat: judge(batches(16 + 8 * seat.rank, 8), seat, choice))


def test_a_metric_that_is_not_one_number_says_what_to_do():
    choice = Choice("F1Score", {**MULTICLASS, "average": "none"})
    with pytest.raises(ModelError, match=r"F1Score gives \(5,\) and not one number; add .*average: macro"):
        judge(batches(16, 8), Alone(), choice)


def test_the_direction_is_that_of_torchmetrics():
    assert TorchmetricsMetric(CHOICES["sums"], Alone()).higher_is_better is True
    assert TorchmetricsMetric(Choice("MeanSquaredError"), Alone()).higher_is_better is False


def test_an_unknown_metric_is_corrected():
    with pytest.raises(JobError, match=r'metric "F1Scor" is unknown; .*did you mean "F1Score"'):
        TorchmetricsMetric(Choice("F1Scor"), Alone())


def test_arguments_that_torchmetrics_refuses_are_a_mistake_in_the_job():
    with pytest.raises(JobError, match=r"validation\.metrics: F1Score cannot be made with"):
        TorchmetricsMetric(Choice("F1Score", {"task": "multiclass"}), Alone())


def test_without_torchmetrics_the_command_that_installs_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torchmetrics", None)
    with pytest.raises(MissingExtra, match=r'pip install "stretto\[metrics\]"'):
        TorchmetricsMetric(Choice("F1Score"), Alone())
