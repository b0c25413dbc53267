"""Runs of the launch layer without training: small entries for workers, and a watch that reads what happens."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from stretto.communicate.control_client import ControlClient
from stretto.communicate.control_server import ControlServer
from stretto.communicate.membership import Membership, Patience
from stretto.communicate.messages import Assignment, StopTraining
from stretto.launch.engine import Engine
from stretto.launch.supervisor import Supervisor
from stretto.observe.event import Event
from stretto.roles.coordinator import Coordinator


def finish(assignment: Assignment, client: ControlClient, objects: Mapping[str, Any]) -> dict[str, Any]:
    """Be ready, and done."""
    client.ready()
    answer = objects.get("answer")
    return {"rank": assignment.rank, "view": assignment.view, "answer": answer, "seen": os.environ.get("STRETTO_TEST")}


def stay(assignment: Assignment, client: ControlClient, objects: Mapping[str, Any]) -> dict[str, Any]:
    """Stay until asked to stop; from view `finish_in_view` on be done at once."""
    told = json.loads(assignment.payload or "{}")
    announce(assignment, client)
    if assignment.view >= told.get("finish_in_view", 1000):
        return {"view": assignment.view, "stopped": None}
    while True:
        for message in client.pushed():
            if isinstance(message, StopTraining):
                return {"view": assignment.view, "stopped": message.reason}
        time.sleep(0.005)


def stubborn(assignment: Assignment, client: ControlClient, objects: Mapping[str, Any]) -> dict[str, Any]:
    """Never stop by oneself."""
    announce(assignment, client)
    while True:
        time.sleep(0.01)
        client.pushed()


def break_down(assignment: Assignment, client: ControlClient, objects: Mapping[str, Any]) -> dict[str, Any]:
    """Rank 1 makes a mistake; the others notice its end only as a lost connection, some at once, some never."""
    announce(assignment, client)
    if assignment.rank == 1:
        raise ZeroDivisionError("a mistake in the model")
    if assignment.rank == 2:
        raise RuntimeError("Connection closed by peer [127.0.0.1]:1234")
    return stubborn(assignment, client, objects)


def boast(assignment: Assignment, client: ControlClient, objects: Mapping[str, Any]) -> dict[str, Any]:
    """Return more than a message can hold."""
    return {"text": "x" * 5_000_000}


def go_silently(assignment: Assignment, client: ControlClient, objects: Mapping[str, Any]) -> dict[str, Any]:
    """End without a word in the first view."""
    announce(assignment, client)
    if assignment.view == 1 and assignment.rank == 0:
        os._exit(0)
    return stay(assignment, client, objects)


def all_reduce(assignment: Assignment, client: ControlClient, objects: Mapping[str, Any]) -> dict[str, Any]:
    """Meet by the rendezvous store and sum ones until the second view has done so too."""
    from datetime import timedelta

    import torch
    import torch.distributed as dist

    from stretto.communicate.rendezvous import rendezvous_store

    patience = timedelta(seconds=30)
    where = {"store": rendezvous_store(client), "rank": assignment.rank, "world_size": assignment.size}
    dist.init_process_group("gloo", timeout=patience, **where)
    total = torch.ones(1)
    dist.all_reduce(total)
    client.ready()
    announce(assignment, client)
    while assignment.view == 1:
        dist.all_reduce(torch.ones(1))
    return {"total": total.item(), "view": assignment.view}


def use_store(assignment: Assignment, client: ControlClient, objects: Mapping[str, Any]) -> dict[str, Any]:
    """Do with the rendezvous store what torch does with one, and with torch's own; tell what either said."""
    import torch.distributed as dist

    from stretto.communicate.rendezvous import rendezvous_store

    return {"ours": exercise(rendezvous_store(client)), "theirs": exercise(dist.HashStore())}


def exercise(store: Any) -> list[Any]:
    """What a store says to each of its methods."""
    from datetime import timedelta

    import torch.distributed as dist

    under = dist.PrefixStore("view", dist.PrefixStore("group", store)).clone()
    said: list[Any] = [under.set("a", "x"), under.get("a"), under.add("n", 2), under.add("n", 3), under.get("n")]
    said += [under.check(["a", "n"]), under.check(["a", "b"]), under.wait(["a"]), under.num_keys()]
    said += [under.compare_set("c", "", "1"), under.compare_set("c", "2", "3"), under.compare_set("c", "1", "3")]
    said += [under.delete_key("a"), under.delete_key("a"), under.check(["a"])]
    store.set_timeout(timedelta(seconds=0.05))
    for ask in (lambda: under.get("b"), lambda: under.wait(["b"], timedelta(seconds=0.05))):
        try:
            said.append(ask())
        except dist.DistError:
            said.append("too late")
    return [each.decode() if isinstance(each, bytes) else each for each in said]


def compute(assignment: Assignment, client: ControlClient, objects: Mapping[str, Any]) -> dict[str, Any]:
    """Compute forward and backward with two threads, on an object of the launching process."""
    import torch

    torch.set_num_threads(2)
    loss = (objects["matrix"] @ torch.ones(1000, 1000)).exp().sum()
    loss.backward()
    return {"shape": list(objects["matrix"].grad.shape)}


def announce(assignment: Assignment, client: ControlClient) -> None:
    """Tell the launching process who this worker is."""
    values = {"view": assignment.view, "pid": os.getpid(), "agent": os.getppid()}
    client.report(Event(kind="progress", seat=assignment.rank, values=values))


class Watch:
    """A sink that remembers all events and, once every worker of a view has announced itself, calls `when_all`."""

    def __init__(self, slots: int, when_all: Callable[[Watch, int], None] | None = None) -> None:
        self.events: list[Event] = []
        self.complete_s: dict[int, float] = {}
        self.coordinator: Coordinator | None = None
        self._slots = slots
        self._when_all = when_all

    def write(self, event: Event) -> None:
        self.events.append(event)
        if event.kind != "progress":
            return
        view = event.values["view"]
        if len(self.of(view)) == self._slots and view not in self.complete_s:
            self.complete_s[view] = time.monotonic()
            if self._when_all is not None:
                self._when_all(self, view)

    def close(self) -> None:
        pass

    def of(self, view: int) -> list[Event]:
        return [each for each in self.events if each.kind == "progress" and each.values["view"] == view]

    def pid(self, view: int, rank: int, who: str = "pid") -> int:
        return next(each.values[who] for each in self.of(view) if each.seat == rank)

    def pids(self) -> set[int]:
        every = [each.values for each in self.events if each.kind == "progress"]
        return {values[who] for values in every for who in ("pid", "agent")} - {os.getpid(), os.getppid()}

    def kinds(self) -> list[str]:
        return [each.kind for each in self.events]

    def values(self, kind: str) -> list[dict[str, Any]]:
        return [each.values for each in self.events if each.kind == kind]


def kill(view: int, rank: int, who: str = "pid", number: int = signal.SIGKILL) -> Callable[[Watch, int], None]:
    """For a watch: send a signal to a worker, or its agent, once all of this view have announced themselves."""

    def act(watch: Watch, complete: int) -> None:
        if complete == view:
            os.kill(watch.pid(view, rank, who), number)

    return act


def launch(
    engine: Engine,
    entry: str,
    watch: Watch,
    *,
    slots: int = 4,
    trainers: int | None = None,
    restarts: int = 3,
    payload: Mapping[str, Any] | None = None,
    preload: tuple[str, ...] = (),
    patience: Patience | None = None,
    log: str | None = None,
) -> dict[str, Any]:
    """Run one of the entries above in so many slots, and check that nothing is left of the run."""
    server = ControlServer(secrets.token_bytes(32), engine.advertise())
    address = server.address

    def assign(view: int, slot: int, attempt: int) -> Assignment:
        return Assignment(
            run_id="test",
            view=view,
            attempt=attempt,
            slot=slot,
            rank=slot,
            size=trainers or slots,
            entry=f"launch_world:{entry}",
            payload=json.dumps(dict(payload or {})),
            environment={"STRETTO_TEST": str(slot)},
            log=log,
        )

    coordinator = Coordinator(
        server=server,
        engine=engine,
        supervisor=Supervisor(slots=slots, restarts=restarts, abilities=engine.abilities),
        membership=Membership(slots=slots, trainers=trainers, restarts=restarts, patience=patience),
        assign=assign,
        sinks=[watch],
        preload=preload,
    )
    watch.coordinator = coordinator
    try:
        return coordinator.run()
    finally:
        check_nothing_left(watch, address)


def check_nothing_left(watch: Watch, address: tuple[str, int]) -> None:
    """No process of the run, nobody listening, no thread."""
    assert wait_until(lambda: not any(is_alive(pid) for pid in watch.pids()), 5.0), "a process was left"
    with socket.socket() as probe:
        assert probe.connect_ex(address) != 0, "the port was left open"
    assert wait_until(lambda: not stretto_threads(), 5.0), f"threads were left: {stretto_threads()}"


def stretto_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("stretto-")]


def is_alive(pid: int) -> bool:
    """Whether a process exists and is not a zombie that waits for its parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(true: Callable[[], bool], timeout_s: float) -> bool:
    deadline_s = time.monotonic() + timeout_s
    while not true():
        if time.monotonic() > deadline_s:
            return False
        time.sleep(0.01)
    return True
