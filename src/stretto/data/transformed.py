"""A source whose inputs go through the transforms that a model needs whenever it is used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from stretto.data.draws import Draws

if TYPE_CHECKING:
    from stretto.data.batch import Batch
    from stretto.data.source import Source
    from stretto.data.transform import Transform


class Transformed:
    """Applies those transforms that say `always`: what is learned from normalised pictures is judged by such."""

    def __init__(self, source: Source, transforms: Sequence[Transform]) -> None:
        self._source = source
        self._transforms = [each for each in transforms if getattr(each, "always", False)]

    def __len__(self) -> int:
        return len(self._source)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._source, name)

    def read(self, indices: Sequence[int]) -> Batch:
        """Read and transform."""
        batch = self._source.read(indices)
        for transform in self._transforms:
            batch = replace(batch, inputs=transform.apply(batch.inputs, Draws(0, 0, batch.indices.numpy())))
        return batch
