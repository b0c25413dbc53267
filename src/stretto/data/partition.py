"""Samples in parts of which each has some: as the part of every sample, or as the samples of every part."""

from __future__ import annotations

import numpy as np

from stretto.data.draws import Integers


def samples_of_parts(owners: Integers, parts: int) -> list[Integers]:
    """Return the samples of every part, in rising order, of the part that owns each sample.

    The numbers have 32 bits where these are enough.

    >>> [part.tolist() for part in samples_of_parts(np.array([1, 0, 1, 1]), parts=3)]
    [[1], [0, 2, 3], []]
    """
    samples = np.argsort(owners, kind="stable").astype(np.int32 if len(owners) < 2**31 else np.int64)
    return np.split(samples, np.cumsum(np.bincount(owners, minlength=parts))[:-1])
