"""Folders, patterns and lists name files, in an order that is the same everywhere."""

import fsspec
import pytest

from stretto.data.sources.listing import expand_braces, list_files
from stretto.errors import DataError

NAMES = ["b.tar", "a.tar", "c.txt", ".hidden.tar"]


@pytest.fixture(params=["local", "memory"])
def folder(request, tmp_path):
    """The same four files on a disk and in fsspec's memory."""
    if request.param == "memory":
        system = fsspec.filesystem("memory")
        for name in NAMES:
            system.pipe_file(f"/shards/{name}", b"")
        system.mkdir("/shards/below.tar")
        yield "memory:///shards"
        system.rm("/shards", recursive=True)
    else:
        for name in NAMES:
            (tmp_path / name).touch()
        (tmp_path / "below.tar").mkdir()
        yield str(tmp_path)


@pytest.mark.parametrize(
    "place, names",
    [
        ("", ["a.tar", "b.tar"]),
        ("/?.tar", ["a.tar", "b.tar"]),
        ("/[bc].*", ["b.tar", "c.txt"]),
        ("/{b,a}.tar", ["b.tar", "a.tar"]),
        ("/c.txt", ["c.txt"]),
        ("/not-there.tar", ["not-there.tar"]),
    ],
    ids=["folder", "question mark", "brackets", "braces", "file", "missing"],
)
def test_what_is_meant_is_listed(folder, place, names):
    assert list_files(folder + place, ".tar") == [f"{folder}/{name}" for name in names]


def test_a_list_keeps_its_order(folder):
    listed = list_files([f"{folder}/c.txt", f"{folder}/?.tar"])
    assert [path.rpartition("/")[2] for path in listed] == ["c.txt", "a.tar", "b.tar"]


def test_an_address_of_the_web_is_one_file_whatever_is_in_it():
    assert list_files("https://host/a.tar?signature=[x]*") == ["https://host/a.tar?signature=[x]*"]


def test_a_name_that_looks_like_a_pattern_but_exists_is_a_name(tmp_path):
    (tmp_path / "set[1].tar").touch()
    assert list_files(f"{tmp_path}/set[1].tar") == [f"{tmp_path}/set[1].tar"]


@pytest.mark.parametrize("place", ["", "/*.tar"], ids=["folder", "pattern"])
def test_a_cache_before_a_protocol_is_kept(place):
    system = fsspec.filesystem("memory")
    system.pipe_file("/kept/a.tar", b"")
    assert list_files(f"filecache::memory:///kept{place}", ".tar") == ["filecache::memory:///kept/a.tar"]
    system.rm("/kept", recursive=True)


def test_a_path_with_the_protocol_of_local_files_is_a_local_path(tmp_path):
    (tmp_path / "a.tar").touch()
    assert list_files(f"file://{tmp_path}", ".tar") == [f"{tmp_path}/a.tar"]


@pytest.mark.parametrize(
    "pattern, written",
    [
        ("a{08..11}b", ["a08b", "a09b", "a10b", "a11b"]),
        ("a{8..10}", ["a8", "a9", "a10"]),
        ("{x,y}{1..2}", ["x1", "x2", "y1", "y2"]),
        ("{,more}a", ["a", "morea"]),
        ("a{b}c{", ["a{b}c{"]),
        ("{3..1}", []),
    ],
)
def test_braces_are_written_out(pattern, written):
    assert list(expand_braces(pattern)) == written


@pytest.mark.parametrize(
    "places, words",
    [
        ([], r"\[\] names no file; name at least one"),
        ("{3..1}.tar", "names no file"),
        ("*.parquet", r"\*\.parquet holds no file such as \*\.tar; name another"),
        (".", r"\. holds no file such as \*\.tar"),
        ("memory://no-such-folder/*.tar", "holds no file"),
        ("{0..999999999999}.tar", "means more than 1,000,000 files"),
        ("{0..2000}{0..2000}.tar", "means more than 1,000,000 files"),
        ("nowhere://a/*.tar", "nowhere needs another package"),
    ],
    ids=["nothing", "backwards", "pattern", "folder", "memory", "endless", "product", "protocol"],
)
def test_what_means_no_files_is_refused(tmp_path, monkeypatch, places, words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=words):
        list_files(places, ".tar")
