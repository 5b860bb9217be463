# SPDX-License-Identifier: Apache-2.0
"""Detection of the protobuf message in a record."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import islice

from .content import Content

__all__ = [
    "SIZED",
    "VARINT",
    "message_content",
    "message_fields",
    "message_kind",
    "read_varint",
    "wire_fields",
]

VARINT, FIXED64, SIZED, FIXED32 = 0, 1, 2, 5
_MOST_FIELDS = 256  # fields of a message that are examined
_LIST_FIELDS = {1: "bytes_list", 2: "float_list", 3: "int64_list"}

Field = tuple[int, int, "int | memoryview"]


def wire_fields(data: bytes | memoryview, most: int = _MOST_FIELDS) -> list[Field] | None:
    """Return the first fields of a message as (number, wire type, value); None if malformed.

    A message with more than `most` fields is read only so far.
    """
    try:
        return list(islice(message_fields(data), most))
    except ValueError:
        return None


def message_fields(data: bytes | memoryview) -> Iterator[Field]:
    """Yield the fields of a message as (number, wire type, value).

    Raises
    ------
    ValueError
        If the message is malformed, or has a group.
    """
    view, at = memoryview(data), 0
    while at < len(view):
        tag, at = read_varint(view, at)
        number, wire = tag >> 3, tag & 7
        if not 0 < number < 1 << 29:
            raise ValueError("the message has a field with an impossible number")
        if wire == VARINT:
            value, at = read_varint(view, at)
            yield number, wire, value
            continue
        if wire == SIZED:
            size, at = read_varint(view, at)
        elif wire in (FIXED64, FIXED32):
            size = 8 if wire == FIXED64 else 4
        else:
            raise ValueError("the message has a group or a malformed field")
        if size > len(view) - at:
            raise ValueError("the message is cut off in a field")
        yield number, wire, view[at : at + size]
        at += size


def read_varint(view: memoryview, at: int) -> tuple[int, int]:
    """Return the number of up to 64 bits that begins at `at`, and the offset of its end.

    Raises
    ------
    ValueError
    """
    if at < len(view) and view[at] < 0x80:
        return view[at], at + 1
    value = 0
    for i, byte in enumerate(view[at : at + 10]):
        value |= (byte & 0x7F) << 7 * i
        if byte < 0x80:
            return value & (1 << 64) - 1, at + i + 1
    raise ValueError("the message has a malformed number")


def _maps(fields: list[Field], number: int, of_lists: bool) -> bool:
    """Return True if all maps in field `number` have keys, and Features or FeatureLists."""
    for field, wire, data in fields:
        if field != number:
            continue
        entries = wire_fields(data) if wire == SIZED and not isinstance(data, int) else None
        if entries is None:
            return False
        for key, entry_wire, entry in entries:
            if key != 1 or entry_wire != SIZED or isinstance(entry, int):
                return False
            if not _is_entry(entry, of_lists):
                return False
    return True


def _is_entry(entry: memoryview, of_lists: bool) -> bool:
    parts = wire_fields(entry, most=4)
    if not parts or any(number not in (1, 2) or wire != SIZED for number, wire, _ in parts):
        return False
    for number, _, value in parts:
        if number != 2 or isinstance(value, int):
            continue
        features = wire_fields(value, most=8)
        if features is None:
            return False
        for kind, wire, _ in features:
            if wire != SIZED or kind not in ((1,) if of_lists else _LIST_FIELDS):
                return False
    return True


def message_kind(record: bytes) -> str | None:
    """Return ``"Example"``, ``"SequenceExample"``, ``"Event"``, ``"protobuf"`` or None.

    An empty record is an Example without features.
    """
    fields = wire_fields(record)
    if fields is None:
        return None
    numbers = {number for number, _, _ in fields}
    if numbers <= {1} and _maps(fields, 1, of_lists=False):
        return "Example"
    if numbers <= {1, 2} and _maps(fields, 1, False) and _maps(fields, 2, True):
        return "SequenceExample"
    number, wire, value = fields[0]
    if (number, wire) == (1, FIXED64) and not isinstance(value, int) and len(fields) > 1:
        (seconds,) = struct.unpack("<d", value)
        if 0 <= seconds < 1e11:
            return "Event"
    return "protobuf"


def message_content(record: bytes) -> Content:
    """Return which message a record is, or what it is if it is not a message.

    Examples
    --------
    >>> import fastrec
    >>> message_content(fastrec.encode_example({"a": 1})).name
    'Example'
    >>> str(message_content(b"hello, world"))
    'text; read it with fastrec.Reader'
    """
    kind = message_kind(record)
    if kind in ("Example", "SequenceExample"):
        article = "an" if kind == "Example" else "a"
        remedy = "" if kind == "Example" else "describe it with fastrec.SequenceFeatures"
        return Content(kind, f"{article} {kind}", "", remedy)
    if kind == "Event":
        remedy = "read it with fastrec.events"
        return Content(kind, "an Event of TensorBoard", "", remedy)
    from .headers import is_header
    from .values import value_content

    if is_header(record):
        remedy = "the file holds a record file in each record; read that with fastrec.Reader"
        return Content("TFRecord", "a record with its TFRecord frame", "", remedy)
    found = value_content(record)
    if found.name not in ("bytes", "raw pixels"):
        remedy = "read it with fastrec.Reader"
        return Content(found.name, found.phrase, found.detail, remedy)
    if kind == "protobuf":
        fields = wire_fields(record) or []
        numbers = sorted({number for number, _, _ in fields})
        shown = ", ".join(map(str, numbers[:8])) + (", ..." if len(numbers) > 8 else "")
        remedy = "read it with fastrec.Reader and parse it with its own message class"
        return Content("protobuf", "another protobuf message", f"fields {shown}", remedy)
    return Content(
        "bytes", "data that is not a protobuf message", "", "read it with fastrec.Reader"
    )
