"""The command line from the first check to the last evaluation, as a person meets it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from story_world import CommandLine, begun, events, write_job

from stretto.cli import stretto as commands

JOB = """
model: {name: mlp, width: 32}
data: digits
task: classification
training: {batch: 64, lr: 0.1, optimizer: {name: SGD, momentum: 0.9}, until: 2ep}
"""
INLINE = ("engine=inline", "observe.progress=plain")
PLACE = re.compile(r"^broken\.yaml:\d+: ")


@pytest.fixture
def tell(capsys):
    return CommandLine(capsys)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working folder with a job."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    write_job(tmp_path, JOB)
    return tmp_path


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder in which the installed command has trained one run with two workers; and what was on the screen."""
    folder = tmp_path_factory.mktemp("trained")
    write_job(folder, JOB)
    words = ["train", "job.yaml", "cluster.workers=2", "run.name=first", 'callbacks=["held:Held"]']
    command = [str(Path(sys.executable).parent / "stretto"), *words]
    return folder, subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)


def test_check_tells_what_would_be_run(tell, here):
    told = tell("check", "job.yaml", "cluster.workers=2", "training.batch=50")
    assert (told.code, told.err) == (0, "")
    assert "2 workers" in told.out
    assert "25 on each" in told.out
    assert tell("check", "job.yaml", "--json").json()["problems"] == []
    assert not (here / "runs").exists()


def test_a_module_that_is_not_there_is_missed_before_anything_starts_and_none_is_imported(tell, here):
    (here / "there.py").write_text("raise RuntimeError('imported')")
    words = ("model=nowhere.nets:Net", "task=there:loss", 'callbacks=["held:Held", "gone:Away"]')
    words += ("loading.order=lost:Order", 'loading.transform=[flip, "far:Off"]')
    told = tell("train", "job.yaml", *words)
    assert (told.code, told.out) == (2, "")
    missing = [("model", "nowhere"), ("loading.order", "lost"), ("loading.transform.1", "far"), ("callbacks.1", "gone")]
    remedy = "start where it can be imported"
    assert told.err.splitlines() == [f'stretto: {key}: there is no module "{name}"; {remedy}' for key, name in missing]
    assert not (here / "runs").exists()


def test_a_broken_job_is_refused_with_every_problem_at_its_line(tell, here):
    (here / "broken.yaml").write_text(
        "model: resnt\ndata: digits\ntask: clasification\ntraining:\n  lr: fast\n  lr: 1\n"
    )
    for command in ("check", "train"):
        told = tell(command, "broken.yaml")
        assert (told.code, told.out) == (2, "")
        assert len(told.err.splitlines()) == 4
        assert all(PLACE.match(line) for line in told.err.splitlines()), told.err
    problems = tell("check", "broken.yaml", "--json")
    assert problems.code == 2
    assert [problem["line"] for problem in problems.json()["problems"]] == [1, 3, 5, 6]
    assert not (here / "runs").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("train", "nothing.yaml"), "nothing.yaml: cannot be read: No such file or directory"),
        (("train", "job.yaml", "training.lr=fast"), 'training.lr=fast: must be a number, not "fast"'),
        (("train", "job.yaml", "cluster.workers=100"), "training.batch"),
        (("train", "job.yaml", "engine=locl"), 'did you mean "local"?'),
        (("resume", "runs/nothing"), "runs/nothing holds no run: there is no runs/nothing/job.yaml"),
        (("evaluate", "runs/nothing"), "runs/nothing holds no run: there is no runs/nothing/job.yaml"),
        (("run", "nothing.py"), "there is no script nothing.py"),
        (("run", "job.yaml", "--workers", "none"), "--workers none is no number of processes"),
        (("runs", "compare", "runs/nothing"), "'runs/nothing' does not exist"),
        (("frain",), "Did you mean 'train'?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_mistake_is_told_in_words_and_the_exit_code_is_2(words, said, tell, here):
    told = tell(*words)
    assert (told.code, told.out) == (2, "")
    assert said in told.err
    assert "Traceback" not in told.err
    assert not (here / "runs").exists()


def test_a_run_leaves_its_result_on_standard_output_and_its_progress_beside_it(trained):
    folder, done = trained
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("finished after 46 steps (2 epochs")
    assert "best         loss" in done.stdout
    assert "run folder   runs/first" in done.stdout
    assert "validation loss" in done.stderr
    assert "finished: the budget is used up" in done.stderr
    assert {path.name for path in (folder / "runs" / "first").iterdir()} == {
        "job.yaml", "plan.json", "events.jsonl", "ledger.sqlite", "result.json", "checkpoints", "model", "logs",
    }  # fmt: skip


def test_a_name_that_is_taken_is_refused(trained, tell, monkeypatch):
    folder, _ = trained
    monkeypatch.chdir(folder)
    told = tell("train", "job.yaml", "run.name=first")
    assert told.code == 2
    assert "runs/first is there already; choose another run.name, or go on with it: stretto resume" in told.err


def test_a_finished_run_is_listed_judged_resumed_and_compared(trained, tell, monkeypatch):
    folder, _ = trained
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    listed = tell("runs", "list")
    assert listed.lines[0].split()[:4] == ["run", "status", "model", "data"]
    assert listed.lines[1].split()[:4] == ["first", "finished", "mlp", "digits"]

    first = json.loads((folder / "runs" / "first" / "result.json").read_text())
    last = tell("evaluate", "runs/first", "--checkpoint", "last", "--json").json()
    assert last == pytest.approx(first["metrics"], rel=1e-5)
    best = tell("evaluate", "runs/first", "--json").json()
    assert best["loss"] == pytest.approx(first["best"]["value"], rel=1e-5)
    assert tell("evaluate", "runs/first", "--checkpoint", "46", "--json").json() == last
    assert re.match(r"loss +\d\.\d+\naccuracy +0\.\d+\n$", tell("evaluate", "runs/first").out)
    for unknown in ("47", "newest"):
        told = tell("evaluate", "runs/first", "--checkpoint", unknown)
        assert (told.code, told.out) == (5, "")
        assert f'checkpoint "{unknown}" is not there; choose best, last, or one of: ' in told.err

    resumed = tell("resume", "runs/first", "training.until=3ep", "cluster.workers=1", *INLINE, "--json")
    assert resumed.code == 0, resumed.err
    assert (resumed.json()["steps"], resumed.json()["workers"]) == (69, 1)
    started = events(folder / "runs" / "first", "training_started")
    assert [event.values["resumed_step"] for event in started] == [None, 46]

    other = tell("train", "job.yaml", "run.name=second", "training.lr=0.05", *INLINE, "--json")
    assert other.json()["folder"] == "runs/second"
    compared = tell("runs", "compare", "runs/first", "runs/second")
    assert ["training.lr", "0.1000", "0.05000"] in [line.split() for line in compared.lines]
    assert len(tell("runs", "compare", "runs/first", "runs/second", "--json").json()) == 2
    assert [run["name"] for run in tell("runs", "list", "--json").json()] == ["first", "second"]


def test_a_run_without_any_checkpoint_cannot_be_judged(tell, here):
    run = here / "runs" / "empty"
    run.mkdir(parents=True)
    (run / "job.yaml").write_text(JOB)
    for which in ("best", "last", "7"):
        assert tell("evaluate", run, "--checkpoint", which).code == 5


def test_no_runs_are_no_mistake(tell, here):
    assert tell("runs", "list").out == "no runs\n"
    assert tell("runs", "list", "--json").json() == []


def test_data_that_is_not_there_is_told_with_the_remedy_and_without_a_traceback(tell, here):
    told = tell("train", "job.yaml", "data={name: fashion_mnist, folder: /nowhere}", *INLINE)
    assert (told.code, told.out) == (2, "")
    assert "/nowhere/train-images-idx3-ubyte.gz does not exist; install" in told.err.splitlines()[-1]
    assert "Traceback" not in told.err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("model=mine_is_nowhere:Net", 'there is no module "mine_is_nowhere"'),
        ("model.depth=-1", "model.depth is 0 or more"),
        ("model.witdh=3", 'did you mean "width"?'),
        ("training.optimizer.momentun=0.9", "momentun"),
        ('callbacks=["held:Helt"]', 'has no "Helt"'),
        ("validation.metrics=[F1Scor]", 'did you mean "F1Score"?'),
    ],
)
def test_what_only_a_worker_finds_wrong_with_a_job_is_a_mistake_all_the_same(change, said, tell, here):
    told = tell("train", "job.yaml", change, *INLINE)
    assert (told.code, told.out) == (2, "")
    assert said in told.err.splitlines()[-1]
    assert "Traceback" not in told.err


@pytest.mark.parametrize(
    ("package", "change", "extra"),
    [
        ("tensorboardX", "observe.tensorboard=true", "track"),
        ("torchmetrics", "validation.metrics=[F1Score]", "metrics"),
    ],
)
def test_a_missing_extra_names_the_command_that_installs_it(package, change, extra, tell, here, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    told = tell("train", "job.yaml", change, *INLINE)
    assert (told.code, told.out) == (2, "")
    assert told.err.splitlines()[-1].endswith(f'{package} is not installed; run: pip install "stretto[{extra}]"')


def test_code_of_a_persons_own_that_fails_shows_its_traceback_last(tell, here):
    (here / "mine_fails.py").write_text("def loss(outputs, targets):\n    return outputs.nothing\n")
    told = tell("train", "job.yaml", "task=mine_fails:loss", *INLINE)
    assert (told.code, told.out) == (3, "")
    assert (
        "stretto: worker 0 failed: user's code: AttributeError: 'Tensor' object has no attribute 'nothing'" in told.err
    )
    assert "mine_fails.py:2)" in told.err
    assert told.err.splitlines()[-1] == "AttributeError: 'Tensor' object has no attribute 'nothing'"


def test_the_program_reads_nothing_but_json(tell, here):
    told = tell("train", "job.yaml", "training.until=1ep", "engine=inline", "--json")
    assert told.json()["status"] == "finished"
    assert told.err == ""
    assert json.loads(tell("schema").out)["properties"].keys() >= {"model", "data", "training"}


def every_command(group=commands, before=()):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from every_command(command, (*before, name))
        else:
            yield (*before, name)


@pytest.mark.parametrize("words", list(every_command()), ids=" ".join)
def test_the_help_of_every_command_shows_an_example(words, tell):
    told = tell(*words, "--help")
    assert told.code == 0
    assert re.search(rf"Example:\n  .*\bstretto {' '.join(words)}\b", told.out)


def test_help_tells_every_command_and_what_the_exit_codes_mean(tell):
    told = tell("--help")
    assert {line.split()[0] for line in told.out.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()} == {
        "train", "check", "resume", "evaluate", "ledger", "run", "runs", "schema", "completion",
    }  # fmt: skip
    assert all(f" {code} " in told.out for code in (0, 1, 2, 3, 4, 5, 130))
    assert "..." not in told.out.partition("Commands:\n")[2]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_for_the_shell(shell, tell):
    told = tell("completion", shell)
    assert told.code == 0
    assert f"_STRETTO_COMPLETE={shell}_complete" in told.out


def test_python_dash_m_is_the_command_line(tmp_path):
    with begun(tmp_path, "--version") as command:
        assert command.wait() == 0
        assert re.fullmatch(r"stretto, version \d+\.\d+\.\d+\n", command.out)
