"""What workers have used stays small, joins exactly, and is forgotten exactly when it is confirmed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.data.series import Series, Uses

batches = st.lists(st.tuples(st.integers(1, 9), st.integers(0, 5)), max_size=40)


def used(sizes):
    """A worker's uses: in update n it took `own` of a batch of so many samples, from its beginning."""
    uses, expected, start = Uses(), {}, 0
    for step, (batch, own) in enumerate(sizes, 1):
        part = range(start, start + min(own, batch))
        uses.add(step, 0, [part])
        expected[step] = list(part)
        start += batch
    return uses, expected


def expanded(series):
    """Which places each update used, read off the series one by one."""
    found = {}
    for each in series:
        for number in range(each.count):
            start = each.start + number * each.stride
            found.setdefault(each.step + number, []).extend(range(start, start + each.length))
    return found


@given(batches)
def test_series_say_exactly_what_each_update_used(sizes):
    uses, expected = used(sizes)
    assert expanded(uses.series()) == {step: places for step, places in expected.items() if places}


@given(batches, st.integers(0, 45))
def test_what_is_confirmed_is_forgotten_and_nothing_else(sizes, step):
    uses, expected = used(sizes)
    uses.confirm(step)
    assert expanded(uses.series()) == {each: places for each, places in expected.items() if places and each > step}


@given(batches, st.integers(0, 45), st.integers(0, 45))
def test_a_cut_series_has_the_updates_between(sizes, after, until):
    uses, expected = used(sizes)
    cut = [part for each in uses.series() if (part := each.between(after, until))]
    assert expanded(cut) == {each: places for each, places in expected.items() if places and after < each <= until}


def test_an_epoch_of_equal_shares_is_one_series_however_long():
    uses = Uses()
    for step in range(1, 10_001):
        uses.add(step, 0, [range(step * 64, step * 64 + 32)])
    assert uses.series() == [Series(0, start=64, length=32, step=1, stride=64, count=10_000)]
    assert uses.series()[0].samples == 320_000


def test_micro_batches_make_a_series_each():
    uses = Uses()
    for step in range(1, 6):
        uses.add(step, 0, [range(step * 8, step * 8 + 2), range(step * 8 + 4, step * 8 + 6)])
    assert [each.start for each in uses.series()] == [8, 12]


@pytest.mark.parametrize(
    "later",
    [
        Series(1, start=8, length=4, step=2),
        Series(0, start=8, length=3, step=2),
        Series(0, start=8, length=4, step=3),
        Series(0, start=2, length=4, step=2),
    ],
    ids=["another epoch", "another length", "an update left out", "an overlap"],
)
def test_what_does_not_continue_a_series_is_not_joined(later):
    assert Series(0, start=0, length=4, step=1).joined(later) is None


def test_a_series_survives_being_written():
    series = Series(3, start=5, length=4, step=9, stride=8, count=7)
    assert Series.from_values(list(series.to_values())) == series
