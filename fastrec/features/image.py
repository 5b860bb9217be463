# SPDX-License-Identifier: Apache-2.0
"""Encoded images in records: decoded, cropped, resized and normalised on the workers.

JPEGs and PNGs are decoded in the core by libjpeg-turbo and libpng where it was built with them,
otherwise JPEGs by simplejpeg where that is installed; everything else by Pillow. All of them
release the GIL.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .. import _core
from ..columns import Arrays, Bytes
from ..errors import ExampleParseError
from ..records.content import image_format, value_content
from .column_spec import Feature, ItemSpec, column_of
from .transforms import Transform, lower

if TYPE_CHECKING:
    from PIL import Image

__all__ = ["FORMATS", "ImageFeature", "decoders", "too_few"]

FORMATS = ("BMP", "GIF", "JPEG", "PNG", "TIFF", "WEBP")
"""The decoders that Pillow may try on the bytes of a record. Some of its others run programs."""

_MAX_PIXELS = 1 << 27
# Upper bound of the pixels per byte of a file: one GIF code repeats up to 4096 pixels.
_PIXELS_PER_BYTE = 4096
# An image of at most this size may come from a file of any size.
_SMALL_PIXELS = 1 << 20
_JPEG = b"\xff\xd8\xff"
_PNG = b"\x89PNG\r\n\x1a\n"
_MODES = {1: "L", 3: "RGB"}
_DTYPES = ("uint8", "float32", "float16", "bfloat16")
_RANDOM = ("random", "resized", "distorted")

Failed = Callable[[int, Exception], None]


@dataclass(frozen=True)
class ImageFeature(Feature):
    """One bytes value that is a JPEG, PNG, WebP, GIF, BMP or TIFF.

    Without `transforms` the column is uint8, as decoded. With them each image goes through one
    native pass, without the GIL, straight into the batch: of a JPEG only the part that is needed
    is decoded. Of 16-bit samples the upper byte is taken; transparency is dropped; CMYK becomes
    RGB as TensorFlow has it.

    Parameters
    ----------
    shape : (height, width), optional
        Of every image. None: that of the transforms, or else images of any size, in a column
        that is an :class:`~fastrec.Arrays` of them.
    channels : {3, 1}
        RGB or grey.
    fit : {None, "crop_or_pad", "resize"}
        How an image of another size than `shape` is fitted: it is an error; the middle is taken,
        with zeros where there is nothing; or the whole is resized, bilinear with antialias.
    transforms : sequence of transforms of :mod:`fastrec.image`
        ``Resize``, ``CenterCrop``, ``RandomCrop`` or ``RandomResizedCrop``; then ``Flip``,
        ``ColorJitter``, ``Normalize``, in this order. Random ones require a :class:`Batcher`,
        or a map-style dataset with a `seed`. They draw from the seed, the epoch and the number of
        the record: features of one record with
        the same transforms, such as an image and its mask, draw the same.
    dtype : {"uint8", "float32", "float16", "bfloat16"} or dtype, optional
        By default float32 with ``Normalize`` and uint8 without it; values are 0 to 255 unless
        normalised. ``"bfloat16"`` requires ml_dtypes.
    channels_first : bool
        Make batches of shape (n, channels, height, width).
    upright : bool
        Turn images as their EXIF orientation says. By default pixels are as they are stored, as
        in TensorFlow, torchvision and Pillow.
    fast_dct : bool
        Decode JPEGs by the faster and less exact transform, TensorFlow's default; otherwise by
        the accurate one, libjpeg's default. On processors with SIMD they are as fast.
    reducing_gap : float or None
        Decode a JPEG at a half, a quarter or an eighth of its size where that leaves it at least
        so many times as large as the result, as ``Image.thumbnail`` of Pillow does. 1 is fastest;
        None decodes at full size, always.

    Raises
    ------
    ExampleParseError
        From parsing, for bytes that are not a whole image, or one of more than 134 million
        pixels, with record and feature; ``Batcher(on_error="skip")`` leaves such records out.
    ImportError
        When Pillow is not installed, from the first image that needs it.

    Examples
    --------
    >>> from fastrec.image import Flip, Normalize, RandomResizedCrop
    >>> feature = ImageFeature(
    ...     transforms=[RandomResizedCrop(224), Flip(), Normalize((0.5,) * 3, (0.25,) * 3)],
    ...     dtype="float16",
    ...     channels_first=True,
    ... )
    >>> feature.shape, feature.is_random
    ((224, 224), True)
    """

    shape: tuple[int, int] | None = None
    channels: int = 3
    fit: Literal["crop_or_pad", "resize"] | None = None
    transforms: Sequence[Transform] = ()
    dtype: DTypeLike | None = None
    channels_first: bool = False
    upright: bool = False
    fast_dct: bool = False
    reducing_gap: float | None = 2.0

    def __post_init__(self) -> None:
        if self.channels not in _MODES:
            raise ValueError(f"channels must be 3 or 1, got {self.channels}")
        if self.fit not in (None, "crop_or_pad", "resize"):
            raise ValueError(f"fit must be None, 'crop_or_pad' or 'resize', got {self.fit!r}")
        if self.reducing_gap is not None and not self.reducing_gap >= 1:
            raise ValueError(f"reducing_gap must be at least 1 or None, got {self.reducing_gap!r}")
        object.__setattr__(self, "transforms", tuple(self.transforms))
        if self.shape is not None:
            object.__setattr__(self, "shape", _height_and_width(self.shape))
        fields = self._fields()
        if fields is None:
            if self.fit is not None:
                raise ValueError("fit requires shape")
            if self.transforms or self.channels_first or self.dtype not in (None, "uint8"):
                raise ValueError(
                    "Flip, ColorJitter, Normalize, dtype and channels_first require a shape, or a "
                    "transform that gives images one"
                )
            return
        if self.shape not in (None, fields["size"]) or (self.fit and "crop" in self._lowered()):
            raise ValueError("shape and fit are mutually exclusive with a transform that crops")
        object.__setattr__(self, "shape", fields["size"])
        object.__setattr__(self, "dtype", fields["dtype"])

    def _lowered(self) -> dict[str, Any]:
        return lower(self.transforms, self.channels)

    def _fields(self) -> dict[str, Any] | None:
        """The native options but for the seed; None where images keep their sizes."""
        fields = self._lowered()
        if "crop" not in fields:
            if self.shape is None:
                return None
            crop = {None: "exact", "crop_or_pad": "pad", "resize": "whole"}[self.fit]
            fields |= {"crop": crop, "size": self.shape, "shorter": 0}
            fields |= {"interpolation": "bilinear", "antialias": True}
        normalized = fields["normalize"] is not None
        dtype = self.dtype or ("float32" if normalized else "uint8")
        name = dtype if isinstance(dtype, str) else np.dtype(dtype).name
        if name not in _DTYPES:
            raise ValueError(f"dtype must be one of {', '.join(_DTYPES)}, got {dtype!r}")
        if normalized and name == "uint8":
            raise ValueError("Normalize requires a dtype of floats")
        fields.setdefault("scale", (1.0, 1.0))
        fields.setdefault("ratio", (1.0, 1.0))
        fields["normalize"] = fields["normalize"] or [(1.0, 0.0)] * self.channels
        return fields | {
            "dtype": name,
            "channels": self.channels,
            "channels_first": self.channels_first,
            "upright": self.upright,
            "fast_dct": self.fast_dct,
            "reducing_gap": self.reducing_gap or 0.0,
            "max_pixels": _MAX_PIXELS,
        }

    @property
    def is_random(self) -> bool:
        """Whether a transform draws."""
        lowered = self._lowered()
        drawn = lowered.get("crop") in _RANDOM or 0 < lowered["flip"] < 1
        return drawn or lowered["jitter"] is not None

    def _columns(self, key: bytes) -> ItemSpec:
        def build(strings: Bytes) -> NDArray[Any] | Arrays:
            if self.is_random:
                raise ValueError(
                    "random transforms draw by the number of the record: use a Batcher, or a "
                    "map-style dataset with seed, or give keys to ImageFeature.decode()"
                )
            return self.decode(strings, f"feature {key.decode('utf-8', 'backslashreplace')!a}")

        return (column_of(key, bytes),), build

    def decode(
        self,
        images: Iterable[bytes] | Bytes,
        name: str = "image",
        locate: Callable[[int], str] | None = None,
        *,
        keys: Any = None,
        seed: int = 0,
    ) -> NDArray[Any] | Arrays:
        """Decode images and transform them.

        Parameters
        ----------
        images : iterable of bytes-like, or Bytes
        name : str
            Of the column, for errors.
        locate : callable, optional
            Says where a row is from, for errors.
        keys : array-like of uint64, optional
            What random transforms draw from, together with `seed`; the row's number by default.

        Returns
        -------
        ndarray, shape (n, height, width, channels) or (n, channels, height, width); or Arrays
        """

        def fail(row: int, error: Exception) -> None:
            where = f"record {row}" if locate is None else locate(row)
            failure = ExampleParseError(f"{where}: {name}: {reason(error)}")
            failure.kind, failure.record = "image", row
            raise failure from error

        return self.decode_rows(images, keys, seed, fail)

    def decode_rows(
        self,
        images: Iterable[bytes] | Bytes,
        keys: Any,
        seed: int,
        failed: Failed,
        spares: _core.Spares | None = None,
    ) -> NDArray[Any] | Arrays:
        """Decode images as :meth:`decode` does, telling `failed` of those that cannot be.

        What `failed` raises is raised. When it returns, the row is 0, or of size 0. Images of one
        size are written into memory of `spares`.
        """
        strings = images if isinstance(images, Bytes) else Bytes.from_list(_core.as_records(images))
        fields = self._fields()
        if fields is None:
            found = self._together(strings)
            return (
                _as_arrays(self._each(strings, failed), self.channels) if found is None else found
            )
        if keys is None:
            keys = np.arange(len(strings), dtype=np.uint64)
        keys = np.ascontiguousarray(keys, np.uint64)
        return self._fused(strings, keys, fields | {"seed": seed % 2**64}, failed, spares)

    def _fused(
        self,
        strings: Bytes,
        keys: NDArray[np.uint64],
        fields: dict[str, Any],
        failed: Failed,
        spares: _core.Spares | None,
    ) -> NDArray[Any]:
        assert self.shape is not None
        native = _core.Preprocessor(fields)
        shape: tuple[int, ...] = (*self.shape, self.channels)
        if self.channels_first:
            shape = (self.channels, *self.shape)
        out = _core.empty((len(strings), *shape), _dtype_of(fields["dtype"]), spares)
        rows = out.view(np.uint8).reshape(len(strings), math.prod(shape) * out.itemsize)
        row, count, built_in = 0, len(strings), _built_in()
        while row < count:
            error: Exception | None = None
            if any(built_in.values()):
                row, error = native.images(
                    strings.data, strings.offsets, keys, rows.reshape(-1), row, **built_in
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
                failed(row, _explained(error, strings[row]))
            row += 1
        return out

    @staticmethod
    def _attempt(function: Callable[[int], Any], row: int) -> Exception | None:
        try:
            function(row)
        except (ImportError, MemoryError):
            raise
        except Exception as error:  # a decoder's answer to hostile bytes can be of any class
            return error
        return None

    def _together(self, strings: Bytes) -> Arrays | None:
        """Images of any size; None when they are not all for the libraries that are built in."""
        built_in = _built_in()
        if not any(built_in.values()) or not len(strings):
            return None
        found = _core.decode_images(
            strings.data,
            strings.offsets,
            self.channels,
            fast_dct=self.fast_dct,
            upright=self.upright,
            max_pixels=_MAX_PIXELS,
            **built_in,
        )
        return None if found is None else Arrays(*found)

    def _each(self, strings: Bytes, failed: Failed) -> list[NDArray[np.uint8]]:
        """Images of any size."""
        found: list[NDArray[np.uint8]] = []
        for row, data in enumerate(strings):
            error = self._attempt(lambda _, data=data: found.append(self._decoded(data)), row)  # type: ignore[misc]
            if error is not None:
                failed(row, _explained(error, data))
                found.append(np.zeros((0, 0, self.channels), np.uint8))
        return found

    def _decoded(self, data: bytes) -> NDArray[np.uint8]:
        if _core.jpeg_version() is not None and data[:3] == _JPEG:
            upright = not self.upright or _core.jpeg_header(data, max_pixels=_MAX_PIXELS)[3] == 1
            if upright:
                return _core.decode_jpeg(data, self.channels, fast_dct=self.fast_dct)
        if _core.png_version() is not None and data[:8] == _PNG and not self.upright:
            return _core.decode_png(data, self.channels, max_pixels=_MAX_PIXELS)
        return self._pixels(data)

    def _pixels(self, data: bytes) -> NDArray[np.uint8]:
        """By simplejpeg or Pillow."""
        if data[:2] == b"\xff\xd8" and not self.upright:
            decoded = self._by_simplejpeg(data)
            if decoded is not None:
                return decoded
        return self._by_pillow(data)

    def _by_simplejpeg(self, data: bytes) -> NDArray[np.uint8] | None:
        """None where Pillow has to have a look: no simplejpeg, or bytes that it cannot take."""
        try:
            import simplejpeg
        except ImportError:
            return None
        try:
            height, width, _, _ = simplejpeg.decode_jpeg_header(data)
            if height * width > _MAX_PIXELS:
                return None
            return simplejpeg.decode_jpeg(  # type: ignore[no-any-return]
                data, colorspace="RGB" if self.channels == 3 else "GRAY", fastdct=self.fast_dct
            )
        except ValueError:
            return None

    def _by_pillow(self, data: bytes) -> NDArray[np.uint8]:
        try:
            from PIL import Image
        except ImportError as error:
            message = "decoding images requires Pillow: pip install 'fastrec-io[image]'"
            raise ImportError(message, name=error.name) from error
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            width, height = image.size
            if width * height > _MAX_PIXELS:
                raise ValueError(f"{width}x{height} pixels exceed the limit of {_MAX_PIXELS}")
            problem = too_few(len(data), width, height)
            if problem is not None:
                raise ValueError(problem)
            turned = _upright(image) if self.upright else image
            if turned.mode != _MODES[self.channels]:
                turned = _of_bytes(turned).convert(_MODES[self.channels])
            pixels = np.frombuffer(turned.tobytes(), np.uint8)
        return pixels.reshape(*turned.size[::-1], self.channels)


def too_few(size: int, width: int, height: int) -> str | None:
    """Return why an image of these sides cannot be in `size` bytes; None if it can.

    GIF, BMP and WebP define no such bound, so a small file could otherwise take any amount of
    memory and time.
    """
    if width * height <= max(_SMALL_PIXELS, size * _PIXELS_PER_BYTE):
        return None
    return f"{size} bytes are too few for {width}x{height} pixels"


def _built_in() -> dict[str, bool]:
    """Whether the core has a library for JPEGs, and for PNGs."""
    return {
        "jpeg": _core.jpeg_version() is not None,
        "png": _core.png_version() is not None,
    }


def decoders() -> dict[str, str | None]:
    """The libraries that decode images here, by format; None where one must be installed.

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


def _dtype_of(name: str) -> Any:
    if name != "bfloat16":
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError as error:
        message = "dtype='bfloat16' requires ml_dtypes: pip install ml_dtypes"
        raise ImportError(message, name=error.name) from error
    return np.dtype(ml_dtypes.bfloat16)


def _upright(image: Image.Image) -> Image.Image:
    from PIL import ImageOps

    return ImageOps.exif_transpose(image)


def _of_bytes(image: Image.Image) -> Image.Image:
    """Of 16-bit samples the upper byte, as TensorFlow has it; Pillow would cut them off at 255."""
    from PIL import Image

    # Older Pillows call those of a PNG plain integers.
    if image.mode == "F" or (image.mode == "I" and image.format != "PNG"):
        bits = "float32" if image.mode == "F" else "int32"
        raise ValueError(f"{bits} samples do not fit in 8 bits; store the array as raw bytes")
    if not image.mode.startswith("I;16") and (image.mode, image.format) != ("I", "PNG"):
        return image
    return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))


def _as_arrays(rows: list[NDArray[np.uint8]], channels: int) -> Arrays:
    shapes = np.array([row.shape for row in rows], np.int64).reshape(len(rows), 3)
    splits = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(shapes.prod(axis=1), out=splits[1:])
    values = np.empty(int(splits[-1]), np.uint8)
    for row, begin, end in zip(rows, splits[:-1], splits[1:], strict=True):
        values[begin:end] = row.reshape(-1)
    return Arrays(values, splits, shapes)


def _explained(error: Exception, value: bytes) -> Exception:
    """Return an error that names the content of a value that is not an image; or `error`."""
    if image_format(value) is not None or _is_of_another_size(error):
        return error
    found = value_content(value)
    remedy = "" if found.remedy else f"; it must be one of {', '.join(FORMATS)}"
    explained = ValueError(f"the value is {found}{remedy}")
    explained.__cause__ = error
    return explained


def _is_of_another_size(error: Exception) -> bool:
    """Return True for the error of a sound image."""
    return isinstance(error, ExampleParseError) and error.kind == "schema"


def reason(error: Exception) -> str:
    """Return why an image cannot be used, in one line of ASCII."""
    text = " ".join(str(error).split()) or type(error).__name__
    if type(error).__name__ == "UnidentifiedImageError":  # whose text is about the io.BytesIO
        text = f"it must be one of {', '.join(FORMATS)}"
    if _is_of_another_size(error):
        return text.encode("ascii", "backslashreplace").decode()
    return f"cannot be decoded: {text}".encode("ascii", "backslashreplace").decode()


def _height_and_width(shape: Sequence[int]) -> tuple[int, int]:
    if not isinstance(shape, Sequence) or len(shape) != 2:
        raise ValueError(f"shape must be (height, width), got {shape!r}; channels is separate")
    height, width = (int(size) for size in shape)
    if not (0 < height <= _MAX_PIXELS and 0 < width <= _MAX_PIXELS // height):
        raise ValueError(f"shape must be (height, width), got {shape!r}")
    return height, width
