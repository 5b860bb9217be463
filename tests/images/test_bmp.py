# SPDX-License-Identifier: Apache-2.0
"""BMPs have the pixels, and get the verdict, that Pillow gives them."""

from __future__ import annotations

import io
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastrec
from fastrec import _core
from fastrec.features.image_libraries import decode_by_pillow
from fastrec.image import Flip, Normalize, RandomCrop

Image = pytest.importorskip("PIL.Image")


def bmp(pixels: Any, *, down: bool = False, gap: int = 0, **fields: int) -> bytes:
    """A BMP of 24 bits a pixel; `fields` replace those of the header."""
    height, width, _ = pixels.shape
    rows = [row[:, ::-1].tobytes().ljust((3 * width + 3) // 4 * 4, b"\7") for row in pixels]
    body = b"".join(rows if down else rows[::-1])
    names = ["size", "width", "height", "planes", "bits", "compression", "length", "x", "y"]
    values = [40, width, -height if down else height, 1, 24, 0, len(body), 0, 0]
    values = [fields.get(name, value) for name, value in zip(names, values, strict=True)]
    header = struct.pack("<IiiHHIIiiII", *values, 0, 0)
    begin = fields.get("begin", 54 + gap)
    return (
        struct.pack("<2sIHHI", b"BM", 54 + gap + len(body), 0, 0, begin)
        + header
        + bytes(gap)
        + body
    )


@given(st.integers(1, 40), st.integers(1, 9), st.booleans(), st.integers(0, 5), st.data())
def test_pixels_are_those_of_pillow(
    width: int, height: int, down: bool, gap: int, data: st.DataObject
) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    pixels = rng.integers(0, 256, (height, width, 3), np.uint8)
    file = bmp(pixels, down=down, gap=gap)
    decoded = _core.decode_bmp(file)
    assert decoded is not None
    assert np.array_equal(decoded, pixels)
    assert np.array_equal(decode_by_pillow(file, 3, None, upright=False), pixels)


PIXELS = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)


@pytest.mark.parametrize(
    "fields",
    [{"bits": 32}, {"bits": 8}, {"compression": 1}, {"size": 124}, {"planes": 0}, {"width": 0},
     {"width": -3}, {"width": 2**31 - 1}, {"height": 0}, {"height": 3}, {"height": -(2**31)},
     {"begin": 53}, {"begin": 0}, {"begin": 2**31}, {"begin": 56}],
)  # fmt: skip
def test_a_file_of_another_form_is_left_to_pillow(fields: dict[str, Any]) -> None:
    assert _core.decode_bmp(bmp(PIXELS, **fields)) is None


def test_a_file_that_is_cut_off_is_refused() -> None:
    file = bmp(PIXELS)
    padding = 3  # of the last row, which Pillow does without
    for size in range(len(file)):
        assert _core.decode_bmp(file[:size]) is None
        if size >= len(file) - padding:
            assert np.array_equal(fastrec.ImageFeature().decode([file[:size]])[0], PIXELS)
            continue
        with pytest.raises(fastrec.ExampleParseError):
            fastrec.ImageFeature().decode([file[:size]])
    assert _core.decode_bmp(file, max_pixels=5) is None


def test_a_bmp_is_transformed_as_its_png_is() -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (23, 31, 3), np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    transforms: list[Any] = [RandomCrop((9, 11)), Flip(), Normalize((0.5,) * 3, (0.25,) * 3)]
    for feature in (
        fastrec.ImageFeature((12, 13), fit="resize"),
        fastrec.ImageFeature((20, 40), fit="crop_or_pad", channels_first=True),
        fastrec.ImageFeature((23, 31), dtype="float16"),
        fastrec.ImageFeature(transforms=transforms),
    ):
        keys = np.arange(3, dtype=np.uint64)
        files, pngs = [bmp(pixels)] * 3, [out.getvalue()] * 3
        assert np.array_equal(feature.decode(files, keys=keys), feature.decode(pngs, keys=keys))
    small = fastrec.ImageFeature((9, 9))
    with pytest.raises(fastrec.ExampleParseError, match="image must be 9x9, got 23x31"):
        small.decode([bmp(pixels)])


def test_features_of_every_kind_take_a_bmp() -> None:
    file = bmp(PIXELS)
    out = io.BytesIO()
    Image.fromarray(PIXELS).save(out, "PNG")
    for feature in (fastrec.ImageFeature(), fastrec.ImageFeature((2, 3))):
        assert np.array_equal(feature.decode([file, out.getvalue()])[0], PIXELS)
        assert np.array_equal(feature.decode([file, file])[1], PIXELS)
    grey = fastrec.ImageFeature((2, 3), channels=1)
    assert np.array_equal(grey.decode([file])[0], decode_by_pillow(file, 1, None, upright=False))
