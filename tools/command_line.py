"""Writes docs/reference/command-line.md from the commands themselves; `--check` fails when it is stale."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from stretto.cli import EXIT_CODES, stretto

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "command-line.md"
OPENING = """# The command line

*Written by `tools/command_line.py` from the commands in `src/stretto/cli.py`; do not edit.*

`stretto COMMAND --help` shows the same on a terminal; `python -m stretto` is the same program. KEY=VALUE is any
[key of a job](job.md), with the value written as in YAML. Modules of yours that a job names are looked for in the
working directory, too. What a program may read goes to stdout, everything else to stderr.
"""


def reference() -> str:
    """The page: one section for every command, in the order of the alphabet, and the exit codes."""
    parts = [OPENING]
    for words, command in commands(stretto, ("stretto",)):
        parts += section(words, command)
    return "\n".join([*parts, "## Exit codes\n", *exit_codes()]) + "\n"


def commands(group: click.Group, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command that does something, with the words that call it."""
    for name, command in sorted(group.commands.items()):
        if isinstance(command, click.Group):
            yield from commands(command, (*words, name))
        else:
            yield (*words, name), command


def section(words: tuple[str, ...], command: click.Command) -> Iterator[str]:
    """One command: what it does, how it is called, its options, an example."""
    context = click.Context(command, info_name=" ".join(words))
    yield f"## {' '.join(words)}\n\n{inspect.cleandoc(command.help or '')}\n"
    yield f"```text\n{' '.join([*words, *command.collect_usage_pieces(context)])}\n```\n"
    options = [each for each in command.params if isinstance(each, click.Option)]
    if options:
        yield "| option | default | meaning |\n|---|---|---|"
        yield from (row(option) for option in options)
        yield ""
    example = (command.epilog or "").partition("Example:\n")[2]
    if example:
        yield f"```bash\n{inspect.cleandoc(example)}\n```\n"


def row(option: click.Option) -> str:
    """One option as a line of a table."""
    name = option.opts[0] if option.is_flag else f"{option.opts[0]} {option.make_metavar(click.Context(stretto))}"
    default = "" if option.is_flag or option.default is None else f"`{option.default}`"
    return f"| `{name}` | {default} | {option.help or ''} |"


def exit_codes() -> Iterator[str]:
    """The exit codes that the command line's own help lists, as a table."""
    listed = " ".join(EXIT_CODES.replace("\b", "").split()).removeprefix("Exit codes:").rstrip(".")
    yield "| code | meaning |\n|---|---|"
    for entry in listed.split(" · "):
        code, _, meaning = entry.strip().partition(" ")
        yield f"| {code} | {meaning} |"


def main() -> None:
    """Write the page, or with --check fail when it is stale."""
    text = reference()
    if "--check" not in sys.argv:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != text:
        sys.exit("docs/reference/command-line.md is stale; run: python tools/command_line.py")


if __name__ == "__main__":
    main()
