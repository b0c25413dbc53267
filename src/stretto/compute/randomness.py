"""Random numbers that do not depend on when a seat was started: seeding, saving and restoring generators."""

from __future__ import annotations

import hashlib
import random
from typing import Any

import numpy as np
import torch


def mixed_seed(*parts: int | str) -> int:
    """Mix numbers and words into a seed of 63 bits that has nothing in common with its neighbours'."""
    digest = hashlib.blake2b(repr(parts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def seed_everything(seed: int) -> None:
    """Seed Python's, NumPy's and torch's generators alike."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def random_state() -> dict[str, Any]:
    """The state of every generator of this process."""
    kind, keys, position, has_gauss, gauss = np.random.get_state()
    devices = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    return {
        "python": random.getstate(),
        "numpy": (kind, torch.from_numpy(np.asarray(keys).copy()), position, has_gauss, gauss),
        "torch": torch.get_rng_state(),
        "devices": devices,
    }


def restore_random_state(state: dict[str, Any]) -> None:
    """Put every generator where it was."""
    random.setstate(state["python"])
    kind, keys, *rest = state["numpy"]
    np.random.set_state((kind, keys.numpy(), *rest))
    torch.set_rng_state(state["torch"])
    if state["devices"] and torch.cuda.device_count() == len(state["devices"]):
        torch.cuda.set_rng_state_all(state["devices"])
