"""Who takes which part of a range: plain arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import isfinite, lcm

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


def weighted_split(total: int, weights: Sequence[float], least: int = 0) -> list[range]:
    """Cut `range(total)` into contiguous parts in proportion to weights; equal weights cut as `even_split` does.

    What is left after rounding down goes to the largest remainders. Every part has `least` at least, as far as the
    total allows it.

    >>> weighted_split(10, [2, 1, 0], least=1)
    [range(0, 6), range(6, 9), range(9, 10)]
    """
    sizes = _weighted_sizes(total, weights, least)
    return [range(end - size, end) for size, end in zip(sizes, accumulate(sizes), strict=True)]


def weighted_share(whole: range, weights: Sequence[float], rank: int, least: int = 0) -> range:
    """Return the part of a range that belongs to one rank: the same as `weighted_split` cuts.

    >>> weighted_share(range(10, 18), [1.0, 3.0], rank=1)
    range(12, 18)
    """
    share(range(0), len(weights), rank)  # refuses a rank that does not exist
    part = weighted_split(len(whole), weights, least)[rank]
    return whole[part.start : part.stop]


def micro_shares(
    whole: range, micro_batches: int, parts: int, rank: int, weights: Sequence[float] | None = None, least: int = 0
) -> list[range]:
    """Return one rank's share of every micro-batch of a batch, by weight if there are `weights`.

    Micro-batches are cut first and shared out then, so that each holds the same samples whatever the number of ranks
    and however they are weighed.

    >>> micro_shares(range(8), micro_batches=2, parts=2, rank=1)
    [range(2, 4), range(6, 8)]
    >>> micro_shares(range(8), micro_batches=2, parts=2, rank=1, weights=[1, 3])
    [range(1, 4), range(5, 8)]
    """
    if weights is None:
        return [share(share(whole, micro_batches, index), parts, rank) for index in range(micro_batches)]
    if len(weights) != parts:
        raise DataError(f"{len(weights)} weights cannot share a batch among {parts} ranks; give one weight for each")
    return [weighted_share(share(whole, micro_batches, index), weights, rank, least) for index in range(micro_batches)]


def _weighted_sizes(total: int, weights: Sequence[float], least: int) -> list[int]:
    least = min(least, total // len(weights))
    wholes, raised = _in_proportion(weights), [False] * len(weights)
    while True:
        free = [0 if up else whole for up, whole in zip(raised, wholes, strict=True)]
        sizes = _largest_remainders(total - least * sum(raised), free)
        sizes = [least if up else size for up, size in zip(raised, sizes, strict=True)]
        if min(sizes) >= least:
            return sizes
        raised = [up or size < least for up, size in zip(raised, sizes, strict=True)]


def _in_proportion(weights: Sequence[float]) -> list[int]:
    """Return whole numbers in exactly the same proportion, so that nothing depends on how sums are rounded."""
    if not all(isfinite(weight) and weight >= 0 for weight in weights) or not any(weights):
        shown = ", ".join(map(str, weights))
        raise DataError(f"weights {shown} cannot be shared by; give numbers of 0 and above, and not only zeros")
    ratios = [weight.as_integer_ratio() for weight in weights]
    common = lcm(*(denominator for _, denominator in ratios))
    return [numerator * (common // denominator) for numerator, denominator in ratios]


def _largest_remainders(total: int, weights: Sequence[int]) -> list[int]:
    whole = sum(weights)
    sizes, remainders = zip(*(divmod(total * weight, whole) for weight in weights), strict=True)
    first = sorted(range(len(weights)), key=lambda part: -remainders[part])  # of equal ones, the earlier part
    larger = set(first[: total - sum(sizes)])
    return [size + (part in larger) for part, size in enumerate(sizes)]
