# SPDX-License-Identifier: Apache-2.0
"""Sound out of strings."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import float32, int32
from ..specs import TensorSpec, TypeSpec
from ..tensor import as_array
from . import Array, Op, invalid

_PCM, _EXTENSIBLE = 1, 0xFFFE


def _chunks(data: bytes) -> dict[bytes, bytes]:
    """The chunks of a RIFF file, up to the samples."""
    if len(data) < 12 or data[:4] != b"RIFF":
        raise invalid(f"Header mismatch: Expected RIFF but found {data[:4]!r}")
    if data[8:12] != b"WAVE":
        raise invalid(f"Header mismatch: Expected WAVE but found {data[8:12]!r}")
    found: dict[bytes, bytes] = {}
    at = 12
    while b"data" not in found:
        if len(data) - at < 8:
            raise invalid(f"Data too short when trying to read a chunk at offset {at}")
        name, size = data[at : at + 4], struct.unpack_from("<I", data, at + 4)[0]
        if size > len(data) - at - 8:
            raise invalid(f"Data too short when trying to read {size} bytes at offset {at + 8}")
        found[name] = data[at + 8 : at + 8 + size]
        at += 8 + size + size % 2
    return found


def _decode_wav(contents: Any, *, channels: int, samples: int) -> tuple[Array, Array]:
    text = as_array(contents)
    if text.ndim:
        raise invalid(f"contents must be scalar, got shape {list(text.shape)}")
    found = _chunks(bytes(text[()]))
    head = found.get(b"fmt ", b"")
    if len(head) < 16:
        raise invalid("No fmt chunk before the data of a WAV file")
    kind, stored, rate, _, step, bits = struct.unpack_from("<HHIIHH", head)
    if kind not in (_PCM, _EXTENSIBLE):
        raise invalid(f"Bad audio format for WAV: Expected 1 (PCM), but got {kind}")
    if bits != 16:
        raise invalid(f"Can only read 16-bit WAV files, but received {bits}")
    if not stored or step != 2 * stored:
        raise invalid(f"Bad bytes per sample in WAV header: Expected {2 * stored} but got {step}")
    data = found[b"data"]
    whole = np.frombuffer(data, "<i2", len(data) // step * stored).reshape(-1, stored)
    sound = (whole * np.float32(1 / 32768)).astype(np.float32)
    if channels > 0:
        sound = sound[:, np.minimum(np.arange(channels), stored - 1)]
    if samples > 0:
        sound = np.pad(sound[:samples], ((0, max(0, samples - len(sound))), (0, 0)))
    return np.ascontiguousarray(sound), np.array(rate, np.int32)


def _decode_wav_spec(specs: Sequence[Any], *_: Any, channels: int, samples: int) -> list[TypeSpec]:
    if specs[0].shape.ndims not in (0, None):
        raise ValueError(f"Shape must be rank 0 but is rank {specs[0].shape.ndims} for 'DecodeWav'")
    sizes = [None if n < 0 else n for n in (samples, channels)]
    return [TensorSpec(sizes, float32), TensorSpec([], int32)]


DECODE_WAV = Op("DecodeWav", _decode_wav, _decode_wav_spec)
