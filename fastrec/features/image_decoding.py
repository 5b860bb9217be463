# SPDX-License-Identifier: Apache-2.0
"""Decode encoded images to arrays, with the options of an ImageFeature.

The core decodes JPEGs with libjpeg-turbo and PNGs with libpng if it was built with these libraries.
Otherwise simplejpeg decodes JPEGs if it is installed, and Pillow decodes everything else. All of
them release the GIL.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .. import _core
from ..arguments import check_keys
from ..columns import Arrays, Bytes, Ragged
from .image_errors import DeepImageError, ListedImageError, explained
from .image_libraries import (
    JPEG,
    MAX_PIXELS,
    PNG,
    built_in,
    decode_by_pillow,
    decode_by_simplejpeg,
)

__all__ = ["ImageDecoder"]

Failed = Callable[[int, Exception], None]


@dataclass(frozen=True)
class ImageDecoder:
    """Decode images without knowledge of records.

    Attributes
    ----------
    channels : {3, 1}
        RGB or grey.
    dtype : str or None
        Name of the dtype of the result; None has the meaning that it has in an ImageFeature.
    upright, fast_dct : bool
        As in an ImageFeature.
    native : dict or None
        Options of the native pass except the seed; None if images keep their sizes.
    row_shape : tuple of 3 int, or None
        Shape of one decoded image; None if images keep their sizes.
    """

    channels: int
    dtype: str | None
    upright: bool
    fast_dct: bool
    native: dict[str, Any] | None
    row_shape: tuple[int, int, int] | None

    def decode(
        self,
        images: Iterable[bytes] | Bytes | Ragged,
        keys: Any,
        seed: int,
        failed: Failed,
        spares: _core.Spares | None = None,
    ) -> NDArray[Any] | Arrays | Ragged:
        """Decode images and transform them; call `failed` for those that cannot be decoded.

        Exceptions from `failed` are passed on. When it returns, the pixels of the row are
        unspecified. Images of one size, one in each row, are written into memory of `spares`.
        """
        if isinstance(images, Ragged):
            return self._lists(images, keys, seed, failed)
        try:
            strings = (
                images if isinstance(images, Bytes) else Bytes.from_list(_core.as_records(images))
            )
        except TypeError as error:
            raise TypeError(f"images must be an iterable of bytes: {error}") from None
        if keys is not None:
            keys = check_keys(keys, len(strings))
        if self.dtype not in ("uint8", "uint16"):
            for row in _core.png_rows_of_16_bits(strings.data, strings.offsets):
                failed(row, DeepImageError())
        if self.dtype == "uint16":
            return self._deep(strings, failed)
        if self.native is None or self.row_shape is None:
            found = self._together(strings)
            if found is None:
                return _as_arrays(self._each(strings, failed, self._decoded), np.uint8)
            return found
        if keys is None:
            keys = np.arange(len(strings), dtype=np.uint64)
        options = self.native | {"seed": seed % 2**64}
        return self._fused(strings, keys, options, self.row_shape, failed, spares)

    def _lists(self, images: Ragged, keys: Any, seed: int, failed: Failed) -> Ragged:
        """Decode rows of several images; the images of a row have the same key."""
        splits = images.row_splits
        strings = images.values[int(splits[0]) : int(splits[-1])]
        splits = splits - splits[0]
        if keys is None:
            keys = np.arange(len(images), dtype=np.uint64)
        else:
            keys = check_keys(keys, len(images))
        keys = np.repeat(keys, np.diff(splits))

        def fail(number: int, error: Exception) -> None:
            row = int(np.searchsorted(splits, number, side="right")) - 1
            failed(row, ListedImageError(number - int(splits[row]), error))

        return Ragged(self.decode(strings, keys, seed, fail), splits)

    def _deep(self, strings: Bytes, failed: Failed) -> NDArray[np.uint16] | Arrays:
        """Decode to samples of 16 bits."""
        shape = self.row_shape
        if self.native is None or shape is None:
            return _as_arrays(self._each(strings, failed, self._decoded_deep), np.uint16)
        # The native pass fits the two bytes of samples one by one, as floats: it is linear.
        native = _core.Preprocessor(self.native | {"dtype": "float32", "seed": 0})
        out = np.zeros((len(strings), *shape), np.uint16)

        def fit(data: bytes, row: int) -> None:
            image = self._decoded_deep(data)
            halves = np.empty((2, *shape), np.float32)
            for half, part in zip(halves, (image >> 8, image & 255), strict=True):
                pixels = np.ascontiguousarray(part, np.uint8)
                native.pixels(pixels, 0, half.reshape(-1).view(np.uint8))
            np.rint(halves[0] * 256.0 + halves[1], out=out[row], casting="unsafe")

        for row, data in enumerate(strings):
            error = self._attempt(partial(fit, data), row)
            if error is not None:
                failed(row, explained(error, data))
        return out

    def _fused(
        self,
        strings: Bytes,
        keys: NDArray[np.uint64],
        options: dict[str, Any],
        shape: tuple[int, int, int],
        failed: Failed,
        spares: _core.Spares | None,
    ) -> NDArray[Any]:
        native = _core.Preprocessor(options)
        row, count, libraries = 0, len(strings), built_in()
        out = _core.empty((count, *shape), _dtype_of(options["dtype"]), spares)
        rows = out.view(np.uint8).reshape(count, math.prod(shape) * out.itemsize)
        while row < count:
            row, error = native.images(
                strings.data, strings.offsets, keys, rows.reshape(-1), row, **libraries
            )
            if row == count:
                break
            if error is None:
                error = self._attempt(
                    lambda row: native.pixels(self._pixels(strings[row]), keys[row], rows[row]),
                    row,
                )
            if error is not None:
                rows[row] = 0
                failed(row, explained(error, strings[row]))
            row += 1
        return out

    @staticmethod
    def _attempt(function: Callable[[int], Any], row: int) -> Exception | None:
        try:
            function(row)
        except (ImportError, MemoryError):
            raise
        except Exception as error:  # hostile bytes can make a decoder raise any class of exception
            return error
        return None

    def _together(self, strings: Bytes) -> Arrays | None:
        """Decode images of any size; return None if one of them needs another library."""
        if not len(strings):
            return None
        found = _core.decode_images(
            strings.data,
            strings.offsets,
            self.channels,
            fast_dct=self.fast_dct,
            upright=self.upright,
            max_pixels=MAX_PIXELS,
            **built_in(),
        )
        return None if found is None else Arrays(*found)

    def _each(
        self, strings: Bytes, failed: Failed, decode: Callable[[bytes], NDArray[Any]]
    ) -> list[NDArray[Any]]:
        """Decode images of any size, one by one."""
        found: list[NDArray[Any]] = []
        for row, data in enumerate(strings):
            error = self._attempt(lambda _, data=data: found.append(decode(data)), row)  # type: ignore[misc]
            if error is not None:
                failed(row, explained(error, data))
                found.append(np.zeros((0, 0, self.channels), np.uint8))
        return found

    def _decoded(self, data: bytes) -> NDArray[np.uint8]:
        if _core.jpeg_version() is not None and data[:3] == JPEG:
            upright = not self.upright or _core.jpeg_header(data, max_pixels=MAX_PIXELS)[3] == 1
            if upright:
                return _core.decode_jpeg(data, self.channels, fast_dct=self.fast_dct)
        if _core.png_version() is not None and data[:8] == PNG and not self.upright:
            return _core.decode_png(data, self.channels, max_pixels=MAX_PIXELS)
        return self._pixels(data)

    def _decoded_deep(self, data: bytes) -> NDArray[np.uint16]:
        """Return an image of 16-bit samples; 8-bit ones are multiplied by 257."""
        if _core.png_version() is not None and data[:8] == PNG and not self.upright:
            return _core.decode_png(data, self.channels, bits=16, max_pixels=MAX_PIXELS)
        pixels: NDArray[Any]
        if data[:3] == JPEG:
            pixels = self._decoded(data)
        else:
            pixels = decode_by_pillow(data, self.channels, self.dtype, upright=self.upright)
        factor = 1 if pixels.dtype == np.uint16 else 257
        return np.multiply(pixels, np.uint16(factor), dtype=np.uint16)

    def _pixels(self, data: bytes) -> NDArray[np.uint8]:
        """Decode with simplejpeg or Pillow."""
        if data[:2] == b"\xff\xd8" and not self.upright:
            decoded = decode_by_simplejpeg(data, self.channels, fast_dct=self.fast_dct)
            if decoded is not None:
                return decoded
        return decode_by_pillow(data, self.channels, self.dtype, upright=self.upright)


def _dtype_of(name: str) -> Any:
    if name != "bfloat16":
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError as error:
        message = "dtype='bfloat16' requires ml_dtypes: pip install ml_dtypes"
        raise ImportError(message, name=error.name) from error
    return np.dtype(ml_dtypes.bfloat16)


def _as_arrays(rows: list[NDArray[Any]], dtype: DTypeLike) -> Arrays:
    shapes = np.array([row.shape for row in rows], np.int64).reshape(len(rows), 3)
    splits = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(shapes.prod(axis=1), out=splits[1:])
    values = np.empty(int(splits[-1]), dtype)
    for row, begin, end in zip(rows, splits[:-1], splits[1:], strict=True):
        values[begin:end] = row.reshape(-1)
    return Arrays(values, splits, shapes)
