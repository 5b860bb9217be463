# SPDX-License-Identifier: Apache-2.0
"""Sparse tensors: places, values there, and the size of the whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._tf.arrays import make_array
from .._tf.dtypes import DType, int64, string
from .._tf.kernels.shaping import new_sizes
from .._tf.shape import TensorShape, in_messages
from . import _missing
from ._graph import Graph
from ._nodes import Operation, Tensor, operators
from ._ops import Array, invalid, pure
from .constants import convert_to_tensor, shape_value
from .graph import create_op

__all__ = [
    "SparseTensor",
    "SparseTensorValue",
    "sparse_placeholder",
    "sparse_reorder",
    "sparse_reshape",
    "sparse_tensor_to_dense",
    "sparse_to_dense",
]


_UNSORTED = (
    "is out of order. Many sparse ops require sorted indices.\n"
    "    Use `tf.sparse.reorder` to create a correctly ordered copy."
)


class SparseTensorValue(NamedTuple):
    """Value of a sparse tensor in a session."""

    indices: Any
    values: Any
    dense_shape: Any


class SparseTensor:
    """A tensor of which most elements are not there.

    Parameters
    ----------
    indices : Tensor of int64, shape (n, rank)
        Where each value is.
    values : Tensor of n
        The values.
    dense_shape : Tensor of int64, shape (rank,)
        The sizes of the whole.
    """

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        self.indices = convert_to_tensor(indices, int64, "indices")
        self.values = convert_to_tensor(values, name="values")
        self.dense_shape = convert_to_tensor(dense_shape, int64, "dense_shape")
        places = self.indices.shape.with_rank(2)
        places[:1].merge_with(self.values.shape.with_rank(1))
        places[1:].merge_with(self.dense_shape.shape.with_rank(1))

    @classmethod
    def from_value(cls, value: Any) -> SparseTensor:
        """A constant of a :class:`SparseTensorValue`; a sparse tensor itself."""
        if isinstance(value, SparseTensor):
            return value
        if not isinstance(value, SparseTensorValue):
            raise TypeError(f"Neither a SparseTensor nor SparseTensorValue: {value}.")
        return cls(*value)

    @property
    def graph(self) -> Graph:
        """The graph that it belongs to."""
        return self.values.graph

    @property
    def op(self) -> Operation:
        """The operation that gives the values."""
        return self.values.op

    @property
    def dtype(self) -> DType:
        """The type of the values."""
        return self.values.dtype

    @property
    def name(self) -> str:
        """The name of the values."""
        return self.values.name

    @property
    def shape(self) -> TensorShape:
        """Static shape of the dense tensor."""
        return shape_value(self.dense_shape)

    def get_shape(self) -> TensorShape:
        """Return the static shape of the dense tensor."""
        return self.shape

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Its value, from `session` or from the default one."""
        return operators["session"]("eval", session, self.graph).run(self, feed_dict)

    def _with_values(self, values: Tensor) -> SparseTensor:
        return SparseTensor(self.indices, values, self.dense_shape)

    def _fetch_parts(self) -> tuple[list[Tensor], Any]:
        return [self.indices, self.values, self.dense_shape], SparseTensorValue

    def _feed_parts(self, value: Any) -> Iterable[tuple[Tensor, Any]]:
        return zip((self.indices, self.values, self.dense_shape), value, strict=True)

    def __repr__(self) -> str:
        return (
            f"SparseTensor(indices={self.indices}, values={self.values}, "
            f"dense_shape={self.dense_shape})"
        )


def sparse_placeholder(
    dtype: Any, shape: Sequence[Any] | None = None, name: str | None = None
) -> SparseTensor:
    """A sparse tensor whose value is given to each run."""
    from .constants import placeholder

    stem = name or "Placeholder"
    rank = None if shape is None else len(shape)
    sizes: Any = placeholder(int64, [rank], f"{stem}/shape")
    if shape is not None and None not in shape:
        sizes = make_array(list(shape), int64)
    return SparseTensor(
        placeholder(int64, [None, rank], f"{stem}/indices"),
        placeholder(dtype, [None], f"{stem}/values"),
        sizes,
    )


def dense_array(
    indices: Array, sizes: Array, values: Array, default: Array, validate: bool = True
) -> Array:
    """The whole array, `default` where there is no value."""
    count, rank = (len(indices) if indices.ndim else 1), len(sizes)
    places = indices.reshape(count, rank if indices.size else 0)
    whole = np.full(tuple(int(n) for n in sizes), default[()], dtype=values.dtype)
    if places.size:
        _check_places(places, sizes, validate)
        whole[tuple(places.T)] = values
    return whole


def _check_places(places: Array, sizes: Array, validate: bool) -> None:
    outside = np.flatnonzero(((places < 0) | (places >= sizes)).any(axis=1))
    if outside.size:
        at = outside[0]
        place = ",".join(str(i) for i in places[at])
        raise invalid(
            f"indices[{at}] = [{place}] is out of bounds: need 0 <= index < "
            f"{in_messages(sizes.tolist())}"
        )
    if not validate or len(places) < 2:
        return
    later, earlier = places[1:], places[:-1]
    differ = later != earlier
    first = differ.argmax(axis=1)
    rows = np.arange(len(first))
    same = ~differ.any(axis=1)
    less = later[rows, first] < earlier[rows, first]
    bad = np.flatnonzero(same | less)
    if bad.size:
        at = bad[0] + 1
        place = ",".join(str(i) for i in places[at])
        how = "is repeated" if same[bad[0]] else _UNSORTED
        raise invalid(f"indices[{at}] = [{place}] {how}")


def _filler(default: Any, dtype: DType) -> Tensor:
    if default is None or (dtype is string and isinstance(default, int) and default == 0):
        default = b"" if dtype is string else 0
    return convert_to_tensor(default, dtype)


def sparse_to_dense(
    sparse_indices: Any,
    output_shape: Any,
    sparse_values: Any,
    default_value: Any = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """The whole array that has some values at some places."""
    values = convert_to_tensor(sparse_values)
    sizes = convert_to_tensor(output_shape)
    inputs = [
        convert_to_tensor(sparse_indices),
        sizes,
        values,
        _filler(default_value, values.dtype),
    ]

    def kernel(i: Array, s: Array, v: Array, d: Array) -> Array:
        return dense_array(i, s, v, d, validate_indices)

    return pure("SparseToDense", kernel, inputs, values.dtype, shape_value(sizes), name)


def sparse_tensor_to_dense(
    sp_input: Any,
    default_value: Any = None,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """The whole array, `default_value` where there is no value."""
    sparse = SparseTensor.from_value(sp_input)
    return sparse_to_dense(
        sparse.indices, sparse.dense_shape, sparse.values, default_value, validate_indices, name
    )


def sparse_reorder(sp_input: Any, name: str | None = None) -> SparseTensor:
    """The same values, sorted by their places; those of one place stay in their order."""
    sparse = SparseTensor.from_value(sp_input)

    def kernel(step: Any, indices: Array, values: Array) -> tuple[Array, Array]:
        order = np.lexsort(indices.T[::-1]) if indices.size else np.arange(len(values))
        return indices[order], values[order]

    outputs = [(int64, sparse.indices.shape), (sparse.dtype, sparse.values.shape)]
    inputs = (sparse.indices, sparse.values)
    op = create_op("SparseReorder", inputs, outputs, kernel, name=name)
    return SparseTensor(op.outputs[0], op.outputs[1], sparse.dense_shape)


def sparse_reshape(sp_input: Any, shape: Any, name: str | None = None) -> SparseTensor:
    """The same values in a whole of another shape; -1 stands for what is left."""
    sparse, wanted = SparseTensor.from_value(sp_input), convert_to_tensor(shape, int64)

    def kernel(step: Any, indices: Array, sizes: Array, new: Array) -> tuple[Array, Array]:
        total = int(np.prod(sizes))
        # The shape alone matters, so that the array behind it is one number, over and over.
        target = new_sizes((total,), new.reshape(-1).tolist())
        flat = np.ravel_multi_index(tuple(indices.T), tuple(sizes)) if len(indices) else []
        places = np.array(np.unravel_index(flat, target) if len(indices) else [], dtype=np.int64)
        return places.reshape(len(target), -1).T, np.array(target, dtype=np.int64)

    known = shape_value(wanted)
    outputs = [(int64, [None, known.ndims]), (int64, [known.ndims])]
    inputs = (sparse.indices, sparse.dense_shape, wanted)
    op = create_op("SparseReshape", inputs, outputs, kernel, name=name)
    return SparseTensor(op.outputs[0], sparse.values, op.outputs[1])


# As tf.sparse has them.
to_dense, reorder, reshape = sparse_tensor_to_dense, sparse_reorder, sparse_reshape
placeholder = sparse_placeholder


def __getattr__(name: str) -> Any:
    raise _missing.error("sparse", name)
