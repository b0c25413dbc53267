"""Loaders share batches out: exactly, from any position, ahead of time."""

import gc
import threading
from itertools import chain, islice

import pytest
import torch
from data_world import Numbers, loader
from hypothesis import given
from hypothesis import strategies as st

from stretto.data.assembly import Assembler
from stretto.data.evaluation_loader import EvaluationLoader
from stretto.data.ledger import Position
from stretto.data.loader import Loader
from stretto.data.orders.in_order import InOrder
from stretto.errors import DataError


def first(loader, count, position=None):
    """The leases of the first batches, and the only micro-batch of each."""
    with loader:
        return [(wanted.lease, batch) for wanted, (batch,) in islice(loader.at(position or Position()), count)]


def numbers(pairs):
    return [batch.indices.tolist() for _, batch in pairs]


@given(st.integers(1, 40), st.integers(1, 17), st.integers(1, 5), st.integers(0, 3))
def test_the_shares_of_all_ranks_put_together_are_the_batch_of_one(samples, batch, ranks, seed):
    source = Numbers(samples)
    whole = first(loader(source, batch, 0, 1, seed, ahead=0), 5)
    shares = [first(loader(source, batch, rank, ranks, seed, ahead=0), 5) for rank in range(ranks)]
    for step, (lease, one) in enumerate(whole):
        assert all(share[step][0] == lease for share in shares)
        assert torch.equal(torch.cat([share[step][1].inputs for share in shares]), one.inputs)
        sizes = [len(share[step][1]) for share in shares]
        assert max(sizes) - min(sizes) <= 1


@given(st.integers(1, 40), st.integers(1, 17), st.integers(1, 4), st.integers(1, 4))
def test_micro_batches_hold_the_same_samples_for_every_number_of_ranks(samples, batch, ranks, micro_batches):
    def read(rank, size):
        with loader(Numbers(samples), batch, rank, size, micro_batches=micro_batches, ahead=0) as loading:
            portions = islice(loading.at(Position()), 4)
            return [[batch.indices.tolist() for batch in batches] for _, batches in portions]

    whole, shares = read(0, 1), [read(rank, ranks) for rank in range(ranks)]
    for step, one in enumerate(whole):
        assert one == [
            list(chain.from_iterable(share[step][index] for share in shares)) for index in range(micro_batches)
        ]


def test_every_epoch_visits_every_sample_once_in_an_order_of_its_own():
    pairs = first(loader(Numbers(23), 5, 0, 1), 10)
    epochs = [list(chain.from_iterable(numbers(part))) for part in (pairs[:5], pairs[5:])]
    assert sorted(epochs[0]) == sorted(epochs[1]) == list(range(23))
    assert epochs[0] != epochs[1] != list(range(23))


def test_seeds_give_other_orders():
    one, other = (numbers(first(loader(Numbers(50), 50, 0, 1, seed=seed), 1)) for seed in (0, 1))
    assert one != other


def test_without_shuffling_samples_come_in_their_own_order():
    assert numbers(first(loader(Numbers(7), 3, 0, 1, shuffle=False), 4)) == [[0, 1, 2], [3, 4, 5], [6], [0, 1, 2]]


@pytest.mark.parametrize("taken", [0, 1, 4, 5, 9])
def test_going_on_from_any_position_is_never_having_stopped(taken):
    loading = loader(Numbers(23), 5, 1, 2, seed=4)
    everything = first(loading, 12)
    position = everything[taken - 1][0].end if taken else Position()
    assert numbers(first(loading, 12 - taken, position)) == numbers(everything[taken:])


def test_a_share_may_be_empty_and_still_has_the_right_shapes():
    pairs = first(loader(Numbers(9), 4, 2, 3), 3)
    assert [len(batch) for _, batch in pairs] == [1, 1, 0]
    assert pairs[2][1].inputs.shape == (0, 2)
    assert pairs[2][1].inputs.dtype == torch.int64


def test_an_empty_share_is_transformed_like_the_others():
    class Flat:
        def apply(self, inputs, draws):
            return inputs.float().sum(dim=1)

    loading = Loader(Assembler(Numbers(9), InOrder(Numbers(9)), [Flat()]), 4, 2, 3)
    shares = [batch.inputs for _, batch in first(loading, 3)]
    assert [(tuple(each.shape), each.dtype) for each in shares] == [((size,), torch.float32) for size in (1, 1, 0)]


def test_the_number_of_updates_in_an_epoch_counts_the_last_smaller_one():
    assert loader(Numbers(9), 4, 0, 1).batches_per_epoch == 3


def test_reading_ahead_gives_the_same_as_reading_in_time():
    ahead, in_time = (loader(Numbers(30), 7, 0, 2, 3, ahead=ahead) for ahead in (4, 0))
    assert numbers(first(ahead, 9)) == numbers(first(in_time, 9))


@pytest.mark.parametrize("ahead", [0, 1, 3])
@given(st.integers(1, 8), st.lists(st.lists(st.floats(0.1, 5), min_size=3, max_size=3), min_size=1, max_size=3))
def test_shares_that_change_take_effect_at_the_same_batch_on_all_ranks_and_lose_nothing(ahead, after, weights):
    loaders = [loader(Numbers(50), 12, rank, 3, ahead=ahead) for rank in range(3)]
    iterations = [each.at(Position()) for each in loaders]
    seen = []
    for step in range(40):
        portions = [next(each) for each in iterations]
        assert len({portion[0].lease for portion in portions}) == 1
        seen.append([batch.indices.tolist() for _, (batch,) in portions])
        if step % after == 0 and step // after < len(weights):
            for each in loaders:
                each.share_by(weights[step // after], portions[0][0].lease)
    whole = numbers(first(loader(Numbers(50), 12, 0, 1), 40))
    assert [list(chain.from_iterable(step)) for step in seen] == whole
    for each in loaders:
        each.close()


def test_weights_give_the_faster_rank_more():
    loading = [loader(Numbers(400), 40, rank, 2, ahead=0) for rank in range(2)]
    iterations = [each.at(Position()) for each in loading]
    sizes = []
    for _ in range(5):
        portions = [next(each) for each in iterations]
        sizes.append([len(batch) for _, (batch,) in portions])
        for each in loading:
            each.share_by([3.0, 1.0], portions[0][0].lease)
    assert sizes == [[20, 20], [20, 20], [30, 10], [30, 10], [30, 10]]


def test_an_error_of_the_source_appears_where_its_batch_would_have():
    with loader(Numbers(9, fails_at=5), 3, 0, 1, shuffle=False) as loading:
        portions = loading.at(Position())
        assert next(portions)[1][0].indices.tolist() == [0, 1, 2]
        with pytest.raises(OSError, match="sample 5 is lost") as caught:
            next(portions)
    assert caught.traceback[-1].name == "read"


def test_a_source_that_must_not_be_read_ahead_is_not():
    source = Numbers(30)
    source.ahead = False
    with loader(source, 3, 0, 1) as loading:
        next(loading.at(Position()))
        assert source.reads == 1


def test_starting_anew_and_forgetting_end_the_thread():
    before = set(threading.enumerate())
    loading = loader(Numbers(30), 3, 0, 1)
    next(loading.at(Position()))
    (earlier,) = set(threading.enumerate()) - before
    next(loading.at(Position(1, 0)))
    assert not earlier.is_alive()
    (later,) = set(threading.enumerate()) - before
    del loading
    gc.collect()
    later.join(5)
    assert not later.is_alive()


@pytest.mark.parametrize("wrong", [{"rank": 2}, {"batch": 0}], ids=str)
def test_what_cannot_be_is_refused(wrong):
    with pytest.raises(DataError):
        loader(Numbers(3), **({"batch": 2, "rank": 0, "size": 2} | wrong))


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
