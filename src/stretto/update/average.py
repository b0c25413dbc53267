"""A moving average of the weights, often better than the last weights themselves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from stretto.observe.callback import Callback
from stretto.observe.training import Training


class Average(Callback):
    """The exponential moving average of a model's parameters, with the newest of its buffers.

    Early averages follow quickly: the decay of update n is at most (1 + n) / (10 + n).
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self._model, self._decay = model, decay
        self._updates = 0
        self._weights = {name: p.detach().clone() for name, p in model.named_parameters()}

    @torch.no_grad()
    def on_train_batch_end(self, training: Training) -> None:
        """Take in the weights that the update has left."""
        self._updates += 1
        decay = min(self._decay, (1 + self._updates) / (10 + self._updates))
        present = [p.detach() for _, p in self._model.named_parameters()]
        torch._foreach_lerp_(list(self._weights.values()), present, 1 - decay)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Give the model its averaged weights while the body runs."""
        own = {name: p.detach().clone() for name, p in self._model.named_parameters()}
        self._put(self._weights)
        try:
            yield
        finally:
            self._put(own)

    def state_dict(self) -> dict[str, Any]:
        """The averaged weights and how many updates they hold."""
        return {"updates": self._updates, "weights": self._weights}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a saved average."""
        self._updates = state["updates"]
        for name, weight in state["weights"].items():
            self._weights[name].copy_(weight)

    @torch.no_grad()
    def _put(self, weights: dict[str, Tensor]) -> None:
        for name, parameter in self._model.named_parameters():
            parameter.copy_(weights[name])
