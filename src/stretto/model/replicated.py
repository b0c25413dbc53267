"""The layout in which every worker holds the whole model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stretto.model.normalisation import synchronise

if TYPE_CHECKING:
    from torch import nn

    from stretto.communicate.transport import Transport


class Replicated:
    """Moves the whole model to the seat's device."""

    def place(
        self,
        model: nn.Module,
        device: str,
        transport: Transport,
        normalisation: str = "synchronised",
        compile: bool = False,
    ) -> nn.Module:
        """Return the model itself, moved, normalising over all workers unless `normalisation` is "local"."""
        placed = model.to(device)
        if normalisation == "synchronised":
            placed = synchronise(placed, transport)
        if compile:
            placed.compile()
        return placed
