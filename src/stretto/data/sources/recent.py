"""What was made last, kept up to so many bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar


class Sized(Protocol):
    """Whatever knows how much memory it takes."""

    @property
    def size_bytes(self) -> int:
        """The memory it takes."""
        ...


Value = TypeVar("Value", bound=Sized)


class Recent(Generic[Value]):
    """Makes values by number and keeps those used last; several threads may ask, and each value is made by one of them.

    The last value is kept even if it is larger than the bound: whoever asked for it needs it.
    """

    def __init__(self, make: Callable[[int], Value], kept_bytes: int) -> None:
        self._make, self._kept_bytes = make, kept_bytes
        self._lock = threading.Lock()
        self._shelves: OrderedDict[int, _Shelf[Value]] = OrderedDict()

    def get(self, number: int) -> Value:
        """Return what was kept, or make it, while others who want the same wait."""
        with self._lock:
            shelf = self._shelves.setdefault(number, _Shelf())
            self._shelves.move_to_end(number)
        with shelf.lock:
            if shelf.value is None:
                shelf.value = self._make(number)
                self._drop_oldest()
            return shelf.value

    def _drop_oldest(self) -> None:
        with self._lock:
            held = sum(shelf.value.size_bytes for shelf in self._shelves.values() if shelf.value is not None)
            while held > self._kept_bytes and len(self._shelves) > 1:
                _, shelf = self._shelves.popitem(last=False)
                held -= shelf.value.size_bytes if shelf.value is not None else 0


class _Shelf(Generic[Value]):
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.value: Value | None = None
