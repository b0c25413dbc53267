"""Parts in which every class has another share: the usual benchmark of federated learning."""

from __future__ import annotations

import numpy as np

from stretto.data.draws import Integers
from stretto.data.order import mix_seeds
from stretto.data.partition import samples_of_parts
from stretto.data.stratified import shuffled_classes
from stretto.errors import DataError


def dirichlet_split(labels: Integers, parts: int, alpha: float, seed: int, least: int = 0) -> list[Integers]:
    """Return the samples of every part; each class is cut in proportions that a Dirichlet distribution draws.

    A large `alpha` makes the parts alike, one far below 1 gives most of a class to a few. A part that would have fewer
    than `least` samples takes what it lacks from the largest parts, at random; without `least` parts may be empty.
    """
    if not 0 < alpha < float("inf"):
        raise DataError(f"alpha = {alpha} draws no proportions; give a number above 0, such as 0.5")
    if parts < 1 or least < 0 or parts * least > len(labels):
        fact = f"{len(labels)} samples cannot be split into {parts} parts of at least {least}"
        raise DataError(f"{fact}; give fewer parts, or a smaller least")
    random = np.random.default_rng(mix_seeds(seed, parts))
    owners = np.empty(len(labels), dtype=np.int64)
    for members in shuffled_classes(labels, seed):
        borders = np.cumsum(random.dirichlet(np.full(parts, alpha)))[:-1] * len(members)
        owners[members] = np.searchsorted(np.round(borders), np.arange(len(members)), side="right")
    _raise_small_parts(owners, parts, least, random)
    return samples_of_parts(owners, parts)


def _raise_small_parts(owners: Integers, parts: int, least: int, random: np.random.Generator) -> None:
    sizes = np.bincount(owners, minlength=parts)
    while sizes.min() < least:
        smallest, largest = sizes.argmin(), sizes.argmax()
        moved = min(least - sizes[smallest], sizes[largest] - least)
        owners[random.choice(np.flatnonzero(owners == largest), moved, replace=False)] = smallest
        sizes[smallest] += moved
        sizes[largest] -= moved
