"""What every worker does: call the entry, and tell how it ended."""

from __future__ import annotations

import subprocess
import sys

import pytest

from stretto.communicate.messages import Assignment
from stretto.errors import PeerLost
from stretto.launch.worker import carry_out, find_entry


class Line:
    """A control client that remembers what was said on it."""

    def __init__(self, gone=False):
        self.results, self.failures, self.gone = [], [], gone

    def done(self, result):
        self.results.append(result)

    def failed(self, failure):
        if self.gone:
            raise PeerLost("the coordinator has gone")
        self.failures.append(failure)


def greet(assignment, client, objects):
    return {"rank": assignment.rank, "objects": objects}


def stumble(assignment, client, objects):
    raise ValueError("I fell")


def quit_politely(assignment, client, objects):
    sys.exit(0)


def assigned(entry, **more):
    entry = f"{__name__}:{entry}"
    return Assignment(run_id="r", view=1, slot=0, rank=2, size=3, entry=entry, **more)


def test_the_entrys_result_is_success():
    line = Line()
    assert carry_out(assigned("greet"), line, {"a": 1}) == 0
    assert line.results == [{"rank": 2, "objects": {"a": 1}}]


def test_an_exception_is_told_with_its_traceback():
    line = Line()
    assert carry_out(assigned("stumble"), line, {}) == 1
    assert line.failures[0].trace.endswith("ValueError: I fell\n")


def test_leaving_by_sys_exit_is_told_too():
    line = Line()
    assert carry_out(assigned("quit_politely"), line, {}) == 1
    assert line.failures[0].words.startswith("SystemExit: 0")


def test_an_entry_that_does_not_exist_is_told_too():
    line = Line()
    assert carry_out(assigned("nowhere"), line, {}) == 1
    assert "nowhere" in line.failures[0].words


def test_nobody_to_tell_is_no_further_error():
    assert carry_out(assigned("stumble"), Line(gone=True), {}) == 1


def test_with_a_log_the_traceback_is_written_there_too(capsys):
    carry_out(assigned("stumble", log="somewhere"), Line(), {})
    assert "ValueError: I fell" in capsys.readouterr().out


def test_an_entry_is_found_by_its_name():
    assert find_entry(f"{__name__}:greet") is greet


def test_a_missing_module_is_an_import_error():
    with pytest.raises(ModuleNotFoundError):
        find_entry("no_such_module:work")


def test_the_launch_layer_loads_neither_torch_nor_numpy():
    modules = "agent, engine, environment, inline, local, slot, supervisor"
    code = f"import sys; from stretto.launch import {modules}; sys.exit(bool({{'torch', 'numpy'}} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
