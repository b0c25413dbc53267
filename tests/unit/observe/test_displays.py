import io

import pytest
from observed_world import START_S, progress, run_events, started
from rich.console import Console

from stretto.observe.event import Event
from stretto.observe.overview import Overview
from stretto.observe.picture import picture
from stretto.observe.plain import Plain
from stretto.observe.progress import progress_sink
from stretto.observe.terminal import Terminal


def drawn(events, width=100):
    overview = Overview()
    for event in events:
        overview.add(event)
    console = Console(record=True, width=width, file=io.StringIO(), legacy_windows=False)
    console.print(picture(overview))
    return console.export_text()


def test_the_picture_shows_job_bar_figures_workers_and_news():
    text = drawn(run_events())
    for part in (
        "resnet on digits  ·  synchronous  ·  2 workers  ·  local",
        "runs/resnet-digits-1118-2133",
        "50%  epoch 5.0 of 10",
        "training    loss 0.04000   lr 0.1000   samples/s 601.0",
        "validation  loss 0.2903   accuracy 0.9812",
        "best        accuracy 0.9812   at step 50",
        "     1     50       301.0   training",
        "checkpoint at step 48 saved",
    ):
        assert part in text


@pytest.mark.parametrize("width", [40, 60, 80, 100, 250])
def test_the_picture_fits_every_width_and_keeps_its_height(width):
    lines = drawn(run_events(), width).splitlines()
    assert max(map(len, lines)) <= min(width, 100) or width > 100
    assert len(lines) <= (20 if width >= 80 else 26)


def test_what_was_sent_is_what_all_workers_sent():
    both = (progress(50, seat, sent_bytes=1_500_000) for seat in (0, 1))
    assert "sent by all 3.0 MB" in drawn([*run_events(), *both], 80)


def test_a_line_that_is_too_long_ends_in_an_ellipsis():
    metrics = {f"a_long_name_{number}": 0.5 for number in range(9)}
    text = drawn([*run_events(), Event(kind="validated", step=50, values=metrics)], 80)
    (line,) = (line for line in text.splitlines() if "validation" in line)
    assert line.rstrip().endswith("…")


def test_one_worker_needs_no_table():
    assert "worker   step" not in drawn(run_events(workers=1))


def test_of_many_workers_the_slowest_are_shown():
    events = [*run_events(workers=40), progress(40, seat=33)]
    text = drawn(events)
    assert "33     40" in text and "and 32 faster workers" in text


@pytest.mark.parametrize("count", range(len(list(run_events()))))
def test_the_picture_can_be_drawn_after_any_event(count):
    assert drawn(list(run_events())[:count])


def test_odd_values_cannot_break_the_picture():
    text = drawn(
        [
            Event(kind="run_started", values={"model": "[red]my[/red]", "data": "[/]"}),
            Event(kind="progress", seat=0, step=1, values={"loss": float("nan"), "lr": 1}),
            Event(kind="restarted"),
            Event(kind="warning", values={"message": "[bold] closing [/nothing]"}),
        ]
    )
    assert "[red]my[/red] on [/]" in text and "loss nan" in text and "[/nothing]" in text


def test_a_terminal_shows_the_run_and_leaves_the_last_picture(monkeypatch):
    stream = io.StringIO()
    terminal = Terminal(Console(file=stream, force_terminal=True, width=100))
    for event in run_events():
        terminal.write(event)
    terminal.write(Event(kind="finished", time_s=START_S + 60, values={"reason": "accuracy 0.99 reached"}))
    terminal.close()
    terminal.close()
    assert "finished after 1:00" in stream.getvalue().rsplit("resnet on digits", 1)[-1]


def test_no_color_is_respected(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    stream = io.StringIO()
    terminal = Terminal(Console(file=stream, force_terminal=True, width=100))
    for event in run_events():
        terminal.write(event)
    terminal.close()
    assert "\x1b[36m" not in stream.getvalue() and "\x1b[32m" not in stream.getvalue()


def plain_lines(*events, every_s=10.0):
    stream = io.StringIO()
    plain = Plain(stream, every_s)
    for event in events:
        plain.write(event)
    plain.close()
    return [line.split(" ", 1)[1] for line in stream.getvalue().splitlines()]


def test_plain_lines_tell_the_same_story():
    assert plain_lines(*run_events(), every_s=30) == [
        "run started (model resnet, data digits, strategy synchronous, engine local, workers 2, until 10ep or 5min, "
        "folder runs/resnet-digits-1118-2133)",
        "2 workers starting",
        "step 10  10%  loss 0.2000  lr 0.1000  300.0 samples/s",
        "step 40  40%  loss 0.05000  lr 0.1000  601.0 samples/s  1:00 left",
        "validation loss 0.2903  accuracy 0.9812",
        "best accuracy so far: 0.9812 at step 50",
        "checkpoint at step 48 saved",
    ]


def test_plain_lines_come_at_most_every_ten_seconds():
    events = [progress(step, time_s=START_S + step) for step in range(1, 101)]
    assert len(plain_lines(*events)) == 10


def test_plain_lines_wait_for_the_worker_that_tells_the_loss():
    begun = [started(), Event(kind="view_started", step=0, values={"view": 1, "workers": 2})]
    assert plain_lines(*begun, progress(1, seat=1)) == plain_lines(*begun)
    assert plain_lines(*begun, progress(1, seat=1), progress(1))[-1].startswith("step 1  1%  loss 2.000  lr 0.1000")


def test_a_restart_says_why_and_how_many_are_left():
    event = Event(kind="restarted", values={"view": 2, "reason": "worker 1 was killed (signal 9)", "left": 2})
    assert plain_lines(event) == ["restarted: worker 1 was killed (signal 9) (2 restarts left)"]


def test_news_are_never_held_back():
    events = [Event(kind="warning", values={"message": f"number {number}"}) for number in range(300)]
    assert plain_lines(*events)[-1] == "warning: number 299" and len(plain_lines(*events)) == 300


class Screen(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


def test_the_job_chooses_the_display(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    assert progress_sink("none", Screen()) is None
    assert isinstance(progress_sink("auto", Screen()), Terminal)
    assert isinstance(progress_sink("auto", io.StringIO()), Plain)
    assert isinstance(progress_sink("plain", Screen()), Plain)
    assert isinstance(progress_sink("rich", io.StringIO()), Terminal)


def test_a_terminal_that_cannot_draw_gets_lines(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(progress_sink("auto", Screen()), Plain)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(Screen, "encoding", "ascii")
    assert isinstance(progress_sink("auto", Screen()), Plain)
