# SPDX-License-Identifier: Apache-2.0
"""Functions of ``tf.audio``."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from ..dtypes import string
from ..ops.audio import DECODE_WAV
from . import Faces

__all__ = ["Audio"]

DecodeWav = namedtuple("DecodeWav", ["audio", "sample_rate"])


class Audio(Faces):
    """The functions, for one of the versions."""

    def decode_wav(
        self,
        contents: Any,
        desired_channels: int = -1,
        desired_samples: int = -1,
        name: str | None = None,
    ) -> DecodeWav:
        """The samples of a WAV file of 16 bits, from -1 to 1, and how many there are a second."""
        how = {"channels": int(desired_channels), "samples": int(desired_samples)}
        inputs = [self._tensor(contents, string)]
        return DecodeWav(*self._version.apply_all(DECODE_WAV, inputs, name, **how))
