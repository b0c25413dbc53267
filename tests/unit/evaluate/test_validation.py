import math

import pytest
import torch
from judged_world import batches, model, outputs_of, together
from torch import nn

from stretto.communicate.alone import Alone
from stretto.compute.task import Classification, LanguageModelling
from stretto.data.batch import Batch
from stretto.errors import DataError, PeerLost
from stretto.evaluate.metrics import Accuracy, Loss, Perplexity
from stretto.evaluate.validation import Validation


def judge(parts, transport=None, task=None, metrics=(Loss, Accuracy)):
    validation = Validation(parts, [metric() for metric in metrics], transport or Alone(), task or Classification())
    return validation.run(model())


def test_validation_is_what_plain_pytorch_computes():
    parts = batches(100, batch=32)
    logits, targets = outputs_of(model(), parts)
    expected = nn.functional.cross_entropy(logits, targets).item()
    values = judge(parts)
    assert values["loss"] == pytest.approx(expected, rel=1e-6)
    assert values["accuracy"] == (logits.argmax(1) == targets).sum().item() / 100


@pytest.mark.parametrize("shares", [(50, 50), (67, 33), (100, 0), (32, 31, 37), (99, 1, 0, 0)])
def test_any_sharing_among_seats_equals_one_seat(shares):
    alone = judge(batches(100, batch=16))
    starts = [sum(shares[:rank]) for rank in range(len(shares))]
    results = together(
        len(shares), lambda seat: judge(batches(shares[seat.rank], batch=16, first=starts[seat.rank]), seat)
    )
    assert all(result == results[0] for result in results)
    assert results[0]["accuracy"] == pytest.approx(alone["accuracy"], rel=1e-12)
    assert results[0]["loss"] == pytest.approx(alone["loss"], rel=1e-6)


def test_empty_batches_are_passed_over():
    empty = Batch(torch.zeros(0, 8), torch.zeros(0, dtype=torch.int64), torch.zeros(0, dtype=torch.int64))
    parts = batches(20, batch=10)
    assert judge([empty, *parts, empty]) == judge(parts)


def test_the_seats_meet_once_whatever_their_number_of_batches():
    def meetings(seat):
        judge(batches(40 * (seat.rank + 1), batch=8), seat)
        return seat.sent_bytes

    assert together(2, meetings) == [5 * 8, 5 * 8]  # samples, and two sums for each of two metrics


def test_perplexity_of_unevenly_filled_sentences_is_weighted_by_tokens():
    class Uniform(nn.Module):
        def forward(self, tokens):
            return nn.functional.one_hot(tokens, 10).float()

    tokens = torch.randint(10, (6, 12))
    targets = torch.randint(10, (6, 12))
    for row in range(6):
        targets[row, 2 * row :] = -100
    parts = [Batch(tokens[rows], targets[rows], torch.tensor(rows)) for rows in ([0, 1, 2, 3, 4], [5])]
    whole = nn.functional.cross_entropy(Uniform()(tokens).reshape(-1, 10), targets.reshape(-1)).item()

    def run(seat):
        metrics = [Loss(), Perplexity()]
        return Validation([parts[seat.rank]], metrics, seat, LanguageModelling()).run(Uniform())

    assert together(2, run)[1]["perplexity"] == pytest.approx(math.exp(whole), rel=1e-6)


def test_a_second_run_starts_from_nothing():
    validation = Validation(batches(30, batch=8), [Loss(), Accuracy()], Alone(), Classification())
    judged = model()
    assert validation.run(judged) == validation.run(judged)


def test_the_model_is_left_as_it_was_with_frozen_parts_in_their_own_mode():
    judged = model()
    judged.train()
    judged[1].eval()
    before = {name: value.clone() for name, value in judged.state_dict().items()}
    Validation(batches(30, batch=8), [Loss()], Alone(), Classification()).run(judged)
    assert [module.training for module in judged] == [True, False, True, True, True] and judged.training
    assert all(torch.equal(before[name], value) for name, value in judged.state_dict().items())
    assert all(parameter.grad is None for parameter in judged.parameters())


def test_training_random_numbers_are_not_used_up():
    judged = model()
    state = torch.get_rng_state()
    Validation(batches(30, batch=8), [Loss()], Alone(), Classification()).run(judged)
    assert torch.equal(torch.get_rng_state(), state)


def test_no_data_anywhere_is_said_on_every_seat():
    def complaint(seat):
        with pytest.raises(DataError, match="there is no validation data"):
            judge([], seat)
        return True

    assert together(2, complaint) == [True, True]


def test_a_model_that_fails_leaves_training_mode_and_frees_the_others():
    def run(seat):
        parts = batches(10, batch=5) if seat.rank == 0 else [Batch(torch.zeros(2, 3), torch.zeros(2), torch.arange(2))]
        judged = model()
        validation = Validation(parts, [Loss()], seat, Classification())
        try:
            validation.run(judged)
        except (RuntimeError, PeerLost) as error:
            return type(error).__name__, judged.training
        return None

    assert together(2, run) == [("PeerLost", True), ("RuntimeError", True)]


def test_a_nan_in_the_loss_reaches_every_seat():
    def run(seat):
        parts = batches(10, batch=5)
        if seat.rank == 0:
            parts[0].inputs[0] = math.nan
        return judge(parts, seat)["loss"]

    assert all(math.isnan(loss) for loss in together(2, run))
