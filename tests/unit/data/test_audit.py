"""Audits find what is missing, doubled and beyond the end, and agree with counting every place by hand."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.data.audit import Noted, audit, describe
from stretto.data.series import Series

series = st.builds(
    lambda start, length, gap, count: Series(0, start, length, 1, length + gap, count),
    st.integers(0, 40), st.integers(1, 9), st.integers(0, 9), st.integers(1, 6),
)  # fmt: skip


def noted(*uses, samples=9, **more):
    return Noted(uses=list(enumerate(uses)), sizes={0: samples}, **more)


def places(ranges):
    return {place for each in ranges for place in each}


@given(st.lists(series, max_size=8), st.integers(1, 120))
def test_an_audit_agrees_with_counting_every_place(uses, samples):
    counted = Counter(
        each.start + number * each.stride + place
        for each in uses
        for number in range(each.count)
        for place in range(each.length)
    )
    found = audit(Noted(uses=[(0, each) for each in uses], sizes={0: samples}))
    if not uses:
        assert found == []
        return
    (epoch,) = found
    assert places(epoch.missing) == {place for place in range(max(counted)) if not counted[place]}
    assert places(epoch.doubled) == {place for place, times in counted.items() if times > 1}
    assert places(epoch.beyond) == {place for place in counted if place >= samples}
    assert epoch.used == counted.total()
    assert epoch.complete == (counted == Counter(range(samples)))


@pytest.mark.parametrize(
    ("uses", "problem"),
    [
        ([Series(0, 0, 4, 1), Series(0, 6, 3, 2)], "epoch 0: places 4 to 6 were never used"),
        ([Series(0, 0, 4, 1), Series(0, 2, 7, 2)], "epoch 0: places 2 to 4 were used twice"),
        ([Series(0, 0, 4, 1), Series(1, 0, 9, 2)], "epoch 0: places 4 to 9 were never used"),
        ([Series(0, 0, 12, 1)], "epoch 0: places 9 to 12 do not exist"),
    ],
)
def test_what_is_wrong_is_said_with_its_places(uses, problem):
    told = noted(*uses)
    assert problem in describe(told, audit(told))
    assert not all(epoch.sound for epoch in audit(told))


def test_an_epoch_under_way_is_sound_but_not_complete():
    told = noted(Series(0, 0, 2, 1), Series(0, 2, 2, 1))
    (epoch,) = audit(told)
    assert epoch.sound and not epoch.complete
    assert describe(told, [epoch]) == ["epoch 0: 4 of 9 so far, each once; worker 0: 2, worker 1: 2"]


def test_what_a_worker_has_not_told_yet_is_missing_only_once_the_run_is_over():
    slow, quick = Series(0, 0, 4, step=1, stride=8, count=2), Series(0, 4, 4, step=1, stride=8, count=5)
    told = Noted(uses=[(0, slow), (1, quick)], sizes={0: 40}, view=(0, 2))
    assert audit(told)[0].sound
    assert audit(replace(told, view=(0, 3)))[0].sound, "the third has told nothing at all"
    lost = replace(told, uses=[(0, slow), (0, Series(0, 32, 4, step=5)), (1, quick)])
    assert audit(lost)[0].missing == (range(16, 20), range(24, 28))  # the first has told of a later update
    assert audit(replace(told, view=None))[0].missing == (range(16, 20), range(24, 28), range(32, 36))


def test_a_worker_may_have_told_of_the_next_epoch_before_another_has_told_of_this_one():
    told = Noted(uses=[(0, Series(0, 0, 4, 1)), (0, Series(1, 0, 4, 2))], sizes={0: 8}, view=(0, 2))
    assert [(epoch.sound, epoch.complete) for epoch in audit(told)] == [(True, False)] * 2
    assert [epoch.missing for epoch in audit(replace(told, view=None))] == [(range(4, 8),), ()]


def test_epochs_that_went_alike_share_a_line():
    uses = [(0, Series(epoch, 0, 9, epoch + 1)) for epoch in range(4)] + [
        (1, Series(4, 0, 9, 5)),
        (1, Series(5, 0, 3, 6)),
    ]
    told = Noted(uses=uses, sizes={0: 9})
    assert describe(told, audit(told)) == [
        "epochs 0 to 3: 9 of 9, each once; worker 0: 9",
        "epoch 4: 9 of 9, each once; worker 1: 9",
        "epoch 5: 3 of 9 so far, each once; worker 1: 3",
    ]


def test_an_epoch_may_have_another_size_from_some_epoch_on():
    told = Noted(uses=[(0, Series(0, 0, 9, 1)), (0, Series(1, 0, 12, 2))], sizes={0: 9, 1: 12})
    assert [epoch.complete for epoch in audit(told)] == [True, True]


def test_a_ledger_begun_later_asks_for_nothing_before_its_beginning():
    told = noted(Series(2, 4, 5, 1), begun=(2, 4))
    (epoch,) = audit(told)
    assert (epoch.epoch, epoch.sound) == (2, True)
    assert "since the ledger began" in describe(told, [epoch])[0]


def test_damaged_samples_are_named():
    told = noted(Series(0, 0, 9, 1), damaged=[(7, "a.tar at offset 512: no JPEG")])
    assert describe(told, audit(told))[1:] == [
        "left out because of damage: 1 sample",
        "  sample 7: a.tar at offset 512: no JPEG",
    ]


def test_an_unused_ledger_says_so():
    assert describe(Noted(), audit(Noted())) == ["nothing was used yet"]
