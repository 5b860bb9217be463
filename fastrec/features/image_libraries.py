# SPDX-License-Identifier: Apache-2.0
"""Decode images with libraries: the built-in ones, Pillow and simplejpeg; check limits."""

from __future__ import annotations

import io
import threading
import warnings
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .image_errors import FORMATS, DeepImageError

if TYPE_CHECKING:
    from PIL import Image

__all__ = [
    "JPEG",
    "MAX_PIXELS",
    "PNG",
    "built_in",
    "decode_by_pillow",
    "decode_by_simplejpeg",
    "decoders",
    "pillow",
    "quiet",
    "too_few",
]

MAX_PIXELS = 1 << 27  # pixels of the largest image that is decoded: a limit for hostile headers
# Upper bound of the pixels per byte of a file: one GIF code repeats up to 4096 pixels.
_PIXELS_PER_BYTE = 4096
# An image of at most this size may come from a file of any size.
_SMALL_PIXELS = 1 << 20
JPEG = b"\xff\xd8\xff"
PNG = b"\x89PNG\r\n\x1a\n"
_PNG_DEPTH = 24  # offset of the bits of a sample
_MODES = {1: "L", 3: "RGB"}


def too_few(size: int, width: int, height: int) -> str | None:
    """Return why an image of these sides cannot be in `size` bytes; None if it can.

    GIF, BMP and WebP define no such bound, so a small file could otherwise take any amount of
    memory and time.
    """
    if width * height <= max(_SMALL_PIXELS, size * _PIXELS_PER_BYTE):
        return None
    return f"{size} bytes are too few for {width}x{height} pixels"


def built_in() -> dict[str, bool]:
    """Return whether the core was built with a library for JPEGs, and for PNGs."""
    return {
        "jpeg": _core.jpeg_version() is not None,
        "png": _core.png_version() is not None,
    }


def decoders() -> dict[str, str | None]:
    """Return the library that decodes each image format; None if one must be installed.

    Examples
    --------
    >>> sorted(decoders())
    ['JPEG', 'PNG', 'other']
    """
    found = {"JPEG": _core.jpeg_version(), "PNG": _core.png_version(), "other": None}
    for name in ("PIL", "simplejpeg"):
        try:
            module = __import__(name)
        except ImportError:
            continue
        label = (
            f"{'Pillow' if name == 'PIL' else name} {getattr(module, '__version__', '')}".strip()
        )
        if name == "PIL":
            found["other"] = label
            found["PNG"] = found["PNG"] or label
        if _core.jpeg_version() is None:
            found["JPEG"] = label
    return found


def _has_16_bits(image: Image.Image, data: bytes) -> bool:
    """Return True for an image with samples of 16 bits, which Pillow may hide."""
    if image.format == "PNG":
        return data[_PNG_DEPTH] == 16
    tags = getattr(image, "tag_v2", None)  # tags of a TIFF
    return image.mode.startswith("I;16") or (
        tags is not None and image.mode not in ("I", "F") and max(tags.get(258, (1,))) == 16
    )


def decode_by_simplejpeg(data: bytes, channels: int, *, fast_dct: bool) -> NDArray[np.uint8] | None:
    """Decode a JPEG; return None without simplejpeg, or if it cannot decode the bytes."""
    try:
        import simplejpeg
    except ImportError:
        return None
    try:
        height, width, _, _ = simplejpeg.decode_jpeg_header(data)
        if height * width > MAX_PIXELS:
            return None
        return simplejpeg.decode_jpeg(  # type: ignore[no-any-return]
            data, colorspace="RGB" if channels == 3 else "GRAY", fastdct=fast_dct
        )
    except ValueError:
        return None


def pillow() -> Any:
    """Import ``PIL.Image``.

    Raises
    ------
    ImportError
        If Pillow is not installed. The message names the extra to install.
    """
    try:
        from PIL import Image
    except ImportError as error:
        message = "images require Pillow: pip install 'fastrec-io[image]'"
        raise ImportError(message, name=error.name) from error
    return Image


class Quiet:
    """Suppresses Pillow's warnings about odd metadata, and about sizes, which max_pixels limits.

    Warning filters belong to the process. If every thread restored the filters that it found, they
    could remain changed. The first thread therefore changes them, and the last one restores them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._before = warnings.catch_warnings()
                self._before.__enter__()
                warnings.simplefilter("ignore")
            self._inside += 1

    def __exit__(self, *exc_info: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._before.__exit__(None, None, None)


quiet: Final = Quiet()


def decode_by_pillow(
    data: bytes, channels: int, dtype: str | None, *, upright: bool
) -> NDArray[Any]:
    """Decode an image to 8-bit samples, or to 16-bit samples if `dtype` and the image are uint16.

    Raises
    ------
    DeepImageError
        If samples have 16 bits and `dtype` is neither uint8 nor uint16.
    """
    with quiet, pillow().open(io.BytesIO(data), formats=FORMATS) as image:
        width, height = image.size
        if width * height > MAX_PIXELS:
            raise ValueError(f"{width}x{height} pixels exceed the limit of {MAX_PIXELS}")
        problem = too_few(len(data), width, height)
        if problem is not None:
            raise ValueError(problem)
        is_deep = _has_16_bits(image, data)
        if is_deep and dtype not in ("uint8", "uint16"):
            raise DeepImageError
        turned = _upright(image) if upright else image
        if is_deep and dtype == "uint16":
            return _deep_samples(turned, channels)
        if turned.mode != _MODES[channels]:
            turned = _of_bytes(turned).convert(_MODES[channels])
        pixels = np.frombuffer(turned.tobytes(), np.uint8)
    return pixels.reshape(*turned.size[::-1], channels)


def _deep_samples(image: Image.Image, channels: int) -> NDArray[np.uint16]:
    if not image.mode.startswith("I"):
        raise ValueError("16-bit samples in colour require a build with libpng, and a PNG")
    grey = np.asarray(image).astype(np.uint16)
    return np.repeat(grey[:, :, np.newaxis], channels, axis=2)


def _upright(image: Image.Image) -> Image.Image:
    from PIL import ImageOps

    return ImageOps.exif_transpose(image)


def _of_bytes(image: Image.Image) -> Image.Image:
    """Return the upper byte of 16-bit samples, which Pillow would cut off at 255."""
    from PIL import Image

    # Older versions of Pillow report the 16-bit samples of a PNG as 32-bit integers ("I").
    if image.mode == "F" or (image.mode == "I" and image.format != "PNG"):
        bits = "float32" if image.mode == "F" else "int32"
        raise ValueError(f"{bits} samples do not fit in 8 bits; store the array as raw bytes")
    if not image.mode.startswith("I;16") and (image.mode, image.format) != ("I", "PNG"):
        return image
    return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
