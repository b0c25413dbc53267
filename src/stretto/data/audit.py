"""Was every sample used exactly once? Asked of what the workers have noted, and answered with numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from stretto.data.series import Series


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochAudit:
    """What is known of one epoch: `missing`, `doubled` and `beyond` its end are places in its order, as ranges."""

    epoch: int
    samples: int
    used: int
    missing: tuple[range, ...]
    doubled: tuple[range, ...]
    beyond: tuple[range, ...]
    by_seat: dict[int, int]
    begun_before: bool = False  # the ledger was begun in the middle of this epoch

    @property
    def complete(self) -> bool:
        """Whether every sample was used exactly once."""
        return self.used == self.samples and self.sound

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong: used is used once, and what is missing is only the end that has not come yet."""
        return not (self.missing or self.doubled or self.beyond)

    def values(self) -> dict[str, object]:
        """Return the findings as JSON can hold them."""
        keys = ("missing", "doubled", "beyond")
        ranges = {key: [[each.start, each.stop] for each in getattr(self, key)] for key in keys}
        seats = {str(seat): used for seat, used in sorted(self.by_seat.items())}
        return {"epoch": self.epoch, "samples": self.samples, "used": self.used, "by_seat": seats} | ranges


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """Everything a ledger holds: who used what, and from which epoch on an epoch has how many samples."""

    uses: Sequence[tuple[int, Series]] = ()  # (seat, series)
    sizes: dict[int, int] = field(default_factory=dict)
    begun: tuple[int, int] = (0, 0)  # the epoch and place at which the ledger begins
    damaged: Sequence[tuple[int, str]] = ()  # (sample, what is wrong with it)
    view: tuple[int, int] | None = None  # the update after which so many workers began, where they are not done


def audit(noted: Noted) -> list[EpochAudit]:
    """Look at every epoch from the first to the last that was used.

    >>> noted = Noted(uses=[(0, Series(0, 0, 4, 1)), (1, Series(0, 6, 3, 1))], sizes={0: 9})
    >>> audit(noted)[0].missing
    (range(4, 6),)
    """
    last = max((series.epoch for _, series in noted.uses), default=-1)
    told = _all_told(noted)
    return [_epoch(noted, epoch, told) for epoch in range(noted.begun[0], last + 1)]


def _all_told(noted: Noted) -> tuple[int, int]:
    """The epoch and place up to which all workers have told what they used; behind it some may have, and others not."""
    uses = [series for _, series in noted.uses]
    if noted.view is not None:
        begun, workers = noted.view
        latest = dict.fromkeys(range(workers), begun)
        for seat, series in noted.uses:
            if seat < workers:
                latest[seat] = max(latest[seat], series.last_step)
        until = min(latest.values())
        uses = [told for series in uses if (told := series.between(-1, until)) is not None]
    return max(((series.epoch, series.stop) for series in uses), default=noted.begun)


def _epoch(noted: Noted, epoch: int, told: tuple[int, int]) -> EpochAudit:
    mine = [(seat, series) for seat, series in noted.uses if series.epoch == epoch]
    samples = next((noted.sizes[each] for each in sorted(noted.sizes, reverse=True) if each <= epoch), 0)
    first = noted.begun[1] if epoch == noted.begun[0] else 0
    starts, ends = _parts(series for _, series in mine)
    known_end = samples if epoch < told[0] else told[1] if epoch == told[0] else 0
    missing, doubled = _compare(starts, ends, first, known_end)
    by_seat: Counter[int] = Counter()
    for seat, series in mine:
        by_seat[seat] += series.samples
    return EpochAudit(
        epoch=epoch, samples=samples, used=by_seat.total(), missing=missing,
        doubled=doubled, beyond=_beyond(starts, ends, samples), by_seat=dict(by_seat), begun_before=first > 0,
    )  # fmt: skip


def _parts(uses: Iterable[Series]) -> tuple[np.ndarray, np.ndarray]:
    """All parts in the order of their starts, as (starts, ends)."""
    pieces = [(each.start + each.stride * np.arange(each.count), each.length) for each in uses]
    starts = np.concatenate([start for start, _ in pieces]) if pieces else np.empty(0, dtype=np.int64)
    ends = np.concatenate([start + length for start, length in pieces]) if pieces else starts
    order = np.argsort(starts, kind="stable")
    return starts[order], ends[order]


def _compare(
    starts: np.ndarray, ends: np.ndarray, first: int, last: int
) -> tuple[tuple[range, ...], tuple[range, ...]]:  # fmt: skip
    """Where parts leave something out between `first` and `last`, and where they overlap."""
    reached = np.maximum.accumulate(np.concatenate([[first], ends]))
    following = np.minimum(np.concatenate([starts, [last]]), last)
    gaps = np.flatnonzero(following > reached)
    overlaps = np.flatnonzero(starts < reached[:-1])
    missing = tuple(range(int(reached[each]), int(following[each])) for each in gaps)
    doubled = tuple(range(int(starts[each]), int(min(ends[each], reached[each]))) for each in overlaps)
    return missing, doubled


def _beyond(starts: np.ndarray, ends: np.ndarray, samples: int) -> tuple[range, ...]:
    """Places that were used though the epoch does not have them."""
    late = np.flatnonzero(ends > samples)
    return tuple(range(int(max(starts[each], samples)), int(ends[each])) for each in late)


def describe(noted: Noted, found: Sequence[EpochAudit]) -> list[str]:
    """What an audit has found, in a person's words: a line per epoch, then what is wrong, then what is damaged."""
    alike = groupby(found, key=lambda each: (each.complete or each.epoch, each.samples, each.by_seat))
    lines = [_line(list(group)) for _, group in alike]
    lines += [problem for each in found for problem in _problems(each)]
    if noted.damaged:
        samples = "1 sample" if len(noted.damaged) == 1 else f"{len(noted.damaged):,} samples"
        lines.append(f"left out because of damage: {samples}")
        lines += [f"  sample {sample}: {words}" for sample, words in noted.damaged]
    return lines or ["nothing was used yet"]


def _line(group: list[EpochAudit]) -> str:
    """One line for epochs that follow one another and went alike."""
    found, last = group[0], group[-1]
    epochs = f"epoch {found.epoch}" if found is last else f"epochs {found.epoch} to {last.epoch}"
    seats = ", ".join(f"worker {seat}: {used:,}" for seat, used in sorted(found.by_seat.items()))
    verdict = "each once" if found.sound else "NOT each once"
    when = "" if found.complete or not found.sound else " (since the ledger began)" if found.begun_before else " so far"
    return f"{epochs}: {found.used:,} of {found.samples:,}{when}, {verdict}; {seats}"


def _problems(found: EpochAudit) -> list[str]:
    never = [f"epoch {found.epoch}: places {each.start} to {each.stop} were never used" for each in found.missing]
    beyond = [f"epoch {found.epoch}: places {each.start} to {each.stop} do not exist" for each in found.beyond]
    twice = [f"epoch {found.epoch}: places {each.start} to {each.stop} were used twice" for each in found.doubled]
    return never + twice + beyond
