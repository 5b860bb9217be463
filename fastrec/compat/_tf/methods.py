# SPDX-License-Identifier: Apache-2.0
"""Methods of sparse and ragged tensors, written once for both versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .dtypes import DType, as_dtype
from .ops import Op
from .ops import ragged as of_ragged
from .ops import ragged_forms as forms
from .ops import ragged_rows as of_rows
from .ops import sparse as of_sparse
from .ops import sparse_arithmetic as arithmetic
from .ops.picking import index_of, python_number
from .tensor import Operators, TensorShape

_INTEGERS = ("int32", "int64")


def integers(tensor: Callable[..., Any], value: Any, what: str = "row_splits") -> Any:
    """Convert offsets, lengths or row numbers to a tensor, by default of ``int64``.

    Raises
    ------
    ValueError
        If they are not integers.
    """
    kind = getattr(value, "dtype", None)
    made = tensor(value) if kind is not None else tensor(np.asarray(value))
    if kind is None and (made.dtype.is_integer or made.shape.num_elements() == 0):
        return tensor(np.asarray(value, np.int64))
    if made.dtype.name not in _INTEGERS:
        raise ValueError(f"{what} must have dtype int32 or int64")
    return made


class Methods:
    """The functions of one version that run operations and create tensors."""

    __slots__ = ()
    _call: Callable[..., Any]  # takes an operation, inputs, a name and attributes
    _tensor: Callable[..., Any]  # takes a value and a type
    _operators: dict[str, Callable[..., Any]]  # by the names of version 2
    dtype: Any
    shape: Any


class Functions:
    """Functions of sparse or ragged tensors of one version.

    Parameters
    ----------
    made : type
        The class of sparse or ragged tensors.
    """

    def __init__(self, made: type[Methods]) -> None:
        self._made: Any = made
        self._call: Callable[..., Any] = made._call
        self._tensor: Callable[..., Any] = made._tensor


class SparseMethods(Methods):
    """Methods of sparse tensors of both versions."""

    __slots__ = ()
    values: Any

    def with_values(self, new_values: Any) -> Any:
        """Return a sparse tensor with new values at the same indices."""
        return self._call(of_sparse.WITH_VALUES, [self, self._tensor(new_values)], None)

    def _mapped(self, function: Callable[..., Any], *others: Any) -> Any:
        return self.with_values(function(self.values, *others))

    def _cast(self, dtype: DType) -> Any:
        return self._call(of_sparse.CAST, [self], None, dtype=dtype)

    def __mul__(self, other: Any) -> Any:
        inputs = [self, self._tensor(other, self.dtype)]
        return self._call(arithmetic.MULTIPLY, inputs, None)

    def __truediv__(self, other: Any) -> Any:
        return self._call(arithmetic.DIVIDE, [self, self._tensor(other, self.dtype)], None)


class RaggedMethods(Methods, Operators):
    """Methods of ragged tensors of both versions."""

    __slots__ = ()
    values: Any
    row_splits: Any

    # Constructors from other tensors.

    @classmethod
    def _of(
        cls, kind: str, values: Any, where: Any, nrows: Any = None, validate: bool = True
    ) -> Any:
        inner = values if isinstance(values, RaggedMethods) else cls._tensor(values)
        given = [integers(cls._tensor, each, kind) for each in (where, nrows) if each is not None]
        op = of_ragged.FROM_PARTITION
        return cls._call(op, [inner, *given], None, kind=kind, validate=bool(validate))

    @classmethod
    def from_row_splits(
        cls, values: Any, row_splits: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Create rows from offsets: row ``i`` is ``values[row_splits[i]:row_splits[i + 1]]``."""
        return cls._of("row_splits", values, row_splits, None, validate)

    @classmethod
    def from_row_lengths(
        cls, values: Any, row_lengths: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Create rows of the given lengths."""
        return cls._of("row_lengths", values, row_lengths, None, validate)

    @classmethod
    def from_row_starts(
        cls, values: Any, row_starts: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Create rows that start at the given offsets."""
        return cls._of("row_starts", values, row_starts, None, validate)

    @classmethod
    def from_row_limits(
        cls, values: Any, row_limits: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Create rows that end at the given offsets."""
        return cls._of("row_limits", values, row_limits, None, validate)

    @classmethod
    def from_value_rowids(
        cls,
        values: Any,
        value_rowids: Any,
        nrows: Any = None,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Create rows from the ascending row number of each value."""
        return cls._of("value_rowids", values, value_rowids, nrows, validate)

    @classmethod
    def from_uniform_row_length(
        cls,
        values: Any,
        uniform_row_length: Any,
        nrows: Any = None,
        validate: bool = True,
        name: str | None = None,
    ) -> Any:
        """Create rows of one length."""
        return cls._of("uniform_row_length", values, uniform_row_length, nrows, validate)

    @classmethod
    def _nested(cls, kind: str, flat_values: Any, nested: Sequence[Any]) -> Any:
        for where in reversed(list(nested)):
            flat_values = cls._of(kind, flat_values, where)
        return flat_values

    @classmethod
    def from_nested_row_splits(
        cls,
        flat_values: Any,
        nested_row_splits: Sequence[Any],
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Create nested rows from the innermost values and all row splits, outermost first."""
        return cls._nested("row_splits", flat_values, nested_row_splits)

    @classmethod
    def from_nested_row_lengths(
        cls,
        flat_values: Any,
        nested_row_lengths: Sequence[Any],
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Create nested rows from the innermost values and all row lengths, outermost first."""
        return cls._nested("row_lengths", flat_values, nested_row_lengths)

    @classmethod
    def from_tensor(
        cls,
        tensor: Any,
        lengths: Any = None,
        padding: Any = None,
        ragged_rank: int = 1,
        name: str | None = None,
        row_splits_dtype: Any = "int64",
    ) -> Any:
        """Create rows from a dense tensor, of given `lengths` or without trailing `padding`."""
        dense = cls._tensor(tensor)
        if lengths is not None and padding is not None:
            raise ValueError("Specify argument `lengths` or `padding`, but not both.")
        if dense.shape.ndims == 1:
            raise ValueError(
                "The rank of a RaggedTensor must be greater than 1, i.e., a list of scalars won't "
                "have ragged dimensions. Received argument `tensor` with rank 1."
            )
        how, given = "", []
        if lengths is not None:
            nested = isinstance(lengths, (list, tuple)) and any(np.ndim(x) for x in lengths)
            how, given = "lengths", [cls._tensor(n) for n in (lengths if nested else [lengths])]
        elif padding is not None:
            how, given = "padding", [cls._tensor(padding, dense.dtype)]
        attributes = {"rank": int(ragged_rank), "way": how, "dtype": as_dtype(row_splits_dtype)}
        return cls._call(forms.FROM_TENSOR, [dense, *given], name, **attributes)

    @classmethod
    def from_sparse(
        cls, st_input: Any, name: str | None = None, row_splits_dtype: Any = "int64"
    ) -> Any:
        """Create rows from a sparse matrix whose rows have consecutive indices from 0."""
        return cls._call(
            forms.FROM_SPARSE, [st_input], name, dtype=as_dtype(row_splits_dtype)
        )  # fmt: skip

    # Components.

    @property
    def flat_values(self) -> Any:
        """The innermost values."""
        inner = self.values
        return inner.flat_values if isinstance(inner, RaggedMethods) else inner

    @property
    def nested_row_splits(self) -> tuple[Any, ...]:
        """The row splits of each ragged dimension."""
        inner = self.values
        more = inner.nested_row_splits if isinstance(inner, RaggedMethods) else ()
        return (self.row_splits, *more)

    @property
    def ragged_rank(self) -> int:
        """Number of dimensions whose rows vary in length."""
        return len(self.nested_row_splits)

    @property
    def uniform_row_length(self) -> None:
        """None, because row lengths are not tracked statically."""

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Any:
        """Return the number of values in each row."""
        if axis == 0:
            return self.nrows()
        if axis > 1:
            inner = self.values.row_lengths(axis - 1)
            return self._made(inner)
        return self.row_limits() - self.row_starts()

    def nested_row_lengths(self, name: str | None = None) -> tuple[Any, ...]:
        """Return the lengths of rows, for each ragged dimension."""
        inner = self.values
        more = inner.nested_row_lengths() if isinstance(inner, RaggedMethods) else ()
        return (self.row_lengths(), *more)

    def row_starts(self, name: str | None = None) -> Any:
        """Return the start of each row."""
        return self.row_splits[:-1]

    def row_limits(self, name: str | None = None) -> Any:
        """Return the end of each row."""
        return self.row_splits[1:]

    def value_rowids(self, name: str | None = None) -> Any:
        """Return the row that each value is in."""
        return self._call(of_ragged.SEGMENT_IDS, [self.row_splits], name)

    def nested_value_rowids(self, name: str | None = None) -> tuple[Any, ...]:
        """Return the row that each value is in, for each ragged dimension."""
        inner = self.values
        more = inner.nested_value_rowids() if isinstance(inner, RaggedMethods) else ()
        return (self.value_rowids(), *more)

    def _kind(self, out_type: Any) -> DType:
        found: DType = self.row_splits.dtype if out_type is None else as_dtype(out_type)
        return found

    def nrows(self, out_type: Any = None, name: str | None = None) -> Any:
        """Return the number of rows."""
        return self._call(of_ragged.NROWS, [self], name, dtype=self._kind(out_type))

    def bounding_shape(
        self, axis: Any = None, name: str | None = None, out_type: Any = None
    ) -> Any:
        """Return the shape of :meth:`to_tensor`."""
        place = None if axis is None else np.asarray(axis).tolist()
        kind = self._kind(out_type)
        return self._call(forms.BOUNDING_SHAPE, [self], name, axis=place, dtype=kind)

    def _made(self, values: Any) -> Any:
        return self._of("row_splits", values, self.row_splits)

    def with_values(self, new_values: Any) -> Any:
        """Return a ragged tensor with new values in the same rows."""
        if isinstance(new_values, RaggedMethods):
            return self._made(new_values)
        if isinstance(self.values, RaggedMethods):
            return self._made(self._tensor(new_values))
        return self.with_flat_values(new_values)

    def with_flat_values(self, new_values: Any) -> Any:
        """Return a ragged tensor with new innermost values in the same rows."""
        if isinstance(new_values, RaggedMethods):
            inner = self.values
            nested = isinstance(inner, RaggedMethods)
            return self._made(inner.with_flat_values(new_values) if nested else new_values)
        inputs = [self, self._tensor(new_values)]
        return self._call(of_ragged.WITH_FLAT_VALUES, inputs, None)

    def with_row_splits_dtype(self, dtype: Any) -> Any:
        """Return a ragged tensor with row splits of another type."""
        kind, inner = as_dtype(dtype), self.values
        if isinstance(inner, RaggedMethods):
            inner = inner.with_row_splits_dtype(kind)
        return self._of("row_splits", inner, self._operators["cast"](self.row_splits, kind))

    # Conversions.

    def to_tensor(
        self, default_value: Any = None, name: str | None = None, shape: Any = None
    ) -> Any:
        """Return all rows in one array, padded with `default_value` to a common length."""
        dtype: DType = self.flat_values.dtype
        if default_value is None:
            default_value = b"" if dtype.name == "string" else np.zeros((), dtype.numpy)
        inputs = [self, self._tensor(default_value, dtype)]
        sizes = None if shape is None else TensorShape(shape).sizes
        return self._call(forms.TO_TENSOR, inputs, name, shape=sizes)

    def to_sparse(self, name: str | None = None) -> Any:
        """Return the values with their indices as a sparse tensor."""
        return self._call(forms.TO_SPARSE, [self], name)

    def merge_dims(self, outer_axis: int, inner_axis: int) -> Any:
        """Merge a range of dimensions into one."""
        rank = self.shape.ndims
        outer, inner = (axis + rank if axis < 0 else axis for axis in (outer_axis, inner_axis))
        if outer > inner:
            raise ValueError(
                f"Expected outer_axis ({outer_axis}) to be less than or equal to inner_axis "
                f"({inner_axis})."
            )
        if outer == inner:
            return self
        return self._call(of_rows.MERGE_DIMS, [self], None, outer=outer, inner=inner)

    def __getitem__(self, key: Any) -> Any:
        parts, tensors = index_of(key, _number)
        return self._call(of_rows.GETITEM, [self, *tensors], None, key=parts)

    # Functions of the values.

    def _aligned(self, other: Any) -> Any:
        """Return the values of `other` that correspond to the values of this tensor."""
        if not isinstance(other, RaggedMethods):
            if not (len(other.shape) if hasattr(other, "shape") else np.ndim(other)):
                return other
            return self._call(of_ragged.ALIGNED, [self, self._tensor(other, self.dtype)], None)
        return self._call(of_ragged.SAME_ROWS, [self, other], None).flat_values

    def _mapped(self, function: Callable[..., Any], *others: Any) -> Any:
        """Apply a function to the innermost values of this tensor and of others."""
        flat = self.flat_values
        return self.with_flat_values(function(flat, *map(self._aligned, others)))

    def _cast(self, dtype: DType) -> Any:
        return self._mapped(lambda flat: self._operators["cast"](flat, dtype))

    def _axis(self, axis: Any, more: int = 0) -> int:
        rank: int = self.shape.ndims + more
        place = int(np.asarray(axis))
        if not -rank <= place < rank:
            raise ValueError(f"axis={place} out of bounds: expected -{rank}<=axis<{rank}")
        return place % rank

    def _reduced(self, op: Op, along: Any, keepdims: bool, name: str | None = None) -> Any:
        """Reduce all values, or the values along some dimensions."""
        every = along is None
        places = range(self.shape.ndims) if every else np.atleast_1d(np.asarray(along)).tolist()
        axes = sorted({self._axis(axis) for axis in places})
        return self._call(of_rows.REDUCE, [self], name, kind=op.name, axes=axes, keepdims=keepdims)

    def _operate(self, name: str, *others: Any) -> Any:
        return self._mapped(self._operators[name], *others)

    def _operate_reflected(self, name: str, other: Any) -> Any:
        function = self._operators[name]
        return self._mapped(lambda x, y: function(self._tensor(y, x.dtype), x), other)


def of_values(function: Callable[..., Any], x: Any, *others: Any) -> Any:
    """Apply a function of one or two tensors to the values of sparse or ragged ones."""
    if isinstance(x, Methods):
        return x._mapped(function, *others)  # type: ignore[attr-defined]
    return others[0]._mapped(lambda b, a: function(a, b), x)


def _number(part: Any) -> Any:
    symbolic = hasattr(part, "dtype") and not hasattr(part, "__index__")
    return part if symbolic else python_number(part)
