"""Files are read at any place, here or behind a protocol, and what cannot be read is said with its numbers."""

import os
import threading
from contextlib import contextmanager
from pathlib import Path

import fsspec
import pytest

from stretto.data.sources.files import LocalFile, open_file, read_whole
from stretto.errors import DataError

CONTENT = bytes(range(256)) * 40


@pytest.fixture(params=["plain", "file://", "memory://"])
def path(request, tmp_path):
    """The same file, as a path, by the protocol of local files, and in fsspec's memory."""
    if request.param == "memory://":
        system = fsspec.filesystem("memory")
        system.pipe_file("/files/a.bin", CONTENT)
        yield "memory://files/a.bin"
        system.rm("/files", recursive=True)
    else:
        (tmp_path / "a.bin").write_bytes(CONTENT)
        yield f"{'' if request.param == 'plain' else request.param}{tmp_path}/a.bin"


def test_any_part_of_a_file_can_be_read(path):
    file = open_file(path)
    assert file.size == len(CONTENT)
    assert file.read_at(300, 20) == CONTENT[300:320]
    assert file.read_ranges([(9000, 3), (0, 2), (5, 0)]) == [CONTENT[9000:9003], CONTENT[:2], b""]
    assert read_whole(path) == CONTENT


def test_a_part_beyond_the_end_says_where_the_end_is(path):
    with pytest.raises(DataError, match=r"a\.bin ends at offset 10240, but bytes 10000 to 11000 are needed"):
        open_file(path).read_at(10000, 1000)


def test_several_threads_read_one_file_at_once(path):
    file, wrong = open_file(path), []

    def read(start):
        for offset in range(start, 10000, 97):
            if file.read_at(offset, 50) != CONTENT[offset : offset + 50]:
                wrong.append(offset)

    threads = [threading.Thread(target=read, args=(start,)) for start in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_file_that_is_forgotten_is_closed(tmp_path):
    (tmp_path / "a.bin").write_bytes(CONTENT)
    descriptors = Path("/proc/self/fd")
    before = len(list(descriptors.iterdir()))
    for _ in range(10):
        LocalFile(str(tmp_path / "a.bin"))
    assert len(list(descriptors.iterdir())) == before


def test_an_empty_file_is_read_as_nothing(tmp_path):
    (tmp_path / "empty").touch()
    assert read_whole(str(tmp_path / "empty")) == b""


@pytest.mark.parametrize(
    "path, words",
    [
        ("missing.bin", r"missing\.bin does not exist"),
        ("memory://files/missing.bin", r"missing\.bin does not exist"),
        ("/", "/ is no file; name a file"),
        ("bad\0name", "cannot be read: ValueError: embedded null byte"),
        ("nowhere://a/b", "nowhere needs another package: Protocol not known: nowhere; install it"),
        ("s3://bucket/a.tar", "s3 needs another package: Install s3fs to access S3; install it"),
    ],
    ids=["missing", "missing in memory", "folder", "impossible name", "unknown protocol", "missing package"],
)
def test_a_file_that_cannot_be_opened_is_named(tmp_path, monkeypatch, path, words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=words):
        open_file(path)


def test_a_named_pipe_is_refused_instead_of_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="pipe is no file"):
        open_file(str(tmp_path / "pipe"))


@contextmanager
def as_nobody():
    """Let go of the rights of root, who may read everything."""
    was = os.geteuid()
    if was == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(was)


def test_a_file_without_the_right_to_read_it_says_so(tmp_path):
    (tmp_path / "a.bin").write_bytes(CONTENT)
    (tmp_path / "a.bin").chmod(0)
    with as_nobody(), pytest.raises(DataError, match=r"a\.bin may not be read .*give the user who trains the right"):
        open_file(str(tmp_path / "a.bin"))
