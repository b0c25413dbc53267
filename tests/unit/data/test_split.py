"""Ranges are cut evenly, or by weight."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.data.split import even_split, micro_shares, share, weighted_share, weighted_split
from stretto.errors import DataError


@given(st.integers(0, 10**6), st.integers(1, 200))
def test_parts_follow_one_another_and_differ_by_one_at_most(total, parts):
    pieces = even_split(total, parts)
    assert [piece.start for piece in pieces] == [0] + [piece.stop for piece in pieces[:-1]]
    assert pieces[-1].stop == total
    assert max(map(len, pieces)) - min(map(len, pieces)) <= 1


@given(st.integers(0, 10**12), st.integers(0, 10**4), st.integers(1, 50))
def test_a_share_of_any_range_is_the_same_cut_moved(start, length, parts):
    for rank, piece in enumerate(even_split(length, parts)):
        assert share(range(start, start + length), parts, rank) == range(start + piece.start, start + piece.stop)


@pytest.mark.parametrize("rank", [-1, 3])
def test_a_rank_that_does_not_exist_has_no_share(rank):
    with pytest.raises(DataError, match=f"rank {rank} has no share of 3 parts"):
        share(range(10), 3, rank)


@given(st.integers(0, 200), st.integers(1, 6), st.integers(1, 6))
def test_a_micro_batch_holds_the_same_samples_whatever_the_number_of_ranks(length, micro_batches, parts):
    whole = range(5, 5 + length)
    shares = [micro_shares(whole, micro_batches, parts, rank) for rank in range(parts)]
    for index, (alone,) in enumerate(zip(micro_shares(whole, micro_batches, 1, 0), strict=True)):
        assert [sample for rank in range(parts) for sample in shares[rank][index]] == list(alone)


WEIGHTS = st.lists(st.one_of(st.integers(0, 9), st.floats(0, 1e6)), min_size=1, max_size=12).filter(any)


@given(st.integers(0, 10**6), st.integers(1, 60), st.sampled_from([1, 7, 0.1, 1 / 3, 1e-300, 1e300]), st.integers(0, 3))
def test_equal_weights_cut_as_no_weights_do(total, parts, weight, least):
    assert weighted_split(total, [weight] * parts, least) == even_split(total, parts)
    for rank in range(parts):
        shares = micro_shares(range(7, 7 + total), 3, parts, rank, [weight] * parts, least)
        assert shares == micro_shares(range(7, 7 + total), 3, parts, rank)


@given(st.one_of(st.integers(0, 300), st.integers(0, 10**15)), WEIGHTS)
def test_parts_by_weight_follow_one_another_and_miss_their_quota_by_less_than_one(total, weights):
    pieces = weighted_split(total, weights)
    assert [piece.start for piece in pieces] == [0] + [piece.stop for piece in pieces[:-1]]
    assert pieces[-1].stop == total
    whole = sum(map(Fraction, weights))
    for piece, weight in zip(pieces, weights, strict=True):
        assert abs(len(piece) - total * Fraction(weight) / whole) < 1
        assert weight or not piece


@given(st.integers(0, 500), WEIGHTS, st.integers(0, 30))
def test_every_part_has_the_least_as_far_as_there_is_enough(total, weights, least):
    sizes = [len(piece) for piece in weighted_split(total, weights, least)]
    assert sum(sizes) == total
    assert min(sizes) >= min(least, total // len(weights))


def test_what_raises_the_small_parts_is_taken_from_the_large_in_proportion():
    assert [len(piece) for piece in weighted_split(100, [60, 30, 5, 5, 0], least=10)] == [47, 23, 10, 10, 10]


@given(st.integers(0, 200), st.integers(1, 5), WEIGHTS)
def test_a_micro_batch_holds_the_same_samples_however_ranks_are_weighed(length, micro_batches, weights):
    shares = [micro_shares(range(length), micro_batches, len(weights), rank, weights) for rank in range(len(weights))]
    for index, (alone,) in enumerate(zip(micro_shares(range(length), micro_batches, 1, 0), strict=True)):
        assert [sample for share in shares for sample in share[index]] == list(alone)


@pytest.mark.parametrize("weights", [[0, 0], [1, -1], [1.0, float("nan")], [float("inf"), 1]], ids=str)
def test_weights_that_mean_nothing_are_refused(weights):
    with pytest.raises(DataError, match="cannot be shared by; give numbers of 0 and above"):
        weighted_share(range(10), weights, 0)


def test_a_rank_without_a_weight_has_no_share():
    with pytest.raises(DataError, match="rank 2 has no share of 2 parts"):
        weighted_share(range(10), [1, 2], 2)
    with pytest.raises(DataError, match="2 weights cannot share a batch among 3 ranks; give one weight for each"):
        micro_shares(range(10), 1, 3, 0, [1, 2])
