"""Launching: bring the seats to life, watch them, stop them. An engine starts agents and knows nothing of training."""

from __future__ import annotations

from typing import Final

ENGINES: Final = {
    "inline": "stretto.launch.inline:InlineEngine",
    "local": "stretto.launch.local:LocalEngine",
}
