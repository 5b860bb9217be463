# SPDX-License-Identifier: Apache-2.0
"""Protobuf's wire format by hand, to write it in every way that it may and may not be written."""

from __future__ import annotations

import struct
from collections.abc import Iterable

VARINT, FIXED64, SIZED, GROUP, GROUP_END, FIXED32 = range(6)
BYTES, FLOAT, INT64 = 1, 2, 3  # the kinds of a Feature are the numbers of its fields


def varint(value: int, size: int = 1) -> bytes:
    """At least `size` bytes: longer than it need be is still a varint."""
    value %= 2**64
    out = bytearray()
    while value >= 0x80 or len(out) < size - 1:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def tag(field: int, wire: int) -> bytes:
    return varint(field << 3 | wire)


def sized(field: int, data: bytes) -> bytes:
    return tag(field, SIZED) + varint(len(data)) + data


def number(field: int, value: int) -> bytes:
    return tag(field, VARINT) + varint(value)


def fixed32(field: int, data: bytes = b"\1\2\3\4") -> bytes:
    return tag(field, FIXED32) + data


def fixed64(field: int, data: bytes = b"\1\2\3\4\5\6\7\x08") -> bytes:
    return tag(field, FIXED64) + data


def group(field: int, data: bytes = b"") -> bytes:
    return tag(field, GROUP) + data + tag(field, GROUP_END)


def packed_ints(values: Iterable[int]) -> bytes:
    return sized(1, b"".join(map(varint, values)))


def unpacked_ints(values: Iterable[int]) -> bytes:
    return b"".join(number(1, value) for value in values)


def packed_floats(values: Iterable[float]) -> bytes:
    return sized(1, b"".join(struct.pack("<f", value) for value in values))


def unpacked_floats(values: Iterable[float]) -> bytes:
    return b"".join(fixed32(1, struct.pack("<f", value)) for value in values)


def strings(values: Iterable[bytes]) -> bytes:
    return b"".join(sized(1, value) for value in values)


def ints_feature(*values: int) -> bytes:
    """A Feature that is an int64_list, as everyone writes it."""
    return sized(INT64, packed_ints(values))


def floats_feature(*values: float) -> bytes:
    return sized(FLOAT, packed_floats(values))


def bytes_feature(*values: bytes) -> bytes:
    return sized(BYTES, strings(values))


def entry(key: bytes, feature: bytes) -> bytes:
    """A field of Features: one key and its Feature."""
    return sized(1, sized(1, key) + sized(2, feature))


def example(*entries: bytes) -> bytes:
    return sized(1, b"".join(entries))


def example_of(key: str, feature: bytes) -> bytes:
    return example(entry(key.encode(), feature))


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def has_field_zero_in_a_group(data: bytes) -> bool:
    """Whether there is a field number 0 inside a group, at any depth of messages.

    Protobuf's runtimes disagree about those: C++ and pure Python refuse them, as they refuse the
    number everywhere else; upb looks at no numbers in a group that it skips.
    """
    at = depth = 0
    try:
        while at < len(data):
            key, at = _read_varint(data, at)
            if key >> 3 == 0:
                return depth > 0
            wire = key & 7
            if wire == VARINT:
                _, at = _read_varint(data, at)
            elif wire == SIZED:
                size, at = _read_varint(data, at)
                if depth == 0 and has_field_zero_in_a_group(data[at : at + size]):
                    return True
                at += size
            elif wire in (GROUP, GROUP_END):
                depth += 1 if wire == GROUP else -1
            else:
                at += 8 if wire == FIXED64 else 4
    except IndexError:
        pass  # cut off: no message at all
    return False
