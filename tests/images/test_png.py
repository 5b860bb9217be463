# SPDX-License-Identifier: Apache-2.0
"""PNGs by libpng: the pixels of Pillow, from every kind of file; damage is an error."""

from __future__ import annotations

import contextlib
import io
import struct
import zlib
from typing import Any

import numpy as np
import pytest

import fastrec
from fastrec import _core
from fastrec.features.image_libraries import decode_by_pillow

Image = pytest.importorskip("PIL.Image")
pytestmark = pytest.mark.skipif(_core.png_version() is None, reason="built without libpng")

RNG = np.random.default_rng(0)
GREY, COLOR = RNG.integers(0, 256, (11, 13), np.uint8), RNG.integers(0, 256, (11, 13, 3), np.uint8)
ALPHA = RNG.integers(0, 256, (11, 13, 4), np.uint8)
WIDE = RNG.integers(0, 65536, (11, 13), np.uint16)


def saved(image: Any, **options: Any) -> bytes:
    out = io.BytesIO()
    image = image if isinstance(image, Image.Image) else Image.fromarray(image)
    image.save(out, "PNG", **options)
    return out.getvalue()


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def made(samples: Any, kind: int, *, interlaced: bool = False, extra: bytes = b"") -> bytes:
    """A PNG of samples of shape (height, width, channels) of uint8 or big-endian uint16."""
    height, width, _ = samples.shape
    passes = [(0, 0, 1, 1)]
    if interlaced:
        passes = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4)]
        passes += [(2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
    rows = [
        b"\0" + row.tobytes()
        for top, left, down, right in passes
        for row in samples[top::down, left::right]
        if row.size
    ]
    header = struct.pack(">IIBBBBB", width, height, 8 * samples.itemsize, kind, 0, 0, interlaced)
    body = chunk(b"IDAT", zlib.compress(b"".join(rows)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + body + chunk(b"IEND", b"")


FILES = {
    "grey": saved(GREY),
    "grey alpha": saved(np.stack([GREY, GREY[::-1]], -1)),
    "grey with a key": saved(GREY, transparency=5),
    "bits": saved(Image.fromarray(GREY).convert("1")),
    "16 bits": saved(WIDE),
    "color": saved(COLOR),
    "color with a key": saved(COLOR, transparency=tuple(COLOR[0, 0].tolist())),
    "alpha": saved(ALPHA),
    "palette": saved(Image.fromarray(COLOR).convert("P")),
    "palette with a key": saved(Image.fromarray(COLOR).convert("P"), transparency=3),
    "palette of 2 bits": saved(Image.fromarray(COLOR).quantize(4), bits=2),
    "interlaced": made(COLOR, 2, interlaced=True),
    "interlaced grey": made(GREY[:3, :2, None], 0, interlaced=True),
    "16 bits of color": made(np.stack([WIDE] * 3, -1).astype(">u2"), 2),
    "gamma and text": made(
        COLOR, 2, extra=chunk(b"gAMA", b"\0\0\1\0") + chunk(b"zTXt", b"a\0\0" + zlib.compress(b"b"))
    ),
}


def grey_of(rgb: Any) -> Any:
    """As libpng has it for TensorFlow: weights of 15 bits, rounded down."""
    red, green, blue = (rgb[..., [channel]].astype(np.int64) for channel in range(3))
    mixed = (9797 * red + 19234 * green + (32768 - 9797 - 19234) * blue) >> 15
    return np.where((red == green) & (green == blue), red, mixed).astype(np.uint8)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("channels", [1, 3])
def test_pixels_are_those_of_pillow(name: str, channels: int) -> None:
    data = FILES[name]
    feature = fastrec.ImageFeature(None, channels, dtype="uint8")
    theirs = decode_by_pillow(data, feature.channels, "uint8", upright=False)
    if channels == 1:
        theirs = grey_of(decode_by_pillow(data, 3, "uint8", upright=False))
    assert np.array_equal(feature.decode([data])[0], theirs)
    fixed = fastrec.ImageFeature(theirs.shape[:2], channels, dtype="uint8")
    assert np.array_equal(fixed.decode([data, data]), [theirs, theirs])
    cut = fastrec.ImageFeature((5, 4), channels, fit="resize", dtype="uint8")
    native = _core.Preprocessor(cut._fields() | {"seed": 0})  # type: ignore[operator]
    other = np.zeros((5, 4, channels), np.uint8)
    native.pixels(theirs, 0, other.reshape(-1))
    assert np.array_equal(cut.decode([data])[0], other)


@pytest.mark.parametrize("name", FILES)
def test_alpha_is_that_of_pillow(name: str) -> None:
    with Image.open(io.BytesIO(FILES[name])) as image:
        if image.mode.startswith("I") or "16" in name:
            return  # of which Pillow would cut samples off
        theirs = np.asarray(image.convert("RGBA"))
    assert np.array_equal(_core.decode_png(FILES[name], 4), theirs)


def test_sixteen_bits_are_kept() -> None:
    assert np.array_equal(_core.decode_png(FILES["16 bits"], 1, bits=16)[..., 0], WIDE)
    color = _core.decode_png(FILES["16 bits of color"], 3, bits=16)
    assert np.array_equal(color, np.stack([WIDE] * 3, -1))
    grown = _core.decode_png(FILES["grey"], 3, bits=16)
    assert np.array_equal(grown[..., 2], GREY.astype(np.uint16) * 257)
    assert (_core.decode_png(FILES["grey"], 2, bits=16)[..., 1] == 65535).all()


def test_formats_mix_in_a_batch() -> None:
    jpeg = io.BytesIO()
    Image.fromarray(COLOR).save(jpeg, "JPEG")
    gif = io.BytesIO()
    Image.fromarray(COLOR).save(gif, "GIF")
    files = [jpeg.getvalue(), FILES["color"], gif.getvalue(), FILES["grey"], jpeg.getvalue()]
    for shape in ((11, 13), None):
        feature = fastrec.ImageFeature(shape)
        found = feature.decode(files)
        for row, data in enumerate(files):
            assert np.array_equal(found[row], feature.decode([data])[0])


@pytest.mark.parametrize("name", ["grey", "color", "palette", "interlaced", "16 bits"])
def test_a_file_that_is_cut_off_is_refused(name: str) -> None:
    data, feature = FILES[name], fastrec.ImageFeature((11, 13), dtype="uint8")
    for size in range(len(data)):
        with pytest.raises(fastrec.ExampleParseError, match="cannot be decoded") as caught:
            feature.decode([data[:size]])
        assert caught.value.kind == "image"


def test_damage_is_refused_or_decodes() -> None:
    rng = np.random.default_rng(1)
    for name, data in FILES.items():
        for _ in range(60):
            bad = bytearray(data)
            for _ in range(rng.integers(1, 4)):
                bad[rng.integers(8, len(bad))] = rng.integers(0, 256)
            with contextlib.suppress(fastrec.ExampleParseError, fastrec.LimitExceededError):
                assert _core.decode_png(bytes(bad), 4, max_pixels=1 << 20).size, name


def header(width: int, height: int, bits: int = 8, kind: int = 2) -> bytes:
    fields = struct.pack(">IIBBBBB", width, height, bits, kind, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", fields) + chunk(b"IDAT", b"") + bytes(100)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (header(1 << 16, 1 << 16), "65536x65536 pixels exceed the limit of 134217728"),
        (header(1 << 13, 1 << 13), "145 bytes are too few for 8192x8192 pixels"),
        (header(0, 5), "the header of a PNG is damaged"),
        (header(2**31 - 1, 1), "the header of a PNG is damaged"),
        (header(5, 5, 3), "the header of a PNG is damaged"),
        (header(5, 5, 8, 7), "the header of a PNG is damaged"),
        (header(5, 5, 4, 2), "."),  # libpng says
        (header(5, 5)[:20], "it is not a PNG"),
    ],
)
def test_headers_that_lie(data: bytes, message: str) -> None:
    for feature in (fastrec.ImageFeature((5, 5)), fastrec.ImageFeature()):
        with pytest.raises(fastrec.ExampleParseError, match=message):
            feature.decode([data])


def test_arguments_of_the_decoder() -> None:
    for channels, bits in ((0, 8), (5, 8), (3, 4)):
        with pytest.raises(ValueError, match="channels must be 1 to 4 and bits 8 or 16"):
            _core.decode_png(FILES["grey"], channels, bits=bits)


def test_without_libpng_pillow_decodes(monkeypatch: pytest.MonkeyPatch) -> None:
    feature = fastrec.ImageFeature((11, 13))
    with_it = feature.decode([FILES["color"]])
    monkeypatch.setattr(_core, "png_version", lambda: None)
    assert fastrec.image.decoders()["PNG"].startswith("Pillow")  # type: ignore[union-attr]
    assert np.array_equal(feature.decode([FILES["color"]]), with_it)
