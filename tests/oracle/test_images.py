# SPDX-License-Identifier: Apache-2.0
"""JPEGs decoded and images resized are TensorFlow's, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from jpegs import some_jpeg

from fastrec import _core, _tensor

METHODS = ["nearest", "bilinear", "bicubic", "area", "lanczos3", "lanczos5", "gaussian",
           "mitchellcubic"]  # fmt: skip


def some_images(rng: np.random.Generator) -> Any:
    shape = (*(int(n) for n in rng.integers(1, [3, 90, 90])), int(rng.integers(1, 6)))
    if rng.integers(2):
        return rng.integers(0, 256, shape).astype(np.uint8)
    return (rng.normal(size=shape) * 50).astype(np.float32)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("antialias", [False, True])
def test_resize(tf: Any, method: str, antialias: bool) -> None:
    rng = np.random.default_rng(len(method))
    for _ in range(40):
        images = some_images(rng)
        height, width = (int(n) for n in rng.integers(1, 90, 2))
        theirs = tf.image.resize(images, (height, width), method, antialias=antialias).numpy()
        ours = _tensor.resize(images, height, width, method, antialias=antialias)
        np.testing.assert_array_equal(ours, theirs.astype(np.float32))


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize(
    ("method", "name"),
    [("bilinear", "Bilinear"), ("bicubic", "Bicubic"), ("nearest", "NearestNeighbor"),
     ("area", "Area")],
)  # fmt: skip
def test_resize_of_version_1(tf: Any, method: str, name: str, corners: bool) -> None:
    rng = np.random.default_rng(len(method))
    operation = getattr(tf.raw_ops, f"Resize{name}")
    for _ in range(40):
        images = some_images(rng)
        size = [int(n) for n in rng.integers(1, 90, 2)]
        theirs = operation(images=images, size=size, align_corners=corners).numpy()
        ours = _tensor.resize(
            images, *size, method, align_corners=corners, half_pixel_centers=False
        )
        np.testing.assert_array_equal(ours, theirs.astype(np.float32))


@pytest.mark.skipif(_core.jpeg_version() is None, reason="built without libjpeg-turbo")
@pytest.mark.parametrize("seed", range(20))
def test_decode_jpeg(tf: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = some_jpeg(rng)
    for channels in (0, 1, 3):
        for ratio in (1, 2, 4, 8):
            for method in ("INTEGER_FAST", "INTEGER_ACCURATE"):
                for fancy in (True, False):
                    theirs = tf.io.decode_jpeg(
                        data, channels, ratio, fancy_upscaling=fancy, dct_method=method
                    )
                    ours = _core.decode_jpeg(
                        data,
                        channels,
                        ratio=ratio,
                        fast_dct=method == "INTEGER_FAST",
                        fancy_upsampling=fancy,
                    )
                    np.testing.assert_array_equal(ours, theirs.numpy())
