import math

import pytest
import torch

from stretto.errors import ModelError
from stretto.evaluate import METRICS
from stretto.evaluate.metrics import Accuracy, Loss, Perplexity
from stretto.job.words import METRICS as WORDS

NOTHING = torch.zeros(())


def accuracy(outputs, targets):
    metric = Accuracy()
    metric.update(outputs, targets, NOTHING, 0.0)
    return metric.value(metric.sums)


def test_the_table_has_the_words_of_the_job():
    assert tuple(METRICS) == tuple(WORDS) and all(METRICS[word]().name == word for word in WORDS)


def test_loss_is_the_mean_over_the_weight_of_all_batches():
    loss = Loss()
    loss.update(None, None, torch.tensor(6.0), 4.0)
    loss.update(None, None, torch.tensor(3.0), 2.0)
    assert loss.value(loss.sums) == 1.5 and loss.sums.dtype == torch.float64


def test_a_reset_metric_has_forgotten_everything():
    loss = Loss()
    loss.update(None, None, torch.tensor(6.0), 4.0)
    loss.reset()
    assert math.isnan(loss.value(loss.sums))


def test_perplexity_weighs_every_token_alike():
    perplexity = Perplexity()
    perplexity.update(None, None, torch.tensor(10 * math.log(2)), 10.0)
    perplexity.update(None, None, torch.tensor(30 * math.log(4)), 30.0)
    assert perplexity.value(perplexity.sums) == pytest.approx(2 ** (70 / 40))


@pytest.mark.parametrize(("loss", "expected"), [(1e6, math.inf), (math.inf, math.inf)])
def test_perplexity_beyond_all_bounds_is_infinite(loss, expected):
    perplexity = Perplexity()
    perplexity.update(None, None, torch.tensor(loss), 1.0)
    assert perplexity.value(perplexity.sums) == expected


def test_accuracy_counts_the_highest_score():
    scores = torch.tensor([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]])
    assert accuracy(scores, torch.tensor([1, 0, 0])) == pytest.approx(2 / 3)


def test_accuracy_of_a_language_model_passes_over_ignored_targets():
    scores = torch.nn.functional.one_hot(torch.tensor([[1, 2, 0], [0, 0, 0]]), 4).float()
    targets = torch.tensor([[1, 0, -100], [-100, -100, -100]])
    assert accuracy(scores, targets) == 0.5


def test_accuracy_of_an_image_of_classes():
    scores = torch.zeros(2, 3, 4, 4)
    scores[:, 1] = 1.0
    targets = torch.ones(2, 4, 4, dtype=torch.int64)
    targets[0, 0] = 2
    assert accuracy(scores, targets) == 28 / 32


def test_accuracy_of_ignored_targets_only_is_not_a_number():
    assert math.isnan(accuracy(torch.zeros(2, 3), torch.full((2,), -100)))


@pytest.mark.parametrize(
    ("outputs", "targets"),
    [(torch.zeros(4), torch.zeros(4)), (torch.zeros(4, 3), torch.zeros(5)), ({"logits": 1}, torch.zeros(4))],
)
def test_accuracy_of_shapes_that_do_not_fit_is_an_error_that_names_them(outputs, targets):
    with pytest.raises(ModelError, match=r"beside targets \("):
        accuracy(outputs, targets)


def test_sums_of_two_seats_add_up_to_those_of_one():
    scores, targets = torch.randn(50, 7), torch.randint(7, (50,))
    seats = [Accuracy(), Accuracy(), Accuracy()]
    for seat, part in zip(seats, (slice(0, 13), slice(13, 50), slice(0, 50)), strict=True):
        seat.update(scores[part], targets[part], NOTHING, 0.0)
    assert torch.equal(seats[0].sums + seats[1].sums, seats[2].sums)
