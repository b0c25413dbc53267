"""How one replica lies on its devices: the contract of every layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from stretto.errors import JobError
from stretto.job import Choice, make
from stretto.model import LAYOUTS

if TYPE_CHECKING:
    from torch import nn

    from stretto.communicate.transport import Transport


class Layout(Protocol):
    """Prepares a freshly built model for training on a seat."""

    def place(
        self,
        model: nn.Module,
        device: str,
        transport: Transport,
        normalisation: str = "synchronised",
        compile: bool = False,
    ) -> nn.Module:
        """Return the model on the seat's device, its batch normalisation as the job wants it, compiled if asked for.

        All seats of the transport call this together, before they make their optimizers: parameters may be replaced.
        """
        ...


def load_layout(choice: Choice) -> Layout:
    """Make the layout a job names."""
    layout: Layout = make("layout", choice, LAYOUTS, JobError.of)
    return layout
