"""Nothing is ever pickled or unpickled: a checkpoint or a peer cannot run a program."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest
import torch
from story_world import write_job

import stretto
from stretto.observe.callback import Callback

SOURCE = Path(stretto.__file__).parent
FORBIDDEN = re.compile(
    r"\bimport (pickle|shelve|marshal|dill|cloudpickle|joblib|multiprocessing)\b"
    r"|\bfrom (pickle|shelve|marshal|dill|cloudpickle|joblib|multiprocessing)\b"
    r"|\btorch\.(save|load)\(|\bpickle\.\w|_object(_list)?\(|allow_pickle=True|yaml\.(unsafe_|full_)?load\("
)


def test_no_line_of_the_source_pickles():
    lines = [
        f"{path.relative_to(SOURCE)}:{number}: {line.strip()}"
        for path in SOURCE.rglob("*.py")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if FORBIDDEN.search(line) and not line.lstrip().startswith("'")  # a command that is shown to a person
    ]
    assert lines == []


@pytest.mark.parametrize("engine", ["inline", "local"])
def test_a_run_and_its_resumption_pickle_nothing(engine, tmp_path, monkeypatch):
    """The processes of the engine local are forked from this one, so what is forbidden here is forbidden there."""

    def refuse(*_args, **_kwargs):
        raise AssertionError("something was pickled")

    for place, name in [
        (pickle, "loads"),
        (pickle, "load"),
        (pickle, "dumps"),
        (pickle, "dump"),
        (pickle, "Unpickler"),
    ]:
        monkeypatch.setattr(place, name, refuse)
    monkeypatch.setattr(torch, "load", refuse)
    monkeypatch.setattr(torch, "save", refuse)
    changes = ["callbacks=[]", f"engine={engine}", f"run.folder={tmp_path}", "run.name=plain", "training.until=20step"]
    live = {"callbacks": [Callback()]}
    assert stretto.train(stretto.read_job(write_job(tmp_path), changes), quiet=True, objects=live).steps == 20
    assert stretto.resume(tmp_path / "plain", ["training.until=30step"], quiet=True, objects=live).steps == 30
