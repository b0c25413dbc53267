"""Checkpoints of a running worker: when to begin one, when it is complete, which old ones may go."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from stretto.checkpoint.gathering import Action, Discard, Gathering, Save
from stretto.checkpoint.retention import to_delete
from stretto.checkpoint.saving import Saver
from stretto.checkpoint.shard import Shard
from stretto.checkpoint.store import Store
from stretto.communicate.transport import Transport, gather_bytes
from stretto.errors import CheckpointError
from stretto.evaluate.best import Best
from stretto.observe.callback import Callbacks
from stretto.observe.training import Training
from stretto.roles.rhythm import Rhythm

Progress = Callable[[], tuple[dict[str, Any], dict[str, Any]]]


class Keeper:
    """Begins checkpoints where replicas meet, and commits them when every seat has written.

    All seats begin the same checkpoint and write their shards in the background. That all have written is agreed by the
    votes of a later meeting; then the first seat hears what each wrote, and commits. A seat that could not write makes
    all give up this one checkpoint, with a warning; training goes on, and only a failure at the very end is an error.
    """

    def __init__(
        self,
        store: Store,
        saver: Saver,
        rhythm: Rhythm,
        *,
        transport: Transport,
        training: Training,
        callbacks: Callbacks,
        best: Best | None,
        keep: int,
    ) -> None:
        self.rhythm = rhythm
        self._store, self._saver, self._transport, self._training = store, saver, transport, training
        self._callbacks, self._best, self._keep = callbacks, best, keep
        self._begun_step: int | None = None
        self._saved_step: int | None = None
        self._shard: Shard | None = None
        self._failure: CheckpointError | None = None
        self._pauses_s: dict[int, float] = {}
        self._saved_s = time.monotonic()

    def time_due(self) -> bool:
        """This seat's vote: so much time has passed that a checkpoint should be written."""
        return self.rhythm.time_due(time.monotonic() - self._saved_s)

    def idle(self) -> bool:
        """This seat's vote: it has nothing more to write for the checkpoint that was begun."""
        return self._begun_step is not None and self._has_written()

    def after_meeting(self, progress: Progress, *, all_idle: bool, save_voted: bool) -> None:
        """Go on with saving where all seats are at the same step: commit what is written, begin what is due."""
        if self._begun_step is not None and all_idle:
            self._commit()
        self._note_committed()
        step = self._training.step
        is_best = self._best is not None and self._best.step == step
        if self.rhythm.step_due(step) or save_voted or is_best:
            self._save(progress)

    def finish(self, progress: Progress) -> None:
        """Have the last state saved for certain; raises `CheckpointError` if it cannot be."""
        if self._saved_step != self._training.step:
            self._save(progress)
        self._settle()
        if self._failure is not None:
            raise self._failure
        self._saver.wait()
        self._note_committed()
        self._saver.close()

    def _save(self, progress: Progress) -> None:
        self._settle()
        state, values = progress()
        self._failure = None
        self._begun_step = self._saved_step = self._training.step
        self._saved_s = time.monotonic()
        try:
            pause = self._saver.begin(self._begun_step, self._transport.rank, state, values)
            self._pauses_s[self._begun_step] = pause.waited_s + pause.copied_s
        except CheckpointError as error:
            self._give_up(error)

    def _settle(self) -> None:
        """Wait for a checkpoint that is still being written, and commit it; all seats come here together."""
        if self._begun_step is None:
            return
        try:
            self._saver.wait()
        except CheckpointError as error:
            self._give_up(error)
        self._has_written()
        self._commit()

    def _has_written(self) -> bool:
        try:
            for shard in self._saver.written():
                self._shard = shard
        except CheckpointError as error:
            self._give_up(error)
        return self._shard is not None or self._failure is not None

    def _commit(self) -> None:
        step, self._begun_step = self._begun_step, None
        if step is None:
            return
        decision = self._decide(step)
        if isinstance(decision, Discard):
            self._failure = self._failure or CheckpointError(decision.reason)
            self._saved_step = None
        if self._transport.rank != 0:
            return
        try:
            if isinstance(decision, Discard):
                self._saver.discard(step)
            else:
                self._saver.commit(step, decision.shards)
        except CheckpointError as error:
            self._give_up(error)

    def _decide(self, step: int) -> Action:
        """Whether the checkpoint is whole: every seat hears what each has written, or why it could not."""
        shard, self._shard = self._shard, None
        good = shard if self._failure is None else None
        own = {"failure": str(self._failure)} if good is None else {"shard": good.to_json()}
        told = [json.loads(part) for part in gather_bytes(self._transport, json.dumps(own).encode())]
        save, gathering = Save(view=0, step=step), Gathering()
        actions = gathering.begin(save, range(len(told)))
        for seat, part in enumerate(told):
            if "failure" in part:
                actions += gathering.failed(save, seat, part["failure"])
            else:
                actions += gathering.arrived(save, Shard.from_json(part["shard"]))
        return actions[0]

    def _note_committed(self) -> None:
        if self._transport.rank != 0:
            return
        try:
            committed = self._saver.committed()
        except CheckpointError as error:
            self._give_up(error)
            return
        for step in committed:
            told = {"saved_step": step, "pause_s": self._pauses_s.pop(step)}
            self._training.emit(self._training.event("checkpoint_saved", **told))
            self._callbacks.call("on_checkpoint_saved", self._training)
        if committed:
            best = self._best.step if self._best is not None else None
            self._saver.delete(to_delete(self._store.steps(), self._keep, best))

    def _give_up(self, error: CheckpointError) -> None:
        self._failure = error
        self._training.warn(f"no checkpoint: {error}")
