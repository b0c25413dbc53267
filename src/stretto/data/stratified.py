"""Parts in which every class has the same share."""

from __future__ import annotations

import numpy as np

from stretto.data.draws import Integers
from stretto.data.order import Permutation
from stretto.data.partition import samples_of_parts
from stretto.errors import DataError


def stratified_split(labels: Integers, parts: int, seed: int) -> list[Integers]:
    """Return the samples of every part; sizes, and those of every class within, differ by one at most.

    >>> [part.tolist() for part in stratified_split(np.array([0, 0, 1, 1, 1, 1]), parts=2, seed=0)]
    [[0, 2, 5], [1, 3, 4]]
    """
    if not 1 <= parts <= len(labels):
        raise DataError(f"{len(labels)} samples cannot be split into {parts} parts; give 1 to {len(labels)}")
    owners = np.empty(len(labels), dtype=np.int64)
    dealt = np.concatenate(shuffled_classes(labels, seed))
    owners[dealt] = np.arange(len(labels)) % parts  # as cards are dealt, one class after the other
    return samples_of_parts(owners, parts)


def hold_out_of_classes(labels: Integers, share: float, seed: int, user: str) -> tuple[Integers, Integers]:
    """Return the samples to train with and those to validate with: the same share of every class."""
    kept = np.zeros(len(labels), dtype=np.int64)
    for members in shuffled_classes(labels, seed):
        kept[members[: round(len(members) * min(max(share, 0.0), 1.0))]] = 1
    if kept.all() or not kept.any():
        raise DataError(f"{user}: a share of {share} leaves nothing on one side; give one between 0 and 1")
    training, validation = samples_of_parts(kept, 2)
    return training, validation


def shuffled_classes(labels: Integers, seed: int) -> list[Integers]:
    """Return the samples of every class, shuffled."""
    _, sizes = np.unique(labels, return_counts=True)
    classes = np.split(np.argsort(labels, kind="stable"), np.cumsum(sizes)[:-1])
    return [members[Permutation(len(members), seed).take(0, len(members))] for members in classes]
