"""What the default installation brings along."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, requires

from packaging.requirements import Requirement

LARGEST = 25
OF_THE_GPU = re.compile(r"(nvidia|cuda|triton)\b")  # torch's own runtime, in its builds for GPUs


def closure(package: str) -> set[str]:
    """All packages that installing one without extras brings along, itself left out."""
    found: set[str] = set()
    waiting = [package]
    while waiting:
        for text in _requirements(waiting.pop()):
            requirement = Requirement(text)
            name = requirement.name.lower().replace("_", "-")
            wanted = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
            if wanted and name not in found and not OF_THE_GPU.match(name):
                found.add(name)
                waiting.append(name)
    return found


def _requirements(package: str) -> list[str]:
    try:
        return requires(package) or []
    except PackageNotFoundError:  # wanted on another system or version only
        return []


def test_the_default_installation_is_small():
    packages = closure("stretto")
    assert {"torch", "numpy", "click", "pydantic"} <= packages
    assert len(packages) <= LARGEST, sorted(packages)
    assert not {"scikit-learn", "torchmetrics", "tensorboardx", "ray", "pandas"} & packages
