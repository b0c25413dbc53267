"""The shuffle is a bijection for every size, the same everywhere, and looks random."""

import subprocess
import sys
import tracemalloc
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.data.order import LARGEST, Permutation, mix_seeds
from stretto.errors import DataError


@pytest.mark.parametrize("sizes", [range(100), range(100, 200), range(200, 301), [1000, 1437, 4096, 4097, 9973]])
def test_every_number_comes_exactly_once(sizes):
    for size in sizes:
        assert sorted(Permutation(size, seed=size).take(0, size).tolist()) == list(range(size))


@given(st.integers(1, LARGEST), st.integers(-(2**70), 2**70), st.data())
def test_one_element_and_many_at_once_are_the_same(size, seed, data):
    start = data.draw(st.integers(0, size - 1))
    stop = min(start + 20, size)
    permutation = Permutation(size, seed)
    assert permutation.take(start, stop).tolist() == [permutation[index] for index in range(start, stop)]


@pytest.mark.parametrize("size", [10**12, 2**62 + 1, LARGEST])
def test_enormous_sizes_need_no_memory_and_stay_inside(size):
    permutation = Permutation(size, seed=7)
    places = [permutation.take(start, start + 5000) for start in (0, size // 2, size - 5000)]
    numbers = np.concatenate(places)
    assert len(np.unique(numbers)) == 15000
    assert numbers.min() >= 0
    assert numbers.max() < size


@pytest.mark.parametrize("size", [10**12, LARGEST - 1])
def test_four_million_places_never_meet_where_random_numbers_would(size):
    places = np.arange(4_000_000) * (size // 4_000_000)
    elements = np.sort(Permutation(size, seed=1).at(places))
    assert (elements[1:] > elements[:-1]).all()  # of 10**12, random numbers would meet in eight pairs


@pytest.mark.parametrize("size", [10**12, LARGEST])
@pytest.mark.parametrize("step", [1, 2**20], ids=["neighbours", "far apart"])
def test_what_an_enormous_order_visits_is_spread_evenly(size, step):
    elements = Permutation(size, seed=5).at(np.arange(100_000) * step)
    counts = np.bincount((elements / (size / 100)).astype(np.int64), minlength=100)
    assert ((counts - 1000) ** 2 / 1000).sum() < 150  # 99 are expected, 14 is their deviation
    low_bits = np.bincount(elements & 63, minlength=64)
    assert ((low_bits - 1562.5) ** 2 / 1562.5).sum() < 122  # 63 and 11


def test_no_list_of_all_indices_is_ever_made():
    tracemalloc.start()
    try:
        assert len(Permutation(10**12, seed=2).take(10**11, 10**11 + 1000)) == 1000
        assert tracemalloc.get_traced_memory()[1] < 200_000
    finally:
        tracemalloc.stop()


def test_seeds_give_orders_of_their_own():
    orders = {tuple(Permutation(50, seed).take(0, 50).tolist()) for seed in range(200)}
    assert len(orders) == 200


def test_the_same_seed_gives_the_same_order_for_ever():
    # Written down, because a checkpoint's position means nothing in another order.
    assert Permutation(10, seed=0).take(0, 10).tolist() == [7, 1, 9, 0, 4, 2, 8, 3, 5, 6]
    assert mix_seeds(1, 2) == 13608149317741381227


def test_all_orders_of_four_are_about_equally_frequent():
    counts = Counter(tuple(Permutation(4, seed).take(0, 4).tolist()) for seed in range(2400))
    assert len(counts) == 24
    assert min(counts.values()) > 60
    assert max(counts.values()) < 145


def test_first_and_second_are_independent():
    pairs = Counter((Permutation(5, seed)[0], Permutation(5, seed)[1]) for seed in range(2000))
    assert len(pairs) == 20
    assert min(pairs.values()) > 60


def test_neighbours_and_places_do_not_correlate():
    places = Permutation(20_000, seed=3).take(0, 20_000)
    assert abs(np.corrcoef(np.arange(20_000), places)[0, 1]) < 0.03
    assert abs(np.corrcoef(places[:-1], places[1:])[0, 1]) < 0.03


def test_what_lies_outside_is_refused():
    permutation = Permutation(5, seed=0)
    for index in (-1, 5):
        with pytest.raises(IndexError, match=f"index {index} is outside a permutation of 5"):
            permutation[index]
    with pytest.raises(IndexError, match="3 to 6"):
        permutation.take(3, 6)
    for size in (-1, LARGEST + 1):
        with pytest.raises(DataError, match="cannot be ordered"):
            Permutation(size, seed=0)


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=3), st.lists(st.integers(0, 1000), min_size=1, max_size=3))
def test_mixed_seeds_differ_where_numbers_do(left, right):
    assert (mix_seeds(*left) == mix_seeds(*right)) == (left == right)


def test_the_arithmetic_of_data_needs_neither_torch_nor_numpy():
    code = (
        "import sys, stretto.data.order, stretto.data.split, stretto.data.ledger; "
        "stretto.data.order.Permutation(10, 1)[3]; "
        "sys.exit(bool({'torch', 'numpy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=30, check=False).returncode == 0
