# SPDX-License-Identifier: Apache-2.0
"""Store image files in records: unchanged, as pixels, or made smaller and encoded again."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..features.image_libraries import pillow
from .files import ImageError, decode, inspect

__all__ = ["Storing"]

Format = Literal["jpeg", "png", "webp", "raw"]

# Formats that TensorFlow decodes, and their names in records.
_NAMES = {"JPEG": "jpeg", "PNG": "png", "GIF": "gif", "BMP": "bmp", "WEBP": "webp"}
_ENCODED = ("jpeg", "png", "webp")  # formats that an image can be encoded in; others become PNG
_QUALITY = 90  # default quality of JPEG and WebP


@dataclass(frozen=True)
class Storing:
    """How the images of a directory are stored.

    Attributes
    ----------
    format : {"jpeg", "png", "webp", "raw"}, optional
        Format of all images; ``"raw"`` stores pixels. None keeps the format of each image, except
        that images become PNG whose format TensorFlow does not decode.
    resize : int, optional
        Most pixels of the shorter side; the sides keep their ratio, and no image becomes larger.
    quality : int, optional
        Quality of JPEG and WebP, 1 to 100; 90 by default.
    check : bool
        Whether to decode every image, which finds damage.
    max_pixels : int
        The limit of :func:`fastrec.decode`.
    """

    format: Format | None
    resize: int | None
    quality: int | None
    check: bool
    max_pixels: int

    def features(self, path: Any, data: bytes) -> dict[str, Any]:
        """Return the features of the image in a file with these contents.

        Raises
        ------
        ImageError
            If the image is damaged or too large.
        """
        known, size = inspect(path, data, max_pixels=self.max_pixels)
        name = _NAMES.get(known)
        scaled = self._scaled(size)
        is_kept = self.format in (None, name) and name is not None and scaled == size
        if is_kept and not self.check:
            return _features(size, data, name)
        pixels = decode(path, max_pixels=self.max_pixels, upright=True)
        if is_kept:
            return _features(size, data, name)
        height, width = pixels.shape[:2]  # an upright image may have other sides
        size = self._scaled((width, height))
        if size != (width, height):
            image = pillow().fromarray(pixels)
            pixels = np.asarray(image.resize(size, pillow().Resampling.LANCZOS))
        if self.format == "raw":
            return {
                "image/width": size[0],
                "image/height": size[1],
                "image/raw": pixels,
                "image/shape": list(pixels.shape),
            }
        goal = self.format or (name if name in _ENCODED else "png")
        try:
            return _features(size, self._encoded(pixels, goal), goal)
        except Exception as error:  # WebP has a limit for the sides, for example
            raise ImageError(str(path), f"it cannot be stored as {goal}: {error}") from error

    def _scaled(self, size: tuple[int, int]) -> tuple[int, int]:
        shorter = min(size)
        if self.resize is None or shorter <= self.resize:
            return size
        width, height = (max(1, round(side * self.resize / shorter)) for side in size)
        return width, height

    def _encoded(self, pixels: Any, goal: str) -> bytes:
        quality = _QUALITY if self.quality is None else self.quality
        options = {} if goal == "png" else {"quality": quality}
        out = io.BytesIO()
        pillow().fromarray(pixels).save(out, goal.upper(), **options)
        return out.getvalue()


def _features(size: tuple[int, int], data: bytes, name: str | None) -> dict[str, Any]:
    width, height = size
    return {
        "image/width": width,
        "image/height": height,
        "image/encoded": data,
        "image/format": name,
    }
