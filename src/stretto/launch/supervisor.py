"""Which slots to start and to stop on the engine, decided from what is known; no engine is touched here."""

from __future__ import annotations

import enum
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from stretto.communicate.membership_event import SlotEnded
from stretto.launch.engine import Abilities


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to do with the engine now; `give_up` is the reason to end the run, if there is one."""

    start: tuple[int, ...] = ()
    stop: tuple[int, ...] = ()
    warnings: tuple[str, ...] = ()
    give_up: str | None = None


class _State(enum.Enum):
    IDLE = "idle"
    ASKED = "asked"
    JOINED = "joined"
    STOPPING = "stopping"


@dataclass(slots=True)
class _Slot:
    state: _State = _State.IDLE
    since_s: float = 0.0
    warned_s: float = 0.0
    starts: int = 0
    last_code: int | None = None


@dataclass(slots=True, kw_only=True)
class Supervisor:
    """Keeps `slots` agents alive: starts them, starts a lost one anew if the engine can, and tells of starts that hang.

    Each slot is started at most `restarts` + 1 times. `decide` is asked again and again and looks at the whole
    state each time, so a hint that never came costs time but no correctness.
    """

    slots: int
    restarts: int
    abilities: Abilities
    warn_after_s: float = 30.0
    give_up_after_s: float = 300.0
    _known: dict[int, _Slot] = field(init=False)

    def __post_init__(self) -> None:
        self._known = {slot: _Slot() for slot in range(self.slots)}

    def decide(self, joined: Collection[int], ended: Sequence[SlotEnded], now_s: float) -> Decision:
        """What to do now, given which agents are there and which slots the engine has seen ending."""
        for hint in ended:
            self._note_end(hint, now_s)
        self._note_joined(joined, now_s)
        if (reason := self._reason_to_give_up(now_s)) is not None:
            return Decision(give_up=reason)
        stop = self._enter(
            _State.JOINED, [slot for slot in range(self.slots) if slot not in joined], _State.STOPPING, now_s
        )
        start = (
            () if self.abilities.self_heals and any(each.starts for each in self._known.values()) else self._idle(now_s)
        )
        return Decision(start=start, stop=stop, warnings=self._warnings(now_s))

    def _note_end(self, hint: SlotEnded, now_s: float) -> None:
        slot = self._known.get(hint.slot)
        if slot is not None:
            slot.state, slot.since_s, slot.last_code = _State.IDLE, now_s, hint.code

    def _note_joined(self, joined: Collection[int], now_s: float) -> None:
        for slot in joined:
            self._enter(_State.ASKED, [slot], _State.JOINED, now_s)

    def _enter(self, old: _State, slots: Sequence[int], new: _State, now_s: float) -> tuple[int, ...]:
        moved = tuple(slot for slot in slots if self._known[slot].state is old)
        for slot in moved:
            self._known[slot].state, self._known[slot].since_s = new, now_s
        return moved

    def _idle(self, now_s: float) -> tuple[int, ...]:
        started = self._enter(_State.IDLE, range(self.slots), _State.ASKED, now_s)
        for slot in started:
            self._known[slot].starts += 1
            self._known[slot].warned_s = now_s
        return started

    def _reason_to_give_up(self, now_s: float) -> str | None:
        for number, slot in self._known.items():
            ended = slot.state is _State.IDLE and slot.starts > 0
            if ended and (slot.starts > self.restarts or not self.abilities.add):
                return (
                    f"the agent of slot {number} has ended {_times(slot.starts)}, last with exit code {slot.last_code}"
                )
        late = self._late(now_s, self.give_up_after_s)
        if late:
            return f"{_slots(late)} did not start within {self.give_up_after_s:g} s"
        return None

    def _late(self, now_s: float, limit_s: float) -> list[int]:
        asked = {number: slot for number, slot in self._known.items() if slot.state is _State.ASKED}
        return [number for number, slot in asked.items() if now_s - slot.since_s >= limit_s]

    def _warnings(self, now_s: float) -> tuple[str, ...]:
        late = self._late(now_s, self.warn_after_s)
        fresh = [number for number in late if now_s - self._known[number].warned_s >= self.warn_after_s]
        if not fresh:
            return ()
        waited_s = now_s - min(self._known[number].since_s for number in late)
        for number in late:
            self._known[number].warned_s = now_s
        return (
            f"still waiting for {_slots(late)} of {self.slots} after {waited_s:.0f} s; everybody else is waiting too",
        )


def _slots(numbers: Sequence[int]) -> str:
    return f"slot{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
