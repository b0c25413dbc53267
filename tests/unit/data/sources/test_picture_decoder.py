"""Pictures of every kind become squares of pixels, and what is no picture says why."""

import struct
import sys
import zlib

import numpy as np
import pytest
from data_world import encoded
from PIL import Image

from stretto.data.sources.picture_decoder import NORMALISATIONS, PictureDecoder
from stretto.errors import DataError, MissingExtra

COLOURS = np.random.default_rng(0).integers(0, 256, (8, 8, 3), dtype=np.uint8)


def decoded(content, size=8, channels=3):
    decoder = PictureDecoder(size, channels)
    rows = decoder.room(1)
    decoder.decode(content, rows[0])
    return rows[0]


@pytest.mark.parametrize("kind", ["PNG", "BMP", "PPM", "TIFF", "WEBP"])
def test_a_picture_of_the_right_size_is_not_changed(kind):
    options = {"lossless": True} if kind == "WEBP" else {}
    assert np.array_equal(decoded(encoded(COLOURS, kind, **options)), COLOURS)


def test_colour_becomes_grey_and_grey_colour():
    grey = np.asarray(Image.fromarray(COLOURS).convert("L"))
    assert np.array_equal(decoded(encoded(COLOURS), channels=1)[..., 0], grey)
    assert np.array_equal(decoded(encoded(grey)), np.stack([grey] * 3, axis=-1))


def test_transparency_is_left_out():
    with_alpha = np.concatenate([COLOURS, np.full((8, 8, 1), 7, dtype=np.uint8)], axis=2)
    assert np.array_equal(decoded(encoded(with_alpha)), COLOURS)


def test_a_palette_is_looked_up(tmp_path):
    picture = Image.fromarray(COLOURS).quantize(16)
    picture.save(tmp_path / "palette.png", transparency=b"\x00\x80")
    assert np.array_equal(decoded((tmp_path / "palette.png").read_bytes()), np.asarray(picture.convert("RGB")))


def test_sixteen_bits_are_scaled_to_eight(tmp_path):
    Image.fromarray(np.arange(64, dtype=np.uint16).reshape(8, 8) * 1000).save(tmp_path / "deep.png")
    grey = decoded((tmp_path / "deep.png").read_bytes(), channels=1)
    assert np.array_equal(grey[..., 0], (np.arange(64) * 1000 >> 8).reshape(8, 8))


@pytest.mark.parametrize("height, width", [(16, 40), (40, 16)])
def test_the_shorter_side_fits_and_the_middle_is_kept(height, width):
    pixels = np.zeros((height, width, 3), dtype=np.uint8)
    middle = slice(12, 28)
    pixels[(slice(None), middle) if width > height else (middle, slice(None))] = 200
    square = decoded(encoded(pixels))
    assert (square[1:-1, 1:-1] == 200).all()  # at the edges there is some of what lies beyond
    assert (square > 150).all()


def test_a_large_photograph_is_nearly_what_it_would_be_without_shortcuts():
    rough = np.random.default_rng(1).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    large = Image.fromarray(rough).resize((640, 480), Image.Resampling.BICUBIC)
    exact = np.asarray(large.resize((32, 32), Image.Resampling.BILINEAR, box=(80, 0, 560, 480)), dtype=int)
    ours = decoded(encoded(np.asarray(large), "JPEG", quality=95), size=32)
    assert np.abs(ours - exact).mean() < 3


@pytest.mark.parametrize("channels", [1, 3])
def test_a_batch_is_normalised_by_channel(channels):
    decoder = PictureDecoder(4, channels)
    rows = np.random.default_rng(0).integers(0, 256, decoder.room(5).shape, dtype=np.uint8)
    tensor = decoder.tensor(rows)
    assert tensor.shape == (5, channels, 4, 4)
    assert tensor.is_contiguous()
    look = NORMALISATIONS[channels]
    expected = (rows / 255 - np.array(look.mean)) / np.array(look.deviation)
    np.testing.assert_allclose(tensor.numpy(), expected.transpose(0, 3, 1, 2), rtol=1e-4, atol=1e-5)


def lying_png(width, height):
    """A PNG of a few bytes whose head says that it is very large."""
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    body = b"IDAT" + zlib.compress(b"\0")
    chunks = [struct.pack(">I", len(each) - 4) + each + struct.pack(">I", zlib.crc32(each)) for each in (head, body)]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


@pytest.mark.parametrize(
    "content, words",
    [
        (b"", "no picture of the kinds PNG, JPEG"),
        (b"hello, this is text", "no picture of the kinds PNG, JPEG"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n", "no picture of the kinds PNG, JPEG"),
        (encoded(COLOURS)[:-60], "OSError: .*[Tt]runcated"),
        (encoded(COLOURS, "JPEG")[:-60], "OSError: .*[Tt]runcated"),
        (lying_png(60_000, 60_000), "DecompressionBomb"),
        (lying_png(10_000, 10_000), "DecompressionBomb|too many to be a picture"),
        (lying_png(9_000, 9_000), "OSError|SyntaxError"),
    ],
    ids=["empty", "text", "program", "cut PNG", "cut JPEG", "bomb", "small bomb", "lie"],
)
def test_what_is_no_picture_says_why(content, words):
    with pytest.raises(ValueError, match=words):
        decoded(content)


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_what_pillow_only_warns_of_is_refused():
    with pytest.raises(ValueError, match="10000 x 10000 pixels are too many to be a picture"):
        decoded(lying_png(10_000, 10_000))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "BMP", "WEBP", "GIF", "TIFF"])
def test_whatever_is_flipped_a_picture_is_decoded_or_refused(kind):
    good, random = encoded(COLOURS, kind), np.random.default_rng(0)
    for place in random.integers(0, len(good), 150):
        broken = bytearray(good)
        broken[place] ^= 1 << random.integers(8)
        try:
            assert decoded(bytes(broken)).shape == (8, 8, 3)
        except ValueError as error:
            assert str(error)


@pytest.mark.parametrize(
    "size, channels, words", [(8, 2, "cannot have 2 channels; say 1"), (0, 3, "cannot have 0 pixels a side")]
)
def test_what_cannot_be_decoded_to_is_refused(size, channels, words):
    with pytest.raises(DataError, match=words):
        PictureDecoder(size, channels)


def test_without_pillow_the_command_that_installs_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingExtra, match=r'pip install "stretto\[images\]"'):
        PictureDecoder(8, 3)
