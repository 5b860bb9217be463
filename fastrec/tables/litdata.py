# SPDX-License-Identifier: Apache-2.0
"""The format of LitData: the values of its samples, and the list of its chunks.

Rows of only texts, numbers, bytes and lists of these are a file of Arrow at the end of a chunk,
after offsets of samples without bytes.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from ..errors import one_line
from ..records.byte_sources import NamedFile
from ..records.inflate import inflate
from .sample_shards import (
    BLOCK_BYTES,
    SHARD_BYTES,
    Input,
    Layout,
    Shard,
    ShardWriter,
    check_file,
    columns_of_samples,
    damaged,
    entry,
    load_index,
    read_offsets,
    sample_blocks,
    shard_path,
    write_index,
)
from .sample_values import (
    ArrayColumn,
    Decoder,
    Field,
    as_bytes,
    as_texts,
    byte_lists,
    numbers,
    pixels,
    vectors,
)

__all__ = ["LitDataFolder", "LitDataWriter"]

_NUMPY = (
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
    "float64", "complex64", "complex128", "bool",
)  # fmt: skip
_TORCH = {
    0: "float32", 1: "float32", 2: "float64", 3: "float64", 4: "complex64", 5: "complex64",
    6: "complex128", 7: "complex128", 8: "float16", 9: "float16", 11: "uint8", 12: "int8",
    13: "int16", 14: "int16", 15: "int32", 16: "int32", 17: "int64", 18: "int64", 19: "bool",
    20: "uint16",
}  # fmt: skip
_PLAIN: dict[str, Decoder] = {
    "str": as_texts, "text": as_texts, "int": numbers("i8"), "float": numbers("f8", is_exact=False),
    "bool": numbers("u1"), "bytes": as_bytes, "jpeg": as_bytes, "pil": pixels,
    "jpeg_array": byte_lists(0),
}  # fmt: skip
_FILES = ("image", "file", "video", "audio", "pdf", "mesh", "nifti", "tifffile")
_MEDIA = {"txt": "str", "jpg": "jpeg", "png": "image:png", "bin": "bytes"}
_LEAF: dict[str, Any] = {"type": None, "context": None, "children_spec": []}
_MOST_DEPTH = 32
_FRAMED = b"LDFZ01\0\0"
_PREFIX = struct.Struct("<8sHHIII")  # the start of a chunk in frames of zstd
_FRAME = struct.Struct("<IIQII")
_ARROW = b"LDARW01\0"  # ends a chunk with a file of Arrow
_MOST_SAMPLE = (1 << 31) - 1


class LitDataFolder:
    """The samples of a directory of LitData.

    Attributes
    ----------
    shards : list of Shard
    """

    def __init__(self, folder: str) -> None:
        index, found, entries = load_index(folder, "chunks")
        config = entry(index, "the index", found, "config", dict)
        for name, what in (("encryption", "encrypted"), ("temporal_schema", "of windows of time")):
            if config.get(name):
                raise ValueError(f"{index!a}: its chunks are {what}, which cannot be read")
        loader = config.get("item_loader") or "PyTreeLoader"
        if loader != "PyTreeLoader":
            raise ValueError(
                f"{index!a}: its chunks are for {loader!a:.40}, and only those for PyTreeLoader "
                "can be read; write them again without an item loader"
            )
        compression, level = config.get("compression"), config.get("compression_level")
        if compression is not None and str(compression).partition(":")[0] != "zstd":
            raise ValueError(
                f"{index!a}: its chunks are compressed as {compression!a:.20}; only zstd can be "
                "read: write them again"
            )
        self._has_packed_samples = bool(compression) and level == "sample"
        is_whole = bool(compression) and level in (None, "chunk")
        self.shards: list[Shard] = []
        for number, fields in enumerate(entries):
            place = f"chunk {number}"
            path = shard_path(index, place, entry(index, place, fields, "filename", str))
            count = entry(index, place, fields, "chunk_size", int)
            size = entry(index, place, fields, "chunk_bytes", int)
            stored = None if is_whole else size
            self.shards.append(Shard(path, count, size, stored, "ZSTD" if is_whole else None))
        self._index, self._config = index, config

    @cached_property
    def _layout(self) -> Layout:
        """The columns of samples, which chunks with a file of Arrow do not need."""
        return _layout(self._index, self._config)

    def write(self, sink: Any, shard: Shard) -> Iterator[None]:
        """Write the samples of a chunk to a writer; yield after each block."""
        check_file(shard)
        if shard.compression is None and _has_arrow(shard):
            yield from _write_arrow(sink, shard)
            return
        for first, offsets, samples in sample_blocks(shard, ends=True, framed=_framed):
            for start, some in self._expanded(shard, first, samples):
                sink.write_batch(columns_of_samples(shard, self._layout, some, start, offsets))
                yield

    def _expanded(
        self, shard: Shard, first: int, samples: list[bytes]
    ) -> Iterator[tuple[int, list[bytes]]]:
        """Yield samples without compression, in groups of limited size."""
        if not self._has_packed_samples:
            yield first, samples
            return
        held: list[bytes] = []
        size = 0
        for number, sample in enumerate(samples, first):
            pieces = inflate(io.BytesIO(sample).read, "ZSTD", shard.path, max_output=_MOST_SAMPLE)
            held.append(b"".join(pieces))
            size += len(held[-1])
            if size >= BLOCK_BYTES:
                yield number + 1 - len(held), held
                held, size = [], 0
        if held:
            yield first + len(samples) - len(held), held


def _layout(index: str, config: Mapping[str, Any]) -> Layout:
    """Return the columns of samples: the leaves of a tree."""
    formats = entry(index, "the config", config, "data_format", list)
    spec = entry(index, "the config", config, "data_spec", str)
    try:
        version, tree = json.loads(spec)
        if version != 1:
            raise ValueError(f"its version is {version!a:.20}, not 1")
        names = ["/".join(path) or "data" for path in _leaves(tree, ())]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise damaged(index, f"'data_spec' is not a tree of samples: {error}") from None
    texts = all(isinstance(each, str) for each in formats)
    if not texts or len(names) != len(formats) or len(set(names)) != len(names):
        raise damaged(index, f"'data_format' must have {len(names)} texts for columns of own names")
    decoders = []
    for name, each in zip(names, formats, strict=True):
        try:
            decoders.append(_decoder(each))
        except ValueError as error:
            raise ValueError(f"{index!a}: the column {name!a:.80} {error}") from None
    return Layout(names, [None] * len(names), decoders)


def _leaves(tree: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the path of each leaf."""
    children = tree["children_spec"]
    if tree["type"] is None:
        yield path
        return
    if len(path) > _MOST_DEPTH:
        raise ValueError(f"it is more than {_MOST_DEPTH} levels deep")
    keys = [str(number) for number in range(len(children))]
    if tree["type"] == "builtins.dict":
        keys = [str(key) for key in json.loads(tree["context"])]
    elif tree["type"] not in ("builtins.list", "builtins.tuple"):
        raise ValueError(f"it has a node of the type {tree['type']!a:.60}")
    for key, child in zip(keys, children, strict=True):
        yield from _leaves(child, (*path, key))


def _decoder(name: str) -> Decoder:
    """Return the decoder of values of a format."""
    kind, _, detail = name.partition(":")
    if name in _PLAIN:
        return _PLAIN[name]
    if kind in _FILES:
        return as_bytes
    if kind in ("pickle", "graph"):
        raise ValueError(
            f"is {name}, which runs code when it is read; write the set again with arrays, text or "
            "bytes"
        )
    if name == "numpy":
        return ArrayColumn(partial(_head, "<", dict(enumerate(_NUMPY))))
    if name == "tensor":
        return ArrayColumn(partial(_head, ">", _TORCH))
    types = {"no_header_numpy": dict(enumerate(_NUMPY)), "no_header_tensor": _TORCH}.get(kind, {})
    if detail.isdecimal() and len(detail) < 4 and int(detail) in types:
        return vectors(types[int(detail)])
    known = ", ".join((*_PLAIN, *_FILES, "numpy", "tensor", "no_header_numpy", "no_header_tensor"))
    raise ValueError(f"has the format {name!a:.40}; these can be read: {known}")


def _head(order: str, types: Mapping[int, str], value: bytes) -> tuple[Any, tuple[int, ...], int]:
    """Return the type and the shape that an array begins with, and where its elements begin."""
    code, axes = struct.unpack_from(f"{order}2I", value)
    if axes > 64:
        raise ValueError(f"it states {axes} dimensions")
    shape = struct.unpack_from(f"{order}{axes}I", value, 8)
    return np.dtype(types[code]).newbyteorder("<"), shape, 8 + 4 * axes


# -- Compressed samples, and files of Arrow --------------------------------------------------------


def _framed(shard: Shard, file: NamedFile) -> tuple[Any, Input] | None:
    """Return the offsets of samples in frames of zstd, and their content; None without frames."""
    head = Input(iter(partial(file.read, 1 << 16), b""))
    prefix = head.exactly(_PREFIX.size)
    if prefix[: len(_FRAMED)] != _FRAMED:
        file.seek(0)
        return None
    if len(prefix) < _PREFIX.size:
        raise damaged(shard.path, "ends in its first bytes")
    _, version, _, count, _, frames = _PREFIX.unpack(prefix)
    if version != 1 or count != shard.samples:
        text = f"has version {version} and {count} samples, its index states {shard.samples}"
        raise damaged(shard.path, text)
    offsets = read_offsets(shard, head)
    first = int.from_bytes(head.exactly(_FRAME.size)[8:16], "little")
    begin = _PREFIX.size + 4 * (count + 1) + frames * _FRAME.size
    if offsets[0] or first != begin:
        raise damaged(shard.path, f"its first frame is at {first}, not after its table at {begin}")
    file.seek(begin)
    pieces = inflate(file.read, "ZSTD", shard.path, max_output=int(offsets[-1]))
    return offsets, Input(pieces)


def _has_arrow(shard: Shard) -> bool:
    with NamedFile(shard.path) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - len(_ARROW)))
        return file.read(len(_ARROW)) == _ARROW


class _Section(io.RawIOBase):
    """Some bytes of a file."""

    def __init__(self, file: NamedFile, start: int, size: int) -> None:
        super().__init__()
        self._file, self._start, self._size, self._at = file, start, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, position: int, whence: int = os.SEEK_SET) -> int:
        self._at = position + (0, self._at, self._size)[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)[: max(0, self._size - self._at)]
        self._file.seek(self._start + self._at)
        count = self._file.readinto(view)
        self._at += count
        return count


def _write_arrow(sink: Any, shard: Shard) -> Iterator[None]:
    """Write the rows of the file of Arrow at the end of a chunk."""
    try:
        import pyarrow as pa

        from .columns import Tables
    except ModuleNotFoundError as error:
        message = "this set of LitData requires pyarrow: pip install 'fastrec-io[arrow]'"
        raise ModuleNotFoundError(message, name=error.name) from None
    tables = Tables([shard.path], "arrow", None, raw=False, base64=False)
    with NamedFile(shard.path) as file:
        size = file.seek(0, os.SEEK_END)
        if shard.stored is not None and size != shard.stored:
            raise damaged(shard.path, f"has {size} bytes, and its index states {shard.stored}")
        file.seek(max(0, size - 12))
        length = int.from_bytes(file.read(4), "little")
        start = size - 12 - length
        if start < 0:
            raise damaged(shard.path, f"states {length} bytes of Arrow, and has {size} bytes")
        done = 0
        with contextlib.ExitStack() as stack:
            try:
                section = pa.PythonFile(_Section(file, start, length), "r")
                rows = stack.enter_context(pa.ipc.open_file(section))
                count = rows.num_record_batches
            except (pa.ArrowException, OSError) as error:
                raise damaged(
                    shard.path, f"its rows of Arrow are damaged: {one_line(error)}"
                ) from None
            for number in range(count):
                try:
                    batch = rows.get_batch(number)
                    batch.validate(full=True)
                except (pa.ArrowException, OSError) as error:
                    text = f"its rows of Arrow are damaged: {one_line(error)}"
                    raise damaged(shard.path, text, done) from None
                tables.write_batch(sink, batch)
                done += batch.num_rows
                yield
        if done != shard.samples:
            raise damaged(shard.path, f"has {done} rows, and its index states {shard.samples}")


# -- Columns to chunks -----------------------------------------------------------------------------


class LitDataWriter:
    """Writes columns to a directory of LitData.

    Parameters
    ----------
    folder : str
    fields : list of Field
    most : int, optional
        Number of samples of a chunk.
    """

    def __init__(self, folder: str, fields: Sequence[Field], most: int | None) -> None:
        self._folder, self._fields, self._most = folder, fields, most
        self._formats = [_format(field) for field in fields]
        self._head = struct.Struct(f"<{len(fields)}I")
        self._writer = ShardWriter(folder, "chunk-0-{}.bin".format, most=most)

    def write(self, columns: Mapping[str, Any]) -> None:
        """Write some rows of columns."""
        values = [
            _encoded(field, kind, columns[field.name])
            for field, kind in zip(self._fields, self._formats, strict=True)
        ]
        for row in zip(*values, strict=True):
            self._writer.write(b"".join((self._head.pack(*map(len, row)), *row)))

    def close(self) -> int:
        """Write the list of chunks; return the number of samples in it."""
        self._writer.close()
        chunks = [
            {
                "chunk_bytes": shard.size,
                "chunk_size": shard.samples,
                "dim": None,
                "filename": os.path.basename(shard.path),
            }
            for shard in self._writer.shards
        ]
        names = json.dumps([field.name for field in self._fields])
        leaves = [_LEAF] * len(self._fields)
        spec = {"type": "builtins.dict", "context": names, "children_spec": leaves}
        config = {
            "chunk_bytes": SHARD_BYTES if self._most is None else None,
            "chunk_size": self._most,
            "compression": None,
            "data_format": self._formats,
            "data_spec": json.dumps([1, spec]),
            "encryption": None,
            "item_loader": "PyTreeLoader",
        }
        write_index(self._folder, {"chunks": chunks, "config": config})
        return sum(shard.samples for shard in self._writer.shards)

    def abort(self) -> None:
        """Discard what is not in a chunk yet."""
        self._writer.abort()


def _format(field: Field) -> str:
    """Return the format of the values of a column."""
    if field.dtype is None:
        return _MEDIA[field.media]
    name = field.dtype.name
    if name not in _NUMPY:
        raise ValueError(
            f"feature {field.name!a} has elements of {name}, which LitData cannot store; name "
            "other features"
        )
    if field.shape == ():
        scalar = {"int64": "int", "float32": "float", "bool": "bool"}.get(name)
        return scalar or "numpy"
    if field.shape is not None and len(field.shape) == 1:
        return f"no_header_numpy:{_NUMPY.index(name)}"
    return "numpy"


def _encoded(field: Field, kind: str, column: Any) -> list[bytes]:
    """Return the values of a column as bytes."""
    values = field.values(column)
    if field.dtype is None:
        return values
    if kind == "float":
        values = list(np.ascontiguousarray(column, "<f8"))
    if kind != "numpy":
        return [value.tobytes() for value in values]
    code = _NUMPY.index(field.dtype.name)
    return [
        struct.pack(f"<{2 + value.ndim}I", code, value.ndim, *value.shape) + value.tobytes()
        for value in values
    ]
