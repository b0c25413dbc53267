import math

import pytest
from observed_world import Collected, training

from stretto.evaluate.best import Best
from stretto.evaluate.early_stop import EarlyStop
from stretto.evaluate.watched import Watched

ACCURACY = Watched(metric="accuracy", higher=True)
LOSS = Watched(metric="loss", higher=False)


def validate(callback, *values, first=1, metric="accuracy", **fields):
    """One validation per value, ten steps apart; returns the training and its events."""
    taken = Collected()
    state = training(taken, **fields)
    for number, value in enumerate(values, start=first):
        state.step, state.metrics = 10 * number, value if isinstance(value, dict) else {metric: value}
        callback.on_validation_end(state)
    return state, taken.events


def test_the_best_is_where_the_metric_was_highest():
    best = Best(ACCURACY)
    _, events = validate(best, 0.5, 0.9, 0.7)
    assert (best.step, best.value, best.improved) == (20, 0.9, False)
    assert [(event.kind, event.step, event.values["value"]) for event in events] == [
        ("best", 10, 0.5),
        ("best", 20, 0.9),
    ]


def test_or_lowest_where_less_is_better():
    best = Best(LOSS)
    validate(best, 0.5, 0.3, 0.4, metric="loss")
    assert (best.step, best.value) == (20, 0.3)


def test_of_equals_the_first_is_best():
    best = Best(ACCURACY)
    validate(best, 0.9, 0.9)
    assert best.step == 10


def test_nan_is_never_best():
    best = Best(LOSS)
    validate(best, math.nan, metric="loss")
    assert best.step is None and not best.improved
    validate(best, 0.5, math.nan, metric="loss")
    assert best.value == 0.5


def test_only_the_first_worker_tells():
    _, events = validate(Best(ACCURACY), 0.5, rank=1)
    assert events == []


def test_a_resumed_best_goes_on_comparing():
    before, after = Best(ACCURACY), Best(ACCURACY)
    validate(before, 0.9)
    after.load_state_dict(before.state_dict())
    validate(after, 0.8, first=2)
    assert (after.step, after.value) == (10, 0.9)


@pytest.mark.parametrize("kind", [Best, EarlyStop])
def test_another_watched_metric_starts_afresh_on_resume(kind):
    before, after = kind(LOSS), kind(ACCURACY)
    validate(before, 0.01, metric="loss")
    fresh = after.state_dict()
    after.load_state_dict(before.state_dict())
    assert after.state_dict() == fresh


def test_a_reached_target_stops_with_words_and_numbers():
    state, _ = validate(EarlyStop(ACCURACY, {ACCURACY: 0.99}), 0.9, 0.991)
    assert state.stop_reason == "accuracy 0.9910 reached the target 0.99 at step 20"


def test_all_targets_must_be_reached():
    stop = EarlyStop(ACCURACY, {ACCURACY: 0.99, LOSS: 0.1})
    state, _ = validate(stop, {"accuracy": 0.995, "loss": 0.2})
    assert state.stop_reason is None
    state, _ = validate(stop, {"accuracy": 0.99, "loss": 0.1})
    assert state.stop_reason == (
        "accuracy 0.9900 reached the target 0.99 and loss 0.1000 reached the target 0.1 at step 10"
    )


def test_patience_ends_with_the_validations_without_improvement():
    stop = EarlyStop(ACCURACY, patience=2)
    state, _ = validate(stop, 0.9, 0.8)
    assert state.stop_reason is None
    state, _ = validate(stop, 0.85, first=3)
    assert state.stop_reason == "accuracy has not improved for 2 validations (best 0.9000 at step 10, now 0.8500)"


def test_an_improvement_renews_patience():
    state, _ = validate(EarlyStop(ACCURACY, patience=2), 0.9, 0.8, 0.95, 0.9)
    assert state.stop_reason is None


def test_patience_counts_nan():
    state, _ = validate(EarlyStop(LOSS, {LOSS: 0.1}, patience=2), math.nan, math.nan, metric="loss")
    assert state.stop_reason == "loss has not improved for 2 validations (no best, now nan)"


def test_without_patience_and_targets_nothing_stops():
    state, _ = validate(EarlyStop(ACCURACY), *[0.1] * 50)
    assert state.stop_reason is None


def test_a_resumed_training_has_the_patience_it_had():
    before, after = EarlyStop(ACCURACY, patience=3), EarlyStop(ACCURACY, patience=3)
    validate(before, 0.9, 0.8, 0.8)
    after.load_state_dict(before.state_dict())
    state, _ = validate(after, 0.8, first=4)
    assert state.stop_reason is not None
