"""The folder that holds all a training has left behind; nothing in it depends on where it stands."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stretto.errors import JobError, Problem


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Where each file of a run is.

    >>> RunFolder(Path("runs/first")).checkpoints.as_posix()
    'runs/first/checkpoints'
    """

    path: Path

    @classmethod
    def make(cls, parent: Path, name: str) -> RunFolder:
        """Make a new folder; a name that is taken is an error, so that no run overwrites another."""
        path = parent / name
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            message = f"{path} is there already; choose another run.name, or go on with it: stretto resume {path}"
            raise JobError([Problem(message=message, key="run.name")]) from None
        except OSError as error:
            message = f"{path} cannot be made: {error.strerror}; choose another run.folder"
            raise JobError([Problem(message=message, key="run.folder")]) from None
        return cls(path)

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """Find the folder of a run that was begun before."""
        folder = cls(path)
        if not folder.job.is_file():
            raise JobError.of(f"{path} holds no run: there is no {folder.job}; see: stretto runs list")
        return folder

    @property
    def job(self) -> Path:
        """The job, defaults written out."""
        return self.path / "job.yaml"

    @property
    def plan(self) -> Path:
        """The seats it was last run on."""
        return self.path / "plan.json"

    @property
    def events(self) -> Path:
        """What happened, a line of JSON each."""
        return self.path / "events.jsonl"

    @property
    def result(self) -> Path:
        """What came of it."""
        return self.path / "result.json"

    @property
    def checkpoints(self) -> Path:
        """The states it can go on from."""
        return self.path / "checkpoints"

    @property
    def ledger(self) -> Path:
        """Which worker used which samples in which update."""
        return self.path / "ledger.sqlite"

    @property
    def model(self) -> Path:
        """The best weights, in the Hugging Face layout."""
        return self.path / "model"

    @property
    def tensorboard(self) -> Path:
        """TensorBoard's event files."""
        return self.path / "tensorboard"

    def log(self, seat: int) -> Path:
        """What a seat has printed."""
        return self.path / "logs" / f"seat-{seat}.log"

    def write_job(self, text: str) -> None:
        """Write the job whole or not at all."""
        _write(self.job, text)

    def write_result(self, values: dict[str, Any]) -> None:
        """Write the result whole or not at all."""
        _write(self.result, json.dumps(values, indent=2) + "\n")


def _write(path: Path, text: str) -> None:
    draft = path.with_name(f"{path.name}.draft")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
