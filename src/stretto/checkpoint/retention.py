"""Which checkpoints may go: the last few and the best stay."""

from __future__ import annotations

from collections.abc import Iterable


def to_delete(steps: Iterable[int], keep: int, best: int | None = None) -> list[int]:
    """The steps to delete, oldest first: all but the newest `keep` (the newest always stays) and the best one.

    >>> to_delete([100, 200, 300, 400], keep=2, best=100)
    [200]
    """
    ordered = sorted(set(steps))
    staying = {*ordered[-max(keep, 1) :], best}
    return [step for step in ordered if step not in staying]
