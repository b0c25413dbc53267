"""Writes docs/reference/job.md and docs/reference/job.schema.json from the job's models; `--check` fails when stale."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic.fields import FieldInfo

from stretto.job import Budget, Choice, json_schema
from stretto.job.checkpoint import Best
from stretto.job.choice import Words
from stretto.job.fields import all_fields
from stretto.job.section import Section

REFERENCE = Path(__file__).parent.parent / "docs" / "reference"
OPENING = """# The job file

*Written by `tools/reference.py` from the models in `src/stretto/job`; do not edit.*

A job is a YAML file. `model`, `data` and `task` are required, everything else has the default shown. Any key can be
given on the command line after the file: `stretto train job.yaml training.lr=0.1 model.depth=14`.

- A **choice** is a word, or a word with arguments: `model: resnet`, or `model: {name: resnet, depth: 8}`. Instead of a
  known word it may name anything that Python can import, as `module:attribute`.
- A **budget** is a number with a unit, `3ep`, `2000step`, `10min` (also `s` and `h`), or several joined by `or`, of
  which the first that is reached counts: `10ep or 5min`.
- YAML is read as version 1.2 has it: `on`, `off`, `yes` and `no` are texts, `1e-3` is a number. What readers of YAML
  disagree about (dates, `010`, `1:30`, `1_000`) has to be put in quotes. Tags and keys given twice are refused.

An editor with a YAML language server completes and checks a job when its first line is
`# yaml-language-server: $schema=job.schema.json`; the schema stands beside this page.
"""


def reference() -> str:
    """The page: one table for the keys of the job itself, one for each section."""
    fields = list(all_fields())
    parts = [OPENING, *_table("job", [(path, field) for path, field in fields if len(path) == 1])]
    for path, field in fields:
        if _is_section(field):
            inside = [(key, each) for key, each in fields if len(key) == 2 and key[0] == path[0]]
            parts += _table(str(path[0]), inside)
    return "\n".join(parts)


def _table(title: str, fields: Sequence[tuple[tuple[str | int, ...], FieldInfo]]) -> Iterator[str]:
    yield f"## {title}\n\n| key | type | default | meaning |\n|---|---|---|---|"
    for path, field in fields:
        kind, default = ("section", "") if _is_section(field) else (_kind(field), _default(field))
        yield f"| `{path[-1]}` | {kind} | {default} | {_cell(field.description or '')} |"
    yield ""


def _is_section(field: FieldInfo) -> bool:
    kind = field.annotation
    return isinstance(kind, type) and issubclass(kind, Section) and kind is not Best


def _kind(field: FieldInfo) -> str:
    known = [rule.known for rule in field.metadata if isinstance(rule, Words)]
    if known and known[0]:
        return f"choice: {', '.join(known[0])}, …"
    return _cell(_type(field.annotation))


def _type(kind: Any) -> str:
    names = {Choice: "choice", Best: "metric", Budget: "budget", str: "text", int: "whole number", float: "number"}
    names |= {bool: "true or false", type(None): "null"}
    if kind in names:
        return names[kind]
    inner = get_args(kind)
    if get_origin(kind) is tuple:
        return f"list of {_type(inner[0])}s"
    if get_origin(kind) is dict:
        return "mapping of numbers"
    if hasattr(kind, "__metadata__"):
        return _type(inner[0])
    return " or ".join(each if isinstance(each, str) else _type(each) for each in inner)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.default
    if isinstance(value, Choice | Best):
        return f"`{value.name}`"
    return f"`{value}`" if isinstance(value, Budget) else f"`{json.dumps(value)}`".replace('"', "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def pages() -> dict[Path, str]:
    """What each file of the reference should hold."""
    schema = json.dumps(json_schema(), indent=2) + "\n"
    return {REFERENCE / "job.md": reference(), REFERENCE / "job.schema.json": schema}


def main(arguments: list[str]) -> int:
    """Write the pages, or with `--check` say which are stale."""
    stale = [path for path, text in pages().items() if not path.exists() or path.read_text("utf-8") != text]
    if "--check" in arguments:
        for path in stale:
            print(f"{path.name} is stale; run: python tools/reference.py")
        return 1 if stale else 0
    for path, text in pages().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
