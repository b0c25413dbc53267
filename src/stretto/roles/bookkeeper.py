"""The coordinator's side of the ledger: what workers say they have used becomes durable, and is then confirmed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from stretto.checkpoint.ledger_file import LedgerFile
from stretto.communicate.control import Peer
from stretto.communicate.messages import Answer, LedgerBegin, LedgerRequest, LedgerUse
from stretto.communicate.rendezvous import Letters
from stretto.data.series import Series
from stretto.errors import CheckpointError
from stretto.observe.event import Event

GATHER_S: Final = 0.05


class Bookkeeper:
    """Notes uses in a run's ledger file, many workers' in one transaction.

    A disk that refuses is told to whoever watches, once until it takes something again; the workers keep what was not
    confirmed and say it again, so the ledger is whole as soon as there is room.
    """

    def __init__(self, path: Path | None, rank_of: Callable[[int], int | None], warn: Callable[[str], None]) -> None:
        self._path, self._rank_of, self._warn = path, rank_of, warn
        self._file: LedgerFile | None = None
        self._waiting: list[tuple[Peer, int, list[tuple[int, Series]]]] = []
        self._noted_s = 0.0
        self._refused = False

    def on_request(self, peer: Peer, request: LedgerRequest, now_s: float) -> Letters:
        """Take in what a worker says; what it has used is answered by a later tick, together with others'."""
        match request:
            case LedgerBegin():
                self._waiting.clear()
                return [(peer, Answer(request=request.request, found=self._attempt(lambda: self._begin(request))))]
            case LedgerUse():
                rank = self._rank_of(peer.hello.slot)
                uses = [(rank or 0, Series.from_values(each)) for each in request.uses]
                self._waiting.append((peer, request.request, uses))
                return self.on_tick(now_s)

    def on_tick(self, now_s: float) -> Letters:
        """Note what has gathered, if it is time, and confirm it."""
        if not self._waiting or now_s - self._noted_s < GATHER_S:
            return []
        self._noted_s = now_s
        waiting, self._waiting = self._waiting, []
        uses = [use for _, _, uses in waiting for use in uses]
        noted = self._attempt(lambda: self._ledger().record(uses))
        return [(peer, Answer(request=number, found=noted)) for peer, number, _ in waiting]

    def on_event(self, event: Event) -> None:
        """Note a sample that was left out because it is damaged."""
        if event.kind == "sample_damaged":
            told = event.values
            words = f"{told['file']} at offset {told['offset']}: {told['reason']}"
            self._attempt(lambda: self._ledger().damage(int(told["sample"]), words))

    def end(self) -> None:
        """Note that the run is over: what is missing now will not come any more."""
        if self._file is not None:
            self._attempt(self._file.end)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def _begin(self, request: LedgerBegin) -> None:
        uses = [(seat, Series.from_values(values)) for seat, *values in request.uses]
        self._ledger().begin(
            step=request.step, epoch=request.epoch, place=request.place, samples=request.samples,
            workers=request.workers, uses=uses,
        )  # fmt: skip

    def _ledger(self) -> LedgerFile:
        if self._path is None:
            raise CheckpointError("this run keeps no ledger")
        if self._file is None:
            self._file = LedgerFile(self._path)
        return self._file

    def _attempt(self, work: Callable[[], object]) -> bool:
        try:
            work()
        except CheckpointError as error:
            if not self._refused:
                self._warn(f"the ledger of samples is not up to date: {error}")
            self._refused = True
            return False
        self._refused = False
        return True
