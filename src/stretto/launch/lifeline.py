"""Dying with one's parent, so that a killed process leaves no orphans."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import Final

_SET_PARENT_DEATH_SIGNAL: Final = 1


def die_with(parent: int) -> None:
    """Let the system kill this process when `parent`, which must have started it, dies; Linux only.

    Elsewhere this does nothing, and the loss of the control connection ends the process a moment later.
    """
    if not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
