"""A seat's side: the parts of a worker are made here, and handed to each other."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
import torch
from torch import Tensor, nn

from stretto.checkpoint.folder import FolderStore
from stretto.checkpoint.hugging_face import write_hugging_face
from stretto.checkpoint.saving import Saver
from stretto.checkpoint.store import Loaded, Store
from stretto.communicate.alone import Alone
from stretto.communicate.control_client import ControlClient
from stretto.communicate.messages import Assignment, StopTraining
from stretto.communicate.process_group import ProcessGroup
from stretto.communicate.rendezvous import rendezvous_store
from stretto.communicate.transport import Transport, gather_bytes
from stretto.compute.precision import Precision
from stretto.compute.randomness import mixed_seed, seed_everything
from stretto.compute.replica import Replica
from stretto.compute.task import FunctionTask, Task, load_task
from stretto.data.evaluation_loader import EvaluationLoader
from stretto.data.loader import Loader
from stretto.data.source import Source, as_sources, load_data
from stretto.errors import ModelError
from stretto.evaluate.best import Best
from stretto.evaluate.early_stop import EarlyStop
from stretto.evaluate.metric import Metric
from stretto.evaluate.selection import make_metrics
from stretto.evaluate.validation import Validation
from stretto.evaluate.watched import Watched, watch
from stretto.job import Job, Plan, Seat, make
from stretto.model.layout import load_layout
from stretto.model.loading import load_model
from stretto.observe.callback import Callback, Callbacks
from stretto.observe.event import Event
from stretto.observe.recorder import Recorder
from stretto.observe.run_folder import RunFolder
from stretto.observe.training import Training
from stretto.roles.keeper import Keeper
from stretto.roles.rhythm import Rhythm
from stretto.roles.worker_node import Equipment, Rhythms, WorkerNode
from stretto.run.errand import Work
from stretto.strategies import load_strategy
from stretto.update.average import Average
from stretto.update.torch_rule import load_rule

TIMEOUT_S: Final = 1800.0  # the last resort: a peer that has died is noticed at once, by its connections


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a seat is given by whoever runs it; `objects` are live things that a program put in place of words."""

    seat: Seat
    transport: Transport
    folder: RunFolder
    objects: Mapping[str, Any]
    report: Callable[[Event], None]
    asked_to_stop: Callable[[], str | None]


def equip(job: Job, around: Surroundings) -> tuple[WorkerNode, Store]:
    """Make a worker with everything it works with, and the store its checkpoints go to."""
    seat, transport, objects = around.seat, around.transport, around.objects
    training_data, validation_data = open_data(job, objects)
    model = make_model(job, around, training_data)
    task = make_task(job, objects)
    loader = Loader(
        training_data, job.training.batch, seat.rank, transport.size, job.training.seed,
        micro_batches=job.training.accumulate,
    )  # fmt: skip
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
            strategy=load_strategy(job.strategy),
            transport=transport,
            loader=loader,
            micro_batches=job.training.accumulate,
            device=seat.device,
            validation=make_validation(job, around, validation_data, metrics, task),
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


def open_data(job: Job, objects: Mapping[str, Any]) -> tuple[Source, Source]:
    """The training and the validation data."""
    return as_sources(objects["data"]) if "data" in objects else load_data(job.data)


def make_model(job: Job, around: Surroundings, data: Source) -> nn.Module:
    """The model, equal on all seats, in its place; afterwards every seat draws random numbers of its own."""
    seat, seed = around.seat, job.training.seed
    seed_everything(seed)
    model = around.objects["model"] if "model" in around.objects else load_model(job.model, data.facts)
    placed = load_layout(job.layout).place(
        model,
        seat.device,
        around.transport,
        normalisation=job.training.normalisation,
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
    return Replica(model, task, rule, precision, nominal=chosen.batch, clip=chosen.clip)


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
    loader = EvaluationLoader(data, job.validation.batch, transport.rank, transport.size)
    return Validation(loader, metrics, transport, task)


def work(assignment: Assignment, client: ControlClient, objects: Mapping[str, Any]) -> dict[str, Any]:
    """What every worker does: meet the others, train to the end, and on the first seat hand out the best model."""
    task = msgspec.json.decode(assignment.payload, type=Work)
    plan = Plan.from_json(task.plan)
    seat = plan.seats[assignment.slot]
    torch.set_num_threads(seat.threads)
    with meeting(assignment, client, plan, objects) as transport:
        around = Surroundings(
            seat=seat,
            transport=transport,
            folder=RunFolder(Path(task.folder)),
            objects=own_objects(plan, seat, objects),
            report=client.report,
            asked_to_stop=partial(asked_to_stop, client),
        )
        node, store = equip(plan.job, around)
        if seat.rank == 0:
            store.clean()
        gather_bytes(transport, b"clean")  # nobody writes before
        resumed_step = go_on(node, store, around) if task.go_on or assignment.view > 1 else None
        if seat.rank == 0:
            node.announce(resumed_step)
        client.ready()
        result = node.run()
        if seat.rank == 0:
            hand_out(plan.job, store, result, around.folder)
        return result


@contextmanager
def meeting(
    assignment: Assignment, client: ControlClient, plan: Plan, objects: Mapping[str, Any]
) -> Iterator[Transport]:
    """Join the group of the assignment's view; leaving the body leaves it."""
    if assignment.size == 1:
        yield Alone()
    elif plan.job.engine.name == "inline":
        with objects["worlds"].of(assignment.view, assignment.size).seat(assignment.rank) as transport:
            yield transport
    else:
        store = rendezvous_store(client)  # held here: torch keeps its own half of the object only
        group = ProcessGroup.form(store, assignment.rank, assignment.size, backend=backend(plan), timeout_s=TIMEOUT_S)
        try:
            yield group
        finally:
            group.close()


def backend(plan: Plan) -> str:
    """Which of torch's backends can connect these seats: nccl wants a GPU for each."""
    devices = [seat.device for seat in plan.seats]
    return "gloo" if "cpu" in devices or len(set(devices)) < len(devices) else "cpu:gloo,cuda:nccl"


def own_objects(plan: Plan, seat: Seat, objects: Mapping[str, Any]) -> Mapping[str, Any]:
    """Live objects for this seat: threads of one process need a model and callbacks each, processes have them already.

    The first seat keeps the callbacks themselves, so that a program can look at them afterwards.
    """
    if plan.job.engine.name != "inline" or plan.workers == 1:
        return objects
    copied = ("model", "callbacks") if seat.rank else ("model",)
    return {name: copy.deepcopy(each) if name in copied else each for name, each in objects.items()}


def asked_to_stop(client: ControlClient) -> str | None:
    """Why the coordinator wants this worker to stop, if it does."""
    return next((message.reason for message in client.pushed() if isinstance(message, StopTraining)), None)


def go_on(node: WorkerNode, store: Store, around: Surroundings) -> int | None:
    """Load the newest good checkpoint into a worker, telling of damaged ones; without any it starts anew."""
    if not store.steps():
        return None
    loaded = store.load()
    if around.seat.rank == 0:
        for damage in loaded.damages:
            around.report(Event(kind="checkpoint_damaged", seat=0, step=loaded.step, values={"message": damage}))
    node.load_state(loaded.states, loaded.values)
    return loaded.step


def hand_out(job: Job, store: Store, result: dict[str, Any], folder: RunFolder) -> None:
    """Write the best weights where others look for them, in the Hugging Face layout."""
    step = result["best"]["step"] if result["best"] else result["steps"]
    config = {"architectures": [job.model.name], "stretto": {"model": job.model.written(), "step": step}}
    write_hugging_face(folder.model, weights_of(store.load(step)), config)


def weights_of(loaded: Loaded) -> dict[str, Tensor]:
    """The weights that a checkpoint is about: the average where one is kept, else the model's own."""
    state = loaded.states[0]
    weights: dict[str, Tensor] = dict(state["model"])
    return weights | (state["average"].get("weights") or {})
