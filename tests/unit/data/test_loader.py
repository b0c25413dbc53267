"""Loaders share batches out: exactly, from any position, ahead of time."""

import gc
import threading
from itertools import chain, islice

import pytest
import torch
from data_world import Numbers
from hypothesis import given
from hypothesis import strategies as st

from stretto.data.evaluation_loader import EvaluationLoader
from stretto.data.ledger import Position, audit
from stretto.data.loader import Loader
from stretto.data.split import micro_shares
from stretto.errors import DataError


def first(loader, count, position=None):
    with loader:
        return list(islice(loader.at(position or Position()), count))


def numbers(pairs):
    return [batch.indices.tolist() for _, batch in pairs]


@given(st.integers(1, 40), st.integers(1, 17), st.integers(1, 5), st.integers(0, 3))
def test_the_shares_of_all_ranks_put_together_are_the_batch_of_one(samples, batch, ranks, seed):
    source = Numbers(samples)
    whole = first(Loader(source, batch, 0, 1, seed, prefetch=0), 5)
    shares = [first(Loader(source, batch, rank, ranks, seed, prefetch=0), 5) for rank in range(ranks)]
    for step, (lease, one) in enumerate(whole):
        assert all(share[step][0] == lease for share in shares)
        assert torch.equal(torch.cat([share[step][1].inputs for share in shares]), one.inputs)
        sizes = [len(share[step][1]) for share in shares]
        assert max(sizes) - min(sizes) <= 1


@given(st.integers(1, 40), st.integers(1, 17), st.integers(1, 4), st.integers(1, 4))
def test_micro_batches_hold_the_same_samples_for_every_number_of_ranks(samples, batch, ranks, micro_batches):
    def read(rank, size):
        loader = Loader(Numbers(samples), batch, rank, size, 0, micro_batches=micro_batches, prefetch=0)
        parts = []
        for lease, read in first(loader, 4):
            shares = iter(read.indices.tolist())
            cut = micro_shares(range(len(lease)), micro_batches, size, rank)
            parts.append([list(islice(shares, len(share))) for share in cut])
        return parts

    whole, shares = read(0, 1), [read(rank, ranks) for rank in range(ranks)]
    for step, one in enumerate(whole):
        assert one == [
            list(chain.from_iterable(share[step][index] for share in shares)) for index in range(micro_batches)
        ]


def test_every_epoch_visits_every_sample_once_in_an_order_of_its_own():
    pairs = first(Loader(Numbers(23), 5, 0, 1, seed=0), 10)
    assert audit((lease for lease, _ in pairs), 23) == []
    epochs = [list(chain.from_iterable(numbers(part))) for part in (pairs[:5], pairs[5:])]
    assert sorted(epochs[0]) == sorted(epochs[1]) == list(range(23))
    assert epochs[0] != epochs[1] != list(range(23))


def test_seeds_give_other_orders():
    assert numbers(first(Loader(Numbers(50), 50, 0, 1, seed=0), 1)) != numbers(
        first(Loader(Numbers(50), 50, 0, 1, seed=1), 1)
    )


def test_without_shuffling_samples_come_in_their_own_order():
    assert numbers(first(Loader(Numbers(7), 3, 0, 1, 0, shuffle=False), 4)) == [[0, 1, 2], [3, 4, 5], [6], [0, 1, 2]]


@pytest.mark.parametrize("taken", [0, 1, 4, 5, 9])
def test_going_on_from_any_position_is_never_having_stopped(taken):
    loader = Loader(Numbers(23), 5, 1, 2, seed=4)
    everything = first(loader, 12)
    position = everything[taken - 1][0].end if taken else Position()
    assert numbers(first(loader, 12 - taken, position)) == numbers(everything[taken:])


def test_a_share_may_be_empty_and_still_has_the_right_shapes():
    pairs = first(Loader(Numbers(9), 4, 2, 3, seed=0), 3)
    assert [len(batch) for _, batch in pairs] == [1, 1, 0]
    assert pairs[2][1].inputs.shape == (0, 2)
    assert pairs[2][1].inputs.dtype == torch.int64


def test_the_number_of_updates_in_an_epoch_counts_the_last_smaller_one():
    assert Loader(Numbers(9), 4, 0, 1, 0).batches_per_epoch == 3


def test_reading_ahead_gives_the_same_as_reading_in_time():
    ahead, in_time = (Loader(Numbers(30), 7, 0, 2, 3, prefetch=prefetch) for prefetch in (4, 0))
    assert numbers(first(ahead, 9)) == numbers(first(in_time, 9))


def test_an_error_of_the_source_appears_where_its_batch_would_have():
    loader = Loader(Numbers(9, fails_at=5), 3, 0, 1, 0, shuffle=False)
    with loader:
        batches = loader.at(Position())
        assert next(batches)[1].indices.tolist() == [0, 1, 2]
        with pytest.raises(OSError, match="sample 5 is lost") as caught:
            next(batches)
    assert caught.traceback[-1].name == "read"


def test_a_source_that_must_not_be_read_ahead_is_not():
    source = Numbers(30)
    source.ahead = False
    with Loader(source, 3, 0, 1, 0) as loader:
        next(loader.at(Position()))
        assert source.reads == 1


def test_starting_anew_and_forgetting_end_the_thread():
    before = set(threading.enumerate())
    loader = Loader(Numbers(30), 3, 0, 1, 0)
    next(loader.at(Position()))
    (earlier,) = set(threading.enumerate()) - before
    next(loader.at(Position(1, 0)))
    assert not earlier.is_alive()
    (later,) = set(threading.enumerate()) - before
    del loader
    gc.collect()
    later.join(5)
    assert not later.is_alive()


@pytest.mark.parametrize("wrong", [{"rank": 2}, {"prefetch": -1}, {"batch": 0}], ids=str)
def test_what_cannot_be_is_refused(wrong):
    with pytest.raises(DataError):
        Loader(Numbers(3), **({"batch": 2, "rank": 0, "size": 2, "seed": 0} | wrong))


@given(st.integers(0, 50), st.integers(1, 20), st.integers(1, 6))
def test_validation_reads_every_sample_once_and_none_to_fill_up(samples, batch, ranks):
    loaders = [EvaluationLoader(Numbers(samples), batch, rank, ranks, prefetch=rank % 2) for rank in range(ranks)]
    batches = [list(loader) for loader in loaders]
    assert [len(each) for each in batches] == [len(loader) for loader in loaders]
    read = chain.from_iterable(batch.indices.tolist() for each in batches for batch in each)
    assert list(read) == list(range(samples))


def test_validation_can_be_repeated():
    loader = EvaluationLoader(Numbers(5), 2, 0, 1)
    assert [len(batch) for batch in loader] == [len(batch) for batch in loader] == [2, 2, 1]


def test_validation_in_batches_of_nothing_is_refused():
    with pytest.raises(DataError, match=r"validation\.batch"):
        EvaluationLoader(Numbers(5), 0, 0, 1)
