"""When something is due."""

from __future__ import annotations

import pytest

from stretto.job import Budget
from stretto.roles.rhythm import Rhythm


def due_steps(text: str, steps_per_epoch: int, until: int) -> list[int]:
    rhythm = Rhythm.of(Budget.parse(text), steps_per_epoch)
    return [step for step in range(1, until + 1) if rhythm.step_due(step)]


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("1ep", [9, 18]),
        ("5step", [5, 10, 15]),
        ("0.5ep", [5, 9, 14, 18]),
        ("1ep or 5step", [5, 9, 10, 15, 18]),
        ("10min", []),
    ],
)
def test_budgets_become_steps(text: str, due: list[int]) -> None:
    assert due_steps(text, steps_per_epoch=9, until=18) == due


def test_the_first_budget_that_is_reached_ends_a_training() -> None:
    assert Rhythm.of(Budget.parse("3ep or 20step"), 9).end_step == 20
    assert Rhythm.of(Budget.parse("3ep or 40step"), 9).end_step == 27
    assert Rhythm.of(Budget.parse("10min"), 9).end_step is None


def test_seconds_are_due_when_they_are_over() -> None:
    rhythm = Rhythm.of(Budget.parse("1min"), 9)
    assert not rhythm.time_due(59.9)
    assert rhythm.time_due(60.0)
    assert not Rhythm.of(None, 9).time_due(1e9)


def test_no_budget_is_never_due() -> None:
    assert not any(Rhythm.of(None, 9).step_due(step) for step in range(100))
