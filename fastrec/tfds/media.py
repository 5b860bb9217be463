# SPDX-License-Identifier: Apache-2.0
"""Feature connectors for images and audio."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..records.content.wav import read_wav
from .images import decode_image, encode_image, is_decodable
from .values import Labels, Shape, Tensor, Value, as_shape, dtype_of

__all__ = ["Audio", "Image", "LabeledImage"]


class Image(Value):
    """An image, stored as a PNG, JPEG, GIF or BMP file.

    Parameters
    ----------
    shape : (height, width, channels)
        The size in pixels; None where it varies.
    dtype : {uint8, uint16, float32}
        The dtype of samples. A float32 image has one channel, and its bytes are stored as the four
        channels of a PNG.
    encoding_format : {"", "png", "jpeg"}
        The format of written images; PNG by default.
    """

    module = "image_feature"
    is_encoded = True
    is_media = True

    def __init__(
        self, shape: Any = (None, None, 3), dtype: Any = np.uint8, encoding_format: str = "",
        use_colormap: bool = False,
    ) -> None:  # fmt: skip
        if encoding_format not in ("", "png", "jpeg"):
            raise ValueError(f"encoding_format must be 'png' or 'jpeg', got {encoding_format!r}")
        self.shape: Shape = as_shape(shape)
        self.dtype: np.dtype[Any] = dtype_of(dtype)
        self.encoding_format = encoding_format
        self.use_colormap = use_colormap
        if len(self.shape) not in (3, 4):
            raise ValueError(f"an image must have 3 dimensions, got shape {self.shape}")

    @property
    def channels(self) -> int:
        """Number of channels; 0 if it varies."""
        return self.shape[-1] or 0

    @property
    def is_decodable(self) -> bool:
        """Whether images can be decoded; otherwise values are the bytes of the encoded files."""
        return len(self.shape) == 3 and is_decodable(self.channels, self.dtype)

    def decode(self, data: bytes, shape: Any = None) -> Any:
        """Decode an image file, and check its shape."""
        if not self.is_decodable:
            return data
        image = decode_image(data, self.channels, self.dtype)
        if any(want not in (None, got) for want, got in zip(self.shape, image.shape, strict=True)):
            raise ValueError(f"the image must be of shape {self.shape}, got {image.shape}")
        return image

    def encode(self, value: Any) -> Any:
        """Return the encoded image; bytes are taken to be an image file already."""
        if isinstance(value, (bytes, bytearray, memoryview)):
            return bytes(value)
        return encode_image(value, self.shape, self.dtype, self.encoding_format)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shape}, {self.dtype.name})"


class LabeledImage(Labels, Image):
    """An image of one channel whose samples are class numbers."""

    module = "labeled_image"

    def __init__(
        self, labels: Any = None, shape: Any = (None, None, 1), dtype: Any = np.uint8,
        encoding_format: str = "",
    ) -> None:  # fmt: skip
        super().__init__(shape, dtype, encoding_format, use_colormap=True)
        self.num_classes: int | None = labels if isinstance(labels, int) else None
        if labels is not None and not isinstance(labels, int):
            self.set_names(labels)

    def named(self, name: str = "") -> Iterator[tuple[str, Labels]]:
        """Yield the labels of this connector."""
        yield name, self


class Audio(Tensor):
    """Audio samples, or with `lazy_decode` the encoded file.

    WAV files with integer samples are decoded. Files of other formats are returned as bytes.
    """

    module = "audio_feature"

    def __init__(
        self, shape: Any = (None,), dtype: Any = np.int64, *, file_format: str = "",
        sample_rate: int = 0, encoding: str = "none", lazy_decode: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(shape, dtype, encoding)
        self.file_format = file_format
        self.sample_rate = sample_rate
        self.lazy_decode = lazy_decode
        if lazy_decode:
            self.is_encoded = self.is_media = True
            self.is_dynamic = False

    def decode(self, data: bytes, shape: Any = None) -> Any:
        """Decode audio samples; with `lazy_decode`, only from integer WAV files."""
        if not self.lazy_decode:
            return super().decode(data, shape)
        if data[:4] != b"RIFF" or data[8:12] != b"WAVE" or self.dtype.kind not in "iu":
            return data
        try:
            wav = read_wav(data)
        except ValueError as error:
            raise ValueError(f"not a WAV file that can be decoded: {error}") from None
        if wav.codec != 1 or wav.bits not in (8, 16, 32):
            return data
        samples = wav.samples().astype(self.dtype)
        return samples if wav.channels > 1 else samples[:, 0]

    def encode(self, value: Any) -> Any:
        """Return the samples as a record stores them, or with `lazy_decode` the file."""
        return bytes(value) if self.lazy_decode else super().encode(value)
