"""Scripts of one's own on several workers, each with torchrun's variables in its environment."""

from __future__ import annotations

import os
import runpy
import signal
import socket
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from stretto.communicate.control_client import ControlClient
from stretto.communicate.messages import Assignment, StopTraining, StoreSet, StoreWait
from stretto.errors import Interrupted, JobError, PeerLost, Problem
from stretto.job import job_from
from stretto.run.errand import Errand
from stretto.run.launching import CTRL_C, launch
from stretto.run.planning import GIVEN, plan_here

MEETING_S: Final = 300.0
LOOK_S: Final = 0.1


class Script(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker is told: which script, and with which arguments."""

    path: str
    arguments: list[str]


def run_script(path: str, arguments: Sequence[str], workers: int) -> None:
    """Run a script on every worker; raises `SeatFailed` with the traceback of the first one that failed.

    Ctrl-C and SIGTERM reach the scripts as signals; when they have ended because of Ctrl-C, `Interrupted` is raised.
    """
    if not Path(path).is_file():
        raise JobError([Problem(message=f"there is no script {path}")])
    words = {"model": f"{GIVEN}:script", "data": f"{GIVEN}:script", "task": "classification"}
    plan = plan_here(job_from({**words, "cluster": {"workers": workers, "restarts": 0}}))
    script = Script(path=str(Path(path).absolute()), arguments=list(arguments))
    errand = Errand(entry="stretto.run.script:work", payload=msgspec.json.encode(script).decode(), objects={})
    stopped = launch(plan, errand)["stopped"]
    if stopped == CTRL_C:
        raise Interrupted(f"{Path(path).name} was stopped by {stopped}")


def work(assignment: Assignment, client: ControlClient, objects: Mapping[str, Any]) -> dict[str, Any]:
    """Be the script: `__main__`, its arguments, its folder first on the path."""
    import torch

    script = msgspec.json.decode(assignment.payload, type=Script)
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    store = _open_store(assignment, client)
    client.ready()
    stops = _pass_on_stops(client)
    sys.argv = [script.path, *script.arguments]
    sys.path.insert(0, str(Path(script.path).parent))
    try:
        runpy.run_path(script.path, run_name="__main__")
    except SystemExit as end:
        if end.code not in (None, 0):
            raise
    except KeyboardInterrupt:
        if not stops:
            raise
    finally:
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()
        del store
    return {"stopped": next(iter(stops), None)}


def _pass_on_stops(client: ControlClient) -> list[str]:
    """Send this process the signal that the launching one got; the list fills with the reasons."""
    stops: list[str] = []

    def watch() -> None:
        with suppress(PeerLost):
            while not stops:
                stops.extend(message.reason for message in client.pushed() if isinstance(message, StopTraining))
                time.sleep(LOOK_S)
        if stops:
            os.kill(os.getpid(), signal.SIGINT if stops[0] == CTRL_C else signal.SIGTERM)

    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=watch, name="stretto-stops", daemon=True).start()
    return stops


def _open_store(assignment: Assignment, client: ControlClient) -> Any:
    """Let the first worker hold the store that `init_process_group()` looks for, on a port that nobody can take away.

    It listens on loopback only. torch's variable for a store that is there already makes all workers its clients.
    """
    import torch.distributed as dist

    store: Any = None
    if assignment.rank == 0:
        listener = socket.create_server(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        store = dist.TCPStore(  # type: ignore[attr-defined]
            "127.0.0.1",
            port,
            assignment.size,
            is_master=True,
            wait_for_workers=False,
            master_listen_fd=listener.detach(),
        )
        client.request(StoreSet(key="master_port", value=str(port).encode()))
    answer = client.request(StoreWait(keys=("master_port",), timeout_s=MEETING_S), timeout_s=MEETING_S + 10)
    os.environ["MASTER_PORT"] = answer.values[0].decode()
    os.environ["TORCHELASTIC_USE_AGENT_STORE"] = "True"
    return store
