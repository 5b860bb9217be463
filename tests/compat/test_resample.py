# SPDX-License-Identifier: Apache-2.0
"""Resizing by the formulas that csrc/image/resample.h names; tests/oracle has TensorFlow's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fastrec import _tensor

RNG = np.random.default_rng(3)
METHODS = ["nearest", "bilinear", "bicubic", "bicubic_torch", "area", "lanczos3", "lanczos5",
           "gaussian", "mitchellcubic"]  # fmt: skip


def by_definition(image: Any, height: int, width: int, radius: float, kernel: Any) -> Any:
    """A kernel as wide as the reduction, normalised over the pixels that there are, in doubles."""

    def weights(size: int, wanted: int) -> Any:
        scale = size / wanted
        wide = max(scale, 1.0)
        apart = np.arange(size) + 0.5 - (np.arange(wanted)[:, None] + 0.5) * scale
        found = np.where(np.abs(apart) <= radius * wide, kernel(np.abs(apart) / wide), 0)
        return found / found.sum(1, keepdims=True)

    down = np.einsum("yh,nhwc->nywc", weights(image.shape[1], height), image.astype(np.float64))
    return np.einsum("xw,nywc->nyxc", weights(image.shape[2], width), down)


def keys(x: Any) -> Any:
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x < 1, (1.5 * x - 2.5) * x * x + 1, np.where(x < 2, far, 0))


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_antialiased_kernels_are_their_definition(channels: int, dtype: Any) -> None:
    for _ in range(20):
        rows, columns, height, width = (int(n) for n in RNG.integers(1, 80, 4))
        image = RNG.integers(0, 256, (2, rows, columns, channels)).astype(dtype)
        for method, radius, kernel in (
            ("bilinear", 1, lambda x: np.maximum(1 - x, 0)),
            ("bicubic", 2, keys),
        ):
            found = _tensor.resize(image, height, width, method, antialias=True)
            expected = by_definition(image, height, width, radius, kernel)
            np.testing.assert_allclose(found, expected, atol=2e-3)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("antialias", [False, True])
def test_the_same_size_is_the_same_image(method: str, antialias: bool) -> None:
    image = RNG.integers(0, 256, (1, 7, 9, 3)).astype(np.uint8)
    found = _tensor.resize(image, 7, 9, method, antialias=antialias)
    if method not in ("gaussian", "mitchellcubic"):  # which blur
        np.testing.assert_allclose(found, image, atol=1e-3)
    flat = np.full((1, 5, 6, 3), 77, np.uint8)
    np.testing.assert_allclose(
        _tensor.resize(flat, 11, 3, method, antialias=antialias), 77, rtol=1e-5
    )


@pytest.mark.parametrize("method", ["bilinear", "bicubic"])
@pytest.mark.parametrize("antialias", [False, True])
def test_torch_interpolates_the_same(method: str, antialias: bool) -> None:
    torch = pytest.importorskip("torch")
    for _ in range(30):
        rows, columns, height, width = (int(n) for n in RNG.integers(1, 90, 4))
        image = RNG.integers(0, 256, (1, rows, columns, 3)).astype(np.float32)
        ours = "bicubic_torch" if method == "bicubic" and not antialias else method
        found = _tensor.resize(image, height, width, ours, antialias=antialias)
        theirs = torch.nn.functional.interpolate(
            torch.from_numpy(image).permute(0, 3, 1, 2),
            size=(height, width),
            mode=method,
            antialias=antialias,
            align_corners=False,
        )
        np.testing.assert_allclose(found, theirs.permute(0, 2, 3, 1).numpy(), atol=5e-3)


@pytest.mark.parametrize("method", METHODS)
def test_bytes_and_floats_give_the_same(method: str) -> None:
    image = RNG.integers(0, 256, (2, 21, 37, 3)).astype(np.uint8)
    for antialias in (False, True):
        small = _tensor.resize(image, 13, 50, method, antialias=antialias)
        large = _tensor.resize(image.astype(np.float32), 13, 50, method, antialias=antialias)
        np.testing.assert_array_equal(small, large)


def test_what_cannot_be_resized_is_refused() -> None:
    image = np.zeros((1, 2, 2, 3), np.uint8)
    with pytest.raises(ValueError, match="image side must be"):
        _tensor.resize(image, 0, 3)
    with pytest.raises(ValueError, match="interpolation must be one of"):
        _tensor.resize(image, 2, 3, "cubic")
    with pytest.raises(TypeError, match="images must be uint8 or float32"):
        _tensor.resize(image.astype(np.int16), 2, 3)
    with pytest.raises(ValueError, match="image side must be"):
        _tensor.resize(np.zeros((1, 0, 2, 3), np.uint8), 2, 3)
