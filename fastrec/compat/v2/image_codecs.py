# SPDX-License-Identifier: Apache-2.0
"""Images out of bytes and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._tf.dtypes import as_dtype
from .._tf.specs import TensorSpec, TypeSpec
from .._tf.tensor import as_array, convert_to_tensor
from .._tf.trace import Op, run
from .image_colour import convert_image_dtype
from .image_sizes import crop_to_bounding_box

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


def _bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    found: Any = as_array(value)[()]
    return bytes(found)


def _decoder(name: str, contents: Any, spec: TypeSpec, **options: Any) -> Any:
    from .._tf.kernels import codecs

    def kernel(data: Any) -> Any:
        return codecs.decode(_bytes(data), **options)

    op = Op(name, kernel, lambda *_: [spec])
    return run(op, [convert_to_tensor(contents, "string")])


def decode_png(
    contents: Any, channels: int = 0, dtype: Any = "uint8", name: str | None = None
) -> Any:
    """The pixels of a PNG, of shape (height, width, channels); of other images, too."""
    wanted = as_dtype(dtype)
    spec = TensorSpec([None, None, channels or None], wanted)
    return _decoder("DecodePng", contents, spec, channels=channels, dtype=wanted.numpy)


def decode_jpeg(
    contents: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Any:
    """The pixels of a JPEG, of shape (height, width, channels); of other images, too."""
    spec = TensorSpec([None, None, channels or None], "uint8")
    accurate = dct_method == "INTEGER_ACCURATE"
    options = {"ratio": ratio, "accurate": accurate, "fancy": fancy_upscaling}
    return _decoder("DecodeJpeg", contents, spec, channels=channels, **options)


def decode_bmp(contents: Any, channels: int = 0, name: str | None = None) -> Any:
    """The pixels of a BMP."""
    return _decoder("DecodeBmp", contents, TensorSpec([None] * 3, "uint8"), channels=channels)


def decode_gif(contents: Any, name: str | None = None) -> Any:
    """The frames of a GIF, of shape (frames, height, width, 3)."""
    return _decoder(
        "DecodeGif", contents, TensorSpec([None, None, None, 3], "uint8"), animated=True
    )


def decode_image(
    contents: Any,
    channels: int | None = None,
    dtype: Any = "uint8",
    name: str | None = None,
    expand_animations: bool = True,
) -> Any:
    """The pixels of an image of any kind."""
    wanted = as_dtype(dtype)
    shape = None if expand_animations else [None, None, channels or None]
    stored = wanted.numpy if wanted.is_integer else np.uint8
    spec = TensorSpec(shape, as_dtype(stored))
    found = _decoder(
        "DecodeImage",
        contents,
        spec,
        channels=channels or 0,
        dtype=stored,
        animated=expand_animations,
    )
    return found if wanted.is_integer else convert_image_dtype(found, wanted)


def decode_and_crop_jpeg(
    contents: Any,
    crop_window: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Any:
    """The pixels of part of a JPEG: top, left, height and width."""
    window = convert_to_tensor(crop_window)
    if ratio != 1:
        part = [window[number] for number in range(4)]
        return crop_to_bounding_box(decode_jpeg(contents, channels, ratio), *part)
    accurate = dct_method == "INTEGER_ACCURATE"

    def kernel(data: Any, part: Any) -> Any:
        from .._tf.kernels import codecs

        return codecs.decode_crop(_bytes(data), part, channels, accurate, fancy_upscaling)

    size = [None, None] if not hasattr(window, "array") else window.array[2:].tolist()
    spec = TensorSpec([*size, channels or None], "uint8")
    op = Op("DecodeAndCropJpeg", kernel, lambda *_: [spec])
    return run(op, [convert_to_tensor(contents), window])


def _string_op(name: str, function: Callable[..., Any], spec: TypeSpec, value: Any) -> Any:
    return run(Op(name, function, lambda *_: [spec]), [convert_to_tensor(value)])


def encode_png(image: Any, compression: int = -1, name: str | None = None) -> Any:
    """A PNG of pixels."""
    from .._tf.kernels import codecs

    spec = TensorSpec((), "string")
    return _string_op("EncodePng", lambda x: codecs.encode_png(x, compression), spec, image)


def encode_jpeg(
    image: Any,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    name: str | None = None,
    **_: Any,
) -> Any:
    """A JPEG of pixels."""
    from .._tf.kernels import codecs

    options: dict[str, Any] = {
        "progressive": progressive,
        "optimize": optimize_size,
        "chroma_downsampling": chroma_downsampling,
    }

    def kernel(x: Any) -> Any:
        return codecs.encode_jpeg(x, format, quality, **options)

    return _string_op("EncodeJpeg", kernel, TensorSpec((), "string"), image)


def extract_jpeg_shape(contents: Any, output_type: Any = "int32", name: str | None = None) -> Any:
    """Height, width and channels of a JPEG."""
    from .._tf.kernels import codecs

    dtype = as_dtype(output_type)

    def kernel(data: Any) -> Any:
        return np.array(codecs.jpeg_shape(_bytes(data)), dtype.numpy)

    return _string_op("ExtractJpegShape", kernel, TensorSpec([3], dtype), contents)


def is_jpeg(contents: Any, name: str | None = None) -> Any:
    """Whether bytes begin as a JPEG does."""
    from .._tf.kernels import codecs

    kernel = lambda data: np.asarray(codecs.is_jpeg(_bytes(data)))  # noqa: E731
    return _string_op("IsJpeg", kernel, TensorSpec((), "bool"), contents)


def adjust_jpeg_quality(
    image: Any, jpeg_quality: Any, dct_method: str = "", name: str | None = None
) -> Any:
    """An image as a JPEG of that quality would have it."""
    from .._tf.kernels import codecs, pixels

    def kernel(x: Any, quality: Any) -> Any:
        whole = pixels.convert(x, np.dtype(np.uint8), saturate=True)
        data = codecs.encode_jpeg(whole, "", int(quality))
        return pixels.convert(codecs.decode(data, channels=x.shape[-1]), x.dtype)

    op = Op("AdjustJpegQuality", kernel, lambda specs, _: [specs[0]])
    return run(op, [convert_to_tensor(image), convert_to_tensor(jpeg_quality, "int32")])
