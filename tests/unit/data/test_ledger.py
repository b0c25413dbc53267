"""The ledger hands out every sample once per epoch, and counts a lease only when it is its turn."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.data.audit import Noted, audit
from stretto.data.ledger import Lease, Ledger, Position, Verdict
from stretto.data.series import Series
from stretto.errors import DataError


def commit_all(ledger, steps):
    for _ in range(steps):
        assert ledger.commit(ledger.next(ledger.position), ledger.step + 1, ledger.view) is Verdict.COMMITTED


def test_a_position_goes_through_json():
    position = Position(3, 128)
    assert Position.from_values(json.loads(json.dumps(position.to_values()))) == position


@pytest.mark.parametrize("values", [(-1, 0), (0, -1)])
def test_a_position_cannot_be_before_the_beginning(values):
    with pytest.raises(DataError, match="both begin at 0"):
        Position(*values)


@pytest.mark.parametrize("size, batch", [(0, 4), (4, 0)])
def test_nothing_cannot_be_leased(size, batch):
    with pytest.raises(DataError, match="both must be at least 1"):
        Ledger(size, batch)


def test_the_last_lease_of_an_epoch_may_be_smaller():
    leases, position = [], Position()
    for _ in range(4):
        leases.append(Ledger(10, 4).next(position))
        position = leases[-1].end
    assert [(lease.epoch, lease.start, lease.stop, lease.ends_epoch) for lease in leases] == [
        (0, 0, 4, False),
        (0, 4, 8, False),
        (0, 8, 10, True),
        (1, 0, 4, False),
    ]
    assert len(leases[2]) == 2


def test_a_position_at_the_end_of_an_epoch_means_the_next():
    assert Ledger(10, 4).next(Position(2, 10)) == Ledger(10, 4).next(Position(3, 0))


def test_a_commit_moves_the_ledger_to_the_end_of_the_lease():
    ledger = Ledger(10, 4)
    commit_all(ledger, 3)
    assert (ledger.position, ledger.step) == (Position(1, 0), 3)


def test_a_repeated_commit_changes_nothing():
    ledger = Ledger(10, 4)
    lease = ledger.next(ledger.position)
    ledger.commit(lease, step=1)
    assert ledger.commit(lease, step=1) is Verdict.DOUBLE
    assert ledger.position == lease.end


def test_a_commit_that_leaves_something_out_is_refused():
    ledger = Ledger(10, 4)
    second = ledger.next(ledger.next(ledger.position).end)
    assert ledger.commit(second, step=1) is Verdict.GAP
    assert ledger.commit(ledger.next(ledger.position), step=2) is Verdict.GAP
    assert ledger.commit(Lease(epoch=0, start=0, stop=3, ends_epoch=False), step=1) is Verdict.GAP
    assert (ledger.position, ledger.step) == (Position(), 0)


def test_the_old_view_cannot_commit_after_a_rewind():
    ledger = Ledger(10, 4)
    commit_all(ledger, 2)
    late = ledger.next(ledger.position)
    ledger.rewind(Position(0, 4), step=1, view=1)
    assert ledger.commit(late, step=3, view=0) is Verdict.OLD_VIEW
    assert ledger.commit(ledger.next(ledger.position), step=2, view=0) is Verdict.OLD_VIEW
    assert ledger.commit(ledger.next(ledger.position), step=2, view=1) is Verdict.COMMITTED


def test_a_view_that_has_not_begun_cannot_commit():
    ledger = Ledger(10, 4)
    assert ledger.commit(ledger.next(ledger.position), step=1, view=1) is Verdict.GAP


def test_a_rewind_goes_back_only_and_needs_a_new_view():
    ledger = Ledger(10, 4)
    commit_all(ledger, 1)
    with pytest.raises(DataError, match="views only grow"):
        ledger.rewind(Position(), step=0, view=0)
    with pytest.raises(DataError, match="cannot rewind to step 9"):
        ledger.rewind(Position(3, 0), step=9, view=1)


def test_a_resumed_ledger_begins_where_it_was():
    ledger = Ledger(10, 4, position=Position(1, 4), step=4, view=2)
    assert ledger.commit(ledger.next(ledger.position), step=5, view=2) is Verdict.COMMITTED
    assert ledger.position == Position(1, 8)


@given(st.integers(1, 60), st.lists(st.integers(1, 25), min_size=1, max_size=6), st.integers(1, 5))
def test_batches_may_change_between_runs_and_each_sample_still_comes_once_per_epoch(size, batches, epochs):
    history, position, turn = [], Position(), 0
    while position.epoch < epochs:
        history.append(Ledger(size, batches[turn % len(batches)]).next(position))
        position, turn = history[-1].end, turn + 1
    used = [(lease.epoch, sample) for lease in history for sample in range(lease.start, lease.stop)]
    assert sorted(used) == [(epoch, sample) for epoch in range(epochs) for sample in range(size)]
    uses = [(0, Series(lease.epoch, lease.start, len(lease), step)) for step, lease in enumerate(history)]
    assert all(epoch.complete for epoch in audit(Noted(uses=uses, sizes={0: size})))
