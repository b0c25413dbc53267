"""What the control plane says: every message between coordinator, agents and workers, as small frozen values.

Agents and workers each have a connection of their own. A worker's connection speaks of one view only, the one it said
hello with, so its messages do not repeat it; an agent outlives views, so its messages name them.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from stretto.errors import WireError
from stretto.observe.event import Event


class Message(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag=True):
    """Anything that travels on a control connection."""


class Request(Message, frozen=True, kw_only=True):
    """A message that expects an `Answer` with the same number; the client does the numbering."""

    request: int = 0


class Assignment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything a worker is told when it starts: who it is, what to call (`entry`), and with what (`payload`).

    `entry` is "module:function", called with the assignment, the control client and the objects of the engine;
    `payload` is text that only the entry understands. `log` is a file for the worker's output; None leaves it where
    the agent's goes. `environment` is set before the entry is imported.
    """

    run_id: str
    view: int
    slot: int
    rank: int
    size: int
    entry: str
    attempt: int = 0
    local_rank: int = 0
    local_size: int = 1
    host: str = "127.0.0.1"
    payload: str = ""
    environment: dict[str, str] = {}
    log: str | None = None


# Both ways, and by both agents and workers.


class Hello(Message, frozen=True, kw_only=True):
    """The first message on every connection: who is calling. Agents belong to no view and say 0."""

    role: Literal["agent", "worker"]
    slot: int
    pid: int
    view: int = 0
    attempt: int = 0


class Refused(Message, frozen=True, kw_only=True):
    """The coordinator does not want this connection, because its view is over or its slot is unknown."""

    reason: str


class Beat(Message, frozen=True, kw_only=True):
    """The sender lives. An agent also says how its worker is: of which view, running or ended with which code.

    Because the whole state travels each time, a lost or repeated beat does no harm. `code` is None while the worker
    runs and when there never was one; a negative code is the signal that ended it.
    """

    view: int = 0
    running: bool = False
    code: int | None = None
    attempt: int = 0


# From the coordinator to an agent.


class Welcome(Message, frozen=True, kw_only=True):
    """The answer to an agent's hello: modules to import ahead of the first start, and how often to beat."""

    preload: tuple[str, ...] = ()
    beat_s: float = 1.0


class Start(Message, frozen=True, kw_only=True):
    """Start a worker for this assignment, unless one of its view and attempt, or a later one, began or was stopped."""

    assignment: Assignment


class StopWorker(Message, frozen=True, kw_only=True):
    """End the worker of this view and attempt or an earlier one, and never start one of these again.

    The worker has `grace_s` after SIGTERM before it is killed; with zero it is killed at once.
    """

    view: int
    attempt: int = 0
    grace_s: float = 0.0


class Leave(Message, frozen=True, kw_only=True):
    """The run is over: let the worker end within `grace_s`, then kill it, then leave."""

    grace_s: float = 0.0


# From an agent.


class Prepared(Message, frozen=True, kw_only=True):
    """Everything is imported that was to be imported ahead; workers can start."""


# From the coordinator to a worker.


class StopTraining(Message, frozen=True, kw_only=True):
    """Finish the step, save if `save`, and leave; may come more than once."""

    reason: str
    save: bool = True


class Answer(Message, frozen=True, kw_only=True):
    """The answer to the request of this number; `found` is False when waiting took too long."""

    request: int
    found: bool = True
    values: tuple[bytes, ...] = ()
    number: int = 0


# From a worker.


class Ready(Message, frozen=True, kw_only=True):
    """The worker has met its peers and takes its first step."""


class Report(Message, frozen=True, kw_only=True):
    """A fact for the sinks of the launching process."""

    event: Event


class Done(Message, frozen=True, kw_only=True):
    """The worker has finished; its result is whatever the entry returned. Only this message is success."""

    result: dict[str, Any]


class Failed(Message, frozen=True, kw_only=True):
    """The worker's code raised: the cause in words, the sentence, the traceback.

    `collateral` says that it only noticed that a peer has gone, so the root cause is elsewhere. `exit_code` is what the
    command line ends with if this is the cause.
    """

    cause: str
    words: str
    trace: str
    collateral: bool = False
    exit_code: int = 3


# A worker's use of the rendezvous store.


class StoreSet(Request, frozen=True, kw_only=True):
    """Give a key a value; answered without values."""

    key: str
    value: bytes


class StoreWait(Request, frozen=True, kw_only=True):
    """Answered with the values of all keys as soon as all are there, or not found after `timeout_s`."""

    keys: tuple[str, ...]
    timeout_s: float


class StoreCheck(Request, frozen=True, kw_only=True):
    """Answered at once: are all of these keys there?"""

    keys: tuple[str, ...]


class StoreAdd(Request, frozen=True, kw_only=True):
    """Add to a counter that begins at zero; answered with the new number."""

    key: str
    amount: int


class StoreCompareSet(Request, frozen=True, kw_only=True):
    """Set a key if it has the expected value (b"" when it is missing); answered with the value it has now."""

    key: str
    expected: bytes
    value: bytes


class StoreDelete(Request, frozen=True, kw_only=True):
    """Forget a key; found says whether it was there."""

    key: str


class StoreCount(Request, frozen=True, kw_only=True):
    """Answered with the number of keys."""


# A worker's account of the data it has used.


class LedgerBegin(Request, frozen=True, kw_only=True):
    """A view of so many workers begins to train after update `step`, at this place of an epoch of so many samples.

    `uses` are what the checkpoint knows to be used and may not have been noted: a seat and a series of parts each.
    Answered when the ledger stands where the checkpoint does; `found` says whether it could be written.
    """

    step: int
    epoch: int
    place: int
    samples: int
    workers: int
    uses: tuple[tuple[int, ...], ...] = ()


class LedgerUse(Request, frozen=True, kw_only=True):
    """Series of parts that this worker has used; answered when they are noted for good, or `found` is False."""

    uses: tuple[tuple[int, ...], ...]


LedgerRequest = LedgerBegin | LedgerUse
StoreRequest = StoreSet | StoreWait | StoreCheck | StoreAdd | StoreCompareSet | StoreDelete | StoreCount
AnyMessage = (
    Hello
    | Refused
    | Beat
    | Welcome
    | Start
    | StopWorker
    | Leave
    | Prepared
    | StopTraining
    | Answer
    | Ready
    | Report
    | Done
    | Failed
    | LedgerRequest
    | StoreRequest
)

_ENCODER = msgspec.msgpack.Encoder()
_DECODER: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(AnyMessage)


def encode(message: Message) -> bytes:
    """The message as msgpack.

    >>> decode(encode(StopTraining(reason="Ctrl-C")))
    StopTraining(reason='Ctrl-C', save=True)
    """
    return _ENCODER.encode(message)


def decode(data: bytes) -> Message:
    """The message that `encode` wrote; `WireError` for anything else, unknown fields included."""
    try:
        message: Message = _DECODER.decode(data)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise WireError(f"a message was refused: {error}") from error
    return message
