# SPDX-License-Identifier: Apache-2.0
"""Decode images to arrays and encode them, with the core, Pillow or, for JPEGs, simplejpeg.

Pillow and simplejpeg are imported for the first image that the core does not decode. With
simplejpeg, the pixels of JPEGs equal TensorFlow's bit for bit. Pillow's pixels differ by a few
steps, because Pillow offers only the slower and more exact of libjpeg's two transforms.
"""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import numpy as np

from fastrec import _core, _tensor
from fastrec.errors import FastrecError
from fastrec.features.image_libraries import pillow

from ..errors import InvalidArgumentError, UnimplementedError, invalid

Array = np.ndarray[Any, Any]

MAX_PIXELS = 1 << 27
_PNG = b"\x89PNG"
_PNG_CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}  # by colour type
_UNKNOWN = "Unknown image file format. One of JPEG, JPEG XL, PNG, GIF, BMP, WebP required."
_BAD_JPEG = "jpeg::Uncompress failed. Invalid JPEG data or crop window."
# libpng's weights of red, green and blue in a grey value, in units of 1/32768; the sum is
# truncated.
_GREY = (9797, 19234, 3737)


def is_jpeg(data: bytes) -> bool:
    """Return whether data starts like a JPEG."""
    return data[:3] == b"\xff\xd8\xff"


def _open(data: bytes) -> Any:
    image_module = pillow()
    formats = ["JPEG", "PNG", "GIF", "BMP", "WEBP"]
    try:
        image = image_module.open(io.BytesIO(data), formats=formats)
    except image_module.UnidentifiedImageError:
        if is_jpeg(data):
            raise invalid(_BAD_JPEG) from None
        if data[:4] == _PNG:
            raise invalid(f"Invalid PNG data, size {len(data)}") from None
        raise invalid(_UNKNOWN) from None
    if image.width * image.height > MAX_PIXELS:
        raise invalid(f"an image of {image.width} by {image.height} pixels is too large")
    return image


def decode(
    data: bytes,
    channels: int = 0,
    dtype: Any = np.uint8,
    *,
    animated: bool = False,
    ratio: int = 1,
    accurate: bool = False,
    fancy: bool = True,
) -> Array:
    """Decode an image to its pixels.

    Parameters
    ----------
    data : bytes
        JPEG, PNG, GIF, BMP or WebP.
    channels : int
        1, 3 or 4, or 0 for the number of channels in the file.
    dtype : dtype
        ``uint8`` or ``uint16``.
    animated : bool
        Whether the frames of a GIF get their own dimension.
    ratio : int
        The factor by which a JPEG is scaled down: 1, 2, 4 or 8.
    accurate, fancy : bool
        Whether libjpeg uses its accurate transform, and whether it upsamples colours smoothly.

    Returns
    -------
    ndarray, shape (height, width, channels)

    Raises
    ------
    InvalidArgumentError
        If `data` is not a complete image.
    """
    if not data:
        raise invalid("Input is empty.")
    if is_jpeg(data):
        quick = _quick_jpeg(data, channels, accurate, fancy, ratio)
        if quick is not None:
            return _deepened(quick, dtype)
    elif data[:4] == _PNG:
        quick = _native_png(data, channels, np.dtype(dtype))
        if quick is not None:
            return quick
    try:
        with _open(data) as image:
            return _pixels(image, data, channels, np.dtype(dtype), animated, ratio)
    except (InvalidArgumentError, UnimplementedError, ImportError):
        raise
    except Exception as error:  # a decoder may raise any class for hostile data
        if is_jpeg(data):
            raise invalid(_BAD_JPEG) from error
        if data[:4] == _PNG:
            raise invalid(f"Invalid PNG data, size {len(data)}") from error
        raise invalid(f"{_UNKNOWN} ({error})") from error


def _quick_jpeg(
    data: bytes, channels: int, accurate: bool, fancy: bool, ratio: int
) -> Array | None:
    """Decode a JPEG natively or with simplejpeg; return None if Pillow must decode it."""
    if channels not in (0, 1, 3):
        raise invalid(f"JPEG does not support {channels} channels")
    if _core.jpeg_version() is not None:
        return _native_jpeg(data, channels, accurate, fancy, ratio)
    if ratio != 1:
        return None
    try:
        import simplejpeg
    except ImportError:
        return None
    try:
        height, width, space, _ = simplejpeg.decode_jpeg_header(data)
        if height * width > MAX_PIXELS or space not in ("YCbCr", "Gray"):
            return None
        grey = channels == 1 or (channels == 0 and space == "Gray")
        decoded: Array = simplejpeg.decode_jpeg(
            data,
            colorspace="GRAY" if grey else "RGB",
            fastdct=not accurate,
            fastupsample=not fancy,
        )
        return decoded
    except ValueError:
        return None


def _native_jpeg(
    data: bytes, channels: int, accurate: bool, fancy: bool, ratio: int, region: Any = None
) -> Array:
    try:
        return _core.decode_jpeg(
            data,
            channels,
            ratio=ratio,
            region=region,
            fast_dct=not accurate,
            fancy_upsampling=fancy,
            max_pixels=MAX_PIXELS,
        )
    except (FastrecError, ValueError) as error:
        raise invalid(_BAD_JPEG) from error


def _native_png(data: bytes, channels: int, dtype: np.dtype[Any]) -> Array | None:
    """Decode a PNG natively; return None if Pillow must decode it.

    The header does not say whether a palette has an alpha channel, so Pillow decodes palettes.
    """
    if not channels and len(data) > 25:
        channels = _PNG_CHANNELS.get(data[25], 0)
    if _core.png_version() is None or not channels:
        return None
    try:
        bits = 8 * dtype.itemsize
        return _core.decode_png(data, channels, bits=bits, max_pixels=MAX_PIXELS)
    except (FastrecError, ValueError) as error:
        raise invalid(f"Invalid PNG data, size {len(data)}") from error


def decode_crop(
    data: bytes, window: Any, channels: int = 0, accurate: bool = False, fancy: bool = True
) -> Array:
    """Return the pixels of a window of a JPEG, given as top, left, height and width."""
    top, left, height, width = (int(number) for number in window)
    if not is_jpeg(data) or _core.jpeg_version() is None:
        whole = decode(data, channels, accurate=accurate, fancy=fancy)
    else:
        if channels not in (0, 1, 3):
            raise invalid(f"JPEG does not support {channels} channels")
        region = (top, left, height, width)
        return _native_jpeg(data, channels, accurate, fancy, 1, region)
    rows, columns = whole.shape[:2]
    fits = 0 <= top <= rows - height and 0 <= left <= columns - width
    if not fits or height <= 0 or width <= 0:
        raise invalid(_BAD_JPEG)
    return whole[top : top + height, left : left + width]


def _pixels(
    image: Any, data: bytes, channels: int, dtype: np.dtype[Any], animated: bool, ratio: int
) -> Array:
    kind = image.format
    if kind == "GIF":
        if channels not in (0, 3):
            raise invalid(f"channels must be 0 or 3 for GIF, got {channels}")
        return _frames(image) if animated else np.asarray(image.convert("RGB"))
    if kind == "JPEG":
        if channels not in (0, 1, 3):
            raise invalid(f"JPEG does not support {channels} channels")
        return _deepened(_jpeg(image, channels, ratio), dtype)
    stored = _stored(image, data, dtype)
    return _deepened(_with_channels(stored, channels), dtype)


def _frames(image: Any) -> Array:
    frames = []
    for number in range(getattr(image, "n_frames", 1)):
        image.seek(number)
        if (number + 1) * image.width * image.height > MAX_PIXELS:
            raise invalid(f"an image of more than {number} frames is too large")
        frames.append(np.asarray(image.convert("RGB")))
    return np.stack(frames)


def _jpeg(image: Any, channels: int, ratio: int) -> Array:
    # A draft is the smallest size that is at least this size. Pillow rounds the sizes of a draft
    # up.
    size = (max(1, image.width // ratio), max(1, image.height // ratio))
    grey = channels == 1 or (channels == 0 and image.mode == "L")
    image.draft("L" if grey else "RGB", size)
    pixels = np.asarray(image.convert("L" if grey else "RGB"))
    return pixels[:, :, np.newaxis] if grey else pixels


def _stored(image: Any, data: bytes, dtype: np.dtype[Any]) -> Array:
    """Return the pixels with the channels of the file."""
    deep = image.format == "PNG" and len(data) > 25 and data[24] == 16
    if image.mode.startswith("I"):
        return np.asarray(image).astype(np.uint16)[:, :, np.newaxis]
    if deep and dtype == np.uint16:
        raise UnimplementedError(None, None, "16-bit PNGs are decoded with one channel only")
    if image.mode in ("1", "P", "PA"):
        clear = "transparency" in image.info or image.mode == "PA"
        image = image.convert("L" if image.mode == "1" else "RGBA" if clear else "RGB")
    if image.mode not in ("L", "LA", "RGB", "RGBA"):
        image = image.convert("RGB")
    pixels = np.asarray(image)
    return pixels[:, :, np.newaxis] if pixels.ndim == 2 else pixels


def _with_channels(pixels: Array, channels: int) -> Array:
    have = pixels.shape[2]
    if channels in (0, have):
        return pixels
    solid = np.full((*pixels.shape[:2], 1), np.iinfo(pixels.dtype).max, dtype=pixels.dtype)
    alpha = pixels[:, :, -1:] if have in (2, 4) else solid
    colours = pixels[:, :, : have - 1] if have in (2, 4) else pixels
    if channels == 1:
        return colours if colours.shape[2] == 1 else _to_grey(colours)
    wide = np.repeat(colours, 3, axis=2) if colours.shape[2] == 1 else colours
    return wide if channels == 3 else np.concatenate([wide, alpha], axis=2)


def _to_grey(colours: Array) -> Array:
    total = (colours.astype(np.int64) * np.array(_GREY)).sum(axis=2, keepdims=True)
    return np.asarray(total >> 15, dtype=colours.dtype)


def _deepened(pixels: Array, dtype: Any) -> Array:
    """Convert samples between 8 and 16 bits."""
    if pixels.dtype == np.uint8 and np.dtype(dtype) == np.uint16:
        return pixels.astype(np.uint16) * np.uint16(257)
    if pixels.dtype == np.uint16 and np.dtype(dtype) == np.uint8:
        return (pixels >> 8).astype(np.uint8)
    return pixels


def jpeg_shape(data: bytes) -> tuple[int, int, int]:
    """Return the height, width and number of channels of a JPEG.

    Raises
    ------
    InvalidArgumentError
        If the data is not a JPEG.
    """
    if not is_jpeg(data):
        raise invalid("Not a JPEG file")
    if _core.jpeg_version() is not None:
        try:
            return _core.jpeg_header(data, max_pixels=MAX_PIXELS)[:3]
        except (FastrecError, ValueError) as error:
            raise invalid(_BAD_JPEG) from error
    with _open(data) as image:
        return image.height, image.width, 1 if image.mode == "L" else 3


_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}


def encode_png(pixels: Array, compression: int = -1) -> bytes:
    """Encode pixels as PNG.

    Parameters
    ----------
    pixels : ndarray of uint8 or uint16, shape (height, width, 1 to 4)
    compression : int
        0 to 9, or -1 for zlib's default.

    Raises
    ------
    InvalidArgumentError
        If the number of channels is not supported.
    """
    height, width, channels = pixels.shape
    if channels not in _MODES:
        raise invalid(f"image must have 1, 2, 3, or 4 channels, got {channels}")
    if not height or not width:
        raise invalid("image must not be empty")
    if _core.png_version() is not None:
        whole = np.ascontiguousarray(pixels)
        return _tensor.encode_png(whole.view(np.uint8), compression, bits=8 * pixels.itemsize)
    if pixels.dtype == np.uint16:
        return _deep_png(pixels, compression)
    flat = np.ascontiguousarray(pixels[:, :, 0] if channels == 1 else pixels)
    file = io.BytesIO()
    level = 6 if compression == -1 else compression
    pillow().fromarray(flat).save(file, "PNG", compress_level=level)
    return file.getvalue()


def _chunk(kind: bytes, data: bytes) -> bytes:
    check = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)


def _deep_png(pixels: Array, compression: int) -> bytes:
    """Encode 16-bit samples, which Pillow can write only for one channel; rows are not filtered."""
    height, width, channels = pixels.shape
    colour = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    lines = np.zeros((height, 1 + 2 * width * channels), dtype=np.uint8)
    lines[:, 1:] = pixels.astype(">u2").reshape(height, -1).view(np.uint8)
    header = struct.pack(">IIBBBBB", width, height, 16, colour, 0, 0, 0)
    return b"".join(
        [
            b"\x89PNG\r\n\x1a\n",
            _chunk(b"IHDR", header),
            _chunk(b"IDAT", zlib.compress(lines.tobytes(), compression)),
            _chunk(b"IEND", b""),
        ]
    )


def encode_jpeg(
    pixels: Array,
    kind: str = "",
    quality: int = 95,
    *,
    progressive: bool = False,
    optimize: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    density: tuple[int, int] = (300, 300),
    xmp: bytes = b"",
) -> bytes:
    """Encode pixels as JPEG.

    Parameters
    ----------
    pixels : ndarray of uint8, shape (height, width, 1 or 3)
    kind : str
        ``"grayscale"`` or ``"rgb"``, or an empty string for the kind of `pixels`.
    quality : int
        0 to 100.
    xmp : bytes
        XMP metadata.

    Raises
    ------
    InvalidArgumentError
        If the number of channels is not supported, or if there are more than 65500 rows or columns.
    """
    channels = pixels.shape[2]
    shape = f"[{','.join(str(n) for n in pixels.shape)}]"
    expected = {"grayscale": 1, "rgb": 3}.get(kind)
    if expected is not None and channels != expected:
        raise invalid(f"format {kind} expects {expected} channels, got {shape}")
    if channels not in (1, 3):
        raise invalid(f"image must have 1 or 3 channels, got {shape}")
    if _core.jpeg_version() is not None:
        try:
            return _tensor.encode_jpeg(
                np.ascontiguousarray(pixels),
                quality,
                progressive=progressive,
                optimize=optimize,
                subsampling=chroma_downsampling,
                density_unit=1 if density_unit == "in" else 2,
                density=(density[0] & 0xFFFF, density[1] & 0xFFFF),
                xmp=xmp,
            )
        except ValueError as error:
            raise invalid(str(error)) from error
    flat = np.ascontiguousarray(pixels[:, :, 0] if channels == 1 else pixels)
    file = io.BytesIO()
    pillow().fromarray(flat).save(
        file,
        "JPEG",
        quality=quality,
        progressive=progressive,
        optimize=optimize,
        subsampling=2 if chroma_downsampling else 0,
        dpi=density if density_unit == "in" else tuple(n * 2.54 for n in density),
        **({"xmp": xmp} if xmp else {}),
    )
    return file.getvalue()
