"""Headers of tar files are read as the standard library reads them, and damaged ones passed with their place."""

import io
import tarfile

import numpy as np
import pytest
from data_world import tar_bytes
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.data.sources.files import LocalFile
from stretto.data.sources.tar_headers import Window, read_members

LONG = "folder/" * 30 + "a-name-that-is-longer-than-a-header.png"
MEMBERS = [("a.png", b"x" * 700), ("a.cls", b"1"), (LONG, b"y" * 512), ("Zürich.png", b""), ("b.cls", b"2" * 20_000)]
FORMATS = [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]


@pytest.fixture
def read(tmp_path):
    """Read the members of a tar file that has this content."""

    def read_content(content):
        (tmp_path / "a.tar").write_bytes(content)
        return list(read_members(Window(LocalFile(str(tmp_path / "a.tar")))))

    return read_content


@pytest.mark.parametrize("format", FORMATS, ids=["ustar", "gnu", "pax"])
def test_members_are_found_in_every_format(read, format):
    content = tar_bytes(MEMBERS, format)
    found = read(content)
    assert [(each.name, content[each.offset : each.offset + each.size]) for each in found] == MEMBERS
    assert [each.flaw for each in found] == [None] * len(MEMBERS)


def test_what_is_no_file_is_passed_over(read):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT, pax_headers={"comment": "all"}) as file:
        for name, kind in (("folder", tarfile.DIRTYPE), ("link", tarfile.SYMTYPE), ("hard", tarfile.LNKTYPE)):
            head = tarfile.TarInfo(name)
            head.type, head.linkname = kind, "a" * 200
            file.addfile(head)
        file.addfile(tarfile.TarInfo("file"))
    assert [each.name for each in read(content.getvalue())] == ["file"]


def resealed(header, place, value):
    """A header with other bytes at a place, and the checksum that goes with them."""
    changed = bytearray(header)
    changed[place : place + len(value)] = value
    changed[148:156] = b" " * 8
    changed[148:156] = b"%06o\0 " % sum(changed)
    return bytes(changed)


def test_a_size_may_be_written_in_base_256(read):
    content = tar_bytes([("a.png", b"x" * 600), ("b.png", b"y")])
    binary = b"\x80" + (600).to_bytes(11, "big")
    assert [each.name for each in read(resealed(content[:512], 124, binary) + content[512:])] == ["a.png", "b.png"]


def test_a_size_may_be_said_by_an_extended_header(read):
    extended = io.BytesIO()
    head = tarfile.TarInfo("a.png")
    head.size, head.pax_headers = 0, {"size": "600"}
    with tarfile.open(fileobj=extended, mode="w", format=tarfile.PAX_FORMAT) as file:
        file.addfile(head)
    rest = tar_bytes([("b.png", b"y")])
    found = read(extended.getvalue()[:1536] + b"x" * 600 + bytes(424) + rest)
    assert [(each.name, each.size) for each in found] == [("a.png", 600), ("b.png", 1)]


def test_a_damaged_header_is_named_and_the_next_one_goes_on(read):
    content = tar_bytes([("a.png", b"x" * 2000), ("b.png", b"y" * 2000), ("c.png", b"z")])
    second = 512 + 2048
    found = read(content[: second + 3] + b"?" + content[second + 4 :])
    assert [(each.name, each.flaw) for each in found] == [
        ("a.png", None),
        ("", "this is no header of a tar file"),
        ("c.png", None),
    ]
    assert found[1].offset == second


def test_a_file_that_is_no_tar_is_one_flaw_and_a_cut(read):
    assert [each.offset for each in read(b"\x1f\x8b" + bytes(range(256)) * 8)] == [0, 2050]


@pytest.mark.parametrize(
    "kept, names, words",
    [
        (0, [""], "ends without the empty block"),
        (100, [""], "ends without the empty block"),
        (512 + 100, ["a.png"], "ends at offset 612, but this member goes to 1212"),
        (512 + 1024, ["a.png", ""], "ends without the empty block"),
        (512 + 1024 + 200, ["a.png", ""], "ends without the empty block"),
    ],
    ids=["empty", "in the first header", "in a member", "between members", "in a header"],
)
def test_a_tar_that_was_cut_says_so_wherever_that_was(read, kept, names, words):
    found = read(tar_bytes([("a.png", b"x" * 700), ("b.png", b"y")])[:kept])
    assert [each.name for each in found] == names
    assert words in found[-1].flaw


@pytest.mark.parametrize(
    "size",
    [b"-0000000001\0", b"zzzzzzzzzzz\0", b"\xff" * 12, b"\x80" + b"\xff" * 11],
    ids=["minus", "words", "-1", "huge"],
)
def test_a_size_that_lies_reads_nothing(read, size):
    content = tar_bytes([("a.png", b"x")])
    assert all(each.flaw for each in read(resealed(content[:512], 124, size) + content[512:]))


def test_a_long_name_that_lies_of_its_length_allocates_nothing(read):
    name = tar_bytes([(LONG, b"x")], tarfile.GNU_FORMAT)
    assert "goes to" in read(resealed(name[:512], 124, b"77777777777\0") + name[512:])[0].flaw


WHOLE = tar_bytes(MEMBERS)


@settings(max_examples=200, deadline=None)
@given(place=st.integers(0, len(WHOLE) - 1), bit=st.integers(0, 7))
def test_whatever_is_flipped_every_other_member_is_found(tmp_path_factory, place, bit):
    path = tmp_path_factory.mktemp("tar") / "a.tar"
    broken = bytearray(WHOLE)
    broken[place] ^= 1 << bit
    path.write_bytes(broken)
    found = [each.name for each in read_members(Window(LocalFile(str(path)))) if each.name]
    assert len({name for name, _ in MEMBERS} - set(found)) <= 1


def test_many_members_of_random_sizes_are_found(read):
    random = np.random.default_rng(0)
    members = [(f"{number:05d}.bin", random.bytes(random.integers(0, 3000))) for number in range(500)]
    content = tar_bytes(members)
    assert [(each.name, content[each.offset : each.offset + each.size]) for each in read(content)] == members
