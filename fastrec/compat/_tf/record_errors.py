# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's errors for damaged record files."""

from __future__ import annotations

from fastrec.errors import CorruptRecordError, FastrecError, LimitExceededError

from .errors import OpError, translated

__all__ = ["data_error"]

_HEADER = 12


def data_error(error: Exception, *, at: int = 0, compressed: bool = False) -> OpError:
    """Return TensorFlow's error, with its message, for an error of :class:`fastrec.Reader`.

    Parameters
    ----------
    error : Exception
    at : int
        The file offset at which reading began.
    compressed : bool
        Whether the bytes came from a compressed stream.
    """
    if not isinstance(error, FastrecError):
        return translated(error)
    kind = getattr(error, "kind", "")
    place = at + (error.offset or 0)
    if isinstance(error, LimitExceededError):
        text = "record size too large"
    elif kind == "compression":
        text = f"inflate() failed with error -3: {error}"
    elif kind.startswith("torn"):
        why = "EOF reached" if compressed else "Read less bytes than requested"
        text = f"truncated record at {place}' failed with {why}"
    elif kind == "data-crc":
        text = f"corrupted record at {place + _HEADER}"
    elif isinstance(error, CorruptRecordError):
        text = f"corrupted record at {place}"
        text += "" if place else " (Is this even a TFRecord file?)"
    else:
        return translated(error)
    found = translated(error, text)
    found.offset = place  # type: ignore[attr-defined]
    return found
