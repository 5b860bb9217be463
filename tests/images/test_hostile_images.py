# SPDX-License-Identifier: Apache-2.0
"""Hostile images cost time and memory in proportion to their size; errors name the record."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cost import check_proportion, processor_seconds
from jpegs import encode

import fastrec
from fastrec import ImageFeature, _core
from fastrec.image import CenterCrop, Resize

Image = pytest.importorskip("PIL.Image")


@pytest.mark.parametrize("marker", [0xE1, 0xE0, 0xEE, 0xFE])
def test_a_jpeg_of_many_markers_takes_linear_time(marker: int) -> None:
    data = encode(np.zeros((8, 8, 3), np.uint8))
    segment = bytes([0xFF, marker]) + b"\0\x10Exif\0\0" + bytes(8)
    for use in (
        lambda image: ImageFeature(upright=True).decode([image]),
        lambda image: ImageFeature((8, 8)).decode([image]),
        _core.jpeg_header,
    ):

        def uses(count: int, use: Callable[[bytes], Any] = use) -> Callable[[], object]:
            many = data[:2] + segment * count + data[2:]
            return lambda: use(many)

        check_proportion(uses, 50_000)  # 0.9 MB


def gif(width: int, height: int) -> bytes:
    head = b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80, 0, 0) + bytes(6)
    return head + b"\x2c" + struct.pack("<HHHHB", 0, 0, 4, 4, 0) + b"\x02\x04\x84\x8f\x09\x05\x00;"


def bmp(width: int, height: int) -> bytes:
    size = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 8, 1, 0, 0, 0, 256, 0)
    return b"BM" + struct.pack("<IHHI", 1100, 0, 0, 1078) + size + bytes(1024) + b"\0\x01"


@pytest.mark.parametrize("data", [gif(65535, 2000), bmp(65535, 2000)], ids=["GIF", "BMP"])
@pytest.mark.parametrize("options", [{}, {"shape": (8, 8), "fit": "resize"}], ids=str)
def test_an_image_that_promises_too_many_pixels_is_refused(data: bytes, options: Any) -> None:
    def decode() -> None:
        with pytest.raises(fastrec.ExampleParseError, match="too few for 65535x2000 pixels"):
            ImageFeature(**options).decode([data])

    assert processor_seconds(decode) < 1


def test_a_png_that_inflates_beyond_its_last_row_takes_no_longer() -> None:
    plain = io.BytesIO()
    Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(plain, "PNG")
    rows = zlib.compress(bytes(8 * 25) + bytes(1 << 28), 1)  # 1 MB for 256 MiB

    def chunk(kind: bytes, content: bytes) -> bytes:
        crc = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + crc

    data = plain.getvalue()[:33] + chunk(b"IDAT", rows) + chunk(b"IEND", b"")

    def decode() -> None:
        with pytest.raises(fastrec.ExampleParseError, match="IDAT goes on behind the last row"):
            ImageFeature().decode([data])

    assert processor_seconds(decode) < 0.3


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_an_image_that_cannot_be_resized_is_left_out(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    with fastrec.Writer(path) as writer:
        for shape in ((300, 300, 3), (60000, 1, 3), (400, 300, 3)):
            writer.write({"image": encode(np.zeros(shape, np.uint8), kind)})
    features = {"image": ImageFeature(transforms=[Resize(300), CenterCrop(256)])}
    with pytest.raises(fastrec.ExampleParseError, match=r"record 1 .*image side must be 1 to"):
        list(fastrec.Batcher(path, features, 3))
    batcher = fastrec.Batcher(path, features, 3, on_error="skip")
    with pytest.warns(RuntimeWarning, match="left out 1 of 3"):
        assert [len(batch["image"]) for batch in batcher] == [2]
    assert [each.record for each in batcher.skipped] == [1]
