"""Events as TensorBoard event files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stretto.errors import MissingExtra
from stretto.observe.event import Event


class TensorBoard:
    """Writes training/… and validation/… scalars with their step, wall time and sample count.

    The files are written here and now, without a queue or a thread, so that a full disk is an error and not a hang.
    When the step goes back (a resume, a restart from a checkpoint) TensorBoard is told to forget what came after it.
    """

    def __init__(self, folder: Path) -> None:
        try:
            from tensorboardX import event_file_writer, summary
            from tensorboardX.proto import event_pb2
        except ImportError as error:
            raise MissingExtra("tensorboardX", "track") from error
        folder.mkdir(parents=True, exist_ok=True)
        earlier = len(list(folder.glob("events.out.tfevents.*")))
        self._writer = event_file_writer.EventsWriter(str(folder / "events"), f".{earlier}")
        self._scalar, self._proto = summary.scalar, event_pb2
        self._latest_step = 0 if earlier == 0 else None  # None: not known, the files before this one may go further
        self._samples_per_s: dict[int, float] = {}
        self._closed = False

    def write(self, event: Event) -> None:
        """Write the scalars of a `progress` or `validated` event; other kinds are left to other sinks."""
        if event.kind == "view_started":
            self._samples_per_s.clear()
        elif event.step is None:
            return
        elif event.kind == "progress":
            self._progress(event)
        elif event.kind == "validated":
            self._write(event, {f"validation/{name}": value for name, value in event.values.items()})

    def close(self) -> None:
        """Bring everything to the file and close it."""
        if not self._closed:
            self._closed = True
            self._writer.close()

    def _progress(self, event: Event) -> None:
        if event.seat is not None and "samples_per_s" in event.values:
            self._samples_per_s[event.seat] = event.values["samples_per_s"]
        if event.seat:
            return
        values = dict(event.values)
        if self._samples_per_s:
            values["samples_per_s"] = sum(self._samples_per_s.values())
        if event.samples is not None:
            values["samples"] = event.samples
        if event.epoch is not None:
            values["epoch"] = event.epoch
        self._write(event, {f"training/{name}": value for name, value in values.items()})

    def _write(self, event: Event, scalars: Mapping[str, Any]) -> None:
        step = event.step or 0
        if self._latest_step is None or step < self._latest_step:
            self._forget_from(step, event.time_s)
        self._latest_step = step
        for tag, value in scalars.items():
            if isinstance(value, int | float):
                self._put(time_s=event.time_s, step=step, summary=self._scalar(tag, value))
        self._writer.flush()

    def _forget_from(self, step: int, time_s: float) -> None:
        start = self._proto.SessionLog(status=self._proto.SessionLog.START)
        self._put(time_s=time_s, step=step, session_log=start)

    def _put(self, *, time_s: float, step: int, **content: Any) -> None:
        self._writer.write_event(self._proto.Event(wall_time=time_s, step=step, **content))
