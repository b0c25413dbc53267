"""Reading a job, from a file or from Python: either a `Job`, or every mistake that is in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path as File
from typing import Any

from pydantic import ValidationError

from stretto.errors import JobError, Problem
from stretto.job.combination import COMBINATIONS, Combination
from stretto.job.document import read_document
from stretto.job.job import Job
from stretto.job.node import Node, Path, Place, dotted, node_of
from stretto.job.override import override
from stretto.job.wording import path_of, sentence, shown

# What stands in for a required key that is missing, so that the rest can still be looked at as a whole.
_PLACEHOLDERS = {"model": "linear", "data": "arrays", "task": "classification"}


def read_job(path: str | File, overrides: Sequence[str] = (), text: str | None = None) -> Job:
    """Read the job file `path` (or its `text`, when that is at hand), with `key=value` overrides put in.

    Raises JobError with all problems, in the order of their lines, overrides last.
    """
    file = str(path)
    problems: list[Problem] = []
    try:
        root = read_document(_content(file) if text is None else text, file)
    except JobError as error:
        problems += error.problems
        root = Node(value=None, place=Place(file=file, line=1))
    root, unclear = override(root, overrides) if not problems else (root, [])
    return _job(root, problems + unclear)


def job_from(mapping: Mapping[str, Any]) -> Job:
    """Make a job of a mapping from Python, with the same checks; problems name the key."""
    return _job(node_of(mapping, Place()), [])


def impossible(job: Job) -> list[Problem]:
    """What in a job cannot be true together, for a job that was put together by other means than reading."""
    return [Place().problem(message, key) for rule in COMBINATIONS for key, message in rule.find(job)]


def _content(file: str) -> bytes:
    try:
        return File(file).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise JobError([Problem(message=f"cannot be read: {reason}", file=file)]) from None


def _job(root: Node, problems: list[Problem]) -> Job:
    if problems and root.value is None:
        raise JobError(problems)
    if not isinstance(root.value, dict):
        raise JobError([*problems, *(_flaws(root) if root.spoiled else [_no_mapping(root)])])
    spoiled = [path for path, node in root.walk() if node.spoiled]
    problems = [*problems, *_flaws(root)]
    job, faults = _validated(root.plain(), spoiled)
    problems += [root.nearest(path).place.problem(message, dotted(path)) for path, message in faults]
    bad = [*spoiled, *(path for path, _ in faults)]
    whole = job or _remainder(root.plain(), bad)
    if whole is not None:
        problems += _contradictions(whole, root, bad)
    if problems or job is None:
        raise JobError(sorted(dict.fromkeys(problems), key=_order))
    return job


def _no_mapping(root: Node) -> Problem:
    kind = f"a job is a mapping of keys and values, not {shown(root.value)}"
    fact = "the job is empty" if root.value is None else kind
    return root.place.problem(f"{fact}; give at least model, data and task")


def _flaws(root: Node) -> Iterator[Problem]:
    for path, node in root.walk():
        for flaw in node.flaws:
            inside = path if flaw.key is None else (*path, flaw.key)
            yield flaw.place.problem(flaw.message, dotted(inside))


def _validated(values: Any, spoiled: list[Path]) -> tuple[Job | None, list[tuple[Path, str]]]:
    """The job, or what is wrong with each key; what was reported while reading is not reported again."""
    try:
        return Job.model_validate(values), []
    except ValidationError as error:
        found = [(path_of(each), sentence(each)) for each in error.errors(include_url=False)]
        return None, [(path, message) for path, message in found if not _within(path, spoiled)]


def _within(path: Path, others: list[Path]) -> bool:
    return any(path[: len(other)] == other for other in others)


def _remainder(values: dict[str, Any], bad: list[Path]) -> Job | None:
    """The job without its wrong parts, for looking at how the others go together; None when too little is left."""
    for path in bad:
        values = _without(values, path)
    try:
        return Job.model_validate(_PLACEHOLDERS | values)
    except ValidationError:
        return None


def _without(values: Any, path: Path) -> Any:
    """A copy without what is at `path`; of a list or a choice nothing is left when a part of it is wrong."""
    step, rest = path[0], path[1:]
    if not isinstance(values, dict) or step not in values:
        return values
    inside = _without(values[step], rest) if rest else None
    copy = {key: value for key, value in values.items() if key != step}
    whole = isinstance(values[step], dict) and "name" not in values[step] and rest
    return {**copy, step: inside} if whole else copy


def _contradictions(job: Job, root: Node, bad: list[Path]) -> Iterator[Problem]:
    for rule in COMBINATIONS:
        if not any(_touches(path, key) for path in bad for key in rule.keys):
            for key, message in rule.find(job):
                yield _place(root, key, rule).problem(message, key)


def _touches(path: Path, key: str) -> bool:
    """Whether one of the two lies within the other."""
    return all(step == word for step, word in zip(path, key.split("."), strict=False))


def _place(root: Node, key: str, rule: Combination) -> Place:
    """Where to show a contradiction: at the key to change, or where any of the others was written."""
    for candidate in (key, *rule.keys):
        path = tuple(candidate.split("."))
        if root.has(path):
            return root.nearest(path).place
    return root.place


def _order(problem: Problem) -> tuple[bool, int]:
    return problem.line is None, problem.line or 0
