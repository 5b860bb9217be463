# SPDX-License-Identifier: Apache-2.0
"""Transforms of fastrec.image beside torchvision's own: what they draw, and the pixels."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jpegs import encode, photo
from torchvision_transforms import v2

from fastrec import Batcher, FixedLenFeature, ImageFeature, Writer, _core
from fastrec.image import CenterCrop, ColorJitter, Flip, Normalize, RandomResizedCrop, Resize

Image = pytest.importorskip("PIL.Image")
torch = pytest.importorskip("torch")
F = v2.functional

RNG = np.random.default_rng(17)
DRAWS = 100_000
BOUND = 1.95 * math.sqrt(2 / DRAWS)  # two samples of one distribution exceed it once in a thousand
SCALE, RATIO = (0.08, 1.0), (3 / 4, 4 / 3)
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
SIZES = [(375, 500), (500, 333), pytest.param((40, 400), marks=pytest.mark.slow)]


def kolmogorov(a: Any, b: Any) -> float:
    """The Kolmogorov-Smirnov distance of two samples."""
    both = np.sort(np.concatenate([a, b]))
    shares = [np.searchsorted(np.sort(each), both, "right") / len(each) for each in (a, b)]
    return float(np.abs(shares[0] - shares[1]).max())


def decoded(data: bytes) -> Any:
    return np.array(Image.open(io.BytesIO(data)).convert("RGB"))


def tensor(data: bytes, dtype: Any = None) -> Any:
    """Its pixels, channels first; floats are 0 to 255, too."""
    return torch.from_numpy(decoded(data)).permute(2, 0, 1).contiguous().to(dtype or torch.uint8)


def ours(data: bytes, *transforms: Any, **options: Any) -> Any:
    options = {"channels_first": True, "reducing_gap": None, **options}
    return ImageFeature(transforms=transforms, **options).decode([data])[0]


# --- what is drawn ----------------------------------------------------------------------------


def boxes_of(height: int, width: int) -> tuple[Any, Any]:
    """Crops (top, left, height, width) that fastrec draws, and those of torchvision's sampler."""
    keys = np.arange(DRAWS, dtype=np.uint64)
    drawn = _core.draw_crop("resized", height, width, SCALE, RATIO, keys, 1)
    crop = v2.RandomResizedCrop(224, scale=SCALE, ratio=RATIO)
    image = [torch.empty((1, height, width))]
    make = getattr(crop, "make_params", None) or crop._get_params
    torch.manual_seed(2)
    made = [make(image) for _ in range(DRAWS)]
    names = ("top", "left", "height", "width")
    return drawn, np.array([[each[name] for name in names] for each in made])


@pytest.mark.parametrize("size", SIZES)
def test_crops_are_drawn_from_torchvisions_distribution(size: tuple[int, int]) -> None:
    pair = boxes_of(*size)
    height, width = size

    def places(begin: Any, length: Any, full: int) -> Any:
        """Where a part is within its room, from 0 to 1; parts without room are left out."""
        room = full - length
        return begin[room > 0] / room[room > 0]

    statistics = {
        "area": [box[:, 2] * box[:, 3] / (height * width) for box in pair],
        "ratio": [box[:, 3] / box[:, 2] for box in pair],
        "top": [box[:, 0] for box in pair],
        "left": [box[:, 1] for box in pair],
        "height": [box[:, 2] for box in pair],
        "width": [box[:, 3] for box in pair],
    }
    distances = {name: kolmogorov(*both) for name, both in statistics.items()}
    assert max(distances.values()) < BOUND, distances
    for begin, length, full in ((0, 2, height), (1, 3, width)):
        both = [places(box[:, begin], box[:, length], full) for box in pair]
        count = min(map(len, both))
        assert kolmogorov(*both) < 1.95 * math.sqrt(2 / count)


def test_the_distance_tells_other_distributions_apart() -> None:
    keys = np.arange(DRAWS, dtype=np.uint64)
    drawn = _core.draw_crop("resized", 375, 500, SCALE, RATIO, keys, 1)
    for scale, ratio in (((0.1, 1.0), RATIO), (SCALE, (0.73, 1 / 0.73))):
        other = _core.draw_crop("resized", 375, 500, scale, ratio, keys, 1)
        areas = [box[:, 2] * box[:, 3] for box in (drawn, other)]
        ratios = [box[:, 3] / box[:, 2] for box in (drawn, other)]
        assert max(kolmogorov(*areas), kolmogorov(*ratios)) > BOUND


@pytest.mark.parametrize("p", [0.5, 0.2])
def test_as_many_are_flipped_as_by_torchvision(p: float) -> None:
    shades = np.zeros((8, 8, 3), np.uint8)
    shades[:, 4:] = 255
    data = encode(shades)
    images = ImageFeature((8, 8), transforms=[Flip(p)]).decode([data] * DRAWS, seed=3)
    flipped = images[:, 4, 0, 0] > 128
    flip, image = v2.RandomHorizontalFlip(p), torch.tensor([[[0, 255]]], dtype=torch.uint8)
    torch.manual_seed(4)
    theirs = np.array([int(flip(image)[0, 0, 0]) for _ in range(DRAWS)]) > 128
    assert kolmogorov(flipped, theirs) < BOUND
    # Whether one is flipped says nothing about the next.
    assert abs(np.corrcoef(flipped[1:], flipped[:-1])[0, 1]) < 3.3 / math.sqrt(DRAWS)


# --- pixels -----------------------------------------------------------------------------------

# fastrec's name, torchvision's, whether it is antialiased, and by how much a uint8 pixel may differ
# from torchvision's uint8, at most and in the mean. Those have weights of 16 bits and are rounded
# between rows and columns; fastrec's are the exact sums, rounded once.
METHODS = [
    ("bilinear", "BILINEAR", True, 1, 0.3),
    ("bilinear", "BILINEAR", False, 1, 0.3),
    ("bicubic", "BICUBIC", True, 4, 0.3),
    ("bicubic_torch", "BICUBIC", False, 8, 0.35),
]
FIELDS = ("method", "mode", "antialias", "most", "mean")
EXACT = 0.005  # of float32 pixels from 0 to 255


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
@pytest.mark.parametrize(FIELDS, METHODS)
def test_resizing_is_torchvisions(
    kind: str, method: Any, mode: str, antialias: bool, most: int, mean: float
) -> None:
    how = {"interpolation": v2.InterpolationMode[mode], "antialias": antialias}
    for _ in range(25):
        rows, columns, height, width = (int(n) for n in RNG.integers(2, 300, 4))
        data = encode(photo(RNG, rows, columns), kind)
        step = Resize((height, width), method, antialias)
        exact = F.resize(tensor(data, torch.float32), [height, width], **how).clamp(0, 255)
        found = ours(data, step, dtype="float32")
        assert np.abs(found - exact.numpy()).max() <= EXACT
        rounded = ours(data, step).astype(int)
        assert np.abs(rounded - exact.numpy()).max() <= 0.5 + EXACT
        difference = np.abs(rounded - F.resize(tensor(data), [height, width], **how).numpy())
        assert difference.max() <= most
        assert difference.mean() <= mean


@pytest.mark.parametrize(FIELDS[:3], [method[:3] for method in METHODS])
def test_crops_are_resized_as_by_torchvision(method: Any, mode: str, antialias: bool) -> None:
    data = encode(photo(RNG, 211, 280))
    crop = RandomResizedCrop((64, 80), SCALE, RATIO, method, antialias)
    keys = np.arange(50, dtype=np.uint64)
    feature = ImageFeature(transforms=[crop], reducing_gap=None, dtype="float32")
    found = feature.decode([data] * 50, keys=keys, seed=9)
    how = {"interpolation": v2.InterpolationMode[mode], "antialias": antialias}
    for image, box in zip(
        found, _core.draw_crop("resized", 211, 280, SCALE, RATIO, keys, 9), strict=True
    ):
        exact = F.resized_crop(tensor(data, torch.float32), *box.tolist(), [64, 80], **how)
        expected = exact.clamp(0, 255).permute(1, 2, 0).numpy()
        assert np.abs(image - expected).max() <= EXACT


def test_evaluation_is_torchvisions() -> None:
    theirs = v2.Compose([
        v2.Resize(96),
        v2.CenterCrop(80),
        v2.ToDtype(torch.float32, scale=True),
        v2.Normalize(MEAN, STD),
    ])  # fmt: skip
    for _ in range(20):
        rows, columns = (int(n) for n in RNG.integers(60, 400, 2))
        data = encode(photo(RNG, rows, columns))
        found = ours(data, Resize(96), CenterCrop(80), Normalize(MEAN, STD))
        exact = theirs(tensor(data, torch.float32) / 255)
        assert np.abs(found - exact.numpy()).max() <= 1e-3
        # Their own recipe rounds to uint8 in between.
        assert np.abs(found - theirs(tensor(data)).numpy()).max() <= 1 / 255 / min(STD) + 1e-3


def test_batches_are_mixed_by_torchvision(tmp_path: Path) -> None:
    with Writer(tmp_path / "records") as writer:
        for i in range(24):
            writer.write({"image": encode(photo(RNG, 40, 50)), "label": i % 5 + 1})
    features = {
        "image": ImageFeature(
            transforms=[RandomResizedCrop(32), Normalize(MEAN, STD)], channels_first=True
        ),
        "label": FixedLenFeature((), np.int64),
    }
    mix = v2.RandomChoice([v2.MixUp(num_classes=5), v2.CutMix(num_classes=5)])
    torch.manual_seed(1)
    for batch in Batcher(tmp_path / "records", features, 8, shuffle=True, seed=1):
        plain = torch.from_numpy(batch["image"]).clone()
        images, labels = mix(torch.from_numpy(batch["image"]), torch.from_numpy(batch["label"] - 1))
        assert images.shape == plain.shape
        assert not torch.equal(images, plain)
        torch.testing.assert_close(labels.sum(1), torch.ones(8))


@pytest.mark.parametrize(
    ("options", "change"),
    [
        ({"brightness": (1.4, 1.4)}, lambda x: F.adjust_brightness(x, 1.4)),
        ({"contrast": (0.6, 0.6)}, lambda x: F.adjust_contrast(x, 0.6)),
        ({"saturation": (1.3, 1.3)}, lambda x: F.adjust_saturation(x, 1.3)),
        ({"hue": (0.1, 0.1)}, lambda x: F.adjust_hue(x, 0.1)),
        ({"hue": (-0.4, -0.4)}, lambda x: F.adjust_hue(x, -0.4)),
    ],
)
def test_colors_are_torchvisions(options: Any, change: Any) -> None:
    data = encode(RNG.integers(0, 256, (40, 50, 3)).astype(np.uint8), "PNG")
    found = ours(data, ColorJitter(**options), shape=(40, 50), dtype="float32")
    expected = change(tensor(data, torch.float32) / 255) * 255
    np.testing.assert_allclose(found, expected.numpy(), atol=5e-3)
