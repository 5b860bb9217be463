# SPDX-License-Identifier: Apache-2.0
"""Detect snappy data by decompressing its start, because the format lacks a signature."""

from __future__ import annotations

from .content import Content
from .headers import HEADER_SIZE, is_header, is_nearly_header

__all__ = ["hadoop_snappy", "snappy_records"]

_HADOOP_REMEDY = (
    "decompress it first: `python -m snappy -d -t hadoop_snappy FILE OUT` (package "
    "python-snappy), or let Spark write GZIP"
)


def snappy_records(head: bytes) -> Content | None:
    """Return the content of a record file in snappy without a signature."""
    if is_nearly_header(head):
        return None
    if (block := _hadoop_block(head)) is not None and is_header(block):
        return Content("Hadoop snappy", "data in Hadoop's snappy format", "", _HADOOP_REMEDY)
    # A stream is at most a sixth longer than its content, and begins with the content's size.
    if is_header(_unsnap(head, HEADER_SIZE, 1 << 40, len(head) * 6 // 7 - 32) or b""):
        remedy = "decompress it first with snappy.decompress (package python-snappy)"
        return Content("raw snappy", "a TFRecord file compressed with snappy", "", remedy)
    return None


def hadoop_snappy(head: bytes) -> Content | None:
    """Return the content of other data in Hadoop's snappy format, by the chain of its blocks."""
    if _hadoop_block(head) is None:
        return None
    return Content("Hadoop snappy", "data in Hadoop's snappy format", "", _HADOOP_REMEDY)


def _hadoop_block(head: bytes) -> bytes | None:
    """Decompress the start of the first block; None unless its sizes lead to another block."""
    whole, part = int.from_bytes(head[:4], "big"), int.from_bytes(head[4:8], "big")
    if not 0 < part <= 32 + whole + whole // 6 or not _chains(head, part):
        return None
    return _unsnap(head[8 : 8 + part], HEADER_SIZE, whole, (part - 32) * 6 // 7)


def _chains(head: bytes, part: int) -> bool:
    """Return True if another block begins after the first block of Hadoop's snappy format."""
    following = head[8 + part : 16 + part]
    if not following:
        return True
    whole, size = int.from_bytes(following[:4], "big"), int.from_bytes(following[4:], "big")
    return len(following) == 8 and 0 < size <= 32 + whole + whole // 6 and whole > 0


def _unsnap(data: bytes, count: int, most: int, least: int = 0) -> bytes | None:
    """Decompress the first `count` bytes of a raw snappy stream of `least` to `most` bytes.

    None if `data` is not one.
    """
    length = shift = at = 0
    while at < len(data) and at < 5:
        byte = data[at]
        length |= (byte & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if byte < 0x80:
            break
    else:
        return None
    if not max(least, 1) <= length <= most:
        return None
    out = bytearray()
    while len(out) < min(count, length):
        if at >= len(data):
            return None
        tag = data[at]
        at += 1
        if tag & 3 == 0:
            size = tag >> 2
            if size >= 60:
                extra = size - 59
                size = int.from_bytes(data[at : at + extra], "little")
                at += extra
            if size + 1 > length - len(out):
                return None
            out += data[at : at + min(size + 1, count)]
            if at + min(size + 1, count) > len(data):
                return None
            at += size + 1
            continue
        size = (tag >> 2 & 7) + 4 if tag & 3 == 1 else (tag >> 2) + 1
        if tag & 3 == 1:
            offset, at = (tag >> 5) << 8 | int.from_bytes(data[at : at + 1], "little"), at + 1
        else:
            width = 2 if tag & 3 == 2 else 4
            offset, at = int.from_bytes(data[at : at + width], "little"), at + width
        if not 0 < offset <= len(out):
            return None
        for _ in range(min(size, count)):
            out.append(out[-offset])
    return bytes(out[:count])
