# SPDX-License-Identifier: Apache-2.0
"""Sparse and ragged tensors in data sets: the tensors that they consist of in a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import fastrec

from .._tf.arrays import make_array
from .._tf.composite import RaggedValue
from .._tf.composite import SparseTensor as Eager
from .._tf.ops import Op
from .._tf.specs import RaggedTensorSpec, SparseTensorSpec, TensorSpec, TypeSpec
from .._tf.tensor import as_array
from ._nodes import Tensor
from .ragged import RaggedTensor, RaggedTensorValue
from .sparse import SparseTensor, SparseTensorValue

__all__ = [
    "COMPOSITES",
    "class_of",
    "eager",
    "make_op",
    "parts_of",
    "pieces",
    "put_together",
    "spec_of",
    "specs_of",
    "take_op",
]

COMPOSITES = (SparseTensor, RaggedTensor)
_CLASSES = {SparseTensorSpec: SparseTensor, RaggedTensorSpec: RaggedTensor}


def class_of(spec: TypeSpec) -> type[Any]:
    """Return the class of what has a spec."""
    return _CLASSES.get(type(spec), Tensor)


def pieces(value: Any) -> list[Tensor]:
    """The tensors that a tensor of any kind consists of."""
    found: list[Tensor] = value._fetch_parts()[0] if isinstance(value, COMPOSITES) else [value]
    return found


def spec_of(value: Any) -> TypeSpec:
    """Spec of a tensor of any kind."""
    sizes = value.shape.sizes
    if isinstance(value, RaggedTensor):
        splits = value.row_splits.dtype
        return RaggedTensorSpec(sizes, value.dtype, value.ragged_rank, splits)
    sparse = isinstance(value, SparseTensor)
    return (SparseTensorSpec if sparse else TensorSpec)(sizes, value.dtype)


def specs_of(spec: TypeSpec) -> list[tuple[Any, Any]]:
    """Types and shapes of the tensors that something of a spec consists of in a graph."""
    if isinstance(spec, SparseTensorSpec):
        rank = spec.shape.ndims
        return [("int64", [None, rank]), (spec.dtype, [None]), ("int64", [rank])]
    sizes = spec.shape.sizes
    if isinstance(spec, RaggedTensorSpec):
        inner = () if sizes is None else sizes[spec.ragged_rank + 1 :]
        first = None if sizes is None or sizes[0] is None else sizes[0] + 1
        rest = [(spec.row_splits_dtype, [None])] * (spec.ragged_rank - 1)
        return [(spec.dtype, [None, *inner]), (spec.row_splits_dtype, [first]), *rest]
    return [(spec.dtype, sizes)]


def put_together(specs: Sequence[TypeSpec], tensors: Sequence[Any]) -> list[Any]:
    """Tensors of all kinds of specs, of the tensors that they consist of."""
    left = iter(tensors)
    found: list[Any] = []
    for spec in specs:
        parts = [next(left) for _ in specs_of(spec)]
        if isinstance(spec, SparseTensorSpec):
            found.append(SparseTensor(*parts))
        elif isinstance(spec, RaggedTensorSpec):
            found.append(RaggedTensor.from_nested_row_splits(parts[0], parts[1:]))
        else:
            found.append(parts[0])
    return found


def parts_of(raw: Any) -> list[Any]:
    """The values of the tensors that something consists of in a graph."""
    if isinstance(raw, fastrec.Sparse):
        return [raw.indices, as_array(raw.values), np.array(raw.dense_shape, np.int64)]
    splits = []
    while isinstance(raw, fastrec.Ragged):
        splits.append(np.asarray(raw.row_splits))
        raw = raw.values
    return [as_array(raw), *splits]


def eager(value: Any, parts: Sequence[Any]) -> Any:
    """What data sets take for something like `value`, which has these parts."""
    if isinstance(value, (SparseTensor, SparseTensorValue)):
        indices, values, shape = parts
        return Eager._of(_sparse(indices, make_array(values), shape))
    if isinstance(value, (RaggedTensor, RaggedTensorValue)):
        return RaggedValue._of(_ragged(make_array(parts[0]), *parts[1:]))
    return parts[0]


def _sparse(indices: Any, values: Any, shape: Any) -> fastrec.Sparse:
    places = np.asarray(indices)
    return fastrec.Sparse(places, as_array(values), tuple(np.asarray(shape).tolist()))


def _ragged(flat: Any, *splits: Any) -> Any:
    whole: Any = as_array(flat)
    for each in reversed(splits):
        whole = fastrec.Ragged(whole, np.asarray(each))
    return whole


def _ragged_spec(specs: Sequence[TypeSpec]) -> TypeSpec:
    flat, *splits = specs
    rows = splits[0].shape.sizes
    count = None if not rows or rows[0] is None else rows[0] - 1
    shape = [count, *[None] * len(splits), *(flat.shape.sizes or (None,))[1:]]
    return RaggedTensorSpec(shape, flat.dtype, len(splits), splits[0].dtype)


_MAKE_SPARSE = Op(
    "SparseTensor",
    _sparse,
    lambda specs, _: [SparseTensorSpec([None] * (specs[2].shape.sizes or [0])[0], specs[1].dtype)],
)
_MAKE_RAGGED = Op("RaggedTensor", _ragged, lambda specs, _: [_ragged_spec(specs)])
_TAKE = Op(
    "Parts",
    lambda raw: tuple(parts_of(raw)),
    lambda specs, _: [TensorSpec(shape, dtype) for dtype, shape in specs_of(specs[0])],
)


def make_op(value: SparseTensor | RaggedTensor) -> Op:
    """The operation of a data set that puts together what is like `value`."""
    return _MAKE_SPARSE if isinstance(value, SparseTensor) else _MAKE_RAGGED


def take_op() -> Op:
    """The operation of a data set that takes apart what consists of several tensors."""
    return _TAKE
