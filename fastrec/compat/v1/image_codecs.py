# SPDX-License-Identifier: Apache-2.0
"""Images out of strings, and into them."""

from __future__ import annotations

from typing import Any

from .._tf.dtypes import as_dtype, int32, string, uint8
from .._tf.ops import Op
from .._tf.ops import codecs as rows
from .._tf.texts import as_bytes
from ._nodes import Tensor
from ._ops import record
from .constants import convert_to_tensor

__all__ = [
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


def _decoded(op: Op, contents: Any, name: str | None, **attributes: Any) -> Tensor:
    tensor = convert_to_tensor(contents, string, "contents")
    return record(op, (tensor,), name, **attributes)


def _png_type(parameter: str, element: Any) -> None:
    if element.name not in rows.PNG_TYPES:
        raise TypeError(
            f"Value passed to parameter '{parameter}' has DataType {element.name} not in list of "
            f"allowed values: {', '.join(rows.PNG_TYPES)}"
        )


def decode_png(
    contents: Any, channels: int | None = 0, dtype: Any = uint8, name: str | None = None
) -> Tensor:
    """The pixels of an image, of whichever format, as ``[height, width, channels]``."""
    element = as_dtype(dtype)
    _png_type("dtype", element)
    return _decoded(rows.DECODE_PNG, contents, name, channels=channels or 0, dtype=element)


def decode_jpeg(
    contents: Any,
    channels: int | None = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """The pixels of an image, of whichever format, as ``[height, width, channels]``."""
    how: dict[str, Any] = {"ratio": ratio, "fancy_upscaling": fancy_upscaling}
    how |= {"channels": channels or 0, "dct_method": dct_method}
    return _decoded(rows.DECODE_JPEG, contents, name, **how)


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
) -> Tensor:
    """A part of a JPEG: ``[top, left, height, width]``."""
    inputs = convert_to_tensor(contents, string), convert_to_tensor(crop_window, int32)
    how: dict[str, Any] = {"ratio": ratio, "fancy_upscaling": fancy_upscaling}
    how |= {"channels": channels or 0, "dct_method": dct_method}
    return record(rows.DECODE_AND_CROP_JPEG, inputs, name, **how)


def decode_gif(contents: Any, name: str | None = None) -> Tensor:
    """The frames of a GIF, as ``[frames, height, width, 3]``."""
    return _decoded(rows.DECODE_GIF, contents, name)


def decode_bmp(contents: Any, channels: int = 0, name: str | None = None) -> Tensor:
    """The pixels of a BMP, as ``[height, width, channels]``."""
    return _decoded(rows.DECODE_BMP, contents, name, channels=channels)


def decode_image(
    contents: Any,
    channels: int | None = None,
    dtype: Any = uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """The pixels of an image of whichever format; the frames of a GIF.

    A `dtype` of floating-point numbers goes from 0 to 1.
    """
    how: dict[str, Any] = {"channels": channels or 0, "expand_animations": expand_animations}
    return _decoded(rows.DECODE_IMAGE, contents, name, dtype=as_dtype(dtype), **how)


def is_jpeg(contents: Any, name: str | None = None) -> Tensor:
    """Whether a string begins like a JPEG."""
    return _decoded(rows.IS_JPEG, contents, name)


def extract_jpeg_shape(contents: Any, output_type: Any = int32, name: str | None = None) -> Tensor:
    """Height, width and channels of a JPEG."""
    dtype = as_dtype(output_type)
    return _decoded(rows.EXTRACT_JPEG_SHAPE, contents, name, output_type=dtype)


def encode_png(image: Any, compression: int = -1, name: str | None = None) -> Tensor:
    """A PNG of an image, or one of each of several; `compression` from 0 to 9, or -1 for zlib's."""
    tensor = convert_to_tensor(image)
    _png_type("image", tensor.dtype)
    return record(rows.ENCODE_PNG, (tensor,), name, compression=compression)


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
) -> Tensor:
    """A JPEG of an image of ``[height, width, channels]``, 1 or 3 of these."""
    if format not in rows.JPEG_FORMATS:
        raise ValueError(
            f"Attr 'format' of 'EncodeJpeg' Op passed string {format!r} not in: \"\", "
            f'"grayscale", "rgb".'
        )
    how: dict[str, Any] = {"progressive": progressive, "optimize": optimize_size}
    how |= {"chroma_downsampling": chroma_downsampling, "density_unit": density_unit}
    how |= {"density": (x_density, y_density), "xmp": as_bytes(xmp_metadata)}
    tensor = convert_to_tensor(image, uint8, "image")
    return record(rows.ENCODE_JPEG, (tensor,), name, format=format, quality=quality, **how)
