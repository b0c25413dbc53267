"""Which files a person means by a folder, a pattern, or a list of these."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from glob import glob, has_magic
from itertools import product
from math import prod
from pathlib import Path

from stretto.data.sources.files import find_system, is_remote, local_path, refusal
from stretto.errors import DataError

Ending = str | tuple[str, ...]
MOST_FILES = 1_000_000
_BRACES = re.compile(r"\{([^{}]*)\}")
_NUMBERS = re.compile(r"(\d+)\.\.(\d+)")


def list_files(places: str | Sequence[str], ending: Ending = "") -> list[str]:
    """Return the files that are meant: those of folders and patterns sorted, those that are named as they stand.

    A place is a file, a folder (of whose files, at any depth, those with the ending are taken), a pattern with `*`, `?`
    or `[…]`, or one with braces: `shard-{000..009}.tar`, `{a,b}.tar`. Folders and patterns must hold a file at least.
    What begins with a dot or an underscore was left by the program that wrote the files, and is none.
    """
    named = [places] if isinstance(places, str) else places
    files = [file for place in named for each in expand_braces(place) for file in _list(each, ending)]
    if not files:
        raise DataError(f"{places!r} names no file; name at least one")
    return files


def expand_braces(pattern: str) -> Iterator[str]:
    """Write out numbers `{000..009}` and alternatives `{a,b}`; other braces stay.

    >>> list(expand_braces("{a,b}-{09..10}.tar"))
    ['a-09.tar', 'a-10.tar', 'b-09.tar', 'b-10.tar']
    """
    pieces = _BRACES.split(pattern)  # what is outside and what is inside of braces take turns
    choices = [_alternatives(piece) if number % 2 else [piece] for number, piece in enumerate(pieces)]
    if prod(map(len, choices)) > MOST_FILES:
        raise DataError(f"{pattern} means more than {MOST_FILES:,} files; name fewer, larger ones")
    return map("".join, product(*choices))


def _alternatives(inside: str) -> Sequence[str]:
    numbers = _NUMBERS.fullmatch(inside)
    if numbers is None:
        return inside.split(",") if "," in inside else [f"{{{inside}}}"]
    width, last = len(numbers[1]), min(int(numbers[2]), int(numbers[1]) + MOST_FILES)
    return [f"{number:0{width}d}" for number in range(int(numbers[1]), last + 1)]


def _list(place: str, ending: Ending) -> list[str]:
    found = _list_remote(place, ending) if is_remote(place) else _list_local(local_path(place), ending)
    if not found:
        meant = ending if isinstance(ending, str) else " or *".join(ending)
        raise DataError(f"{place} holds no file{meant and f' such as *{meant}'}; name another folder or pattern")
    return sorted(found)


def _list_local(place: str, ending: Ending) -> list[str]:
    if Path(place).is_dir():
        return list(_walk(place, ending))
    if not has_magic(place) or Path(place).exists():
        return [place]
    return glob(place)  # noqa: PTH207 (Path.glob takes no absolute patterns)


def _walk(folder: str, ending: Ending) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            for each in entries:
                if each.is_dir() and _is_meant(each.name):
                    yield from _walk(each.path, ending)
                elif _is_meant(each.name, ending) and each.is_file():
                    yield each.path
    except OSError as error:
        raise refusal(folder, error) from error


def _list_remote(place: str, ending: Ending) -> list[str]:
    # A web server has no folders, and to ask a store whether each of a thousand shards is one would take a minute.
    if place.startswith(("http://", "https://")) or (place.endswith(ending or "/") and not has_magic(place)):
        return [place]
    system, path = find_system(place)
    caches = "".join(place.rpartition("::")[:2])  # as in filecache::s3://

    def name(found: str) -> str:
        return f"{caches}{system.unstrip_protocol(found)}"

    try:
        if has_magic(path):
            return [name(found) for found in system.glob(path)]
        if not system.isdir(path):
            return [place]
        found = [each for each in system.find(path) if each.endswith(ending)]
        return [name(each) for each in found if all(map(_is_meant, each[len(path) :].split("/")))]
    except Exception as error:  # every protocol has errors of its own
        raise refusal(place, error) from error


def _is_meant(name: str, ending: Ending = "") -> bool:
    return name.endswith(ending) and not name.startswith((".", "_"))
