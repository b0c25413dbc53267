"""The ledger of a run on disk: which worker used which samples in which update, in SQLite beside the checkpoints.

One process writes, the coordinator's; others may read meanwhile. SQLite's write-ahead log makes every `record` whole or
nothing whatever is killed, and with full synchronisation what `record` has returned from survives a power failure too.
Workers keep what is not confirmed, also in their checkpoints, and say it again: noting the same use twice changes
nothing. So the ledger and the checkpoint from which a run goes on agree, whichever of both was the last to be written.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from stretto.data.audit import Noted
from stretto.data.series import Series
from stretto.errors import CheckpointError

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS used (
    seat INTEGER NOT NULL, epoch INTEGER NOT NULL, start INTEGER NOT NULL, length INTEGER NOT NULL,
    step INTEGER NOT NULL, stride INTEGER NOT NULL, count INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS sizes (epoch INTEGER PRIMARY KEY, samples INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS begun (epoch INTEGER NOT NULL, place INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS view (step INTEGER NOT NULL, workers INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS damaged (
    sample INTEGER NOT NULL, words TEXT NOT NULL, PRIMARY KEY (sample, words)
) STRICT;
"""
_COLUMNS: Final = "epoch, start, length, step, stride, count"


class LedgerFile:
    """Writes a run's ledger; every method raises `CheckpointError` when the disk refuses, and has then changed nothing.

    >>> ledger = LedgerFile(Path("runs/first/ledger.sqlite"))        # doctest: +SKIP
    >>> ledger.begin(step=0, epoch=0, place=0, samples=60000, workers=2, uses=[])        # doctest: +SKIP
    >>> ledger.record([(0, Series(epoch=0, start=0, length=32, step=1))])        # doctest: +SKIP
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._tails: dict[int, list[tuple[int, Series]]] = {}
        with self._explained("opening"):
            self._open = sqlite3.connect(path, isolation_level=None, timeout=10.0)
            self._open.execute("PRAGMA journal_mode = WAL")
            self._open.execute("PRAGMA synchronous = FULL")
            self._open.executescript(_TABLES)

    def begin(
        self, *, step: int, epoch: int, place: int, samples: int, workers: int, uses: Sequence[tuple[int, Series]]
    ) -> None:
        """Go back to an update: forget what was used later, and note what its checkpoint knows of and we may not.

        From `epoch` on an epoch has so many `samples`; from here on so many `workers` tell what they use.
        """
        with self._transaction("going back to a checkpoint"):
            if self._open.execute("SELECT count(*) FROM begun").fetchone() == (0,):
                known = min(((each.epoch, each.start) for _, each in uses), default=(epoch, place))
                self._open.execute("INSERT INTO begun VALUES (?, ?)", known)
            self._forget_after(step)
            self._open.execute("DELETE FROM sizes WHERE epoch >= ?", (epoch,))
            self._open.execute("INSERT INTO sizes VALUES (?, ?)", (epoch, samples))
            self._open.execute("DELETE FROM view")
            self._open.execute("INSERT INTO view VALUES (?, ?)", (step, workers))
            self._find_tails()
            self._note([(seat, kept) for seat, each in uses if (kept := each.between(-1, step)) is not None])

    def record(self, uses: Sequence[tuple[int, Series]]) -> None:
        """Note what seats have used, surely on disk when this returns; what is known already is passed over."""
        with self._transaction("noting what was used"):
            self._note(uses)

    def damage(self, sample: int, words: str) -> bool:
        """Note that a sample was left out because it is damaged; False when it was known."""
        with self._transaction("noting a damaged sample"):
            return self._open.execute("INSERT OR IGNORE INTO damaged VALUES (?, ?)", (sample, words)).rowcount > 0

    def end(self) -> None:
        """Note that the run is over, so that nobody has anything more to tell."""
        with self._transaction("ending"):
            self._open.execute("DELETE FROM view")

    def close(self) -> None:
        """Close the file."""
        self._open.close()

    def _note(self, uses: Sequence[tuple[int, Series]]) -> None:
        by_seat: dict[int, list[Series]] = defaultdict(list)
        for seat, series in uses:
            by_seat[seat].append(series)
        for seat, told in by_seat.items():
            tails = self._tails.get(seat, [])
            known = max((each.last_step for _, each in tails), default=-1)
            fresh = [new for each in told if (new := each.between(known, each.last_step)) is not None]
            if fresh:
                added = [self._add(seat, each, tails) for each in fresh]
                last = max(each.last_step for _, each in added)
                self._tails[seat] = [each for each in added if each[1].last_step == last]

    def _add(self, seat: int, series: Series, tails: list[tuple[int, Series]]) -> tuple[int, Series]:
        for place, (row, tail) in enumerate(tails):
            joined = tail.joined(series)
            if joined is not None:
                del tails[place]
                self._open.execute(
                    "UPDATE used SET stride = ?, count = ? WHERE rowid = ?", (joined.stride, joined.count, row)
                )
                return row, joined
        values = (seat, *series.to_values())
        added = self._open.execute(f"INSERT INTO used (seat, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        return added.lastrowid or 0, series

    def _forget_after(self, step: int) -> None:
        self._open.execute("DELETE FROM used WHERE step > ?", (step,))
        self._open.execute("UPDATE used SET count = ? - step + 1 WHERE step + count - 1 > ?", (step, step))

    def _find_tails(self) -> None:
        """The series of each seat that its next uses may continue."""
        rows = self._open.execute(
            f"SELECT used.rowid, seat, {_COLUMNS} FROM used JOIN "
            "(SELECT seat AS whose, max(step + count) AS latest FROM used GROUP BY seat) "
            "ON seat = whose AND step + count = latest"
        )
        self._tails = {}
        for row, seat, *values in rows:
            self._tails.setdefault(seat, []).append((row, Series.from_values(values)))

    @contextmanager
    def _transaction(self, what: str) -> Iterator[None]:
        with self._explained(what):
            self._open.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._open.execute("COMMIT")
            except BaseException:
                if self._open.in_transaction:
                    self._open.execute("ROLLBACK")
                self._find_tails()
                raise

    @contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise CheckpointError(f"{what} in {self.path} failed: {error}; free some space or mend the file") from error


def read_ledger(path: Path) -> Noted:
    """Everything a ledger holds, also while its run goes on; raises `CheckpointError` for a file that is none."""
    if not path.is_file():
        raise CheckpointError(f"{path} does not exist; it is there once a run has begun to train")
    try:
        with sqlite3.connect(f"file:{path.absolute()}?mode=ro", uri=True, timeout=10.0) as file:
            rows = file.execute(f"SELECT seat, {_COLUMNS} FROM used ORDER BY step, start").fetchall()
            sizes = dict(file.execute("SELECT epoch, samples FROM sizes"))
            begun = file.execute("SELECT epoch, place FROM begun").fetchone() or (0, 0)
            view = file.execute("SELECT step, workers FROM view").fetchone()
            damaged = file.execute("SELECT sample, words FROM damaged ORDER BY sample").fetchall()
        file.close()
    except sqlite3.Error as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from error
    uses = [(seat, Series.from_values(values)) for seat, *values in rows]
    return Noted(uses=uses, sizes=sizes, begun=begun, damaged=damaged, view=view)
