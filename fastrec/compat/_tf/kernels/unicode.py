# SPDX-License-Identifier: Apache-2.0
"""Convert between strings and code points, with TensorFlow's error handling."""

from __future__ import annotations

import codecs
import threading
from typing import Any, NamedTuple

import numpy as np

from ..errors import InvalidArgumentError

__all__ = ["MALFORMED", "Errors", "characters", "decoded", "encoded"]

Array = np.ndarray[Any, np.dtype[Any]]

MALFORMED = "Invalid formatting on input string"
_MARK = "\udfff"  # valid text never decodes to this character
_LARGEST = 0x10FFFF
#: Names of ICU that Python lacks or interprets differently.
_NAMES = {"utf-16": "utf-16-be", "utf-32": "utf-32-be", "utf16": "utf-16-be", "utf32": "utf-32-be"}
_MARKED = {
    b"\xff\xfe\0\0": "utf-32-le",
    b"\0\0\xfe\xff": "utf-32-be",
    b"\xff\xfe": "utf-16-le",
    b"\xfe\xff": "utf-16-be",
}


class Errors(NamedTuple):
    """How invalid input is handled."""

    policy: str  # "strict", "replace" or "ignore"
    replacement: int
    control: bool  # whether control characters below the space are also invalid


class _Noted(threading.local):
    def __init__(self) -> None:
        self.lengths: list[int] = []


_noted = _Noted()


def _note(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    _noted.lengths.append(error.end - error.start)
    return _MARK, error.end


codecs.register_error("fastrec.note", _note)


def _codec(name: str, data: bytes) -> tuple[str, int]:
    """Return Python's name of an encoding, and the size of the byte order mark in `data`."""
    wanted = name.lower().replace("_", "-")
    if wanted in _NAMES:
        for mark, marked in _MARKED.items():
            if marked[:6] == _NAMES[wanted][:6] and data.startswith(mark):
                return marked, len(mark)
        return _NAMES[wanted], 0
    try:
        found = codecs.lookup(wanted)
        b"a".decode(found.name, "replace")  # fails for codecs that do not encode text
    except (LookupError, UnicodeError, ValueError):
        why = f"Could not create converter for input encoding: {name}"
        raise InvalidArgumentError(None, None, why) from None
    return found.name, 0


def _lengths(points: Array, codec: str) -> Array:
    """Return the number of bytes of each character."""
    if codec == "utf-8":
        return (1 + (points > 0x7F) + (points > 0x7FF) + (points > 0xFFFF)).astype(np.int32)
    if codec.startswith("utf-16"):
        return (2 + 2 * (points > 0xFFFF)).astype(np.int32)
    if codec.startswith("utf-32"):
        return np.full(len(points), 4, np.int32)
    sizes = [len(chr(point).encode(codec, "replace")) for point in points.tolist()]
    return np.array(sizes, np.int32)


def decoded(
    data: bytes, encoding: str, errors: Errors, wants_offsets: bool = False
) -> tuple[Array, Array | None]:
    """Decode a string to code points and their start offsets.

    Raises
    ------
    InvalidArgumentError
        If the encoding is unknown, or if the bytes are invalid and the policy is ``"strict"``.
    """
    codec, skipped = _codec(encoding, data)
    _noted.lengths.clear()
    text = data[skipped:].decode(codec, "fastrec.note")
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.int32)
    wrong = points == ord(_MARK)
    if errors.policy == "strict" and _noted.lengths:
        raise InvalidArgumentError(None, None, MALFORMED)
    offsets = None
    if wants_offsets:
        lengths = _lengths(np.where(wrong, 0, points).astype(np.int32), codec)
        lengths[wrong] = _noted.lengths
        offsets = (np.cumsum(lengths, dtype=np.int64) - lengths + skipped).astype(np.int64)
    if errors.control:
        wrong = wrong | (points <= 0x1F)
    if not wrong.any():
        return points.copy(), offsets
    if errors.policy != "ignore":
        return np.where(wrong, np.int32(errors.replacement), points), offsets
    return points[~wrong], None if offsets is None else offsets[~wrong]


def _text(points: Array, errors: Errors) -> str:
    wrong = (points < 0) | (points > _LARGEST) | ((points >= 0xD800) & (points <= 0xDFFF))
    if wrong.any():
        if errors.policy == "strict":
            text = "Code point is out of range for Unicode, or is a surrogate."
            raise InvalidArgumentError(None, None, text)
        ignored = errors.policy == "ignore"
        points = points[~wrong] if ignored else np.where(wrong, errors.replacement, points)
    return points.astype("<u4").tobytes().decode("utf-32-le", "replace")


def encoded(points: Array, encoding: str, errors: Errors) -> bytes:
    """Encode code points as a string.

    Raises
    ------
    InvalidArgumentError
        If a code point is a surrogate or out of range and the policy is ``"strict"``.
    """
    return _text(points, errors).encode(encoding.lower(), "replace")


def characters(
    data: bytes, encoding: str, errors: Errors, wants_offsets: bool = False
) -> tuple[list[bytes], Array | None]:
    """Split a string into characters, each as a string, and return their start offsets.

    Raises
    ------
    InvalidArgumentError
        If `decoded` raises it.
    """
    points, offsets = decoded(data, encoding, errors, wants_offsets)
    text, codec = _text(points, Errors("replace", errors.replacement, False)), encoding.lower()
    # Long texts have few distinct characters.
    known = {each: each.encode(codec, "replace") for each in set(text)}
    return [known[each] for each in text], offsets
