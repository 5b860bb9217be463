# SPDX-License-Identifier: Apache-2.0
"""``Dataset.save`` and ``Dataset.load``: TensorFlow's directories of saved elements.

A run of saving has a folder with one of records for each shard. A record is a ``TensorProto``, and
an element as many of them as it has parts. Beside the folder are the nested specs of an element,
as a ``StructuredValue``, and, written last, a ``SnapshotMetadataRecord`` that names the folder.
"""

from __future__ import annotations

import collections
import contextlib
import os
import random
import shutil
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import fastrec
from fastrec.threads import usable_cpus

from .. import errors as _errors
from ..dtypes import as_dtype
from ..record_errors import data_error
from ..record_options import compression_of
from ..specs import NoneTensorSpec, RaggedTensorSpec, SparseTensorSpec, TensorSpec, TypeSpec
from ..structure import flatten, pack
from ..tensor import TensorShape, as_array
from ..tensor_proto import (
    Malformed,
    content_of,
    decode,
    field,
    fields,
    shape_field,
    shape_sizes,
    signed,
    varint,
)
from .interleaving import in_turns
from .pipeline import UNKNOWN, Node, spec_of
from .sources import each_of_files
from .streams import Value, Values, steps

__all__ = ["Kept", "Saved", "Saving", "save"]

_SPEC, _METADATA = "dataset_spec.pb", "snapshot.metadata"
_VARIANT, _VERSION = 21, 2
_TENSOR, _RAGGED = b"tensorflow::Tensor", b"RaggedTensorVariant"
_SPARSE_SPEC, _RAGGED_SPEC = (1, b"SparseTensorSpec"), (3, b"RaggedTensorSpec")
_DEEPEST = 64  # structures in structures

# Values as parts of records.


def _tensor(value: Any) -> bytes:
    array = as_array(value)
    return content_of(array, as_dtype(array.dtype))


def _variant(kind: bytes, tensors: Sequence[Any]) -> bytes:
    return field(1, kind) + b"".join(field(3, _tensor(each)) for each in tensors)


def _encoded(value: Any) -> bytes:
    """A part of an element, as a ``TensorProto``."""
    if isinstance(value, fastrec.Sparse):
        shape = np.array(value.dense_shape, np.int64)
        parts = [_variant(_TENSOR, [each]) for each in (value.indices, value.values, shape)]
        sizes: list[int] = [3]
    elif isinstance(value, fastrec.Ragged):
        splits: list[Any] = []
        while isinstance(value, fastrec.Ragged):
            splits.append(value.row_splits)
            value = value.values
        parts, sizes = [_variant(_RAGGED, [*splits, value])], []
    else:
        return _tensor(value)
    content = b"".join(varint(len(part)) for part in parts) + b"".join(parts)
    return b"\x08" + varint(_VARIANT) + field(2, shape_field(sizes)) + field(4, content)


def _variants(data: bytes) -> list[list[Any]]:
    """The tensors of each variant in a ``TensorProto``."""
    last = dict(fields(data))
    content, at, lengths = last.get(4, b""), 0, []
    for _ in range(int(np.prod(shape_sizes(last.get(2, b""))))):
        size = shift = 0
        while True:
            if at >= len(content) or shift > 35:
                raise Malformed
            size |= (content[at] & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if content[at - 1] < 0x80:
                break
        lengths.append(size)
    found = []
    for size in lengths:
        part = content[at : at + size]
        found.append([decode(value) for number, value in fields(part) if number == 3])
        at += size
    return found


def _decoded(data: bytes, spec: Any) -> Any:
    """The part of an element that a record holds.

    Raises
    ------
    DataLossError
        When it holds none of that type.
    """
    try:
        if isinstance(spec, SparseTensorSpec):
            (indices,), (values,), (shape,) = _variants(data)
            return fastrec.Sparse(indices, values, tuple(shape.tolist()))
        if isinstance(spec, RaggedTensorSpec):
            ((*splits, value),) = _variants(data)
            for each in reversed(splits):
                value = fastrec.Ragged(value, each)
            return value
        array = decode(data)
    except (Malformed, ValueError, TypeError, KeyError, OverflowError, MemoryError) as error:
        raise _errors.DataLossError(None, None, "a saved element is damaged") from error
    if as_dtype(array.dtype) != spec.dtype or not spec.shape.is_compatible_with(array.shape):
        raise _errors.DataLossError(
            None, None, f"a saved element is of {array.dtype} and shape {array.shape}, not {spec}"
        )
    return array


# Specs.


def _shape_value(shape: TensorShape) -> bytes:
    return b"\x18\x01" if shape.sizes is None else shape_field(shape.sizes)


def _leaf_spec(spec: Any) -> bytes:
    if isinstance(spec, NoneTensorSpec):
        raise TypeError("None in elements cannot be saved")
    kind = varint(int(spec.dtype))
    if isinstance(spec, TensorSpec):
        return field(33, field(2, _shape_value(spec.shape)) + b"\x18" + kind)
    if not isinstance(spec, (SparseTensorSpec, RaggedTensorSpec)):
        raise TypeError(f"elements of {spec} cannot be saved")
    state = [field(31, _shape_value(spec.shape)), varint(32 << 3) + kind]
    number, name, parts = *_SPARSE_SPEC, 3
    if isinstance(spec, RaggedTensorSpec):
        number, name, parts = *_RAGGED_SPEC, spec.ragged_rank + 1
        state.append(varint(12 << 3) + varint(2 * spec.ragged_rank))
        state.append(varint(32 << 3) + varint(int(spec.row_splits_dtype)))
    inside = field(52, b"".join(field(1, each) for each in state))
    head = b"\x08" + varint(number) + field(2, inside) + field(3, name)
    return field(34, head + b"\x20" + varint(parts))


def _structured(spec: Any) -> bytes:
    """A structure of specs, as a ``StructuredValue``."""

    def pairs(items: Any) -> bytes:
        made = ((field(1, key.encode()), field(2, _structured(each))) for key, each in items)
        return b"".join(field(1, key + value) for key, value in made)

    if isinstance(spec, dict):
        return field(53, pairs(sorted(spec.items())))
    if isinstance(spec, tuple) and hasattr(spec, "_fields"):
        items = zip(spec._fields, spec, strict=True)
        made = ((field(1, key.encode()), field(2, _structured(each))) for key, each in items)
        values = b"".join(field(2, key + value) for key, value in made)
        return field(54, field(1, type(spec).__name__.encode()) + values)
    if isinstance(spec, tuple):
        return field(52, b"".join(field(1, _structured(each)) for each in spec))
    return _leaf_spec(spec)


def _shape_of(data: bytes) -> TensorShape:
    unknown = any(number == 3 and value for number, value in fields(data))
    if unknown:
        return TensorShape(None)
    return TensorShape([None if size < 0 else size for size in shape_sizes(data, True)])


def _type_spec(data: bytes) -> TypeSpec:
    parts = dict(fields(data))
    ((_, state),) = fields(parts[2])
    values = [next(iter(fields(each))) for number, each in fields(state) if number == 1]
    shape, dtype = _shape_of(values[0][1]), as_dtype(values[1][1])
    if parts[1] == _SPARSE_SPEC[0]:
        return SparseTensorSpec(shape, dtype)
    if parts[1] == _RAGGED_SPEC[0]:
        return RaggedTensorSpec(shape, dtype, values[2][1] // 2, as_dtype(values[3][1]))
    raise Malformed


def _of_structured(data: bytes, depth: int = 0) -> Any:
    """The structure of specs that a ``StructuredValue`` is."""
    if depth > _DEEPEST:
        raise Malformed

    def pair(data: bytes) -> tuple[str, Any]:
        parts = dict(fields(data))
        return parts[1].decode(), _of_structured(parts[2], depth + 1)

    ((number, value),) = fields(data)
    if number == 33:
        parts = dict(fields(value))
        return TensorSpec(_shape_of(parts.get(2, b"")), as_dtype(parts[3]))
    if number == 34:
        return _type_spec(value)
    if number in (51, 52):
        return tuple(_of_structured(each, depth + 1) for n, each in fields(value) if n == 1)
    if number == 53:
        return dict(pair(each) for n, each in fields(value) if n == 1)
    if number == 54:
        named = [pair(each) for n, each in fields(value) if n == 2]
        name = dict(fields(value))[1].decode()
        return collections.namedtuple(name, [key for key, _ in named])(*[each for _, each in named])
    raise Malformed


class Saving:
    """Elements on their way into a folder, which has them when :meth:`finish` is done.

    Parameters
    ----------
    node : Node
        Where they come from.
    path : str
    compression : str or None
    shard_of : callable, optional
        Of an element; the number of its shard.

    Raises
    ------
    TypeError
        For elements of a type that cannot be saved.
    """

    def __init__(
        self,
        node: Node,
        path: str,
        compression: Any = None,
        shard_of: Callable[[Value], int] | None = None,
    ) -> None:
        self._folder, self._kind = Path(path), compression_of(compression)
        self._spec, self._shard_of = _structured(spec_of(node)), shard_of
        self._kinds = b"".join(varint(_kind(each)) for each in node.specs)
        self._run = str(random.SystemRandom().getrandbits(63))
        self._writers: dict[int, fastrec.Writer] = {}
        self._open = contextlib.ExitStack()
        self.count = 0
        (self._folder / self._run).mkdir(parents=True)

    def add(self, value: Value) -> None:
        """Write one element."""
        shard = 0 if self._shard_of is None else self._shard_of(value)
        if shard not in self._writers:
            place = self._folder / self._run / f"{shard:08}.shard"
            place.mkdir()
            writer = fastrec.Writer(place / "00000000.snapshot", compression=self._kind)
            self._writers[shard] = self._open.enter_context(writer)
        for part in value:
            self._writers[shard].write(_encoded(part))
        self.count += 1

    def finish(self) -> None:
        """Close the files, and only then name them in the folder."""
        self._open.close()
        parts = [field(2, self._run.encode()), b"\x18", varint(int(time.time() * 1e6))]
        parts += [b"\x20", varint(_VERSION), field(5, self._kinds), b"\x30", varint(self.count)]
        metadata = b"".join([*parts, varint(1000 << 3), b"\x01"])
        for name, data in ((_SPEC, self._spec), (_METADATA, metadata)):
            (self._folder / f"{name}.{self._run}").write_bytes(data)
            os.replace(self._folder / f"{name}.{self._run}", self._folder / name)

    def abort(self) -> None:
        """Take back what has been written."""
        gone = RuntimeError("saving was ended before the last element")
        with contextlib.suppress(Exception):
            self._open.__exit__(RuntimeError, gone, None)
        shutil.rmtree(self._folder / self._run, ignore_errors=True)


def save(node: Node, path: str, compression: Any, shard_of: Callable[[Value], int] | None) -> None:
    """Write the elements of a node.

    Parameters
    ----------
    shard_of : callable, optional
        Of an element; the number of its shard.
    """
    saving = Saving(node, path, compression, shard_of)
    try:
        for value in node.stream():
            saving.add(value)
        saving.finish()
    except BaseException:
        saving.abort()
        raise


class Kept(Node):
    """Elements that are made once, and kept in a folder when all have been.

    A pass that ends before the last element leaves nothing. Where several write at a time, each
    does so into files of its own, and the last to finish is the one that is read.

    Parameters
    ----------
    node : Node
    path : str
    compression : str or None
    shard_of : callable, optional
        Of an element; the number of its shard.
    read : callable, optional
        Of the saved elements; the stream of these.

    Raises
    ------
    TypeError
        For elements of a type that cannot be saved.
    """

    def __init__(
        self,
        node: Node,
        path: str,
        compression: Any = None,
        shard_of: Callable[[Value], int] | None = None,
        read: Callable[[Saved], Values] | None = None,
    ) -> None:
        super().__init__(node)
        self._how = path, compression, shard_of
        self._read = read
        _structured(spec_of(node))  # which refuses what cannot be saved

    def values(self, fast: bool = True) -> Values:
        path, compression, _ = self._how
        if os.path.exists(os.path.join(path, _METADATA)):
            saved = Saved(path, None, compression)
            found, wanted = pack(saved.structure, saved.specs), spec_of(self.inputs[0])
            if repr(found) != repr(wanted):
                raise _errors.InvalidArgumentError(
                    None, None, f"{path} has elements of {found}, not of {wanted}"
                )
            return saved.values(fast) if self._read is None else self._read(saved)
        return self._writing(self.inputs[0].stream(fast))

    def _writing(self, stream: Values) -> Values:
        saving, total, done = _Pass(self.inputs[0], *self._how), self.cardinality(), False

        def step() -> Value:
            nonlocal done
            try:
                value = next(stream)
            except StopIteration:
                if not done:
                    done = True
                    saving.finish()
                raise
            if not done:
                saving.add(value)
                if saving.count == total:
                    done = True
                    saving.finish()
            return value

        return steps(step)


class _Pass:
    """One pass of writing, which is taken back when it fails or nobody goes on with it."""

    def __init__(self, *how: Any) -> None:
        with _translating():
            self._saving = Saving(*how)
        self._end = weakref.finalize(self, self._saving.abort)

    @property
    def count(self) -> int:
        return self._saving.count

    def add(self, value: Value) -> None:
        self._run(self._saving.add, value)

    def finish(self) -> None:
        self._run(self._saving.finish)
        self._end.detach()

    def _run(self, function: Callable[..., None], *values: Any) -> None:
        try:
            with _translating():
                function(*values)
        except BaseException:
            self._end()
            raise


@contextlib.contextmanager
def _translating() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _errors.translated(error) from error


def _kind(spec: Any) -> int:
    return int(spec.dtype) if isinstance(spec, TensorSpec) else _VARIANT


class Saved(Node):
    """The shards of a folder of saved elements, or the elements of one shard.

    Raises
    ------
    NotFoundError, DataLossError
        When nothing was saved there, or what it says of it cannot be read.
    """

    def __init__(self, path: str, element_spec: Any, compression: Any) -> None:
        super().__init__()
        folder, self._compression = Path(path), compression_of(compression)
        try:
            metadata = dict(fields((folder / _METADATA).read_bytes()))
            run, self._count = metadata[2].decode(), signed(metadata.get(6, UNKNOWN))
            if element_spec is None:
                element_spec = _of_structured((folder / _SPEC).read_bytes())
            self._structure, self._specs = flatten(element_spec)
        except OSError as error:
            raise _errors.translated(error) from error
        except (Malformed, KeyError, ValueError, TypeError) as error:
            text = f"what {folder} says of its elements is damaged"
            raise _errors.DataLossError(None, None, text) from error
        if not run.isdigit():
            raise _errors.DataLossError(None, None, f"{folder} names no run of saving: {run!r}")
        self.shards = sorted((folder / run).glob("*.shard"))

    structure = property(lambda self: self._structure)
    specs = property(lambda self: self._specs)

    def cardinality(self) -> int:
        return self._count

    def values(self, fast: bool = True) -> Values:
        streams = (self.of_shards([shard]) for shard in self.shards)
        stream, count, told = in_turns(streams, usable_cpus(), 1, False), 0, False

        def step() -> Value:
            nonlocal count, told
            try:
                value = next(stream)
            except StopIteration:
                if count < self._count and not told:
                    told = True
                    text = f"{count} of {self._count} saved elements are there"
                    raise _errors.DataLossError(None, None, text) from None
                raise
            count += 1
            return value

        return steps(step)

    def of_shards(self, shards: Sequence[Path]) -> Values:
        """The elements of some of the shards, one after the other."""
        paths = (str(path) for shard in shards for path in sorted(shard.glob("*.snapshot")))

        def read(path: str) -> Iterator[bytes]:
            return iter(fastrec.Reader([path], compression=self._compression))

        records = each_of_files(paths, read, data_error)

        def step() -> Value:
            first = next(records)
            rest = [next(records, b"") for _ in self._specs[1:]]
            pairs = zip([first, *rest], self._specs, strict=True)
            return tuple(_decoded(bytes(part), spec) for part, spec in pairs)

        return steps(step)
