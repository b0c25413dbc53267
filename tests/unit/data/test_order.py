"""The shuffle is a bijection for every size, the same everywhere, and looks random."""

import subprocess
import sys
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
