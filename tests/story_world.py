"""The command line as a person uses it: commands begun, watched and ended, jobs that can be held at a step."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from launch_world import is_alive, wait_until
from torch import Tensor

from stretto.checkpoint.folder import FolderStore
from stretto.checkpoint.tree import flatten
from stretto.cli import main
from stretto.job import read_job
from stretto.observe.callback import Callback
from stretto.observe.event import Event
from stretto.observe.json_lines import read_events
from stretto.run.launching import PRELOAD
from stretto.run.training import train

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    for module in PRELOAD:  # so that what is forked from this process need not
        import_module(module)

PATIENCE_S = 60.0
MARK = "STRETTO_TEST_MARK"

JOB = """
model: {name: mlp, width: 24, dropout: 0.3}
data: digits
task: classification
training:
  batch: 32
  lr: 0.05
  optimizer: {name: SGD, momentum: 0.9}
  schedule: CosineAnnealingLR
  average: 0.9
  until: 80step
validation: {every: 40step}
checkpoint: {every: 5step, keep: 3}
cluster: {workers: 2, threads: 1, restarts: 40}
callbacks: ["held:Held"]
"""

CALLBACKS = '''
import time
from pathlib import Path

from stretto.observe.callback import Callback


class Held(Callback):
    """Waits after a step for as long as there is a file that says so, and is slow otherwise."""

    def on_train_batch_end(self, training):
        time.sleep(0.005)
        hold = Path(f"hold-{training.step}")
        if hold.exists():
            Path(f"held-{training.step}-{training.rank}").touch()
        while hold.exists():
            time.sleep(0.005)


class Boom(Callback):
    """Fails on one seat, while the other waits for it."""

    def on_train_batch_start(self, training):
        if training.rank == 1 and training.step == 3:
            raise ValueError("three is not my number")
'''


def write_job(folder: Path, text: str = JOB) -> Path:
    """Write the job and the callbacks it names into a folder."""
    (folder / "held.py").write_text(CALLBACKS)
    path = folder / "job.yaml"
    path.write_text(text)
    return path


class Command:
    """One command of ours, as another process in a session of its own, its screen going into files.

    Whatever it starts carries a mark in its environment, so that `living` also finds what outlived its parent.
    """

    def __init__(self, folder: Path, *words: str) -> None:
        self.mark = f"{MARK}={secrets.token_hex(8)}"
        number = len(list(folder.glob("*.out")))
        self._out, self._err = folder / f"{number}.out", folder / f"{number}.err"
        name, _, value = self.mark.partition("=")
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "stretto", *words],
                cwd=folder,
                env=os.environ | {name: value, "TMPDIR": str(folder)},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        self.pid = self.process.pid

    @property
    def out(self) -> str:
        """What it has printed."""
        return self._out.read_text()

    @property
    def err(self) -> str:
        """What it has said beside that."""
        return self._err.read_text()

    def wait(self) -> int:
        """Its exit code; afterwards nothing of it may live."""
        code = self.process.wait(PATIENCE_S)
        assert wait_until(lambda: not self.living(), 10.0), f"{self.living()} outlived the command"
        return code

    def until(self, true: Any) -> None:
        """Wait for something while the command runs."""
        assert wait_until(lambda: self.process.poll() is not None or true(), PATIENCE_S), self.err
        assert self.process.poll() is None, f"ended with {self.process.returncode}: {self.err}"

    def living(self) -> list[int]:
        """Every process that belongs to the command."""
        return [pid for pid in _processes() if is_alive(pid) and self.mark in _environment(pid)]

    def workers(self) -> list[int]:
        """The workers: the children of its agents."""
        parents = {pid: _parent(pid) for pid in self.living()}
        return sorted(pid for pid, parent in parents.items() if parents.get(parent) == self.pid)

    def end(self) -> None:
        """End all of it."""
        for pid in self.living():
            _kill(pid)
        self.process.wait(PATIENCE_S)


@contextmanager
def begun(folder: Path, *words: str) -> Iterator[Command]:
    """A command that does not outlive the body."""
    command = Command(folder, *words)
    try:
        yield command
    finally:
        command.end()


def hold(folder: Path, step: int) -> None:
    """Let the training wait after this step."""
    (folder / f"hold-{step}").touch()


def is_held(folder: Path, step: int) -> bool:
    """Whether both workers wait there."""
    return all((folder / f"held-{step}-{rank}").exists() for rank in range(2))


def release(folder: Path, step: int) -> None:
    """Let it go on."""
    (folder / f"hold-{step}").unlink()


def kinds(run: Path) -> list[str]:
    """What happened in a run, in order."""
    return [event.kind for event in read_events(run / "events.jsonl")]


def events(run: Path, kind: str) -> list[Event]:
    """The events of one kind."""
    return [event for event in read_events(run / "events.jsonl") if event.kind == kind]


def final_tensors(run: Path) -> dict[str, Tensor]:
    """Every tensor that a run remembers at its end: weights, momentum, averages, random numbers of all seats."""
    loaded = FolderStore(run / "checkpoints").load()
    return {"step": torch.tensor(loaded.step), **flatten(loaded.states)[0]}


def assert_same_bits(run: Path, expected: dict[str, Tensor]) -> None:
    """Compare every tensor of a run with those of an undisturbed one."""
    found = final_tensors(run)
    assert found.keys() == expected.keys()
    assert [name for name, tensor in expected.items() if not torch.equal(tensor, found[name])] == []


def undisturbed(folder: Path) -> dict[str, Tensor]:
    """The final tensors of the job, trained by processes forked from this one."""
    job = read_job(write_job(folder), ["callbacks=[]", f"run.folder={folder}", "run.name=undisturbed"])
    train(job, quiet=True, objects={"callbacks": [Callback()]})
    return final_tensors(folder / "undisturbed")


@dataclass
class Told:
    """What a command said that was run inside this process."""

    code: int
    out: str
    err: str
    lines: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.lines = self.out.splitlines()

    def json(self) -> Any:
        """Its answer; fails if there is anything else on standard output."""
        return json.loads(self.out)


class CommandLine:
    """Runs commands inside this process, where torch is loaded already."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: object) -> Told:
        self._capsys.readouterr()
        code = 0
        try:
            main([str(word) for word in words])
        except SystemExit as end:
            code = int(end.code or 0)
        captured = self._capsys.readouterr()
        return Told(code, captured.out, captured.err)


def _processes() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]


def _environment(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def some_time(seconds: float) -> None:
    """Let a random instant come; only for those who kill, whose instants must not depend on what happens."""
    time.sleep(seconds)
