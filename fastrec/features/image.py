# SPDX-License-Identifier: Apache-2.0
"""Describe features whose values are encoded images, and how to crop, resize and normalise them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..arguments import check_fields, check_types, is_int, shown
from ..columns import Arrays, Bytes, Ragged
from ..errors import ExampleParseError
from .column_spec import Feature, ItemSpec, column_of
from .image_decoding import ImageDecoder
from .image_errors import reason
from .image_libraries import MAX_PIXELS
from .transforms import Transform, lower

__all__ = ["ImageFeature", "encoded_images"]

_DTYPES = ("uint8", "uint16", "float32", "float16", "bfloat16")
_RANDOM = ("random", "resized", "distorted")


@dataclass(frozen=True)
class ImageFeature(Feature):
    """One bytes value that is a JPEG, PNG, WebP, GIF, BMP or TIFF.

    Without `transforms` the column is uint8, as decoded. With them each image goes through one
    native pass, without the GIL, straight into the batch: of a JPEG only the part that is needed
    is decoded. Transparency is dropped, and CMYK becomes RGB as in TensorFlow. An image of 16-bit
    samples is an error unless `dtype` is ``"uint16"`` or ``"uint8"``.

    In a feature list of a SequenceExample each frame has one image, and the column is a
    :class:`~fastrec.Ragged` of the images of each record.

    Parameters
    ----------
    shape : (height, width), optional
        The size of every image. None: the size of the transforms' result, or, without
        transforms, any size, with an :class:`~fastrec.Arrays` as the column.
    channels : {3, 1}
        RGB or grey.
    fit : {None, "crop_or_pad", "resize"}
        The treatment of an image with another size than `shape`: an error; the central region,
        padded with zeros; or the whole image resized, bilinear with antialias.
    transforms : sequence of transforms of :mod:`fastrec.image`
        ``Resize``, ``CenterCrop``, ``RandomCrop`` or ``RandomResizedCrop``; then ``Flip``,
        ``ColorJitter``, ``Normalize``, in this order. Random ones require a :class:`Batcher`,
        or a map-style dataset with a `seed`. They draw from the seed, the epoch and the number of
        the record, so features of one record with the same transforms, such as an image and its
        mask, draw the same numbers.
    dtype : {"uint8", "uint16", "float32", "float16", "bfloat16"} or dtype, optional
        By default float32 with ``Normalize`` and uint8 without it; values are 0 to 255 unless
        normalised. ``"uint16"`` keeps 16-bit samples, multiplies 8-bit ones by 257, and allows no
        `transforms`; an explicit ``"uint8"`` keeps the upper byte of 16-bit samples.
        ``"bfloat16"`` requires ml_dtypes.
    channels_first : bool
        Whether batches have the shape (n, channels, height, width).
    upright : bool
        Whether to apply the EXIF orientation. By default pixels are returned as stored, as in
        TensorFlow, torchvision and Pillow.
    fast_dct : bool
        Whether to decode JPEGs with the faster, less exact transform, TensorFlow's default.
        Otherwise the accurate one is used, libjpeg's default. With SIMD both are equally fast.
    reducing_gap : float or None
        Decode a JPEG at a half, a quarter or an eighth of its size if it is then still at least
        this many times as large as the result, as ``Image.thumbnail`` of Pillow does. 1 is
        fastest; None always decodes at full size.
    ragged : bool
        Whether each record holds any number of images, such as the frames of a video, instead of
        one; the column is a :class:`~fastrec.Ragged`. All images of a record are transformed
        with the same random numbers.

    Raises
    ------
    ExampleParseError
        During parsing, for bytes that are not a complete image, or for more than 134 million
        pixels. The message names record and feature; ``Batcher(on_error="skip")`` leaves such
        records out.
    ImportError
        If an image requires Pillow, and Pillow is not installed.

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
    ragged: bool = False

    def __post_init__(self) -> None:
        check_fields(self, skip=("shape", "transforms"))
        if self.channels not in (1, 3):
            raise ValueError(f"channels must be 3 or 1, got {self.channels}")
        if self.reducing_gap is not None and not self.reducing_gap >= 1:
            raise ValueError(f"reducing_gap must be at least 1 or None, got {self.reducing_gap!r}")
        if not isinstance(self.transforms, (list, tuple)):
            text = f"transforms must be a list of fastrec.image, got {shown(self.transforms)}"
            raise TypeError(text)
        object.__setattr__(self, "transforms", tuple(self.transforms))
        if self.dtype is not None:
            object.__setattr__(self, "dtype", self._checked_dtype())
        if self.shape is not None:
            object.__setattr__(self, "shape", _height_and_width(self.shape))
        fields = self._fields()
        if self._is_deep and self.transforms:
            raise ValueError("dtype='uint16' and transforms are mutually exclusive")
        if fields is None:
            if self.fit is not None:
                raise ValueError("fit requires shape")
            dtypes = (None, "uint8", "uint16")
            if self.transforms or self.channels_first or self.dtype not in dtypes:
                raise ValueError(
                    "Flip, ColorJitter, Normalize, dtype and channels_first require a shape, or a "
                    "transform that gives images one"
                )
            return
        if self.shape not in (None, fields["size"]) or (self.fit and "crop" in self._lowered()):
            raise ValueError("shape and fit are mutually exclusive with a transform that crops")
        object.__setattr__(self, "shape", fields["size"])

    def _checked_dtype(self) -> str:
        try:
            name = self.dtype if isinstance(self.dtype, str) else np.dtype(self.dtype).name
        except TypeError:
            name = ""
        if name not in _DTYPES:
            raise ValueError(f"dtype must be one of {', '.join(_DTYPES)}, got {shown(self.dtype)}")
        return name

    @property
    def _dtype_name(self) -> str | None:
        return None if self.dtype is None else str(self.dtype)

    @cached_property
    def _decoder(self) -> ImageDecoder:
        fields = self._fields()
        shape = None
        if self.shape is not None:
            first = (self.channels, *self.shape)
            shape = first if self.channels_first else (*self.shape, self.channels)
        return ImageDecoder(
            self.channels, self._dtype_name, self.upright, self.fast_dct, fields, shape
        )

    @property
    def _is_deep(self) -> bool:
        """Whether samples have 16 bits."""
        return self.dtype == "uint16"

    def _lowered(self) -> dict[str, Any]:
        return lower(self.transforms, self.channels)

    def _fields(self) -> dict[str, Any] | None:
        """The native options except the seed; None if images keep their sizes."""
        fields = self._lowered()
        if "crop" not in fields:
            if self.shape is None:
                return None
            crop = {None: "exact", "crop_or_pad": "pad", "resize": "whole"}[self.fit]
            fields |= {"crop": crop, "size": self.shape, "shorter": 0}
            fields |= {"interpolation": "bilinear", "antialias": True}
        normalized = fields["normalize"] is not None
        name = str(self.dtype or ("float32" if normalized else "uint8"))
        if normalized and name.startswith("uint"):
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
            "max_pixels": MAX_PIXELS,
        }

    @property
    def is_random(self) -> bool:
        """Whether any transform is random."""
        lowered = self._lowered()
        drawn = lowered.get("crop") in _RANDOM or 0 < lowered["flip"] < 1
        return drawn or lowered["jitter"] is not None

    @property
    def encoded(self) -> Feature:
        """The feature that reads the same values without decoding them."""
        return _EncodedImages(self.ragged)

    def _columns(self, key: bytes) -> ItemSpec:
        return self.encoded._columns(key)[0], self._build(key)

    def _frame_columns(self, key: bytes) -> ItemSpec:
        return self.encoded._frame_columns(key)[0], self._build(key)

    def _build(self, key: bytes) -> Callable[[Any], Any]:
        def build(images: Bytes | Ragged) -> NDArray[Any] | Arrays | Ragged:
            if self.is_random:
                raise ValueError(
                    "random transforms draw by the number of the record: use a Batcher, or a "
                    "map-style dataset with seed, or give keys to ImageFeature.decode()"
                )
            return self.decode(images, f"feature {key.decode('utf-8', 'backslashreplace')!a}")

        return build

    def decode(
        self,
        images: Iterable[bytes] | Bytes | Ragged,
        name: str = "image",
        locate: Callable[[int], str] | None = None,
        *,
        keys: Any = None,
        seed: int = 0,
    ) -> NDArray[Any] | Arrays | Ragged:
        """Decode images and transform them.

        Parameters
        ----------
        images : iterable of bytes-like, Bytes, or Ragged of bytes
            A Ragged has any number of images in each row.
        name : str
            Name of the column, for errors.
        locate : callable, optional
            Function from the number of a row to its place, for errors.
        keys : array-like of uint64, optional
            Source of random transforms, together with `seed`, for each row; the row's number by
            default.

        Returns
        -------
        ndarray, shape (n, height, width, channels) or (n, channels, height, width); or Arrays
            For a Ragged, a Ragged of these.
        """
        check_types(ImageFeature.decode, {"name": name, "locate": locate, "seed": seed})

        def fail(row: int, error: Exception) -> None:
            cause = f"{name}: {reason(error)}"
            failure = ExampleParseError(cause if locate is None else f"{locate(row)}: {cause}")
            failure.kind, failure.record = "image", row
            raise (failure.in_record(row) if locate is None else failure) from error

        return self._decoder.decode(images, keys, seed, fail)


def encoded_images(features: Mapping[str, Feature]) -> dict[str, Feature]:
    """Replace each image feature by one that reads its values without decoding them."""
    return {
        name: feature.encoded if isinstance(feature, ImageFeature) else feature
        for name, feature in features.items()
    }


@dataclass(frozen=True)
class _EncodedImages(Feature):
    """Images as they are stored: one in each record or frame, or any number if `ragged`."""

    ragged: bool

    def _columns(self, key: bytes) -> ItemSpec:
        return (column_of(key, bytes, ragged=self.ragged),), None

    def _frame_columns(self, key: bytes) -> ItemSpec:
        if self.ragged:
            raise ValueError("ragged must be False in a feature list, whose frames have one image")
        return (column_of(key, bytes, frames=True),), None


def _height_and_width(shape: Sequence[int]) -> tuple[int, int]:
    if not isinstance(shape, (tuple, list)) or len(shape) != 2 or not all(map(is_int, shape)):
        text = f"shape must be (height, width), got {shown(shape)}; channels is separate"
        raise ValueError(text)
    height, width = (int(size) for size in shape)
    if not (0 < height <= MAX_PIXELS and 0 < width <= MAX_PIXELS // height):
        raise ValueError(f"shape must be (height, width), got {shape!r}")
    return height, width
