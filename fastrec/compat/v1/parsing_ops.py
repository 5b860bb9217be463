# SPDX-License-Identifier: Apache-2.0
"""Examples and SequenceExamples into tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import fastrec
from fastrec import Bytes, ExampleParseError

from .._tf import tensor_proto as _tensor_proto
from .._tf.arrays import make_array
from .._tf.dtypes import DType, as_dtype, int64, string
from .._tf.features import (
    Checked,
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
    checked_context,
    checked_example,
    checked_sequence,
)
from .._tf.json_examples import example_of_json
from .._tf.ops.strings import mapped
from .._tf.parse_errors import parse_failure
from .._tf.sequence_errors import sequence_failure
from .._tf.shape import TensorShape, in_messages
from ._composites import SparseTensor, ragged_of
from ._nodes import Operation, Tensor
from ._ops import Array, invalid, pure, record
from .constants import convert_to_tensor
from .graph import create_op

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "RaggedFeature",
    "SparseFeature",
    "VarLenFeature",
    "decode_json_example",
    "make_ndarray",
    "make_tensor_proto",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "serialize_tensor",
]

_Flatten = Callable[[Any], "list[Any]"]
_Outputs = list[tuple[DType, Any]]


def array_of(column: Any) -> Array:
    """A column of fastrec's as the value of a tensor."""
    if isinstance(column, Bytes):
        return column.to_numpy()
    if isinstance(column, bytes):
        value = np.empty((), dtype=object)
        value[()] = column
        return value
    return np.asarray(column)


def _flat_sparse(column: Any) -> list[Any]:
    sizes = np.array(column.dense_shape, dtype=np.int64)
    return [column.indices, array_of(column.values), sizes]


def _flat_ragged(levels: int, splits: DType) -> _Flatten:
    def flatten(column: Any) -> list[Any]:
        found = []
        for _ in range(levels):
            found.append(np.asarray(column.row_splits, dtype=splits.numpy))
            column = column.values
        return [array_of(column), *found]

    return flatten


class Layout:
    """Assignment of the outputs of an operation to features.

    Parameters
    ----------
    checked : Checked
        The features.
    batch : list of int or None
        The leading dimensions of every tensor: one for a batch, none for a single record.
    """

    def __init__(self, checked: Checked, batch: list[int | None], frames: bool = False) -> None:
        self.outputs: _Outputs = []
        self.names: list[Any] = []
        self._flatten: list[tuple[Any, _Flatten]] = []
        self._rebuild: list[tuple[Any, int, Callable[..., Any]]] = []
        depth = len(batch)
        for item in checked.sparse:
            rank = item.rank + depth
            shapes: _Outputs = [(int64, [None, rank]), (item.dtype, [None]), (int64, [rank])]
            self._add(item.key, shapes, _flat_sparse, SparseTensor)
        for dense in checked.dense:
            rows = [None] if dense.rows else []
            shape = [*batch, *rows, *dense.shape]
            self._add(dense.key, [(dense.dtype, shape)], lambda c: [array_of(c)], lambda t: t)
        for ragged in checked.ragged:
            levels = ragged.levels + depth + (1 if frames else 0)
            values = (ragged.dtype, TensorShape([None, *ragged.inner]))
            outer: _Outputs = [(ragged.splits, [None])] * levels
            if levels and batch and batch[0] is not None:
                outer = [(ragged.splits, [batch[0] + 1]), *outer[1:]]
            self._add(
                ragged.key,
                [values, *outer],
                _flat_ragged(levels, ragged.splits),
                ragged_of,
            )

    def _add(
        self, key: Any, outputs: _Outputs, flatten: _Flatten, rebuild: Callable[..., Any]
    ) -> None:
        self.outputs.extend(outputs)
        self._flatten.append((key, flatten))
        self._rebuild.append((key, len(outputs), rebuild))

    def values(self, columns: dict[Any, Any]) -> list[Any]:
        """The values of the outputs, from fastrec's columns."""
        return [part for key, flatten in self._flatten for part in flatten(columns[key])]

    def tensors(self, outputs: Sequence[Tensor]) -> dict[Any, Any]:
        """Tensors for the user, from the outputs."""
        found, at = {}, 0
        for key, count, rebuild in self._rebuild:
            found[key] = rebuild(*outputs[at : at + count])
            at += count
        return found


def _serialized(value: Any) -> Tensor:
    tensor = convert_to_tensor(value, name="serialized")
    if tensor.dtype is not string:
        raise TypeError(
            f"Input 'serialized' of 'ParseExampleV2' Op has type {tensor.dtype.name} that does not "
            f"match expected type of string."
        )
    return tensor


def _names(value: Any) -> Tensor:
    empty: Any = np.empty(0, dtype=object)
    return convert_to_tensor(empty if value is None else value, string, "names")


def _single(tensor: Tensor, checked: Checked, name: str | None) -> Operation:
    layout = Layout(checked, [])
    features = checked.features

    def kernel(step: Any, record: Array) -> tuple[Any, ...]:
        if record.ndim:
            raise invalid(f"Input serialized must be a scalar, got {in_messages(record.shape)}")
        serialized: Any = record[()]
        try:
            columns = fastrec.parse_single_example(serialized, features)
        except ExampleParseError as error:
            raise parse_failure(error, checked, [serialized], single=True) from error
        return tuple(layout.values(columns))

    return create_op(
        "ParseSingleExample",
        (tensor,),
        layout.outputs,
        kernel,
        name=name or "ParseSingleExample",
        attrs={"features": features, "layout": layout},
    )


def parse_single_example(
    serialized: Any, features: Any, name: str | None = None, example_names: Any = None
) -> dict[Any, Any]:
    """One Example as tensors, by feature."""
    checked = checked_example(features, single=True)
    tensor = _serialized(serialized)
    if tensor.shape.ndims not in (0, None):
        raise ValueError("Input serialized must be a scalar")
    op = _single(tensor, checked, name)
    layout: Layout = op.attrs["layout"]
    return layout.tensors(op.outputs)


def parse_example(
    serialized: Any, features: Any, name: str | None = None, example_names: Any = None
) -> dict[Any, Any]:
    """A batch of Examples as tensors, by feature."""
    checked = checked_example(features)
    tensor = _serialized(serialized)
    rank = tensor.shape.ndims
    if rank is not None and rank > 1:
        raise ValueError(f"Shape must be at most rank 1 but is rank {rank} for 'ParseExampleV2'")
    if rank == 0:
        op = _single(tensor, checked, name or "ParseExample")
        single: Layout = op.attrs["layout"]
        return single.tensors(op.outputs)
    sizes = tensor.shape.sizes
    layout = Layout(checked, [None if sizes is None else sizes[0]])
    wanted = checked.features

    def kernel(step: Any, records: Array, names: Array) -> tuple[Any, ...]:
        rows, called = _rows(records, names)
        try:
            columns = fastrec.parse_example(rows, wanted)
        except ExampleParseError as error:
            raise parse_failure(error, checked, rows, called) from error
        return tuple(layout.values(columns))

    op = create_op(
        "ParseExampleV2",
        (tensor, _names(example_names)),
        layout.outputs,
        kernel,
        name=name or "ParseExample",
        attrs={"features": wanted, "layout": layout},
    )
    return layout.tensors(op.outputs)


def _rows(records: Array, names: Array) -> tuple[list[bytes], list[bytes]]:
    if records.ndim > 1:
        shape = in_messages(records.shape)
        raise invalid(f"Expected serialized to be a scalar or vector, got shape: {shape}")
    if names.size and names.shape != records.shape:
        raise invalid(
            f"Expected names have the same shape as serialized: name.shape="
            f"{in_messages(names.shape)}, serialized.shape={in_messages(records.shape)}"
        )
    return records.reshape(-1).tolist(), names.reshape(-1).tolist()


# SequenceExamples.


def _sequence(
    serialized: Any, context: Any, sequence: Any, names: Any, name: str | None, single: bool
) -> tuple[dict[Any, Any], dict[Any, Any], dict[Any, Any]]:
    if not (context or sequence):
        raise ValueError(
            "Both `context_features` and `sequence_features` argument are None, but at least one "
            "should have values."
        )
    before, frames = checked_context(context), checked_sequence(sequence)
    tensor = _serialized(serialized)
    if single and tensor.shape.ndims not in (0, None):
        raise ValueError("Input serialized must be a scalar")
    sizes = tensor.shape.sizes
    batch = [] if single else [None if not sizes else sizes[0]]
    layouts = [Layout(before, batch), Layout(frames, batch, frames=True)]
    keys = [] if single else [item.key for item in frames.dense]

    def kernel(step: Any, records: Array, called: Array) -> tuple[Any, ...]:
        rows = records.reshape(-1).tolist()
        try:
            if single:
                found: Any = fastrec.parse_single_sequence_example(
                    rows[0], before.features, frames.features
                )
            else:
                found = fastrec.parse_sequence_example(rows, before.features, frames.features)
        except ExampleParseError as error:
            names = called.reshape(-1).tolist()
            raise sequence_failure(error, before, frames, rows, names) from error
        lengths = [np.asarray(found[2][key], dtype=np.int64) for key in keys]
        parts = zip(layouts, found[:2], strict=True)
        return (*(v for layout, columns in parts for v in layout.values(columns)), *lengths)

    outputs = [*layouts[0].outputs, *layouts[1].outputs, *[(int64, batch)] * len(keys)]
    inputs = (tensor, _names(names))
    op = create_op("ParseSequenceExampleV2", inputs, outputs, kernel, name=name)
    cut = len(layouts[0].outputs)
    after = cut + len(layouts[1].outputs)
    return (
        layouts[0].tensors(op.outputs[:cut]),
        layouts[1].tensors(op.outputs[cut:after]),
        dict(zip(keys, op.outputs[after:], strict=True)),
    )


def parse_single_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """One SequenceExample as tensors: those of its context, and those of its feature lists."""
    context, lists, _ = _sequence(
        serialized, context_features, sequence_features, example_name, name, single=True
    )
    return context, lists


def parse_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_names: Any = None,
    name: str | None = None,
) -> tuple[dict[Any, Any], dict[Any, Any], dict[Any, Any]]:
    """A batch of SequenceExamples as tensors: context, feature lists, and how long these are."""
    return _sequence(
        serialized, context_features, sequence_features, example_names, name, single=False
    )


# Examples as JSON, and tensors as messages.


def decode_json_example(json_examples: Any, name: str | None = None) -> Tensor:
    """Examples in JSON as serialized ones."""
    op = mapped("DecodeJSONExample", example_of_json)
    return record(op, (convert_to_tensor(json_examples, string),), name)


def serialize_tensor(tensor: Any, name: str | None = None) -> Tensor:
    """A tensor as the bytes of a ``TensorProto``."""
    value = convert_to_tensor(tensor)

    def kernel(array: Array) -> Array:
        return make_array(_tensor_proto.serialize(array, value.dtype), string)

    return pure("SerializeTensor", kernel, (value,), string, [], name)


def parse_tensor(serialized: Any, out_type: Any, name: str | None = None) -> Tensor:
    """The tensor in the bytes of a ``TensorProto``."""
    dtype = as_dtype(out_type)

    def kernel(data: Array) -> Array:
        if data.ndim:
            shape = in_messages(data.shape)
            raise invalid(f"Expected `serialized` to be a scalar, got shape: {shape}")
        return _tensor_proto.parse(data.item(), dtype)

    return pure("ParseTensor", kernel, (convert_to_tensor(serialized, string),), dtype, None, name)


class TensorProto:
    """A tensor as a message, of which there are only the bytes."""

    def __init__(self, data: bytes = b"") -> None:
        self._data = data

    def SerializeToString(self) -> bytes:
        """Return its bytes."""
        return self._data

    def ParseFromString(self, serialized: bytes) -> int:
        """Take other bytes; return how many."""
        self._data = bytes(serialized)
        return len(self._data)

    @classmethod
    def FromString(cls, serialized: bytes) -> TensorProto:
        """One with these bytes."""
        return cls(bytes(serialized))


def make_tensor_proto(
    values: Any,
    dtype: Any = None,
    shape: Any = None,
    verify_shape: bool = False,
    allow_broadcast: bool = False,
) -> TensorProto:
    """An array as a ``TensorProto``."""
    array = make_array(values, None if dtype is None else as_dtype(dtype))
    if shape is not None:
        array = array.reshape(TensorShape(shape).as_list())
    return TensorProto(_tensor_proto.serialize(array, as_dtype(array.dtype)))


def make_ndarray(tensor: TensorProto) -> Array:
    """Return the array in a ``TensorProto``."""
    return _tensor_proto.decode(tensor.SerializeToString())
