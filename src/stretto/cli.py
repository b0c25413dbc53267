"""The command line: a word here is one call there."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stretto.errors import JobError, SeatFailed, StrettoError

if TYPE_CHECKING:
    from stretto.observe.result import Result

Command = Callable[..., Any]

as_json = click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON, for a program to read.")
overrides = click.argument("overrides", nargs=-1, metavar="[KEY=VALUE]...")
job_file = click.argument("job", type=click.Path(dir_okay=False))
run_folder = click.argument("run", type=click.Path(file_okay=False))

EXIT_CODES = """\b
Exit codes: 0 done · 1 a fault of Stretto · 2 a mistake in the job, the data or the command · 3 the code of a seat
failed · 4 workers lost · 5 no usable checkpoint, or it could not be written · 130 stopped by Ctrl-C."""


def example(text: str) -> str:
    """An epilog that click leaves as it is written."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in text.splitlines())


@click.group(epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(package_name="stretto")
def stretto() -> None:
    """Train any PyTorch model on many processes: one job file for every strategy, layout and engine."""


@stretto.command(epilog=example("stretto train job.yaml training.lr=0.1 cluster.workers=2"))
@job_file
@overrides
@as_json
def train(job: str, overrides: Sequence[str], as_json: bool) -> None:
    """Train what a job file describes.

    KEY=VALUE changes single keys of it.
    """
    from stretto.job import read_job
    from stretto.run.training import train as run

    _finish(run(read_job(job, overrides), quiet=as_json), as_json)


@stretto.command(epilog=example("stretto resume runs/resnet-digits-20260102-030405 training.until=20ep"))
@run_folder
@overrides
@as_json
def resume(run: str, overrides: Sequence[str], as_json: bool) -> None:
    """Go on with a run that was stopped or killed.

    It ends as if it never had been; its folder may have been moved.
    """
    from stretto.run.training import resume as go_on

    _finish(go_on(run, overrides, quiet=as_json), as_json)


@stretto.command(epilog=example("stretto check job.yaml cluster.workers=8"))
@job_file
@overrides
@as_json
def check(job: str, overrides: Sequence[str], as_json: bool) -> None:
    """Find every mistake in a job file; tell what would be run."""
    from stretto.job import read_job
    from stretto.plan import explain
    from stretto.run.planning import plan_here

    try:
        lines = explain(plan_here(read_job(job, overrides)))
    except JobError as error:
        if not as_json:
            raise
        click.echo(json.dumps({"problems": list(map(asdict, error.problems)), "plan": []}))
        sys.exit(error.exit_code)
    click.echo(json.dumps({"problems": [], "plan": lines}) if as_json else "\n".join(lines))


@stretto.command(epilog=example("stretto evaluate runs/resnet-digits-20260102-030405"))
@run_folder
@click.option("--checkpoint", default="best", show_default=True, help="best, last, or the number of a step.")
@overrides
@as_json
def evaluate(run: str, checkpoint: str, overrides: Sequence[str], as_json: bool) -> None:
    """Validate a checkpoint of a run.

    This is done on its own data, or on other data (data.KEY=VALUE).
    """
    from stretto.run.judging import judge

    metrics = judge(run, checkpoint, overrides)
    click.echo(
        json.dumps(metrics) if as_json else "\n".join(f"{name:12} {value:.6g}" for name, value in metrics.items())
    )


@stretto.command(epilog=example("stretto ledger runs/resnet-digits-20260102-030405"))
@run_folder
@as_json
def ledger(run: str, as_json: bool) -> None:
    """Audit which samples a run has used.

    Every sample must be used exactly once per epoch, whatever was killed; also while the run goes on. The exit code is
    1 where that does not hold.
    """
    from stretto.checkpoint.ledger_file import read_ledger
    from stretto.data.audit import audit, describe
    from stretto.observe.run_folder import RunFolder

    noted = read_ledger(RunFolder.open(Path(run)).ledger)
    found = audit(noted)
    damaged = [{"sample": sample, "words": words} for sample, words in noted.damaged]
    values = {"epochs": [each.values() for each in found], "damaged": damaged}
    click.echo(json.dumps(values) if as_json else "\n".join(describe(noted, found)))
    if not all(each.sound for each in found):
        sys.exit(1)


@stretto.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog=example("stretto run train.py --workers 4 -- --epochs 3"),
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, required=True, metavar="SCRIPT [OPTIONS] [-- ARGUMENTS...]")
@click.option("--workers", default=1, show_default=True, help="How many processes run the script.")
def run(words: Sequence[str], workers: int) -> None:
    """Start a script of one's own on several workers.

    Each has torchrun's variables in its environment. --workers may also stand behind the script.
    """
    from stretto.run.script import run_script

    script, workers, arguments = _script_words(words, workers)
    run_script(script, arguments, workers)


@stretto.group()
def runs() -> None:
    """List and compare the runs in a folder."""


@runs.command("list", epilog=example("stretto runs list --folder runs"))
@click.option("--folder", default="runs", show_default=True, type=click.Path(file_okay=False))
@as_json
def list_runs(folder: str, as_json: bool) -> None:
    """One line per run, the newest last."""
    from stretto.observe.runs import read_runs, run_rows

    found = read_runs(Path(folder))
    click.echo(json.dumps([run.values() for run in found]) if as_json else _table(run_rows(found)))


@runs.command(epilog=example("stretto runs compare runs/first runs/second"))
@click.argument("folders", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False))
@as_json
def compare(folders: Sequence[str], as_json: bool) -> None:
    """What differs between the jobs of some runs, and what came of it, side by side."""
    from stretto.observe.runs import compare_rows, read_run

    found = [read_run(Path(folder)) for folder in folders]
    click.echo(json.dumps([run.values() for run in found]) if as_json else _table(compare_rows(found)))


@stretto.command(epilog=example("stretto schema > job.schema.json"))
def schema() -> None:
    """Print the JSON schema of job files, for editors."""
    from stretto.job import json_schema

    click.echo(json.dumps(json_schema(), indent=2))


@stretto.command(epilog=example('eval "$(stretto completion bash)"'))
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print what makes a shell complete our words."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is not None:
        click.echo(kind(stretto, {}, "stretto", "_STRETTO_COMPLETE").source())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; a failure becomes one sentence on stderr and an exit code that means something."""
    _look_for_modules_here()
    try:
        stretto.main(arguments, prog_name="stretto", standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except StrettoError as error:
        click.echo(_words(error), err=True)
        sys.exit(error.exit_code)


def _look_for_modules_here() -> None:
    """Let `module:Class` be found in the working folder, as with `python -m stretto`; a command looks beside itself."""
    here = str(Path.cwd())
    if not sys.flags.safe_path and not {"", here} & set(sys.path):
        sys.path.insert(0, here)


def _finish(result: Result, as_json: bool) -> None:
    click.echo(json.dumps(result.values()) if as_json else "\n".join(result.lines()))
    if result.interrupted:
        sys.exit(130)


def _words(error: StrettoError) -> str:
    """The sentence; a place in a file begins its line, as editors expect. A failed seat's own traceback comes last."""
    if isinstance(error, JobError):
        return "\n".join(str(problem) if problem.line else f"stretto: {problem}" for problem in error.problems)
    trace = getattr(error, "trace", "") if error.exit_code == SeatFailed.exit_code else ""
    return f"stretto: {error}\n\n{trace}".rstrip()


def _script_words(words: Sequence[str], workers: int) -> tuple[str, int, list[str]]:
    script, *rest = words
    if len(rest) >= 2 and rest[0] == "--workers":
        if not rest[1].isdecimal() or not int(rest[1]):
            raise click.UsageError(f"--workers {rest[1]} is no number of processes; use 1 or more")
        workers, rest = int(rest[1]), rest[2:]
    return script, workers, rest[1:] if rest[:1] == ["--"] else rest


def _table(rows: list[list[str]]) -> str:
    if not rows:
        return "no runs"
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
