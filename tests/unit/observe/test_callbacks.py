from pathlib import Path

import pytest
from observed_world import training

from stretto.errors import JobError
from stretto.observe.callback import MOMENTS, Callback, Callbacks


class Counting(Callback):
    def __init__(self):
        self.steps = 0

    def on_train_batch_end(self, training):
        self.steps += 1

    def state_dict(self):
        return {"steps": self.steps}

    def load_state_dict(self, state):
        self.steps = state["steps"]


def test_every_moment_is_a_method_and_every_method_a_moment():
    methods = [name for name in vars(Callback) if name.startswith("on_")]
    assert tuple(methods) == MOMENTS


def test_the_reference_lists_the_moments_in_their_order():
    page = Path(__file__, "../../../../docs/reference/moments.md").resolve().read_text()
    listed = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `on_")]
    assert tuple(listed) == MOMENTS


def test_callbacks_act_in_the_order_of_the_list():
    said = []

    class Saying(Callback):
        def __init__(self, word):
            self.word = word

        def on_fit_start(self, training):
            said.append(self.word)

    Callbacks([Saying("first"), Saying("second")]).call("on_fit_start", training())
    assert said == ["first", "second"]


def test_moments_nobody_overrides_call_nobody(monkeypatch):
    def fail(self, training):
        raise AssertionError("an empty method was called")

    callbacks = Callbacks([Counting(), Callback()])
    for moment in MOMENTS:
        monkeypatch.setattr(Callback, moment, fail)
    for moment in MOMENTS:
        callbacks.call(moment, training())


def test_an_override_is_found_in_a_parent_class():
    class Child(Counting):
        pass

    child = Child()
    Callbacks([child]).call("on_train_batch_end", training())
    assert child.steps == 1


def test_an_error_says_which_callback_raised_it_and_when():
    class Broken(Callback):
        def on_fit_start(self, training):
            raise ZeroDivisionError("by the user's code")

    with pytest.raises(ZeroDivisionError) as caught:
        Callbacks([Broken()]).call("on_fit_start", training(step=4))
    note = caught.value.__notes__[0]
    assert note.startswith("raised by the callback ") and note.endswith("Broken in on_fit_start at step 4")


def test_states_come_back_to_their_callbacks_also_to_two_of_a_class():
    before = [Counting(), Counting()]
    before[0].steps, before[1].steps = 3, 5
    states = Callbacks(before).state_dict()
    after = [Counting(), Counting()]
    Callbacks(after).load_state_dict(states)
    assert [callback.steps for callback in after] == [3, 5]


def test_a_callback_that_is_new_in_the_job_starts_afresh_and_one_that_is_gone_is_passed_over():
    counting = Counting()
    Callbacks([counting]).load_state_dict({"Gone": {"steps": 9}})
    assert counting.steps == 0


def test_a_callback_without_state_adds_nothing_to_the_checkpoint():
    assert Callbacks([Callback()]).state_dict() == {}


def test_what_is_no_callback_is_refused_by_name():
    with pytest.raises(JobError, match="callbacks: dict is not a callback"):
        Callbacks([{}])


def test_the_first_reason_to_stop_stays():
    state = training()
    state.stop("target reached")
    state.stop("budget spent")
    assert state.stop_reason == "target reached"
