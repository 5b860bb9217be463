# SPDX-License-Identifier: Apache-2.0
"""Images changed natively are what TensorFlow's formulas make of them, each by its own chance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pets import png
from verbs import gzipped, write_examples

import fastrec
from fastrec import Augment, Batcher
from fastrec.batches.shuffle_buffer import random_blocks

FEATURES = {
    "i": fastrec.FixedLenFeature((), np.int64),
    "image": fastrec.RawFeature((12, 10, 3), np.uint8),
}
DISTORT = Augment((8, 8), "random", flip=True, brightness=63, contrast=(0.2, 1.8), standardize=True)


def images_of(count: int, height: int, width: int, channels: int, seed: int = 0) -> Any:
    shape = (count, height, width, channels)
    return np.random.default_rng(seed).integers(0, 256, shape, np.uint8)


def around_the_middle(image: Any, height: int, width: int) -> Any:
    """tf.image.resize_with_crop_or_pad."""
    for axis, wanted in ((0, height), (1, width)):
        size = image.shape[axis]
        begin = max(size - wanted, 0) // 2
        image = np.take(image, range(begin, begin + min(size, wanted)), axis)
        missing = wanted - image.shape[axis]
        padding = [(0, 0)] * 3
        padding[axis] = missing // 2, missing - missing // 2
        image = np.pad(image, padding)
    return image


def formulas(how: Augment, image: Any, key: int, seed: int) -> Any:
    """The same in float64, a step at a time, by the same draws."""
    draws = random_blocks(seed, key, np.arange(2, dtype=np.uint64)).ravel().tolist()
    height, width = how.shape or image.shape[:2]
    if how.crop == "random":
        top = draws[0] * (image.shape[0] - height + 1) >> 32
        left = draws[1] * (image.shape[1] - width + 1) >> 32
        x = image[top : top + height, left : left + width]
    else:
        x = around_the_middle(image, height, width)
    if how.flip and draws[2] >> 31:
        x = x[:, ::-1]
    x = x.astype(np.float64)
    share = [(draw >> 8) / 2**24 for draw in draws]
    x = x + how.brightness * (2 * share[3] - 1)
    low, high = how.contrast or (1, 1)
    mean = x.mean(axis=(0, 1))
    x = (x - mean) * (low + (high - low) * share[4]) + mean
    if how.standardize:
        x = (x - x.mean()) / max(x.std(), 1 / np.sqrt(x.size))
    return x


@given(
    size=st.tuples(st.integers(1, 20), st.integers(1, 20)),
    shape=st.none() | st.tuples(st.integers(1, 24), st.integers(1, 24)),
    channels=st.integers(1, 5),
    crop=st.sampled_from(["random", "center"]),
    flip=st.booleans(),
    brightness=st.sampled_from([0.0, 63.0]),
    contrast=st.sampled_from([None, (0.2, 1.8), (1.5, 1.5)]),
    standardize=st.booleans(),
    seed=st.integers(0, 2**64 - 1),
)
def test_images_become_what_the_formulas_say(
    size: tuple[int, int],
    shape: tuple[int, int] | None,
    crop: Any,
    channels: int,
    seed: int,
    **options: Any,
) -> None:
    if shape and crop == "random":
        shape = min(shape[0], size[0]), min(shape[1], size[1])
    how = Augment(shape, crop if shape else None, **options)
    images = images_of(3, *size, channels, seed=seed % 1000)
    keys = [0, 1, 2**40 + 7]
    got = how(images, keys, seed)
    expected = np.stack([formulas(how, p, k, seed) for p, k in zip(images, keys, strict=True)])
    assert got.dtype == (np.float32 if how.floats else np.uint8)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-3)


def test_flat_images_standardize_to_zeros() -> None:
    flat = np.full((1, 8, 8, 3), 200, np.uint8)
    assert not Augment(standardize=True)(flat, [0]).any()


def test_chance_is_even() -> None:
    images = np.zeros((4000, 1, 4, 1), np.uint8)
    images[:, 0] = np.arange(4, dtype=np.uint8)[:, None]
    crops = Augment((1, 2), "random", flip=True)(images, range(4000), 3)[:, 0, :, 0]
    _, counts = np.unique(crops, axis=0, return_counts=True)
    assert len(counts) == 6  # three places, two ways round
    assert abs(counts - 4000 / 6).max() < 5 * np.sqrt(4000 / 6)
    bright = Augment(brightness=10)(images, range(4000), 3)[:, 0, 0, 0]
    assert -10 <= bright.min() < -9.9
    assert 9.9 < bright.max() < 10
    assert abs(bright.mean()) < 5 * 10 / np.sqrt(3 * 4000)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    images = images_of(60, 12, 10, 3)
    rows = ({"i": i, "image": images[i]} for i in range(60))
    return write_examples(tmp_path_factory.mktemp("augment") / "file", rows)


def by_record(batcher: Batcher) -> dict[tuple[int, int], bytes]:
    """The result for each record, by its number and how often it has occurred."""
    seen: dict[tuple[int, int], bytes] = {}
    for batch in batcher:
        for i, image in zip(batch["i"].tolist(), batch["image"], strict=True):
            assert image.shape == (8, 8, 3)
            time = sum((i, k) in seen for k in range(10))
            seen[i, time] = image.tobytes()
    return seen


def test_an_images_change_is_the_same_for_any_batch_size_order_and_threads(
    path: Path, tmp_path: Path
) -> None:
    packed = tmp_path / "gz"
    packed.write_bytes(gzipped(path.read_bytes()))
    options: dict[str, Any] = {"augment": {"image": DISTORT}, "seed": 5, "epochs": 2}
    expected = by_record(Batcher(path, FEATURES, 7, **options))
    assert len(expected) == len(set(expected.values())) == 120
    for source, change in (
        (path, {"threads": 3}),
        (path, {"batch_size": 11, "batch_across_epochs": True}),
        (path, {"shuffle": True, "threads": 2}),
        (path, {"shuffle": 20, "batch_across_epochs": True}),
        (packed, {"shuffle": 20}),
        (packed, {"batch_size": 17, "batch_across_epochs": True}),
    ):
        change = {"batch_size": 7, **change}
        assert by_record(Batcher(source, FEATURES, **{**options, **change})) == expected
    shards = [by_record(Batcher(path, FEATURES, 4, shard=(k, 3), **options)) for k in range(3)]
    assert {k: v for shard in shards for k, v in shard.items()} == expected
    other = by_record(Batcher(path, FEATURES, 7, **{**options, "seed": 6}))
    assert all(expected[k] != other[k] for k in expected)


def test_a_record_that_a_mixture_repeats_is_changed_in_another_way_each_time(
    path: Path, tmp_path: Path
) -> None:
    few = write_examples(
        tmp_path / "few",
        ({"i": 100 + i, "image": images_of(8, 12, 10, 3, seed=1)[i]} for i in range(8)),
    )
    mixture = fastrec.Mixture([path, few], [2, 1], "last")
    options: dict[str, Any] = {"augment": {"image": DISTORT}, "seed": 5, "epochs": 2}
    expected = by_record(Batcher(mixture, FEATURES, 7, **options))
    repeated = {key for key in expected if key[0] >= 100}
    assert len(expected) == len(set(expected.values())) == 180
    assert len(repeated) == 60 > 2 * 8
    for change in (
        {"batch_across_epochs": True, "batch_size": 11},
        {"threads": 3, "shuffle": True},
    ):
        again = by_record(Batcher(mixture, FEATURES, **{"batch_size": 7, **options, **change}))
        # Which records of a source's last pass are in the epoch depends on the order.
        both = again.keys() & expected.keys()
        assert len(both) >= 120 + 56
        assert {key: again[key] for key in both} == {key: expected[key] for key in both}
    # Alone, it is changed as it is in the mixture.
    alone = by_record(Batcher(path, FEATURES, 7, **options))
    assert {key: expected[key] for key in expected.keys() - repeated} == alone


def test_augmented_batches_resume_and_transform_after_it(path: Path) -> None:
    def make() -> Batcher:
        return Batcher(
            path, FEATURES, 9, shuffle=True, seed=1, epochs=2, augment={"image": DISTORT},
            transform=lambda batch: batch["image"].sum(),
        )  # fmt: skip

    batches = iter(make())
    next(batches)
    again = make()
    again.load_state_dict(batches.state_dict())
    assert list(again) == list(batches)


@pytest.mark.parametrize(
    "options",
    [
        {"contrast": (1.8, 0.2)},
        {"contrast": (-1, 1)},
        {"brightness": -1},
        {"brightness": float("nan")},
        {"standardize": True, "floats": False},
        {"shape": (4, 4)},
        {"crop": "center"},
        {"shape": (4, 4), "crop": "middle"},
        {"shape": (4, 4, 3), "crop": "center"},
    ],
    ids=str,
)
def test_changes_that_cannot_be_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"brightness|contrast|floats|crop|shape"):
        Augment(**options)


def test_images_that_cannot_be_changed_are_refused() -> None:
    with pytest.raises(ValueError, match="does not fit"):
        Augment((9, 9), "random")(np.zeros((1, 8, 8, 3), np.uint8), [0])
    with pytest.raises(ValueError, match="must be 1 to 65536, got 0"):
        Augment((0, 9), "random")(np.zeros((1, 8, 8, 3), np.uint8), [0])
    with pytest.raises(
        ValueError, match=r"keys must be one for each of 1 images, got shape \(2,\)"
    ):
        Augment()(np.zeros((1, 8, 8, 3), np.uint8), [0, 1])
    with pytest.raises(TypeError, match="uint8"):
        Augment()(np.zeros((1, 8, 8, 3), np.float32), [0])
    with pytest.raises(ValueError, match="is not in features"):
        Batcher("absent", FEATURES, augment={"other": DISTORT})


@pytest.mark.parametrize(
    ("keys", "error", "message"),
    [
        ([0.5, 1.0], TypeError, r"keys must be integers from 0 to 2\*\*64 - 1, got \[0.5, 1.0\]"),
        (["1", "2"], TypeError, "keys must be integers"),
        ([True, False], TypeError, "keys must be integers"),
        ([-1, 0], ValueError, "keys must be from 0 to 2.*, got -1 to 0"),
        (np.array([1, -3]), ValueError, "got -3 to 1"),
        ([0, 2**64], ValueError, "got 0 to 18446744073709551616"),
        ([1, 2, 3], ValueError, r"keys must be one for each of 2 images, got shape \(3,\)"),
        (5, ValueError, r"keys must be one for each of 2 images, got shape \(\)"),
    ],
    ids=str,
)
def test_keys_are_integers_of_64_bits_one_for_each_image(
    keys: Any, error: type[Exception], message: str
) -> None:
    images = np.zeros((2, 8, 8, 3), np.uint8)
    with pytest.raises(error, match=message):
        Augment(flip=True)(images, keys)
    feature = fastrec.ImageFeature(transforms=[fastrec.image.RandomResizedCrop(4)])
    strings = [png(8, 8, 3)] * 2
    ragged = fastrec.Ragged(fastrec.Bytes.from_list(strings), np.arange(3))
    for source in (strings, ragged, iter(strings)):
        with pytest.raises(error, match=message):
            feature.decode(source, keys=keys)
    extremes = [0, 2**64 - 1]
    pixels = feature.decode(strings, keys=extremes, seed=1)
    same = feature.decode(strings, keys=np.array(extremes, np.uint64), seed=1)
    assert np.array_equal(pixels, same)
