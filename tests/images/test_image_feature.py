# SPDX-License-Identifier: Apache-2.0
"""Encoded images in records become arrays on the workers, whichever library decodes them."""

from __future__ import annotations

import importlib.util
import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from verbs import write_examples

import fastrec
from fastrec import Augment, Batcher, ImageFeature, _core

Image = pytest.importorskip("PIL.Image")

ENGINES = ["pillow"]
if importlib.util.find_spec("simplejpeg"):
    ENGINES.append("simplejpeg")
if _core.jpeg_version() is not None:
    ENGINES.append("libjpeg-turbo")


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "pillow":
        monkeypatch.setitem(sys.modules, "simplejpeg", None)
    if request.param != "libjpeg-turbo":
        monkeypatch.setattr(_core, "jpeg_version", lambda: None)
    return str(request.param)


def smooth(height: int, width: int, shade: int = 0) -> Any:
    y, x = np.mgrid[:height, :width]
    return np.stack([y * 3 + shade, x * 3, (x + y + shade)], -1).astype(np.uint8)


def decode(feature: ImageFeature, images: list[bytes]) -> Any:
    return feature.decode(images)


def encode(pixels: Any, kind: str = "PNG", **options: Any) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, kind, **options)
    return buffer.getvalue()


def test_png_is_exact_and_jpeg_is_near(engine: str) -> None:
    images = [smooth(20, 30, shade) for shade in (0, 9)]
    feature = ImageFeature((20, 30))
    exact = decode(feature, [encode(p) for p in images])
    assert (exact == np.stack(images)).all()
    near = decode(feature, [encode(p, "JPEG", quality=95, subsampling=0) for p in images])
    assert near.shape == (2, 20, 30, 3)
    assert np.abs(near.astype(int) - np.stack(images)).max() < 12


def test_engines_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("simplejpeg")
    data = [
        encode(smooth(33, 47), "JPEG", quality=q, subsampling=s) for q in (50, 90) for s in (0, 2)
    ]
    native = decode(ImageFeature((33, 47)), data)
    monkeypatch.setattr(_core, "jpeg_version", lambda: None)
    theirs = decode(ImageFeature((33, 47)), data)
    np.testing.assert_array_equal(native, theirs)
    monkeypatch.setitem(sys.modules, "simplejpeg", None)
    ours = decode(ImageFeature((33, 47)), data)
    assert np.abs(theirs.astype(int) - ours.astype(int)).max() <= 2


def test_grey_is_one_channel_and_colour_is_three(engine: str) -> None:
    grey = smooth(8, 9)[..., 0]
    for kind in ("PNG", "JPEG"):
        data = encode(grey, kind)
        one = decode(ImageFeature((8, 9), channels=1), [data])
        three = decode(ImageFeature((8, 9)), [data])
        assert one.shape == (1, 8, 9, 1)
        assert (three == one).all()


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
@pytest.mark.parametrize("channels", [1, 3])
def test_of_sixteen_bits_uint8_keeps_the_upper_byte(kind: str, channels: int) -> None:
    deep = np.arange(0, 65536, 4099, dtype=np.uint16).reshape(4, 4)
    found = decode(ImageFeature((4, 4), channels=channels, dtype="uint8"), [encode(deep, kind)])
    for channel in range(channels):
        np.testing.assert_array_equal(found[0, :, :, channel], deep >> 8)


def test_images_of_any_size_are_arrays(engine: str) -> None:
    images = [smooth(4 + k, 9 - k, k) for k in range(4)]
    column = decode(ImageFeature(), [encode(p) for p in images])
    assert isinstance(column, fastrec.Arrays)
    assert all((column[k] == image).all() for k, image in enumerate(images))
    assert len(ImageFeature().decode([])) == 0
    cut = Augment((4, 4), "center")(column, range(4))
    assert (cut[0] == images[0][:, 2:6]).all()


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_other_sizes_are_fitted_as_asked(engine: str, kind: str) -> None:
    data = encode(smooth(20, 10), kind)
    middle = decode(ImageFeature((10, 14), fit="crop_or_pad"), [data])[0]
    whole = decode(ImageFeature((20, 10)), [data])[0]
    assert not middle[:, :2].any()
    assert not middle[:, 12:].any()
    assert (middle[:, 2:12] == whole[5:15]).all()
    scaled = decode(ImageFeature((10, 5), fit="resize"), [data])[0]
    assert np.abs(scaled.astype(int) - whole[::2, ::2]).max() < 16
    with pytest.raises(fastrec.ExampleParseError, match="must be 10x14, got 20x10"):
        ImageFeature((10, 14)).decode([data])


@pytest.mark.parametrize(
    "data",
    [b"", b"\xff\xd8", b"\xff\xd8\xff\xe0junk", b"GIF89a", b"\x89PNG\r\n\x1a\n", bytes(100)],
    ids=str,
)
def test_what_is_no_image_is_an_error_with_its_row(engine: str, data: bytes) -> None:
    with pytest.raises(fastrec.ExampleParseError, match=r"record 1: .*decoded") as caught:
        ImageFeature().decode([encode(smooth(3, 3)), data])
    assert caught.value.kind == "image"
    str(caught.value).encode("ascii")


def test_half_an_image_is_an_error(engine: str) -> None:
    for kind in ("PNG", "JPEG"):
        data = encode(smooth(64, 64), kind)
        with pytest.raises(fastrec.ExampleParseError):
            ImageFeature().decode([data[: len(data) // 2]])


def test_an_image_that_promises_too_much_is_refused_before_it_is_decoded(engine: str) -> None:
    data = bytearray(encode(smooth(8, 8)))
    data[16:24] = (60000).to_bytes(4, "big") * 2  # width and height
    with pytest.raises(fastrec.ExampleParseError):
        ImageFeature().decode([bytes(data)])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_examples(
        tmp_path / "file",
        ({"i": i, "image": encode(smooth(16, 16, i), "JPEG", quality=95)} for i in range(40)),
    )


FEATURES = {"i": fastrec.FixedLenFeature((), np.int64), "image": ImageFeature((16, 16))}


@pytest.mark.parametrize("threads", [1, 4])
def test_batches_have_the_images_of_their_records(path: Path, engine: str, threads: int) -> None:
    for batch in Batcher(path, FEATURES, 7, shuffle=True, threads=threads):
        for i, image in zip(batch["i"].tolist(), batch["image"], strict=True):
            assert np.abs(image.astype(int) - smooth(16, 16, i)).max() < 25
    batch = fastrec.parse_example(fastrec.Reader(path)[:3], FEATURES)
    assert batch["image"].shape == (3, 16, 16, 3)
    augment = {"image": Augment((8, 8), "random", flip=True, standardize=True)}
    changed = [
        b["image"] for b in Batcher(path, FEATURES, 7, augment=augment, seed=1, threads=threads)
    ]
    again = [b["image"] for b in Batcher(path, FEATURES, 7, augment=augment, seed=1)]
    assert all((a == b).all() for a, b in zip(changed, again, strict=True))
    single = next(iter(Batcher(path, FEATURES, None)))
    assert single["image"].shape == (16, 16, 3)


def test_a_broken_image_is_an_error_with_its_file_at_its_batch(path: Path, tmp_path: Path) -> None:
    rows = [{"i": i, "image": encode(smooth(16, 16))} for i in range(10)]
    rows[6]["image"] = b"no image"
    broken = write_examples(tmp_path / "broken", rows)
    batches = iter(Batcher([path, broken], FEATURES, 5))
    for _ in range(9):
        next(batches)
    with pytest.raises(fastrec.ExampleParseError, match=r"record 6 in '.*broken': feature 'image'"):
        next(batches)


def test_specifications_that_cannot_be_are_refused() -> None:
    for bad in (
        {"channels": 2},
        {"fit": "crop_or_pad"},
        {"shape": (0, 3)},
        {"shape": (2**20, 2**20)},
    ):
        with pytest.raises(ValueError, match=r"channels|fit|shape"):
            ImageFeature(**bad)
    with pytest.raises(ValueError, match="fit must be"):
        ImageFeature((3, 3), fit="stretch")  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", [(3,), (32, 32, 3), (0, 4), (1 << 20, 1 << 20)])
def test_a_shape_that_is_no_height_and_width_is_refused_at_once(shape: Any) -> None:
    with pytest.raises(ValueError, match=r"shape must be \(height, width\), got "):
        ImageFeature(shape)


def test_an_image_has_a_shape_of_integers() -> None:
    assert ImageFeature((np.int64(4), 5)).shape == (4, 5)  # type: ignore[arg-type]
