# SPDX-License-Identifier: Apache-2.0
"""Whole files, files of elements, tables, and strings that are split."""

from __future__ import annotations

import glob
import os
from typing import Any

import numpy as np

import fastrec

from .._tf import errors as _errors
from .._tf import files as _files
from .._tf.composite import RaggedTensor
from .._tf.data.dataset import Dataset
from .._tf.errors import invalid
from .._tf.faces import lookup as _mutable
from .._tf.faces import lookup as _tables
from .._tf.ops import Block, Op
from .._tf.ops.cutting import SPLIT_ONE, Cut
from .._tf.records import TFRecordWriter as _Writer
from .._tf.records import as_path
from .._tf.shape import in_messages
from .._tf.specs import RaggedTensorSpec, TensorSpec, TypeSpec
from .._tf.tensor import EagerTensor, as_array, convert_to_tensor
from .._tf.tracing.recording import run
from ._faces import EAGER


def _text(value: Any) -> str:
    name: Any = as_array(value)[()]
    return os.fsdecode(name)


def _read(name: Any) -> bytes:
    path = _text(name)
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise _errors.translated(error) from error


_READ_FILE = Op("ReadFile", _read, lambda *_: [TensorSpec((), "string")])


def read_file(filename: Any, name: str | None = None) -> Any:
    """Return the contents of a file."""
    if isinstance(filename, os.PathLike):
        filename = os.fspath(filename)
    return run(_READ_FILE, [convert_to_tensor(filename, "string")])


def _write(name: Any, contents: Any) -> tuple[()]:
    if np.ndim(as_array(name)):
        shape = list(as_array(name).shape)
        raise invalid(f"Input filename tensor must be scalar, but had shape: {shape}")
    _files.write_file(_text(name), as_array(contents).item())
    return ()


_WRITE_FILE = Op("WriteFile", _write, lambda *_: [], pure=False)


def write_file(filename: Any, contents: Any, name: str | None = None) -> None:
    """Write a file, and create its parent directories."""
    run(_WRITE_FILE, [convert_to_tensor(each, "string") for each in (filename, contents)])


def matching_files(pattern: Any, name: str | None = None) -> Any:
    """Return the sorted names of files that match patterns."""
    patterns = convert_to_tensor(pattern, "string").array.reshape(-1).tolist()
    names = sorted({name for each in patterns for name in glob.glob(each)})
    return convert_to_tensor(names or np.empty(0, object), "string")


def _plain(value: Any) -> Any:
    """Return the value of a tensor of one string; return anything else unchanged."""
    return value.numpy() if isinstance(value, EagerTensor) else value


class TFRecordWriter:
    """Writes the elements of a dataset of strings to a file."""

    def __init__(self, filename: Any, compression_type: Any = None) -> None:
        self._arguments = as_path(_plain(filename)), compression_type

    def write(self, dataset: Any) -> None:
        """Write every element as a record."""
        structure = getattr(dataset, "element_spec", None)
        if not isinstance(structure, TensorSpec) or structure.dtype.name != "string":
            raise TypeError(
                "`dataset` must be a `tf.data.Dataset` of scalar strings, got "
                f"{dataset if structure is None else structure}."
            )
        with _Writer(*self._arguments) as writer:
            for record in dataset.as_numpy_iterator():
                writer.write(record)


def save(dataset: Any, path: Any, compression: Any = None, shard_func: Any = None) -> None:
    """Write the elements of a dataset to a folder."""
    dataset.save(path, compression, shard_func)


def load(
    path: Any, element_spec: Any = None, compression: Any = None, reader_func: Any = None
) -> Any:
    """Return the dataset of the elements that :func:`save` wrote to a directory."""
    return Dataset.load(path, element_spec, compression, reader_func)


def cardinality(dataset: Any) -> Any:
    """Return the number of elements; -1 for an infinite dataset, -2 if it is unknown."""
    return dataset.cardinality()


class StaticHashTable(_tables.StaticHashTable):
    """Values by key; `default_value` for unknown keys."""

    _version = EAGER


class StaticVocabularyTable(_tables.StaticVocabularyTable):
    """Numbers of words; unknown words share additional numbers."""

    _version = EAGER


class MutableHashTable(_mutable.MutableHashTable):
    """Values by key, which a program may change."""

    _version = EAGER
    _done = staticmethod(lambda _: None)


class DenseHashTable(_mutable.DenseHashTable):
    """Values by key, which a program may change; one key marks empty slots."""

    _version = EAGER
    _done = staticmethod(lambda _: None)


def _rows_of_parts(texts: Any, *, sep: bytes, cut: Cut) -> fastrec.Ragged:
    strings = texts if isinstance(texts, fastrec.Bytes) else as_array(texts)
    rows = fastrec.Ragged(*cut.many(strings, sep))
    for axis in range(len(strings.shape) - 1, 0, -1):
        count = int(np.prod(strings.shape[:axis]))
        rows = fastrec.Ragged(rows, np.arange(count + 1, dtype=np.int64) * strings.shape[axis])
    return rows


def _parts_spec(specs: Any, *_: Any, **__: Any) -> list[TypeSpec]:
    sizes = specs[0].shape.sizes
    return [RaggedTensorSpec([*sizes[:1], *[None] * len(sizes)], "string", len(sizes))]


def _many_rows_of_parts(_: int, texts: Block, *, sep: bytes, cut: Cut) -> Any:
    column = texts.value
    if not isinstance(column, (np.ndarray, fastrec.Bytes)) or len(column.shape) != 2:
        return None
    size = column.shape[1]
    if isinstance(column, fastrec.Bytes):
        strings: Any = fastrec.Bytes(column.data, column.offsets)
    else:
        strings = column.reshape(-1)
    flat, splits = cut.many(strings, sep)
    begins = range(0, len(column) * size, size)
    own = [splits[at : at + size + 1] for at in begins]
    return [fastrec.Ragged(flat[rows[0] : rows[-1]], rows - rows[0]) for rows in own]


_SPLIT = Op("StringSplitV2", _rows_of_parts, _parts_spec, _many_rows_of_parts)


def split(input: Any, sep: Any = None, maxsplit: int = -1, name: str | None = None) -> Any:
    """Split strings at separators; several strings become a ragged tensor."""
    if isinstance(input, RaggedTensor):
        return _of_values(split(input.flat_values, sep, maxsplit), input)
    mark = as_array(b"" if sep is None else convert_to_tensor(sep, "string").array)
    if mark.ndim:
        raise invalid(f"sep must be a scalar, got shape: {in_messages(mark.shape)}")
    between = mark.item()
    tensor = convert_to_tensor(input, "string")
    rank = tensor.shape.ndims
    if rank is None:
        raise ValueError("Rank of input must be known.")
    return run(_SPLIT if rank else SPLIT_ONE, [tensor], sep=between, cut=Cut(most=maxsplit))


def _of_values(found: RaggedTensor, outer: RaggedTensor) -> RaggedTensor:
    """Replace the values of a ragged tensor by rows."""
    for splits in reversed(outer.nested_row_splits):
        found = RaggedTensor.from_row_splits(found, splits)
    return found
