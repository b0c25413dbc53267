"""IDX files are decoded, and damaged ones named with the place of the damage."""

import gzip

import numpy as np
import pytest
from data_world import idx_bytes

from stretto.data.sources.idx import read_idx
from stretto.errors import DataError

VALUES = np.random.default_rng(0).integers(0, 256, (3, 5, 5), dtype=np.uint8)


def written(tmp_path, content):
    path = tmp_path / "images.gz"
    path.write_bytes(content)
    return path


def test_values_come_back_as_they_were(tmp_path):
    assert np.array_equal(read_idx(written(tmp_path, idx_bytes(VALUES)), dimensions=3), VALUES)


def test_a_file_that_is_not_gzipped_is_read_as_it_is(tmp_path):
    (tmp_path / "images").write_bytes(gzip.decompress(idx_bytes(VALUES)))
    assert np.array_equal(read_idx(tmp_path / "images", dimensions=3), VALUES)
    (tmp_path / "images").write_bytes(gzip.decompress(idx_bytes(VALUES))[:50])
    with pytest.raises(DataError, match="images: ends at offset 50 of 91 bytes"):
        read_idx(tmp_path / "images", dimensions=3)


@pytest.mark.parametrize("kept", range(0, 100, 7))
def test_a_truncated_file_is_named_with_the_offset(tmp_path, kept):
    path = written(tmp_path, idx_bytes(VALUES)[:kept])
    with pytest.raises(DataError, match=r"images\.gz: .*offset \d+"):
        read_idx(path, dimensions=3)


def test_a_flipped_bit_is_noticed_wherever_it_would_change_a_value(tmp_path):
    good = idx_bytes(VALUES)
    noticed = 0
    for place in range(len(good)):
        path = written(tmp_path, good[:place] + bytes([good[place] ^ 0x10]) + good[place + 1 :])
        try:
            assert np.array_equal(read_idx(path, dimensions=3), VALUES), f"byte {place}"
        except DataError as error:
            noticed += 1
            assert "images.gz" in str(error)
    assert noticed >= len(good) - 12  # some bits mean nothing: the time of packing, the system, padding


def test_a_file_of_another_kind_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"wrong magic 00000803 at offset 0.* begins with 00000801"):
        read_idx(written(tmp_path, idx_bytes(VALUES)), dimensions=1)
    with pytest.raises(DataError, match="damaged after offset 0"):
        read_idx(written(tmp_path, b"hello, this is no gzip file"), dimensions=3)


def test_a_length_that_lies_allocates_nothing(tmp_path):
    lying = gzip.compress(bytes([0, 0, 8, 3]) + b"\xff" * 12 + b"some")
    with pytest.raises(DataError, match="ends at offset 20 of"):
        read_idx(written(tmp_path, lying), dimensions=3)


def test_what_goes_on_after_the_end_is_refused(tmp_path):
    longer = gzip.compress(gzip.decompress(idx_bytes(VALUES)) + b"x")
    with pytest.raises(DataError, match="goes on after offset 91"):
        read_idx(written(tmp_path, longer), dimensions=3)
