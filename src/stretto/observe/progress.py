"""Which display a run gets."""

from __future__ import annotations

from typing import TextIO

from stretto.observe.plain import Plain
from stretto.observe.sink import Sink


def progress_sink(word: str, stream: TextIO) -> Sink | None:
    """Make the display that `observe.progress` names: rich, plain, none, or auto, which is rich on a terminal.

    Displays write to `stream`, which should be standard error: standard output is for results.
    """
    if word == "none":
        return None
    if word == "rich" or (word == "auto" and _can_draw(stream)):
        from rich.console import Console

        from stretto.observe.terminal import Terminal

        return Terminal(Console(file=stream))
    return Plain(stream)


def _can_draw(stream: TextIO) -> bool:
    if not stream.isatty() or "utf" not in (stream.encoding or "").lower():
        return False
    from rich.console import Console

    return not Console(file=stream).is_dumb_terminal
