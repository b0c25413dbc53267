import pytest
import torch
from observed_world import Collected, training

from stretto.observe.callback import Callbacks
from stretto.observe.gradients import gradient_norms
from stretto.observe.recorder import Recorder


def run(recorder, steps, first=0, **fields):
    """What a loop does around the recorder; returns the events."""
    taken = Collected()
    state = training(taken, step=first, **fields)
    callbacks = Callbacks([recorder])
    for step in range(first + 1, first + steps + 1):
        callbacks.call("on_before_optimizer_step", state)
        state.step, state.samples, state.scalars = step, step * 128, {"loss": 1.0 / step}
        callbacks.call("on_train_batch_end", state)
    callbacks.call("on_fit_end", state)
    return taken.events


def test_the_first_every_tenth_and_the_last_update_are_recorded():
    assert [event.step for event in run(Recorder(every_steps=10), steps=25)] == [1, 10, 20, 25]


def test_a_resumed_run_keeps_the_rhythm():
    assert [event.step for event in run(Recorder(every_steps=10), steps=15, first=25)] == [26, 30, 40]


def test_progress_carries_sample_count_wall_time_and_training_time():
    event = run(Recorder(every_steps=1), steps=1, rank=1, seconds=2.5)[0]
    assert (event.kind, event.seat, event.samples) == ("progress", 1, 128)
    assert event.values == {"loss": 1.0, "seconds": 2.5} and event.time_s > 0


def test_what_all_workers_agree_on_is_told_by_the_first_only():
    told = []
    for rank in (0, 1):
        taken = Collected()
        Recorder().on_validation_end(training(taken, rank=rank, metrics={"accuracy": 0.9}))
        told.append([(event.kind, event.values) for event in taken.events])
    assert told == [[("validated", {"accuracy": 0.9})], []]


def sgd(*groups):
    return torch.optim.SGD([{"params": group} for group in groups], lr=0.1)


def parameter(*gradient):
    made = torch.nn.Parameter(torch.zeros(len(gradient)))
    made.grad = torch.tensor(gradient)
    return made


def test_gradient_norms_are_those_of_the_groups_and_of_all_together():
    norms = gradient_norms(sgd([parameter(3.0), parameter(4.0)], [parameter(12.0)]))
    expected = {"gradient_norm": 13.0, "gradient_norm/group_0": 5.0, "gradient_norm/group_1": 12.0}
    assert norms == pytest.approx(expected)


def test_one_group_is_the_total_and_missing_gradients_count_as_zero():
    assert gradient_norms(sgd([parameter(2.0), torch.nn.Parameter(torch.zeros(1))])) == {"gradient_norm": 2.0}
    assert gradient_norms(sgd([torch.nn.Parameter(torch.zeros(1))])) == {"gradient_norm": 0.0}


def test_an_overflowed_gradient_shows():
    assert gradient_norms(sgd([parameter(float("inf"))]))["gradient_norm"] == float("inf")


def test_gradients_are_measured_only_in_updates_that_are_recorded():
    events = run(Recorder(every_steps=2, gradients=True), steps=4, optimizer=sgd([parameter(2.0)]))
    assert [(event.step, event.values["gradient_norm"]) for event in events] == [(1, 2.0), (2, 2.0), (4, 2.0)]
