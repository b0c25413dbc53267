"""The moments of a training, and what may be hung on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from stretto.errors import JobError, Problem
from stretto.observe.training import Training

MOMENTS: Final = (
    "on_fit_start",
    "on_train_epoch_start",
    "on_train_batch_start",
    "on_before_optimizer_step",
    "on_train_batch_end",
    "on_train_epoch_end",
    "on_validation_start",
    "on_validation_end",
    "on_checkpoint_saved",
    "on_exception",
    "on_fit_end",
)


class Callback:
    """Something that acts at named moments of a training, on every worker; override the moments you need.

    Example, given in a job as `callbacks: ["my_file:Halve"]`:

        class Halve(Callback):
            def on_train_epoch_end(self, training):
                for group in training.optimizer.param_groups:
                    group["lr"] /= 2

    What it must remember across a resume goes through `state_dict`: nested dicts and lists of numbers, text and
    tensors. A callback that raises ends the training with its own traceback.
    """

    def on_fit_start(self, training: Training) -> None:
        """The model is built (and restored, when resuming); no batch has been taken."""

    def on_train_epoch_start(self, training: Training) -> None:
        """An epoch begins, or goes on after a resume in the middle of it."""

    def on_train_batch_start(self, training: Training) -> None:
        """This worker has its batch and will compute gradients from it next."""

    def on_before_optimizer_step(self, training: Training) -> None:
        """The gradients are those of the global batch, unscaled; they are clipped and applied next."""

    def on_train_batch_end(self, training: Training) -> None:
        """The update is done: `step`, `samples` and `scalars` include it."""

    def on_train_epoch_end(self, training: Training) -> None:
        """All samples of the epoch have been consumed."""

    def on_validation_start(self, training: Training) -> None:
        """The model is about to be validated."""

    def on_validation_end(self, training: Training) -> None:
        """`metrics` holds the values all workers agree on."""

    def on_checkpoint_saved(self, training: Training) -> None:
        """A checkpoint is complete on disk; with asynchronous saving this is some updates after it was begun."""

    def on_exception(self, training: Training) -> None:
        """The loop is being left because of `training.exception`."""

    def on_fit_end(self, training: Training) -> None:
        """The training is over, whether finished or stopped; it does not come after an exception."""

    def state_dict(self) -> dict[str, Any]:
        """Everything that must be remembered across a resume."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what `state_dict` returned."""


class Callbacks:
    """All callbacks of a training, called in their order; moments that nobody overrides cost nothing."""

    def __init__(self, callbacks: Iterable[Any]) -> None:
        self._callbacks = _named(callbacks)
        self._calls = {moment: self._listening(moment) for moment in MOMENTS}

    def call(self, moment: str, training: Training) -> None:
        """Let every callback that overrides the moment act; an error names the callback it came from."""
        for name, act in self._calls[moment]:
            try:
                act(training)
            except Exception as error:
                error.add_note(f"raised by the callback {name} in {moment} at step {training.step}")
                raise

    def state_dict(self) -> dict[str, Any]:
        """The states of those that have one, by class name."""
        states = {name: callback.state_dict() for name, callback in self._callbacks.items()}
        return {name: state for name, state in states.items() if state}

    def load_state_dict(self, states: dict[str, Any]) -> None:
        """Hand back the states; a callback that is new in the job starts afresh, one that is gone is passed over."""
        for name, callback in self._callbacks.items():
            if name in states:
                callback.load_state_dict(states[name])

    def _listening(self, moment: str) -> list[tuple[str, Callable[[Training], None]]]:
        silent = getattr(Callback, moment)
        return [
            (name, getattr(callback, moment))
            for name, callback in self._callbacks.items()
            if getattr(type(callback), moment) is not silent
        ]


def _named(callbacks: Iterable[Any]) -> dict[str, Callback]:
    """By class name; the second of a class is called Name.2, so that each finds its own state again."""
    named: dict[str, Callback] = {}
    counts: dict[str, int] = {}
    for callback in callbacks:
        name = type(callback).__qualname__
        if not isinstance(callback, Callback):
            message = f"{name} is not a callback; let the class inherit from stretto.observe.callback.Callback"
            raise JobError([Problem(message=message, key="callbacks")])
        counts[name] = counts.get(name, 0) + 1
        named[name if counts[name] == 1 else f"{name}.{counts[name]}"] = callback
    return named
