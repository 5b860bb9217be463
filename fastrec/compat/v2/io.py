# SPDX-License-Identifier: Apache-2.0
"""``tf.io``: record files, Examples, images, lines and whole files."""

from __future__ import annotations

import glob
import itertools
import os
from typing import Any

import numpy as np

import fastrec

from .._tf import errors as _errors
from .._tf import gfile
from .._tf import tensor_proto as _tensor_proto
from .._tf.composite import SparseTensor
from .._tf.dtypes import as_dtype
from .._tf.faces import functions_of as _functions_of
from .._tf.records import TFRecordOptions, TFRecordWriter
from .._tf.specs import TensorSpec
from .._tf.tensor import as_array, convert_to_tensor
from .._tf.trace import Block, Op, run
from ._faces import codecs as _codecs
from .parsing import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
    parse_example,
    parse_sequence_example,
    parse_single_example,
    parse_single_sequence_example,
)
from .raw import decode_raw

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "RaggedFeature",
    "SparseFeature",
    "TFRecordOptions",
    "TFRecordWriter",
    "VarLenFeature",
    "decode_csv",
    "decode_raw",
    "deserialize_many_sparse",
    "gfile",
    "match_filenames_once",
    "matching_files",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "read_file",
    "serialize_sparse",
    "serialize_tensor",
    "write_file",
]

globals().update(_functions_of(_codecs))


def __getattr__(name: str) -> Any:
    from ._faces import encodings

    if name in (late := _functions_of(encodings)):
        return late[name]
    raise AttributeError(
        f"fastrec.compat.v2.io has no {name!r}; docs/compat-v2.md says what is covered"
    )


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


def write_file(filename: Any, contents: Any, name: str | None = None) -> None:
    """Make a file, and the directories that it is in."""
    path = _text(convert_to_tensor(filename, "string").array)
    try:
        if folder := os.path.dirname(path):
            os.makedirs(folder, exist_ok=True)
        with open(path, "wb") as file:
            file.write(convert_to_tensor(contents, "string").numpy())
    except OSError as error:
        raise _errors.translated(error) from error


def matching_files(pattern: Any, name: str | None = None) -> Any:
    """The names of files that match patterns, sorted."""
    patterns = convert_to_tensor(pattern, "string").array.reshape(-1).tolist()
    names = sorted({name for each in patterns for name in glob.glob(each)})
    return convert_to_tensor(names or np.empty(0, object), "string")


match_filenames_once = matching_files


def serialize_tensor(tensor: Any, name: str | None = None) -> Any:
    """A tensor as the bytes of a ``TensorProto``."""
    value = convert_to_tensor(tensor)
    dtype = value.dtype
    op = Op(
        "SerializeTensor",
        lambda x: _tensor_proto.serialize(as_array(x), dtype),
        lambda *_: [TensorSpec((), "string")],
    )
    return run(op, [value])


def parse_tensor(serialized: Any, out_type: Any, name: str | None = None) -> Any:
    """The tensor in the bytes of a ``TensorProto``."""
    dtype = as_dtype(out_type)
    op = Op(
        "ParseTensor",
        lambda x: _tensor_proto.parse(x if isinstance(x, bytes) else as_array(x).item(), dtype),
        lambda *_: [TensorSpec(None, dtype)],
    )
    return run(op, [convert_to_tensor(serialized, "string")])


def serialize_sparse(
    sp_input: SparseTensor, name: str | None = None, out_type: Any = "string"
) -> Any:
    """A sparse tensor as three strings: indices, values and shape."""
    parts = [sp_input.indices, sp_input.values, sp_input.dense_shape]
    return convert_to_tensor([serialize_tensor(part).numpy() for part in parts], "string")


def deserialize_many_sparse(
    serialized_sparse: Any, dtype: Any, rank: Any = None, name: str | None = None
) -> Any:
    """Rows of what :func:`serialize_sparse` makes, as one sparse tensor of a dimension more."""
    from .._tf.columns import batch_of
    from .._tf.trace import wrap

    rows = []
    for indices, values, shape in convert_to_tensor(serialized_sparse, "string").array.tolist():
        sizes = _tensor_proto.parse(shape, as_dtype("int64")).tolist()
        found = _tensor_proto.parse(values, as_dtype(dtype))
        where = _tensor_proto.parse(indices, as_dtype("int64")).reshape(-1, len(sizes))
        rows.append(fastrec.Sparse(where, found, tuple(sizes)))
    return wrap(batch_of(rows))


def _defaults(record_defaults: Any) -> list[Any]:
    from .._tf.kernels.csv import Field

    fields = []
    for default in record_defaults:
        if default.__class__.__name__ == "DType" or isinstance(default, type):
            fields.append(Field(as_dtype(default).numpy, None))
            continue
        array = convert_to_tensor(default).array.reshape(-1)
        fields.append(Field(array.dtype, array[0] if array.size else None))
    return fields


def _check_columns(chosen: Any, fields: int) -> None:
    if chosen is None:
        return
    if any(column < 0 for column in chosen):
        raise ValueError("select_cols contains negative values.")
    if any(a >= b for a, b in itertools.pairwise(chosen)):
        raise ValueError("select_cols is not strictly increasing.")
    if len(chosen) != fields:
        raise ValueError("Length of select_cols and record_defaults do not match.")


def decode_csv(
    records: Any,
    record_defaults: Any,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Any = None,
    name: str | None = None,
) -> list[Any]:
    """Lines of comma-separated values as a tensor for each column."""
    from .._tf.kernels.csv import read_lines

    fields = _defaults(record_defaults)
    _check_columns(select_cols, len(fields))
    options = (field_delim.encode(), use_quote_delim, na_value.encode(), select_cols)

    def kernel(lines: Any) -> Any:
        array = as_array(lines)
        columns = read_lines(array.reshape(-1).tolist(), fields, *options)
        return tuple(column.reshape(array.shape) for column in columns)

    def block(_: int, lines: Block) -> Any:
        return tuple(read_lines(list(lines.value), fields, *options)) if lines.many else None

    def infer(specs: Any, _: Any) -> Any:
        return [TensorSpec(specs[0].shape, as_dtype(field.dtype)) for field in fields]

    found = run(Op("DecodeCSV", kernel, infer, block), [convert_to_tensor(records, "string")])
    return list(found) if isinstance(found, tuple) else [found]
