# SPDX-License-Identifier: Apache-2.0
"""Images out of strings, and into them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._tf.dtypes import DType, as_dtype, bool_, float32, int32, string, uint8, uint16
from .._tf.kernels import codecs, pixels
from .._tf.shape import TensorShape
from ._nodes import Tensor
from ._ops import Array, invalid, pure
from .constants import constant_value, convert_to_tensor

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


def _contents(value: Any, type: str) -> Tensor:
    tensor = convert_to_tensor(value, string, "contents")
    if tensor.shape.ndims not in (0, None):
        raise ValueError(f"Shape must be rank 0 but is rank {tensor.shape.ndims} for '{type}'")
    return tensor


def _decoding(
    type: str,
    contents: Any,
    function: Callable[[bytes], Array],
    dtype: DType,
    known: Any,
    name: str | None,
    **attrs: Any,
) -> Tensor:
    tensor = _contents(contents, type)

    def kernel(data: Array) -> Array:
        if data.ndim:
            raise invalid(f"contents must be scalar, got shape {list(data.shape)}")
        encoded: Any = data[()]
        return function(encoded)

    return pure(type, kernel, (tensor,), dtype, known, name, **attrs)


def _counted(channels: int) -> None:
    if channels not in (0, 1, 3, 4):
        raise invalid(f"`channels` must be 0, 1, 3 or 4 but got {channels}")


def _by_its_own(data: bytes, type: str) -> None:
    """Refuse a BMP, which the operations of other formats are not for."""
    if data[:2] == b"BM":
        raise invalid(
            f"Trying to decode BMP format using a wrong op. Use `decode_bmp` or `decode_image` "
            f"instead. Op used: {type}"
        )


def _bmp_counted(data: bytes, channels: int) -> None:
    if data[:2] == b"BM" and channels not in (0, 3, 4):
        raise invalid(f"`channels` must be 0, 3 or 4 for BMP, but got {channels}")


def decode_png(
    contents: Any, channels: int | None = 0, dtype: Any = uint8, name: str | None = None
) -> Tensor:
    """The pixels of an image, of whichever format, as ``[height, width, channels]``.

    Parameters
    ----------
    contents : Tensor of string, shape ()
        The file.
    channels : int
        1, 3 or 4, or 0 for as many as there are.
    dtype : DType
        uint8 or uint16.
    name : str, optional
        Of the operation.
    """
    element, count = as_dtype(dtype), channels or 0

    def function(data: bytes) -> Array:
        _counted(count)
        _by_its_own(data, "DecodePng")
        return codecs.decode(data, count, element.numpy)

    if element not in (uint8, uint16):
        raise TypeError(
            f"Value passed to parameter 'dtype' has DataType {element.name} not in list of allowed "
            f"values: uint8, uint16"
        )

    known = [None, None, count or None]
    return _decoding("DecodePng", contents, function, element, known, name, channels=count)


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
    count = channels or 0

    def function(data: bytes) -> Array:
        _counted(count)
        _by_its_own(data, "DecodeJpeg")
        if dct_method not in ("", "INTEGER_FAST", "INTEGER_ACCURATE"):
            raise invalid("dct_method must be one of {'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}")
        if ratio not in (1, 2, 4, 8):
            raise invalid(f"ratio must be 1, 2, 4, or 8, got {ratio}")
        accurate = dct_method == "INTEGER_ACCURATE"
        return codecs.decode(data, count, ratio=ratio, accurate=accurate, fancy=fancy_upscaling)

    known = [None, None, count or None]
    return _decoding("DecodeJpeg", contents, function, uint8, known, name, channels=count)


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
    window = convert_to_tensor(crop_window, int32)
    data = convert_to_tensor(contents, string)
    count, accurate = channels or 0, dct_method == "INTEGER_ACCURATE"

    def kernel(value: Array, part: Array) -> Array:
        encoded: Any = value[()]
        if ratio == 1:
            return codecs.decode_crop(encoded, part, count, accurate, fancy_upscaling)
        top, left, height, width = (int(n) for n in part)
        whole = codecs.decode(encoded, count, ratio=ratio, accurate=accurate)
        return pixels.crop(whole, top, left, height, width)

    given = constant_value(window)
    size = [None, None] if given is None else [int(n) for n in given[2:]]
    known = [*size, channels or None]
    return pure("DecodeAndCropJpeg", kernel, (data, window), uint8, known, name)


def decode_gif(contents: Any, name: str | None = None) -> Tensor:
    """The frames of a GIF, as ``[frames, height, width, 3]``."""

    def function(data: bytes) -> Array:
        image = codecs.decode(data, 3, animated=True)
        return image if image.ndim == 4 else image[np.newaxis]

    return _decoding("DecodeGif", contents, function, uint8, [None, None, None, 3], name)


def decode_bmp(contents: Any, channels: int = 0, name: str | None = None) -> Tensor:
    """The pixels of a BMP, as ``[height, width, channels]``."""
    known = [None, None, channels or None]

    def function(data: bytes) -> Array:
        _counted(channels)
        _bmp_counted(data, channels)
        kind = "PNG" if data[:4] == b"\x89PNG" else "JPEG" if codecs.is_jpeg(data) else None
        if kind:
            raise invalid(
                f"Trying to decode {kind} format using DecodeBmp op. Use `decode_{kind.lower()}` "
                f"or `decode_image` instead."
            )
        return codecs.decode(data, channels)

    return _decoding("DecodeBmp", contents, function, uint8, known, name, channels=channels)


def _deep(data: bytes, element: DType) -> bool:
    """Whether an image is decoded with 16 bits, on its way to another type than ``uint8``."""
    return element is not float32 or data[:4] == b"\x89PNG"


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
    element, count = as_dtype(dtype), channels or 0

    def function(data: bytes) -> Array:
        _counted(count)
        _bmp_counted(data, count)
        # What has 16 bits a sample keeps them, unless 8 are asked for.
        deep = np.uint16 if element is not uint8 and _deep(data, element) else np.uint8
        image = codecs.decode(data, count, deep, animated=expand_animations)
        if element is float32:  # divided, where convert_image_dtype multiplies
            most = element.numpy.type(np.iinfo(image.dtype).max)
            return np.asarray(image / most, dtype=element.numpy)
        return pixels.convert(image, element.numpy)

    known = TensorShape(None) if expand_animations else TensorShape([None, None, count or None])
    return _decoding("DecodeImage", contents, function, element, known, name, channels=count)


def is_jpeg(contents: Any, name: str | None = None) -> Tensor:
    """Whether a string begins like a JPEG."""
    function = lambda data: np.asarray(codecs.is_jpeg(data))  # noqa: E731
    return _decoding("IsJpeg", contents, function, bool_, [], name)


def extract_jpeg_shape(contents: Any, output_type: Any = int32, name: str | None = None) -> Tensor:
    """Height, width and channels of a JPEG."""
    dtype = as_dtype(output_type)
    function = lambda data: np.array(codecs.jpeg_shape(data), dtype.numpy)  # noqa: E731
    return _decoding("ExtractJpegShape", contents, function, dtype, [3], name)


def _each(images: Array, function: Callable[[Array], bytes]) -> Array:
    flat = images.reshape(-1, *images.shape[-3:])
    result = np.empty(len(flat), dtype=object)
    result[:] = [function(image) for image in flat]
    return result.reshape(images.shape[:-3])


def encode_png(image: Any, compression: int = -1, name: str | None = None) -> Tensor:
    """A PNG of an image, or one of each of several.

    Parameters
    ----------
    image : Tensor of uint8 or uint16, shape (..., height, width, channels)
        The pixels.
    compression : int
        0 to 9; -1 for what zlib likes.
    name : str, optional
        Of the operation.
    """
    tensor = convert_to_tensor(image)
    if tensor.dtype not in (uint8, uint16):
        raise TypeError(
            f"Value passed to parameter 'image' has DataType {tensor.dtype.name} not in list of "
            f"allowed values: uint8, uint16"
        )
    rank = tensor.shape.ndims
    if rank is not None and rank < 3:
        raise ValueError(f"Shape must be at least rank 3 but is rank {rank} for 'EncodePng'")

    def kernel(images: Array) -> Array:
        if images.ndim < 3:
            raise invalid(f"images must have at least rank 3, got {list(images.shape)}")
        if not -1 <= compression <= 9:
            raise invalid(f"compression should be in [-1,9], got {compression}")
        return _each(images, lambda one: codecs.encode_png(one, compression))

    return pure("EncodePng", kernel, (tensor,), string, tensor.shape[:-3] if rank else None, name)


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
    if format not in ("", "grayscale", "rgb"):
        raise ValueError(
            f"Attr 'format' of 'EncodeJpeg' Op passed string {format!r} not in: \"\", "
            f'"grayscale", "rgb".'
        )
    tensor = convert_to_tensor(image, uint8, "image")
    rank = tensor.shape.ndims
    if rank not in (3, None):
        raise ValueError(f"Shape must be rank 3 but is rank {rank} for 'EncodeJpeg'")

    def kernel(one: Array) -> Array:
        if not 0 <= quality <= 100:
            raise invalid(f"quality must be in [0,100], got {quality}")
        result = np.empty((), dtype=object)
        result[()] = codecs.encode_jpeg(
            one,
            format,
            quality,
            progressive=progressive,
            optimize=optimize_size,
            chroma_downsampling=chroma_downsampling,
            dpi=(x_density, y_density),
        )
        return result

    return pure("EncodeJpeg", kernel, (tensor,), string, [], name)
