"""Where the samples of tar files are, and what is to be learned of each: some tens of bytes per sample."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from stretto.data.sources.files import open_file
from stretto.data.sources.tar_headers import Member, Window, read_members
from stretto.errors import DataError

Numbers = np.ndarray[Any, np.dtype[np.int64]]
LONGEST_TARGET = 2**16
LARGEST_CLASS = 2**31


class Flaw(NamedTuple):
    """Where in its file something is wrong with a sample, and what."""

    offset: int
    reason: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which members of a sample count: the first that has one of the endings, and the target.

    A target is a member that holds a whole number, `cls`, or one in the mapping that a member `json` holds: `json.key`.
    """

    endings: tuple[str, ...]
    target: str

    @property
    def target_ending(self) -> str:
        """The ending of the member that has the target."""
        return "json" if self.target.startswith("json.") else self.target

    def parse(self, content: bytes) -> int:
        """Read a class; `ValueError` says why there is none."""
        found = int(content) if self.target_ending == self.target else self._look_up(json.loads(content))
        if not 0 <= found < LARGEST_CLASS:
            raise ValueError(f"{found} is out of range")
        return found

    def _look_up(self, table: Any) -> int:
        key = self.target.removeprefix("json.")
        found = table.get(key) if isinstance(table, dict) else None
        if type(found) is not int:
            raise ValueError(f"its {key} is {found!r:.80}")
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class TarIndex:
    """All samples of some tar files, also those with a flaw, whose label is given as 0 because nobody knows it.

    `ends` says at which sample each file ends; `ending` is that of the first sample without a flaw.
    """

    paths: tuple[str, ...]
    ends: Numbers
    offsets: Numbers
    sizes: Numbers
    labels: Numbers
    flaws: dict[int, Flaw]
    ending: str

    def __len__(self) -> int:
        return len(self.offsets)

    def files_of(self, samples: Numbers) -> Numbers:
        """Return which of the files each sample is in."""
        return np.asarray(np.searchsorted(self.ends, samples, side="right"))

    def path_of(self, sample: int) -> str:
        """Return the file that a sample is in."""
        return self.paths[int(self.files_of(np.array(sample)))]


class _Sample(NamedTuple):
    offset: int
    size: int = 0
    label: int = 0
    ending: str = ""
    flaw: str | None = None


def index_tars(paths: Sequence[str], wanted: Wanted) -> TarIndex:
    """Go through the headers of tar files; neighbours whose names are equal up to the first dot are a sample."""
    ends, offsets, sizes, labels = (array("q") for _ in range(4))
    flaws: dict[int, Flaw] = {}
    ending: str | None = None
    for path in paths:
        for sample in _samples(Window(open_file(path)), wanted):
            if sample.flaw is not None:
                flaws[len(offsets)] = Flaw(sample.offset, sample.flaw)
            elif ending is None:
                ending = sample.ending
            offsets.append(sample.offset)
            sizes.append(sample.size)
            labels.append(sample.label)
        ends.append(len(offsets))
    index = TarIndex(
        paths=tuple(paths),
        ends=np.array(ends),
        offsets=np.array(offsets),
        sizes=np.array(sizes),
        labels=np.array(labels),
        flaws=flaws,
        ending=ending or "",
    )
    if ending is None:
        raise _nothing(index, wanted)
    return index


def _nothing(index: TarIndex, wanted: Wanted) -> DataError:
    endings = ", ".join([*wanted.endings, wanted.target_ending])
    if not len(index):
        return DataError(
            f"{index.paths[0]} has no members that end with {endings}; say others (data.input, data.target)"
        )
    offset, reason = index.flaws[0]
    return DataError(f"none of {len(index)} samples can be read: {index.path_of(0)} at offset {offset}: {reason}")


def _samples(window: Window, wanted: Wanted) -> Iterator[_Sample]:
    for _, group in groupby(read_members(window), lambda member: _split(member.name)[0]):
        members = list(group)
        flawed = next((member for member in members if member.flaw), None)
        if flawed is not None:
            yield _Sample(flawed.offset, flaw=flawed.flaw)
            continue
        by_ending = {_split(member.name)[1]: member for member in members}
        ending = next((each for each in by_ending if each in wanted.endings), "")
        if ending or wanted.target_ending in by_ending:  # others are no samples: a description of the set, say
            yield _sample(window, wanted, ending, by_ending)


def _sample(window: Window, wanted: Wanted, ending: str, members: dict[str, Member]) -> _Sample:
    first = next(iter(members.values()))
    target = members.get(wanted.target_ending)
    if not ending:
        return _Sample(first.offset, flaw=f"beside {first.name!r} nothing ends with {', '.join(wanted.endings)}")
    if target is None or target.size > LONGEST_TARGET:
        return _Sample(
            first.offset, flaw=f"beside {first.name!r} nothing that tells a class ends with {wanted.target_ending}"
        )
    try:
        label = wanted.parse(window.take(target.offset, target.size))
    except (ValueError, RecursionError) as error:
        return _Sample(target.offset, flaw=f"{target.name!r} tells no class: {error}")
    return _Sample(members[ending].offset, members[ending].size, label, ending)


def _split(name: str) -> tuple[str, str]:
    """A sample's key, which goes to the first dot after the folders, and the ending behind it."""
    folders, slash, base = name.rpartition("/")
    stem, _, ending = base.partition(".")
    return folders + slash + stem, ending.lower()
