"""How figures are written for people."""

from __future__ import annotations

import math


def figure(value: float) -> str:
    """A measured number with four digits that matter.

    >>> figure(0.98123), figure(12), figure(1234567.0), figure(0.000012)
    ('0.9812', '12', '1,234,567', '1.200e-05')
    """
    if isinstance(value, int) or (abs(value) >= 1000 and math.isfinite(value) and abs(value) < 1e9):
        return f"{value:,.0f}"
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    size = abs(value)
    if size < 1e-4 or size >= 1e9:
        return f"{value:.3e}"
    return f"{value:.{min(6, 3 - math.floor(math.log10(size)))}f}"


def clock(seconds: float) -> str:
    """A length of time as a clock shows it.

    >>> clock(44), clock(3725)
    ('0:44', '1:02:05')
    """
    minutes, rest = divmod(round(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def size(count_bytes: float) -> str:
    """A number of bytes in the unit that suits it.

    >>> size(512), size(61_400_000)
    ('512 B', '61.4 MB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if count_bytes < 1000:
            return f"{count_bytes:.0f} B" if unit == "B" else f"{count_bytes:.1f} {unit}"
        count_bytes /= 1000
    return f"{count_bytes:.1f} TB"


def plural(count: int, noun: str) -> str:
    """A count with its noun.

    >>> plural(1, "worker"), plural(2, "worker")
    ('1 worker', '2 workers')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
