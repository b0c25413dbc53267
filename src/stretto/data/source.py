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
    `channels`, `features`, `vocabulary`, `length`. Reading raises `DamagedSamples` for single samples that are damaged,
    with all others, and `DataError` when nothing can be read. Several threads may read at once.

    What a source may have beside:

    - `ahead = False`: reading draws from the global random generators, so it is not done ahead by a thread but by the
      thread that trains; what is drawn is then the same in every run.
    - `labels()`: the class of every sample, as an integer array, without reading the samples: for orders by class. It
      raises `DataError` where targets are no classes.
    - `blocks`: sizes of groups of neighbouring samples that are best read together (row groups of a file, say), in
      the order of the samples, as a sequence that adds up to the length. A shuffle then keeps to a few blocks at once.
    - `sequential = True`: a stream, which can be read once from the beginning to the end of an epoch, in rising order.
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

    That is a pair of sources or torch Datasets; or one of them, or a pair of tensors (inputs, targets), of which a
    fifth, drawn at random, is kept for validation. Of a stream nothing can be held out: it needs the pair.
    """
    from torch import Tensor

    from stretto.data.portion import hold_out
    from stretto.data.sources.arrays import Arrays

    if isinstance(data, (tuple, list)) and len(data) == 2:
        if all(isinstance(each, Tensor) for each in data):
            return hold_out(Arrays(data[0], data[1], name))
        return _as_source(data[0], name), _as_source(data[1], name)
    return hold_out(_as_source(data, name))


def _as_source(data: Any, name: str) -> Source:
    from torch.utils.data import IterableDataset, TensorDataset

    from stretto.data.sources.arrays import Arrays
    from stretto.data.sources.stream import Stream
    from stretto.data.sources.torch_dataset import TorchDataset

    if isinstance(data, Source):
        return data
    if type(data) is TensorDataset and len(data.tensors) == 2:  # read at once instead of one by one
        return Arrays(*data.tensors, name=name)
    return Stream(data, name) if isinstance(data, IterableDataset) else TorchDataset(data, name)
