# SPDX-License-Identifier: Apache-2.0
"""Functions that change images randomly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dtypes import int32
from ..naming import under_own_names
from ..ops import Op, draws, geometry
from ..ops.shaping import SHAPE
from . import Faces, Version, functions_of
from .draws import Draws
from .images import Images


def _span(most: float, limit: float | None = None) -> dict[str, float]:
    if limit is not None and most > limit:
        raise ValueError(f"max_delta must be <= {limit}.")
    if most < 0:
        raise ValueError("max_delta must be non-negative.")
    return {"minval": -most, "maxval": most}


def _between(lower: float, upper: float) -> dict[str, float]:
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")
    return {"minval": lower, "maxval": upper}


class _ImageDraws(Faces):
    """``random_*`` of ``tf.image``, which draw with seeds, or ``stateless_random_*``.

    Parameters
    ----------
    version : Version
    numbers : Draws
    source : callable
        Takes a seed, and returns a function that draws with it: :meth:`Draws.of_seed` or
        :meth:`Draws.of_pair`.
    """

    def __init__(self, version: Version, numbers: Draws, source: Callable[..., Any]) -> None:
        super().__init__(version)
        self._numbers, self._source = numbers.numbers, source
        self._images = Images(version)

    def _uniform(
        self,
        seed: Any,
        shape: Any = (),
        minval: Any = 0,
        maxval: Any = None,
        dtype: Any = "float32",
    ) -> Any:
        return self._numbers(self._source(seed), shape, minval, maxval, dtype)

    def _flip(self, op: Op, image: Any, seed: Any) -> Any:
        tensor = self._tensor(image)
        if (tensor.shape.ndims or 3) < 3:
            raise ValueError(f"'image' (shape {tensor.shape}) must be at least three-dimensional.")
        several = len(geometry.image_sizes(tensor.shape) or ()) == 4
        drawn = self._uniform(seed, self._count(tensor) if several else ())
        return self._apply(op, [tensor, drawn], several=several)

    def _count(self, tensor: Any) -> Any:
        """Return the shape for drawing one number for each row."""
        first = (tensor.shape.sizes or (None,))[0]
        if first is not None:
            return [first]
        return self._apply(SHAPE, [tensor], out_type=int32)[:1]

    def flip_left_right(self, image: Any, seed: Any = None) -> Any:
        """Flip an image horizontally with a probability of 1/2."""
        return self._flip(draws.FLIP_LEFT_RIGHT, image, seed)

    def flip_up_down(self, image: Any, seed: Any = None) -> Any:
        """Flip an image vertically with a probability of 1/2."""
        return self._flip(draws.FLIP_UP_DOWN, image, seed)

    def crop(self, value: Any, size: Any, seed: Any = None, name: str | None = None) -> Any:
        """Crop a tensor to a size at a random position."""
        wanted = self._tensor(size, int32)
        whole = self._tensor(value)
        rank = whole.shape.ndims  # a size of another length is an error
        count = [rank] if wanted.shape.sizes == (None,) and rank else self._count(wanted)
        numbers = self._uniform(seed, count, maxval=int32.max, dtype=int32)
        inputs = whole, wanted, numbers
        return self._apply(draws.CROP, inputs, name or "random_crop")

    def brightness(self, image: Any, max_delta: float, seed: Any = None) -> Any:
        """Add a random number from ``-max_delta`` to `max_delta` to the pixels of an image."""
        delta = self._uniform(seed, **_span(max_delta))
        return self._images.adjust_brightness(image, delta)

    def contrast(self, image: Any, lower: float, upper: float, seed: Any = None) -> Any:
        """Adjust the contrast of an image by a random factor from `lower` to `upper`."""
        factor = self._uniform(seed, **_between(lower, upper))
        return self._images.adjust_contrast(image, factor)

    def hue(self, image: Any, max_delta: float, seed: Any = None) -> Any:
        """Shift the hue of an image by a random share of the colour circle, at most `max_delta`."""
        return self._images.adjust_hue(image, self._uniform(seed, **_span(max_delta, 0.5)))

    def saturation(self, image: Any, lower: float, upper: float, seed: Any = None) -> Any:
        """Adjust the saturation of an image by a random factor from `lower` to `upper`."""
        factor = self._uniform(seed, **_between(lower, upper))
        return self._images.adjust_saturation(image, factor)

    def jpeg_quality(
        self, image: Any, min_jpeg_quality: int, max_jpeg_quality: int, seed: Any = None
    ) -> Any:
        """Encode an image as JPEG with a random quality, and decode it."""
        quality = self._uniform(
            seed, minval=min_jpeg_quality, maxval=max_jpeg_quality, dtype="int32"
        )
        return self._images.adjust_jpeg_quality(image, quality)


def functions(version: Version, draws: Draws) -> dict[str, Callable[..., Any]]:
    """Return the functions by name."""
    seeded = functions_of(_ImageDraws(version, draws, draws.of_seed))
    stateless = functions_of(_ImageDraws(version, draws, draws.of_pair))
    found = {f"random_{name}": each for name, each in seeded.items()}
    found |= {f"stateless_random_{name}": each for name, each in stateless.items()}
    return under_own_names(found)
