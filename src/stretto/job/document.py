"""YAML text to nodes that know their places; whatever is wrong with the text becomes a flaw, never a traceback.

PyYAML's parser (in C where there is one) delivers events, and the nodes are built here from a stack: so nothing nests
deeper or expands further than a job can, no object is ever made from a tag, and each value remembers its line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

from stretto.errors import JobError, Problem
from stretto.job.node import DEPTH_LIMIT, Flaw, Node, Place
from stretto.job.scalar import plain_value

_CHARACTERS_LIMIT = 256 * 1024
_VALUES_LIMIT = 10_000
_UNREADABLE = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TAG = "tag:yaml.org,2002:"
_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "null": (type(None),),
    "map": (dict,),
    "seq": (list,),
}
_Parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_document(content: bytes | str, file: str) -> Node:
    """The nodes of the only document in `content` (null when there is none); raises JobError where it is not YAML."""
    text = _decoded(content, file)
    builder = _Builder(file=file)
    try:
        parser = _Parser(text)
        while parser.check_event():
            builder.take(parser.get_event())
    except yaml.YAMLError as error:
        raise JobError([_syntax_problem(error, text, file)]) from None
    return builder.root or Node(value=None, place=Place(file=file, line=1))


def _decoded(content: bytes | str, file: str) -> str:
    text = _text(content, file) if isinstance(content, bytes) else content
    if len(text) > _CHARACTERS_LIMIT:
        message = f"{len(text)} characters are more than a job has; the limit is {_CHARACTERS_LIMIT}"
        raise JobError([_problem(file, 1, message)])
    if found := _UNREADABLE.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise JobError([_problem(file, line, f"the character U+{ord(found[0]):04X} cannot stand in a job; delete it")])
    return text


def _text(content: bytes, file: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        message = f"byte {error.start + 1} (0x{content[error.start]:02x}) is not UTF-8; save the file as UTF-8"
        raise JobError([_problem(file, line, message)]) from None


@dataclass(slots=True, kw_only=True)
class _Open:
    """A mapping or list whose end has not come yet."""

    value: dict[str, Node] | list[Node]
    place: Place
    anchor: str | None
    flaws: list[Flaw] = field(default_factory=list)
    key: Node | None = None


@dataclass(slots=True, kw_only=True)
class _Builder:
    """Takes events one by one and has the `root` node when they have ended."""

    file: str
    root: Node | None = None
    stack: list[_Open] = field(default_factory=list)
    anchors: dict[str, Node] = field(default_factory=dict)
    opened: set[str] = field(default_factory=set)
    values: int = 0
    documents: int = 0

    def take(self, event: Any) -> None:
        """Let the nodes grow by one event."""
        place = Place(file=self.file, line=event.start_mark.line + 1, column=event.start_mark.column + 1)
        match event:
            case yaml.ScalarEvent():
                self._add(self._counted(_scalar(event, place)), event.anchor)
            case yaml.AliasEvent(anchor=str(anchor)):
                self._add(self._alias(anchor, place), None)
            case yaml.MappingStartEvent():
                self._open({}, event, place)
            case yaml.SequenceStartEvent():
                self._open([], event, place)
            case yaml.CollectionEndEvent():
                self._close()
            case yaml.DocumentStartEvent():
                self._begin(place)

    def _begin(self, place: Place) -> None:
        self.documents += 1
        if self.documents > 1:
            raise JobError([place.problem("a second document begins; a file holds one job")])

    def _open(self, value: dict[str, Node] | list[Node], event: Any, place: Place) -> None:
        if len(self.stack) >= DEPTH_LIMIT:
            raise JobError([place.problem(f"the values are nested more than {DEPTH_LIMIT} deep; no job needs that")])
        collection = _Open(value=value, place=place, anchor=event.anchor)
        if flaw := _tag_flaw(event.tag, value, place):
            collection.flaws.append(flaw)
        if event.anchor:
            self.opened.add(event.anchor)
            self.anchors.pop(event.anchor, None)
        self.stack.append(collection)

    def _close(self) -> None:
        ended = self.stack.pop()
        node = Node(value=ended.value, place=ended.place, flaws=tuple(ended.flaws))
        self._add(self._counted(node), ended.anchor)

    def _counted(self, node: Node, count: int = 1) -> Node:
        self.values += count
        if self.values > _VALUES_LIMIT:
            message = f"the values with all their repetitions are more than {_VALUES_LIMIT}; no job needs that"
            raise JobError([node.place.problem(message)])
        return node

    def _alias(self, anchor: str, place: Place) -> Node:
        known = self.anchors.get(anchor)
        if known is not None:
            return self._counted(replace(known, place=place), known.size())
        fact = "stands inside what it repeats" if anchor in self.opened else "repeats nothing that was named before"
        return _spoiled(f"*{anchor} {fact}; write the value out", place)

    def _add(self, node: Node, anchor: str | None) -> None:
        if anchor:
            self.anchors[anchor] = node
        if not self.stack:
            self.root = node
            return
        collection = self.stack[-1]
        if isinstance(collection.value, list):
            collection.value.append(node)
        elif collection.key is None:
            collection.key = node
        else:
            _enter(collection, collection.value, collection.key, node)
            collection.key = None


def _enter(collection: _Open, mapping: dict[str, Node], key: Node, node: Node) -> None:
    word = key.value
    if key.flaws:
        collection.flaws += [replace(flaw, spoils=False) for flaw in key.flaws]
    elif not isinstance(word, str):
        kind = {dict: "a mapping", list: "a list", type(None): "null"}.get(type(word), str(word).lower())
        message = f"{kind} cannot be a key; keys are words (put it in quotes to mean the text)"
        collection.flaws.append(Flaw(message=message, place=key.place, spoils=False))
    elif word in mapping:
        message = f"is given twice, first in line {mapping[word].place.line}; keep one"
        collection.flaws.append(Flaw(message=message, place=key.place, key=word, spoils=False))
    else:
        mapping[word] = replace(node, place=key.place)


def _scalar(event: Any, place: Place) -> Node:
    text: str = event.value
    if event.tag == "!" or (event.tag is None and not event.implicit[0]) or event.tag == f"{_TAG}str":
        return Node(value=text, place=place)
    try:
        value = plain_value(text)
    except ValueError as error:
        return _spoiled(str(error), place)
    flaw = _tag_flaw(event.tag, value, place)
    return Node(value=value, place=place, flaws=(flaw,) if flaw else ())


def _tag_flaw(tag: str | None, value: Any, place: Place) -> Flaw | None:
    """Tags that only repeat the value's type are let through; all others would have an object made, and are not."""
    if tag is None or tag == "!":
        return None
    allowed = _TYPES.get(tag.removeprefix(_TAG)) if tag.startswith(_TAG) else None
    if allowed and isinstance(value, allowed) and (bool in allowed or not isinstance(value, bool)):
        return None
    shown = tag.replace(_TAG, "!!")[:80]
    return Flaw(message=f"the tag {shown} is refused; a job holds plain values only, so delete it", place=place)


def _spoiled(message: str, place: Place) -> Node:
    return Node(value=None, place=place, flaws=(Flaw(message=message, place=place),))


def _syntax_problem(error: yaml.YAMLError, text: str, file: str) -> Problem:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    fact = getattr(error, "problem", None) or getattr(error, "reason", None) or "the text ends too early"
    if mark is None:
        position = int(getattr(error, "position", 0))
        return _problem(file, text.count("\n", 0, position) + 1, f"cannot be read as YAML: {fact}")
    lines = text.splitlines() or [""]
    line = min(mark.line + 1, len(lines))
    hint = "; indent with spaces, not tabs" if "\t" in lines[line - 1] else ""
    return _problem(file, line, f"cannot be read as YAML: {fact} (column {mark.column + 1}){hint}")


def _problem(file: str, line: int, message: str) -> Problem:
    return Place(file=file, line=line).problem(message)
