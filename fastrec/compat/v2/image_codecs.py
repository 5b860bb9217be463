# SPDX-License-Identifier: Apache-2.0
"""Images out of bytes and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tf.dtypes import as_dtype
from .._tf.ops import Op, invalid, same_spec
from .._tf.ops import codecs as rows
from .._tf.tensor import convert_to_tensor
from .._tf.texts import as_bytes
from .._tf.trace import run
from ._types import invalid_type

__all__ = [
    "adjust_jpeg_quality",
    "decode_and_crop_jpeg",
    "decode_bmp",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "encode_jpeg",
    "encode_png",
    "extract_jpeg_shape",
    "is_jpeg",
]


def _decoded(op: Op, contents: Any, **attributes: Any) -> Any:
    return run(op, [convert_to_tensor(contents, "string")], **attributes)


def decode_png(
    contents: Any, channels: int | None = 0, dtype: Any = "uint8", name: str | None = None
) -> Any:
    """The pixels of a PNG, of shape (height, width, channels); of other images, too."""
    wanted = as_dtype(dtype)
    if wanted.name not in rows.PNG_TYPES:
        raise invalid_type("dtype", wanted, ", ".join(rows.PNG_TYPES))
    return _decoded(rows.DECODE_PNG, contents, channels=channels or 0, dtype=wanted)


def decode_jpeg(
    contents: Any,
    channels: int | None = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Any:
    """The pixels of a JPEG, of shape (height, width, channels); of other images, too."""
    how: dict[str, Any] = {"ratio": ratio, "fancy_upscaling": fancy_upscaling}
    how |= {"channels": channels or 0, "dct_method": dct_method}
    return _decoded(rows.DECODE_JPEG, contents, **how)


def decode_bmp(contents: Any, channels: int = 0, name: str | None = None) -> Any:
    """The pixels of a BMP."""
    return _decoded(rows.DECODE_BMP, contents, channels=channels)


def decode_gif(contents: Any, name: str | None = None) -> Any:
    """The frames of a GIF, of shape (frames, height, width, 3)."""
    return _decoded(rows.DECODE_GIF, contents)


def decode_image(
    contents: Any,
    channels: int | None = None,
    dtype: Any = "uint8",
    name: str | None = None,
    expand_animations: bool = True,
) -> Any:
    """The pixels of an image of any kind."""
    how: dict[str, Any] = {"channels": channels or 0, "expand_animations": expand_animations}
    return _decoded(rows.DECODE_IMAGE, contents, dtype=as_dtype(dtype), **how)


def decode_and_crop_jpeg(
    contents: Any,
    crop_window: Any,
    channels: int | None = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Any:
    """The pixels of part of a JPEG: top, left, height and width."""
    inputs = [convert_to_tensor(contents, "string"), convert_to_tensor(crop_window, "int32")]
    how: dict[str, Any] = {"ratio": ratio, "fancy_upscaling": fancy_upscaling}
    how |= {"channels": channels or 0, "dct_method": dct_method}
    return run(rows.DECODE_AND_CROP_JPEG, inputs, **how)


def encode_png(image: Any, compression: int = -1, name: str | None = None) -> Any:
    """A PNG of pixels."""
    tensor = convert_to_tensor(image)
    if tensor.dtype.name not in rows.PNG_TYPES:
        raise invalid_type("T", tensor.dtype, ", ".join(rows.PNG_TYPES))
    return run(rows.ENCODE_PNG, [tensor], compression=compression)


def encode_jpeg(
    image: Any,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
    name: str | None = None,
) -> Any:
    """A JPEG of pixels."""
    if format not in rows.JPEG_FORMATS:
        raise invalid(
            f'Value for attr \'format\' of "{format}" is not in the list of allowed values: "", '
            f'"grayscale", "rgb"'
        )
    how: dict[str, Any] = {"progressive": progressive, "optimize": optimize_size}
    how |= {"chroma_downsampling": chroma_downsampling, "density_unit": density_unit}
    how |= {"density": (x_density, y_density), "xmp": as_bytes(xmp_metadata)}
    tensor = convert_to_tensor(image, "uint8")
    return run(rows.ENCODE_JPEG, [tensor], format=format, quality=quality, **how)


def extract_jpeg_shape(contents: Any, output_type: Any = "int32", name: str | None = None) -> Any:
    """Height, width and channels of a JPEG."""
    return _decoded(rows.EXTRACT_JPEG_SHAPE, contents, output_type=as_dtype(output_type))


def is_jpeg(contents: Any, name: str | None = None) -> Any:
    """Whether bytes begin as a JPEG does."""
    return _decoded(rows.IS_JPEG, contents)


def _as_jpeg(x: Any, quality: Any) -> Any:
    from .._tf.kernels import codecs, pixels

    whole = pixels.convert(x, np.dtype(np.uint8), saturate=True)
    data = codecs.encode_jpeg(whole, "", int(quality))
    return pixels.convert(codecs.decode(data, channels=x.shape[-1]), x.dtype)


_AS_JPEG = Op("AdjustJpegQuality", _as_jpeg, same_spec)


def adjust_jpeg_quality(
    image: Any, jpeg_quality: Any, dct_method: str = "", name: str | None = None
) -> Any:
    """An image as a JPEG of that quality would have it."""
    return run(_AS_JPEG, [convert_to_tensor(image), convert_to_tensor(jpeg_quality, "int32")])
