# SPDX-License-Identifier: Apache-2.0
"""JPEGs and PNGs encoded by the core: what is in them, and what cannot be."""

from __future__ import annotations

import struct
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from fastrec import _core, _tensor

RNG = np.random.default_rng(0)
SMOOTH = np.cumsum(RNG.integers(-2, 3, (37, 53, 3)), axis=1).clip(-90, 90).astype(np.uint8) + 100
needs_jpeg = pytest.mark.skipif(_core.jpeg_version() is None, reason="built without libjpeg-turbo")
needs_png = pytest.mark.skipif(_core.png_version() is None, reason="built without libpng")


def segments(jpeg: bytes) -> dict[int, bytes]:
    """The segments of a JPEG before its first scan, by marker."""
    found, at = {}, 2
    while jpeg[at + 1] != 0xDA:
        size = struct.unpack(">H", jpeg[at + 2 : at + 4])[0]
        found[jpeg[at + 1]] = jpeg[at + 4 : at + 2 + size]
        at += 2 + size
    return found


@needs_jpeg
def test_a_jpeg_is_what_its_settings_say() -> None:
    plain = segments(_tensor.encode_jpeg(SMOOTH))
    assert plain[0xE0][:12] == b"JFIF\0\x01\x01\x01" + struct.pack(">HH", 300, 300)
    assert plain[0xC0][7] == 0x22  # the first component is sampled twice as often
    assert 0xC2 in segments(_tensor.encode_jpeg(SMOOTH, progressive=True))
    assert segments(_tensor.encode_jpeg(SMOOTH, subsampling=False))[0xC0][7] == 0x11
    noted = segments(_tensor.encode_jpeg(SMOOTH, density_unit=2, density=(7, 9), xmp=b"<x/>"))
    assert noted[0xE0][7:12] == b"\x02" + struct.pack(">HH", 7, 9)
    assert noted[0xE1] == b"http://ns.adobe.com/xap/1.0/\0<x/>"


@needs_jpeg
def test_quality_and_tables_are_of_use() -> None:
    sizes = [len(_tensor.encode_jpeg(SMOOTH, quality)) for quality in (0, 30, 95, 100)]
    assert sizes == sorted(set(sizes))
    assert len(_tensor.encode_jpeg(SMOOTH, optimize=True)) < len(_tensor.encode_jpeg(SMOOTH))
    back = _core.decode_jpeg(_tensor.encode_jpeg(SMOOTH, 100, subsampling=False))
    assert np.abs(back.astype(int) - SMOOTH).max() <= 4
    grey = _tensor.encode_jpeg(SMOOTH[:, :, :1].copy())
    assert _core.decode_jpeg(grey).shape == (37, 53, 1)


@needs_jpeg
@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ((0, 4, 3), {}),
        ((4, 0, 3), {}),
        ((4, 4, 0), {}),
        ((4, 4, 2), {}),
        ((65501, 1, 1), {}),
        ((1, 65501, 1), {}),
        ((4, 4, 3), {"xmp": b"x" * 65505}),
    ],
)
def test_what_no_jpeg_can_be(shape: Any, options: Any) -> None:
    with pytest.raises(ValueError, match=r"no JPEG|must have pixels|exceed the limit"):
        _tensor.encode_jpeg(np.zeros(shape, np.uint8), **options)


@needs_jpeg
def test_the_limits_of_a_jpeg_can_be_reached() -> None:
    tall = _tensor.encode_jpeg(np.full((65500, 1, 1), 9, np.uint8))
    assert _core.jpeg_header(tall)[:2] == (65500, 1)
    assert len(segments(_tensor.encode_jpeg(SMOOTH, xmp=b"x" * 65504))[0xE1]) == 65533


@needs_png
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_a_png_holds_its_pixels(channels: int, dtype: Any) -> None:
    pixels = RNG.integers(0, np.iinfo(dtype).max, (11, 13, channels), dtype, endpoint=True)
    bits = 8 * pixels.itemsize
    for level in (-1, 0, 9):
        data = _tensor.encode_png(pixels.view(np.uint8), level, bits=bits)
        np.testing.assert_array_equal(_core.decode_png(data, channels, bits=bits), pixels)


@needs_png
@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ((0, 4, 3), {}),
        ((4, 0, 3), {}),
        ((4, 4, 5), {}),
        ((4, 4, 3), {"level": 10}),
        ((4, 4, 3), {"level": -2}),
        ((4, 4, 3), {"bits": 4}),
        ((4, 4, 1), {"bits": 16}),
        ((1, 1_000_001, 1), {}),
    ],
)
def test_what_no_png_can_be(shape: Any, options: Any) -> None:
    with pytest.raises(ValueError, match=r"no PNG|must have pixels|out of range"):
        _tensor.encode_png(np.zeros(shape, np.uint8), **options)


@needs_png
@needs_jpeg
def test_many_threads_encode_what_one_does() -> None:
    images = [np.roll(SMOOTH, n, axis=0) for n in range(32)]
    with ThreadPoolExecutor(8) as threads:
        for encode in (_tensor.encode_jpeg, _tensor.encode_png):
            assert list(threads.map(encode, images)) == list(map(encode, images))
