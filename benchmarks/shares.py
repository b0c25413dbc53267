"""What do shares by measured speed bring when one of two workers is three times slower?

    python benchmarks/shares.py [--rounds 5] [--json]

Two workers train the same small ResNet on real pictures, the second one three times slower per sample: in every layer
it waits for twice as long as the first computes there. Ours is `cluster.shares: measured`, the peer `even`; the global
batch, the order and the number of updates are the same.

- throughput: samples per second of both workers together, over the second half of the run.
- loss_curves: how far the curve of the training loss (means of 20 updates) is from that of even shares, as a share of
  the loss; the peer is the same distance for even shares with another seed, that is: the noise.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from pathlib import Path

import torch
from comparison import Figure, alternate, arguments, show
from torch import Tensor, nn

import stretto
from stretto.data.sources.fashion_mnist import fashion_mnist
from stretto.job import Choice, job_from
from stretto.model.loading import load_model

SLOWER = 3
BATCH, STEPS = 128, 160
SAMPLES = 20_000
WINDOW = 20


def slow_down(model: nn.Module, seconds_per_sample: float) -> nn.Module:
    """Make a model take longer on the second worker: in every convolution, forward and backward, by the sample.

    The waiting is spread over the layers, as it is in a slow worker, because batch normalisation meets in each of them.
    """
    convolutions = [module for module in model.modules() if isinstance(module, nn.Conv2d)]
    pause_s = (SLOWER - 1) * seconds_per_sample / len(convolutions)

    def forward(module: nn.Module, inputs: tuple[Tensor, ...], outputs: Tensor) -> None:
        if outputs.requires_grad and os.environ.get("RANK") == "1":
            time.sleep(pause_s / 3 * len(outputs))
            outputs.register_hook(lambda gradient: time.sleep(pause_s * 2 / 3 * len(gradient)))

    for module in convolutions:
        module.register_forward_hook(forward)
    return model


class Watch(stretto.Callback):
    """Writes the throughput of the second half of the run, and the losses of all of it."""

    def __init__(self, path: str) -> None:
        self.path, self.half_s, self.losses = Path(path), 0.0, []

    def on_train_batch_end(self, training: object) -> None:
        self.losses.append(training.scalars["loss"])
        if training.step == STEPS // 2:
            self.half_s = time.perf_counter()
        if training.step == STEPS and training.rank == 0:
            samples_per_s = (STEPS - STEPS // 2) * BATCH / (time.perf_counter() - self.half_s)
            self.path.write_text(json.dumps([samples_per_s, self.losses]))


def a_model() -> nn.Module:
    """The same weights each time."""
    torch.manual_seed(0)
    return load_model(Choice("resnet", {"depth": 8, "width": 8}), {"channels": 1, "classes": 10})


def seconds_per_sample() -> float:
    """How long a worker computes per sample while another one does the same."""
    reading, writing = os.pipe()
    children = [_computing(writing) for _ in range(2)]
    for child in children:
        os.waitpid(child, 0)
    return sum(float(line) for line in os.read(reading, 1000).split()) / 2


def _computing(writing: int) -> int:
    child = os.fork()
    if not child:
        torch.set_num_threads(1)
        model, inputs = a_model(), torch.randn(BATCH // 2, 1, 28, 28)
        begun_s = 0.0
        for number in range(25):
            begun_s = time.perf_counter() if number == 5 else begun_s
            model(inputs).sum().backward()
        os.write(writing, f"{(time.perf_counter() - begun_s) / 20 / len(inputs)}\n".encode())
        os._exit(0)
    return child


def train(shares: str, per_sample_s: float, curves: dict[str, list[float]], seed: int = 0) -> float:
    """Samples per second with these shares; the curve of the losses is kept beside."""
    training, validation = fashion_mnist()
    data = (
        torch.utils.data.TensorDataset(*_tensors(training, SAMPLES)),
        torch.utils.data.TensorDataset(*_tensors(validation, 2000)),
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "watched"
        job = job_from(
            {
                "model": "given:ResNet", "data": "given:pictures", "task": "classification",
                "training": {"batch": BATCH, "until": f"{STEPS}step", "lr": 0.05,
                             "seed": seed, "optimizer": {"name": "SGD", "momentum": 0.9}},
                "checkpoint": {"every": None}, "validation": {"every": None},
                "cluster": {"workers": 2, "threads": 1, "shares": shares},
                "observe": {"progress": "none"}, "run": {"folder": folder},
            }
        )  # fmt: skip
        objects = {"model": slow_down(a_model(), per_sample_s), "data": data, "callbacks": [Watch(str(path))]}
        stretto.train(job, quiet=True, objects=objects)
        samples_per_s, losses = json.loads(path.read_text())
        curves[f"{shares} {seed}"] = [sum(losses[at : at + WINDOW]) / WINDOW for at in range(0, STEPS, WINDOW)]
        return float(samples_per_s)


def apart(curve: list[float], other: list[float]) -> float:
    """The mean distance of two curves, as a share of the other."""
    return sum(abs(a - b) / b for a, b in zip(curve, other, strict=True)) / len(curve)


def _tensors(source: object, count: int) -> tuple[Tensor, Tensor]:
    batch = source.read(range(count))
    return batch.inputs, batch.targets


def main() -> None:
    """Measure, print, and end with JSON if asked."""
    options = arguments(__doc__ or "", 5)
    per_sample_s = seconds_per_sample()
    curves: dict[str, list[float]] = {}
    measured, even = alternate(
        options.rounds, lambda: train("measured", per_sample_s, curves), lambda: train("even", per_sample_s, curves)
    )
    train("even", per_sample_s, curves, seed=1)
    distances = [apart(curves[name], curves["even 0"]) for name in ("measured 0", "even 1")]
    figures = [
        Figure(name="throughput", unit="samples/s", ours=measured, peer=even, goal="ratio >= 1.6"),
        Figure(name="loss_curves", unit="of loss", ours=distances[:1], peer=distances[1:], goal="ratio <= 1"),
    ]
    show(figures, options.json)


if __name__ == "__main__":
    main()
