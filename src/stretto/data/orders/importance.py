"""The order that learns which samples are hard, and draws these more often."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
import torch

from stretto.data.draws import Floats
from stretto.data.ordering import Numbers, count_draws, draws_for, places_between
from stretto.data.orders.sum_tree import SumTree
from stretto.errors import DataError

if TYPE_CHECKING:
    from torch import Tensor

    from stretto.data.source import Source

_NEWS = 0.5  # how much a new loss counts against those before it


class Importance:
    """Draws samples in proportion to a running mean of their losses; a share of `smoothing` is drawn evenly.

    Samples that have not come yet count with the mean of the first losses that are heard, so they are not forgotten.
    Weights undo what the choice would do to the mean: a sample drawn twice as often counts half. What is drawn depends
    on what was learned, and is forgotten with the process: one that resumes begins evenly again.
    """

    def __init__(self, source: Source, seed: int, smoothing: float = 0.2) -> None:
        if not 0 < smoothing <= 1:
            raise DataError(
                f"order importance: {smoothing} of the samples cannot be drawn evenly (loading.order.smoothing); give "
                "a share above 0, so that every sample has a chance, and up to 1"
            )
        self._size, self._seed, self._smoothing = count_draws("importance", None, source), seed, smoothing
        self._losses, self._heard = SumTree(self._size), False
        # The chance a sample had when it was last drawn, times the number of samples: by then others may have learned.
        self._chances = np.ones(self._size, dtype=np.float32)
        self._lock = Lock()

    def __len__(self) -> int:
        return self._size

    def take(self, epoch: int, start: int, stop: int) -> Numbers:
        """Draw samples for these places, by what is known now."""
        draws = draws_for(self._seed, epoch, places_between(start, stop, self._size))
        even, drawn = draws.uniform(), draws.uniform()
        with self._lock:
            total = self._losses.total
            hard = self._losses.find(drawn * total) if total else 0
            samples = np.where((even >= self._smoothing) & (total > 0), hard, (drawn * self._size).astype(np.int64))
            self._chances[samples] = self._relative_chances(samples)
        return samples

    def weigh(self, epoch: int, samples: Numbers) -> Tensor:
        """Return by how much each sample's loss counts, so that the gradient's mean stays that of all samples."""
        with self._lock:
            return torch.from_numpy(1 / self._chances[samples])

    def learn(self, samples: Numbers, losses: Floats) -> None:
        """Hear what the losses of some samples were; what is no number is passed over."""
        sound = np.isfinite(losses)
        samples, losses = samples[sound], np.maximum(losses[sound], 0)
        if not len(samples):
            return
        with self._lock:
            if not self._heard:
                self._losses.fill(float(losses.mean()))
                self._heard = True
            known = self._losses.get(samples)
            self._losses.set(samples, known + _NEWS * (losses - known))

    def _relative_chances(self, samples: Numbers) -> Floats:
        total = self._losses.total
        if not total:
            return np.ones(len(samples))
        return self._smoothing + (1 - self._smoothing) * self._losses.get(samples) * self._size / total
