"""The values of a job file with the place of each, so that whatever is wrong can be shown where it stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stretto.errors import Problem

Path = tuple[str | int, ...]
DEPTH_LIMIT = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a value stands: file, line and column; the text of an override; or nothing, for a value from Python."""

    file: str | None = None
    line: int | None = None
    column: int | None = None

    def problem(self, message: str, key: str | None = None) -> Problem:
        """What is wrong here with the value of `key`. An override shows its key already."""
        shown = None if key and self.line is None and (self.file or "").startswith(f"{key}=") else key
        return Problem(message=message, file=self.file, line=self.line, key=shown or None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """Something wrong with the text of a value, found while reading; `spoils` the value unless there is one to use."""

    message: str
    place: Place
    key: str | None = None
    spoils: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A value, with nodes for the parts of mappings and lists. A value under a key has the key's place."""

    value: Any
    place: Place
    flaws: tuple[Flaw, ...] = ()

    @property
    def spoiled(self) -> bool:
        """Whether the value cannot be used, and has been reported."""
        return any(flaw.spoils for flaw in self.flaws)

    def plain(self) -> Any:
        """The value without its places; parts that cannot be used are left out of mappings, and null in lists."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items() if not node.spoiled}
        if isinstance(self.value, list):
            return [None if node.spoiled else node.plain() for node in self.value]
        return self.value

    def size(self) -> int:
        """How many values there are inside, counting this one."""
        return 1 + sum(node.size() for _, node in self._parts())

    def nearest(self, path: Path) -> Node:
        """The node at `path`, or the innermost on the way there that exists."""
        node = self
        for step in path:
            inside = node._at(step)
            if inside is None:
                return node
            node = inside
        return node

    def has(self, path: Path) -> bool:
        """Whether there is a value at `path`."""
        node: Node | None = self
        for step in path:
            node = node._at(step) if node else None
        return node is not None

    def walk(self, path: Path = ()) -> Iterator[tuple[Path, Node]]:
        """This node and all inside it, each with its path."""
        yield path, self
        for step, node in self._parts():
            yield from node.walk((*path, step))

    def _parts(self) -> Iterator[tuple[str | int, Node]]:
        if isinstance(self.value, dict):
            yield from self.value.items()
        elif isinstance(self.value, list):
            yield from enumerate(self.value)

    def _at(self, step: str | int) -> Node | None:
        if isinstance(self.value, dict):
            return self.value.get(step)
        if isinstance(self.value, list) and str(step).isdecimal() and int(step) < len(self.value):
            found: Node = self.value[int(step)]
            return found
        return None


def node_of(value: Any, place: Place, depth: int = 0) -> Node:
    """The node of a value from Python; what lies deeper than any job goes is refused."""
    if depth > DEPTH_LIMIT and isinstance(value, Mapping | list | tuple):
        message = f"the values are nested more than {DEPTH_LIMIT} deep; no job needs that"
        return Node(value=None, place=place, flaws=(Flaw(message=message, place=place),))
    if isinstance(value, Mapping):
        strays = [key for key in value if not isinstance(key, str)]
        flaws = [Flaw(message=f"{key!r} cannot be a key; keys are words", place=place, spoils=False) for key in strays]
        parts = {key: node_of(each, place, depth + 1) for key, each in value.items() if isinstance(key, str)}
        return Node(value=parts, place=place, flaws=tuple(flaws))
    if isinstance(value, list | tuple):
        return Node(value=[node_of(each, place, depth + 1) for each in value], place=place)
    return Node(value=value, place=place)


def dotted(path: Path) -> str:
    """A path as a person writes it: `training.optimizer.momentum`."""
    return ".".join(str(step)[:80] for step in path)
