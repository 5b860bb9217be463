# SPDX-License-Identifier: Apache-2.0
"""Encode and decode images as TFDS does, with samples of 8 bits, 16 bits or float32."""

from __future__ import annotations

import functools
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fastrec

from .. import _core
from ..errors import FastrecError, one_line
from ..features.image_libraries import pillow

__all__ = ["decode_image", "encode_image", "image_feature", "is_decodable"]

_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}
_MAX_PIXELS = 1 << 27  # pixels of the largest image that is decoded
_JPEG = b"\xff\xd8\xff"
_PNG = b"\x89PNG\r\n\x1a\n"


def is_decodable(channels: int, dtype: np.dtype[Any]) -> bool:
    """Return whether :func:`decode_image` supports this kind; Pillow lacks 16-bit colour."""
    if dtype == np.uint16 and _core.png_version() is not None:
        return channels in _MODES
    return is_encodable(channels, dtype)


def is_encodable(channels: int, dtype: np.dtype[Any]) -> bool:
    """Return whether :func:`encode_image` supports this kind."""
    if dtype == np.uint8:
        return channels in (0, *_MODES)
    return dtype in (np.dtype(np.uint16), np.dtype(np.float32)) and channels == 1


@functools.cache
def image_feature(shape: tuple[int, int] | None, channels: int) -> fastrec.ImageFeature:
    """Return a feature that decodes 8-bit images with TensorFlow's JPEG transform, as TFDS does."""
    return fastrec.ImageFeature(shape, channels, dtype="uint8", fast_dct=True)


def decode_image(data: bytes, channels: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Decode one image to an array of shape (height, width, channels).

    Parameters
    ----------
    data : bytes
        A JPEG, PNG, GIF or BMP file. For an animation, the first frame is decoded.
    channels : int
        The number of channels to return; 0 keeps the number in the file.
    dtype : dtype
        The dtype of samples. A float32 image is stored as a PNG of four 8-bit channels, which hold
        the bytes of each sample.

    Raises
    ------
    ValueError
        If `data` is not an image of this kind.
    """
    stored = 4 if dtype == np.float32 else channels
    samples = _built_in(data, stored, 16 if dtype == np.uint16 else 8)
    if samples is None and dtype == np.uint8 and channels in (1, 3):
        return np.asarray(image_feature(None, channels).decode([data])[0])
    if samples is None:
        samples = _open(data, "I;16" if dtype == np.uint16 else _MODES.get(stored))
    return np.ascontiguousarray(samples).view(np.float32) if dtype == np.float32 else samples


def _built_in(data: bytes, channels: int, bits: int) -> NDArray[Any] | None:
    """Decode with libjpeg-turbo or libpng; return None for images that need Pillow."""
    try:
        if data[:3] == _JPEG and channels in (1, 3) and bits == 8 and _core.jpeg_version():
            return _core.decode_jpeg(data, channels, fast_dct=True, max_pixels=_MAX_PIXELS)
        if data[:8] == _PNG and channels and _core.png_version():
            return _core.decode_png(data, channels, bits=bits, max_pixels=_MAX_PIXELS)
    except FastrecError as error:
        raise ValueError(f"not an image that can be decoded: {error}") from error
    return None


def _open(data: bytes, mode: str | None) -> NDArray[Any]:
    image_module = pillow()
    try:
        with image_module.open(io.BytesIO(data)) as image:
            width, height = image.size
            if width * height > _MAX_PIXELS:
                raise ValueError(f"{width}x{height} pixels are more than {_MAX_PIXELS}")
            if mode == "I;16":
                return _sixteen_bits(image)[..., None]
            if mode is None:
                mode = image.mode if image.mode in _MODES.values() else "RGB"
            array = np.array(image if image.mode == mode else image.convert(mode))
    except Exception as error:  # Hostile bytes can make a decoder raise any class of exception.
        raise ValueError(f"not an image that can be decoded: {one_line(error)}") from error
    return array.reshape(height, width, -1)


def _sixteen_bits(image: Any) -> NDArray[np.uint16]:
    # Older versions of Pillow report 16-bit PNGs as 32-bit integers.
    if image.mode.startswith("I"):
        return np.array(image).astype(np.uint16)
    # TensorFlow scales 8-bit samples to the range of 16 bits.
    return np.array(image.convert("L")).astype(np.uint16) * np.uint16(257)


def encode_image(array: Any, shape: tuple[int | None, ...], dtype: Any, encoding: str) -> bytes:
    """Encode an array as TFDS does: as PNG unless `encoding` is ``"jpeg"``.

    Raises
    ------
    ValueError
        If the array has another shape or dtype, or the format cannot represent it.
    """
    array = np.asarray(array)
    fits = array.ndim == len(shape) and all(
        wanted in (None, size) for size, wanted in zip(array.shape, shape, strict=True)
    )
    if not fits or array.dtype != dtype:
        raise ValueError(
            f"an image must be of shape {shape} and {np.dtype(dtype)}, "
            f"got {array.shape} and {array.dtype}"
        )
    if array.dtype == np.float32:
        array = np.ascontiguousarray(array).view(np.uint8)
    channels = array.shape[-1]
    if not is_encodable(channels, array.dtype):
        raise ValueError(f"{array.dtype} images of {channels} channels must be given encoded")
    plane = np.ascontiguousarray(array[..., 0] if channels == 1 else array)
    out = io.BytesIO()
    pillow().fromarray(plane).save(out, format=encoding.upper() or "PNG", **_options(encoding))
    return out.getvalue()


def _options(encoding: str) -> dict[str, Any]:
    return {"quality": 95} if encoding == "jpeg" else {}
