"""The callback that turns a training into events."""

from __future__ import annotations

from stretto.observe.callback import Callback
from stretto.observe.gradients import gradient_norms
from stretto.observe.training import Training


class Recorder(Callback):
    """Emits a `progress` event after every `every_steps` updates, and `validated` after each validation.

    Every worker tells of its own progress; what all agree on is told by the first one only. The first update after a
    start is always recorded, so that there is something to see, and so is the last. With `gradients`, the norms of the
    gradients are measured in those updates.
    """

    def __init__(self, every_steps: int = 10, gradients: bool = False) -> None:
        self._every_steps = every_steps
        self._gradients = gradients
        self._norms: dict[str, float] = {}
        self._recorded_step: int | None = None

    def on_before_optimizer_step(self, training: Training) -> None:
        """Measure the gradients of an update that will be recorded."""
        if self._gradients and self._is_due(training.step + 1):
            self._norms = gradient_norms(training.optimizer)

    def on_train_batch_end(self, training: Training) -> None:
        """Record the update if it is its turn."""
        if self._is_due(training.step):
            self._record(training)

    def on_validation_end(self, training: Training) -> None:
        """Record the metrics."""
        if training.rank == 0:
            training.emit(training.event("validated", **training.metrics))

    def on_fit_end(self, training: Training) -> None:
        """Record the last update unless that has been done."""
        if training.step != self._recorded_step and training.scalars:
            self._record(training)

    def _is_due(self, step: int) -> bool:
        return self._recorded_step is None or step % self._every_steps == 0

    def _record(self, training: Training) -> None:
        self._recorded_step = training.step
        values = {**training.scalars, **self._norms, "seconds": training.seconds}
        training.emit(training.event("progress", **values))
        self._norms = {}
