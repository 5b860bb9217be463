# SPDX-License-Identifier: Apache-2.0
"""The format in plain Python: the specification that the native code is tested against.

Framing is written out in full. Messages are left to protobuf's own runtime, which is the judge of
what is an Example; only the way from messages to columns and back is written out here.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

import fastrec
from fastrec import train

# --- CRC-32C and framing ------------------------------------------------------------------------


def _table() -> list[int]:
    table = []
    for crc in range(256):
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return table


_TABLE = _table()


def crc32c(data: bytes, value: int = 0) -> int:
    crc = value ^ 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def masked_crc32c(data: bytes) -> int:
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def header(length: int) -> bytes:
    size = struct.pack("<Q", length)
    return size + struct.pack("<I", masked_crc32c(size))


def footer(record: bytes) -> bytes:
    return struct.pack("<I", masked_crc32c(record))


def frame(record: bytes) -> bytes:
    return header(len(record)) + record + footer(record)


def write_frames(records: Iterable[bytes]) -> bytes:
    return b"".join(map(frame, records))


class Damage(Exception):
    """Framing error: its kind, record and offset."""

    def __init__(self, kind: str, record: int, offset: int) -> None:
        super().__init__(f"{kind}: record {record} at {offset}")
        self.kind, self.record, self.offset = kind, record, offset


def read_frames(data: bytes) -> tuple[list[bytes], Damage | None]:
    """The records up to the first damage, and the damage if there is one."""
    records: list[bytes] = []
    at = 0

    def damage(kind: str) -> tuple[list[bytes], Damage]:
        return records, Damage(kind, len(records), at)

    while at < len(data):
        head, rest = data[at : at + 12], len(data) - at - 12
        if not any(head):
            return damage("zero-fill")
        if len(head) < 12:
            return damage("torn-header")
        length, crc = struct.unpack("<QI", head)
        if crc != masked_crc32c(head[:8]):
            return damage("length-crc")
        if length + 4 > rest:
            if length > 2**31 - 1:
                return damage("too-large")
            return damage("torn-data" if length > rest else "torn-footer")
        record = data[at + 12 : at + 12 + length]
        if data[at + 12 + length : at + 16 + length] != footer(record):
            return damage("data-crc")
        records.append(record)
        at += 16 + length
    return records, None


# --- Example -> columns -------------------------------------------------------------------------


def _envelope() -> Any:
    """Example with its values left closed: entries of `bytes key` and `repeated bytes value`."""
    file = descriptor_pb2.FileDescriptorProto(name="envelope.proto", syntax="proto3")
    fields = (
        ("Entry", "key", 1, 1, 12, ""),
        ("Entry", "value", 2, 3, 12, ""),
        ("Features", "entry", 1, 3, 11, ".Entry"),
        ("Envelope", "features", 1, 1, 11, ".Features"),
    )
    messages = {name: file.message_type.add(name=name) for name, *_ in fields[1:]}
    for message, name, number, label, kind, type_name in fields:
        field = messages[message].field.add(name=name, number=number, label=label, type=kind)
        if type_name:
            field.type_name = type_name
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    found = pool.FindMessageTypeByName("Envelope")
    return message_factory.GetMessageClass(found)


open_envelope = _envelope().FromString


def find_features(record: bytes, names: Iterable[str]) -> dict[str, train.Feature]:
    """The wanted features that are there and have a kind.

    The last entry of a key counts. A feature that is not requested is not parsed, so damage inside
    it does not matter; everything else is protobuf's verdict, a `DecodeError` if it is no Example.
    """
    entries = {entry.key: entry.value for entry in open_envelope(record).features.entry}
    found = {}
    for name in names:
        values = entries.get(name.encode())
        if values is not None:  # Several values in one entry are merged.
            feature = train.Feature()
            for value in values:
                feature.MergeFromString(value)
            if feature.WhichOneof("kind"):
                found[name] = feature
    return found


class Refused(ValueError):
    """A sound Example that is not what was asked for."""


def is_bytes(dtype: Any) -> bool:
    return dtype in (bytes, str) or np.dtype(dtype).kind in "SUO"


def convert(values: np.ndarray, dtype: Any) -> np.ndarray:
    """int64 and float32 as another dtype: integers exactly, floats to the nearest."""
    dtype = np.dtype(dtype)
    if values.dtype.kind == "f":
        with np.errstate(over="ignore"):
            return values.astype(dtype)
    low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    if any(not low <= int(value) <= high for value in values):
        raise Refused("out of range")
    return values.astype(dtype)


def floats(feature: train.Feature) -> np.ndarray:
    """The float_list bit for bit: Python's own floats would lose NaN payloads."""
    values = train.FloatList()
    values.CopyFrom(feature.float_list)
    values.DiscardUnknownFields()
    packed = values.SerializeToString()
    return np.frombuffer(packed[len(packed) - 4 * len(values.value) :], "<f4")


def elements(feature: train.Feature, dtype: Any) -> Any:
    """A list of bytes or a flat array of `dtype`."""
    wanted = "int64_list"
    if is_bytes(dtype):
        wanted = "bytes_list"
    elif np.dtype(dtype).kind == "f":
        wanted = "float_list"
    if feature.WhichOneof("kind") != wanted:
        raise Refused(f"{feature.WhichOneof('kind')} instead of {wanted}")
    if wanted == "bytes_list":
        return list(feature.bytes_list.value)
    if wanted == "float_list":
        return convert(floats(feature), dtype)
    return convert(np.array(feature.int64_list.value, np.int64), dtype)


def _raw(feature: train.Feature, wanted: Any) -> np.ndarray:
    values = elements(feature, bytes)
    dtype = np.dtype(wanted.dtype)
    order = "<" if wanted.little_endian else ">"
    if len(values) != 1:
        raise Refused(f"{len(values)} values instead of one")
    if len(values[0]) % dtype.itemsize:
        raise Refused("not a whole number of elements")
    array = np.frombuffer(values[0], dtype.newbyteorder(order)).astype(dtype)
    if wanted.shape is None:
        return array
    if array.size != np.prod(wanted.shape, dtype=object):
        raise Refused(f"{array.size} elements instead of {wanted.shape}")
    return array.reshape(wanted.shape)


def _fixed(values: Any, shape: tuple[int, ...]) -> Any:
    if len(values) != np.prod(shape, dtype=object):
        raise Refused(f"{len(values)} values instead of {shape}")
    if isinstance(values, np.ndarray):
        return values.reshape(shape)
    array = np.empty(len(values), object)
    array[:] = values
    return array.reshape(shape).tolist()


def parse(record: bytes, features: Mapping[str, Any]) -> dict[str, Any]:
    """One row: arrays for numbers; bytes, or nested lists of them, for bytes."""
    found = find_features(record, features)
    row: dict[str, Any] = {}
    for name, wanted in features.items():
        feature = found.get(name)
        if isinstance(wanted, fastrec.RaggedFeature):
            none: Any = [] if is_bytes(wanted.dtype) else np.empty(0, wanted.dtype)
            row[name] = none if feature is None else elements(feature, wanted.dtype)
        elif isinstance(wanted, fastrec.RawFeature):
            if feature is None and wanted.shape is not None:
                raise Refused(f"{name!r} is missing")
            row[name] = np.empty(0, wanted.dtype) if feature is None else _raw(feature, wanted)
        elif feature is not None:
            row[name] = _fixed(elements(feature, wanted.dtype), wanted.shape)
        elif wanted.default_value is None:
            raise Refused(f"{name!r} is missing")
        elif is_bytes(wanted.dtype):
            row[name] = wanted.default_value
        else:
            row[name] = np.broadcast_to(
                np.asarray(wanted.default_value, wanted.dtype), wanted.shape
            )
    return row


# --- values -> Example --------------------------------------------------------------------------


def _fill(feature: train.Feature, value: Any) -> None:
    if isinstance(value, np.ndarray) and value.dtype == np.uint8 and value.ndim:
        feature.bytes_list.value.append(value.tobytes())
        return
    if isinstance(value, (bytes, bytearray, memoryview, str)):
        value = [value]
    if value is None or (isinstance(value, Sequence) and len(value) == 0):
        return
    if isinstance(value, Sequence) and isinstance(value[0], (bytes, bytearray, memoryview, str)):
        items = (item.encode() if isinstance(item, str) else bytes(item) for item in value)
        feature.bytes_list.value.extend(items)
        return
    array = np.ravel(np.asarray(value))
    if array.dtype.kind in "SUO":
        items = (item.encode() if isinstance(item, str) else bytes(item) for item in array.tolist())
        feature.bytes_list.value.extend(items)
        feature.bytes_list.SetInParent()
    elif array.dtype.kind == "f":
        narrow = array.astype("<f4")
        if np.isinf(narrow).sum() > np.isinf(array).sum():
            raise Refused("a finite value beyond float32")
        feature.float_list.MergeFromString(b"".join(b"\x0d" + f.tobytes() for f in narrow))
        feature.float_list.SetInParent()
    else:
        feature.int64_list.value.extend(int(i) for i in array)
        feature.int64_list.SetInParent()


def to_example(mapping: Mapping[str, Any]) -> train.Example:
    example = train.Example()
    example.features.SetInParent()
    for name, value in mapping.items():
        _fill(example.features.feature[name], value)
    return example


def encode(mapping: Mapping[str, Any]) -> bytes:
    """The Example with its features by ascending bytes of their keys.

    That is what protobuf's deterministic serialization does in C++, and in pure Python. The upb
    runtime, which most Pythons have, sorts a key behind the keys that it begins; so the sorting is
    done here: a message is the concatenation of its parts.
    """
    feature = to_example(mapping).features.feature
    entries = [
        train.Features(feature={key: feature[key]}) for key in sorted(feature, key=str.encode)
    ]
    features = b"".join(entry.SerializeToString() for entry in entries)
    return _sized(features)


def _sized(features: bytes) -> bytes:
    size, varint = len(features), bytearray()
    while size >= 0x80:
        varint.append(size & 0x7F | 0x80)
        size >>= 7
    return b"\x0a" + bytes([*varint, size]) + features
