# SPDX-License-Identifier: Apache-2.0
"""Decode compressed sounds and videos with PyAV, strictly and within limits."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..records.content.values import media_content, value_content
from .image_libraries import MAX_PIXELS

__all__ = ["MAX_SAMPLES", "decode_frames", "decode_sound", "pyav"]

MAX_SAMPLES = 1 << 27  # samples of all channels of the longest sound: a limit for hostile bytes

# FFmpeg's demultiplexer of each content. Others are never tried: some open files and addresses.
_DEMULTIPLEXERS = {
    "WAV": "wav", "FLAC": "flac", "Ogg": "ogg", "MP3": "mp3", "AIFF": "aiff", "AU": "au",
    "M4A": "mov", "MP4": "mov", "QuickTime": "mov", "WebM": "matroska", "AVI": "avi",
}  # fmt: skip
# FFmpeg otherwise leaves out damaged parts, or invents them.
_STRICT = {"err_detect": "explode"}


def pyav() -> Any:
    """Return the module ``av``.

    Raises
    ------
    ModuleNotFoundError
        If it is not installed.
    """
    try:
        import av
    except ModuleNotFoundError as error:
        if error.name != "av":
            raise
        message = "videos and compressed sounds require PyAV: pip install 'fastrec-io[media]'"
        raise ModuleNotFoundError(message, name="av") from None
    return av


def decode_sound(value: bytes, most: int | None) -> tuple[NDArray[Any], int]:
    """Return the first `most` samples of a sound, of shape (n, channels), and their rate.

    Raises
    ------
    ValueError
        For bytes that are not a sound, or that are damaged.
    """
    pieces: list[NDArray[Any]] = []
    count, rate = 0, 0
    for frame in _decoded(value, "audio"):
        piece = frame.to_ndarray()
        channels = len(frame.layout.channels)
        piece = piece.T if frame.format.is_planar else piece.reshape(-1, channels)
        if pieces and (piece.shape[1] != pieces[0].shape[1] or frame.sample_rate != rate):
            raise ValueError("the channels or the rate of a sound must not change within it")
        pieces.append(piece)
        rate = frame.sample_rate
        count += len(piece)
        if count * channels > MAX_SAMPLES:
            raise ValueError(f"a sound must have at most {MAX_SAMPLES} samples; pass samples=")
        if most is not None and count >= most:
            break
    if not pieces:
        raise ValueError("a sound must have samples, got none")
    return np.concatenate(pieces)[:most], rate


def decode_frames(value: bytes, stride: int) -> Iterator[NDArray[np.uint8]]:
    """Yield every `stride`-th frame of a video as RGB, of shape (height, width, 3).

    Raises
    ------
    ValueError
        For bytes that are not a video, or that are damaged.
    """
    for frame in islice(_decoded(value, "video"), 0, None, stride):
        yield frame.to_ndarray(format="rgb24")


def _decoded(value: bytes, kind: str) -> Iterator[Any]:
    """Yield the frames of the first stream of a kind."""
    content = media_content(value)
    demultiplexer = None if content is None else _DEMULTIPLEXERS.get(content.name)
    if demultiplexer is None:
        names = ", ".join(_DEMULTIPLEXERS)
        raise ValueError(f"it is {value_content(value).phrase}; it must be one of {names}")
    with _errors(), pyav().open(io.BytesIO(value), format=demultiplexer, options=_STRICT) as file:
        streams = getattr(file.streams, kind)
        if not streams:
            raise ValueError(f"it has no {kind} stream")
        stream, packets = streams[0], 0
        context = stream.codec_context
        # Batches are decoded on threads already.
        context.thread_count = 1
        context.options = {**_STRICT, "max_pixels": str(MAX_PIXELS)}
        for packet in file.demux(stream):
            packets += packet.size > 0
            for frame in packet.decode():
                if packet.is_corrupt or frame.is_corrupt:
                    raise ValueError("it is damaged or truncated")
                yield frame
        if packets < stream.frames:
            raise ValueError(f"it must have {stream.frames} packets, got {packets}: truncated")


@contextmanager
def _errors() -> Iterator[None]:
    """Convert what hostile bytes make PyAV raise, which can be of any class."""
    try:
        yield
    except (ImportError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, pyav().FFmpegError):
            text = f"{error.strerror}: it is damaged or truncated"
            raise ValueError(text) from error
        raise ValueError(str(error)) from error
