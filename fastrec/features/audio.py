# SPDX-License-Identifier: Apache-2.0
"""Describe features whose values are encoded sounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..arguments import check_fields
from ..records.content.values import media_content
from ..records.content.wav import read_wav
from .column_spec import Feature, ItemSpec, as_dtype, column_of
from .media import MediaBuild, check_count
from .media_libraries import MAX_SAMPLES, decode_sound

__all__ = ["AudioFeature"]

_MOST_CHANNELS = 255


@dataclass(frozen=True)
class AudioFeature(Feature):
    """One bytes value that is a WAV, FLAC, MP3, Ogg, M4A, AIFF or AU, or the sound of a video.

    WAV files of integers and floats are decoded natively; all other sounds require PyAV
    (``pip install 'fastrec-io[media]'``).

    Parameters
    ----------
    samples : int, optional
        Number of samples per channel: longer sounds are cropped at their end, and shorter ones
        padded with zeros. Only the beginning of a longer sound is decoded.
    channels : int, optional
        1 averages the channels of a sound, and sounds of one channel are repeated. Any other
        number of channels is an error. None: as stored.
    dtype : {"float32", "int16"}
        float32: integers are divided by the size of their range, so that samples are in [-1, 1);
        floats are as stored. int16: wider samples lose their lower bits, and floats are rounded
        and clipped.
    rate : int, optional
        The samples per second that every sound must have. None: any, which is not reported.

    Raises
    ------
    ExampleParseError
        During parsing, with the record and the feature: for bytes that are not a complete sound,
        for another rate or number of channels, and for more than 134 million samples.
    ModuleNotFoundError
        If a sound requires PyAV, and PyAV is not installed.

    Notes
    -----
    With `samples` and `channels` the column has shape (n, samples, channels); with `channels` alone
    it is a :class:`~fastrec.Ragged`, otherwise an :class:`~fastrec.Arrays`.

    Examples
    --------
    >>> import io, wave, fastrec
    >>> file = io.BytesIO()
    >>> with wave.open(file, "wb") as writer:
    ...     writer.setparams((1, 2, 16000, 0, "NONE", ""))
    ...     writer.writeframes(np.array([0, 16384, -32768], "<i2").tobytes())
    >>> record = fastrec.encode_example({"sound": file.getvalue()})
    >>> feature = fastrec.AudioFeature(samples=4, channels=1, rate=16000)
    >>> fastrec.parse_example([record], {"sound": feature})["sound"].tolist()
    [[[0.0], [0.5], [-1.0], [0.0]]]
    """

    samples: int | None = None
    channels: int | None = None
    dtype: DTypeLike = "float32"
    rate: int | None = None

    def __post_init__(self) -> None:
        check_fields(self, skip=("dtype",))
        check_count(self.rate, "rate", 2**31 - 1)
        check_count(self.channels, "channels", _MOST_CHANNELS)
        check_count(self.samples, "samples", MAX_SAMPLES // (self.channels or 1))
        dtype = as_dtype(self.dtype)
        if dtype not in (np.dtype(np.float32), np.dtype(np.int16)):
            raise ValueError(f"dtype must be float32 or int16, got {dtype}")
        object.__setattr__(self, "dtype", dtype)

    def _columns(self, key: bytes) -> ItemSpec:
        inner = None if self.channels is None else (self.channels,)
        build = MediaBuild(self._decode, self.samples, inner, as_dtype(self.dtype), key)
        return (column_of(key, bytes),), build

    def _decode(self, value: bytes) -> NDArray[Any]:
        """Return the samples of a sound, of shape (n, channels)."""
        stored, rate = _decode(value, self.samples)
        if self.rate not in (None, rate):
            raise ValueError(
                f"its rate must be {self.rate}, got {rate}: resample it before it is written"
            )
        sound = _scaled(stored, as_dtype(self.dtype))
        if self.channels in (None, sound.shape[1]):
            return sound
        if self.channels == 1:
            mixed = sound.mean(axis=1, keepdims=True)
            return np.asarray(np.rint(mixed) if self.dtype == np.int16 else mixed, sound.dtype)
        if sound.shape[1] == 1:
            return sound.repeat(self.channels, axis=1)
        raise ValueError(f"it must have {self.channels} channels, got {sound.shape[1]}")


def _decode(value: bytes, most: int | None) -> tuple[NDArray[Any], int]:
    """Return the first `most` samples of each channel, as stored, and the rate."""
    content = media_content(value)
    if content is None or content.name != "WAV":
        return decode_sound(value, most)
    wav = read_wav(value)
    if not wav.is_plain:
        return decode_sound(value, most)
    if len(wav.data) % wav.step:
        raise ValueError(f"its last frame must have {wav.step} bytes, got fewer")
    if len(wav.data) // wav.step * wav.channels > MAX_SAMPLES:
        raise ValueError(f"a sound must have at most {MAX_SAMPLES} samples")
    return wav.samples()[:most], wav.rate


def _scaled(sound: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Convert samples of any type that sounds have to float32 or int16."""
    kind, bits = sound.dtype.kind, 8 * sound.itemsize
    if kind not in "uif" or (kind != "f" and bits > 32):
        raise ValueError(f"its samples must be integers or floats, got {sound.dtype}")
    if kind == "u":  # 8 bits without a sign
        sound, kind = sound.astype(np.int16) - 128, "i"
    if dtype == np.int16:
        if kind == "f":
            if not np.isfinite(sound).all():
                raise ValueError("it has NaN or infinity, which int16 does not have")
            return np.clip(np.rint(sound * 32768.0), -32768, 32767).astype(dtype)
        return (sound << 16 - bits if bits < 16 else sound >> bits - 16).astype(dtype)
    with np.errstate(over="ignore"):
        found = sound.astype(dtype)
    return found if kind == "f" else found * dtype.type(0.5 ** (bits - 1))
