"""The launching side: an engine, a coordinator and the sinks are made here, and run to the end of the run."""

from __future__ import annotations

import secrets
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

from stretto.communicate.control_server import ControlServer
from stretto.communicate.membership import Membership, Patience
from stretto.communicate.messages import Assignment
from stretto.errors import JobError
from stretto.job import Choice, Plan, make
from stretto.launch import ENGINES
from stretto.launch.engine import Engine
from stretto.launch.environment import seat_environment
from stretto.launch.supervisor import Supervisor
from stretto.observe.sink import Sink
from stretto.roles.coordinator import Coordinator
from stretto.run.errand import Errand

PRELOAD: Final = ("torch", "torch._dynamo", "torch.nn.parallel", "torch.distributed.optim", "stretto.run.worker")
CTRL_C: Final = "Ctrl-C"


def launch(plan: Plan, errand: Errand, sinks: Sequence[Sink] = ()) -> dict[str, Any]:
    """Run all seats to the end and return what the first one answers; Ctrl-C and SIGTERM make them save and leave.

    Raises `SeatFailed`, `WorkersLost` or `Interrupted`; no process, thread or port is left, however it ends.
    """
    job, slots = plan.job, len(plan.seats)
    engine = _make_engine(job.engine, errand.objects)
    coordinator = Coordinator(
        server=ControlServer(secrets.token_bytes(32), engine.advertise()),
        engine=engine,
        supervisor=Supervisor(slots=slots, restarts=job.cluster.restarts, abilities=engine.abilities),
        membership=Membership(
            slots=slots,
            trainers=plan.workers,
            restarts=job.cluster.restarts,
            patience=Patience(silence_s=job.cluster.silence_s),
        ),
        assign=_assigner(plan, errand, secrets.token_hex(8)),
        sinks=sinks,
        preload=() if job.engine.name == "inline" else PRELOAD,
        ledger=errand.ledger,
    )
    with _heeding_signals(coordinator):
        return coordinator.run()


def _make_engine(choice: Choice, objects: Mapping[str, Any]) -> Engine:
    engine: Engine = make("engine", choice, ENGINES, JobError.of, objects=objects)
    return engine


def _assigner(plan: Plan, errand: Errand, run_id: str) -> Callable[[int, int, int], Assignment]:
    def assign(view: int, slot: int, attempt: int) -> Assignment:
        seat = plan.seats[slot]
        rank, size = seat.rank, sum(each.role == seat.role for each in plan.seats)
        environment = seat_environment(
            run_id=run_id, view=view, restarts=plan.job.cluster.restarts, rank=rank, size=size,
            local_rank=seat.local_rank, local_size=size, threads=seat.threads, role=seat.role,
        )  # fmt: skip
        return Assignment(
            run_id=run_id, view=view, attempt=attempt, slot=slot, rank=rank, size=size,
            local_rank=seat.local_rank, local_size=size,
            entry=errand.entry, payload=errand.payload, environment=environment,
            log=str(errand.log(slot)) if errand.log is not None else None,
        )  # fmt: skip

    return assign


@contextmanager
def _heeding_signals(coordinator: Coordinator) -> Iterator[None]:
    """Turn Ctrl-C and SIGTERM into interruptions while the body runs; only a main thread can be sent signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        coordinator.interrupt(CTRL_C if number == signal.SIGINT else signal.Signals(number).name)

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
