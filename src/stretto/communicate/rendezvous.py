"""The store by which the workers of one view find each other, kept by the coordinator.

PyTorch's process groups exchange addresses through a store. This one lives in the launching process and travels on the
control connection, so it is authenticated, no worker's death takes it along, it needs no port of its own and no
torch where it is kept. `Board` is the keeper, free of sockets and clocks; `rendezvous_store` makes the object that
`torch.distributed.init_process_group(store=…)` takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from stretto.communicate.control import Peer
from stretto.communicate.control_client import ControlClient
from stretto.communicate.messages import (
    Answer,
    Request,
    StoreAdd,
    StoreCheck,
    StoreCompareSet,
    StoreCount,
    StoreDelete,
    StoreRequest,
    StoreSet,
    StoreWait,
)

if TYPE_CHECKING:
    from torch.distributed.distributed_c10d import Store

Letters = list[tuple[Peer, Answer]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waiting:
    peer: Peer
    wait: StoreWait
    deadline_s: float


class Board:
    """Keys and values of the view that acts; who waits for a key is parked here and answered when it comes.

    A new view starts with an empty board, so nothing that an old view left can mislead it.
    """

    def __init__(self) -> None:
        self._view = 0
        self._values: dict[str, bytes] = {}
        self._waiting: list[_Waiting] = []

    def begin(self, view: int) -> None:
        """Forget everything and serve this view."""
        self._view = view
        self._values.clear()
        self._waiting.clear()

    def on_request(self, peer: Peer, request: StoreRequest, now_s: float) -> Letters:
        """The answers that this request brings about, its own and those of who waited for it."""
        if peer.hello.view != self._view:
            return []
        match request:
            case StoreWait():
                self._waiting.append(_Waiting(peer=peer, wait=request, deadline_s=now_s + request.timeout_s))
                return self._come()
            case StoreSet():
                self._values[request.key] = request.value
                return [(peer, Answer(request=request.request)), *self._come()]
            case StoreAdd():
                number = int(self._values.get(request.key, b"0")) + request.amount
                self._values[request.key] = str(number).encode()
                return [(peer, Answer(request=request.request, number=number)), *self._come()]
            case StoreCompareSet():
                value = self._compare_set(request)
                return [(peer, Answer(request=request.request, values=(value,))), *self._come()]
            case StoreCheck():
                found = all(key in self._values for key in request.keys)
                return [(peer, Answer(request=request.request, found=found))]
            case StoreDelete():
                found = self._values.pop(request.key, None) is not None
                return [(peer, Answer(request=request.request, found=found))]
            case StoreCount():
                return [(peer, Answer(request=request.request, number=len(self._values)))]

    def on_tick(self, now_s: float) -> Letters:
        """The answers to those who have waited for as long as they wanted to."""
        late = [each for each in self._waiting if each.deadline_s <= now_s]
        self._waiting = [each for each in self._waiting if each.deadline_s > now_s]
        return [(each.peer, Answer(request=each.wait.request, found=False)) for each in late]

    def forget(self, peer: Peer) -> None:
        """A peer has gone and waits no longer."""
        self._waiting = [each for each in self._waiting if each.peer != peer]

    def _compare_set(self, request: StoreCompareSet) -> bytes:
        if self._values.get(request.key, b"") == request.expected:
            self._values[request.key] = request.value
        return self._values.get(request.key, request.expected)

    def _come(self) -> Letters:
        served = [each for each in self._waiting if all(key in self._values for key in each.wait.keys)]
        self._waiting = [each for each in self._waiting if each not in served]
        return [(each.peer, self._with_values(each.wait)) for each in served]

    def _with_values(self, wait: StoreWait) -> Answer:
        return Answer(request=wait.request, values=tuple(self._values[key] for key in wait.keys))


def rendezvous_store(client: ControlClient, timeout_s: float = 300.0) -> Store:
    """A `torch.distributed.Store` on a worker's control connection.

        store = rendezvous_store(client)
        torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=2)

    Waiting for a key longer than the timeout raises `torch.distributed.DistStoreError`; everything raises `PeerLost`
    when the coordinator has gone.
    """
    from torch.distributed import DistStoreError
    from torch.distributed.distributed_c10d import Store

    class RendezvousStore(Store):
        def __init__(self) -> None:
            super().__init__()
            self._timeout_s = timeout_s

        def set(self, key: str, value: str | bytes) -> None:
            self._ask(StoreSet(key=key, value=_raw(value)))

        def get(self, key: str) -> bytes:
            return self._values([key], self._timeout_s)[0]

        def add(self, key: str, amount: int) -> int:
            return self._ask(StoreAdd(key=key, amount=amount)).number

        def compare_set(self, key: str, expected: str | bytes, value: str | bytes) -> bytes:
            return self._ask(StoreCompareSet(key=key, expected=_raw(expected), value=_raw(value))).values[0]

        def check(self, keys: list[str]) -> bool:
            return self._ask(StoreCheck(keys=tuple(keys))).found

        def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
            self._values(keys, self._timeout_s if timeout is None else timeout.total_seconds())

        def delete_key(self, key: str) -> bool:
            return self._ask(StoreDelete(key=key)).found

        def num_keys(self) -> int:
            return self._ask(StoreCount()).number

        # The names under which PyTorch's own wrappers look for these two.
        deleteKey = delete_key
        getNumKeys = num_keys

        def set_timeout(self, timeout: timedelta) -> None:
            self._timeout_s = timeout.total_seconds()

        @property
        def timeout(self) -> timedelta:
            return timedelta(seconds=self._timeout_s)

        def clone(self) -> Any:
            return self

        def _ask(self, request: Request, patience_s: float = 60.0) -> Answer:
            return client.request(request, patience_s)

        def _values(self, keys: list[str], wait_s: float) -> list[bytes]:
            answer = self._ask(StoreWait(keys=tuple(keys), timeout_s=wait_s), wait_s + 60.0)
            if not answer.found:
                raise DistStoreError(f"waited {wait_s:g} s for the other workers ({', '.join(keys)})")
            return list(answer.values)

    return RendezvousStore()


def _raw(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)
