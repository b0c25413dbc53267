"""What runs have left behind in their folders: listed, and compared."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from stretto.observe.event import Event
from stretto.observe.figures import clock, figure
from stretto.observe.json_lines import read_events
from stretto.observe.run_folder import RunFolder

Rows = list[list[str]]

HEADINGS: Final = ("run", "status", "model", "data", "strategy", "workers", "steps", "time", "samples/s", "metrics")
_RESULTS: Final = ("steps", "epochs", "samples", "seconds", "samples_per_s", "workers", "sent_bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One run as its folder tells it: the job, and the result, or how far the events go when it has none yet."""

    name: str
    folder: Path
    status: str
    started_s: float | None = None
    job: dict[str, Any] = field(default_factory=dict)
    result: dict[str, Any] = field(default_factory=dict)

    @property
    def metrics(self) -> dict[str, float]:
        """The latest validation."""
        return dict(self.result.get("metrics") or {})

    def values(self) -> dict[str, Any]:
        """The record as JSON can hold it."""
        return asdict(self) | {"folder": str(self.folder)}


def read_run(folder: Path) -> RunRecord:
    """Read one run folder; a file that is missing or damaged leaves its part empty."""
    run = RunFolder(folder)
    result = _mapping(run.result)
    events = read_events(run.events)
    first = next(events, None)
    if not result:
        result = _so_far([first, *events] if first else [])
    return RunRecord(
        name=folder.name,
        folder=folder,
        status=str(result.pop("status", "unfinished")),
        started_s=first.time_s if first else None,
        job=_mapping(run.job),
        result=result,
    )


def read_runs(folder: Path) -> list[RunRecord]:
    """Read all runs in a folder, the oldest first; a folder that is not there holds none."""
    folders = [path.parent for path in folder.glob("*/job.yaml")]
    return sorted(map(read_run, folders), key=lambda run: (run.started_s or 0.0, run.name))


def run_rows(runs: Sequence[RunRecord]) -> Rows:
    """The cells of a table with one line per run, under a line of headings; without runs it has no lines at all."""
    return [list(HEADINGS), *map(_line, runs)] if runs else []


def compare_rows(runs: Sequence[RunRecord]) -> Rows:
    """The cells of a table with one column per run: the job's keys that differ, then every figure of the results."""
    jobs = [_flat(run.job) for run in runs]
    keys = sorted({key for job in jobs for key in job})
    differing = [key for key in keys if len({_cell(job.get(key)) for job in jobs}) > 1]
    results = [{**{key: run.result.get(key) for key in _RESULTS}, **run.metrics} for run in runs]
    shown = dict.fromkeys(key for result in results for key, value in result.items() if value is not None)
    return [
        ["run", *(run.name for run in runs)],
        *([key, *(_cell(job.get(key)) for job in jobs)] for key in differing),
        ["status", *(run.status for run in runs)],
        *([key, *(_cell(result.get(key)) for result in results)] for key in shown),
    ]


def _line(run: RunRecord) -> list[str]:
    result = run.result
    seconds = result.get("seconds")
    return [
        run.name,
        run.status,
        _word(run.job.get("model")),
        _word(run.job.get("data")),
        _word(run.job.get("strategy", "synchronous")),
        _cell(result.get("workers") or _flat(run.job).get("cluster.workers", 1)),
        _cell(result.get("steps")),
        "" if seconds is None else clock(seconds),
        _cell(result.get("samples_per_s")),
        "  ".join(f"{name} {_cell(value)}" for name, value in run.metrics.items()),
    ]


def _so_far(events: Sequence[Event]) -> dict[str, Any]:
    """What the events say of a run that has no result: it goes on, or it was killed."""
    result: dict[str, Any] = {"status": "unfinished"}
    for event in events:
        if event.kind == "progress" and not event.seat:
            result |= {"steps": event.step, "samples": event.samples, "epochs": event.epoch}
            result["seconds"] = event.values.get("seconds")
        elif event.kind == "validated":
            result["metrics"] = event.values
        elif event.kind == "failed":
            result["status"] = "failed"
    return result


def _mapping(path: Path) -> dict[str, Any]:
    loaded: Any = None
    with suppress(OSError, ValueError, yaml.YAMLError):
        text = path.read_text(encoding="utf-8")
        loaded = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    return loaded if isinstance(loaded, dict) else {}


def _flat(mapping: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in mapping.items():
        flat |= _flat(value, f"{before}{key}.") if isinstance(value, Mapping) else {f"{before}{key}": value}
    return flat


def _word(choice: Any) -> str:
    return str(choice.get("name", "")) if isinstance(choice, Mapping) else _cell(choice)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return figure(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
