"""Training a job: `train` from the command line, `resume`, and `fit` from a program."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from stretto.errors import Interrupted, JobError, MissingExtra
from stretto.job import Choice, Job, Plan, job_from, read_job
from stretto.observe.event import Event
from stretto.observe.json_lines import JsonLines
from stretto.observe.progress import progress_sink
from stretto.observe.result import Result
from stretto.observe.run_folder import RunFolder
from stretto.observe.sink import Sink
from stretto.observe.sinks import Sinks
from stretto.run.errand import Errand, Work
from stretto.run.launching import launch
from stretto.run.planning import GIVEN, plan_here

if TYPE_CHECKING:
    from torch import nn


def train(job: Job, *, quiet: bool = False, objects: Mapping[str, Any] | None = None) -> Result:
    """Train a job in a new run folder; `quiet` shows no progress."""
    _plan(job)  # what is impossible is said before a folder is made
    name = job.run.name or f"{_plain(job.model)}-{_plain(job.data)}-{datetime.now():%Y%m%d-%H%M%S}"
    folder = RunFolder.make(Path(job.run.folder), name)
    return _train(job, folder, go_on=False, quiet=quiet, objects=objects or {})


def resume(
    run: str | Path,
    overrides: Sequence[str] = (),
    *,
    quiet: bool = False,
    objects: Mapping[str, Any] | None = None,
) -> Result:
    """Go on with the run in a folder from its newest good checkpoint, or from the beginning if there is none."""
    folder = RunFolder.open(Path(run))
    before, job = read_job(folder.job), read_job(folder.job, overrides)
    if not objects and job.model.name.startswith(f"{GIVEN}:"):
        raise JobError.of(f"{run} was started by fit(); go on with it by fit(…, resume={str(run)!r})")
    return _train(job, folder, go_on=True, quiet=quiet, objects=objects or {}, warnings=_reordered(before, job))


def _reordered(before: Job, job: Job) -> list[str]:
    """What to say where the rest of the present epoch will not be what is left of it."""
    keys = ("data", "loading.order", "training.seed")
    changed = [key for key in keys if attrgetter(key)(before) != attrgetter(key)(job)]
    if not changed:
        return []
    fact = f"{' and '.join(changed)} changed, so the rest of the present epoch comes in another order"
    return [f"{fact}: its samples may be used twice or not at all; the ledger counts places"]


def fit(
    model: nn.Module | str | Mapping[str, Any],
    data: Any,
    *,
    task: Any = "classification",
    strategy: str | Mapping[str, Any] = "synchronous",
    engine: str | Mapping[str, Any] = "local",
    workers: int = 1,
    until: str = "3ep",
    batch: int = 64,
    lr: float = 0.001,
    optimizer: str | Mapping[str, Any] = "AdamW",
    callbacks: Sequence[Any] = (),
    resume: str | Path | None = None,
    quiet: bool = False,
    **sections: Mapping[str, Any],
) -> Result:
    """Train a model, given as it is or by a job's words, and return what came of it.

    `data` is a word, a dataset, a pair of datasets, or tensors (inputs, targets); `task` a word or a loss function.
    Every other key of a job can be said by its section, for example `checkpoint={"every": "500step"}`. A model that is
    given as it is has the best weights afterwards. `resume` names the folder of a run to go on with.

    >>> fit(model, (inputs, targets), strategy="synchronous", workers=2, until="3ep")        # doctest: +SKIP
    """
    objects: dict[str, Any] = {"callbacks": list(callbacks)} if callbacks else {}
    values = {
        "model": _given(model, "model", objects),
        "data": _given(data, "data", objects),
        "task": _given(task, "task", objects),
        "strategy": strategy,
        "engine": engine,
        **sections,
        "cluster": {"workers": workers, **sections.get("cluster", {})},
        "training": {
            "until": until, "batch": batch, "lr": lr, "optimizer": optimizer, **sections.get("training", {}),
        },
    }  # fmt: skip
    job = job_from(values)
    if resume is None:
        result = train(job, quiet=quiet, objects=objects)
    else:
        result = _train(job, RunFolder(Path(resume)), go_on=True, quiet=quiet, objects=objects)
    if "model" in objects:
        from stretto.checkpoint.hugging_face import read_hugging_face

        objects["model"].load_state_dict(read_hugging_face(RunFolder(result.folder).model))
    return result


def _train(
    job: Job,
    folder: RunFolder,
    *,
    go_on: bool,
    quiet: bool,
    objects: Mapping[str, Any],
    warnings: Sequence[str] = (),
) -> Result:
    plan = _plan(job)
    folder.write_job(job.to_yaml())
    folder.plan.write_text(plan.to_json() + "\n", encoding="utf-8")
    inline = job.engine.name == "inline"
    work = Work(plan=plan.to_json(), folder=str(folder.path.absolute()), go_on=go_on)
    errand = Errand(
        entry="stretto.run.worker:work",
        payload=msgspec.json.encode(work).decode(),
        objects={**objects, "worlds": _worlds()} if inline else objects,
        log=None if inline else folder.log,
        ledger=folder.ledger,
    )
    sinks = Sinks(_sinks(job, folder, quiet))
    try:
        sinks.write(_started(job, folder))
        for warning in warnings:
            sinks.write(Event(kind="warning", values={"message": warning}))
        values = launch(plan, errand, [sinks])
        result = Result(folder=folder.path, **values)
        folder.write_result(result.values())
        sinks.write(
            Event(
                kind="finished",
                step=result.steps,
                samples=result.samples,
                values={"status": result.status, "reason": result.reason},
            )
        )
    except Interrupted as error:
        remedy = f"go on from the last checkpoint: stretto resume {folder.path}"
        raise Interrupted(f"ended at once, without saving ({error}); {remedy}") from error
    finally:
        sinks.close()
    return result


def _started(job: Job, folder: RunFolder) -> Event:
    facts = {key: getattr(job, key).name for key in ("model", "data", "strategy", "engine")}
    told = {"workers": job.cluster.workers, "until": str(job.training.until), "folder": str(folder.path)}
    return Event(kind="run_started", values=facts | told)


def _plan(job: Job) -> Plan:
    """Plan the job, and miss at once what only this process needs."""
    if job.observe.tensorboard:
        try:
            import_module("tensorboardX")
        except ImportError as error:
            raise MissingExtra("tensorboardX", "track") from error
    return plan_here(job)


def _worlds() -> Any:
    from stretto.communicate.memory import MemoryWorlds

    return MemoryWorlds()


def _sinks(job: Job, folder: RunFolder, quiet: bool) -> Iterator[Sink]:
    yield JsonLines(folder.events)
    if job.observe.tensorboard:
        from stretto.observe.tensorboard import TensorBoard

        yield TensorBoard(folder.tensorboard)
    display = None if quiet else progress_sink(job.observe.progress, sys.stderr)
    if display is not None:
        yield display


def _given(value: Any, key: str, objects: dict[str, Any]) -> Any:
    """A word stays a word; a live thing is kept among the objects, and the job says its class."""
    if isinstance(value, str | Mapping | Choice):
        return value
    objects[key] = value
    name = getattr(value, "__name__", type(value).__name__)
    return f"{GIVEN}:{name if name.isidentifier() else type(value).__name__}"


def _plain(choice: Choice) -> str:
    return choice.name.rpartition(":")[2]
