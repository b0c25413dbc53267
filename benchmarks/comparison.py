"""Ours and a peer's, measured in alternating order: medians, spread, and whether the goal is reached."""

from __future__ import annotations

import argparse
import json
import operator
import statistics
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure: ours beside the peer's, and the goal: `ratio <= 1.03`, `ours >= 3`, or none."""

    name: str
    unit: str
    ours: list[float]
    peer: list[float]
    goal: str = ""

    def values(self) -> dict[str, object]:
        """The figure as the JSON line has it; the ratio is the median of neighbouring rounds', whose noise cancels."""
        ratios = [a / b for a, b in zip(self.ours, self.peer, strict=True)] if self.peer else []
        found: dict[str, object] = {
            "ours": statistics.median(self.ours),
            "peer": statistics.median(self.peer) if self.peer else None,
            "ratio": statistics.median(ratios) if self.peer else None,
            "spread": spread(self.ours),
            "goal": self.goal or None,
        }
        return found | {"reached": self._reached(found) if self.goal else None}

    def _reached(self, found: dict[str, object]) -> bool:
        word, sign, limit = self.goal.split()
        return {"<=": operator.le, ">=": operator.ge}[sign](found[word], float(limit))

    def row(self) -> str:
        """The figure as a person reads it."""
        values = self.values()
        ours = f"{values['ours']:10.4g} ±{values['spread']:4.0%}"
        peer = f"{values['peer']:10.4g} ±{spread(self.peer):4.0%}" if self.peer else ""
        ratio = f"{values['ratio']:.3f}" if self.peer else ""
        reached = {True: "reached", False: "NOT reached", None: ""}[values["reached"]]
        return f"{self.name:24} {ours} {peer:>16} {ratio:>8}  {self.unit:10} {self.goal:14} {reached}".rstrip()


def spread(values: list[float]) -> float:
    """Half the range between the quartiles, as a share of the median."""
    if len(values) < 2:
        return 0.0
    quarters = statistics.quantiles(values, n=4)
    return (quarters[2] - quarters[0]) / 2 / statistics.median(values)


def alternate(rounds: int, ours: Callable[[], float], peer: Callable[[], float]) -> tuple[list[float], list[float]]:
    """Measure both in every round, the first one in turn."""
    found: dict[bool, list[float]] = {True: [], False: []}
    for number in range(rounds):
        for mine in (True, False) if number % 2 == 0 else (False, True):
            found[mine].append(ours() if mine else peer())
    return found[True], found[False]


def arguments(description: str, rounds: int) -> argparse.Namespace:
    """What every benchmark can be told."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rounds", type=int, default=rounds, help="measurements of each")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    return parser.parse_args()


def show(figures: list[Figure], as_json: bool) -> None:
    """Print the table, and the line of JSON if it is wanted."""
    print(f"{'':24} {'ours':>16} {'peer':>16} {'ratio':>8}")
    for figure in figures:
        print(figure.row())
    if as_json:
        print(json.dumps({figure.name: figure.values() for figure in figures}))
