"""Where samples come from: the contract of every source, and how a job's `data:` becomes a pair of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from stretto.data import SOURCES
from stretto.errors import DataError
from stretto.job import Choice, make

if TYPE_CHECKING:
    from stretto.data.batch import Batch


@runtime_checkable
class Source(Protocol):
    """Samples that can be read by number, in any order, as often as one likes.

    `facts` says what a model has to know of them, as far as it is known: `shape` of one input, `classes`, `outputs`,
    `channels`, `features`, `vocabulary`, `length`. Reading raises `DataError` when the data is damaged.

    Batches are read ahead by a thread. A source whose reading draws from the global random generators says
    `ahead = False`: it is then read by the thread that trains, so that what it draws is the same in every run.
    """

    @property
    def name(self) -> str:
        """What a person calls this data."""
        ...

    @property
    def facts(self) -> Mapping[str, Any]:
        """What completes the arguments of a model."""
        ...

    def __len__(self) -> int: ...

    def read(self, indices: Sequence[int]) -> Batch:
        """Return these samples in this order; at least one is asked for."""
        ...


def load_data(choice: Choice) -> tuple[Source, Source]:
    """Open what a job's `data:` names, as (training, validation).

    A word is one of `SOURCES`. `module:function` is called with the remaining keys and may return whatever `as_sources`
    takes. Raises `DataError` for unknown words and arguments and for data that is missing or damaged.
    """
    opened = make("data", choice, SOURCES, DataError)
    return as_sources(opened, choice.name)


def as_sources(data: Any, name: str = "data") -> tuple[Source, Source]:
    """Make (training, validation) of what a person has at hand.

    That is a pair of sources or map-style torch Datasets; or one of them, or a pair of tensors (inputs, targets), of
    which a fifth, drawn at random, is kept for validation.
    """
    from torch import Tensor

    from stretto.data.arrays import Arrays
    from stretto.data.portion import hold_out

    if isinstance(data, (tuple, list)) and len(data) == 2:
        if all(isinstance(each, Tensor) for each in data):
            return hold_out(Arrays(data[0], data[1], name))
        return _as_source(data[0], name), _as_source(data[1], name)
    return hold_out(_as_source(data, name))


def _as_source(data: Any, name: str) -> Source:
    from torch.utils.data import TensorDataset

    from stretto.data.arrays import Arrays
    from stretto.data.torch_dataset import TorchDataset

    if isinstance(data, Source):
        return data
    if type(data) is TensorDataset and len(data.tensors) == 2:  # read at once instead of one by one
        return Arrays(*data.tensors, name=name)
    return TorchDataset(data, name)
