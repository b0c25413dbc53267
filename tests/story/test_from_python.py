"""Training from a program: jobs said in Python, live things in place of words, loops and scripts of one's own."""

from __future__ import annotations

import json
import os
import signal
from contextlib import ExitStack
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from story_world import begun, events
from torch import nn

import stretto
from stretto.errors import JobError, SeatFailed

WORDS = {
    "model": {"name": "mlp", "width": 16},
    "data": "digits",
    "batch": 64,
    "lr": 0.1,
    "optimizer": {"name": "SGD", "momentum": 0.9},
    "quiet": True,
}


class Counts(stretto.Callback):
    """Remembers how many updates it has seen, over all resumptions."""

    def __init__(self) -> None:
        self.seen = 0

    def on_train_batch_end(self, training) -> None:
        self.seen += 1

    def on_fit_end(self, training) -> None:
        training.emit(training.event("warning", message=f"seen {self.seen}"))

    def state_dict(self):
        return {"seen": self.seen}

    def load_state_dict(self, state) -> None:
        self.seen = state["seen"]


def smooth(outputs, targets):
    """A loss for every sample."""
    return nn.functional.smooth_l1_loss(outputs, targets, reduction="none").mean(1)


def a_problem():
    generator = torch.Generator().manual_seed(5)
    inputs = torch.randn(300, 6, generator=generator)
    return inputs, inputs @ torch.randn(6, 2, generator=generator)


def test_a_job_can_be_said_in_words(tmp_path):
    result = stretto.fit(**WORDS, engine="inline", until="2ep", run={"folder": str(tmp_path), "name": "words"})
    assert (result.status, result.epochs, result.folder) == ("finished", 2, tmp_path / "words")
    assert result.metrics["accuracy"] > 0.5
    assert load_file(tmp_path / "words" / "model" / "model.safetensors").keys() == {
        f"layers.{number}.{name}" for number in (0, 2, 4) for name in ("weight", "bias")
    }


@pytest.mark.parametrize("engine", ["local", "inline"])
def test_live_things_are_trained_by_two_workers_and_the_model_has_the_best_weights_afterwards(engine, tmp_path):
    model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Dropout(0.1), nn.Linear(16, 2))
    before = model[0].weight.detach().clone()
    run = {"folder": str(tmp_path), "name": "live"}
    said = {"task": smooth, "engine": engine, "workers": 2, "batch": 32, "lr": 0.02, "callbacks": [Counts()]}
    result = stretto.fit(model, a_problem(), **said, until="6ep", quiet=True, run=run)
    best = load_file(tmp_path / "live" / "model" / "model.safetensors")
    assert (result.workers, result.best["metric"]) == (2, "loss")
    assert all(torch.equal(best[name], tensor) for name, tensor in model.state_dict().items())
    assert not torch.equal(before, model[0].weight)
    inputs, targets = a_problem()
    assert smooth(model.eval()(inputs), targets).mean() < 0.5 * smooth(torch.zeros_like(targets), targets).mean()

    again = stretto.fit(
        nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Dropout(0.1), nn.Linear(16, 2)),
        a_problem(),
        **said,
        until="8ep",
        quiet=True,
        resume=tmp_path / "live",
    )
    assert (again.epochs, again.steps) == (8, 8 * result.steps // 6)
    counted = [event.values["message"] for event in events(tmp_path / "live", "warning") if event.seat == 0]
    assert counted == [f"seen {result.steps}", f"seen {again.steps}"]


def test_what_is_wrong_with_a_job_said_in_python_is_said_before_anything_starts(tmp_path):
    with pytest.raises(JobError) as refused:
        stretto.fit(**{**WORDS, "optimizer": {"name": "SGD"}, "batch": 0}, strategy="synchronus", stopp={})
    assert {problem.key for problem in refused.value.problems} == {"stopp", "strategy", "training.batch"}


def test_a_run_with_live_things_is_resumed_by_fit_and_not_by_the_command_line(tmp_path):
    run = {"folder": str(tmp_path), "name": "live"}
    stretto.fit(nn.Linear(6, 2), a_problem(), task="regression", engine="inline", quiet=True, run=run)
    with pytest.raises(JobError, match=r"was started by fit\(\); go on with it by fit\(…, resume="):
        stretto.resume(tmp_path / "live")


def test_an_error_in_a_loss_function_reaches_the_program_with_the_traceback_of_its_seat(tmp_path):
    def broken(outputs, targets):
        raise ArithmeticError("no loss today")

    with pytest.raises(SeatFailed, match="ArithmeticError: no loss today") as failed:
        stretto.fit(
            nn.Linear(6, 2), a_problem(), task=broken, engine="inline", quiet=True, run={"folder": f"{tmp_path}"}
        )
    assert "in broken" in failed.value.trace
    assert failed.value.trace.splitlines()[-1] == "ArithmeticError: no loss today"


OWN_LOOP = """
import json, os, torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
import stretto

torch.manual_seed(0)
generator = torch.Generator().manual_seed(1)
data = TensorDataset(torch.randn(50, 4, generator=generator), torch.randn(50, 1, generator=generator))
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
model, optimizer, loader = stretto.attach(model, optimizer, DataLoader(data, batch_size=8))
seen = 0
for epoch in range(3):
    for inputs, targets in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
        seen += len(inputs)
rank, size = os.environ.get("RANK", "0"), os.environ.get("WORLD_SIZE", "1")
with open(f"own-{size}-{rank}.json", "w") as file:
    json.dump({"seen": seen, "weights": model.weight.flatten().tolist() + model.bias.tolist()}, file)
"""

PLAIN = """
import argparse, os, torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--add", type=int)
parser.add_argument("name")
options = parser.parse_args()
dist.init_process_group()
total = torch.tensor([dist.get_rank() + options.add])
dist.all_reduce(total)
assert __name__ == "__main__"
print(f"{options.name} {total.item()} of {os.environ['WORLD_SIZE']}\\n", end="", flush=True)
dist.destroy_process_group()
"""

RAISING = """
def inner():
    raise KeyError("nothing here")

if __name__ == "__main__":
    inner()
"""


@pytest.mark.timeout(120)
def test_scripts_run_on_several_workers_and_their_ends_are_told(tmp_path):
    """Five scripts at once, because each of them waits for torch most of the time."""
    for name, text in {
        "own": OWN_LOOP,
        "plain": PLAIN,
        "raising": RAISING,
        "leaving": "import sys; sys.exit(3)",
    }.items():
        (tmp_path / f"{name}.py").write_text(text)
    with ExitStack() as stack:
        own, plain, raising, leaving = (
            stack.enter_context(begun(tmp_path, "run", *words))
            for words in (
                ("own.py", "--workers", "2"),
                ("--workers", "2", "plain.py", "--", "--add", "10", "said"),
                ("raising.py",),
                ("leaving.py",),
            )
        )
        assert own.wait() == 0, own.err
        assert plain.wait() == 0, plain.err
        assert plain.out == "said 21 of 2\n" * 2

        assert raising.wait() == 3
        assert raising.err.startswith("stretto: worker 0 failed: user's code: KeyError: 'nothing here'")
        assert 'raising.py", line 3, in inner' in raising.err
        assert raising.err.splitlines()[-1] == "KeyError: 'nothing here'"
        assert raising.out == ""

        assert leaving.wait() == 3
        assert "SystemExit: 3" in leaving.err

    exec(compile(OWN_LOOP.replace("own-", f"{tmp_path}/own-"), "own.py", "exec"), {})
    alone, first, second = (told(tmp_path / f"own-{name}.json") for name in ("1-0", "2-0", "2-1"))
    assert alone["seen"] == first["seen"] + second["seen"] == 150
    assert first["weights"] == second["weights"]
    assert first["weights"] == pytest.approx(alone["weights"], abs=1e-6)


def told(path: Path):
    return json.loads(path.read_text())


WAITING = """
import sys, time
try:
    print("waiting", flush=True)
    time.sleep(600)
finally:
    print("tidied up", flush=True)
"""


def test_ctrl_c_ends_scripts_as_it_would_end_them_alone(tmp_path):
    (tmp_path / "waiting.py").write_text(WAITING)
    with begun(tmp_path, "run", "waiting.py", "--workers", "2") as command:
        command.until(lambda: command.out.count("waiting") == 2)
        os.kill(command.pid, signal.SIGINT)
        assert command.wait() == 130
        assert command.out.count("tidied up") == 2
        assert command.err == "stretto: waiting.py was stopped by Ctrl-C\n"
