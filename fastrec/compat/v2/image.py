# SPDX-License-Identifier: Apache-2.0
"""``tf.image``: pictures out of bytes and back, cut, turned and lit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _errors
from .._dtypes import as_dtype
from ._specs import TensorSpec, TypeSpec
from ._tensor import as_array, convert_to_tensor
from ._trace import Block, Op, run
from .random import generator

__all__ = [
    "adjust_brightness",
    "adjust_contrast",
    "central_crop",
    "convert_image_dtype",
    "crop_to_bounding_box",
    "decode_and_crop_jpeg",
    "decode_bmp",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "encode_jpeg",
    "encode_png",
    "extract_jpeg_shape",
    "flip_left_right",
    "flip_up_down",
    "grayscale_to_rgb",
    "is_jpeg",
    "pad_to_bounding_box",
    "per_image_standardization",
    "random_brightness",
    "random_contrast",
    "random_crop",
    "random_flip_left_right",
    "random_flip_up_down",
    "resize",
    "resize_with_crop_or_pad",
    "rgb_to_grayscale",
    "rot90",
    "transpose",
]

_FOUR = [None, None, None, None]


def _bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    found: Any = as_array(value)[()]
    return bytes(found)


def _decoder(name: str, contents: Any, spec: TypeSpec, **options: Any) -> Any:
    from .._kernels import codecs

    def kernel(data: Any) -> Any:
        return codecs.decode(_bytes(data), **options)

    op = Op(name, kernel, lambda *_: [spec])
    return run(op, [convert_to_tensor(contents, "string")])


def decode_png(
    contents: Any, channels: int = 0, dtype: Any = "uint8", name: str | None = None
) -> Any:
    """The pixels of a PNG, of shape (height, width, channels); of other pictures, too."""
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
    """The pixels of a JPEG, of shape (height, width, channels); of other pictures, too."""
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
    """The pixels of a picture of any kind."""
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
    contents: Any, crop_window: Any, channels: int = 0, name: str | None = None, **_: Any
) -> Any:
    """The pixels of part of a JPEG: top, left, height and width."""
    top, left, height, width = np.asarray(crop_window).tolist()
    return crop_to_bounding_box(decode_jpeg(contents, channels), top, left, height, width)


def _string_op(name: str, function: Callable[..., Any], spec: TypeSpec, value: Any) -> Any:
    return run(Op(name, function, lambda *_: [spec]), [convert_to_tensor(value)])


def encode_png(image: Any, compression: int = -1, name: str | None = None) -> Any:
    """A PNG of pixels."""
    from .._kernels import codecs

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
    from .._kernels import codecs

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
    from .._kernels import codecs

    dtype = as_dtype(output_type)

    def kernel(data: Any) -> Any:
        return np.array(codecs.jpeg_shape(_bytes(data)), dtype.numpy)

    return _string_op("ExtractJpegShape", kernel, TensorSpec([3], dtype), contents)


def is_jpeg(contents: Any, name: str | None = None) -> Any:
    """Whether bytes begin as a JPEG does."""
    from .._kernels import codecs

    kernel = lambda data: np.asarray(codecs.is_jpeg(_bytes(data)))  # noqa: E731
    return _string_op("IsJpeg", kernel, TensorSpec((), "bool"), contents)


def _pixels(name: str) -> Any:
    from .._kernels import pixels

    return getattr(pixels, name)


def _picture(
    name: str, function: Callable[..., Any], image: Any, *more: Any, many: bool = True
) -> Any:
    """An operation of pictures that works on stacks of them, too."""

    def kernel(x: Any, *values: Any) -> Any:
        return np.asarray(function(x, *values))

    def block(_: int, x: Block, *values: Block) -> Any:
        alike = x.many and isinstance(x.value, np.ndarray) and not any(v.many for v in values)
        return (
            kernel(x.value, *[v.value for v in values])
            if many and alike and x.value.ndim == 4
            else None
        )

    return run(
        Op(name, kernel, None, block), [convert_to_tensor(image), *map(convert_to_tensor, more)]
    )


def _sized(name: str, function: Callable[..., Any], image: Any, height: Any, width: Any) -> Any:
    tensor = convert_to_tensor(image)
    sizes = [int(np.asarray(height)), int(np.asarray(width))]

    def kernel(x: Any) -> Any:
        return np.asarray(function(x, *sizes))

    def infer(specs: list[TypeSpec], _: Any) -> list[TypeSpec]:
        known = specs[0].shape.sizes
        dtype = "float32" if name == "ResizeBilinear" else specs[0].dtype
        if known is None:
            return [TensorSpec(None, dtype)]
        return [TensorSpec([*known[:-3], *sizes, known[-1]], dtype)]

    def block(_: int, x: Block) -> Any:
        return (
            kernel(x.value)
            if x.many and isinstance(x.value, np.ndarray) and x.value.ndim == 4
            else None
        )

    return run(Op(name, kernel, infer, block), [tensor])


def crop_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Any:
    """Part of a picture."""
    box = [int(np.asarray(v)) for v in (offset_height, offset_width, target_height, target_width)]
    crop = _pixels("crop")
    return _sized(
        "CropToBoundingBox", lambda x, h, w: crop(x, box[0], box[1], h, w), image, *box[2:]
    )


def pad_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Any:
    """A picture inside of a larger one of zeros."""
    box = [int(np.asarray(v)) for v in (offset_height, offset_width, target_height, target_width)]
    pad = _pixels("pad")
    return _sized("PadToBoundingBox", lambda x, h, w: pad(x, box[0], box[1], h, w), image, *box[2:])


def resize_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Any:
    """The middle of a picture, with zeros around it where it is too small."""
    return _sized("ResizeWithCropOrPad", _pixels("crop_or_pad"), image, target_height, target_width)


def resize(image: Any, size: Any, method: Any = "bilinear", **_: Any) -> Any:
    """A picture of another size. Bilinear and nearest are covered.

    Bilinear takes the pixels around each point, without smoothing; the result is float32.
    """
    height, width = [int(v) for v in np.asarray(size).tolist()]
    kind = getattr(method, "value", method)
    if kind == "nearest":
        return _sized("ResizeNearest", _half_nearest, image, height, width)
    if kind == "bilinear":
        return _sized("ResizeBilinear", _half_bilinear, image, height, width)
    raise NotImplementedError(f"resize by {method!r} is not covered; bilinear and nearest are")


def _half_nearest(image: Any, height: int, width: int) -> Any:
    rows, columns = image.shape[-3:-1]
    down = np.minimum(((np.arange(height) + 0.5) * (rows / height)).astype(int), rows - 1)
    across = np.minimum(((np.arange(width) + 0.5) * (columns / width)).astype(int), columns - 1)
    return image[..., down[:, np.newaxis], across, :]


def _half_bilinear(image: Any, height: int, width: int) -> Any:
    out = image.astype(np.float32)
    for axis, size in ((-3, height), (-2, width)):
        count = out.shape[axis]
        scale = np.float32(count) / np.float32(size)
        place = (np.arange(size, dtype=np.float32) + np.float32(0.5)) * scale - np.float32(0.5)
        low = np.floor(place)
        weight = (place - low).astype(np.float32)
        first = np.clip(low, 0, count - 1).astype(int)
        second = np.clip(low + 1, 0, count - 1).astype(int)
        shape = [1] * out.ndim
        shape[axis] = size
        share = weight.reshape(shape)
        a, b = np.take(out, first, axis), np.take(out, second, axis)
        out = a + (b - a) * share
    return out


def central_crop(image: Any, central_fraction: float) -> Any:
    """The middle part of a picture."""
    tensor = convert_to_tensor(image)
    if not 0 < central_fraction <= 1:
        raise ValueError("central_fraction must be within (0, 1]")

    def cut(x: Any) -> Any:
        top, left = (int((n - n * central_fraction) / 2) for n in x.shape[-3:-1])
        return x[..., top : x.shape[-3] - top, left : x.shape[-2] - left, :]

    return _picture("CentralCrop", cut, tensor)


def flip_left_right(image: Any) -> Any:
    """A picture mirrored."""
    return _picture("FlipLeftRight", lambda x: np.flip(x, -2), image)


def flip_up_down(image: Any) -> Any:
    """A picture upside down."""
    return _picture("FlipUpDown", lambda x: np.flip(x, -3), image)


def transpose(image: Any, name: str | None = None) -> Any:
    """Rows as columns."""
    return _picture("TransposeImage", lambda x: np.swapaxes(x, -3, -2), image)


def rot90(image: Any, k: int = 1, name: str | None = None) -> Any:
    """A picture turned to the left."""
    return _picture("Rot90", lambda x: np.rot90(x, k, (-3, -2)), image)


def convert_image_dtype(
    image: Any, dtype: Any, saturate: bool = False, name: str | None = None
) -> Any:
    """A picture of another type: what is 255 in uint8 is 1.0 in floats."""
    wanted, tensor = as_dtype(dtype), convert_to_tensor(image)
    if tensor.dtype == wanted:
        return tensor
    convert = _pixels("convert")
    return _picture("ConvertImage", lambda x: convert(x, wanted.numpy, saturate), tensor)


def adjust_brightness(image: Any, delta: Any) -> Any:
    """A picture with something added to its pixels."""
    return _picture("AdjustBrightness", _pixels("adjust_brightness"), image, delta, many=False)


def adjust_contrast(images: Any, contrast_factor: Any) -> Any:
    """A picture whose pixels are further from their mean, or nearer."""
    return _picture(
        "AdjustContrast", _pixels("adjust_contrast"), images, contrast_factor, many=False
    )


def per_image_standardization(image: Any) -> Any:
    """A picture of mean 0 and deviation 1."""
    return _picture("PerImageStandardization", _pixels("standardized"), image, many=False)


def rgb_to_grayscale(images: Any, name: str | None = None) -> Any:
    """A picture without its colours."""
    return _picture("RgbToGrayscale", _pixels("to_grayscale"), images, many=False)


def grayscale_to_rgb(images: Any, name: str | None = None) -> Any:
    """A picture of one channel with three."""
    return _picture("GrayscaleToRgb", lambda x: np.repeat(x, 3, -1), images)


def _chance(name: str, image: Any, seed: Any, change: Callable[[Any, Any], Any]) -> Any:
    """A change that is drawn for each picture."""
    draw = generator(seed)
    op = Op(name, lambda x: np.asarray(change(x, draw)), None, None, pure=False)
    return run(op, [convert_to_tensor(image)])


def random_flip_left_right(image: Any, seed: int | None = None) -> Any:
    """A picture that is mirrored half of the time. The draws are not those of TensorFlow."""
    return _chance(
        "RandomFlip", image, seed, lambda x, draw: np.flip(x, -2) if draw.random() < 0.5 else x
    )


def random_flip_up_down(image: Any, seed: int | None = None) -> Any:
    """A picture that is upside down half of the time. The draws are not those of TensorFlow."""
    return _chance(
        "RandomFlip", image, seed, lambda x, draw: np.flip(x, -3) if draw.random() < 0.5 else x
    )


def random_brightness(image: Any, max_delta: float, seed: int | None = None) -> Any:
    """A picture with a drawn number added. The draws are not those of TensorFlow."""
    adjust = _pixels("adjust_brightness")
    return _chance(
        "RandomBrightness",
        image,
        seed,
        lambda x, draw: adjust(x, draw.uniform(-max_delta, max_delta)),
    )


def random_contrast(image: Any, lower: float, upper: float, seed: int | None = None) -> Any:
    """A picture of drawn contrast. The draws are not those of TensorFlow."""
    adjust = _pixels("adjust_contrast")
    return _chance(
        "RandomContrast", image, seed, lambda x, draw: adjust(x, draw.uniform(lower, upper))
    )


def random_crop(value: Any, size: Any, seed: int | None = None, name: str | None = None) -> Any:
    """A part of that size, from a drawn place. The draws are not those of TensorFlow."""
    sizes = [int(v) for v in np.asarray(size).tolist()]
    draw = generator(seed)

    def kernel(x: Any) -> Any:
        if any(s > n for s, n in zip(sizes, x.shape, strict=True)):
            text = f"Need value.shape >= size, got  {list(x.shape)} {sizes}"
            raise _errors.InvalidArgumentError(None, None, text)
        begins = [int(draw.integers(n - s + 1)) for s, n in zip(sizes, x.shape, strict=True)]
        return x[tuple(slice(b, b + s) for b, s in zip(begins, sizes, strict=True))]

    op = Op("RandomCrop", kernel, lambda s, _: [TensorSpec(sizes, s[0].dtype)], None, pure=False)
    return run(op, [convert_to_tensor(value)])
