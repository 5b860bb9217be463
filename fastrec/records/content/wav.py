# SPDX-License-Identifier: Apache-2.0
"""Read WAV files: the format and the samples of a RIFF or RF64 file in memory."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Wav", "read_wav"]

_INTEGERS, _FLOATS, _EXTENSIBLE = 1, 3, 0xFFFE
# The bytes that follow the number of a format in the GUID of WAVE_FORMAT_EXTENSIBLE.
_GUID = bytes.fromhex("000000001000800000aa00389b71")
_IN_DS64 = 0xFFFFFFFF  # a size that a chunk of RF64 has in 64 bits
_TYPES = {
    (_INTEGERS, 8): "u1", (_INTEGERS, 16): "<i2", (_INTEGERS, 24): "<i4", (_INTEGERS, 32): "<i4",
    (_FLOATS, 32): "<f4", (_FLOATS, 64): "<f8",
}  # fmt: skip


class Wav(NamedTuple):
    """The header of a WAV file, and the bytes of its samples.

    `codec` is 1 for integers and 3 for floats. `step` is the bytes of a frame, which has one sample
    of each channel; `speed` is the bytes of a second, which nothing depends on. Integers of 8 bits
    are unsigned.
    """

    codec: int
    channels: int
    rate: int
    speed: int
    step: int
    bits: int
    data: memoryview

    @property
    def is_plain(self) -> bool:
        """Whether the samples are not compressed."""
        return (self.codec, self.bits) in _TYPES

    def samples(self) -> NDArray[Any]:
        """Return the samples as they are stored, of shape (frames, channels).

        Integers of 24 bits become the upper bits of int32. An incomplete frame at the end is left
        out.
        """
        dtype = np.dtype(_TYPES[self.codec, self.bits])
        data = self.data[: len(self.data) // self.step * self.step]
        if self.bits != 24:
            return np.frombuffer(data, dtype).reshape(-1, self.channels)
        wide = np.zeros((len(data) // 3, 4), np.uint8)
        wide[:, 1:] = np.frombuffer(data, np.uint8).reshape(-1, 3)
        return wide.view(dtype).reshape(-1, self.channels)


def read_wav(value: bytes) -> Wav:
    """Return the header and the samples of a WAV file.

    Chunks after the samples are ignored.

    Raises
    ------
    ValueError
        For bytes that are not a complete WAV file.

    Examples
    --------
    >>> import io, wave
    >>> file = io.BytesIO()
    >>> with wave.open(file, "wb") as writer:
    ...     writer.setparams((1, 2, 8000, 0, "NONE", ""))
    ...     writer.writeframes(bytes([1, 0, 2, 0]))
    >>> sound = read_wav(file.getvalue())
    >>> sound.rate, sound.samples().tolist()
    (8000, [[1], [2]])
    """
    if value[:4] not in (b"RIFF", b"RF64") or value[8:12] != b"WAVE":
        raise ValueError("a WAV file must begin with RIFF or RF64, and with WAVE at byte 8")
    head, long, at = b"", b"", 12
    while True:
        if len(value) - at < 8:
            raise ValueError(f"a chunk must begin at byte {at}, got {len(value) - at} bytes there")
        name, size = struct.unpack_from("<4sI", value, at)
        at += 8
        if name == b"data" and size == _IN_DS64 and len(long) >= 16:
            (size,) = struct.unpack_from("<Q", long, 8)
        if size > len(value) - at:
            raise ValueError(
                f"the chunk {name.decode('latin-1')!a} must have {size} bytes, got "
                f"{len(value) - at}: the file is truncated, or was written to a pipe, which "
                "leaves its sizes open"
            )
        if name == b"data":
            return _checked(head, memoryview(value)[at : at + size])
        if name == b"fmt ":
            head = value[at : at + min(size, 40)]
        elif name == b"ds64" and value[:4] == b"RF64":
            long = value[at : at + min(size, 16)]
        at += size + size % 2


def _checked(head: bytes, data: memoryview) -> Wav:
    if len(head) < 16:
        raise ValueError("a WAV file must have a chunk 'fmt ' of 16 bytes before its samples")
    codec, channels, rate, speed, step, bits = struct.unpack_from("<HHIIHH", head)
    if codec == _EXTENSIBLE and head[26:40] == _GUID:
        (codec,) = struct.unpack_from("<H", head, 24)
    wav = Wav(codec, channels, rate, speed, step, bits, data)
    if not channels or not step:
        raise ValueError(f"a WAV file must have channels, got {channels} of {step} bytes in all")
    if wav.is_plain and step != channels * bits // 8:
        text = f"{channels} channels of {bits} bits take {channels * bits // 8} bytes, got {step}"
        raise ValueError(text)
    return wav
