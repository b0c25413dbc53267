"""Batches to train on: this rank's share of every global batch, in the order of the epoch, from any position on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stretto.data.assembly import Assembly, Portion, Wanted
from stretto.data.ledger import Lease, Ledger, Position
from stretto.data.split import micro_shares, share


class Loader:
    """Asks an assembly for what one of `size` ranks contributes to each batch of `batch` samples over all ranks.

    The order depends on seed and epoch alone, and ranks take contiguous parts of it: put together, the parts of n ranks
    are exactly the batch of one. With `micro_batches` each of these is shared out by itself. The last batch of an epoch
    may be smaller, and a rank's part of it empty: tensors of the right shapes with no rows.

    >>> from stretto.data.assembly import Assembler
    >>> from stretto.data.sources.digits import digits
    >>> from stretto.data.orders.shuffled import Shuffled
    >>> training, _ = digits()
    >>> with Loader(Assembler(training, Shuffled(training, seed=0)), batch=128, rank=0, size=2) as loader:
    ...     wanted, (batch,) = next(loader.at(Position(0, 256)))
    >>> wanted.lease.start, wanted.parts, len(batch)
    (256, (range(256, 320),), 64)
    """

    def __init__(self, assembly: Assembly, batch: int, rank: int, size: int, *, micro_batches: int = 1) -> None:
        share(range(batch), size, rank)  # refuses a rank that does not exist
        self.assembly = assembly
        self.samples, self.batch = len(assembly), batch
        self._leases = Ledger(self.samples, batch)
        self._rank, self._size, self._micro_batches = rank, size, micro_batches
        self._weights: list[tuple[Position, Sequence[float] | None]] = [(Position(), None)]
        self._portions: Iterator[Portion] | None = None

    @property
    def batches_per_epoch(self) -> int:
        """How many updates an epoch has."""
        return -(-self.samples // self.batch)

    def at(self, position: Position) -> Iterator[Portion]:
        """Iterate from a position on, over epoch after epoch without end; an iteration begun before ends.

        Raises what the source raises, with its traceback, in place of the batch that could not be read.
        """
        self.close()
        self._portions = self.assembly.portions(self._wanted(position))
        return self._portions

    def share_by(self, weights: Sequence[float], used: Lease) -> None:
        """Share batches out in proportion to `weights`, from the first one on that nobody can have begun to read.

        All ranks must say the same after the same batch, which is `used`.
        """
        lease = used
        for _ in range(self.assembly.ahead + 1):
            lease = self._leases.next(lease.end)
        self._weights.append((lease.begin, tuple(weights)))

    def close(self) -> None:
        """End what is done ahead; forgetting the loader and its iteration does the same."""
        if self._portions is not None and hasattr(self._portions, "close"):
            self._portions.close()
        self._portions = None

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _wanted(self, position: Position) -> Iterator[Wanted]:
        return _wants(self._leases, self._weights, position, self._micro_batches, self._size, self._rank)


def _wants(
    leases: Ledger,
    weights: Sequence[tuple[Position, Sequence[float] | None]],
    position: Position,
    micro_batches: int,
    size: int,
    rank: int,
) -> Iterator[Wanted]:
    """What a rank wants from a position on; `weights` may grow. It knows no loader, so that that can be forgotten."""
    while True:
        lease = leases.next(position)
        valid = next(each for since, each in reversed(weights) if since <= lease.begin)
        parts = micro_shares(range(lease.start, lease.stop), micro_batches, size, rank, valid)
        yield Wanted(lease, tuple(parts))
        position = lease.end
