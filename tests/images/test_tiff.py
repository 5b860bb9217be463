# SPDX-License-Identifier: Apache-2.0
"""TIFFs have the pixels that Pillow gives them, also those that the core copies."""

from __future__ import annotations

import io
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastrec
from fastrec import _core
from fastrec.features.image_libraries import decode_by_pillow

Image = pytest.importorskip("PIL.Image")

SHORT, LONG = 3, 4
Fields = dict[int, tuple[int, list[int]]]  # type and values by tag


def fields_of(pixels: Any, rows_per_strip: int, begin: int) -> Fields:
    height, width, channels = pixels.shape
    cuts = range(0, height, rows_per_strip)
    sizes = [min(rows_per_strip, height - row) * width * channels for row in cuts]
    offsets = [begin + row * width * channels for row in cuts]
    return {
        256: (SHORT, [width]),
        257: (LONG, [height]),
        258: (SHORT, [8] * channels),
        259: (SHORT, [1]),
        262: (SHORT, [2 if channels == 3 else 1]),
        273: (LONG, offsets),
        277: (SHORT, [channels]),
        278: (SHORT, [rows_per_strip]),
        279: (LONG, sizes),
    }


def tiff(pixels: Any, changes: Fields, *, rows_per_strip: int = 99, order: str = "<") -> bytes:
    """A TIFF whose pixels follow the header; `changes` replace fields, or remove them if empty."""
    begin = 8
    fields = {**fields_of(pixels, min(rows_per_strip, len(pixels)), begin), **changes}
    body: bytes = pixels.tobytes()
    at = begin + len(body)
    entries, more = b"", b""
    fields = {tag: field for tag, field in fields.items() if field[1]}
    end = at + 2 + 12 * len(fields) + 4
    for tag, (kind, values) in sorted(fields.items()):
        packed = struct.pack(f"{order}{len(values)}{'H' if kind == SHORT else 'I'}", *values)
        if len(packed) > 4:
            place = struct.pack(f"{order}I", end + len(more))
            more += packed
        else:
            place = packed.ljust(4, b"\0")
        entries += struct.pack(f"{order}HHI", tag, kind, len(values)) + place
    header = (b"II" if order == "<" else b"MM") + struct.pack(f"{order}HI", 42, at)
    count = struct.pack(f"{order}H", len(fields))
    return header + body + count + entries + bytes(4) + more


def copied(file: bytes, channels: int, **options: Any) -> Any:
    """The pixels that the core copies; None if it leaves the file to Pillow."""
    data, offsets = np.frombuffer(file, np.uint8), np.array([0, len(file)])
    found = _core.decode_images(data, offsets, channels, **options)
    return None if found is None else found[0].reshape(found[2][0])


@given(
    st.integers(1, 20),
    st.integers(1, 9),
    st.sampled_from([1, 3]),
    st.integers(1, 10),
    st.sampled_from("<>"),
)
def test_pixels_are_those_of_pillow(
    width: int, height: int, channels: int, rows_per_strip: int, order: str
) -> None:
    pixels = np.random.default_rng(width).integers(0, 256, (height, width, channels), np.uint8)
    file = tiff(pixels, {}, rows_per_strip=rows_per_strip, order=order)
    assert np.array_equal(copied(file, channels), pixels)
    assert np.array_equal(decode_by_pillow(file, channels, None, upright=False), pixels)
    for feature in (
        fastrec.ImageFeature(channels=channels),
        fastrec.ImageFeature((height, width), channels=channels),
    ):
        assert np.array_equal(feature.decode([file, file])[1], pixels)
    other = fastrec.ImageFeature((height, width), channels=4 - channels)
    expected = decode_by_pillow(file, 4 - channels, None, upright=False)
    assert np.array_equal(other.decode([file])[0], expected)


@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_a_file_of_pillow_is_copied_if_it_is_not_compressed(mode: str) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (300, 200, 3), np.uint8)
    image = Image.fromarray(pixels).convert(mode)
    channels = len(mode)
    for compression in (None, "tiff_lzw", "tiff_adobe_deflate", "packbits"):
        file = io.BytesIO()
        image.save(file, "TIFF", compression=compression)
        found = copied(file.getvalue(), channels)
        assert (found is not None) == (compression is None)
        decoded = fastrec.ImageFeature(channels=channels).decode([file.getvalue()])[0]
        assert np.array_equal(decoded, np.asarray(image).reshape(decoded.shape))


PIXELS = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)


@pytest.mark.parametrize(
    "changes",
    [
        {259: (SHORT, [5])},
        {262: (SHORT, [6])},
        {262: (SHORT, [])},
        {258: (SHORT, [8, 8, 16])},
        {258: (SHORT, [8])},
        {339: (SHORT, [2, 2, 2])},
        {266: (SHORT, [2])},
        {274: (SHORT, [6])},
        {284: (SHORT, [2])},
        {317: (SHORT, [2])},
        {320: (SHORT, [1, 2, 3])},
        {322: (SHORT, [16])},
        {338: (SHORT, [0])},
        {256: (SHORT, [0])},
        {257: (LONG, [0])},
        {257: (LONG, [2**32 - 1])},
        {256: (LONG, [2**32 - 1])},
        {278: (LONG, [0])},
        {273: (LONG, [4])},
        {273: (LONG, [2**32 - 1])},
        {273: (LONG, [8, 17])},
        {279: (LONG, [17])},
    ],
)
def test_a_file_of_another_form_is_left_to_pillow(changes: Fields) -> None:
    assert copied(tiff(PIXELS, {}), 3) is not None
    assert copied(tiff(PIXELS, changes), 3) is None


def test_strips_in_another_order_are_left_to_pillow() -> None:
    file = tiff(PIXELS, {273: (LONG, [17, 8])}, rows_per_strip=1)
    assert copied(file, 3) is None
    assert np.array_equal(fastrec.ImageFeature().decode([file])[0], PIXELS[::-1])


def test_a_file_that_is_cut_off_or_too_large_is_not_copied() -> None:
    file = tiff(PIXELS, {}, rows_per_strip=1)
    assert all(copied(file[:size], 3) is None for size in range(len(file)))
    assert copied(file, 3, max_pixels=5) is None
    assert copied(file, 3, max_pixels=6) is not None


@settings(max_examples=5 * settings().max_examples)
@given(st.data())
def test_a_changed_file_that_is_copied_has_the_pixels_of_pillow(data: st.DataObject) -> None:
    order, rows_per_strip = data.draw(st.sampled_from("<>")), data.draw(st.integers(1, 3))
    file = bytearray(tiff(PIXELS, {274: (SHORT, [1])}, rows_per_strip=rows_per_strip, order=order))
    for _ in range(data.draw(st.integers(1, 2))):
        file[data.draw(st.integers(0, len(file) - 1))] = data.draw(st.integers(0, 255))
    pixels = copied(bytes(file), 3)
    if pixels is not None:
        expected = decode_by_pillow(bytes(file), 3, None, upright=False)
        assert np.array_equal(pixels, expected)


def test_a_tiff_is_transformed_as_its_png_is() -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (23, 31, 3), np.uint8)
    png = io.BytesIO()
    Image.fromarray(pixels).save(png, "PNG")
    for feature in (
        fastrec.ImageFeature((12, 13), fit="resize"),
        fastrec.ImageFeature((20, 40), fit="crop_or_pad", channels_first=True),
        fastrec.ImageFeature((23, 31), dtype="float16"),
    ):
        expected = feature.decode([png.getvalue()])
        assert np.array_equal(feature.decode([tiff(pixels, {})]), expected)
