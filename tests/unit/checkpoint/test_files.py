"""The thin layer over the real disk."""

import pytest

from stretto.checkpoint.files import CHUNK_BYTES, DiskFiles
from stretto.checkpoint.memory_block import HUGE_PAGE_BYTES, allocate


@pytest.fixture
def files():
    return DiskFiles()


def write(files, path, *pieces):
    handle = files.create(path)
    for piece in pieces:
        files.write(handle, piece)
    files.sync(handle)
    files.close(handle)


def test_what_was_written_is_read_into_memory_that_may_be_changed(files, tmp_path):
    write(files, tmp_path / "file", b"abc", memoryview(b"def"), b"")
    content = files.read(tmp_path / "file")
    assert bytes(content) == b"abcdef"
    content[0] = 0
    assert files.size(tmp_path / "file") == 6
    write(files, tmp_path / "empty")
    assert bytes(files.read(tmp_path / "empty")) == b""


def test_more_than_one_chunk_is_written_whole(files, tmp_path):
    content = bytes(range(256)) * (CHUNK_BYTES // 256) + b"end"
    write(files, tmp_path / "file", content)
    assert files.read(tmp_path / "file") == content


def test_folders_are_made_with_their_parents_and_listed(files, tmp_path):
    files.make_folder(tmp_path / "a" / "b")
    files.make_folder(tmp_path / "a" / "b")
    write(files, tmp_path / "a" / "file", b"")
    assert files.names(tmp_path / "a") == ["b", "file"]
    assert files.names(tmp_path / "absent") == []
    files.rename(tmp_path / "a" / "b", tmp_path / "a" / "c")
    files.remove_folder(tmp_path / "a" / "c")
    files.remove(tmp_path / "a" / "file")
    files.sync_folder(tmp_path / "a")
    assert files.names(tmp_path / "a") == []


def test_a_file_that_exists_is_never_written_into(files, tmp_path):
    write(files, tmp_path / "file", b"")
    with pytest.raises(FileExistsError):
        files.create(tmp_path / "file")


def test_the_room_on_the_disk_is_known(files, tmp_path):
    assert files.free_bytes(tmp_path) > 0


@pytest.mark.parametrize("size", [0, 1, HUGE_PAGE_BYTES - 1, HUGE_PAGE_BYTES + 1])
def test_memory_of_any_size_can_be_had(size):
    block = allocate(size)
    assert len(block) >= size
    assert block[:1] == b"\0"
