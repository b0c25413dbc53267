"""A seat's side of a training: meet the others, go on from where the run stands, train, hand out the model."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
import torch

from stretto.checkpoint.hugging_face import write_hugging_face
from stretto.checkpoint.store import Loaded, Store
from stretto.communicate.alone import Alone
from stretto.communicate.control_client import ControlClient
from stretto.communicate.messages import Assignment, LedgerBegin, LedgerUse, StopTraining
from stretto.communicate.process_group import ProcessGroup
from stretto.communicate.rendezvous import rendezvous_store
from stretto.communicate.transport import Transport, gather_bytes
from stretto.data.series import Series
from stretto.job import Job, Plan, Seat
from stretto.observe.event import Event
from stretto.observe.run_folder import RunFolder
from stretto.roles.worker_node import WorkerNode
from stretto.run.equipment import Surroundings, equip, weights_of
from stretto.run.errand import Work
from stretto.run.sampling import data_elsewhere, serve_samples

TIMEOUT_S: Final = 1800.0  # the last resort: a peer that has died is noticed at once, by its connections


def work(assignment: Assignment, client: ControlClient, objects: Mapping[str, Any]) -> dict[str, Any]:
    """What every worker does: meet the others, train to the end, and on the first seat hand out the best model."""
    task = msgspec.json.decode(assignment.payload, type=Work)
    plan = Plan.from_json(task.plan)
    seat = plan.seats[assignment.slot]
    torch.set_num_threads(seat.threads)
    if seat.role == "sampler":
        return serve_samples(client, plan, seat, own_objects(plan, seat, objects))
    with meeting(assignment, client, plan, objects) as transport, data_elsewhere(client, plan, seat) as data:
        around = Surroundings(
            seat=seat,
            transport=transport,
            folder=RunFolder(Path(task.folder)),
            objects=own_objects(plan, seat, objects),
            report=client.report,
            asked_to_stop=partial(asked_to_stop, client),
            ledger=LedgerLine(client),
            data=data,
        )
        node, store = equip(plan.job, around)
        if seat.rank == 0:
            store.clean()
        gather_bytes(transport, b"clean")  # nobody writes before
        loaded = go_on(node, store, around) if task.go_on or assignment.view > 1 else None
        resumed_step = loaded.step if loaded else None
        if seat.rank == 0:
            begin_ledger(client, node, loaded, transport.size)
            if task.go_on and resumed_step is None:
                missing = f"there is no checkpoint in {around.folder.checkpoints}: starting at the beginning"
                client.report(Event(kind="warning", seat=0, values={"message": missing}))
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
    devices = [seat.device for seat in plan.seats if seat.role == "worker"]
    return "gloo" if "cpu" in devices or len(set(devices)) < len(devices) else "cpu:gloo,cuda:nccl"


def own_objects(plan: Plan, seat: Seat, objects: Mapping[str, Any]) -> Mapping[str, Any]:
    """Live objects for this seat: threads of one process need a model and callbacks each, processes have them already.

    The first seat keeps the callbacks themselves, so that a program can look at them afterwards.
    """
    if plan.job.engine.name != "inline" or plan.workers == 1:
        return objects
    copied = ("model", "callbacks") if seat.id else ("model",)
    return {name: copy.deepcopy(each) if name in copied else each for name, each in objects.items()}


def asked_to_stop(client: ControlClient) -> str | None:
    """Why the coordinator wants this worker to stop, if it does."""
    return next((message.reason for message in client.pushed() if isinstance(message, StopTraining)), None)


class LedgerLine:
    """Accounts of used samples, by the control connection."""

    def __init__(self, client: ControlClient) -> None:
        self._client = client

    def tell(self, uses: Sequence[Series]) -> Callable[[float], bool | None]:
        """Send uses; the function returned waits so many seconds for whether they are noted."""
        number = self._client.ask(LedgerUse(uses=tuple(each.to_values() for each in uses)))
        return lambda wait_s: self._client.answer(number).found if self._client.answered(number, wait_s) else None


def begin_ledger(client: ControlClient, node: WorkerNode, loaded: Loaded | None, size: int) -> None:
    """Have the ledger go back to where this view begins, and tell it what only the checkpoint may know."""
    position = node.position
    uses = [(seat, *each) for seat, state in loaded.states.items() for each in state.get("used", ())] if loaded else []
    told = LedgerBegin(
        step=loaded.step if loaded else 0, epoch=position.epoch, place=position.offset, samples=node.samples,
        workers=size, uses=tuple(uses),
    )  # fmt: skip
    client.request(told)


def go_on(node: WorkerNode, store: Store, around: Surroundings) -> Loaded | None:
    """Load the newest good checkpoint into a worker, telling of damaged ones; without any it starts anew."""
    first = store.load() if around.seat.rank == 0 and store.steps() else None
    chosen = json.loads(gather_bytes(around.transport, json.dumps(first and first.step).encode())[0])
    if chosen is None:
        return None
    loaded = first or store.load(chosen)
    if around.seat.rank == 0:
        for damage in loaded.damages:
            around.report(Event(kind="checkpoint_damaged", seat=0, step=loaded.step, values={"message": damage}))
    node.load_state(loaded.states, loaded.values)
    return loaded


def hand_out(job: Job, store: Store, result: dict[str, Any], folder: RunFolder) -> None:
    """Write the best weights where others look for them, in the Hugging Face layout."""
    step = result["best"]["step"] if result["best"] else result["steps"]
    config = {"architectures": [job.model.name], "stretto": {"model": job.model.written(), "step": step}}
    write_hugging_face(folder.model, weights_of(store.load(step)), config)
