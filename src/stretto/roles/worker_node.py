"""The worker: the one loop in which every strategy trains."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch

from stretto.communicate.transport import Transport
from stretto.compute.randomness import random_state, restore_random_state
from stretto.compute.replica import Replica
from stretto.compute.tally import Tally
from stretto.data.assembly import Portion, Wanted
from stretto.data.batch import Batch
from stretto.data.ledger import Lease, Ledger, Position, Verdict
from stretto.data.loader import Loader
from stretto.errors import PeerLost, StrettoError
from stretto.evaluate.best import Best
from stretto.evaluate.validation import Validation
from stretto.observe.callback import Callbacks
from stretto.observe.training import Training
from stretto.roles.accounts import Accounts
from stretto.roles.keeper import Keeper
from stretto.roles.rhythm import Rhythm
from stretto.roles.sharing import Sharing
from stretto.strategies.averaging import equalise
from stretto.strategies.strategy import Strategy
from stretto.update.average import Average


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythms:
    """When training ends, when it is validated, when it is saved."""

    until: Rhythm
    validate: Rhythm
    save: Rhythm


@dataclass(frozen=True, slots=True, kw_only=True)
class Equipment:
    """What a worker works with, each part made and owned by its own layer."""

    replica: Replica
    strategy: Strategy
    transport: Transport
    loader: Loader
    accounts: Accounts
    sharing: Sharing
    validation: Validation | None
    average: Average | None
    best: Best
    callbacks: Callbacks
    keeper: Keeper
    training: Training
    rhythms: Rhythms
    watched: str  # the metric that a schedule waiting for plateaus looks at
    asked_to_stop: Callable[[], str | None]


class WorkerNode:
    """Takes batches, computes gradients, lets the strategy exchange them, and records what came of it.

    Everything that seats must do together (stop, save, validate) happens where replicas meet. Steps and epochs are the
    same on all seats; what only one seat knows (the time, a signal, a callback's wish) travels as a vote in the tally
    of the next meeting. So no seat ever waits for one that has stopped.
    """

    def __init__(self, equipment: Equipment) -> None:
        self._with = equipment
        self._ledger = Ledger(equipment.loader.samples, equipment.loader.batch)
        self._started_s = self._noted_s = 0.0
        self._stopped_because: str | None = None
        self._sent_before = self._samples_before = 0
        self._seconds_before = self._judged_s = 0.0
        self._asked: str | None = None
        self._status = "finished"
        self._in_epoch = self._recorded = False

    @property
    def position(self) -> Position:
        """Where the data stands."""
        return self._ledger.position

    @property
    def samples(self) -> int:
        """How many samples an epoch has."""
        return self._with.loader.samples

    def announce(self, resumed_step: int | None) -> None:
        """Tell those who watch where the training begins."""
        training, samples = self._with.training, self._with.loader.samples
        training.emit(training.event("training_started", samples_per_epoch=samples, resumed_step=resumed_step))

    def run(self) -> dict[str, Any]:
        """Train to the end or until a stop is agreed; return the result that the run folder keeps."""
        own, training = self._with, self._with.training
        own.strategy.join(own.replica, own.transport)
        self._started_s = self._noted_s = time.monotonic()
        own.sharing.begin()
        try:
            own.callbacks.call("on_fit_start", training)
            for wanted, batches in self._portions():
                self._step(wanted, batches)
                if self._stopped_because is not None:
                    break
            samples_per_s = self._samples_per_s()
            own.keeper.finish(self._progress)
            if not own.accounts.settle():
                training.warn("the ledger of samples could not be written to its end; see: stretto ledger")
            own.callbacks.call("on_fit_end", training)
        except BaseException as error:
            training.exception = error
            if not isinstance(error, PeerLost):
                own.callbacks.call("on_exception", training)
            raise
        own.strategy.leave()
        return self._result(samples_per_s)

    def state(self) -> dict[str, Any]:
        """All that this seat has to remember; what is equal on all seats is kept by the first alone."""
        own = self._with
        state: dict[str, Any] = {"random": random_state(), "used": own.accounts.unconfirmed()}
        if own.transport.rank == 0 or not own.strategy.replicas_equal:
            state |= {
                "model": own.replica.model.state_dict(),
                "rule": own.replica.rule.state_dict(),
                "precision": own.replica.precision.state_dict(),
                "strategy": own.strategy.state_dict(),
                "callbacks": own.callbacks.state_dict(),
                "average": own.average.state_dict() if own.average else {},
            }
        return state

    def load_state(self, states: dict[int, dict[str, Any]], values: dict[str, Any]) -> None:
        """Go on from a checkpoint; a seat that it does not know starts like the first, with its own random numbers."""
        own, training = self._with, self._with.training
        mine = states.get(own.transport.rank, {})
        state = mine if "model" in mine else states[0]
        own.replica.model.load_state_dict(state["model"])
        own.replica.rule.load_state_dict(state["rule"])
        own.replica.precision.load_state_dict(state["precision"])
        own.strategy.load_state_dict(state["strategy"])
        own.callbacks.load_state_dict(state["callbacks"])
        if own.average and state["average"]:
            own.average.load_state_dict(state["average"])
        training.step, training.epoch, training.samples = values["step"], values["epoch"], values["samples"]
        training.seconds, training.metrics = values["seconds"], dict(values["metrics"])
        position = Position.from_values(values["position"])
        self._ledger = Ledger(own.loader.samples, own.loader.batch, position=position, step=training.step)
        self._seconds_before = training.seconds
        self._sent_before, self._samples_before = values["sent_bytes"], training.samples
        if "random" in mine:
            restore_random_state(mine["random"])

    def _portions(self) -> Iterator[Portion]:
        end = self._with.rhythms.until.end_step
        if end is not None and self._with.training.step >= end:
            return
        yield from self._with.loader.at(self._ledger.position)

    def _step(self, wanted: Wanted, batches: list[Batch]) -> None:
        own, training, lease = self._with, self._with.training, wanted.lease
        if not self._in_epoch:
            own.callbacks.call("on_train_epoch_start", training)
        own.callbacks.call("on_train_batch_start", training)
        own.strategy.before_step(training.step)
        meet = self._must_meet(lease)
        tally = own.replica.learn(batches, read=meet or self._reads_loss())
        if own.loader.assembly.learns:
            own.loader.assembly.learn(*(each.numpy() for each in own.replica.heard()))
        agreed = own.strategy.after_backward(training.step, self._with_votes(tally), meet)
        self._in_epoch = not lease.ends_epoch
        self._record(wanted, agreed)
        own.callbacks.call("on_train_batch_end", training)
        if lease.ends_epoch:
            own.replica.rule.epoch_ended()
            own.callbacks.call("on_train_epoch_end", training)
        if agreed is not None:
            own.sharing.after_meeting(lease)
            self._after_meeting(agreed)

    def _reads_loss(self) -> bool:
        """On a processor the loss is there in every step; a GPU is waited for only where it will be recorded."""
        own, every = self._with, self._with.training.job.observe.every.steps or 1
        return own.replica.device == "cpu" or not self._recorded or (own.training.step + 1) % every == 0

    def _with_votes(self, tally: Tally) -> Tally:
        own, training = self._with, self._with.training
        self._asked = own.asked_to_stop() or self._asked
        if own.rhythms.until.time_due(self._seconds()):
            training.stop(f"{own.rhythms.until.seconds:g} s are over")
        return replace(
            tally,
            seats=1.0,
            stop=float(training.stop_reason is not None),
            asked=float(self._asked is not None),
            save=float(own.keeper.time_due()),
            idle=float(own.keeper.idle()),
        )

    def _must_meet(self, lease: Lease) -> bool:
        own, step = self._with, self._with.training.step + 1
        due = own.rhythms.validate.step_due(step) or own.keeper.rhythm.step_due(step)
        return lease.ends_epoch or due or step == own.rhythms.until.end_step

    def _record(self, wanted: Wanted, agreed: Tally | None) -> None:
        training, now_s, lease = self._with.training, time.monotonic(), wanted.lease
        training.step += 1
        verdict = self._ledger.commit(lease, training.step)
        if verdict is not Verdict.COMMITTED:
            raise StrettoError(f"step {training.step} used {lease}, but the ledger says: {verdict}")
        self._with.accounts.used(training.step, wanted)
        self._with.sharing.used(sum(map(len, wanted.parts)))
        training.samples += len(lease)
        training.epoch = lease.end.epoch
        training.seconds = self._seconds()
        training.scalars["lr"] = self._with.replica.rule.learning_rate
        training.scalars["samples_per_s"] = len(lease) / self._with.transport.size / max(now_s - self._noted_s, 1e-9)
        training.scalars["sent_bytes"] = float(self._sent_bytes())
        self._noted_s = now_s
        if agreed is not None and agreed.judged:
            training.scalars["loss"] = agreed.mean_loss
        self._recorded = True

    def _after_meeting(self, agreed: Tally) -> None:
        own, training = self._with, self._with.training
        ends = training.step == own.rhythms.until.end_step
        if own.validation is not None and (own.rhythms.validate.step_due(training.step) or ends):
            self._validate(own.validation)
        if ends:
            self._stopped_because = training.stop_reason = "the budget is used up"
        elif agreed.asked:
            self._stopped_because = training.stop_reason = self._asked or "asked to stop"
            self._status = "stopped"
        elif agreed.stop or self._anyone_stops():
            self._stopped_because = training.stop_reason = training.stop_reason or "another worker asked to stop"
        all_idle = agreed.idle == agreed.seats
        own.keeper.after_meeting(self._progress, all_idle=all_idle, save_voted=agreed.save > 0)

    def _anyone_stops(self) -> bool:
        """After a validation callbacks may have decided to stop: agreed at once, not a step later."""
        if not self._with.rhythms.validate.step_due(self._with.training.step):
            return False
        vote = torch.tensor([float(self._with.training.stop_reason is not None)])
        self._with.transport.sum(vote).wait()
        return bool(vote.item())

    def _validate(self, validation: Validation) -> None:
        own, training, begun_s = self._with, self._with.training, time.monotonic()
        own.callbacks.call("on_validation_start", training)
        with own.average.applied() if own.average else nullcontext(), own.replica.precision.computing():
            equalise(own.replica.model, own.transport)  # the averages of workers that learn alone differ
            training.metrics = validation.run(own.replica.model)
        if own.watched in training.metrics:
            own.replica.rule.validated(training.metrics[own.watched])
        own.callbacks.call("on_validation_end", training)
        self._noted_s = time.monotonic()
        self._judged_s += self._noted_s - begun_s
        own.sharing.begin_anew()

    def _progress(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """This seat's state, and the values that tell where the run stands."""
        training = self._with.training
        values = {
            "step": training.step,
            "epoch": training.epoch,
            "samples": training.samples,
            "seconds": training.seconds,
            "metrics": training.metrics,
            "position": self._ledger.position.to_values(),
            "workers": training.workers,
            "sent_bytes": self._sent_bytes(),
        }
        return self.state(), values

    def _samples_per_s(self) -> float:
        """How fast all workers together have trained since this start, the time for validation left out."""
        trained_s = time.monotonic() - self._started_s - self._judged_s
        return (self._with.training.samples - self._samples_before) / max(trained_s, 1e-9)

    def _sent_bytes(self) -> int:
        return self._sent_before + self._with.transport.sent_bytes

    def _seconds(self) -> float:
        return self._seconds_before + time.monotonic() - self._started_s

    def _result(self, samples_per_s: float) -> dict[str, Any]:
        training, best = self._with.training, self._with.best
        watched = {"metric": self._with.watched, "step": best.step, "value": best.value}
        return {
            "status": self._status,
            "reason": training.stop_reason or "there was nothing left to do",
            "steps": training.step,
            "epochs": training.epoch,
            "samples": training.samples,
            "seconds": training.seconds,
            "samples_per_s": samples_per_s,
            "metrics": training.metrics,
            "best": watched if best.step is not None else None,
            "workers": training.workers,
            "sent_bytes": self._sent_bytes(),
        }
