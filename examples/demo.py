"""The demonstration of `make demo`: one worker for a moment, then the whole training with two."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from stretto import read_job, train
from stretto.errors import StrettoError
from stretto.observe.figures import figure
from stretto.observe.result import Result

FASHION = Path("/usr/share/datasets/fashion-mnist")
JOBS = Path(__file__).parent / "jobs"


def main() -> None:
    """Measure one worker, train with two, and say what happened and what to try next."""
    job = JOBS / ("demo.yaml" if FASHION.is_dir() else "digits.yaml")
    print(f"The job: {job.relative_to(Path.cwd()) if job.is_relative_to(Path.cwd()) else job}\n")
    print(job.read_text(encoding="utf-8"))
    print("First one worker alone for a few seconds, to compare with …", flush=True)
    alone = measure_one(job)
    print(f"… {figure(alone.samples_per_s)} samples/s. Now two workers, to the end:\n", flush=True)
    result = train(read_job(job, ["observe.tensorboard=true"]))
    print("\n".join(["", *result.lines()]))
    print(f"  beside one   {result.samples_per_s / alone.samples_per_s:.2f} times the samples/s of one worker")
    print(f"\nNext:\n{next_commands(result)}")


def measure_one(job: Path) -> Result:
    """The same job with one worker, for some seconds, without validation."""
    changes = {
        "cluster.workers": "1",
        "cluster.threads": "1",
        "training.until": "6s",
        "training.schedule": "null",
        "validation.every": "null",
        "stop.target": "{}",
        "stop.patience": "null",
        "checkpoint.every": "null",
    }
    with tempfile.TemporaryDirectory() as folder:
        overrides = [f"{key}={value}" for key, value in changes.items()]
        return train(read_job(job, [*overrides, f"run.folder={folder}"]), quiet=True)


def next_commands(result: Result) -> str:
    """Three commands that go on from here."""
    stretto = Path(sys.executable).with_name("stretto")
    command = stretto.relative_to(Path.cwd()) if stretto.is_relative_to(Path.cwd()) else stretto
    return "\n".join(
        (
            f"  {command} evaluate {result.folder}",
            f"  {command} resume {result.folder} training.until={result.epochs + 3}ep 'stop.target={{}}'",
            f"  {command} runs list",
        )
    )


if __name__ == "__main__":
    try:
        main()
    except StrettoError as error:
        sys.exit(f"{error}")
