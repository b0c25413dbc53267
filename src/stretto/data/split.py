"""Who takes which part of a range: plain arithmetic."""

from __future__ import annotations

from stretto.errors import DataError


def even_split(total: int, parts: int) -> list[range]:
    """Cut `range(total)` into contiguous parts whose sizes differ by one at most, the larger ones first.

    >>> even_split(7, 3)
    [range(0, 3), range(3, 5), range(5, 7)]
    """
    return [share(range(total), parts, rank) for rank in range(parts)]


def share(whole: range, parts: int, rank: int) -> range:
    """Return the part of a range that belongs to one rank: the same as `even_split` cuts, without cutting the others.

    >>> share(range(10, 17), parts=3, rank=2)
    range(15, 17)
    """
    if not 0 <= rank < parts:
        raise DataError(f"rank {rank} has no share of {parts} parts; ranks go from 0 to parts - 1")
    size, larger = divmod(len(whole), parts)
    start = rank * size + min(rank, larger)
    return whole[start : start + size + (rank < larger)]


def micro_shares(whole: range, micro_batches: int, parts: int, rank: int) -> list[range]:
    """Return one rank's share of every micro-batch of a batch.

    Micro-batches are cut first and shared out then, so that each holds the same samples whatever the number of ranks.

    >>> micro_shares(range(8), micro_batches=2, parts=2, rank=1)
    [range(2, 4), range(6, 8)]
    """
    return [share(share(whole, micro_batches, index), parts, rank) for index in range(micro_batches)]
