"""What importing costs: the command line answers, and an agent is ready to fork, without torch."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from importlib import import_module

import stretto

WHOLE = ("stretto.job", "stretto.plan", "stretto.launch", "stretto.observe")
MACHINES = (
    "stretto.communicate.membership",
    "stretto.communicate.control_server",
    "stretto.communicate.control_client",
    "stretto.communicate.rendezvous",
    "stretto.data.ledger",
    "stretto.data.order",
    "stretto.data.split",
    "stretto.checkpoint.manifest",
    "stretto.checkpoint.gathering",
    "stretto.checkpoint.retention",
    "stretto.roles.coordinator",
    "stretto.run.launching",
    "stretto.run.training",
    "stretto.run.script",
    "stretto.cli",
)

PROGRAM = """
import sys
from importlib import import_module
for name in sys.argv[1:]:
    import_module(name)
    if "torch" in sys.modules:
        raise SystemExit(f"{name} loads torch")
"""


def modules_of(package: str) -> list[str]:
    found = pkgutil.walk_packages(import_module(package).__path__, f"{package}.")
    return [package, *(module.name for module in found)]


def test_nothing_that_decides_launches_or_watches_loads_torch():
    names = ["stretto", *(name for package in WHOLE for name in modules_of(package)), *MACHINES]
    done = subprocess.run([sys.executable, "-c", PROGRAM, *names], capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_public_names_are_about_ten_and_each_is_there_with_its_purpose():
    assert 8 <= len(stretto.__all__) <= 12
    assert dir(stretto) == sorted(stretto.__all__)
    assert [name for name in stretto.__all__ if not getattr(stretto, name).__doc__] == []


def test_every_module_can_be_imported_and_says_what_it_is_for():
    names = [name for name in modules_of("stretto") if not name.endswith(".__main__")]
    assert [name for name in names if not import_module(name).__doc__] == []
