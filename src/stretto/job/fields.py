"""What keys a job has and where they belong, asked of the models themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic.fields import FieldInfo

from stretto.errors import nearest
from stretto.job.checkpoint import Best
from stretto.job.choice import Choice
from stretto.job.job import Job
from stretto.job.node import Path, dotted
from stretto.job.section import Section


def field_at(path: Path) -> FieldInfo | None:
    """The field that a path leads to, or None when the job has no such key."""
    section: type[Section] | None = Job
    field: FieldInfo | None = None
    for step in path:
        field = section.model_fields.get(str(step)) if section else None
        section = _section(field)
    return field


def default_word(path: Path) -> str | None:
    """The word that stands at `path` when a job says nothing there, for example `AdamW`."""
    field = field_at(path)
    default = field.default if field else None
    return default.name if isinstance(default, Choice | Best) else None


def all_fields(section: type[Section] = Job, path: Path = ()) -> Iterator[tuple[Path, FieldInfo]]:
    """Every key of the job, sections before what is in them."""
    for name, field in section.model_fields.items():
        yield (*path, name), field
        inner = _section(field)
        if inner and inner is not Best:
            yield from all_fields(inner, (*path, name))


def meant_key(path: Path) -> str | None:
    """The known key that an unknown one was probably meant to be: in the same section, or of that name elsewhere."""
    word = str(path[-1])
    paths = [known for known, _ in all_fields()]
    siblings = {str(known[-1]): known for known in paths if known[:-1] == path[:-1]}
    close = nearest(word, siblings)
    if close:
        return dotted(siblings[close])
    elsewhere = {str(known[-1]): known for known in reversed(paths)}
    close = nearest(word, elsewhere)
    return dotted(elsewhere[close]) if close else None


def keys_of(path: Path) -> list[str]:
    """The keys of the section at `path`."""
    section: Any = _section(field_at(path)) if path else Job
    return list(section.model_fields) if section else []


def _section(field: FieldInfo | None) -> type[Section] | None:
    kind = field.annotation if field else None
    return kind if isinstance(kind, type) and issubclass(kind, Section) else None
