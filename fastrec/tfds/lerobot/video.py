# SPDX-License-Identifier: Apache-2.0
"""Write and read the frames of cameras as MP4 files, with PyAV."""

from __future__ import annotations

import io
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ...features.media_libraries import pyav
from ..documents import Document

__all__ = ["CODEC", "PIXELS", "VideoWriter", "frames_of"]

CODEC, PIXELS = "h264", "yuv420p"
# Every second frame can be decoded alone or with the one before it, for access at random.
_OPTIONS = {"crf": "23", "g": "2"}


class VideoWriter:
    """An MP4 file that grows in memory, frame by frame."""

    def __init__(self, fps: int, height: int, width: int) -> None:
        if height % 2 or width % 2:
            raise ValueError(
                f"frames of a video must have even sides, got {height}x{width}; "
                "convert with videos=False"
            )
        self._data = io.BytesIO()
        self._container = pyav().open(self._data, "w", format="mp4")
        self._stream = self._container.add_stream("libx264", rate=fps, options=_OPTIONS)
        self._stream.height, self._stream.width = height, width
        self._stream.pix_fmt = PIXELS
        self._stream.codec_context.time_base = Fraction(1, fps)
        self.frames: int = 0

    def add(self, images: NDArray[np.uint8]) -> None:
        """Add frames of shape (n, height, width, 3)."""
        for image in images:
            frame = pyav().VideoFrame.from_ndarray(image, format="rgb24")
            frame.pts = self.frames
            self._container.mux(self._stream.encode(frame))
            self.frames += 1

    def close(self) -> bytes:
        """Return the whole file."""
        self._container.mux(self._stream.encode(None))
        self._container.close()
        return self._data.getvalue()

    def abort(self) -> None:
        """Release the encoder."""
        self._container.close()


def frames_of(path: str, begin: float, count: int, fps: int) -> Iterator[NDArray[np.uint8]]:
    """Yield `count` frames, starting at `begin` seconds.

    Raises
    ------
    MetadataError
        If the file is not a video, or a frame is missing.
    """
    av = pyav()
    found = 0
    try:
        with av.open(path) as container:
            stream = container.streams.video[0]
            if begin:
                container.seek(int(begin / stream.time_base), stream=stream, backward=True)
            for frame in container.decode(stream):
                time = begin + found / fps
                if frame.time is None or frame.time < time - 0.5 / fps:
                    continue
                if frame.time > time + 0.5 / fps:
                    break
                yield frame.to_ndarray(format="rgb24")
                found += 1
                if found == count:
                    return
    except (av.FFmpegError, IndexError) as error:
        raise Document(None, path).error(f"must be a video: {error}") from error
    raise Document(None, path).error(f"must have a frame at {begin + found / fps:.6f} s")
