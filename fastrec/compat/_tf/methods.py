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
from .tensor import TensorShape

__all__ = [
    "Functions",
    "Methods",
    "RaggedMethods",
    "SparseMethods",
    "integers",
    "of_values",
    "operator",
]

_INTEGERS = ("int32", "int64")


def integers(tensor: Callable[..., Any], value: Any, what: str = "row_splits") -> Any:
    """Offsets, lengths or row numbers; ``int64`` unless they have a type of their own.

    Raises
    ------
    ValueError
        When they are no integers.
    """
    kind = getattr(value, "dtype", None)
    made = tensor(value) if kind is not None else tensor(np.asarray(value))
    if kind is None and (made.dtype.is_integer or made.shape.num_elements() == 0):
        return tensor(np.asarray(value, np.int64))
    if made.dtype.name not in _INTEGERS:
        raise ValueError(f"{what} must have dtype int32 or int64")
    return made


class Methods:
    """Of a version: how its operations run, and how its tensors are made."""

    __slots__ = ()
    _call: Callable[..., Any]  # of an operation, inputs, a name and attributes
    _tensor: Callable[..., Any]  # of a value and a type
    _operators: dict[str, Callable[..., Any]]  # by version 2's names
    dtype: Any
    shape: Any


class Functions:
    """Functions of sparse or ragged tensors of one version.

    Parameters
    ----------
    made : type
        The class of its sparse or ragged tensors.
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
        """Other values at the same places."""
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


def operator(name: str, reflected: bool = False) -> Callable[..., Any]:
    """A method of ragged tensors that is an operator, by its name, on the values."""

    def operate(self: RaggedMethods, *others: Any) -> Any:
        function = self._operators[name]
        if reflected:
            return self._mapped(lambda x, y: function(self._tensor(y, x.dtype), x), *others)
        return self._mapped(function, *others)

    return operate


class RaggedMethods(Methods):
    """Methods of ragged tensors of both versions."""

    __slots__ = ()
    values: Any
    row_splits: Any

    # Made of other tensors.

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
        """Row ``i`` is ``values[row_splits[i]:row_splits[i + 1]]``."""
        return cls._of("row_splits", values, row_splits, None, validate)

    @classmethod
    def from_row_lengths(
        cls, values: Any, row_lengths: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Rows of those lengths."""
        return cls._of("row_lengths", values, row_lengths, None, validate)

    @classmethod
    def from_row_starts(
        cls, values: Any, row_starts: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Rows that begin at those offsets."""
        return cls._of("row_starts", values, row_starts, None, validate)

    @classmethod
    def from_row_limits(
        cls, values: Any, row_limits: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Rows that end at those offsets."""
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
        """Each value in the row that is named for it, in ascending order."""
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
        """Rows that all have one length."""
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
        """Innermost values, and the splits outermost first."""
        return cls._nested("row_splits", flat_values, nested_row_splits)

    @classmethod
    def from_nested_row_lengths(
        cls,
        flat_values: Any,
        nested_row_lengths: Sequence[Any],
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Innermost values, and the lengths of rows outermost first."""
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
        """The rows of a dense tensor, as long as `lengths`, or without `padding` at their ends."""
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
        """The values of a sparse matrix whose rows have no holes."""
        return cls._call(
            forms.FROM_SPARSE, [st_input], name, dtype=as_dtype(row_splits_dtype)
        )  # fmt: skip

    # The parts.

    @property
    def flat_values(self) -> Any:
        """The innermost values."""
        inner = self.values
        return inner.flat_values if isinstance(inner, RaggedMethods) else inner

    @property
    def nested_row_splits(self) -> tuple[Any, ...]:
        """Offsets at which rows begin and end, for each ragged dimension."""
        inner = self.values
        more = inner.nested_row_splits if isinstance(inner, RaggedMethods) else ()
        return (self.row_splits, *more)

    @property
    def ragged_rank(self) -> int:
        """Number of dimensions whose rows differ in length."""
        return len(self.nested_row_splits)

    @property
    def uniform_row_length(self) -> None:
        """None: nothing is known of the lengths of rows."""

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
        """Return the offset at which each row begins."""
        return self.row_splits[:-1]

    def row_limits(self, name: str | None = None) -> Any:
        """Return the offset at which each row ends."""
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
        """Other values in the same rows."""
        if isinstance(new_values, RaggedMethods):
            return self._made(new_values)
        if isinstance(self.values, RaggedMethods):
            return self._made(self._tensor(new_values))
        return self.with_flat_values(new_values)

    def with_flat_values(self, new_values: Any) -> Any:
        """Other innermost values in the same rows."""
        if isinstance(new_values, RaggedMethods):
            inner = self.values
            nested = isinstance(inner, RaggedMethods)
            return self._made(inner.with_flat_values(new_values) if nested else new_values)
        inputs = [self, self._tensor(new_values)]
        return self._call(of_ragged.WITH_FLAT_VALUES, inputs, None)

    def with_row_splits_dtype(self, dtype: Any) -> Any:
        """The same with splits of another type."""
        kind, inner = as_dtype(dtype), self.values
        if isinstance(inner, RaggedMethods):
            inner = inner.with_row_splits_dtype(kind)
        return self._of("row_splits", inner, self._operators["cast"](self.row_splits, kind))

    # Other forms.

    def to_tensor(
        self, default_value: Any = None, name: str | None = None, shape: Any = None
    ) -> Any:
        """All rows in one array, filled up with `default_value` to the longest, or to `shape`."""
        dtype: DType = self.flat_values.dtype
        if default_value is None:
            default_value = b"" if dtype.name == "string" else np.zeros((), dtype.numpy)
        inputs = [self, self._tensor(default_value, dtype)]
        sizes = None if shape is None else TensorShape(shape).sizes
        return self._call(forms.TO_TENSOR, inputs, name, shape=sizes)

    def to_sparse(self, name: str | None = None) -> Any:
        """The values, and where they are."""
        return self._call(forms.TO_SPARSE, [self], name)

    def merge_dims(self, outer_axis: int, inner_axis: int) -> Any:
        """The dimensions from one to another as one."""
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
        """The values that go with those of this one: of the same rows, or one for all."""
        if not isinstance(other, RaggedMethods):
            if not (len(other.shape) if hasattr(other, "shape") else np.ndim(other)):
                return other
            return self._call(of_ragged.ALIGNED, [self, self._tensor(other, self.dtype)], None)
        return self._call(of_ragged.SAME_ROWS, [self, other], None).flat_values

    def _mapped(self, function: Callable[..., Any], *others: Any) -> Any:
        """A function of the innermost values, and of those of others."""
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
        """All values, or those along dimensions, made one by a reduction."""
        every = along is None
        places = range(self.shape.ndims) if every else np.atleast_1d(np.asarray(along)).tolist()
        axes = sorted({self._axis(axis) for axis in places})
        return self._call(of_rows.REDUCE, [self], name, kind=op.name, axes=axes, keepdims=keepdims)

    __add__, __radd__ = operator("add"), operator("add", True)
    __sub__, __rsub__ = operator("subtract"), operator("subtract", True)
    __mul__, __rmul__ = operator("multiply"), operator("multiply", True)
    __truediv__, __rtruediv__ = operator("divide"), operator("divide", True)
    __floordiv__, __mod__ = operator("floordiv"), operator("floormod")
    __pow__ = operator("pow")
    __lt__, __le__ = operator("less"), operator("less_equal")
    __gt__, __ge__ = operator("greater"), operator("greater_equal")
    __neg__, __abs__ = operator("negative"), operator("abs")
    __and__, __or__, __invert__ = operator("and"), operator("or"), operator("invert")


def of_values(function: Callable[..., Any], x: Any, *others: Any) -> Any:
    """A function of two tensors, or of one, where one is sparse or ragged: of the values."""
    if isinstance(x, Methods):
        return x._mapped(function, *others)  # type: ignore[attr-defined]
    return others[0]._mapped(lambda b, a: function(a, b), x)


def _number(part: Any) -> Any:
    symbolic = hasattr(part, "dtype") and not hasattr(part, "__index__")
    return part if symbolic else python_number(part)
