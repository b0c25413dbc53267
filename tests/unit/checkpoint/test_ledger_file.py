"""The ledger on disk: each use noted once, whatever is repeated, rewound or refused."""

import os
import resource
import signal
import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from processes import child

from stretto.checkpoint.ledger_file import LedgerFile, read_ledger
from stretto.data.audit import audit
from stretto.data.series import Series, Uses
from stretto.errors import CheckpointError

SAMPLES, BATCH = 100, 8


@pytest.fixture
def ledger(tmp_path):
    file = LedgerFile(tmp_path / "ledger.sqlite")
    file.begin(step=0, epoch=0, place=0, samples=SAMPLES, workers=2, uses=[])
    yield file
    file.close()


def a_step(step, seats=2):
    """What each of some seats uses in an update."""
    start = (step - 1) * BATCH
    size = min(BATCH, SAMPLES - start)
    cuts = [start + size * seat // seats for seat in range(seats + 1)]
    return [
        (seat, Series(0, cuts[seat], cuts[seat + 1] - cuts[seat], step))
        for seat in range(seats)
        if cuts[seat + 1] > cuts[seat]
    ]


def test_many_updates_with_the_same_shares_are_a_row_per_seat(ledger):
    for step in range(1, 13):
        ledger.record(a_step(step))
    assert len(read_ledger(ledger.path).uses) == 2
    ledger.record(a_step(13))
    (epoch,) = audit(read_ledger(ledger.path))
    assert epoch.complete
    assert epoch.by_seat == {0: 50, 1: 50}


def test_saying_it_again_changes_nothing(ledger):
    told = [use for step in range(1, 8) for use in a_step(step)]
    for _ in range(3):
        ledger.record(told)
    before = read_ledger(ledger.path)
    ledger.record(told[:4])
    assert read_ledger(ledger.path) == before


def test_going_back_forgets_what_came_later_and_learns_what_only_the_checkpoint_knows(ledger):
    ledger.record([use for step in range(1, 10) for use in a_step(step)])
    ledger.begin(step=5, epoch=0, place=40, samples=SAMPLES, workers=2, uses=[])
    assert sum(series.samples for _, series in read_ledger(ledger.path).uses) == 40
    told = [use for step in range(4, 8) for use in a_step(step)]
    ledger.begin(step=7, epoch=0, place=56, samples=SAMPLES, workers=2, uses=told)
    (epoch,) = audit(read_ledger(ledger.path))
    assert (epoch.used, epoch.sound) == (56, True)


def test_other_numbers_of_seats_go_on_where_the_last_ones_stopped(ledger):
    step = 0
    for seats, until in [(1, 3), (4, 7), (2, 13)]:
        ledger.begin(step=step, epoch=0, place=step * BATCH, samples=SAMPLES, workers=seats, uses=[])
        while step < until:
            step += 1
            ledger.record(a_step(step, seats))
    (epoch,) = audit(read_ledger(ledger.path))
    assert epoch.complete


acts = st.sampled_from(["work", "tell", "one tells", "hear", "save", "crash"])


@settings(max_examples=60, deadline=None)
@given(st.lists(acts, max_size=60), st.integers(1, 4))
def test_whatever_is_lost_on_the_way_ledger_and_checkpoint_agree(tmp_path_factory, story, seats):
    """Workers that tell now and then, whose telling or its answer may be lost, save, and crash to the last save."""
    path = tmp_path_factory.mktemp("world") / "ledger.sqlite"
    file = LedgerFile(path)
    file.begin(step=0, epoch=0, place=0, samples=10**6, workers=seats, uses=[])
    uses = [Uses() for _ in range(seats)]
    step, told, saved = 0, 0, (0, [])
    for act in story:
        if act == "work":
            step += 1
            for seat, each in enumerate(uses):
                start = (step - 1) * BATCH + seat * BATCH // seats
                each.add(step, 0, [range(start, (step - 1) * BATCH + (seat + 1) * BATCH // seats)])
        elif act == "tell":
            file.record([(seat, each) for seat, used in enumerate(uses) for each in used.series()])
            told = step
        elif act == "one tells":  # and nobody hears an answer
            seat = step % seats
            file.record([(seat, each) for each in uses[seat].series()])
        elif act == "hear":
            for each in uses:
                each.confirm(told)
        elif act == "save":
            saved = step, [(seat, each) for seat, used in enumerate(uses) for each in used.series()]
        else:
            file.close()
            file = LedgerFile(path)
            step, known = saved
            file.begin(step=step, epoch=0, place=step * BATCH, samples=10**6, workers=seats, uses=known)
            uses, told = [Uses() for _ in range(seats)], 0
    assert all(epoch.sound for epoch in audit(read_ledger(path))), "also while some have not told yet"
    file.record([(seat, each) for seat, used in enumerate(uses) for each in used.series()])
    file.end()
    file.close()
    assert sum(series.samples for _, series in read_ledger(path).uses) == step * BATCH
    assert all(epoch.sound for epoch in audit(read_ledger(path)))


def test_a_writer_killed_at_any_moment_leaves_whole_updates(tmp_path):
    path = tmp_path / "ledger.sqlite"
    reading, writing = os.pipe()

    def write():
        file = LedgerFile(path)
        file.begin(step=0, epoch=0, place=0, samples=10**6, workers=2, uses=[])
        for step in range(1, 10**5):
            file.record([(seat, Series(0, (2 * step + seat) * 4, 4, step)) for seat in range(2)])
            os.write(writing, b".")

    with child(write) as pid:
        os.read(reading, 1)
        for _ in range(20):
            os.read(reading, 1)
        os.kill(pid, signal.SIGKILL)
    uses = read_ledger(path).uses
    assert len({series.last_step for _, series in uses}) == 1
    assert uses[0][1].count >= 20


def test_a_full_disk_is_told_with_the_file_and_nothing_is_half_noted(tmp_path):
    path = tmp_path / "ledger.sqlite"

    def write():
        file = LedgerFile(path)
        file.begin(step=0, epoch=0, place=0, samples=10**6, workers=2, uses=[])
        file.record(a_step(1))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        room = path.with_name("ledger.sqlite-wal").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
        with pytest.raises(CheckpointError, match=r"ledger\.sqlite failed: .*free some space"):
            for step in range(2, 1000):
                file.record([(0, Series(0, 1000 * step, 1 + step % 7, step))])
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        file.record(a_step(2))

    with child(write) as pid:
        _, status = os.waitpid(pid, 0)
    assert status == 0
    assert {series.last_step for _, series in read_ledger(path).uses} >= {2}


def test_a_damaged_sample_is_noted_once(ledger):
    assert ledger.damage(7, "a.tar at offset 512: no JPEG")
    assert not ledger.damage(7, "a.tar at offset 512: no JPEG")
    assert ledger.damage(7, "validation.tar at offset 0: no JPEG"), "another sample has that number in other data"
    assert read_ledger(ledger.path).damaged == [
        (7, "a.tar at offset 512: no JPEG"),
        (7, "validation.tar at offset 0: no JPEG"),
    ]


@pytest.mark.parametrize("content", [None, b"", b"no database" * 100], ids=["missing", "empty", "garbage"])
def test_a_file_that_is_no_ledger_is_named(tmp_path, content):
    path = tmp_path / "ledger.sqlite"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"ledger\.sqlite"):
        read_ledger(path)


def test_it_can_be_read_while_it_is_written(ledger):
    ledger.record(a_step(1))
    with sqlite3.connect(ledger.path) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM used").fetchone() == (2,)
        ledger.record(a_step(2, seats=1))
    reader.close()
    assert sum(series.samples for _, series in read_ledger(ledger.path).uses) == 16
