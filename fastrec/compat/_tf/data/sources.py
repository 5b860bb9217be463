# SPDX-License-Identifier: Apache-2.0
"""Source stages: arrays, numbers, generators and files, also parsed by a Batcher."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

import fastrec
from fastrec.errors import FastrecError

from .. import errors as _errors
from ..columns import Variants, rows_of
from ..record_errors import data_error
from ..records import as_path, compression_of
from ..specs import TensorSpec, TypeSpec, unbatched
from ..structure import LEAF
from ..tensor import convert_to_tensor
from ..tracing.recording import Symbol, spec_of
from ..tracing.trace import Trace
from ..width import BEFORE_LARGE, READ
from .pipeline import UNKNOWN, Stage, in_columns, loose_spec
from .streams import Chunks, Each, Pull, Rows, chunks_of, steps

T = TypeVar("T")


class Tensors(Stage):
    """Stage with a single element."""

    def __init__(self, structure: Any, values: Sequence[Any]) -> None:
        super().__init__()
        self._structure, self.columns = structure, tuple(values)

    structure = property(lambda self: self._structure)

    @property
    def specs(self) -> list[TypeSpec]:
        return [_spec_of(value) for value in self.columns]

    def cardinality(self) -> int:
        return 1

    def start(self, ask: int) -> Pull:
        return Each(iter([self.columns]))


def _spec_of(value: Any) -> TypeSpec:
    found: TypeSpec = loose_spec(value) if isinstance(value, (Stage, Variants)) else spec_of(value)
    return found


class Slices(Stage):
    """Stage over the rows of arrays; a traced function sees only their specs."""

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

    @property
    def is_array(self) -> bool:
        """Whether rows can be cut from all parts."""
        apart = (fastrec.Sparse, fastrec.Ragged, Variants)
        return not any(isinstance(column, apart) for column in self.columns)

    def _may_run_ahead(self) -> bool:
        return self.is_array

    def start(self, ask: int) -> Pull:
        if ask == 1 or not self.is_array:
            return Each(zip(*map(rows_of, self.columns), strict=True))

        def rows(at: int) -> Rows:
            parts = [column[at : at + ask] for column in self.columns]
            own = [part.copy() if isinstance(part, np.ndarray) else part for part in parts]
            return Rows(min(ask, self.count - at), own)

        return chunks_of(map(rows, range(0, self.count, ask)))


def _length(column: Any) -> int:
    if isinstance(column, (bytes, np.ndarray)) and not np.ndim(column):
        raise ValueError("Unbatching a tensor is only supported for rank >= 1")
    return len(column)


class Numbers(Stage):
    """Stage over integers from `start` to `stop` by `step`."""

    structure = LEAF

    def __init__(self, start: int, stop: int, step: int, dtype: Any) -> None:
        super().__init__()
        self._range, self._dtype = range(start, stop, step), dtype

    @property
    def specs(self) -> list[TypeSpec]:
        return [TensorSpec((), self._dtype)]

    def cardinality(self) -> int:
        return len(self._range)

    def start(self, ask: int) -> Pull:
        kind = self._dtype.numpy
        if ask == 1:
            return Each((np.asarray(number, kind),) for number in self._range)
        parts = (self._range[at : at + ask] for at in range(0, len(self._range), ask))
        return chunks_of(Rows(len(part), [np.array(part, kind)]) for part in parts)


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


class Records(Stage):
    """Stage over the records of files, one file after the other."""

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

    def start(self, ask: int) -> Pull:
        def of_file(path: str) -> Iterator[Rows]:
            reader = fastrec.Reader([existing(path)], compression=self.compression)
            return map(_as_rows, reader.blocks(min(max(ask, BEFORE_LARGE), READ)))

        compressed = self.compression is not None
        translate = lambda error: data_error(error, compressed=compressed)  # noqa: E731
        return chunks_of(each_of_files(self.paths(), of_file, translate))


def _as_rows(strings: fastrec.Bytes) -> Rows:
    return Rows(len(strings), [strings])


class Files(Stage):
    """Stage over values that a function reads from files: lines or fixed-length records.

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

    def start(self, ask: int) -> Pull:
        def of_file(path: str) -> Iterator[Any]:
            with self._open(path) as file:
                if self._read_blocks is None:
                    yield from zip(self._read(file, path), strict=True)
                else:
                    yield from map(_as_rows, self._read_blocks(file))

        found = each_of_files(iter(self._paths), of_file, _errors.translated)
        return Each(found) if self._read_blocks is None else chunks_of(found)

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


def plain_files(stage: Stage) -> list[str] | None:
    """Return the record files of a stage if every file can be opened by name."""
    if not in_columns() or not isinstance(stage, Records) or stage.compression is not None:
        return None
    paths = stage.fixed_paths
    if not paths or not all(map(os.path.isfile, paths)):
        return None
    if sum(map(os.path.getsize, paths)) > _MOST_BYTES:
        return None
    reader = fastrec.Reader(paths, index=False)
    return None if any(map(reader.is_compressed, paths)) else paths


def parsed_rows(stage: Stage, trace: Trace, size: int, is_large: bool) -> Each | Chunks | None:
    """Begin an iteration over the rows of `stage` as the first operation of `trace` parses them.

    Return None if a Batcher cannot: the stage must have records of files, `size` of them requested
    at a time, or batches of such records.
    """
    from .batching import Batch

    in_batches = type(stage) is Batch
    if trace.parsing is None or not (in_batches or (size and not is_large)):
        return None
    if (paths := plain_files(stage.inputs[0] if in_batches else stage)) is None:
        return None
    if not isinstance(stage, Batch):
        return chunks_of(_parsed(paths, trace.parsing, size))
    rows = filter(stage.wanted, _parsed(paths, trace.parsing, stage.size))
    return Each(tuple(batch.columns) for batch in rows)


def _parsed(paths: list[str], parsing: Any, size: int) -> Iterator[Rows]:
    with fastrec.Batcher(paths, parsing.features, size) as batcher:
        for columns in batcher:
            found = parsing.columns(columns)
            yield Rows(len(next(iter(columns.values()))), list(found))
