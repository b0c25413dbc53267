import pytest
from observed_world import START_S, progress, run_events, started

from stretto.observe.event import Event
from stretto.observe.overview import Overview


def overview(*events):
    made = Overview()
    for event in events:
        made.add(event)
    return made


def test_an_overview_holds_what_the_events_told():
    seen = overview(*run_events(steps=50))
    assert (seen.status, seen.step, seen.samples) == ("training", 50, 6400)
    assert seen.validation["accuracy"] == 0.98123 and seen.best["step"] == 50
    assert {seat: state.state for seat, state in seen.seats.items()} == {0: "training", 1: "training"}


def test_seats_that_serve_are_no_workers():
    assert set(overview(*run_events(workers=2), Event(kind="worker_ready", seat=2)).seats) == {0, 1}


def test_samples_per_second_are_those_of_all_workers_together():
    assert overview(*run_events(workers=3)).samples_per_s == pytest.approx(300 + 301 + 302)


@pytest.mark.parametrize(
    ("until", "unit", "fraction"),
    [("10ep", "epoch", 0.5), ("200step", "step", 0.25), ("5min", "s", 50 / 300), ("10ep or 5min", "epoch", 0.5)],
)
def test_the_stretch_is_along_the_limit_that_comes_first(until, unit, fraction):
    stretch = overview(started(until=until), progress(50)).stretch()
    assert (stretch.unit, stretch.fraction) == (unit, pytest.approx(fraction))


def test_without_a_budget_there_is_no_stretch_and_no_guess():
    seen = overview(progress(10), progress(20))
    assert seen.stretch() is None and seen.remaining_s() is None


def test_the_rest_is_guessed_from_the_pace_since_this_start():
    resumed = [started(until="100step"), progress(50, time_s=START_S), progress(60, time_s=START_S + 10)]
    assert overview(*resumed).remaining_s() == pytest.approx(40.0)


def test_a_new_view_forgets_the_workers_of_the_old_one():
    seen = overview(*run_events(workers=3), Event(kind="view_started", step=50, values={"view": 2, "workers": 2}))
    assert {seat: state.state for seat, state in seen.seats.items()} == {0: "starting", 1: "starting"}


def test_a_run_that_failed_says_so_everywhere():
    seen = overview(*run_events(), Event(kind="failed", seat=1, values={"cause": "memory", "message": "no more room"}))
    assert seen.status == "failed" and {state.state for state in seen.seats.values()} == {"failed"}
    assert seen.news[-1].text == "worker 1 failed: memory: no more room" and seen.news[-1].grave


def test_an_event_of_an_unknown_kind_changes_nothing():
    assert overview(Event(kind="users_own", values={"any": 1})).news == overview().news


def test_news_do_not_grow_without_bound():
    warnings = (Event(kind="warning", step=step, values={"message": "again"}) for step in range(1000))
    assert len(overview(*warnings).news) == 100
