# SPDX-License-Identifier: Apache-2.0
"""Decode the transposed chunks of Riegeli files.

Such a chunk was made from messages of Protocol Buffers, field by field: each field has a buffer
with its values of all records, and a program states the order of the fields. The program is a
graph of nodes, one for each field at each place. Each step of it takes the next value from the
buffer of a node. It runs backwards, from the last byte of the last record to the first byte of the
first one, because the length of a message is known only when the message is complete. Records that
cannot be parsed as messages are stored in separate buffers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..errors import CorruptRecordError
from .riegeli_chunks import expand, number, put_number

__all__ = ["transposed_records"]

# The meanings of the tags of nodes below the least tag of a field.
_NOTHING, _NO_MESSAGE, _MESSAGE_BEGINS, _RECORD_BEGINS = range(4)
_LEAST_TAG = 8
# The actions of nodes, in addition to the four above.
_COPY, _VARINT, _FIXED, _TEXT, _MESSAGE_ENDS = range(4, 9)
# The lowest three bits of a tag.
_WIRE_VARINT, _WIRE_64, _WIRE_TEXT, _WIRE_BEGIN, _WIRE_END, _WIRE_32, _WIRE_MESSAGE_ENDS = range(7)
_DIGITS = 10  # subtypes of a varint that state its size less one; later ones state a small value
_SMALL_VALUES = 0x80
_MOST_HEADER = 1 << 22  # bytes of a program, which bounds memory
_MOST_NUMBER = (1 << 32) - 1
_MOST_DIGITS = 10  # bytes of a varint
_IDLE = 16  # steps without a value, for each byte of the transitions


class _Node(NamedTuple):
    action: int
    tag: bytes  # with the value, if the node states it
    size: int  # bytes of a value
    buffer: int  # number of the buffer that values are taken from
    following: int
    is_implicit: bool  # whether the next node is reached without a transition


class _Input:
    """Numbers and bytes of the header of a chunk, one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def number(self, what: str, most: int = _MOST_NUMBER) -> int:
        value, self.at = number(self.data, self.at, what)
        if value > most:
            raise CorruptRecordError(f"{what} must be at most {most}, got {value}")
        return value

    def take(self, size: int, what: str) -> bytes:
        part = self.data[self.at : self.at + size]
        self.at += size
        if len(part) != size:
            raise CorruptRecordError(f"{what} has {size} bytes, and {len(part)} follow")
        return part


def transposed_records(data: bytes, count: int, size: int) -> list[bytes]:
    """Return the records of a transposed chunk, `count` of them with `size` bytes in all.

    Raises
    ------
    CorruptRecordError, LimitExceededError
    ModuleNotFoundError
        If the package for the compression is not installed.
    """
    if not data:
        raise CorruptRecordError("it is empty")
    chunk = _Input(data)
    kind = chunk.take(1, "the compression")[0]
    packed = chunk.take(chunk.number("the size of the header", len(data)), "the header")
    header = _Input(bytes(expand(kind, packed, _MOST_HEADER)))
    # Buffers hold the content of records, and the sizes of records that are not messages.
    buffers = _buffers(header, chunk, kind, size + count * _MOST_DIGITS)
    nodes = _nodes(header, len(buffers))
    first = header.number("the first node", len(nodes) - 1)
    if header.at != len(header.data):
        raise CorruptRecordError("bytes follow its header")
    # Most steps make a byte of a record, and few do nothing.
    transitions = bytes(expand(kind, data[chunk.at :], 8 * (size + count) + 8))
    return _Program(nodes, buffers, transitions, count, size).run(first)


def _buffers(header: _Input, chunk: _Input, kind: int, most: int) -> list[bytes]:
    """Return all buffers, which are compressed together in buckets."""
    bucket_count = header.number("the number of buckets", len(header.data))
    count = header.number("the number of buffers", len(header.data))
    buckets = []
    for _ in range(bucket_count):
        packed = chunk.take(header.number("the size of a bucket", len(chunk.data)), "a bucket")
        buckets.append(bytes(expand(kind, packed, most)))
        most -= len(buckets[-1])
    buffers: list[bytes] = []
    bucket = at = 0
    for _ in range(count):
        size = header.number("the size of a buffer")
        if bucket == len(buckets) or size > len(buckets[bucket]) - at:
            raise CorruptRecordError(f"a buffer of {size} bytes does not fit its bucket")
        buffers.append(buckets[bucket][at : at + size])
        at += size
        while bucket + 1 < len(buckets) and at == len(buckets[bucket]):
            bucket, at = bucket + 1, 0
    if buckets and (bucket + 1 != len(buckets) or at != len(buckets[bucket])):
        raise CorruptRecordError("its buckets have more bytes than its buffers")
    return buffers


def _nodes(header: _Input, buffer_count: int) -> list[_Node]:
    count = header.number("the number of nodes", len(header.data) - header.at)
    tags = [header.number("a tag") for _ in range(count)]
    following = [header.number("a next node", 2 * count - 1) for _ in range(count)]
    varints = sum(tag >= _LEAST_TAG and tag & 7 == _WIRE_VARINT for tag in tags)
    subtypes = iter(header.take(varints, "the subtypes"))
    nodes = []
    for tag, after in zip(tags, following, strict=True):
        action, text, size = _action(tag, subtypes)
        buffer = 0
        if action in (_NO_MESSAGE, _VARINT, _FIXED, _TEXT):
            buffer = header.number("the number of a buffer", buffer_count - 1)
        nodes.append(_Node(action, text, size, buffer, after % count, after >= count))
    _check_loops(nodes)
    return nodes


def _action(tag: int, subtypes: Iterator[int]) -> tuple[int, bytes, int]:
    """Return what a node with this tag does, the bytes that it makes, and the size of a value."""
    if tag < _LEAST_TAG:
        if tag > _RECORD_BEGINS:
            raise CorruptRecordError(f"a field has the tag {tag}")
        return tag, b"", 0
    text, wire = put_number(tag), tag & 7
    if wire == _WIRE_VARINT:
        subtype = next(subtypes)
        if subtype < _DIGITS:
            return _VARINT, text, subtype + 1
        if subtype >= _DIGITS + _SMALL_VALUES:
            raise CorruptRecordError(f"a varint has the subtype {subtype}")
        return _COPY, text + bytes([subtype - _DIGITS]), 0
    if wire in (_WIRE_32, _WIRE_64):
        return _FIXED, text, 4 if wire == _WIRE_32 else 8
    if wire in (_WIRE_BEGIN, _WIRE_END):
        return _COPY, text, 0
    if wire == _WIRE_TEXT:
        return _TEXT, text, 0
    if wire == _WIRE_MESSAGE_ENDS:
        return _MESSAGE_ENDS, put_number(tag - _WIRE_MESSAGE_ENDS + _WIRE_TEXT), 0
    raise CorruptRecordError(f"a field has the tag {tag}")


def _check_loops(nodes: list[_Node]) -> None:
    """Raise if the program could run forever, because implicit nodes form a loop."""
    seen = [0] * len(nodes)
    for start in range(len(nodes)):
        at = start
        while not seen[at]:
            seen[at] = start + 1
            if not nodes[at].is_implicit:
                break
            at = nodes[at].following
            if seen[at] == start + 1:
                raise CorruptRecordError("its nodes form a loop")


class _Program:
    """The program of a chunk with its buffers, which is run once."""

    def __init__(
        self, nodes: list[_Node], buffers: list[bytes], transitions: bytes, count: int, size: int
    ) -> None:
        self._nodes, self._buffers, self._transitions = nodes, buffers, transitions
        self._count, self._size = count, size
        self._places = [0] * len(buffers)  # what was taken from each buffer
        self._records: list[bytes] = []
        self._pieces: list[bytes] = []  # of the current record, the last one first
        self._made = 0  # bytes of all records
        self._open: list[tuple[int, bytes]] = []  # messages: the bytes after them, and their tags
        self._idle = 0

    def run(self, first: int) -> list[bytes]:
        """Run the program from a node on, and return the records."""
        nodes = self._nodes
        at = first
        node = nodes[at]
        steps = 1 if node.is_implicit else 0  # until the next transition
        self._act(node)
        for byte in self._transitions:
            while steps:
                node = nodes[node.following]
                if not node.is_implicit:
                    steps -= 1
                self._act(node)
            at = node.following + (byte >> 2)
            if at >= len(nodes):
                raise CorruptRecordError(f"node {at} of {len(nodes)} is next")
            node = nodes[at]
            steps = (byte & 3) + (1 if node.is_implicit else 0)
            self._act(node)
        while steps:
            node = nodes[node.following]
            if not node.is_implicit:
                steps -= 1
            self._act(node)
        if self._open or self._pieces or len(self._records) != self._count:
            raise CorruptRecordError(f"{len(self._records)} of {self._count} records are in it")
        if self._made != self._size:
            raise CorruptRecordError(f"{self._made} of {self._size} bytes are in it")
        self._records.reverse()
        return self._records

    def _act(self, node: _Node) -> None:
        action = node.action
        if action == _COPY:
            self._put(node.tag)
        elif action == _TEXT:
            data, at = self._buffers[node.buffer], self._places[node.buffer]
            length, begin = number(data, at, "the length of a text")
            self._put(node.tag + self._take(node.buffer, begin - at + length))
        elif action == _VARINT:
            value = self._take(node.buffer, node.size)
            value = bytes([byte | 0x80 for byte in value[:-1]]) + value[-1:]
            self._put(node.tag + value)
        elif action == _FIXED:
            self._put(node.tag + self._take(node.buffer, node.size))
        elif action == _MESSAGE_ENDS:
            self._open.append((self._made, node.tag))
            # Each makes at least a tag and a length.
            if 2 * len(self._open) > self._size - self._made:
                raise CorruptRecordError("its messages have more bytes than it states")
        elif action == _MESSAGE_BEGINS:
            if not self._open:
                raise CorruptRecordError("a message begins that does not end")
            end, tag = self._open.pop()
            self._put(tag + put_number(self._made - end))
        elif action == _NOTHING:
            self._idle += 1
            if self._idle > _IDLE * (len(self._transitions) + 1):
                raise CorruptRecordError("its program does nothing for too long")
        else:
            if action == _NO_MESSAGE:
                last = len(self._buffers) - 1
                data, at = self._buffers[last], self._places[last]
                length, self._places[last] = number(data, at, "the length of a record")
                self._put(self._take(node.buffer, length))
            self._end_record()

    def _end_record(self) -> None:
        if self._open:
            raise CorruptRecordError("a record begins inside of a message")
        if len(self._records) == self._count:
            raise CorruptRecordError(f"it has more than {self._count} records")
        self._pieces.reverse()
        self._records.append(b"".join(self._pieces))
        self._pieces.clear()

    def _take(self, buffer: int, size: int) -> bytes:
        at = self._places[buffer]
        value = self._buffers[buffer][at : at + size]
        if len(value) != size:
            raise CorruptRecordError(f"a buffer ends within a value of {size} bytes")
        self._places[buffer] = at + size
        return value

    def _put(self, piece: bytes) -> None:
        self._made += len(piece)
        if self._made > self._size:
            raise CorruptRecordError(f"its records have more than {self._size} bytes")
        self._pieces.append(piece)
