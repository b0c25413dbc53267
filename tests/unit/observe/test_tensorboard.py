import struct
import sys

import pytest
from observed_world import START_S, progress, run_events

from stretto.errors import MissingExtra
from stretto.observe.event import Event
from stretto.observe.tensorboard import TensorBoard


def records(folder):
    """All TensorBoard events of a folder, in the order in which TensorBoard reads them."""
    event_pb2 = pytest.importorskip("tensorboardX.proto.event_pb2")
    for path in sorted(folder.glob("events.out.tfevents.*")):
        content, offset = path.read_bytes(), 0
        while offset < len(content):
            (length,) = struct.unpack_from("<Q", content, offset)
            yield event_pb2.Event.FromString(content[offset + 12 : offset + 12 + length])
            offset += 16 + length


def scalars(folder, tag):
    """What TensorBoard shows of a tag: a purge hides what was written before for that step and later ones."""
    shown = {}
    for record in records(folder):
        if record.HasField("session_log"):
            shown = {step: value for step, value in shown.items() if step < record.step}
        for value in record.summary.value:
            if value.tag == tag:
                shown[record.step] = value.simple_value
    return shown


def write(folder, *events):
    board = TensorBoard(folder)
    for event in events:
        board.write(event)
    board.close()


def test_scalars_carry_step_wall_time_and_sample_count(tmp_path):
    write(tmp_path, *run_events(steps=20))
    assert scalars(tmp_path, "training/loss") == pytest.approx({10: 0.2, 20: 0.1})
    assert scalars(tmp_path, "training/samples") == {10: 1280.0, 20: 2560.0}
    assert scalars(tmp_path, "validation/accuracy") == pytest.approx({20: 0.98123})
    walls = [record.wall_time for record in records(tmp_path) if record.step == 10]
    assert set(walls) == {START_S + 15}


def test_samples_per_second_are_those_of_all_workers_together(tmp_path):
    write(tmp_path, progress(10, 0), progress(10, 1), progress(20, 0))
    assert scalars(tmp_path, "training/samples_per_s") == {10: 300.0, 20: 601.0}


def test_a_resumed_run_hides_what_it_does_again(tmp_path):
    write(tmp_path, progress(10), progress(20), progress(30, loss=9.0))
    write(tmp_path, progress(21), progress(30, loss=1.0))
    assert scalars(tmp_path, "training/loss") == pytest.approx({10: 0.2, 20: 0.1, 21: 2 / 21, 30: 1.0})
    assert len(list(tmp_path.iterdir())) == 2


def test_a_restart_from_a_checkpoint_hides_what_it_does_again(tmp_path):
    write(tmp_path, progress(10), progress(20), progress(30), progress(11), progress(20, loss=7.0))
    assert set(scalars(tmp_path, "training/loss")) == {10, 11, 20}


def test_scalars_can_be_seen_while_the_run_goes_on(tmp_path):
    board = TensorBoard(tmp_path)
    board.write(progress(10))
    assert scalars(tmp_path, "training/loss") == pytest.approx({10: 0.2})
    board.close()
    board.close()


def test_words_and_events_without_a_step_are_left_to_other_sinks(tmp_path):
    write(tmp_path, Event(kind="warning", values={"message": "x"}), progress(10, note="fast"))
    assert scalars(tmp_path, "training/note") == {} and scalars(tmp_path, "training/loss")


def test_a_missing_package_is_an_error_with_the_command_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(MissingExtra, match=r'pip install "stretto\[track\]"'):
        TensorBoard(tmp_path)
