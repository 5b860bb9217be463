# SPDX-License-Identifier: Apache-2.0
"""Linear algebra: products along axes, and matrices, their parts and inverses."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import InvalidArgumentError, invalid
from ..kernels.shaping import room
from ..shape import in_messages
from ..specs import TensorSpec, TypeSpec
from ..tensor import as_array
from . import Array, Block, Op, same_spec
from .arithmetic import aligned, broadcast_sizes

_NARROW = 1 << 17  # elements of a matrix
_LEAST_COLUMNS = 64  # the minimum width of a part of a wide matrix
_ALONE = 1 << 18  # up to this many multiplications, BLAS uses a single thread


def _matmul(x: Array, y: Array, *, transpose_a: bool, transpose_b: bool) -> Array:
    for number, each in enumerate((x, y)):
        if each.ndim < 2:
            raise invalid(f"In[{number}] ndims must be >= 2: {each.ndim}")
    left = np.swapaxes(x, -1, -2) if transpose_a else x
    right = np.swapaxes(y, -1, -2) if transpose_b else y
    if left.shape[-1] != right.shape[-2]:
        raise _unfit(x, y)
    return np.asarray(_product(left, right))


def _unfit(x: Array, y: Array) -> Exception:
    sizes = f"In[0]: {in_messages(x.shape)}, In[1]: {in_messages(y.shape)}"
    return invalid(f"Matrix size-incompatible: {sizes}")


def _product(left: Array, right: Array) -> Any:
    """Multiply matrices; large products are computed in parts.

    For large products, BLAS would wake other threads and wait for them, which takes longer. Each
    matrix of a batch is multiplied separately, so that the size of the batch does not matter.
    """
    count, size = left.shape[-2], right.size and right.shape[-2] * right.shape[-1]
    if not size or count * size <= _ALONE:
        return np.matmul(left, right)
    columns = _ALONE // max(1, count * left.shape[-1])
    if size > _NARROW and columns < _LEAST_COLUMNS:
        return np.matmul(left, right)
    outer = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    found = room((*outer, count, right.shape[-1]), left.dtype)
    if size > _NARROW:
        for at in range(0, right.shape[-1], columns):
            part = slice(at, at + columns)
            np.matmul(left, right[..., part], out=found[..., part])
        return found
    columns = min(right.shape[-1], _LEAST_COLUMNS)
    rows = max(1, _ALONE // (columns * right.shape[-2]))
    for at in range(0, count, rows):
        for begin in range(0, right.shape[-1], columns):
            place = (..., slice(at, at + rows), slice(begin, begin + columns))
            np.matmul(left[..., at : at + rows, :], right[(..., *place[2:])], out=found[place])
    return found


def _matmul_block(_: int, *blocks: Block, **turned: Any) -> Any:
    arrays = aligned(blocks)
    if arrays is None or any(np.ndim(each.value) - each.many < 2 for each in blocks):
        return None
    try:
        return _matmul(*arrays, **turned)
    except (ValueError, InvalidArgumentError):
        return None  # processing the elements one by one reports the mismatch


def _matmul_spec(
    specs: Sequence[Any], *_: Any, transpose_a: bool, transpose_b: bool
) -> list[TypeSpec]:
    m, n = specs[0].shape.sizes, specs[1].shape.sizes
    for sizes in (m, n):
        if sizes is not None and len(sizes) < 2:
            raise ValueError(f"Shape must be rank 2 but is rank {len(sizes)} for 'MatMul'")
    if m is None or n is None:
        return [TensorSpec(None, specs[0].dtype)]
    outer = broadcast_sizes("MatMul", [TensorSpec(each[:-2], specs[0].dtype) for each in (m, n)])
    inner = [m[-1 - (not transpose_a)], n[-1 - transpose_b]]
    return [TensorSpec([*(outer or ()), *inner], specs[0].dtype)]


MATMUL = Op("MatMul", _matmul, _matmul_spec, _matmul_block, kinds="fiuc")


def _einsum(*arrays: Array, equation: str) -> Array:
    if len(arrays) == 2 and all(array.dtype.kind == "f" for array in arrays):
        product = _as_product(*arrays, equation.replace(" ", ""))
        if product is not None:
            return product
    return np.asarray(np.einsum(equation, *arrays)).astype(arrays[0].dtype)


def _as_product(x: Array, y: Array, equation: str) -> Array | None:
    """Compute the sum of products that an equation describes as one product of matrices.

    Return None if an operand has a repeated label, or a label that is neither in the other operand
    nor in the result.
    """
    operands, _, after = equation.partition("->")
    first, second = operands.split(",")
    if (len(first), len(second)) != (x.ndim, y.ndim) or not equation.count("->"):
        return None
    sizes = dict(zip(first + second, x.shape + y.shape, strict=True))
    if [sizes[label] for label in first + second] != [*x.shape, *y.shape]:
        return None
    batch = [label for label in first if label in second and label in after]
    summed = [label for label in first if label in second and label not in after]
    left, right = (
        [n for n in labels if n in after and n not in batch] for labels in (first, second)
    )
    if any(
        len(labels) != len({*labels}) or {*labels} != {*batch, *own, *summed}
        for labels, own in ((first, left), (second, right))
    ) or sorted(after) != sorted(batch + left + right):
        return None
    groups = [math.prod([sizes[n] for n in labels]) for labels in (batch, left, right, summed)]
    one = x.transpose([first.index(n) for n in batch + left + summed])
    other = y.transpose([second.index(n) for n in batch + summed + right])
    product = _product(
        one.reshape(groups[0], groups[1], groups[3]), other.reshape(groups[0], groups[3], groups[2])
    )
    labels = batch + left + right
    whole = product.reshape([sizes[n] for n in labels])
    return np.asarray(whole.transpose([labels.index(n) for n in after]), order="C")


def _einsum_spec(specs: Sequence[Any], *_: Any, equation: str) -> list[TypeSpec]:
    before, arrow, after = equation.replace(" ", "").partition("->")
    if not arrow or "." in equation:
        return [TensorSpec(None, specs[0].dtype)]
    known: dict[str, int | None] = {}
    for letters, spec in zip(before.split(","), specs, strict=False):
        for letter, size in zip(letters, spec.shape.sizes or (), strict=False):
            known[letter] = size if known.get(letter) is None else known[letter]
    return [TensorSpec([known.get(letter) for letter in after], specs[0].dtype)]


EINSUM = Op("Einsum", _einsum, _einsum_spec)


def _tensordot(x: Array, y: Array, *, axes: Any, many: int = 0) -> Array:
    """Compute sums of products along axes; the first `many` axes of `x` count the elements."""
    if isinstance(axes, int):
        axes = range(x.ndim - many - axes, x.ndim - many), range(axes)
    gone = [many + at % (x.ndim - many) for at in np.ravel(axes[0]).tolist()]
    kept = [at for at in range(x.ndim) if at not in gone]
    first = [at % y.ndim for at in np.ravel(axes[1]).tolist()]
    last = [at for at in range(y.ndim) if at not in first]
    x, y = x.transpose(*kept, *gone), y.transpose(*first, *last)
    outer, inner = x.shape[: len(kept)], y.shape[len(first) :]
    if x.shape[len(kept) :] != y.shape[: len(first)]:
        raise _unfit(x, y)
    size = math.prod(y.shape[: len(first)])
    left = x.reshape(*outer[:many], math.prod(outer[many:]), size)
    found: Array = _product(left, y.reshape(size, math.prod(inner)))
    return found.reshape(outer + inner)


def _tensordot_block(_: int, x: Block, y: Block, *, axes: Any) -> Any:
    if not x.many or y.many or not isinstance(x.value, np.ndarray):
        return None
    try:
        return _tensordot(x.value, as_array(y.value), axes=axes, many=1)
    except (ValueError, InvalidArgumentError):
        return None


def _tensordot_spec(specs: Sequence[Any], *_: Any, axes: Any) -> list[TypeSpec]:
    one, other = (spec.shape.sizes for spec in specs)
    if one is None or other is None:
        return [TensorSpec(None, specs[0].dtype)]
    if isinstance(axes, int):
        return [TensorSpec([*one[: len(one) - axes], *other[axes:]], specs[0].dtype)]
    found = []
    for sizes, along in zip((one, other), axes, strict=True):
        gone = {at % len(sizes) for at in np.ravel(along).tolist()}
        found += [size for at, size in enumerate(sizes) if at not in gone]
    return [TensorSpec(found, specs[0].dtype)]


TENSORDOT = Op("Tensordot", _tensordot, _tensordot_spec, _tensordot_block)


def _band(x: Array, lower: Array, upper: Array) -> Array:
    rows, columns = np.indices(x.shape[-2:])
    below, above = int(lower), int(upper)
    kept = ((below < 0) | (rows - columns <= below)) & ((above < 0) | (columns - rows <= above))
    return np.where(kept, x, x.dtype.type(0))


def _diagonal(x: Array) -> Array:
    found = np.zeros((*x.shape, x.shape[-1]), x.dtype)
    np.einsum("...ii->...i", found)[...] = x
    return found


def _squared(specs: Sequence[Any], *_: Any) -> list[TypeSpec]:
    sizes = specs[0].shape.sizes
    return [TensorSpec(None if sizes is None else [*sizes, sizes[-1]], specs[0].dtype)]


def _without(count: int) -> Callable[..., list[TypeSpec]]:
    def infer(specs: Sequence[Any], *_: Any) -> list[TypeSpec]:
        sizes = specs[0].shape.sizes
        return [TensorSpec(None if sizes is None else sizes[:-count], specs[0].dtype)]

    return infer


BAND_PART = Op("MatrixBandPart", _band, same_spec)
DIAG = Op("MatrixDiagV3", _diagonal, _squared)
DIAG_PART = Op("MatrixDiagPartV3", lambda x: np.einsum("...ii->...i", x).copy(), _without(1))
TRACE = Op("Trace", lambda x: np.trace(x, axis1=-2, axis2=-1, dtype=x.dtype), _without(2))
INVERSE = Op("MatrixInverse", lambda x: np.linalg.inv(x).astype(x.dtype), same_spec)
DETERMINANT = Op("MatrixDeterminant", lambda x: np.asarray(np.linalg.det(x), x.dtype), _without(2))


def _solved(matrix: Array, rhs: Array, *, adjoint: bool) -> Array:
    given = np.conj(np.swapaxes(matrix, -1, -2)) if adjoint else matrix
    return _of_matrices(lambda: np.linalg.solve(given, rhs), "Input matrix is not invertible.")


def _of_matrices(function: Callable[[], Any], problem: str) -> Array:
    try:
        return np.asarray(function())
    except np.linalg.LinAlgError:
        raise invalid(problem) from None


def _with_diagonal(x: Array, diagonal: Array) -> Array:
    found = x.copy()
    count = min(x.shape[-2:])
    found[..., range(count), range(count)] = diagonal
    return found


def _pseudo_inverse(x: Array, *rcond: Array) -> Array:
    least = rcond[0] if rcond else 10 * max(x.shape[-2:]) * np.finfo(x.dtype).eps
    return np.linalg.pinv(x, least).astype(x.dtype)


def _turned(specs: Sequence[Any], *_: Any, **__: Any) -> list[TypeSpec]:
    sizes = specs[0].shape.sizes
    whole = None if sizes is None else [*sizes[:-2], sizes[-1], sizes[-2]]
    return [TensorSpec(whole, specs[0].dtype)]


_NOT_DEFINITE = "Cholesky decomposition was not successful. The input might not be valid."
CHOLESKY = Op(
    "Cholesky", lambda x: _of_matrices(lambda: np.linalg.cholesky(x), _NOT_DEFINITE), same_spec
)
CROSS = Op("Cross", lambda a, b: np.cross(a, b).astype(a.dtype), same_spec)
LOG_DET = Op(
    "LogMatrixDeterminant",
    lambda x: np.asarray(np.linalg.slogdet(x)[1], x.dtype),
    lambda specs, *_: [TensorSpec((specs[0].shape.sizes or ())[:-2], specs[0].dtype)],
)
PINV = Op("Pinv", _pseudo_inverse, _turned)
SET_DIAG = Op("MatrixSetDiagV3", _with_diagonal, same_spec)
SOLVE = Op(
    "MatrixSolve",
    _solved,
    lambda specs, *_, **__: [TensorSpec(specs[1].shape.sizes, specs[1].dtype)],
    kinds="fc",
)


def _swapped(x: Any, *, conjugate: bool) -> Array:
    array = as_array(x)
    found = np.ascontiguousarray(np.swapaxes(array, -1, -2))
    return np.conj(found) if conjugate and found.dtype.kind == "c" else found


SWAP = Op("MatrixTranspose", _swapped, _turned)
