"""In which order, and how often, the samples of an epoch are visited: the contract of every order, and making one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from stretto.data import ORDERS
from stretto.data.draws import Draws, Floats
from stretto.data.order import mix_seeds
from stretto.errors import DataError
from stretto.job import Choice, make

if TYPE_CHECKING:
    from torch import Tensor

    from stretto.data.source import Source

Numbers = np.ndarray[Any, np.dtype[np.int64]]
_ORDERS = 0x6F72646572  # what orders and transforms draw for the same places must not be the same


class Ordering(Protocol):
    """Which sample stands at which place of an epoch: a function of seed, epoch and place, so nobody has to be asked.

    The places of an epoch go from 0 to `len(ordering)`; they, not the samples, are what the ledger counts and a
    position in the data names. Nothing that grows with the number of samples is kept, unless an order needs it.

    One that chooses by what it hears of the training is a `Learning` order.
    """

    def __len__(self) -> int:
        """How many places an epoch has."""
        ...

    def take(self, epoch: int, start: int, stop: int) -> Numbers:
        """Return the samples at the places `start` to `stop`; thousands cost little more than one."""
        ...


@runtime_checkable
class Learning(Ordering, Protocol):
    """An order that chooses by what it hears of the training."""

    def weigh(self, epoch: int, samples: Numbers) -> Tensor:
        """Return by how much each sample's loss counts, so that the gradient's mean stays that of all samples."""
        ...

    def learn(self, samples: Numbers, losses: Floats) -> None:
        """Hear what the losses of some samples were."""
        ...


def load_ordering(choice: Choice | None, source: Source, seed: int) -> Ordering:
    """Make the order that a job's `loading.order` names; without one, streams keep theirs and all else is shuffled.

    Raises `DataError` for unknown words and arguments, and for an order that the source cannot be read in.
    """
    stream = getattr(source, "sequential", False)
    choice = choice or Choice("in_order" if stream else "shuffled")
    if stream and choice.name in ORDERS and choice.name != "in_order":
        raise DataError(
            f"{source.name} is a stream, which can only be read from beginning to end, not {choice.name}; say "
            "loading.order: in_order, or shuffle the samples when the files are written"
        )
    made: Ordering = make("loading.order", choice, ORDERS, DataError, source=source, seed=seed)
    return made


def places_between(start: int, stop: int, size: int) -> Numbers:
    """Return the places from `start` to `stop` of an epoch of `size`, or say that they lie outside."""
    if not 0 <= start <= stop <= size:
        raise IndexError(f"{start} to {stop} is outside an epoch of {size} places")
    return np.arange(start, stop)


def draws_for(seed: int, epoch: int, places: Numbers) -> Draws:
    """Return random numbers for an order, which are others than those of the transforms."""
    return Draws(mix_seeds(seed, _ORDERS), epoch, places)


def count_draws(order: str, draws: int | None, source: Source) -> int:
    """Return how many places an epoch has, when a job says it, or leaves it to the size of the source."""
    count = len(source) if draws is None else draws
    if count < 1 or not len(source):
        raise DataError(f"order {order}: {count} draws from {len(source)} samples are none; both must be at least 1")
    return count
