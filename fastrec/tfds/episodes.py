# SPDX-License-Identifier: Apache-2.0
"""Locations of the values of each step within the record of an episode.

A record is a ``tf.train.Example``: a map of names to lists of bytes, floats or integers. The bytes
of one step are one element of a list, its floats a run of them, so that a step can be read without
the others.
"""

from __future__ import annotations

__all__ = ["LayoutError", "layout"]

_VARINT, _BYTES = 0, 2
_LISTS = {0x0A: "bytes", 0x12: "float", 0x1A: "int64"}


class LayoutError(ValueError):
    """A record that is not laid out as TFDS writes it, though it may be a valid Example."""


def _varint(data: memoryview, at: int, end: int) -> tuple[int, int]:
    """A number, and where it ends."""
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
    """The tag of a field of bytes, and where these begin and end."""
    tag, at = _varint(data, at, end)
    if tag & 7 != _BYTES:
        raise LayoutError(f"byte {at} is not in a field of bytes")
    size, at = _varint(data, at, end)
    if size > end - at:
        raise LayoutError(f"a field of {size} bytes at byte {at} is longer than what is around it")
    return tag, at, at + size


def layout(data: memoryview) -> dict[str, tuple[str, int, int]]:
    """By name, the kind of list that a record has, and where its elements begin and end.

    Raises
    ------
    LayoutError
        When a record has a name or a list twice, which Examples may, but TFDS does not write.
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
