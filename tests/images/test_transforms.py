# SPDX-License-Identifier: Apache-2.0
"""Images cropped, resized, mirrored, coloured and normalised on their way into a batch."""

from __future__ import annotations

import colorsys
import io
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jpegs import encode, photo

import fastrec
from fastrec import ImageFeature, _core
from fastrec.image import (
    CenterCrop,
    ColorJitter,
    Flip,
    Normalize,
    RandomResizedCrop,
    Resize,
    decoders,
)

Image = pytest.importorskip("PIL.Image")
RNG = np.random.default_rng(11)
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
KINDS = ["JPEG", "PNG"]


def decoded(data: bytes) -> Any:
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def one(data: bytes, *transforms: Any, key: int = 0, **options: Any) -> Any:
    return ImageFeature(transforms=transforms, **options).decode([data], keys=[key])[0]


def by_pillow(pixels: Any, size: tuple[int, int], box: Any = None, how: Any = None) -> Any:
    how = Image.Resampling.BILINEAR if how is None else how
    return np.asarray(Image.fromarray(pixels).resize(size[::-1], how, box=box))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["bilinear", "bicubic"])
def test_resize_is_pillows_but_for_rounding(kind: str, method: Any) -> None:
    # Pillow resizes floats in one precision; between the two passes over bytes it rounds, and clips
    # what bicubic weights carry past 255, by up to 4 in these images.
    how, rng = getattr(Image.Resampling, method.upper()), np.random.default_rng(11)
    for _ in range(20):
        rows, columns, height, width = (int(n) for n in rng.integers(2, 200, 4))
        data = encode(photo(rng, rows, columns), kind)
        found = one(data, Resize((height, width), method), reducing_gap=None)
        channels = np.moveaxis(decoded(data).astype(np.float32), -1, 0)
        precise = np.stack([by_pillow(each, (height, width), how=how) for each in channels], -1)
        assert np.abs(found - np.clip(np.rint(precise), 0, 255)).max() <= 1


@pytest.mark.parametrize("kind", KINDS)
def test_resize_and_center_crop_are_torchvisions(kind: str) -> None:
    for _ in range(20):
        rows, columns = (int(n) for n in RNG.integers(20, 200, 2))
        data = encode(photo(RNG, rows, columns), kind)
        shorter = int(RNG.integers(16, 80))
        size = int(RNG.integers(4, shorter + 1))
        found = one(data, Resize(shorter), CenterCrop(size), reducing_gap=None)
        tall, wide = (
            (shorter, shorter * columns // rows)
            if rows <= columns
            else (shorter * rows // columns, shorter)
        )
        whole = by_pillow(decoded(data), (tall, wide))
        top, left = round((tall - size) / 2.0), round((wide - size) / 2.0)
        expected = whole[top : top + size, left : left + size]
        assert np.abs(found.astype(int) - expected).max() <= 2


@pytest.mark.parametrize("kind", KINDS)
def test_center_crop_alone_pads_with_zeros(kind: str) -> None:
    data = encode(photo(RNG, 20, 31), kind)
    found = one(data, CenterCrop((26, 25)))
    assert not found[:3].any()
    assert not found[23:].any()
    np.testing.assert_array_equal(found[3:23], decoded(data)[:, 3:28])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sampling", ["torchvision", "tensorflow"])
def test_a_random_crop_is_that_box_resized(kind: str, sampling: Any) -> None:
    data = encode(photo(RNG, 90, 130), kind)
    pixels = decoded(data)
    step = RandomResizedCrop((32, 40), sampling=sampling)
    name = {"torchvision": "resized", "tensorflow": "distorted"}[sampling]
    keys = np.arange(40, dtype=np.uint64)
    boxes = _core.draw_crop(name, 90, 130, step.scale, step.ratio, keys, 5)
    feature = ImageFeature(transforms=[step], reducing_gap=None)
    found = feature.decode([data] * 40, keys=keys, seed=5)
    for image, (top, left, height, width) in zip(found, boxes, strict=True):
        part = np.ascontiguousarray(pixels[top : top + height, left : left + width])
        assert np.abs(image.astype(int) - by_pillow(part, (32, 40))).max() <= 2


@pytest.mark.parametrize("gap", [1.0, 2.0, 3.0])
def test_reduced_decoding_is_near(gap: float) -> None:
    y, x = np.mgrid[:900, :1200]
    smooth = np.stack([128 + 90 * np.sin(x / 60 + k) * np.cos(y / 50) for k in range(3)], -1)
    data = encode(smooth.astype(np.uint8), "JPEG", quality=95)
    for steps in ([Resize((64, 64))], [RandomResizedCrop(50)], [Resize(80), CenterCrop(64)]):
        near = one(data, *steps, reducing_gap=gap).astype(int)
        exact = one(data, *steps, reducing_gap=None)
        assert np.abs(near - exact).max() <= (3 if gap > 1 else 8)


def test_normalize_layouts_and_dtypes() -> None:
    data = encode(photo(RNG, 60, 50), "PNG")
    steps = (Resize((24, 20)), Normalize(MEAN, STD))
    plain = one(data, Resize((24, 20)), dtype="float32")
    expected = (plain / 255 - np.array(MEAN)) / np.array(STD)
    last = one(data, *steps)
    assert last.dtype == np.float32
    np.testing.assert_allclose(last, expected, atol=2e-6)
    first = one(data, *steps, channels_first=True)
    np.testing.assert_array_equal(first, last.transpose(2, 0, 1))
    half = one(data, *steps, dtype=np.float16, channels_first=True)
    np.testing.assert_array_equal(half, first.astype(np.float16))
    narrow = one(data, Resize((24, 20)))
    assert narrow.dtype == np.uint8
    np.testing.assert_array_equal(narrow, np.rint(plain))


def test_bfloat16_rounds_as_ml_dtypes_does() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    data = encode(photo(RNG, 30, 30), "PNG")
    steps = (Resize((24, 20)), Normalize(MEAN, STD))
    found = one(data, *steps, dtype="bfloat16")
    assert found.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(found, one(data, *steps).astype(ml_dtypes.bfloat16))


def test_flip_mirrors_its_share() -> None:
    data = encode(photo(RNG, 12, 15), "PNG")
    pixels = decoded(data)
    found = ImageFeature((12, 15), transforms=[Flip()]).decode([data] * 2000, seed=3)
    flipped = [bool((image == pixels[:, ::-1]).all()) for image in found]
    assert all(
        mirrored or (image == pixels).all() for mirrored, image in zip(flipped, found, strict=True)
    )
    assert abs(sum(flipped) - 1000) < 120
    always = one(data, Flip(1.0), shape=(12, 15))
    np.testing.assert_array_equal(always, pixels[:, ::-1])


# --- color ------------------------------------------------------------------------------------


def grey(image: Any) -> Any:
    return (image * [0.2989, 0.587, 0.114]).sum(-1, keepdims=True)


def turned(image: Any, turn: float) -> Any:
    out = np.empty_like(image)
    for at in np.ndindex(image.shape[:2]):
        h, s, v = colorsys.rgb_to_hsv(*(image[at] / 255))
        out[at] = np.array(colorsys.hsv_to_rgb((h + turn) % 1, s, v)) * 255
    return out


@pytest.mark.parametrize(
    ("options", "formula"),
    [
        ({"brightness": (1.5, 1.5)}, lambda x: x * 1.5),
        ({"contrast": (0.4, 0.4)}, lambda x: 0.4 * x + 0.6 * grey(x).mean()),
        ({"saturation": (1.7, 1.7)}, lambda x: 1.7 * x - 0.7 * grey(x)),
        ({"hue": (0.2, 0.2)}, lambda x: turned(x, 0.2)),
        ({"hue": (-0.35, -0.35)}, lambda x: turned(x, -0.35)),
    ],
)
def test_colors_change_by_torchvisions_formulas(options: Any, formula: Any) -> None:
    data = encode(RNG.integers(0, 256, (16, 16, 3)).astype(np.uint8), "PNG")
    found = one(data, ColorJitter(**options), shape=(16, 16), dtype="float32")
    expected = np.clip(formula(decoded(data).astype(np.float64)), 0, 255)
    np.testing.assert_allclose(found, expected, atol=2e-3)


def test_jitter_draws_every_factor_evenly() -> None:
    data = encode(np.full((1, 1, 3), 100, np.uint8), "PNG")
    feature = ImageFeature((1, 1), transforms=[ColorJitter(brightness=0.4)], dtype="float32")
    factors = feature.decode([data] * 4000)[:, 0, 0, 0] / 100
    assert 0.6 <= factors.min() < 0.61
    assert 1.39 < factors.max() <= 1.4
    assert kolmogorov(factors, lambda x: (x - 0.6) / 0.8) < 1.95 / math.sqrt(4000)


# --- distributions ----------------------------------------------------------------------------


def kolmogorov(values: Any, cdf: Any) -> float:
    """The Kolmogorov-Smirnov distance from a continuous distribution."""
    ordered = np.sort(values)
    n = len(ordered)
    expected = cdf(ordered)
    above = np.arange(1, n + 1) / n - expected
    return float(max(above.max(), (expected - np.arange(n) / n).max()))


def two_sample(a: Any, b: Any) -> float:
    both = np.sort(np.concatenate([a, b]))
    distance = np.searchsorted(np.sort(a), both, "right") / len(a) - np.searchsorted(
        np.sort(b), both, "right"
    ) / len(b)
    return float(np.abs(distance).max())


def get_params(make: random.Random, height: int, width: int, scale: Any, ratio: Any) -> Any:
    """RandomResizedCrop.get_params as torchvision's documentation and paper define it."""
    low, high = math.log(ratio[0]), math.log(ratio[1])
    for _ in range(10):
        target = height * width * make.uniform(*scale)
        aspect = math.exp(make.uniform(low, high))
        w, h = round(math.sqrt(target * aspect)), round(math.sqrt(target / aspect))
        if 0 < w <= width and 0 < h <= height:
            return make.randint(0, height - h), make.randint(0, width - w), h, w
    whole = width / height
    if whole < ratio[0]:
        w, h = width, round(width / ratio[0])
    elif whole > ratio[1]:
        w, h = round(height * ratio[1]), height
    else:
        w, h = width, height
    return (height - h) // 2, (width - w) // 2, h, w


@pytest.mark.slow
@pytest.mark.parametrize("size", [(375, 500), (500, 333), (40, 400)])
def test_crops_are_distributed_as_torchvisions(size: tuple[int, int]) -> None:
    count = 100_000
    scale, ratio = (0.08, 1.0), (3 / 4, 4 / 3)
    keys = np.arange(count, dtype=np.uint64)
    ours = _core.draw_crop("resized", *size, scale, ratio, keys, 1)
    make = random.Random(2)
    theirs = np.array([get_params(make, *size, scale, ratio) for _ in range(count)])
    bound = 1.95 * math.sqrt(2 / count)  # one in a thousand
    for column in range(4):
        assert two_sample(ours[:, column], theirs[:, column]) < bound
    areas = [boxes[:, 2] * boxes[:, 3] for boxes in (ours, theirs)]
    ratios = [boxes[:, 3] / boxes[:, 2] for boxes in (ours, theirs)]
    assert two_sample(*areas) < bound
    assert two_sample(*ratios) < bound
    inside = (ours[:, :2] + ours[:, 2:] <= size) & (ours[:, :2] >= 0)
    assert inside.all()


def test_exponential_and_logarithm_are_exact_enough() -> None:
    # With one area, one ratio and a large image the box shows both functions.
    for ratio in (0.01, 0.3, 0.75, 1.0, 4 / 3, 7.0, 90.0):
        box = _core.draw_crop(
            "resized", 60000, 60000, (1e-3, 1e-3), (ratio, ratio), np.zeros(1, np.uint64)
        )[0]
        area = 60000 * 60000 * 1e-3
        assert box[3] == round(math.sqrt(area * ratio))
        assert box[2] == round(math.sqrt(area / ratio))


def test_random_transforms_need_keys() -> None:
    record = fastrec.encode_example({"image": encode(photo(RNG, 20, 20))})
    with pytest.raises(ValueError, match="draw by the number of the record: use a Batcher"):
        fastrec.parse_example([record], {"image": ImageFeature(transforms=[RandomResizedCrop(8)])})
    found = fastrec.parse_example([record], {"image": ImageFeature(transforms=[Resize((8, 8))])})
    assert found["image"].shape == (1, 8, 8, 3)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("engine", ["built in", "Pillow"])
def test_orientation_is_ignored_unless_asked_for(
    orientation: int, engine: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from PIL import ImageOps

    if engine == "Pillow":
        monkeypatch.setattr(_core, "jpeg_version", lambda: None)
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = encode(photo(RNG, 20, 30), "JPEG", exif=exif)
    upright = np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(data))))
    np.testing.assert_array_equal(ImageFeature().decode([data])[0], decoded(data))
    np.testing.assert_array_equal(ImageFeature(upright=True).decode([data])[0], upright)
    fused = ImageFeature(upright.shape[:2], upright=True).decode([data])[0]
    np.testing.assert_array_equal(fused, upright)
    file = tmp_path / "a.jpg"
    file.write_bytes(data)
    np.testing.assert_array_equal(fastrec.image.decode(file), decoded(data))
    np.testing.assert_array_equal(fastrec.image.decode(file, upright=True), upright)


def test_decoders_are_named() -> None:
    assert decoders()["other"].startswith("Pillow ")  # type: ignore[union-attr]
    assert decoders()["JPEG"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"transforms": [Flip()]}, "require a shape"),
        ({"transforms": [Resize(256)]}, "CenterCrop must follow"),
        ({"transforms": [Resize(200), CenterCrop(224)]}, "must be within"),
        ({"transforms": [Flip(), Resize((8, 8))]}, "in this order"),
        ({"transforms": [CenterCrop(8), Flip(), Flip()]}, "each once"),
        ({"transforms": [CenterCrop(8), Resize((4, 4))]}, "cannot follow"),
        ({"transforms": [CenterCrop(8)], "shape": (9, 9)}, "mutually exclusive"),
        (
            {"transforms": [CenterCrop(8), Normalize(MEAN, STD)], "dtype": "uint8"},
            "dtype of floats",
        ),
        ({"transforms": [CenterCrop(8), Normalize((0.5,), (0.5,))]}, "must have 3 numbers"),
        ({"transforms": [CenterCrop(8), ColorJitter(0.1)], "channels": 1}, "requires channels=3"),
        ({"shape": (8, 8), "dtype": "int32"}, "dtype must be one of"),
        ({"channels_first": True}, "require a shape"),
        ({"shape": (8, 8), "reducing_gap": 0.5}, "reducing_gap must be"),
    ],
)
def test_descriptions_that_cannot_be_are_refused(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ImageFeature(**options)


@pytest.mark.parametrize(
    "make",
    [
        lambda: RandomResizedCrop(0),
        lambda: RandomResizedCrop(8, scale=(0.5, 0.1)),
        lambda: RandomResizedCrop(8, ratio=(0, 1)),
        lambda: RandomResizedCrop(8, sampling="jax"),  # type: ignore[arg-type]
        lambda: Flip(2),
        lambda: ColorJitter(hue=0.7),
        lambda: ColorJitter(brightness=-1),
        lambda: Normalize((0.5,), (0.0,)),
        lambda: CenterCrop((1 << 20, 3)),
    ],
)
def test_transforms_that_cannot_be_are_refused(make: Any) -> None:
    with pytest.raises(ValueError, match="must be"):
        make()


def test_transforms_are_of_fastrec() -> None:
    with pytest.raises(TypeError, match=r"must be of fastrec\.image"):
        ImageFeature((8, 8), transforms=[len])  # type: ignore[list-item]
