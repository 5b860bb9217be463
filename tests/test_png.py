# SPDX-License-Identifier: Apache-2.0
"""PNGs without Pillow: what it writes is read, what it reads was written; and all else is left."""

from __future__ import annotations

import io
import random
import struct
import zlib
from typing import Any

import numpy as np
import pytest

from fastrec import png

Image = pytest.importorskip("PIL.Image")

MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}


def smooth(height: int, width: int, channels: int, seed: int = 0) -> Any:
    """Pixels for which every filter has its lines."""
    rng = np.random.default_rng(seed)
    slopes = np.cumsum(rng.integers(-3, 4, (height, width, channels)), axis=seed % 2)
    noisy = rng.integers(0, 256, (height, width, channels))
    return np.where(rng.random((height, 1, 1)) < 0.3, noisy, slopes).astype(np.uint8)


def pillows(pixels: Any, **settings: Any) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels.squeeze(-1) if pixels.shape[-1] == 1 else pixels).save(
        file, "PNG", **settings
    )
    return file.getvalue()


SIZES = [(1, 1), (1, 9), (9, 1), (32, 32), (5, 64), (33, 7)]


@pytest.mark.parametrize("channels", MODES)
@pytest.mark.parametrize("size", SIZES)
def test_what_pillow_writes_is_read(size: tuple[int, int], channels: int) -> None:
    for seed in range(6):
        pixels = smooth(*size, channels, seed)
        found = png.decode(pillows(pixels, compress_level=seed))
        assert found is not None
        np.testing.assert_array_equal(found, pixels)


@pytest.mark.parametrize("channels", MODES)
@pytest.mark.parametrize("size", SIZES)
def test_pillow_reads_what_is_written(size: tuple[int, int], channels: int) -> None:
    for level in (-1, 0, 1, 9):
        pixels = smooth(*size, channels, level + 1)
        with Image.open(io.BytesIO(png.encode(pixels, level))) as image:
            assert image.mode == MODES[channels]
            np.testing.assert_array_equal(np.asarray(image).reshape(pixels.shape), pixels)


@pytest.mark.parametrize("channels", MODES)
def test_sixteen_bits_come_back(channels: int) -> None:
    pixels = np.random.default_rng(0).integers(0, 1 << 16, (9, 5, channels), np.uint16)
    data = png.encode(pixels)
    found = png.decode(data)
    assert found is not None
    assert found.dtype == np.uint16
    np.testing.assert_array_equal(found, pixels)
    if channels == 1:
        with Image.open(io.BytesIO(data)) as image:
            np.testing.assert_array_equal(np.asarray(image), pixels[:, :, 0])


def test_pixels_of_any_strides_are_written() -> None:
    pixels = smooth(8, 6, 3)
    found = png.decode(png.encode(pixels.transpose(1, 0, 2)[::-1]))
    np.testing.assert_array_equal(found, pixels.transpose(1, 0, 2)[::-1])


def test_filters_make_slopes_smaller() -> None:
    slope = np.add.outer(np.arange(64), np.arange(64))[:, :, None].astype(np.uint8)
    assert len(png.encode(slope)) < len(zlib.compress(slope.tobytes())) / 2


@pytest.mark.parametrize(
    "pixels",
    [
        np.zeros((2, 2, 5), np.uint8),
        np.zeros((2, 2, 3), np.float32),
        np.zeros((0, 2, 3), np.uint8),
        np.zeros((2, 2), np.uint8),
    ],
)
def test_what_is_no_picture_is_not_written(pixels: Any) -> None:
    with pytest.raises(ValueError, match=r"^a (picture|PNG) "):
        png.encode(pixels)


# What is left to others.


def chunk(kind: bytes, content: bytes) -> bytes:
    check = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + check


def assembled(*chunks: tuple[bytes, bytes]) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*each) for each in chunks)


HEADER = struct.pack(">IIBBBBB", 2, 1, 8, 2, 0, 0, 0)
LINES = b"\0abcdef"
PIXELS = (b"IDAT", zlib.compress(LINES))
END = (b"IEND", b"")


def test_data_in_pieces_among_what_does_not_matter_is_put_together() -> None:
    kind, data = PIXELS
    parts = [(kind, data[i : i + 3]) for i in range(0, len(data), 3)]
    found = png.decode(
        assembled((b"IHDR", HEADER), (b"tEXt", b"a\0b"), (b"PLTE", b"abc"), *parts, END) + b"more"
    )
    assert found is not None
    assert found.tobytes() == LINES[1:]


def header(**changes: int) -> tuple[bytes, bytes]:
    fields = {"width": 2, "height": 1, "depth": 8, "colour": 2, "method": 0, "filter": 0, "lace": 0}
    return b"IHDR", struct.pack(">IIBBBBB", *(fields | changes).values())


@pytest.mark.parametrize(
    "chunks",
    [
        [],
        [END],
        [header()],
        [header(), END],
        [header(), PIXELS],
        [PIXELS, header(), END],
        [header(), header(), PIXELS, END],
        [(b"IHDR", HEADER[:-1]), PIXELS, END],
        [header(), (b"NeWs", b""), PIXELS, END],
        [header(), (b"tRNS", b"abcdef"), PIXELS, END],
        [header(depth=4), PIXELS, END],
        [header(colour=3), PIXELS, END],
        [header(method=1), PIXELS, END],
        [header(filter=1), PIXELS, END],
        [header(lace=1), PIXELS, END],
        [header(width=0), PIXELS, END],
        [header(width=1), PIXELS, END],
        [header(width=3), PIXELS, END],
        [header(height=2), PIXELS, END],
        [header(width=1 << 31, height=1 << 31), PIXELS, END],
        [header(width=1 << 20, height=1 << 20), PIXELS, END],
        [header(), (b"IDAT", zlib.compress(b"\5abcdef")), END],
        [header(), (b"IDAT", zlib.compress(LINES * 1000)), END],
        [header(), (b"IDAT", zlib.compress(LINES)[:-1]), END],
        [header(), (b"IDAT", zlib.compress(LINES)[:-1] + b"x"), END],
        [header(), (b"IDAT", LINES), END],
    ],
)
def test_what_is_not_plain_or_not_sound_is_left(chunks: list[tuple[bytes, bytes]]) -> None:
    assert png.decode(assembled(*chunks)) is None


def test_no_byte_may_be_changed_or_missing() -> None:
    data = png.encode(smooth(4, 4, 3))
    assert png.decode(data) is not None
    for size in range(len(data)):
        assert png.decode(data[:size]) is None
    chance = random.Random(0)
    for place in range(len(data)):
        changed = bytearray(data)
        changed[place] ^= chance.randrange(1, 256)
        assert png.decode(bytes(changed)) is None
