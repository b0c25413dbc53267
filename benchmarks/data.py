"""How quickly, and in how much memory, do samples get to whoever trains?

    python benchmarks/data.py [--rounds 5] [--json]

Pictures per second, until one process has had every batch of 64 in its hands and summed it, with as warm a page cache
for ours as for the peer; everybody decodes, shifts by up to four pixels, mirrors and normalises:

- images_map_style: PNG files of 28 x 28 pixels in folders; two sampling nodes beside a DataLoader with two workers.
- images_map_style_jpeg: the same pictures as JPEG files of 96 x 96 pixels in colour, which take longer to decode.
- images_arrays: Fashion-MNIST as one array of bytes; the same, beside a Dataset that picks and transforms one by one.
- images_arrays_batched: beside a DataLoader that makes its batches by our own code: what handing them over costs.
- tar_webdataset: the PNG files in tar files of a thousand, beside the package webdataset with two workers.
- in_process, in_process_jpeg: one process; ours reads ahead in a thread, the peer is a DataLoader without workers.

Megabytes by which memory grows in a shuffled pass over a set of 2.5 GB, from when it is open to the highest, in all
processes that have a part in it; `resident_memory` is the most of the four:

- resident_memory_arrays, _tar: one process reads a .npy file of floats, or arrays in tar files. The peer of the first
  is a DataLoader without workers over the mapped file.
- resident_memory_arrays_served, _tar_served: a sampling node reads, and a worker takes its batches.

Seconds from opening ten million records of eight numbers and a target until the first batch of 256 is there, in a fresh
process that has everything imported; `first_batch` is the slowest of the three: first_batch_npy, _parquet, _csv.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from importlib import import_module
from pathlib import Path

import sets
from children import measured
from comparison import Figure, alternate, arguments, show
from dataloader import Augment, Batched, Folder, Memory, loaded, web_dataset
from residency import of_loader, of_mapped
from sampling import Data, inputs, read_here, served
from torch import Tensor

from stretto.data.ledger import Position
from stretto.data.loader import Loader
from stretto.data.sources.fashion_mnist import NORMALISATION
from stretto.data.sources.picture_decoder import NORMALISATIONS

Batches = AbstractContextManager[Iterator[Tensor]]
Way = Callable[[], Batches]
Loading = Callable[[], AbstractContextManager[Loader]]
WARM_UP_S, MEASURED_S = 1.0, 3.0
LARGE_BYTES, LIMIT_MB = 2_500_000_000, 250
RECORDS, FIRST, FIRST_S = 10_000_000, 256, 1.0
WEBDATASET = ("webdataset==1.0.2", "braceexpand==0.1.7")


def per_second(way: Way) -> float:
    """How many pictures a second, once everybody is at work."""
    with way() as batches:
        _take(batches, WARM_UP_S)
        pictures, seconds = _take(batches, MEASURED_S)
        return pictures / seconds


def _take(batches: Iterator[Tensor], seconds: float) -> tuple[int, float]:
    pictures, start = 0, time.perf_counter()
    while time.perf_counter() < start + seconds:
        batch = next(batches)
        batch.sum()
        pictures += len(batch)
    return pictures, time.perf_counter() - start


def speeds(folder: Path, rounds: int) -> Iterator[Figure]:
    """Pictures per second, of seven pairs."""
    for ending, size in (("png", 28), ("jpg", 96)):
        _apart(sets.write_folders, folder / ending, ending, size)
    _apart(sets.write_shards, folder / "shards")
    _install(folder / "webdataset")
    png = Data(word="image_folder", arguments={"folder": f"{folder}/png", "size": 28, "channels": 1})
    jpeg = Data(word="image_folder", arguments={"folder": f"{folder}/jpg", "size": 96, "channels": 3})
    tar = Data(word="tar", arguments={"shards": f"{folder}/shards", "size": 28, "channels": 1})
    array = Data(word="fashion_mnist")

    def files(ending: str, mode: str) -> Folder:
        return Folder(folder / ending, mode, Augment(NORMALISATIONS[len(mode)]))

    pairs: dict[str, tuple[Way, Way, str]] = {
        "images_map_style": (_served(png), lambda: loaded(files("png", "L")), "ratio >= 1.5"),
        "images_map_style_jpeg": (_served(jpeg), lambda: loaded(files("jpg", "RGB")), "ratio >= 1.5"),
        "images_arrays": (_served(array), lambda: loaded(Memory(Augment(NORMALISATION))), ""),
        "images_arrays_batched": (_served(array), lambda: loaded(Batched(array)), ""),
        "tar_webdataset": (
            _served(tar),
            lambda: web_dataset(folder / "webdataset", folder / "shards", Augment(NORMALISATIONS[1])),
            "",
        ),
        "in_process": (_read_here(png), lambda: loaded(files("png", "L"), workers=0), ""),
        "in_process_jpeg": (_read_here(jpeg), lambda: loaded(files("jpg", "RGB"), workers=0), ""),
    }
    for name, (mine, theirs, goal) in pairs.items():
        found = _beside(rounds, partial(per_second, mine), partial(per_second, theirs))
        yield Figure(name=name, unit="pictures/s", goal=goal, ours=found[0], peer=found[1])


def memory(folder: Path, rounds: int) -> Iterator[Figure]:
    """Megabytes by which memory grows, four times."""
    rows, shards = folder / "rows", folder / "arrays"
    _apart(sets.write_rows, rows, LARGE_BYTES, 1024)
    _apart(sets.write_array_shards, shards, LARGE_BYTES, 16384)
    array = {"inputs": f"{rows}/inputs.npy", "targets": f"{rows}/targets.npy", "share": 0.01}
    arrays, tar = (
        Data(word=word, arguments=said, transforms=())
        for word, said in (("arrays", array), ("tar", {"shards": str(shards), "share": 0.01}))
    )
    ways: dict[str, tuple[Loading, Callable[[], float] | None]] = {
        "arrays": (lambda: read_here(arrays, FIRST), lambda: of_mapped(rows / "inputs.npy", FIRST)),
        "arrays_served": (lambda: served(arrays, FIRST, nodes=1), None),
        "tar": (lambda: read_here(tar), None),
        "tar_served": (lambda: served(tar, nodes=1), None),
    }
    goal, figures = f"ours <= {LIMIT_MB}", []
    for name, (mine, theirs) in ways.items():
        found = _beside(rounds, lambda mine=mine: of_loader(mine()), theirs)
        figures.append(Figure(name=f"resident_memory_{name}", unit="MB", goal=goal, ours=found[0], peer=found[1]))
    yield from _and_the_most("resident_memory", figures)


def beginnings(folder: Path, rounds: int) -> Iterator[Figure]:
    """Seconds until the first batch, of three formats."""
    table = folder / "table"
    _apart(sets.write_table, table, RECORDS)
    columns = {"target": "y", "inputs": sets.COLUMNS}
    said = {
        "arrays": {"inputs": f"{table}/inputs.npy", "targets": f"{table}/targets.npy"},
        "parquet": {"files": f"{table}/rows.parquet", **columns},
        "csv": {"files": f"{table}/rows.csv", **columns},
    }
    for word in ("pyarrow.parquet", "pyarrow.csv", *(f"stretto.data.sources.{word}" for word in said)):
        import_module(word)
    figures = []
    for word, given in said.items():
        data = Data(word=word, arguments=given, transforms=())
        seconds, _ = _beside(rounds, partial(first_batch, data), None)
        name = "npy" if word == "arrays" else word
        figures.append(Figure(name=f"first_batch_{name}", unit="s", goal=f"ours <= {FIRST_S}", ours=seconds, peer=[]))
    yield from _and_the_most("first_batch", figures)


def first_batch(data: Data) -> float:
    """The seconds until a set is open and its first batch is there."""
    start = time.perf_counter()
    with read_here(data, FIRST) as loader:
        _wanted, (batch,) = next(loader.at(Position()))
        batch.inputs.sum()
        return time.perf_counter() - start


def _and_the_most(name: str, figures: list[Figure]) -> list[Figure]:
    most = [max(each) for each in zip(*(figure.ours for figure in figures), strict=True)]
    return [Figure(name=name, unit=figures[0].unit, goal=figures[0].goal, ours=most, peer=[]), *figures]


def _beside(
    rounds: int, mine: Callable[[], float], theirs: Callable[[], float] | None
) -> tuple[list[float], list[float]]:
    """Measurements, each in a process of its own; in alternating order where there is a peer."""
    if theirs is None:
        return [measured(mine) for _ in range(rounds)], []
    return alternate(rounds, lambda: measured(mine), lambda: measured(theirs))


def _served(data: Data) -> Way:
    return lambda: inputs(served(data))


def _read_here(data: Data) -> Way:
    return lambda: inputs(read_here(data))


def _apart(write: Callable[..., None], *given: object) -> None:
    """Write a set in a process of its own, so that this one keeps neither its memory nor its threads."""
    measured(lambda: write(*given) or 0.0)


def _install(folder: Path) -> None:
    """Bring the peer that is a package, where nobody else finds it; PyYAML, which it needs, is here already."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), *WEBDATASET]
    subprocess.run(command, check=True)


def main() -> None:
    """Measure everything below one folder, which is removed at the end."""
    chosen = arguments(__doc__ or "", rounds=5)
    with tempfile.TemporaryDirectory(prefix="stretto-data-") as place:
        tempfile.tempdir = place  # so that sockets and whatever else is temporary lie there, too
        figures = [figure for part in (speeds, memory, beginnings) for figure in part(Path(place), chosen.rounds)]
    show(figures, chosen.json)


if __name__ == "__main__":
    main()
