"""Judging what a run has learned: `evaluate`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stretto.checkpoint.folder import FolderStore
from stretto.communicate.alone import Alone
from stretto.compute.precision import Precision
from stretto.data.evaluation_loader import EvaluationLoader
from stretto.errors import CheckpointError, JobError
from stretto.evaluate.selection import make_metrics
from stretto.evaluate.validation import Validation
from stretto.job import read_job
from stretto.model.loading import load_model
from stretto.observe.event import Event
from stretto.observe.json_lines import read_events
from stretto.observe.run_folder import RunFolder
from stretto.run.equipment import make_task, open_data, weights_of
from stretto.run.planning import GIVEN, plan_here


def judge(run: str | Path, checkpoint: str, overrides: Sequence[str]) -> dict[str, float]:
    """Validate one checkpoint of a run in this process and return its metrics."""
    folder = RunFolder.open(Path(run))
    job = read_job(folder.job, overrides)
    if job.model.name.startswith(f"{GIVEN}:"):
        raise JobError.of(
            f"{run} was started by fit(); its weights are in {folder.model}, its metrics in {folder.result}"
        )
    store = FolderStore(folder.checkpoints)
    weights = weights_of(store.load(_step(folder, store, checkpoint)))
    device = plan_here(job).seats[0].device
    training_data, validation_data = open_data(job, {}, _nowhere)
    model = load_model(job.model, training_data.facts).to(device)
    model.load_state_dict(weights)
    metrics = make_metrics(job.metrics, Alone())
    validation = Validation(
        EvaluationLoader(validation_data, job.validation.batch, 0, 1), metrics, Alone(), make_task(job, {})
    )
    with Precision(job.training.precision, device.partition(":")[0]).computing():
        return validation.run(model)


def _nowhere(event: Event) -> None:
    """Damaged samples are counted while training; here they are only left out."""


def _step(folder: RunFolder, store: FolderStore, checkpoint: str) -> int | None:
    """The step that a word means; None is the newest good one."""
    if checkpoint == "last":
        return None
    if checkpoint == "best":
        best = [event.step for event in read_events(folder.events) if event.kind == "best"]
        return next((step for step in reversed(best) if step in store.steps()), None)
    if not checkpoint.isdecimal() or int(checkpoint) not in store.steps():
        there = ", ".join(map(str, store.steps())) or "none"
        raise CheckpointError(f'checkpoint "{checkpoint}" is not there; choose best, last, or one of: {there}')
    return int(checkpoint)
