"""Stretto trains any PyTorch model on many processes: one job file for every strategy, layout and engine."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from stretto.errors import StrettoError as StrettoError
    from stretto.job import Job as Job
    from stretto.job import read_job as read_job
    from stretto.observe.callback import Callback as Callback
    from stretto.observe.result import Result as Result
    from stretto.run.own_loop import attach as attach
    from stretto.run.training import fit as fit
    from stretto.run.training import resume as resume
    from stretto.run.training import train as train

_PLACES: Final = {
    "Callback": "stretto.observe.callback",
    "Job": "stretto.job",
    "Result": "stretto.observe.result",
    "StrettoError": "stretto.errors",
    "attach": "stretto.run.own_loop",
    "fit": "stretto.run.training",
    "read_job": "stretto.job",
    "resume": "stretto.run.training",
    "train": "stretto.run.training",
}

__all__ = list(_PLACES)


def __getattr__(name: str) -> Any:
    """Find a public name when it is first used, so that importing Stretto costs nothing."""
    if name not in _PLACES:
        raise AttributeError(f"module 'stretto' has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
