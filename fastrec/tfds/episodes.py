# SPDX-License-Identifier: Apache-2.0
"""Locate the values of each step within the record of an episode.

A record is a ``tf.train.Example``, which maps names to lists of bytes, floats or integers. The
bytes of one step are one element of a list, and its floats are a contiguous run of elements, so a
single step can be read alone.
"""

from __future__ import annotations

__all__ = ["LayoutError", "layout"]

_VARINT, _BYTES = 0, 2
_LISTS = {0x0A: "bytes", 0x12: "float", 0x1A: "int64"}


class LayoutError(ValueError):
    """A record that may be a valid Example but does not have the layout that TFDS writes."""


def _varint(data: memoryview, at: int, end: int) -> tuple[int, int]:
    """Return a varint and the offset of its end."""
    value = shift = 0
    while at < end and shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise LayoutError(f"byte {at} is not the end of a number")


def _field(data: memoryview, at: int, end: int) -> tuple[int, int, int]:
    """Return the tag of a length-delimited field, and the start and end of its content."""
    tag, at = _varint(data, at, end)
    if tag & 7 != _BYTES:
        raise LayoutError(f"byte {at} is not in a field of bytes")
    size, at = _varint(data, at, end)
    if size > end - at:
        raise LayoutError(f"a field of {size} bytes at byte {at} is longer than what is around it")
    return tag, at, at + size


def layout(data: memoryview) -> dict[str, tuple[str, int, int]]:
    """Return the kind, start and end of each list of a record, by feature name.

    Raises
    ------
    LayoutError
        If a record contains a name or a list twice. Examples allow this, but TFDS never writes it.
    """
    found: dict[str, tuple[str, int, int]] = {}
    at, end = 0, len(data)
    while at < end:
        tag, begin, at = _field(data, at, end)
        if tag != 0x0A:
            raise LayoutError(f"field {tag >> 3} of an Example is not known")
        while begin < at:
            entry, inner, begin = _field(data, begin, at)
            if entry != 0x0A:
                raise LayoutError(f"field {entry >> 3} of Features is not known")
            name, extent = _entry(data, inner, begin)
            if name in found:
                raise LayoutError(f"feature {name!a} is there twice")
            found[name] = extent
    return found


def _entry(data: memoryview, at: int, end: int) -> tuple[str, tuple[str, int, int]]:
    name, extent = "", ("", at, at)
    while at < end:
        tag, begin, at = _field(data, at, end)
        if tag == 0x0A:
            name = bytes(data[begin:at]).decode("utf-8", "replace")
        elif tag == 0x12:
            extent = _list(data, begin, at)
    return name, extent


def _list(data: memoryview, at: int, end: int) -> tuple[str, int, int]:
    if at == end:
        return "", at, at
    tag, begin, stop = _field(data, at, end)
    if tag not in _LISTS or stop != end:
        raise LayoutError(f"byte {at} is not the one list of a feature")
    kind = _LISTS[tag]
    if kind == "bytes" or begin == stop:
        return kind, begin, stop
    packed, begin, inner = _field(data, begin, stop)
    if packed != 0x0A or inner != stop:
        raise LayoutError(f"byte {begin} is not in one packed list")
    return kind, begin, stop
