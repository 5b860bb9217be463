# SPDX-License-Identifier: Apache-2.0
"""Decode images and numbers from strings, and encode images as strings."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import fastrec
from fastrec import ExampleParseError
from fastrec.columns import Arrays

from ..columns import arrays_of, flat_values
from ..dtypes import DType, as_dtype, float32, short_name, uint8
from ..errors import invalid, translated
from ..shape import in_messages
from ..specs import TensorSpec, TypeSpec
from ..tensor import as_array
from . import Array, Block, Op, constant_of

PNG_TYPES = ("uint8", "uint16")
JPEG_FORMATS = ("", "grayscale", "rgb")


def _codecs() -> Any:
    """Return the module of the codecs, which is loaded on first use."""
    from ..kernels import codecs

    return codecs


def _decode(data: bytes, channels: int, dtype: Any = np.uint8, **how: Any) -> Array:
    found: Array = _codecs().decode(data, channels, dtype, **how)
    return found


def _bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    data = as_array(value)
    if data.ndim:
        raise invalid(f"contents must be scalar, got shape {list(data.shape)}")
    return bytes(data[()])


def _of_contents(
    name: str, function: Callable[..., Any], output: Callable[..., tuple[Any, Any]]
) -> Op:
    """Return an operation on an encoded image; `output` computes its shape and type."""

    def kernel(data: Any, **attributes: Any) -> Any:
        return function(_bytes(data), **attributes)

    def infer(specs: Sequence[Any], *_: Any, **attributes: Any) -> list[TypeSpec]:
        rank = specs[0].shape.ndims
        if rank not in (0, None):
            raise ValueError(f"Shape must be rank 0 but is rank {rank} for '{name}'")
        return [TensorSpec(*output(**attributes))]

    return Op(name, kernel, infer)


def _image(*, channels: int, dtype: DType = uint8, **_: Any) -> tuple[Any, Any]:
    return [None, None, channels or None], dtype


def _counted(data: bytes, channels: int, own: str = "") -> None:
    """Reject an invalid number of channels, and a BMP in the operation `own` of another format."""
    if channels not in (0, 1, 3, 4):
        raise invalid(f"`channels` must be 0, 1, 3 or 4 but got {channels}")
    if own and data[:2] == b"BM":
        raise invalid(
            f"Trying to decode BMP format using a wrong op. Use `decode_bmp` or `decode_image` "
            f"instead. Op used: {own}"
        )
    if data[:2] == b"BM" and channels == 1:
        raise invalid(f"`channels` must be 0, 3 or 4 for BMP, but got {channels}")


def _png(data: bytes, *, channels: int, dtype: DType) -> Array:
    _counted(data, channels, "DecodePng")
    return _decode(data, channels, dtype.numpy)


def _jpeg_options(ratio: int, dct_method: str) -> None:
    if dct_method not in ("", "INTEGER_FAST", "INTEGER_ACCURATE"):
        raise invalid("dct_method must be one of {'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}")
    if ratio not in (1, 2, 4, 8):
        raise invalid(f"ratio must be 1, 2, 4, or 8, got {ratio}")


def _jpeg(
    data: bytes, *, channels: int, ratio: int, fancy_upscaling: bool, dct_method: str
) -> Array:
    _counted(data, channels, "DecodeJpeg")
    _jpeg_options(ratio, dct_method)
    accurate = dct_method == "INTEGER_ACCURATE"
    return _decode(data, channels, ratio=ratio, accurate=accurate, fancy=fancy_upscaling)


def _bmp(data: bytes, *, channels: int) -> Array:
    _counted(data, channels)
    kind = "PNG" if data[:4] == b"\x89PNG" else "JPEG" if _codecs().is_jpeg(data) else None
    if kind:
        raise invalid(
            f"Trying to decode {kind} format using DecodeBmp op. Use `decode_{kind.lower()}` or "
            f"`decode_image` instead."
        )
    return _decode(data, channels)


def _gif(data: bytes) -> Array:
    frames = _decode(data, 3, animated=True)
    return frames if frames.ndim == 4 else frames[np.newaxis]


def _any_image(data: bytes, *, channels: int, dtype: DType, expand_animations: bool) -> Array:
    _counted(data, channels)
    # Samples of 16 bits are kept, unless the result has 8 bits.
    deep = dtype != uint8 and (dtype != float32 or data[:4] == b"\x89PNG")
    stored = np.uint16 if deep else np.uint8
    if deep and data[:4] != b"\x89PNG":  # only PNGs have 16 bits; others are multiplied by 256
        image = _decode(data, channels, animated=expand_animations).astype(np.uint16) << 8
    else:
        image = _decode(data, channels, stored, animated=expand_animations)
    if dtype == float32:
        return np.asarray(image * np.float32(1 / np.iinfo(stored).max), np.float32)
    from ..kernels import pixels

    return pixels.convert(image, dtype.numpy)


def _maybe_frames(*, channels: int, dtype: DType, expand_animations: bool) -> tuple[Any, Any]:
    return (None if expand_animations else [None, None, channels or None]), dtype


DECODE_PNG = _of_contents("DecodePng", _png, _image)
DECODE_JPEG = _of_contents("DecodeJpeg", _jpeg, _image)
DECODE_BMP = _of_contents("DecodeBmp", _bmp, _image)
DECODE_GIF = _of_contents("DecodeGif", _gif, lambda: ([None, None, None, 3], uint8))
DECODE_IMAGE = _of_contents("DecodeImage", _any_image, _maybe_frames)
IS_JPEG = _of_contents(
    "IsJpeg", lambda data: np.asarray(_codecs().is_jpeg(data)), lambda: ((), as_dtype("bool"))
)
EXTRACT_JPEG_SHAPE = _of_contents(
    "ExtractJpegShape",
    lambda data, output_type: np.array(_codecs().jpeg_shape(data), output_type.numpy),
    lambda output_type: ([3], output_type),
)


def _crop_jpeg(
    data: Any, window: Array, *, channels: int, ratio: int, fancy_upscaling: bool, dct_method: str
) -> Array:
    encoded, accurate = _bytes(data), dct_method == "INTEGER_ACCURATE"
    if ratio == 1:
        part: Array = _codecs().decode_crop(encoded, window, channels, accurate, fancy_upscaling)
        return part
    _jpeg_options(ratio, dct_method)
    from ..kernels import pixels

    whole = _decode(encoded, channels, ratio=ratio, accurate=accurate)
    return pixels.crop(whole, *window.tolist())


def _crop_spec(
    specs: Sequence[Any], raws: Sequence[Any], *, channels: int, **_: Any
) -> list[TypeSpec]:
    window = constant_of(raws[1])
    size = [None, None] if window is None else window[2:].tolist()
    return [TensorSpec([*size, channels or None], uint8)]


DECODE_AND_CROP_JPEG = Op("DecodeAndCropJpeg", _crop_jpeg, _crop_spec)


def _encode_png(images: Array, *, compression: int) -> Any:
    if images.ndim < 3:
        raise invalid(f"images must have at least rank 3, got {list(images.shape)}")
    if not -1 <= compression <= 9:
        raise invalid(f"compression should be in [-1,9], got {compression}")
    encode = _codecs().encode_png
    if images.ndim == 3:
        return encode(images, compression)
    flat = images.reshape(-1, *images.shape[-3:])
    result = np.empty(len(flat), object)
    result[:] = [encode(image, compression) for image in flat]
    return result.reshape(images.shape[:-3])


def _encode_png_spec(specs: Sequence[Any], *_: Any, **__: Any) -> list[TypeSpec]:
    sizes = specs[0].shape.sizes
    if sizes is not None and len(sizes) < 3:
        raise ValueError(f"Shape must be at least rank 3 but is rank {len(sizes)} for 'EncodePng'")
    return [TensorSpec(None if sizes is None else sizes[:-3], "string")]


ENCODE_PNG = Op("EncodePng", _encode_png, _encode_png_spec)


def _encode_jpeg(image: Array, *, format: str, quality: int, **how: Any) -> bytes:
    if not 0 <= quality <= 100:
        raise invalid(f"quality must be in [0,100], got {quality}")
    if image.ndim != 3:
        raise invalid(f"Input must be a 3-dimensional uint8 Tensor, got {in_messages(image.shape)}")
    if how["density_unit"] not in ("in", "cm"):
        raise invalid(f"density_unit must be 'in' or 'cm', got {how['density_unit']!r}")
    return bytes(_codecs().encode_jpeg(image, format, quality, **how))


def _encode_jpeg_spec(specs: Sequence[Any], *_: Any, **__: Any) -> list[TypeSpec]:
    rank = specs[0].shape.ndims
    if rank not in (3, None):
        raise ValueError(f"Shape must be rank 3 but is rank {rank} for 'EncodeJpeg'")
    return [TensorSpec((), "string")]


ENCODE_JPEG = Op("EncodeJpeg", _encode_jpeg, _encode_jpeg_spec)


def _as_jpeg(x: Array, quality: Any, *, dct_method: str) -> Array:
    from ..kernels import pixels

    _jpeg_options(1, dct_method)
    whole = pixels.convert(x, np.dtype(np.uint8), saturate=True)
    data = _codecs().encode_jpeg(whole, "", int(quality))
    found = _decode(data, x.shape[-1], accurate=dct_method == "INTEGER_ACCURATE")
    return pixels.convert(found, x.dtype)


def _as_jpeg_spec(specs: Sequence[Any], *_: Any, **__: Any) -> list[TypeSpec]:
    # TensorFlow does not infer the height and width of a decoded image.
    sizes = specs[0].shape.sizes
    return [TensorSpec([None, None, sizes[-1] if sizes else None], specs[0].dtype)]


ADJUST_JPEG_QUALITY = Op("AdjustJpegQuality", _as_jpeg, _as_jpeg_spec)

#: In TensorFlow's order.
RAW_TYPES = [
    *("float16", "float32", "float64", "int32", "uint16", "uint8"),
    *("int16", "int8", "int64", "complex64", "complex128", "bool"),
]
_LITTLE = sys.byteorder == "little"


def _why_not(values: Any, dtype: np.dtype[Any]) -> str:
    sizes = [len(value) for value in as_array(values).reshape(-1).tolist()]
    for i, size in enumerate(sizes):
        if size != sizes[0]:
            return (
                f"DecodeRaw requires input strings to all be the same size, but element {i} has "
                f"size {sizes[0]} != {size}"
            )
    return (
        f"Input to DecodeRaw has length {sizes[0]} that is not a multiple of {dtype.itemsize}, the "
        f"size of {short_name(as_dtype(dtype))}"
    )


def raw_array(
    values: Any, dtype: np.dtype[Any], little_endian: bool = True, fixed: int | None = None
) -> Array:
    """Decode bytes to an array with one more dimension, which may be a view of the bytes.

    Raises
    ------
    InvalidArgumentError
        If strings differ in size, or if their size is not a multiple of the element size.
    """
    data = values[()] if isinstance(values, np.ndarray) and not values.ndim else values
    if isinstance(data, bytes) and fixed is None and little_endian is _LITTLE and dtype.kind != "b":
        if len(data) % dtype.itemsize == 0:
            return np.frombuffer(data, dtype)
    elif not isinstance(data, bytes) and 0 in data.shape:
        return np.zeros((*data.shape, (fixed or 0) // dtype.itemsize), dtype)
    try:
        return fastrec.decode_raw(data, dtype, little_endian, fixed)
    except ExampleParseError as error:
        raise translated(error, _why_not(values, dtype)) from error


def _check_length(length: int | None, out_type: DType) -> None:
    if length is not None and length % out_type.size:
        raise invalid(
            f"fixed_length ({length}) must be a multiple of the size of out_type ({out_type.size})"
        )
    if length is not None and length <= 0:
        raise invalid(f"fixed_length ({length}) must be greater than zero.")


def _decode_raw(x: Any, *, out_type: DType, little_endian: bool, fixed_length: int | None) -> Array:
    _check_length(fixed_length, out_type)
    found = raw_array(x, out_type.numpy, little_endian, fixed_length)
    return found if found.flags.writeable else found.copy()


def _spec(
    specs: Sequence[Any], *_: Any, out_type: DType, fixed_length: int | None, **__: Any
) -> list[TypeSpec]:
    _check_length(fixed_length, out_type)
    sizes = specs[0].shape.sizes
    count = None if fixed_length is None else fixed_length // out_type.size
    return [TensorSpec(None if sizes is None else [*sizes, count], out_type)]


def _block(
    _: int, x: Block, *, out_type: DType, little_endian: bool, fixed_length: int | None
) -> Any:
    strings, dtype = x.value, out_type.numpy
    if x.many and isinstance(strings, fastrec.Ragged) and isinstance(strings.values, fastrec.Bytes):
        return _of_rows(strings, dtype, little_endian, fixed_length)
    if not x.many or not isinstance(strings, fastrec.Bytes) or not len(strings):
        return None
    sizes = np.diff(strings.offsets)
    if fixed_length is None and (sizes % dtype.itemsize).any():
        return None  # processing the elements one by one finds the error
    if fixed_length is not None or (sizes == sizes[0]).all():
        return fastrec.decode_raw(strings, dtype, little_endian, fixed_length)
    if strings.shape != (len(strings),) or dtype.kind == "b" or little_endian is not _LITTLE:
        return None
    begin, end = strings.offsets[[0, -1]].tolist()
    values = np.require(strings.data[begin:end].view(dtype), requirements="A")
    return fastrec.Ragged(values, (strings.offsets - begin) // dtype.itemsize)


def _of_rows(
    rows: fastrec.Ragged, dtype: np.dtype[Any], little_endian: bool, fixed: int | None
) -> Arrays | None:
    """Decode rows of strings of one size to arrays of two dimensions."""
    strings = flat_values(rows)
    sizes = np.diff(strings.offsets)
    if len(strings.shape) != 1 or not len(strings):
        return None
    if fixed is None and ((sizes != sizes[0]).any() or sizes[0] % dtype.itemsize):
        return None  # processing the elements one by one finds the error
    found = fastrec.decode_raw(strings, dtype, little_endian, fixed)
    arrays = arrays_of(found, rows.row_splits - rows.row_splits[0])
    if fixed is None:
        # Without a string, the number of elements in a string is unknown.
        arrays.shapes[arrays.shapes[:, 0] == 0] = 0
    return arrays


DECODE_RAW = Op("DecodeRaw", _decode_raw, _spec, _block, cheap=True)
