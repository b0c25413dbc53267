"""Sharing batches out among workers of unequal speed, or telling the person that it would pay."""

from __future__ import annotations

import time

import torch

from stretto.communicate.transport import Transport
from stretto.data.ledger import Lease
from stretto.data.loader import Loader
from stretto.observe.training import Training
from stretto.roles.balance import Balance, Pace


class Sharing:
    """Measures this worker's own speed, exchanges it with the others now and then, and acts on what is found.

    With `measured` shares the loader cuts the following batches by speed. With even ones nothing is changed, and a
    worker that holds up the others is named once.
    """

    def __init__(self, transport: Transport, loader: Loader, training: Training, *, measured: bool) -> None:
        self._transport, self._loader, self._training, self._measured = transport, loader, training, measured
        self._balance, self._pace = Balance(transport.size), Pace()
        self._first_step = 0
        self._named = False

    def begin(self) -> None:
        """Start to measure."""
        self._first_step = self._training.step
        self.begin_anew()

    def begin_anew(self) -> None:
        """Leave out what was done until now: it was not training."""
        self._pace.begin(time.monotonic(), self._transport.waited_s)

    def used(self, samples: int) -> None:
        """Count what this worker contributed to an update."""
        self._pace.count(samples)

    def after_meeting(self, lease: Lease) -> None:
        """Exchange speeds if it is time; all seats come here after the same lease."""
        steps = self._training.step - self._first_step
        if self._transport.size == 1 or not self._balance.due(steps):
            return
        now_s = time.monotonic()
        rate = self._pace.rate(now_s, self._transport.waited_s)
        told = self._transport.gather(torch.tensor([rate], dtype=torch.float64))
        self._balance.hear([float(each) for each in told], now_s)
        self.begin_anew()
        if self._measured:
            shares = self._balance.shares()
            if shares is not None:
                self._loader.share_by(shares, lease)
                self._tell(shares)
        else:
            self._name_slowest(now_s)

    def _tell(self, shares: tuple[float, ...]) -> None:
        if self._transport.rank == 0:
            self._training.emit(self._training.event("shares", shares=[round(share, 4) for share in shares]))

    def _name_slowest(self, now_s: float) -> None:
        slowest = self._balance.slowest(now_s)
        if slowest is None or self._named:
            return
        self._named = True
        if self._transport.rank == 0:
            fact = f"worker {slowest[0]} is {slowest[1]:.1f} times slower than the fastest, and all wait for it"
            self._training.warn(f"{fact}; cluster.shares: measured would give it less of each batch")
