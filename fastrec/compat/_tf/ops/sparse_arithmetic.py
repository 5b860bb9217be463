# SPDX-License-Identifier: Apache-2.0
"""Arithmetic, products and reductions of sparse values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import invalid
from ..shape import in_messages
from ..specs import SparseTensorSpec, TensorSpec, TypeSpec
from ..tensor import as_array
from . import Array, Op, constant_of, same_spec
from .segments import combined, numbered
from .sparse import Sparse, dense_array, picked


def _check_shapes(one: Sparse, other: Sparse) -> None:
    a, b = one.dense_shape, other.dense_shape
    if len(a) != len(b):
        raise invalid(f"Ranks of input tensors must match, but saw ranks: {len(a)} and {len(b)}")
    for at, (m, n) in enumerate(zip(a, b, strict=True)):
        if m != n:
            raise invalid(f"Operands' shapes do not match: got {m} and {n} for dimension {at}")


def _merged(one: Sparse, other: Sparse) -> tuple[Array, Array, Array, Array]:
    """Return the union of indices, both operands' values there, and how many have a value.

    A missing value is 0.
    """
    _check_shapes(one, other)
    places, number = _numbered(np.concatenate([one.indices, other.indices]), one.dense_shape)
    both = np.zeros((2, len(places)), as_array(one.values).dtype)
    both[0, number[: len(one.indices)]] = one.values
    both[1, number[len(one.indices) :]] = other.values
    return places, both[0], both[1], np.bincount(number, minlength=len(places))


def _numbered(places: Array, sizes: Sequence[int]) -> tuple[Array, Array]:
    """Return the distinct indices in ascending order, and the position of each index in them."""
    if math.prod(sizes) >= 1 << 63 or (places.size and (places < 0).any()):
        places, number = np.unique(places, axis=0, return_inverse=True)
        return places, number.reshape(-1)
    steps = np.cumprod([1, *sizes[:0:-1]], dtype=np.int64)[::-1][: len(sizes)]
    keys = places @ steps if sizes else np.zeros(len(places), np.int64)
    order = np.argsort(keys, kind="stable")  # stable sorting is fast for ascending runs
    ascending = keys[order]
    is_new = np.ones(len(keys), bool)
    np.not_equal(ascending[1:], ascending[:-1], out=is_new[1:])
    number = np.empty(len(keys), np.int64)
    number[order] = np.cumsum(is_new) - 1
    return places[order[is_new]], number


def _add(one: Sparse, other: Sparse, least: Array) -> Sparse:
    places, a, b, count = _merged(one, other)
    total = a + b
    kept: Any = (np.abs(total) >= least) | (count == 1)
    return picked(Sparse(places, total, one.dense_shape), kept, one.dense_shape)


ADD = Op("SparseAdd", _add, same_spec)


def _either(name: str, choose: Callable[..., Any]) -> Op:
    def kernel(one: Sparse, other: Sparse) -> Sparse:
        places, a, b, _ = _merged(one, other)
        return Sparse(places, choose(a, b), one.dense_shape)

    return Op(name, kernel, same_spec)


MAXIMUM = _either("SparseSparseMaximum", np.maximum)
MINIMUM = _either("SparseSparseMinimum", np.minimum)


def _add_dense(sparse: Sparse, dense: Array) -> Array:
    if len(sparse.dense_shape) != dense.ndim:
        raise invalid(f"Dimensions do not match: sparse side {len(sparse.dense_shape)} vs dense "
                      f"side {dense.ndim}")  # fmt: skip
    for at, (m, n) in enumerate(zip(sparse.dense_shape, dense.shape, strict=True)):
        if m != n:
            raise invalid(
                f"Dimension {at} does not equal (no broadcasting is supported): sparse side {m} vs "
                f"dense side {n}"
            )
    whole = dense.copy()
    np.add.at(whole, tuple(sparse.indices.T), sparse.values)
    return whole


ADD_DENSE = Op("SparseTensorDenseAdd", _add_dense, lambda specs, _: [specs[1]])


def _scaled(name: str, function: Callable[..., Any]) -> Op:
    def kernel(sparse: Sparse, dense: Array) -> Sparse:
        at = np.broadcast_to(dense, sparse.dense_shape)[tuple(sparse.indices.T)]
        return Sparse(sparse.indices, function(sparse.values, at), sparse.dense_shape)

    def infer(specs: Sequence[Any], _: Any) -> list[TypeSpec]:
        one = np.ones(0, specs[0].dtype.numpy)
        return [SparseTensorSpec(specs[0].shape, function(one, one).dtype)]

    return Op(name, kernel, infer)


MULTIPLY = _scaled("SparseDenseCwiseMul", np.multiply)
DIVIDE = _scaled("SparseDenseCwiseDiv", np.true_divide)


def _matmul(sparse: Sparse, dense: Array, *, adjoint_a: bool, adjoint_b: bool) -> Array:
    places, right = sparse.indices, dense.conj().T if adjoint_b else dense
    row, column = (places[:, 1], places[:, 0]) if adjoint_a else (places[:, 0], places[:, 1])
    rows, inner = sparse.dense_shape[::-1] if adjoint_a else sparse.dense_shape
    if inner != len(right):
        shown = ", ".join(map(str, sparse.dense_shape))
        raise invalid(
            f"Cannot multiply A and B because inner dimension does not match: {inner} vs. "
            f"{len(right)}.  Did you forget a transpose?  Dimensions of A: [{shown}).  Dimensions "
            f"of B: {in_messages(dense.shape)}"
        )
    values = sparse.values.conj() if adjoint_a else sparse.values
    return combined("Sum", values[:, np.newaxis] * right[column], row, rows)


def _matmul_spec(
    specs: Sequence[Any], _: Any, *, adjoint_a: bool, adjoint_b: bool
) -> list[TypeSpec]:
    left, right = (specs[i].shape.sizes or (None, None) for i in (0, 1))
    return [TensorSpec([left[int(adjoint_a)], right[int(not adjoint_b)]], specs[1].dtype)]


MATMUL = Op("SparseTensorDenseMatMul", _matmul, _matmul_spec)


def _reduce(sparse: Sparse, *along: Array, kind: str, keepdims: bool, as_sparse: bool) -> Any:
    rank, values = len(sparse.dense_shape), as_array(sparse.values)
    axes = along[0].reshape(-1).tolist() if along else list(range(rank))
    for axis in axes:
        if not -rank <= axis < rank:
            raise invalid(f"Invalid reduction dimension {axis}, for input with {rank} dimensions.")
    gone = {axis % rank for axis in axes}
    left = [at for at in range(rank) if at not in gone]
    sizes = [sparse.dense_shape[at] for at in left]
    places, group = _numbered(sparse.indices[:, left], sizes)
    found = combined(kind, values, group, len(places))
    if keepdims:
        whole = np.zeros((len(places), rank), np.int64)
        whole[:, left], places = places, whole
        sizes = [1 if at in gone else sparse.dense_shape[at] for at in range(rank)]
    if as_sparse:
        return Sparse(places, found, tuple(sizes))
    if not sizes:
        return found.sum(dtype=values.dtype).reshape(())
    return dense_array(places, sizes, found, 0)


def _numbers(raw: Any) -> list[int] | None:
    value = constant_of(raw)
    return None if value is None else value.reshape(-1).tolist()


def _reduce_spec(
    specs: Sequence[Any], raws: Sequence[Any], *, kind: str, keepdims: bool, as_sparse: bool
) -> list[TypeSpec]:
    rank, made = specs[0].shape.ndims, SparseTensorSpec if as_sparse else TensorSpec
    axes = _numbers(raws[1]) if len(raws) > 1 else list(range(rank or 0))
    if axes is None or rank is None:
        return [made(None, specs[0].dtype)]
    gone = {axis % rank for axis in axes}
    sizes = specs[0].shape.sizes
    kept = [1 if at in gone else sizes[at] for at in range(rank) if keepdims or at not in gone]
    return [made(kept, specs[0].dtype)]


REDUCE = Op("SparseReduce", _reduce, _reduce_spec)


def _distances(one: Array, other: Array, sizes: Array) -> Array:
    """Return the least numbers of insertions, deletions and replacements (Levenshtein).

    Parameters
    ----------
    one, other : ndarray of shape (rows, most)
        Sequences of numbers that are at least 0, and -1 and -2 after their ends.
    sizes : ndarray of shape (2, rows)
        The lengths of the sequences.
    """
    steps = np.arange(other.shape[1] + 1)
    before = np.repeat(steps[np.newaxis], len(one), axis=0)
    result: Array = sizes[1].copy()
    for number in range(1, one.shape[1] + 1):
        row = np.empty_like(before)
        row[:, 0] = number
        replaced = before[:, :-1] + (other != one[:, number - 1 : number])
        np.minimum(replaced, before[:, 1:] + 1, out=row[:, 1:])
        row -= steps  # then an insertion is the value to the left
        before = np.minimum.accumulate(row, axis=1) + steps
        ends = np.flatnonzero(sizes[0] == number)
        result[ends] = before[ends, sizes[1, ends]]
    return result


def _rows_of(sparse: Sparse, shape: Sequence[int]) -> Array:
    """Return the number of the row that each value belongs to, in an array of rows."""
    places = sparse.indices[:, :-1]
    if not shape:
        return np.zeros(len(places), np.int64)
    return np.asarray(np.ravel_multi_index(tuple(places.T), shape))


def _padded_rows(codes: Array, rows: Array, wanted: Array, sizes: Array, padding: int) -> Array:
    """Return the codes of the wanted rows, which are in ascending order, padded to one length."""
    whole = np.full((len(wanted), int(sizes.max(initial=0))), padding)
    number = np.searchsorted(wanted, rows)
    number[number == len(wanted)] = 0
    kept = np.flatnonzero(wanted[number] == rows)
    kept = kept[np.argsort(rows[kept], kind="stable")]
    begins = np.cumsum(sizes) - sizes
    number = number[kept]
    whole[number, np.arange(len(kept)) - begins[number]] = codes[kept]
    return whole


def _edit_distances(hypothesis: Sparse, truth: Sparse, *, normalize: bool) -> Array:
    shapes = hypothesis.dense_shape, truth.dense_shape
    if len(shapes[0]) != len(shapes[1]):
        raise invalid(f"hypothesis_shape and truth_shape must have one rank, got {shapes}")
    shape = [max(pair) for pair in zip(*shapes, strict=True)][:-1]
    pair = hypothesis, truth
    _, codes = numbered(np.concatenate([as_array(each.values) for each in pair]))
    coded = codes[: len(hypothesis.indices)], codes[len(hypothesis.indices) :]
    rows = [_rows_of(each, shape) for each in pair]
    present, place = np.unique(np.concatenate(rows), return_inverse=True)
    rows = [place[: len(rows[0])], place[len(rows[0]) :]]
    sizes = np.stack([np.bincount(each, minlength=len(present)) for each in rows])
    distances = np.zeros(len(present), np.float32)
    scales = np.frexp(sizes.max(axis=0, initial=0))[1]
    for scale in np.unique(scales):  # rows of similar lengths, so that little is padded
        wanted = np.flatnonzero(scales == scale)
        one, other = (
            _padded_rows(coded[n], rows[n], wanted, sizes[n, wanted], -1 - n) for n in range(2)
        )
        distances[wanted] = _distances(one, other, sizes[:, wanted])
    result = np.zeros(shape, np.float32)
    if normalize:
        with np.errstate(divide="ignore"):  # an empty truth is infinitely far
            distances /= sizes[1].astype(np.float32)
    result.reshape(-1)[present] = distances
    return result


def _distances_spec(specs: Sequence[Any], *_: Any, **__: Any) -> list[TypeSpec]:
    rank = specs[0].shape.ndims
    return [TensorSpec(None if rank is None else [None] * (rank - 1), "float32")]


EDIT_DISTANCE = Op("EditDistance", _edit_distances, _distances_spec)
