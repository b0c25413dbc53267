"""What is done to the inputs of a batch after they were read: the contract of every transform."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

from stretto.data import TRANSFORMS
from stretto.errors import DataError
from stretto.job import Choice, make

if TYPE_CHECKING:
    from stretto.data.draws import Draws


class Transform(Protocol):
    """Changes the inputs of a whole batch at once.

    What is random is drawn from `draws` alone, which depends on seed, epoch and place: so a batch is the same whoever
    makes it, however it is cut, and after a resume. It is for training batches alone, unless it has `always = True`,
    because a model needs it whenever it is used.
    """

    def apply(self, inputs: Any, draws: Draws) -> Any:
        """Return the changed inputs; those given may be changed in place."""
        ...


def load_transforms(choices: Iterable[Choice]) -> list[Transform]:
    """Make what a job's `loading.transform` names, in that order.

    Raises `DataError` for unknown words and arguments; what is not for the inputs is told when they come.
    """
    return [make("loading.transform", choice, TRANSFORMS, DataError) for choice in choices]
