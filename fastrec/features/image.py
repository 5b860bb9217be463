# SPDX-License-Identifier: Apache-2.0
"""Encoded pictures in records: decoded on the workers.

JPEGs are decoded by simplejpeg where it is installed, 1.5 times as fast as Pillow, which decodes
everything else; both give up the interpreter's lock.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..columns import Arrays, Bytes
from ..errors import ExampleParseError
from .column_spec import Feature, ItemSpec, column_of

if TYPE_CHECKING:
    from PIL import Image

__all__ = ["FORMATS", "ImageFeature"]

FORMATS = ("BMP", "GIF", "JPEG", "PNG", "TIFF", "WEBP")
"""The decoders that Pillow may try on the bytes of a record. Some of its others run programs."""

_MAX_PIXELS = 1 << 27
_MODES = {1: "L", 3: "RGB"}


@dataclass(frozen=True)
class ImageFeature(Feature):
    """One bytes value that is a JPEG, PNG, WebP, GIF, BMP or TIFF.

    As TensorFlow does, it takes pixels as they are stored: EXIF orientation is not looked at. Of
    16-bit samples it takes the upper byte.

    Parameters
    ----------
    shape : (height, width), optional
        Of every picture. None: pictures of any size, and the column is an
        :class:`~fastrec.Arrays` of them.
    channels : {3, 1}
        RGB or grey.
    fit : {None, "crop_or_pad", "resize"}
        What becomes of a picture of another size than `shape`: an error; what is around the
        middle, with zeros where there is nothing; or the whole of it, scaled.

    Raises
    ------
    ExampleParseError
        From parsing, for bytes that are no whole picture, or one of more than 134 million pixels.
    ImportError
        When Pillow is not installed.
    """

    shape: tuple[int, int] | None = None
    channels: int = 3
    fit: str | None = None

    def __post_init__(self) -> None:
        if self.channels not in _MODES:
            raise ValueError(f"channels must be 3 or 1, not {self.channels}")
        if self.fit not in (None, "crop_or_pad", "resize"):
            raise ValueError(f"fit must be None, 'crop_or_pad' or 'resize', not {self.fit!r}")
        if self.shape is not None:
            object.__setattr__(self, "shape", _height_and_width(self.shape))
        elif self.fit is not None:
            raise ValueError("pictures are fitted to a shape, and shape is None")

    def _columns(self, key: bytes) -> ItemSpec:
        def build(strings: Bytes) -> NDArray[np.uint8] | Arrays:
            return self.decode(strings, f"feature {key.decode('utf-8', 'backslashreplace')!a}")

        return (column_of(key, bytes),), build

    def decode(
        self,
        pictures: Sequence[bytes],
        name: str = "picture",
        locate: Callable[[int], str] | None = None,
    ) -> NDArray[np.uint8] | Arrays:
        """Decode pictures.

        Parameters
        ----------
        pictures : sequence of bytes
        name : str
            Of what they are, for errors.
        locate : callable, optional
            Says where a row is from, for errors.

        Returns
        -------
        ndarray of uint8, shape (n, height, width, channels), or Arrays
        """
        pictures = list(pictures)  # whose length is that of what will be iterated
        rows = []
        out = None
        if self.shape is not None:
            out = _core.empty((len(pictures), *self.shape, self.channels), np.uint8)
        for row, data in enumerate(pictures):
            try:
                rows.append(self._decode(data, None if out is None else out[row]))
            except ImportError:
                raise
            except Exception as error:  # a decoder's answer to hostile bytes can be of any class
                where = f"record {row}" if locate is None else locate(row)
                failure = ExampleParseError(f"{where}: {name}: {_reason(error)}")
                failure.kind, failure.record = "picture", row
                raise failure from error
        return _as_arrays(rows, self.channels) if out is None else out

    def _decode(self, data: bytes, out: NDArray[np.uint8] | None) -> NDArray[np.uint8]:
        if data[:2] == b"\xff\xd8":
            decoded = self._decode_jpeg(data, out)
            if decoded is not None:
                return decoded
        return self._decode_any(data, out)

    def _decode_jpeg(self, data: bytes, out: NDArray[np.uint8] | None) -> NDArray[np.uint8] | None:
        """None where Pillow has to have a look: no simplejpeg, or bytes that it cannot take."""
        try:
            import simplejpeg
        except ImportError:
            return None
        space = "RGB" if self.channels == 3 else "GRAY"
        try:
            height, width, _, _ = simplejpeg.decode_jpeg_header(data)
            if height * width > _MAX_PIXELS:
                return None
            if out is not None and out.shape[:2] == (height, width):
                return simplejpeg.decode_jpeg(data, colorspace=space, buffer=out)  # type: ignore[no-any-return]
            if self.fit == "resize":
                return None
            decoded = simplejpeg.decode_jpeg(data, colorspace=space)
        except ValueError:
            return None
        return decoded if out is None else self._place(decoded, out)

    def _decode_any(self, data: bytes, out: NDArray[np.uint8] | None) -> NDArray[np.uint8]:
        try:
            from PIL import Image
        except ImportError as error:
            message = "decoding pictures needs Pillow: pip install 'fastrec-io[image]'"
            raise ImportError(message, name=error.name) from error
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            width, height = image.size
            if width * height > _MAX_PIXELS:
                raise ValueError(f"{width}x{height} pixels are over {_MAX_PIXELS}")
            converted = _of_bytes(image).convert(_MODES[self.channels])
        if self.fit == "resize" and self.shape is not None and (height, width) != self.shape:
            converted = converted.resize(self.shape[::-1], Image.Resampling.BILINEAR)
        decoded = np.asarray(converted).reshape(*converted.size[::-1], self.channels)
        return decoded if out is None else self._place(decoded, out)

    def _place(self, decoded: NDArray[np.uint8], out: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Into the batch, around the middle of either."""
        if decoded.shape == out.shape:
            out[...] = decoded
            return out
        if self.fit is None:
            raise ValueError(
                f"it is {decoded.shape[0]}x{decoded.shape[1]}, not {out.shape[0]}x{out.shape[1]}"
            )
        out[...] = 0
        theirs, ours = [], []
        for size, wanted in zip(decoded.shape[:2], out.shape[:2], strict=True):
            kept = min(size, wanted)
            begin, to = (size - kept) // 2, (wanted - kept) // 2
            theirs.append(slice(begin, begin + kept))
            ours.append(slice(to, to + kept))
        out[tuple(ours)] = decoded[tuple(theirs)]
        return out


def _of_bytes(image: Image.Image) -> Image.Image:
    """Of 16-bit samples the upper byte, as TensorFlow has it; Pillow would cut them off at 255."""
    from PIL import Image

    # Older Pillows call those of a PNG plain integers.
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


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    if type(error).__name__ == "UnidentifiedImageError":  # whose text is about the io.BytesIO
        text = f"it is none of {', '.join(FORMATS)}"
    return f"no picture that can be decoded: {text}".encode("ascii", "backslashreplace").decode()


def _height_and_width(shape: Sequence[int]) -> tuple[int, int]:
    if len(shape) != 2:
        raise ValueError(f"shape is (height, width), not {shape!r}; channels is separate")
    height, width = (int(size) for size in shape)
    if not (0 < height <= _MAX_PIXELS and 0 < width <= _MAX_PIXELS // height):
        raise ValueError(f"shape is (height, width), not {shape!r}")
    return height, width
