# SPDX-License-Identifier: Apache-2.0
"""Convert dense and sparse values to ragged ones, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import fastrec
from fastrec import _core

from ..columns import arrays_of, flat_values, padded_strings
from ..dtypes import DType
from ..errors import invalid
from ..shape import in_messages
from ..specs import RaggedTensorSpec, SparseTensorSpec, TensorSpec, TypeSpec
from ..tensor import as_array
from . import Array, Block, Mismatch, Op
from .ragged import MAKE, Ragged, as_ragged, normal, rank_of, splits_of


def _from_tensor(x: Any, *how: Array, rank: int, way: str, dtype: DType) -> Any:
    array = as_array(x)
    if way == "padding":
        return _unpadded(array, rank, as_array(how[0]), dtype.numpy)
    if not way:
        return as_ragged(array, rank, dtype.numpy)
    lengths, *deeper = how
    width = array.shape[1]
    if len(lengths) != len(array):
        raise Mismatch(
            f"Shapes {array.shape[:2]} and {(len(lengths), width)} are incompatible"
        )  # fmt: skip
    sizes = np.minimum(lengths, width)
    rows = array[np.arange(width) < sizes[:, np.newaxis]]
    if deeper or rank > 1:
        more = "lengths" if deeper else ""
        rows = _from_tensor(rows, *deeper, rank=max(rank - 1, 1), way=more, dtype=dtype)
    return Ragged(rows, splits_of(sizes, dtype.numpy))


def _unpadded(array: Array, rank: int, padding: Array, dtype: Any) -> Any:
    if rank > 1:
        count, width, *rest = array.shape
        inner = _unpadded(array.reshape(count * width, *rest), rank - 1, padding, dtype)
        return Ragged(inner, np.arange(count + 1, dtype=dtype) * width)
    width = array.shape[1]
    kept = (array != padding).reshape(len(array), width, -1).any(axis=2)
    sizes = np.max(np.where(kept, np.arange(1, width + 1), 0), axis=1, initial=0)
    return Ragged(array[np.arange(width) < sizes[:, np.newaxis]], splits_of(sizes, dtype))


def _from_tensor_spec(
    specs: Sequence[Any], raws: Any, *, rank: int, way: str, dtype: DType
) -> list[TypeSpec]:
    sizes, depth = specs[0].shape.sizes, max(rank, len(specs) - 1 if way == "lengths" else 1)
    known = None if sizes is None else [sizes[0], *[None] * depth, *sizes[depth + 1 :]]
    return [RaggedTensorSpec(known, specs[0].dtype, depth, dtype)]


FROM_TENSOR = Op("RaggedTensorFromTensor", _from_tensor, _from_tensor_spec)


def _from_sparse(sparse: fastrec.Sparse, *, dtype: DType) -> Ragged:
    indices = sparse.indices
    if len(sparse.dense_shape) != 2:
        raise Mismatch("rank(st_input) must be 2.")
    rows, columns = indices.T
    lengths = np.bincount(rows, minlength=sparse.dense_shape[0])
    expected = np.where(np.diff(rows, prepend=-1) != 0, 0, np.append(0, columns[:-1] + 1))
    if not np.array_equal(columns, expected):
        raise invalid("SparseTensor is not right-ragged")
    return Ragged(as_array(sparse.values), splits_of(lengths, dtype.numpy))


FROM_SPARSE = Op(
    "RaggedTensorFromSparse",
    _from_sparse,
    lambda specs, _, *, dtype: [
        RaggedTensorSpec([(specs[0].shape.sizes or (None,))[0], None], specs[0].dtype, 1, dtype)
    ],
)


def _bounds(value: Any) -> list[int]:
    if not isinstance(value, Ragged):
        return list(as_array(value).shape)
    inner = normal(value)
    widest = int(inner.row_lengths.max(initial=0))
    return [len(inner), widest, *_bounds(inner.values)[1:]]


BOUNDING_SHAPE = Op(
    "RaggedBoundingShape",
    lambda r, *, axis, dtype: np.array(_bounds(r), dtype.numpy)[... if axis is None else axis],
    lambda specs, _, *, axis, dtype: [
        TensorSpec([specs[0].shape.ndims] if axis is None else np.shape(axis), dtype)
    ],
)


def _to_sparse(ragged: Ragged) -> fastrec.Sparse:
    sizes, value = _bounds(ragged), ragged
    columns = [np.arange(len(ragged), dtype=np.int64)]
    while isinstance(value, Ragged):
        value = normal(value)
        lengths = value.row_lengths
        columns = [np.repeat(column, lengths) for column in columns]
        columns.append(np.arange(len(columns[0])) - np.repeat(value.row_splits[:-1], lengths))
        value = value.values
    flat = as_array(value)
    if flat.ndim > 1:
        inner = int(np.prod(flat.shape[1:]))
        columns = [np.repeat(column, inner) for column in columns]
        within = np.indices(flat.shape[1:]).reshape(flat.ndim - 1, -1)
        columns += [np.tile(row, len(flat)) for row in within]
    return fastrec.Sparse(np.stack(columns, axis=1), flat.reshape(-1), tuple(sizes))


TO_SPARSE = Op(
    "RaggedTensorToSparse",
    _to_sparse,
    lambda specs, _: [SparseTensorSpec(specs[0].shape, specs[0].dtype)],
)


def _sparse_parts(flat: Any, splits: Any) -> tuple[Array, Any, Array]:
    found = _to_sparse(MAKE.kernel(flat, splits))
    return found.indices, found.values, np.array(found.dense_shape, np.int64)


def _sparse_parts_spec(specs: Sequence[Any], _: Any) -> list[TypeSpec]:
    return [
        TensorSpec([None, 2], "int64"),
        TensorSpec([None], specs[0].dtype),
        TensorSpec([2], "int64"),
    ]


def _sparse_parts_block(count: int, flat: Block, splits: Block) -> Any:
    """Convert elements whose values are vectors."""
    rows = flat.value
    if not (flat.many and splits.many and isinstance(rows, Ragged)):
        return None
    bounds = splits.value if isinstance(splits.value, Ragged) else as_array(splits.value)
    if isinstance(bounds, Ragged):
        first = bounds.row_splits - bounds.row_splits[0]
        begins = first[:-1] - np.arange(count)  # the first row of each element
        lengths = np.delete(np.diff(flat_values(bounds)), first[1:-1] - 1)
        counts = bounds.row_lengths - 1
    else:
        lengths = np.diff(bounds, axis=1).reshape(-1)
        counts = np.full(count, bounds.shape[1] - 1)
        begins = np.arange(count) * counts
    indices = np.empty((len(flat_values(rows)), 2), np.int64)
    indices[:, 0] = np.repeat(np.arange(len(lengths)) - np.repeat(begins, counts), lengths)
    indices[:, 1] = np.arange(len(indices)) - np.repeat(lengths.cumsum() - lengths, lengths)
    widest = np.zeros(count, np.int64)
    np.maximum.at(widest, np.repeat(np.arange(count), counts), lengths)
    of_each = arrays_of(indices, rows.row_splits - rows.row_splits[0])
    alike = (of_each.shapes == of_each.shapes[0]).all()
    placed = indices.reshape(count, *of_each.shapes[0]) if alike else of_each
    return placed, rows, np.stack([counts, widest], axis=1)


# Returns the indices, values and dense shape of ragged values with a single ragged dimension.
SPARSE_PARTS = Op("RaggedTensorToSparse", _sparse_parts, _sparse_parts_spec, _sparse_parts_block)


def _padded(ragged: Ragged, default: Any, *, shape: Sequence[int | None] | None) -> Any:
    """Pad the rows to one array, as long as the longest row or as `shape` requires."""
    filler = as_array(default)
    sizes = list(shape) if shape else [None] * rank_of(ragged)
    inner = ragged.flat_values.shape
    if filler.ndim >= len(inner) and filler.ndim:
        raise invalid(
            f"default_value.shape={in_messages(filler.shape)} and rt_input.flat_values.shape="
            f"{in_messages(inner)} are incompatible: default_value.rank = {filler.ndim}  must "
            f"be less than rt_input.flat_values.rank = {len(inner)}"
        )
    return _filled(ragged, filler[()], sizes)


def _filled(value: Any, filler: Any, sizes: Sequence[int | None]) -> Any:
    if not isinstance(value, Ragged):
        array = as_array(value)
        wanted = [n if size is None else size for size, n in zip(sizes, array.shape, strict=True)]
        if wanted[1:] == list(array.shape[1:]):
            return array
        out = np.empty((len(array), *wanted[1:]), array.dtype)
        out[...] = filler
        both = tuple(slice(min(m, n)) for m, n in zip(out.shape, array.shape, strict=True))
        out[both] = array[both]
        return out
    lengths = value.row_lengths
    most = int(lengths.max(initial=0))
    width = most if sizes[1] is None else sizes[1]
    rows = len(lengths) if sizes[0] is None else sizes[0]
    flat = flat_values(value)
    if rows == len(lengths) and not isinstance(flat, Ragged) and len(flat.shape) == 1:
        if isinstance(flat, fastrec.Bytes) and width >= most:
            return padded_strings(flat, lengths, width, filler)
        if isinstance(flat, np.ndarray) and flat.dtype != object:
            begins, shapes = np.cumsum(lengths) - lengths, np.minimum(lengths, width)
            return _core.pad_rows(flat, begins, shapes[:, np.newaxis], [width], filler)
    flat = as_array(_filled(value.values, filler, [None, *sizes[2:]]))
    out = np.empty((rows, width, *flat.shape[1:]), flat.dtype)
    out[...] = filler
    taken = np.minimum(lengths, width)[:rows]
    row = np.repeat(np.arange(len(taken)), taken)
    place = np.arange(len(row)) - np.repeat(np.cumsum(taken) - taken, taken)
    out[row, place] = flat[np.repeat(value.row_splits[:-1][:rows], taken) + place]
    return out


def _padded_spec(specs: Sequence[Any], _: Any, *, shape: Any) -> list[TypeSpec]:
    sizes = specs[0].shape.sizes
    if shape is not None:
        known = sizes or [None] * len(shape)
        sizes = [n if size is None else size for size, n in zip(shape, known, strict=True)]
    return [TensorSpec(sizes, specs[0].dtype)]


TO_TENSOR = Op("RaggedTensorToTensor", _padded, _padded_spec)
