"""What a run looks like in a terminal: from an overview to something rich can draw."""

from __future__ import annotations

import time
from typing import Final

from rich.console import Group, RenderableType
from rich.constrain import Constrain
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from stretto.observe.figures import clock, figure, plural, size
from stretto.observe.overview import Overview, SeatState, Stretch

WIDTH: Final = 100
SEATS_SHOWN: Final = 8
NEWS_SHOWN: Final = 3
_STATUS_STYLES: Final = {"finished": "green", "failed": "red", "stopping": "yellow"}
_STATE_STYLES: Final = {"training": "green", "failed": "red", "stopping": "yellow"}


def picture(overview: Overview) -> RenderableType:
    """Draw everything an overview knows, in at most a hundred columns."""
    parts: list[RenderableType] = [_heading(overview), Text(), _bar(overview), Text(), _figures(overview)]
    if len(overview.seats) > 1:
        parts += [Text(), _seats(overview.seats)]
    if overview.news:
        parts += [Text(), _news(overview)]
    return Constrain(Padding(Group(*parts), (1, 2)), WIDTH)


def _heading(overview: Overview) -> RenderableType:
    facts = overview.facts
    subject = " on ".join(str(facts[key]) for key in ("model", "data") if key in facts) or "a run"
    line = Text(no_wrap=True, overflow="ellipsis").append(subject, "bold")
    words = [str(facts[key]) for key in ("strategy", "engine") if key in facts]
    if "workers" in facts:
        words.insert(1, plural(facts["workers"], "worker"))
    for word in words:
        line.append("  ·  ", "dim").append(word)
    if "folder" not in facts:
        return line
    return Group(line, Text(str(facts["folder"]), "dim", no_wrap=True, overflow="ellipsis"))


def _bar(overview: Overview) -> RenderableType:
    stretch = overview.stretch()
    done = stretch.fraction if stretch else 0.0
    colour = _STATUS_STYLES.get(overview.status, "cyan")
    row = Table.grid(padding=(0, 2), expand=True)
    row.add_column(ratio=1)
    for width in (len("100%"), len("epoch 0.0 of 10"), len("0:00:00, 0:00 left")):  # so that the bar keeps still
        row.add_column(no_wrap=True, justify="right", min_width=width)
    bar = ProgressBar(total=1.0, completed=done, complete_style=colour, finished_style=colour)
    place = _place(stretch) if stretch else f"step {overview.step:,}"
    row.add_row(bar, Text(f"{done:.0%}", "bold") if stretch else Text(), place, _times(overview))
    return row


def _place(stretch: Stretch) -> Text:
    if stretch.unit == "s":
        return Text(f"{clock(stretch.done)} of {clock(stretch.limit)}")
    done = f"{stretch.done:.1f}" if stretch.unit == "epoch" else f"{stretch.done:,.0f}"
    return Text(f"{stretch.unit} {done} of {stretch.limit:,g}")


def _times(overview: Overview) -> Text:
    if overview.status in ("finished", "failed"):
        return Text(f"{overview.status} after {_elapsed(overview)}", _STATUS_STYLES[overview.status])
    if overview.status != "training":
        return Text(f"{overview.status} {_elapsed(overview)}", "dim")
    left_s = overview.remaining_s()
    return Text(_elapsed(overview) + (f", {clock(left_s)} left" if left_s is not None else ""), "dim")


def _elapsed(overview: Overview) -> str:
    over = overview.status in ("finished", "failed")
    now_s = overview.latest_s if over else max(time.time(), overview.latest_s)
    return clock(now_s - (overview.started_s if overview.started_s is not None else now_s))


def _figures(overview: Overview) -> RenderableType:
    rows = Table.grid(padding=(0, 2), expand=True)
    rows.add_column(style="dim", no_wrap=True, min_width=len("validation"))
    rows.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    rows.add_row("training", _spread(_training(overview)))
    if overview.validation:
        rows.add_row("validation", _spread([(name, figure(value)) for name, value in overview.validation.items()]))
    if "value" in overview.best:
        best = [(str(overview.best.get("metric", "")), figure(overview.best["value"]))]
        rows.add_row("best", _spread([*best, ("at step", f"{overview.best['step'] or 0:,}")]))
    return rows


def _training(overview: Overview) -> list[tuple[str, str]]:
    scalars = overview.scalars
    pairs: list[tuple[str, str]] = [(name, figure(scalars[name])) for name in ("loss", "lr") if name in scalars]
    rate, sent_bytes = overview.samples_per_s, overview.sent_bytes
    pairs += [("samples/s", figure(rate))] if rate is not None else []
    pairs += [("sent by all", size(sent_bytes))] if sent_bytes else []
    pairs += [("gradient", figure(scalars["gradient_norm"]))] if "gradient_norm" in scalars else []
    return pairs or [("waiting for the first step", "")]


def _spread(pairs: list[tuple[str, str]]) -> Text:
    line = Text(no_wrap=True, overflow="ellipsis")
    for index, (label, value) in enumerate(pairs):
        line.append("   " if index else "").append(f"{label} ", "dim").append(value)
    return line


def _seats(seats: dict[int, SeatState]) -> RenderableType:
    table = Table(box=None, padding=(0, 3, 0, 0), header_style="dim", pad_edge=False)
    table.add_column("worker", justify="right")
    table.add_column("step", justify="right")
    table.add_column("samples/s", justify="right")
    table.add_column("state")
    for number in _slowest(seats):
        seat = seats[number]
        step = "" if seat.step is None else f"{seat.step:,}"
        rate = "" if seat.samples_per_s is None else figure(seat.samples_per_s)
        table.add_row(str(number), step, rate, Text(seat.state, _STATE_STYLES.get(seat.state, "dim")))
    hidden = len(seats) - SEATS_SHOWN
    return table if hidden <= 0 else Group(table, Text(f"and {plural(hidden, 'faster worker')}", "dim"))


def _slowest(seats: dict[int, SeatState]) -> list[int]:
    """Those to be watched: the ones that are furthest behind, in the order of their numbers."""
    behind = sorted(seats, key=lambda number: (seats[number].step or 0, seats[number].samples_per_s or 0.0, number))
    return sorted(behind[:SEATS_SHOWN])


def _news(overview: Overview) -> RenderableType:
    rows = Table.grid(padding=(0, 2))
    rows.add_column(style="dim", no_wrap=True)
    rows.add_column(overflow="ellipsis")
    for news in list(overview.news)[-NEWS_SHOWN:]:
        told_at = time.strftime("%H:%M:%S", time.localtime(news.time_s))
        rows.add_row(told_at, Text(news.text, "red" if news.grave else ""))
    return rows
