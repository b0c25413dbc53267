"""What a worker works with: all its parts are made here, and handed to each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import Tensor, nn

from stretto.checkpoint.folder import FolderStore
from stretto.checkpoint.saving import Saver
from stretto.checkpoint.store import Loaded, Store
from stretto.communicate.transport import Transport
from stretto.compute.precision import Precision
from stretto.compute.randomness import mixed_seed, seed_everything
from stretto.compute.replica import Replica
from stretto.compute.task import FunctionTask, Task, load_task
from stretto.data.assembly import Assembler, Assembly
from stretto.data.damage import Damage
from stretto.data.evaluation_loader import EvaluationLoader
from stretto.data.loader import Loader
from stretto.data.ordering import load_ordering
from stretto.data.source import Source, as_sources, load_data
from stretto.data.tolerance import Tolerant
from stretto.data.transform import load_transforms
from stretto.data.transformed import Transformed
from stretto.errors import DataError, ModelError
from stretto.evaluate.best import Best
from stretto.evaluate.early_stop import EarlyStop
from stretto.evaluate.metric import Metric
from stretto.evaluate.selection import make_metrics
from stretto.evaluate.validation import Validation
from stretto.evaluate.watched import Watched, watch
from stretto.job import Job, Seat, make
from stretto.model.layout import load_layout
from stretto.model.loading import load_model
from stretto.observe.callback import Callback, Callbacks
from stretto.observe.event import Event
from stretto.observe.recorder import Recorder
from stretto.observe.run_folder import RunFolder
from stretto.observe.training import Training
from stretto.roles.accounts import Accounts, Line
from stretto.roles.keeper import Keeper
from stretto.roles.rhythm import Rhythm
from stretto.roles.sharing import Sharing
from stretto.roles.worker_node import Equipment, Rhythms, WorkerNode
from stretto.strategies import load_strategy
from stretto.update.average import Average
from stretto.update.torch_rule import load_rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a seat is given by whoever runs it; `objects` are live things that a program put in place of words."""

    seat: Seat
    transport: Transport
    folder: RunFolder
    objects: Mapping[str, Any]
    report: Callable[[Event], None]
    asked_to_stop: Callable[[], str | None]
    ledger: Line | None = None
    data: Data | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """What a worker learns from and is judged by, wherever it is read."""

    assembly: Assembly
    facts: Mapping[str, Any]
    validation: Source


def equip(job: Job, around: Surroundings) -> tuple[WorkerNode, Store]:
    """Make a worker with everything it works with, and the store its checkpoints go to."""
    seat, transport, objects = around.seat, around.transport, around.objects
    data = around.data or data_here(job, around)
    strategy = load_strategy(job.strategy)
    model = make_model(job, around, data.facts, replicas_equal=strategy.replicas_equal)
    task = make_task(job, objects)
    loader = Loader(data.assembly, job.training.batch, seat.rank, transport.size, micro_batches=job.training.accumulate)
    rhythms = make_rhythms(job, loader.batches_per_epoch)
    replica = make_replica(job, seat, model, task, rhythms, loader.batches_per_epoch)
    training = Training(
        model=model, optimizer=replica.rule.optimizer, job=job, rank=seat.rank, workers=transport.size,
        folder=around.folder.path, report=around.report,
    )  # fmt: skip
    metrics = make_metrics(job.metrics, transport)
    watched = watch(job.checkpoint.best.name, metrics, "checkpoint.best", job.checkpoint.best.higher)
    best = Best(watched)
    average = Average(model, job.training.average) if job.training.average else None
    callbacks = Callbacks(
        [*([average] if average else []), *own_callbacks(job, objects), *make_callbacks(job, metrics, watched, best)]
    )
    replica.before_update = lambda: callbacks.call("on_before_optimizer_step", training)
    store = FolderStore(around.folder.checkpoints)
    keeper = Keeper(
        store, Saver(store, asynchronous=job.checkpoint.asynchronous), rhythms.save,
        transport=transport, training=training, callbacks=callbacks, best=best, keep=job.checkpoint.keep,
    )  # fmt: skip
    node = WorkerNode(
        Equipment(
            replica=replica,
            strategy=strategy,
            transport=transport,
            loader=loader,
            accounts=Accounts(around.ledger),
            sharing=Sharing(transport, loader, training, measured=job.cluster.shares == "measured"),
            validation=make_validation(job, around, data.validation, metrics, task),
            average=average,
            best=best,
            callbacks=callbacks,
            keeper=keeper,
            training=training,
            rhythms=rhythms,
            watched=watched.metric,
            asked_to_stop=around.asked_to_stop,
        )
    )
    return node, store


def open_data(job: Job, objects: Mapping[str, Any], report: Callable[[Event], None]) -> tuple[Source, Source]:
    """The training and the validation data; damaged samples are left out and reported, if the job says so."""
    training, validation = as_sources(objects["data"]) if "data" in objects else load_data(job.data)

    def tell(part: str, damage: Damage) -> None:
        told = {"part": part, "sample": damage.sample, "file": damage.file, "offset": damage.offset}
        report(Event(kind="sample_damaged", values=told | {"reason": damage.reason}))

    if job.loading.damaged == "skip":
        training, validation = (
            Tolerant(training, partial(tell, "training")),
            Tolerant(validation, partial(tell, "validation")),
        )
    return training, Transformed(validation, load_transforms(job.loading.transform))


def data_here(job: Job, around: Surroundings) -> Data:
    """The data, read by this process."""
    training, validation = open_data(job, around.objects, around.report)
    assembler = make_assembler(job, training, pin=around.seat.device != "cpu")
    if assembler.learns and around.transport.size > 1:
        raise DataError("an order that learns has to hear of all workers' losses; add cluster.samplers: 1")
    return Data(assembly=assembler, facts=training.facts, validation=validation)


def make_assembler(job: Job, data: Source, *, pin: bool = False) -> Assembler:
    """What makes batches of the training data in this process."""
    seed = job.training.seed
    ordering = load_ordering(job.loading.order, data, seed)
    return Assembler(
        data, ordering, load_transforms(job.loading.transform), seed=seed, ahead=job.loading.ahead, pin=pin
    )


def make_model(job: Job, around: Surroundings, facts: Mapping[str, Any], *, replicas_equal: bool) -> nn.Module:
    """The model, equal on all seats, in its place; afterwards every seat draws random numbers of its own."""
    seat, seed = around.seat, job.training.seed
    seed_everything(seed)
    model = around.objects["model"] if "model" in around.objects else load_model(job.model, facts)
    placed = load_layout(job.layout).place(
        model,
        seat.device,
        around.transport,
        normalisation=job.training.normalisation or ("synchronised" if replicas_equal else "local"),
        compile=job.training.compile,
    )
    if seat.rank:  # the first goes on as a single process would
        seed_everything(mixed_seed(seed, "seat", seat.rank))
    return placed


def make_task(job: Job, objects: Mapping[str, Any]) -> Task:
    """What is to be learned."""
    return FunctionTask(objects["task"]) if "task" in objects else load_task(job.task)


def make_rhythms(job: Job, steps_per_epoch: int) -> Rhythms:
    """When to end, to validate and to save."""
    return Rhythms(
        until=Rhythm.of(job.training.until, steps_per_epoch),
        validate=Rhythm.of(job.validation.every, steps_per_epoch),
        save=Rhythm.of(job.checkpoint.every, steps_per_epoch),
    )


def make_replica(job: Job, seat: Seat, model: nn.Module, task: Task, rhythms: Rhythms, steps_per_epoch: int) -> Replica:
    """The model with its gradients and its rule; a schedule learns how long the training will be."""
    chosen, end = job.training, rhythms.until.end_step
    length = end if end is None or chosen.schedule_per == "update" else -(-end // steps_per_epoch)
    rule = load_rule(model.parameters(), chosen.optimizer, chosen.lr, chosen.schedule, chosen.schedule_per, length)
    precision = Precision(chosen.precision, seat.device.partition(":")[0])
    return Replica(model, task, rule, precision, nominal=chosen.batch, clip=chosen.clip, device=seat.device)


def own_callbacks(job: Job, objects: Mapping[str, Any]) -> Iterator[Callback]:
    """The callbacks a job names, and those a program has handed over."""
    for choice in job.callbacks:
        yield make("callback", choice, {}, ModelError)
    yield from objects.get("callbacks", ())


def make_callbacks(job: Job, metrics: list[Metric], watched: Watched, best: Best) -> Iterator[Callback]:
    """The callbacks every training has."""
    yield Recorder(job.observe.every.steps or 1, job.observe.gradients)
    if job.validation.every is not None:
        targets = {watch(name, metrics, "stop.target"): value for name, value in job.stop.target.items()}
        yield best
        yield EarlyStop(watched, targets, job.stop.patience)


def make_validation(
    job: Job, around: Surroundings, data: Source, metrics: list[Metric], task: Task
) -> Validation | None:
    """The judge of the model, unless the job wants none."""
    if job.validation.every is None:
        return None
    transport = around.transport
    pin = around.seat.device != "cpu"
    loader = EvaluationLoader(data, job.validation.batch, transport.rank, transport.size, pin=pin)
    return Validation(loader, metrics, transport, task)


def weights_of(loaded: Loaded) -> dict[str, Tensor]:
    """The weights that a checkpoint is about: the average where one is kept, else the model's own."""
    state = loaded.states[0]
    weights: dict[str, Tensor] = dict(state["model"])
    return weights | (state["average"].get("weights") or {})
