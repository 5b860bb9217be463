# SPDX-License-Identifier: Apache-2.0
"""PNGs inflated by libdeflate or isa-l have the samples and the verdict that libpng gives."""

from __future__ import annotations

import functools
import itertools
import struct
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastrec
from fastrec import _core

pytestmark = pytest.mark.skipif(
    "libdeflate" not in (_core.png_version() or ""), reason="built without libdeflate"
)

CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # by the type of colour
# An ancillary chunk that every version of libpng skips, and that is too long for the fast path.
LENGTH = (1 << 20) + 1
UNUSUAL = struct.pack(">I", LENGTH) + b"abCd" + bytes(LENGTH)
UNUSUAL += struct.pack(">I", zlib.crc32(UNUSUAL[4:]))


def chunk(name: bytes, data: bytes, checksum: int | None = None) -> bytes:
    crc = zlib.crc32(name + data) if checksum is None else checksum
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", crc)


def png(width: int, height: int, kind: int, chunks: bytes, *, unusual: bool = False) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    begin = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
    return begin + (UNUSUAL if unusual else b"") + chunks


def outcome(data: bytes, channels: int) -> Any:
    """The samples, or the message of the refusal."""
    try:
        return _core.decode_png(data, channels, max_pixels=1 << 20).tolist()
    except fastrec.ExampleParseError as error:
        return str(error)


def assert_like_libpng(width: int, height: int, kind: int, chunks: bytes) -> None:
    for channels in (1, 2, 3, 4):
        fast = outcome(png(width, height, kind, chunks), channels)
        assert fast == outcome(png(width, height, kind, chunks, unusual=True), channels)


@st.composite
def images(draw: st.DrawFn) -> tuple[int, int, int, bytes]:
    """Width, height, type of colour, and filtered rows of arbitrary bytes."""
    width, height = draw(st.integers(1, 9)), draw(st.integers(1, 7))
    kind = draw(st.sampled_from(sorted(CHANNELS)))
    seed, last_filter = draw(st.integers(0, 2**32 - 1)), draw(st.sampled_from([4, 4, 4, 5]))
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 256, (height, 1 + width * CHANNELS[kind]), np.uint8)
    rows[:, 0] = rng.integers(0, last_filter + 1, height)
    if kind == 3:
        rows[:, 0] = 0
        rows[:, 1:] %= draw(st.sampled_from([4, 8, 9]))
    return width, height, kind, rows.tobytes()


PALETTE = chunk(b"PLTE", bytes(range(24)))
END = chunk(b"IEND", b"")


@given(images(), st.integers(0, 9), st.integers(1, 4), st.booleans())
def test_every_filter_and_type_of_colour_has_the_samples_of_libpng(
    image: tuple[int, int, int, bytes], level: int, pieces: int, with_text: bool
) -> None:
    width, height, kind, rows = image
    stream = zlib.compress(rows, level)
    cuts = [len(stream) * i // pieces for i in range(pieces + 1)]
    data = b"".join(chunk(b"IDAT", stream[a:b]) for a, b in itertools.pairwise(cuts))
    before = (PALETTE if kind == 3 else b"") + (chunk(b"tEXt", b"a\0b") if with_text else b"")
    assert_like_libpng(width, height, kind, before + data + END)


@given(images(), st.data())
def test_a_damaged_stream_gets_the_verdict_of_libpng(
    image: tuple[int, int, int, bytes], data: st.DataObject
) -> None:
    width, height, kind, rows = image
    window = data.draw(st.sampled_from([9, 12, 15]))
    deflate = zlib.compressobj(9, zlib.DEFLATED, window)
    change = data.draw(st.sampled_from(["none", "byte", "cut", "more", "short rows", "long rows"]))
    if change == "short rows":
        rows = rows[: data.draw(st.integers(0, len(rows) - 1))]
    if change == "long rows":
        rows += bytes(data.draw(st.integers(1, 600)))
    stream = bytearray(deflate.compress(rows) + deflate.flush())
    if change == "byte":
        stream[data.draw(st.integers(0, len(stream) - 1))] ^= data.draw(st.integers(1, 255))
    if change == "cut":
        del stream[data.draw(st.integers(0, len(stream) - 1)) :]
    if change == "more":
        stream += data.draw(st.binary(min_size=1, max_size=9))
    before = PALETTE if kind == 3 else b""
    assert_like_libpng(width, height, kind, before + chunk(b"IDAT", bytes(stream)) + END)


@functools.cache
def noisy_rows(kind: int) -> bytes:
    """Filtered rows of 96 x 97 pixels that shrink by a third: isal inflates them if it is there."""
    rng = np.random.default_rng(kind)
    rows = rng.integers(0, 40, (97, 1 + 96 * CHANNELS[kind]), np.uint8)
    if kind == 0:
        rows = np.repeat(rows, 2, axis=1)[:, : 1 + 192]
    rows[:, 0] = rng.integers(0, 5, len(rows))
    return rows.tobytes()


@pytest.mark.parametrize("kind", [0, 2, 4, 6])
@pytest.mark.parametrize("level", [0, 1, 9])
@pytest.mark.parametrize("strategy", [zlib.Z_DEFAULT_STRATEGY, zlib.Z_HUFFMAN_ONLY, zlib.Z_FIXED])
def test_a_noisy_image_has_the_samples_of_libpng(kind: int, level: int, strategy: int) -> None:
    deflate = zlib.compressobj(level, zlib.DEFLATED, 15, 8, strategy)
    stream = deflate.compress(noisy_rows(kind)) + deflate.flush()
    width = 192 if kind == 0 else 96
    assert_like_libpng(width, 97, kind, chunk(b"IDAT", stream) + END)


@settings(max_examples=30)
@given(st.sampled_from(["byte", "cut", "more", "short rows", "long rows"]), st.data())
def test_a_damaged_noisy_image_gets_the_verdict_of_libpng(change: str, data: st.DataObject) -> None:
    rows = noisy_rows(2)
    if change == "short rows":
        rows = rows[: -data.draw(st.integers(1, 4000))]
    if change == "long rows":
        rows += bytes(data.draw(st.integers(1, 600)))
    stream = bytearray(zlib.compress(rows))
    near_ends = st.one_of(st.integers(0, 99), st.integers(-9, -1))
    place = data.draw(near_ends | st.integers(0, len(stream) - 1))
    if change == "byte":
        stream[place] ^= data.draw(st.integers(1, 255))
    if change == "cut":
        del stream[place:]
    if change == "more":
        stream += data.draw(st.binary(min_size=1, max_size=9))
    assert_like_libpng(96, 97, 2, chunk(b"IDAT", bytes(stream)) + END)


IDAT = chunk(b"IDAT", zlib.compress(bytes([0, 1, 2, 3, 0, 4, 5, 6])))


@pytest.mark.parametrize(
    "chunks",
    [
        IDAT,
        IDAT + END[:-1],
        IDAT + END[:-1] + b"x",
        IDAT + END + b"behind the end",
        IDAT + chunk(b"tEXt", b"a\0b", checksum=0) + END,
        IDAT + chunk(b"1234", b"") + END,
        IDAT + chunk(b"CRIT", b"") + END,
        IDAT + chunk(b"IEND", b"x"),
        IDAT[:-1] + b"x" + END,
        IDAT[:20] + chunk(b"tEXt", b"a\0b") + END,
        chunk(b"IDAT", b"") + IDAT + END,
        IDAT + chunk(b"tEXt", b"a\0b") + chunk(b"IDAT", b"") + END,
        PALETTE + IDAT + END,
        chunk(b"PLTE", bytes(5)) + IDAT + END,
        chunk(b"tRNS", bytes(6)) + IDAT + END,
        chunk(b"tRNS", bytes(5)) + IDAT + END,
        chunk(b"gAMA", b"\0\0\1\0") + chunk(b"zTXt", b"not compressed") + IDAT + END,
        END + IDAT,
        struct.pack(">I", 2**31 + 4) + IDAT[4:] + END,
    ],
)
def test_chunks_that_are_odd_get_the_verdict_of_libpng(chunks: bytes) -> None:
    assert_like_libpng(1, 2, 2, chunks)


@pytest.mark.parametrize(
    "palette", [b"", chunk(b"PLTE", b""), chunk(b"PLTE", bytes(3)), 2 * PALETTE]
)
def test_palettes_that_are_odd_get_the_verdict_of_libpng(palette: bytes) -> None:
    body = chunk(b"IDAT", zlib.compress(bytes([0, 0, 1, 7])))
    assert_like_libpng(3, 1, 3, palette + body + END)


def test_a_header_with_another_checksum_is_refused() -> None:
    data = bytearray(png(1, 2, 2, IDAT + END))
    data[29] ^= 1
    with pytest.raises(fastrec.ExampleParseError):
        _core.decode_png(bytes(data), 3)


def test_a_distance_beyond_the_window_gets_the_verdict_of_libpng() -> None:
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 256, (3, 1 + 3 * 200), np.uint8)
    rows[:, 0], rows[2] = 0, rows[0]
    stream = bytearray(zlib.compress(rows.tobytes(), 9))
    for window in range(8):
        stream[0] = window << 4 | 8
        stream[1] = 31 - (stream[0] << 8) % 31
        assert_like_libpng(200, 3, 2, chunk(b"IDAT", bytes(stream)) + END)
