# SPDX-License-Identifier: Apache-2.0
"""Colours of images and mirrored images, against arithmetic written out in NumPy."""

from __future__ import annotations

import colorsys

import numpy as np
import pytest

from fastrec import _tensor

RNG = np.random.default_rng(5)
SIZES = [(1, 1, 1, 3), (2, 3, 5, 3), (1, 17, 4, 3), (0, 2, 2, 3), (2, 0, 4, 3)]


def images(shape: tuple[int, ...]) -> np.ndarray:
    found = RNG.random(shape, dtype=np.float32)
    found[..., ::2, :] = np.rint(found[..., ::2, :] * 2) / 2  # greys, and channels that are equal
    return found


def through_hsv(image: np.ndarray, hue: float, saturation: float) -> np.ndarray:
    found = np.empty_like(image)
    for where in np.ndindex(image.shape[:-1]):
        h, s, v = colorsys.rgb_to_hsv(*image[where].tolist())
        found[where] = colorsys.hsv_to_rgb((h + hue) % 1, min(1, max(0, s * saturation)), v)
    return found


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("delta", [0.0, 0.3, -0.2, 0.999, 5.25])
def test_hues_are_turned(shape: tuple[int, ...], delta: float) -> None:
    before = images(shape)
    found = _tensor.change_colours(before, "hue", np.full(shape[0], delta, np.float32))
    np.testing.assert_allclose(found, through_hsv(before, delta, 1), atol=3e-6)


@pytest.mark.parametrize("shape", SIZES)
def test_colours_are_made_of_hues(shape: tuple[int, ...]) -> None:
    before = images(shape)
    expected = np.empty_like(before)
    for where in np.ndindex(before.shape[:-1]):
        expected[where] = colorsys.hsv_to_rgb(*before[where].tolist())
    np.testing.assert_allclose(_tensor.change_colours(before, "from_hsv"), expected, atol=1e-6)


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("factor", [0.0, 0.4, 1.0, 3.0, -1.0])
def test_saturations_are_scaled(shape: tuple[int, ...], factor: float) -> None:
    before = images(shape)
    found = _tensor.change_colours(before, "saturation", np.full(shape[0], factor, np.float32))
    np.testing.assert_allclose(found, through_hsv(before, 0, factor), atol=2e-6)


def test_each_image_has_an_amount_of_its_own() -> None:
    before = images((2, 3, 3, 3))
    found = _tensor.change_colours(before, "hue", np.array([0, 0.5], np.float32))
    np.testing.assert_allclose(found[0], before[0], atol=1e-6)
    assert not np.allclose(found[1], before[1], atol=0.01)


@pytest.mark.parametrize("shape", SIZES)
def test_grey_is_a_weighted_sum(shape: tuple[int, ...]) -> None:
    before = images(shape)
    expected = before.astype(float) @ [0.2989, 0.5870, 0.1140]
    np.testing.assert_allclose(_tensor.change_colours(before, "grey")[..., 0], expected, atol=1e-6)


@pytest.mark.parametrize("dtype", ["u1", "u2", "f4", "f8", "c16"])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_mirrored_images_of_any_type(dtype: str, channels: int) -> None:
    before = (RNG.random((2, 3, 7, channels)) * 200).astype(dtype)
    assert np.array_equal(_tensor.mirror(before), before[..., ::-1, :])
    assert np.array_equal(_tensor.mirror(before[:, :, ::2]), before[:, :, ::2][..., ::-1, :])


def test_what_is_no_image_is_refused() -> None:
    with pytest.raises(TypeError, match="float32 of shape"):
        _tensor.change_colours(np.zeros((1, 2, 2, 4), np.float32), "grey")
    with pytest.raises(TypeError, match="float32 of shape"):
        _tensor.change_colours(np.zeros((1, 2, 2, 3)), "grey")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="amounts must be 2 numbers"):
        _tensor.change_colours(np.zeros((2, 2, 2, 3), np.float32), "hue", np.zeros(1, np.float32))
    with pytest.raises(ValueError, match="not in tuple"):
        _tensor.change_colours(np.zeros((2, 2, 2, 3), np.float32), "blur")
