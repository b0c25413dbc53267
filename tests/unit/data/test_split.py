"""Ranges are cut evenly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.data.split import even_split, micro_shares, share
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
