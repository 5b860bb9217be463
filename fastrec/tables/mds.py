# SPDX-License-Identifier: Apache-2.0
"""MDS, the format of MosaicML Streaming: the columns of its samples, and the list of its shards."""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .sample_shards import (
    SHARD_BYTES,
    Layout,
    Shard,
    ShardWriter,
    columns_of_samples,
    damaged,
    entry,
    load_index,
    sample_blocks,
    shard_path,
    write_index,
)
from .sample_values import (
    ArrayColumn,
    Decoder,
    Field,
    Misfit,
    as_bytes,
    as_texts,
    byte_lists,
    numbers,
    pixels,
    stored_rows,
)

__all__ = ["MdsFolder", "MdsWriter"]

_INTEGERS = ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64")
_FLOATS = ("float16", "float32", "float64")
_CODES = {
    8: "uint8", 9: "int8", 16: "uint16", 17: "int16", 18: "float16", 32: "uint32", 33: "int32",
    34: "float32", 64: "uint64", 65: "int64", 66: "float64",
}  # fmt: skip
_SCALARS = {"int": "int64"} | {name: name for name in (*_INTEGERS, *_FLOATS)}
_PLAIN: dict[str, Decoder] = {
    "bytes": as_bytes, "jpeg": as_bytes, "png": as_bytes, "pil": pixels,
    "str": as_texts, "json": as_texts,
    "str_int": as_texts, "str_float": as_texts, "str_decimal": as_texts,
    "list[jpeg]": byte_lists(4), "list[png]": byte_lists(4),
    "jpeg_array": byte_lists(0), "jpegarray": byte_lists(0),
}  # fmt: skip
_COMPRESSIONS = {"zstd": "ZSTD", "gz": "GZIP"}
_ALGORITHM = "sha256"
_MEDIA = {"txt": "str", "jpg": "jpeg", "png": "png", "bin": "bytes"}
_MOST_AXES = 63


class MdsFolder:
    """The samples of a directory in MDS.

    Attributes
    ----------
    shards : list of Shard
    """

    def __init__(self, folder: str) -> None:
        index, _, entries = load_index(folder, "shards")
        self.shards: list[Shard] = []
        first: list[Any] = []
        for number, fields in enumerate(entries):
            place = f"shard {number}"
            if fields.get("version") != 2 or fields.get("format") != "mds":
                got = f"{fields.get('format')!a:.20} of version {fields.get('version')!a:.20}"
                raise damaged(index, f"{place}: must be mds of version 2, got {got}")
            self.shards.append(_shard(index, place, fields))
            columns = [entry(index, place, fields, f"column_{each}", list) for each in _COLUMNS]
            if not first:
                self._layout = _layout(index, place, *columns)
                first = columns
            elif columns != first:
                raise damaged(index, f"{place}: has other columns than the shards before it")

    def write(self, sink: Any, shard: Shard) -> Any:
        """Write the samples of a shard to a writer; yield after each block."""
        for first, offsets, samples in sample_blocks(shard, ends=True):
            sink.write_batch(columns_of_samples(shard, self._layout, samples, first, offsets))
            yield


_COLUMNS = ("names", "encodings", "sizes")


def _shard(index: str, place: str, fields: Mapping[str, Any]) -> Shard:
    raw = entry(index, place, fields, "raw_data", dict)
    count, size = (
        entry(index, place, fields, "samples", int),
        entry(index, place, raw, "bytes", int),
    )
    compression = fields.get("compression")
    path = shard_path(index, place, entry(index, place, raw, "basename", str))
    if compression is None or os.path.exists(path):
        return Shard(path, count, size, size, None, _hashes(index, place, raw))
    kind = _COMPRESSIONS.get(str(compression).partition(":")[0])
    if kind is None:
        raise ValueError(
            f"{index!a}: {place} is compressed as {compression!a:.20}; only zstd and gz can be "
            "read: write it again with one of these, or decompress the shards"
        )
    zipped = entry(index, place, fields, "zip_data", dict)
    path = shard_path(index, place, entry(index, place, zipped, "basename", str))
    stored = entry(index, place, zipped, "bytes", int)
    return Shard(path, count, size, stored, kind, _hashes(index, place, zipped))


def _hashes(index: str, place: str, fields: Mapping[str, Any]) -> dict[str, str]:
    hashes = fields.get("hashes") or {}
    if not isinstance(hashes, dict) or not all(isinstance(each, str) for each in hashes.values()):
        raise damaged(index, f"{place}: 'hashes' must be an object of texts")
    return hashes


def _layout(
    index: str, place: str, names: list[Any], encodings: list[Any], sizes: list[Any]
) -> Layout:
    """Return the columns that an index lists."""
    texts = all(isinstance(each, str) for each in (*names, *encodings))
    if (
        not texts
        or len(set(names)) != len(names)
        or len({len(names), len(encodings), len(sizes)}) > 1
    ):
        raise damaged(index, f"{place}: must name each column once, with encoding and size")
    found = []
    for name, encoding, stated in zip(names, encodings, sizes, strict=True):
        try:
            size, decode = _decoder(encoding)
        except ValueError as error:
            raise ValueError(f"{index!a}: the column {name!a:.80} {error}") from None
        if stated != size:
            text = f"has the size {size}, not {stated!a:.20}"
            raise damaged(index, f"{place}: the column {name!a:.80} of {encoding!a:.40} {text}")
        found.append((size, decode))
    return Layout(names, [size for size, _ in found], [decode for _, decode in found])


def _decoder(encoding: str) -> tuple[int | None, Decoder]:
    """Return the size of values of an encoding, if it is fixed, and their decoder."""
    if encoding in _SCALARS:
        dtype = np.dtype(_SCALARS[encoding])
        return dtype.itemsize, numbers(dtype)
    if encoding in _PLAIN:
        return None, _PLAIN[encoding]
    if encoding == "pkl":
        raise ValueError(
            "is pickle, which runs code when it is read; write the set again with json, ndarray or "
            "bytes"
        )
    name, *rest = encoding.split(":")
    if name != "ndarray" or len(rest) > 2 or (rest and rest[0] not in _CODES.values()):
        known = ", ".join((*_SCALARS, *_PLAIN, "ndarray"))
        raise ValueError(f"has the encoding {encoding!a:.40}; these can be read: {known}")
    if len(rest) < 2:
        return None, ArrayColumn(_head(np.dtype(rest[0]) if rest else None))
    dtype, shape = np.dtype(rest[0]), _shape(rest[1])
    size = math.prod(shape) * dtype.itemsize
    if size >= 1 << 31:
        raise ValueError(f"has arrays of {size} bytes, more than a record may have")

    def decode(values: list[bytes]) -> Any:
        for row, value in enumerate(values):
            if len(value) != size:
                raise Misfit(row, f"must have {size} bytes, got {len(value)}")
        rows = np.frombuffer(b"".join(values), dtype.newbyteorder("<"))
        return stored_rows(rows.reshape(len(values), *shape))

    return size, decode


def _shape(text: str) -> tuple[int, ...]:
    sizes = text.split(",")
    if not all(each.isdecimal() and each.isascii() and 0 < len(each) < 11 for each in sizes):
        raise ValueError(f"has an array of the shape {text!a:.40}")
    shape = tuple(map(int, sizes))
    if not all(shape) or len(shape) > _MOST_AXES:
        raise ValueError(f"has an array of the shape {text!a:.40}")
    return shape


def _head(dtype: Any) -> Any:
    """Return the function that reads the type, unless it is known, and the shape of an array."""

    def head(value: bytes) -> tuple[Any, tuple[int, ...], int]:
        at = 0
        found = dtype
        if found is None:
            found, at = np.dtype(_CODES[value[0]]), 1
        axes, width = value[at] >> 2, 1 << (value[at] & 3)
        kind = {1: "B", 2: "H", 4: "I", 8: "Q"}[width]
        shape = struct.unpack_from(f"<{axes}{kind}", value, at + 1)
        return found.newbyteorder("<"), shape, at + 1 + axes * width

    return head


class MdsWriter:
    """Writes columns to a directory in MDS.

    Parameters
    ----------
    folder : str
    fields : list of Field
    most : int, optional
        Number of samples of a shard.
    """

    def __init__(self, folder: str, fields: Sequence[Field], most: int | None) -> None:
        self._folder = folder
        self._fields = sorted(fields, key=lambda field: field.name)
        encodings = [_encoding(field) for field in self._fields]
        self._sizes = [_decoder(encoding)[0] for encoding in encodings]
        self._config = {
            "column_encodings": encodings,
            "column_names": [field.name for field in self._fields],
            "column_sizes": self._sizes,
            "compression": None,
            "format": "mds",
            "hashes": [_ALGORITHM],
            "size_limit": SHARD_BYTES if most is None else None,
            "version": 2,
        }
        between = json.dumps(self._config, sort_keys=True).encode()
        self._head = struct.Struct(f"<{self._sizes.count(None)}I")
        self._varying = [row for row, size in enumerate(self._sizes) if size is None]
        self._writer = ShardWriter(
            folder,
            "shard.{:05}.mds".format,
            between=between,
            most=most,
            algorithm=_ALGORITHM,
        )

    def write(self, columns: Mapping[str, Any]) -> None:
        """Write some rows of columns."""
        values = [_encoded(field, columns[field.name]) for field in self._fields]
        for row in zip(*values, strict=True):
            sizes = [len(row[place]) for place in self._varying]
            self._writer.write(b"".join((self._head.pack(*sizes), *row)))

    def close(self) -> int:
        """Write the list of shards; return the number of samples in it."""
        self._writer.close()
        entries = []
        for shard in self._writer.shards:
            name = os.path.basename(shard.path)
            raw = {"basename": name, "bytes": shard.size, "hashes": shard.hashes}
            entries.append(
                self._config | {"raw_data": raw, "samples": shard.samples, "zip_data": None}
            )
        write_index(self._folder, {"shards": entries, "version": 2})
        return sum(shard.samples for shard in self._writer.shards)

    def abort(self) -> None:
        """Discard what is not in a shard yet."""
        self._writer.abort()


def _encoding(field: Field) -> str:
    """Return the encoding of a column."""
    if field.dtype is None:
        return _MEDIA[field.media]
    name = field.dtype.name
    if name not in _CODES.values():
        raise ValueError(
            f"feature {field.name!a} has elements of {name}, which MDS cannot store; name other "
            "features, or convert to NPZ"
        )
    if field.shape == ():
        return "int" if name == "int64" else name
    if not field.is_fixed:
        return f"ndarray:{name}"
    assert field.shape is not None
    return f"ndarray:{name}:{','.join(map(str, field.shape))}"


def _encoded(field: Field, column: Any) -> list[bytes]:
    """Return the values of a column as bytes."""
    values = field.values(column)
    if field.dtype is None:
        return values
    if field.is_fixed:
        return [value.tobytes() for value in values]
    return [_shaped(value) for value in values]


def _shaped(value: Any) -> bytes:
    """Return an array after its shape."""
    largest = max(value.shape, default=0)
    power = next(power for power in range(4) if largest < 1 << (8 << power))
    kind = "BHIQ"[power]
    head = struct.pack(f"<B{value.ndim}{kind}", value.ndim << 2 | power, *value.shape)
    elements: bytes = value.tobytes()
    return head + elements
