"""Budgets as people write them."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as some
from pydantic import TypeAdapter, ValidationError

from stretto.job import Budget


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("3ep", Budget(epochs=3)),
        ("0.5ep", Budget(epochs=0.5)),
        ("2000step", Budget(steps=2000)),
        ("10min", Budget(seconds=600)),
        ("1.5h", Budget(seconds=5400)),
        ("30 s", Budget(seconds=30)),
        ("10ep or 5min", Budget(epochs=10, seconds=300)),
        ("2step or 3ep or 1h", Budget(epochs=3, steps=2, seconds=3600)),
    ],
)
def test_a_budget_counts_epochs_steps_or_time(text, budget):
    assert Budget.parse(text) == budget


@pytest.mark.parametrize("text", ["3ep", "0.5ep", "2000step", "10min", "90min", "2h", "45s", "10ep or 5min"])
def test_a_budget_gives_back_the_text_it_was_made_of(text):
    assert str(Budget.parse(text)) == text


@given(
    epochs=some.none() | some.floats(1e-6, 1e9),
    steps=some.none() | some.integers(1, 10**14),
    seconds=some.none() | some.floats(1e-6, 1e9),
)
def test_any_budget_survives_being_written_to_fifteen_digits(epochs, steps, seconds):
    if epochs is None and steps is None and seconds is None:
        steps = 1
    budget = Budget(
        epochs=None if epochs is None else round(epochs, 6) or 1.0,
        steps=steps,
        seconds=None if seconds is None else round(seconds, 3) or 1.0,
    )
    again = Budget.parse(str(budget))
    assert (again.epochs, again.steps) == (budget.epochs, budget.steps)
    assert again.seconds == (None if seconds is None else pytest.approx(budget.seconds, rel=1e-12))


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("3", '"3" is no budget'),
        ("", '"" is no budget'),
        ("soon", '"soon" is no budget'),
        ("-3ep", "is no budget"),
        ("nanep", "is no budget"),
        ("٣ep", "is no budget"),
        ("3ep or", "is no budget"),
        ("0ep", "is nothing"),
        ("1.5step", "cuts a step"),
        ("3ep or 4ep", "gives epochs twice"),
        ("3min or 4h", "gives seconds twice"),
        ("3epochs", 'did you mean "3ep"?'),
        ("20steps", 'did you mean "20step"?'),
        ("5minutes", 'did you mean "5min"?'),
        ("9" * 400 + "ep", "is no budget"),
    ],
)
def test_what_is_no_budget_is_refused_with_the_form_it_should_have(text, fact):
    with pytest.raises(ValueError, match=r"ep|keep one|whole") as refused:
        Budget.parse(text)
    assert fact in str(refused.value)


def test_a_budget_is_reached_when_the_first_of_its_amounts_is_used_up():
    budget = Budget.parse("10ep or 5min")
    assert not budget.reached(epochs=9.9, steps=10**9, seconds=299)
    assert budget.reached(epochs=10, steps=0, seconds=0)
    assert budget.reached(epochs=0, steps=0, seconds=300)


def test_a_number_without_a_unit_is_told_to_bring_one():
    with pytest.raises(ValidationError, match="write a number and a unit"):
        TypeAdapter(Budget).validate_python(3)


def test_a_budget_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Budget(epochs=1).epochs = 2  # type: ignore[misc]
