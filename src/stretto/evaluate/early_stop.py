"""Stopping before the budget is used up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stretto.evaluate.watched import Watched
from stretto.observe.callback import Callback
from stretto.observe.figures import figure, plural
from stretto.observe.training import Training


class EarlyStop(Callback):
    """Stops when every target is reached, or when the watched metric has not improved for `patience` validations.

    All workers see the same metrics, so all vote for stopping after the same update. A metric that is nan reaches no
    target and improves nothing.
    """

    def __init__(
        self, watched: Watched, targets: Mapping[Watched, float] | None = None, patience: int | None = None
    ) -> None:
        self._watched = watched
        self._targets = dict(targets or {})
        self._patience = patience
        self._best: float | None = None
        self._best_step: int | None = None
        self._waited = 0

    def on_validation_end(self, training: Training) -> None:
        """Vote for stopping when there is a reason, and say it with its numbers."""
        self._compare(training)
        reason = self._reached(training) or self._stuck(training)
        if reason:
            training.stop(reason)

    def state_dict(self) -> dict[str, Any]:
        """The best so far, and for how many validations it has been the best."""
        return {
            "metric": self._watched.metric, "best": self._best, "best_step": self._best_step, "waited": self._waited
        }  # fmt: skip

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on waiting, unless the job now watches another metric."""
        if state["metric"] == self._watched.metric:
            self._best, self._best_step, self._waited = state["best"], state["best_step"], state["waited"]

    def _compare(self, training: Training) -> None:
        value = training.metrics[self._watched.metric]
        if self._watched.better(value, than=self._best):
            self._best, self._best_step, self._waited = value, training.step, 0
        else:
            self._waited += 1

    def _reached(self, training: Training) -> str | None:
        values = {watched: training.metrics[watched.metric] for watched in self._targets}
        if not values or not all(watched.reached(value, self._targets[watched]) for watched, value in values.items()):
            return None
        told = [f"{w.metric} {figure(v)} reached the target {self._targets[w]:g}" for w, v in values.items()]
        return f"{' and '.join(told)} at step {training.step}"

    def _stuck(self, training: Training) -> str | None:
        if self._patience is None or self._waited < self._patience:
            return None
        metric = self._watched.metric
        best = "no best" if self._best is None else f"best {figure(self._best)} at step {self._best_step}"
        now = figure(training.metrics[metric])
        return f"{metric} has not improved for {plural(self._waited, 'validation')} ({best}, now {now})"
