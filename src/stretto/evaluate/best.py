"""The best model so far."""

from __future__ import annotations

from typing import Any

from stretto.evaluate.watched import Watched
from stretto.observe.callback import Callback
from stretto.observe.training import Training


class Best(Callback):
    """Remembers at which step the watched metric was best, and emits `best` when it gets better.

    All workers see the same metrics and so agree; the first one tells. `improved` says whether the latest validation
    was the best so far, for whoever keeps the model's weights.
    """

    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self.step: int | None = None
        self.value: float | None = None
        self.improved = False

    def on_validation_end(self, training: Training) -> None:
        """Compare; a metric that is nan is never best."""
        value = training.metrics[self._watched.metric]
        self.improved = self._watched.better(value, than=self.value)
        if not self.improved:
            return
        self.step, self.value = training.step, value
        if training.rank == 0:
            training.emit(training.event("best", metric=self._watched.metric, value=value))

    def state_dict(self) -> dict[str, Any]:
        """Step and value of the best."""
        return {"metric": self._watched.metric, "step": self.step, "value": self.value}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on comparing with the best so far, unless the job now watches another metric."""
        if state["metric"] == self._watched.metric:
            self.step, self.value = state["step"], state["value"]
