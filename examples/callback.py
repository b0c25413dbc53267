"""A callback of one's own: it warms the learning rate up, and keeps its place across a resume."""

from typing import Any

import torch
from sklearn.datasets import load_digits
from torch import nn

import stretto


class WarmUp(stretto.Callback):
    """Raises the learning rate evenly from nothing over the first updates."""

    def __init__(self, updates: int) -> None:
        self.updates = updates
        self.full: list[float] = []

    def on_fit_start(self, training: Any) -> None:
        self.full = self.full or [group["lr"] for group in training.optimizer.param_groups]

    def on_before_optimizer_step(self, training: Any) -> None:
        part = min(1.0, (training.step + 1) / self.updates)
        for group, full in zip(training.optimizer.param_groups, self.full, strict=True):
            group["lr"] = full * part

    def state_dict(self) -> dict[str, Any]:
        return {"full": self.full}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.full = state["full"]


if __name__ == "__main__":
    pictures, digits = load_digits(return_X_y=True)
    inputs, targets = torch.tensor(pictures / 16, dtype=torch.float32), torch.tensor(digits)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    result = stretto.fit(model, (inputs, targets), until="5ep", lr=0.01, callbacks=[WarmUp(updates=50)])
    print(f"accuracy {result.metrics['accuracy']:.4f}")
