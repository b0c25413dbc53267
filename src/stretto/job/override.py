"""`training.lr=0.1` on the command line: one value of the job, given after the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from stretto.errors import JobError, Problem
from stretto.job.document import read_document
from stretto.job.fields import default_word
from stretto.job.node import Node, Path, Place


def override(root: Node, texts: Sequence[str]) -> tuple[Node, list[Problem]]:
    """The job's nodes with every override put in, in order, and what is wrong with the overrides as texts."""
    problems: list[Problem] = []
    for text in texts:
        try:
            path, node = _parsed(text)
        except JobError as error:
            problems += error.problems
        else:
            root = _put(root, (), path, node)
    return root, problems


def _parsed(text: str) -> tuple[Path, Node]:
    place = Place(file=text)
    key, equals, value = text.partition("=")
    steps = key.strip().split(".")
    if not equals or not all(steps):
        raise JobError([place.problem("is no override; write key=value, such as training.lr=0.1")])
    return tuple(steps), _at(_value(value, place), place)


def _value(text: str, place: Place) -> Node:
    try:
        return read_document(text, "override")
    except JobError as error:
        raise JobError([place.problem(problem.message) for problem in error.problems]) from None


def _at(node: Node, place: Place) -> Node:
    """The same values, all of them standing at `place`: an override has no lines."""
    value = node.value
    if isinstance(value, dict):
        value = {key: _at(each, place) for key, each in value.items()}
    elif isinstance(value, list):
        value = [_at(each, place) for each in value]
    return Node(value=value, place=place, flaws=tuple(replace(flaw, place=place) for flaw in node.flaws))


def _put(node: Node | None, done: Path, path: Path, given: Node) -> Node:
    """A copy of `node`, which stands at `done`, in which `path` has the value `given`; what is missing is made."""
    if not path:
        return given
    step, inside, rest = str(path[0]), (*done, path[0]), path[1:]
    if node is not None and isinstance(node.value, list) and step.isdecimal() and int(step) < len(node.value):
        items = list(node.value)
        items[int(step)] = _put(items[int(step)], inside, rest, given)
        return replace(node, value=items)
    mapping = _mapping(node, done, given.place)
    mapping[step] = _put(mapping.get(step), inside, rest, given)
    if node is not None and isinstance(node.value, dict):
        return replace(node, value=mapping)
    return Node(value=mapping, place=given.place)


def _mapping(node: Node | None, path: Path, place: Place) -> dict[str, Node]:
    """What stands at `path` as a mapping: a bare word is the name of a choice, any other value gives way."""
    if node is None:
        word = default_word(path)
        return {"name": Node(value=word, place=place)} if word else {}
    if isinstance(node.value, dict):
        return dict(node.value)
    return {"name": node} if isinstance(node.value, str) else {}
