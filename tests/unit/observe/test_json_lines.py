import json

import pytest
from observed_world import run_events

from stretto.observe.event import Event
from stretto.observe.json_lines import JsonLines, read_events


def append(path, *events):
    lines = JsonLines(path)
    for event in events:
        lines.write(event)
    lines.close()


def test_events_are_there_as_soon_as_they_are_written(tmp_path):
    path = tmp_path / "run" / "events.jsonl"
    lines = JsonLines(path)
    written = list(run_events())
    for count, event in enumerate(written, start=1):
        lines.write(event)
        assert len(list(read_events(path))) == count  # still open, as after a kill
    lines.close()
    lines.close()
    assert list(read_events(path)) == written


def test_a_run_killed_at_any_byte_is_read_and_goes_on(tmp_path):
    whole = tmp_path / "whole.jsonl"
    first, second, third = (Event(kind="progress", step=step, values={"loss": 0.5}) for step in (1, 2, 3))
    append(whole, first, second)
    content = whole.read_bytes()
    second_starts = content.index(b"\n") + 1
    for cut in range(second_starts, len(content) + 1):
        path = tmp_path / "torn.jsonl"
        path.write_bytes(content[:cut])
        survivors = [first, second] if cut >= len(content) - 1 else [first]
        assert list(read_events(path)) == survivors
        append(path, third)
        assert list(read_events(path)) == [*survivors, third]
        assert all(json.loads(line) for line in path.read_text().splitlines())


def test_a_torn_first_line_leaves_an_empty_record(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"kind":"run_st')
    append(path, Event(kind="finished"))
    assert [event.kind for event in read_events(path)] == ["finished"]


def test_a_torn_line_longer_than_a_block_is_cut_off_whole(tmp_path):
    path = tmp_path / "events.jsonl"
    append(path, Event(kind="warning", values={"message": "x" * 200_000}))
    with path.open("ab") as file:
        file.write(b'{"kind":"warning","values":{"message":"' + b"y" * 200_000)
    append(path, Event(kind="finished"))
    assert [event.kind for event in read_events(path)] == ["warning", "finished"]
    assert b"y" not in path.read_bytes()


def test_a_damaged_line_in_the_middle_hides_only_itself(tmp_path):
    path = tmp_path / "events.jsonl"
    append(path, Event(kind="run_started"))
    with path.open("ab") as file:
        file.write(b"\x00\x00\x00\n")
    append(path, Event(kind="finished"))
    assert [event.kind for event in read_events(path)] == ["run_started", "finished"]


def test_no_file_is_no_events(tmp_path):
    assert list(read_events(tmp_path / "events.jsonl")) == []


def test_a_disk_that_takes_only_part_of_a_line_is_an_error(tmp_path):
    lines = JsonLines(tmp_path / "events.jsonl")
    lines.close()

    class AlmostFull:
        def write(self, line):
            return len(line) - 1

    lines._file = AlmostFull()
    with pytest.raises(OSError, match="is the disk full"):
        lines.write(Event(kind="finished"))
