"""Work that is done ahead, by one thread, while somebody uses what is ready."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")
_PATIENCE_S = 5.0


class Prefetch(Generic[Item]):
    """Iterates over `items`, of which up to `depth` are made ahead by a thread.

    What `items` raises is raised here, after the items before it and with its own traceback. `close`, the end of a
    `with` block and forgetting the object all end the thread as soon as it has made the item it is making.
    """

    def __init__(self, items: Iterable[Item], depth: int = 2) -> None:
        self._shelf = _Shelf(depth)
        # The thread knows the shelf only: were it to know this object, forgetting it would not end the thread.
        self._thread = threading.Thread(target=_fill, args=(self._shelf, items), name="stretto-prefetch", daemon=True)
        self._forgotten = weakref.finalize(self, self._shelf.close)
        self._thread.start()

    def __iter__(self) -> Iterator[Item]:
        return self

    def __next__(self) -> Item:
        item: Item = self._shelf.take()
        return item

    def __enter__(self) -> Prefetch[Item]:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the thread; an item that takes long to make is not waited for beyond a few seconds."""
        self._forgotten()
        if self._thread is not threading.current_thread():
            self._thread.join(_PATIENCE_S)


class _Shelf:
    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.change = threading.Condition()
        self.ready: deque[Any] = deque()
        self.closed = False
        self.end: BaseException | None = None

    def put(self, item: Any) -> bool:
        """Wait for room and add an item; False when nobody wants any more."""
        with self.change:
            self.change.wait_for(lambda: self.closed or len(self.ready) < self.depth)
            self.ready.append(item)
            self.change.notify_all()
            return not self.closed

    def take(self) -> Any:
        """Wait for an item; raise what ended the items once there are none left."""
        with self.change:
            self.change.wait_for(lambda: self.closed or self.ready or self.end is not None)
            if self.closed:
                raise StopIteration
            if not self.ready:
                raise self.end if self.end is not None else StopIteration
            item = self.ready.popleft()
            self.change.notify_all()
            return item

    def finish(self, reason: BaseException) -> None:
        """Say that no more items come, and why."""
        with self.change:
            self.end = reason
            self.change.notify_all()

    def close(self) -> None:
        """Let go of everything and wake whoever waits."""
        with self.change:
            self.closed = True
            self.ready.clear()
            self.change.notify_all()


def _fill(shelf: _Shelf, items: Iterable[Any]) -> None:
    try:
        for item in items:
            if not shelf.put(item):
                break
            del item  # while the next is made, only the user holds the last
        shelf.finish(StopIteration())
    except BaseException as error:  # whatever it is, it belongs to whoever waits for the item
        shelf.finish(error)
