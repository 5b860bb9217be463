# SPDX-License-Identifier: Apache-2.0
"""Source nodes: arrays, numbers, generators and files, also parsed by a Batcher."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

import fastrec
from fastrec.errors import FastrecError

from .. import errors as _errors
from ..columns import Variants, joined, rows_of
from ..record_errors import data_error
from ..records import as_path, compression_of
from ..specs import TensorSpec, TypeSpec, unbatched
from ..structure import LEAF
from ..tensor import convert_to_tensor
from ..tracing.recording import Symbol, spec_of
from ..tracing.trace import Trace
from ..width import READ
from .pipeline import UNKNOWN, Node, in_columns, loose_spec
from .streams import ELEMENTS, Block, Blocks, Values, skipped, steps

T = TypeVar("T")


class Tensors(Node):
    """Node with a single element."""

    def __init__(self, structure: Any, values: Sequence[Any]) -> None:
        super().__init__()
        self._structure, self.columns = structure, tuple(values)

    structure = property(lambda self: self._structure)

    @property
    def specs(self) -> list[TypeSpec]:
        return [_spec_of(value) for value in self.columns]

    def cardinality(self) -> int:
        return 1

    def values(self) -> Values:
        return iter([self.columns])


def _spec_of(value: Any) -> TypeSpec:
    found: TypeSpec = loose_spec(value) if isinstance(value, (Node, Variants)) else spec_of(value)
    return found


class Slices(Node):
    """Node over the rows of arrays; a traced function sees only their specs."""

    def __init__(self, structure: Any, columns: Sequence[Any]) -> None:
        super().__init__()
        self._structure, self.columns = structure, list(columns)
        if any(isinstance(column, Symbol) for column in columns):
            self.count = UNKNOWN
            return
        sizes = {_length(column) for column in columns}
        if len(sizes) != 1:
            raise ValueError(
                f"Dimensions {' and '.join(map(str, sorted(sizes)))} are not compatible"
            )
        (self.count,) = sizes

    structure = property(lambda self: self._structure)

    @property
    def specs(self) -> list[TypeSpec]:
        return [unbatched(_spec_of(column)) for column in self.columns]

    def cardinality(self) -> int:
        return self.count

    def values(self) -> Values:
        return zip(*[rows_of(column) for column in self.columns], strict=True)

    def blocks(self, count: int) -> Blocks | None:
        if any(
            isinstance(column, (fastrec.Sparse, fastrec.Ragged, Variants))
            for column in self.columns
        ):
            return None
        return (
            (
                min(count, self.count - at),
                [
                    column[at : at + count].copy()
                    if isinstance(column, np.ndarray)
                    else column[at : at + count]
                    for column in self.columns
                ],
            )
            for at in range(0, self.count, count)
        )


def _length(column: Any) -> int:
    if isinstance(column, (bytes, np.ndarray)) and not np.ndim(column):
        raise ValueError("Unbatching a tensor is only supported for rank >= 1")
    return len(column)


class Numbers(Node):
    """Node over integers from `start` to `stop` by `step`."""

    structure = LEAF

    def __init__(self, start: int, stop: int, step: int, dtype: Any) -> None:
        super().__init__()
        self._range, self._dtype = range(start, stop, step), dtype

    @property
    def specs(self) -> list[TypeSpec]:
        return [TensorSpec((), self._dtype)]

    def cardinality(self) -> int:
        return len(self._range)

    def values(self) -> Values:
        return ((np.asarray(number, self._dtype.numpy),) for number in self._range)

    def blocks(self, count: int) -> Blocks | None:
        parts = (self._range[at : at + count] for at in range(0, len(self._range), count))
        return ((len(part), [np.array(part, self._dtype.numpy)]) for part in parts)


def existing(path: str) -> str:
    """Return a path after checking that it exists and is not a directory.

    Raises
    ------
    NotFoundError, FailedPreconditionError
        With TensorFlow's message.
    """
    if os.path.isdir(path):
        raise _errors.translated(IsADirectoryError(21, "Is a directory", path))
    if not os.path.lexists(path):
        error: Any = _errors.translated(FileNotFoundError(2, "No such file or directory", path))
        error.of_source = True
        raise error
    return path


def each_of_files(
    paths: Iterator[str],
    read: Callable[[str], Iterator[T]],
    translate: Callable[[Exception], Exception],
) -> Iterator[T]:
    """Yield the values of `read` for each file; after damage, those of the next file."""
    current: Iterator[T] | None = None

    def step() -> T:
        nonlocal current
        while True:
            try:
                if current is None:
                    current = read(next(paths))
                return next(current)
            except StopIteration:
                if current is None:
                    raise
                current = None
            except (FastrecError, OSError, EOFError) as error:
                current = None
                if isinstance(error, _errors.OpError):  # the message is already complete
                    raise
                raise translate(error) from error

    return steps(step)


class Records(Node):
    """Node over the records of files, one file after the other."""

    structure = LEAF

    def __init__(
        self, paths: Callable[[], Iterator[str]], compression: Any, fixed: Sequence[str] = ()
    ) -> None:
        super().__init__()
        self.paths, self.compression = paths, compression_of(compression)
        self.fixed_paths = list(fixed)  # unless they come from a dataset

    @property
    def specs(self) -> list[TypeSpec]:
        return [TensorSpec((), "string")]

    def cardinality(self) -> int:
        return UNKNOWN

    def values(self) -> Values:
        return self._read(zip)

    def blocks(self, count: int) -> Blocks | None:
        size = min(count, READ)

        def in_batches(reader: fastrec.Reader) -> Blocks:
            return map(_as_block, reader.blocks(size))

        return self._read(in_batches)

    def _read(self, how: Callable[[fastrec.Reader], Iterator[T]]) -> Iterator[T]:
        def of_file(path: str) -> Iterator[T]:
            return how(fastrec.Reader([existing(path)], compression=self.compression))

        compressed = self.compression is not None
        return each_of_files(self.paths(), of_file, lambda e: data_error(e, compressed=compressed))


def _as_block(records: fastrec.Bytes) -> Block:
    return len(records), [records]


class Files(Node):
    """Node over values that a function reads from files: lines or fixed-length records.

    Parameters
    ----------
    paths : sequence of str
    compression : str, optional
    read : callable
        Takes an open file and its path; returns its values.
    read_blocks : callable, optional
        Takes an uncompressed file; returns several values at a time.
    """

    structure = LEAF

    def __init__(
        self,
        paths: Sequence[str],
        compression: Any,
        read: Callable[[Any, str], Iterator[bytes]],
        read_blocks: Callable[[Any], Iterator[fastrec.Bytes]] | None = None,
    ) -> None:
        super().__init__()
        self._paths, self._compression, self._read = list(paths), compression_of(compression), read
        self._read_blocks = None if self._compression else read_blocks

    @property
    def specs(self) -> list[TypeSpec]:
        return [TensorSpec((), "string")]

    def cardinality(self) -> int:
        return UNKNOWN

    def values(self) -> Values:
        def of_file(path: str) -> Values:
            with self._open(path) as file:
                yield from zip(self._read(file, path), strict=True)

        return each_of_files(iter(self._paths), of_file, _errors.translated)

    def blocks(self, count: int) -> Blocks | None:
        read = self._read_blocks
        if read is None:
            return None

        def of_file(path: str) -> Blocks:
            rest: list[fastrec.Bytes] = []  # fewer than `count` values
            with self._open(path) as file:
                try:
                    for found in read(file):
                        block = joined([*rest, found])
                        whole = len(block) - len(block) % count
                        parts = (block[at : at + count] for at in range(0, whole, count))
                        yield from map(_as_block, parts)
                        rest = [block[whole:]]
                except Exception:  # first yield what was read before the error
                    yield from map(_as_block, filter(len, rest))
                    raise
            yield from map(_as_block, filter(len, rest))

        return each_of_files(iter(self._paths), of_file, _errors.translated)

    def _open(self, path: str) -> Any:
        import gzip
        import io
        import zlib

        if self._compression == "GZIP":
            return gzip.open(path, "rb")
        file = open(existing(path), "rb")  # noqa: SIM115
        if self._compression == "ZLIB":
            with file:
                return io.BytesIO(zlib.decompress(file.read()))
        return file


def names_of(filenames: Any) -> list[str]:
    """Return file names from a single name, nested lists of names, or a tensor.

    Raises
    ------
    TypeError
        If anything else is among them.
    """
    if isinstance(filenames, (str, bytes, os.PathLike)):
        return [as_path(filenames)]
    array = getattr(filenames, "array", filenames)
    if isinstance(array, np.ndarray):
        array = array.tolist()
        if not isinstance(array, list):
            return names_of(array)
    if not isinstance(array, (list, tuple)):
        kind = convert_to_tensor(array).dtype
        raise TypeError(
            f"The `filenames` argument must contain `tf.string` elements. Got `{kind!r}` elements."
        )
    return [name for each in array for name in names_of(each)]


# A Batcher first finds the record boundaries, which takes long for many small records.
_MOST_BYTES = 2 << 30


def plain_files(node: Node) -> list[str] | None:
    """Return the record files of a node if every file can be opened by name."""
    if not in_columns() or not isinstance(node, Records) or node.compression is not None:
        return None
    paths = node.fixed_paths
    if not paths or not all(map(os.path.isfile, paths)):
        return None
    if sum(map(os.path.getsize, paths)) > _MOST_BYTES:
        return None
    reader = fastrec.Reader(paths, index=False)
    return None if any(map(reader.is_compressed, paths)) else paths


def parsed_batches(node: Node, trace: Trace, size: int) -> Blocks | None:
    """Return batches of `size` records, parsed as the first operation of `trace` requires.

    Return None if the trace or the node requires anything else.
    """
    if trace.parsing is None or (paths := plain_files(node)) is None:
        return None
    return _batches(paths, trace.parsing, size)


def _batches(paths: list[str], parsing: Any, size: int) -> Blocks:
    with fastrec.Batcher(paths, parsing.features, size) as batcher:
        for columns in batcher:
            found = parsing.columns(columns)
            yield len(next(iter(columns.values()))), list(found)


def with_fallback(fast: Iterator[T], slow: Callable[[], Iterator[T]]) -> Iterator[T]:
    """Yield from `fast`; after its first failure, continue with `slow` and raise its errors."""
    done = 0
    rest: Iterator[T] | None = None

    def step() -> T:
        nonlocal done, rest
        if rest is None:
            try:
                found = next(fast)
            except StopIteration:
                raise
            except Exception:
                rest = skipped(slow(), done, ELEMENTS)
            else:
                done += 1
                return found
        return next(rest)

    return steps(step)
