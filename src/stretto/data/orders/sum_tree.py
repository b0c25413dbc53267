"""Weights of many samples that change all the time, and drawing by them."""

from __future__ import annotations

import numpy as np

from stretto.data.draws import Floats, Integers


class SumTree:
    """A binary tree over `size` weights in which every node holds the sum of the two below.

    Changing or drawing k samples takes k times the logarithm of the size, in as many vector operations as the tree is
    high. Weights must be finite and at least 0.

    >>> tree = SumTree(3)
    >>> tree.set(np.array([0, 2]), np.array([1.0, 3.0]))
    >>> tree.total, tree.find(np.array([0.5, 1.0, 3.9])).tolist()
    (4.0, [0, 2, 2])
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._height = (size - 1).bit_length()
        self._leaf = 1 << self._height  # where the leaves begin; node 1 is the root, 2n and 2n + 1 are below n
        self._sums = np.zeros(2 * self._leaf)

    @property
    def total(self) -> float:
        """The sum of all weights."""
        return float(self._sums[1])

    def get(self, samples: Integers) -> Floats:
        """Return the weights of these samples."""
        return np.asarray(self._sums[self._leaf + samples])

    def set(self, samples: Integers, weights: Floats) -> None:
        """Change the weights of these samples; of one that is named twice, the last counts."""
        nodes = self._leaf + samples
        self._sums[nodes] = weights
        for _ in range(self._height):
            nodes >>= 1
            self._sums[nodes] = self._sums[2 * nodes] + self._sums[2 * nodes + 1]

    def fill(self, weight: float) -> None:
        """Give all samples the same weight."""
        start = self._leaf
        self._sums[start : start + self._size] = weight
        while start > 1:
            below, start = self._sums[start : 2 * start], start // 2
            self._sums[start : 2 * start] = below[::2] + below[1::2]

    def find(self, values: Floats) -> Integers:
        """Return for each value, from 0 to the total, the sample in whose part of the sum of all weights it lies."""
        values, nodes = values.copy(), np.ones(len(values), dtype=np.int64)
        for _ in range(self._height):
            nodes *= 2
            lefts = self._sums[nodes]
            # What rounding leaves beyond the sum of a node must not lead to a sample without weight.
            right = (values >= lefts) & (self._sums[nodes + 1] > 0)
            values -= np.where(right, lefts, 0)
            nodes += right
        return np.asarray(nodes - self._leaf)
