# SPDX-License-Identifier: Apache-2.0
"""Describe features whose values are encoded videos."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arguments import check_fields
from .column_spec import Feature, ItemSpec, column_of
from .image import ImageFeature
from .image_libraries import MAX_PIXELS
from .media import MediaBuild, check_count
from .media_libraries import decode_frames

__all__ = ["VideoFeature"]


@dataclass(frozen=True)
class VideoFeature(Feature):
    """One bytes value that is an MP4, WebM, Matroska, QuickTime or AVI.

    Requires PyAV (``pip install 'fastrec-io[media]'``). Frames are uint8 RGB, exactly as PyAV
    decodes them. Without `fit`, all frames must have the same size.

    Parameters
    ----------
    frames : int, optional
        Number of frames: longer videos end there, and shorter ones are padded with zeros. The rest
        of a longer video is not decoded. None: all frames.
    shape : (height, width), optional
        The size of every frame. None: the size of each video.
    fit : {None, "crop_or_pad", "resize"}
        The treatment of frames of another size, as in an :class:`~fastrec.ImageFeature`.
    stride : int, default 1
        Keep the first frame of each `stride` frames.

    Raises
    ------
    ExampleParseError
        During parsing, with the record and the feature: for bytes that are not a complete video,
        for frames of another size, and for more than 134 million pixels in all frames.
    ModuleNotFoundError
        If PyAV is not installed.

    Notes
    -----
    With `frames` and `shape` the column has shape (n, frames, height, width, 3); with `shape` alone
    it is a :class:`~fastrec.Ragged`, otherwise an :class:`~fastrec.Arrays`.

    Examples
    --------
    >>> import fastrec
    >>> fastrec.VideoFeature(frames=16, shape=(112, 112), fit="resize", stride=2).frames
    16
    """

    frames: int | None = None
    shape: tuple[int, int] | None = None
    fit: Literal["crop_or_pad", "resize"] | None = None
    stride: int = 1

    def __post_init__(self) -> None:
        check_fields(self, skip=("shape",))
        image = self._image()
        object.__setattr__(self, "shape", image.shape)
        pixels = 1 if image.shape is None else image.shape[0] * image.shape[1]
        check_count(self.frames, "frames", MAX_PIXELS // pixels)
        if check_count(self.stride, "stride", 2**31 - 1) is None:
            raise ValueError("stride must be at least 1, got None")

    def _image(self) -> ImageFeature:
        """Return the feature that fits one frame."""
        return ImageFeature(self.shape, fit=self.fit)

    def _columns(self, key: bytes) -> ItemSpec:
        inner = None if self.shape is None else (*self.shape, 3)
        build = MediaBuild(self._decode, self.frames, inner, np.dtype(np.uint8), key)
        return (column_of(key, bytes),), build

    def _decode(self, value: bytes) -> NDArray[np.uint8]:
        """Return the frames of a video, of shape (n, height, width, 3)."""
        decoder = self._image()._decoder
        native = None
        if decoder.native is not None:
            native = _core.Preprocessor(decoder.native | {"seed": 0})
        found: list[NDArray[np.uint8]] = []
        pixels = 0
        for frame in islice(decode_frames(value, self.stride), self.frames):
            if native is not None and decoder.row_shape is not None:
                fitted = np.empty(decoder.row_shape, np.uint8)
                native.pixels(frame, 0, fitted.reshape(-1))
                frame = fitted
            if found and frame.shape != found[0].shape:
                raise ValueError("the size of frames must not change within a video; pass fit=")
            pixels += frame.shape[0] * frame.shape[1]
            if pixels > MAX_PIXELS:
                raise ValueError(
                    f"a video must have at most {MAX_PIXELS} pixels in its frames; pass frames=, "
                    "stride= or a smaller shape"
                )
            found.append(frame)
        if not found:
            raise ValueError("a video must have frames, got none")
        return np.stack(found)
