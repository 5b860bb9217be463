# SPDX-License-Identifier: Apache-2.0
"""JPEGs decoded by libjpeg-turbo in the core: pixel for pixel, region by region, or an error."""

from __future__ import annotations

import io
import struct
from typing import Any

import numpy as np
import pytest
from jpegs import encode, photo, some_jpeg

import fastrec
from fastrec import _core

Image = pytest.importorskip("PIL.Image")
pytestmark = pytest.mark.skipif(_core.jpeg_version() is None, reason="built without libjpeg-turbo")


def by_pillow(data: bytes, mode: str) -> Any:
    pixels = np.asarray(Image.open(io.BytesIO(data)).convert(mode))
    return pixels if pixels.ndim == 3 else pixels[..., None]


@pytest.mark.parametrize("seed", range(10))
def test_a_whole_image_is_what_pillow_gives(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(10):
        data = some_jpeg(rng)
        np.testing.assert_array_equal(_core.decode_jpeg(data, 3), by_pillow(data, "RGB"))
        stored = Image.open(io.BytesIO(data)).mode
        np.testing.assert_array_equal(_core.decode_jpeg(data), by_pillow(data, stored))


@pytest.mark.parametrize("seed", range(10))
def test_a_region_is_that_of_the_whole(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    for _ in range(20):
        data = some_jpeg(rng)
        how: dict[str, Any] = {
            "ratio": int(rng.choice([1, 2, 4, 8])),
            "fast_dct": bool(rng.integers(2)),
            "fancy_upsampling": bool(rng.integers(2)),
        }
        channels = int(rng.choice([0, 1, 3]))
        whole = _core.decode_jpeg(data, channels, **how)
        for _ in range(4):
            top, left = (int(rng.integers(0, side)) for side in whole.shape[:2])
            height = int(rng.integers(1, whole.shape[0] - top + 1))
            width = int(rng.integers(1, whole.shape[1] - left + 1))
            part = _core.decode_jpeg(data, channels, region=(top, left, height, width), **how)
            np.testing.assert_array_equal(part, whole[top : top + height, left : left + width])


def test_reduced_sides_round_up() -> None:
    data = encode(photo(np.random.default_rng(0), 101, 77))
    shapes = [_core.decode_jpeg(data, ratio=ratio).shape for ratio in (1, 2, 4, 8)]
    assert shapes == [(101, 77, 3), (51, 39, 3), (26, 20, 3), (13, 10, 3)]


@pytest.mark.parametrize("orientation", range(1, 9))
def test_the_header_has_sizes_and_orientation(orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = encode(photo(np.random.default_rng(0), 20, 30), exif=exif)
    assert _core.jpeg_header(data) == (20, 30, 3, orientation)


@pytest.mark.parametrize("damage", range(6))
def test_broken_exif_is_no_orientation(damage: int) -> None:
    tiff = struct.pack(">2sHIH", b"MM", 42, 8, 1) + struct.pack(">HHIHH", 0x0112, 3, 1, 6, 0)
    broken = [
        tiff[:9],
        tiff[:4] + b"\xff\xff\xff\xff" + tiff[8:],
        tiff[:8] + b"\xff\xff" + tiff[10:20],
        tiff[:12] + b"\0\7" + tiff[14:],
        tiff[:18] + b"\0\x63" + tiff[20:],
        b"",
    ][damage]
    data = encode(photo(np.random.default_rng(0), 8, 8))
    segment = b"Exif\0\0" + broken
    app1 = b"\xff\xe1" + struct.pack(">H", len(segment) + 2) + segment
    assert _core.jpeg_header(data[:2] + app1 + data[2:])[3] == 1


@pytest.mark.parametrize("progressive", [False, True])
def test_a_truncated_image_is_an_error_wherever_the_region_is(progressive: bool) -> None:
    data = encode(photo(np.random.default_rng(0), 64, 64), progressive=progressive)
    for size in (2, 10, 200, len(data) // 2, len(data) * 3 // 4):
        for region in (None, (0, 0, 2, 2)):
            with pytest.raises(fastrec.ExampleParseError, match="JPEG"):
                _core.decode_jpeg(data[:size], region=region)


def test_an_image_that_lacks_only_its_end_marker_is_whole() -> None:
    data = encode(photo(np.random.default_rng(0), 50, 70))
    np.testing.assert_array_equal(_core.decode_jpeg(data[:-2]), _core.decode_jpeg(data))
    part = _core.decode_jpeg(data[:-2], region=(3, 4, 5, 6))
    np.testing.assert_array_equal(part, _core.decode_jpeg(data)[3:8, 4:10])


def resized_header(data: bytes, height: int, width: int) -> bytes:
    at = data.index(b"\xff\xc0") if b"\xff\xc0" in data else data.index(b"\xff\xc2")
    return data[: at + 5] + struct.pack(">HH", height, width) + data[at + 9 :]


def test_promises_are_refused_before_anything_is_decoded() -> None:
    for progressive in (False, True):
        data = encode(photo(np.random.default_rng(0), 16, 16), progressive=progressive)
        with pytest.raises(fastrec.LimitExceededError, match=r"exceed the limit of 134217728"):
            _core.decode_jpeg(resized_header(data, 60000, 60000))
        with pytest.raises(fastrec.ExampleParseError, match=r"cannot be in a JPEG of \d+ bytes"):
            _core.decode_jpeg(resized_header(data, 8000, 8000))
        with pytest.raises(fastrec.LimitExceededError, match="16x16"):
            _core.decode_jpeg(data, max_pixels=255)


def test_scans_are_limited() -> None:
    data = encode(photo(np.random.default_rng(0), 16, 16), progressive=True)
    last = data.rindex(b"\xff\xda")
    bomb = data[:-2] + data[last:-2] * 200 + data[-2:]
    with pytest.raises(fastrec.LimitExceededError, match="more than 100 scans"):
        _core.decode_jpeg(bomb)


def test_cmyk_is_light_times_ink() -> None:
    ink = photo(np.random.default_rng(0), 24, 24, 4)
    buffer = io.BytesIO()
    Image.fromarray(ink, "CMYK").save(buffer, "JPEG", quality=98)
    found = _core.decode_jpeg(buffer.getvalue()).astype(int)
    stored = np.asarray(Image.open(buffer)).astype(int)  # Pillow's CMYK is ink, Adobe's is light
    light = 255 - stored
    np.testing.assert_array_equal(found, light[..., :3] * light[..., 3:] // 255)
    assert _core.decode_jpeg(buffer.getvalue(), 1).shape == (24, 24, 1)


def test_hostile_bytes_are_errors_in_ascii() -> None:
    rng = np.random.default_rng(7)
    data = bytearray(encode(photo(rng, 40, 40)))
    survived = 0
    for _ in range(400):
        changed = bytearray(data)
        for at in rng.integers(2, len(data), 3):
            changed[at] = rng.integers(256)
        try:
            assert _core.decode_jpeg(changed).ndim == 3
            survived += 1
        except (fastrec.ExampleParseError, fastrec.LimitExceededError) as error:
            str(error).encode("ascii")
    assert 0 < survived < 400


@pytest.mark.parametrize("region", [(0, 0, 0, 1), (0, 0, 9, 1), (8, 0, 1, 1), (-1, 0, 2, 2)])
def test_a_region_outside_is_refused(region: Any) -> None:
    data = encode(photo(np.random.default_rng(0), 8, 8))
    with pytest.raises(ValueError, match="region"):
        _core.decode_jpeg(data, region=region)


def test_an_image_does_not_use_the_tables_of_the_one_before() -> None:
    rng = np.random.default_rng(0)
    whole = encode(photo(rng, 16, 16), quality=30)
    begin = whole.index(b"\xff\xdb")  # quantisation tables, up to the frame
    bare = whole[:begin] + whole[whole.index(b"\xff\xc0") :]
    feature = fastrec.ImageFeature((16, 16))
    for order in ([bare], [whole, bare]):
        with pytest.raises(fastrec.ExampleParseError, match=f"record {len(order) - 1}: .*table"):
            feature.decode(order)


def test_images_of_any_size_are_decoded_together() -> None:
    rng = np.random.default_rng(3)
    files = [some_jpeg(rng) for _ in range(40)]
    strings = fastrec.Bytes.from_list([b"ahead", *files])[1:]
    for channels in (1, 3):
        found = _core.decode_images(strings.data, strings.offsets, channels)
        assert found is not None
        for image, data in zip(fastrec.Arrays(*found), files, strict=True):
            np.testing.assert_array_equal(image, _core.decode_jpeg(data, channels))


def test_together_is_for_jpegs_that_are_whole_and_upright() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    rng = np.random.default_rng(4)
    data, turned = encode(photo(rng, 20, 30)), encode(photo(rng, 20, 30), exif=exif)

    def together(*files: bytes, **options: Any) -> Any:
        strings = fastrec.Bytes.from_list(list(files))
        return _core.decode_images(strings.data, strings.offsets, 3, **options)

    assert together(data, turned) is not None
    assert together(data, turned, upright=True) is None
    for other in (b"", encode(photo(rng, 4, 4), "GIF"), data[:100], data[: len(data) // 2]):
        assert together(data, other) is None
    assert together(data, jpeg=False) is None
    assert together(data, max_pixels=599) is None
    with pytest.raises(ValueError, match="offsets of image 1 are out of range"):
        _core.decode_images(np.frombuffer(data, np.uint8), np.array([0, len(data) + 1]), 3)


def test_rows_are_as_they_are_at_every_alignment() -> None:
    data = encode(photo(np.random.default_rng(5), 33, 70))
    whole = _core.decode_jpeg(data, 3)
    for width in range(1, 71):
        crop = fastrec.ImageFeature(
            transforms=[fastrec.image.CenterCrop((20, width))], reducing_gap=None
        )
        top, left = round((33 - 20) / 2), round((70 - width) / 2)
        np.testing.assert_array_equal(
            crop.decode([data])[0], whole[top : top + 20, left : left + width]
        )
