# SPDX-License-Identifier: Apache-2.0
"""Images distorted by numbers that are given: by the formulas, and step by step the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fastrec.batches.shuffle_buffer import random_blocks
from fastrec.images.augment import Augment, distort

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (5, 9, 7, 3), np.uint8)
STEPS: dict[str, Any] = {
    "size": (6, 5, 2),
    "starts": RNG.integers(0, 2, (5, 3)),
    "mirror": np.array([True, False, False, True, True]),
    "brightness": RNG.uniform(-60, 60, 5).astype(np.float32),
    "contrast": RNG.uniform(0.2, 1.8, 5).astype(np.float32),
    "standardize": True,
}


def by_formula(image: Any, k: int) -> Any:
    top, left, first = STEPS["starts"][k]
    x = image[top : top + 6, left : left + 5, first : first + 2].astype(float)
    x = x[:, ::-1] if STEPS["mirror"][k] else x
    x = x + STEPS["brightness"][k]
    mean = x.mean((0, 1))
    x = (x - mean) * STEPS["contrast"][k] + mean
    return (x - x.mean()) / max(x.std(), x.size**-0.5)


LAYOUTS = {
    "dense": IMAGES,
    "planes": np.ascontiguousarray(IMAGES.transpose(0, 3, 1, 2)).transpose(0, 2, 3, 1),
    "floats": IMAGES.astype(np.float32),
    "backwards": np.ascontiguousarray(IMAGES[::-1, ::-1, ::-1, ::-1])[::-1, ::-1, ::-1, ::-1],
    "every other": np.repeat(np.repeat(IMAGES, 2, 1), 3, 2)[:, ::2, ::3],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_all_steps_give_what_the_formulas_say(layout: str) -> None:
    found = distort(LAYOUTS[layout], **STEPS)
    assert found.dtype == np.float32
    assert found.shape == (5, 6, 5, 2)
    for k, image in enumerate(IMAGES):
        np.testing.assert_allclose(found[k], by_formula(image, k), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(found, distort(IMAGES, **STEPS))


def test_one_step_after_the_other_gives_the_same_to_the_bit() -> None:
    found: Any = IMAGES
    cut = {"size": STEPS["size"], "starts": STEPS["starts"]}
    for step in (cut, *({name: value} for name, value in STEPS.items() if name not in cut)):
        found = distort(found, **step)
    np.testing.assert_array_equal(found, distort(IMAGES, **STEPS))


def test_it_is_what_augment_does_by_chance() -> None:
    keys = np.arange(5, dtype=np.uint64)
    words = np.stack(
        [random_blocks(7, int(key), np.arange(2, dtype=np.uint64)).ravel() for key in keys]
    ).astype(np.uint64)
    share = (words >> 8).astype(np.float64) / 2**24
    starts = np.stack([words[:, 0] * 4 >> 32, words[:, 1] * 3 >> 32, keys * 0], axis=1)
    expected = Augment(
        (6, 5), "random", flip=True, brightness=63, contrast=(0.2, 1.8), standardize=True
    )
    found = distort(
        IMAGES,
        size=(6, 5, 3),
        starts=starts,
        mirror=words[:, 2] >> 31,
        brightness=63 * (2 * share[:, 3] - 1),
        contrast=0.2 + 1.6 * share[:, 4],
        standardize=True,
    )
    np.testing.assert_allclose(found, expected(IMAGES, keys, 7), rtol=1e-4, atol=1e-4)


def test_no_images_are_no_images() -> None:
    assert distort(IMAGES[:0], size=(2, 2, 3)).shape == (0, 2, 2, 3)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"size": (10, 5, 3)}, "does not fit"),
        ({"size": (0, 5, 3)}, "does not fit"),
        ({"size": (9, 7, 3), "starts": [0, 0, 1]}, "does not fit"),
        ({"size": (2, 2, 3), "starts": [-1, 0, 0]}, "does not fit"),
        ({"size": (2, 2, 3), "starts": [2**62, 0, 0]}, "does not fit"),
        ({"brightness": [1, 2]}, "broadcast"),
        ({"starts": [1, 2]}, "broadcast"),
    ],
)
def test_what_cannot_be_is_refused(changes: Any, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        distort(IMAGES, **changes)


@pytest.mark.parametrize("images", [IMAGES[0], IMAGES.astype(np.float64)])
def test_other_arrays_are_no_images(images: Any) -> None:
    with pytest.raises(TypeError, match="images must be uint8 or float32"):
        distort(images)
