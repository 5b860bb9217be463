# SPDX-License-Identifier: Apache-2.0
"""Shapes with unknown sizes or unknown rank."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, overload


def dimension_value(value: Any) -> int | None:
    """Return the size that a dimension represents; None if it is unknown.

    Raises
    ------
    TypeError, ValueError
        If `value` is not a size.
    """
    if value is None or (type(value) is int and value >= 0):
        return value
    if isinstance(value, Dimension):
        return value.value
    try:
        size = int(value.__index__())
    except AttributeError:
        raise TypeError(
            f"Dimension value must be integer or None or have an __index__ method, got value "
            f"'{value!r}' with type '{type(value)!r}'"
        ) from None
    if size < 0:
        raise ValueError(f"Dimension {size} must be >= 0")
    return size


class Dimension:
    """One size of a shape, as a class of TensorFlow 1; None is an unknown size."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value: int | None = dimension_value(value)

    def is_compatible_with(self, other: Any) -> bool:
        """Return whether the two may be the same size."""
        size = dimension_value(other)
        return self.value is None or size is None or self.value == size

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raise an error if the two cannot be the same size.

        Raises
        ------
        ValueError
            If both are known and differ.
        """
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")

    def merge_with(self, other: Any) -> Dimension:
        """Combine two dimensions; the result is known if either of them is.

        Raises
        ------
        ValueError
            If both are known and differ.
        """
        self.assert_is_compatible_with(other)
        return Dimension(dimension_value(other) if self.value is None else self.value)

    def _with(self, other: Any, how: Any) -> Any:
        try:
            size = dimension_value(other)
        except (TypeError, ValueError):
            return NotImplemented  # a list times a dimension repeats the list
        return Dimension(None if self.value is None or size is None else how(self.value, size))

    def __add__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a + b)

    def __radd__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b + a)

    def __sub__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b - a)

    def __mul__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a * b)

    def __rmul__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b * a)

    def __floordiv__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a // b)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b // a)

    def __mod__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a % b)

    def __rmod__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b % a)

    def __eq__(self, other: object) -> Any:
        try:
            size = dimension_value(other)
        except (TypeError, ValueError):
            return NotImplemented
        return None if self.value is None or size is None else self.value == size

    def __ne__(self, other: object) -> Any:
        same = self.__eq__(other)
        return same if same is None or same is NotImplemented else not same

    def __lt__(self, other: Any) -> bool | None:
        size = dimension_value(other)
        return None if self.value is None or size is None else self.value < size

    def __le__(self, other: Any) -> bool | None:
        size = dimension_value(other)
        return None if self.value is None or size is None else self.value <= size

    def __gt__(self, other: Any) -> bool | None:
        size = dimension_value(other)
        return None if self.value is None or size is None else self.value > size

    def __ge__(self, other: Any) -> bool | None:
        size = dimension_value(other)
        return None if self.value is None or size is None else self.value >= size

    def __hash__(self) -> int:
        return hash(self.value)

    def __int__(self) -> int:
        return self.__index__()

    def __index__(self) -> int:
        if self.value is None:
            raise TypeError("an unknown dimension is no integer")
        return self.value

    def __bool__(self) -> bool:
        return bool(self.value)

    def __str__(self) -> str:
        return "?" if self.value is None else str(self.value)

    def __repr__(self) -> str:
        return f"Dimension({self.value})"


class TensorShape:
    """A shape: a list of sizes, some of which may be unknown, or an unknown rank.

    Parameters
    ----------
    dims : list of int or None or Dimension, TensorShape, int or None
        The sizes. An int is a shape of one dimension; None means that the rank is unknown.
    """

    __slots__ = ("_sizes",)

    # The items of indexing and iteration: Dimension in version 1, int or None in version 2.
    _element: Any = Dimension

    def __init__(self, dims: Any) -> None:
        self._sizes: tuple[int | None, ...] | None
        if dims is None:
            self._sizes = None
        elif isinstance(dims, TensorShape):
            self._sizes = dims._sizes
        elif isinstance(dims, Iterable):
            self._sizes = tuple([dimension_value(d) for d in dims])
        else:
            self._sizes = (dimension_value(dims),)

    @property
    def sizes(self) -> tuple[int | None, ...] | None:
        """The sizes as numbers, None for unknown ones; None if the rank is unknown."""
        return self._sizes

    @property
    def dims(self) -> list[Any] | None:
        """The dimensions; None if the rank is unknown."""
        return None if self._sizes is None else [type(self)._element(d) for d in self._sizes]

    @property
    def ndims(self) -> int | None:
        """The number of dimensions; None if it is unknown."""
        return None if self._sizes is None else len(self._sizes)

    rank = ndims

    def as_list(self) -> list[int | None]:
        """Return the sizes, with None for unknown ones.

        Raises
        ------
        ValueError
            If the rank is unknown.
        """
        if self._sizes is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._sizes)

    def num_elements(self) -> int | None:
        """Return the product of the sizes; None unless all are known."""
        total = 1
        for size in self._sizes if self._sizes is not None else (None,):
            if size is None:
                return None
            total *= size
        return total

    def is_fully_defined(self) -> bool:
        """Return whether every size is known."""
        return self._sizes is not None and None not in self._sizes

    def assert_is_fully_defined(self) -> None:
        """Raise an error unless every size is known.

        Raises
        ------
        ValueError
            If a size is unknown.
        """
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def is_compatible_with(self, other: Any) -> bool:
        """Return whether the two may be the same shape."""
        mine = self._sizes
        if mine is None or mine == other:  # usually the shape of an array
            return True
        theirs = as_shape(other)._sizes
        if theirs is None:
            return True
        return len(mine) == len(theirs) and all(
            a is None or b is None or a == b for a, b in zip(mine, theirs, strict=True)
        )

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raise an error if the two cannot be the same shape.

        Raises
        ------
        ValueError
            If they cannot be the same.
        """
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {as_shape(other)} are incompatible")

    def merge_with(self, other: Any) -> TensorShape:
        """Combine two shapes; a size of the result is known if it is known in either of them.

        Raises
        ------
        ValueError
            If they cannot be the same.
        """
        theirs = as_shape(other)
        if self._sizes is None:
            return type(self)(theirs)
        if theirs._sizes is None:
            return self
        if not self.is_compatible_with(theirs):
            raise ValueError(f"Shapes {self} and {theirs} are not compatible")
        pairs = zip(self._sizes, theirs._sizes, strict=True)
        return type(self)([b if a is None else a for a, b in pairs])

    def concatenate(self, other: Any) -> TensorShape:
        """Return the dimensions of this shape, followed by those of `other`."""
        theirs = as_shape(other)._sizes
        if self._sizes is None or theirs is None:
            return type(self)(None)
        return type(self)([*self._sizes, *theirs])

    def with_rank(self, rank: int) -> TensorShape:
        """Return this shape with `rank` dimensions.

        Raises
        ------
        ValueError
            If its rank is known and differs.
        """
        try:
            return self.merge_with([None] * rank)
        except ValueError:
            raise ValueError(f"Shape {self} must have rank {rank}") from None

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """Return this shape after checking that it may have at least `rank` dimensions.

        Raises
        ------
        ValueError
            If it has fewer.
        """
        if self._sizes is not None and len(self._sizes) < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """Return this shape after checking that it may have at most `rank` dimensions.

        Raises
        ------
        ValueError
            If it has more.
        """
        if self._sizes is not None and len(self._sizes) > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def assert_has_rank(self, rank: int) -> None:
        """Raise an error unless the shape may have `rank` dimensions.

        Raises
        ------
        ValueError
            If its rank is known and differs.
        """
        if self._sizes is not None and len(self._sizes) != rank:
            raise ValueError(f"Shape {self} must have rank {rank}")

    @overload
    def __getitem__(self, key: int) -> Any: ...
    @overload
    def __getitem__(self, key: slice) -> TensorShape: ...
    def __getitem__(self, key: int | slice) -> Any:
        if isinstance(key, slice):
            if self._sizes is not None:
                return type(self)(self._sizes[key])
            if key.stop is None or (key.start or 0) < 0 or key.stop < 0:
                return type(self)(None)
            return type(self)([None] * max(key.stop - (key.start or 0), 0))
        return type(self)._element(None if self._sizes is None else self._sizes[key])

    def __len__(self) -> int:
        if self._sizes is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self._sizes)

    def __iter__(self) -> Iterator[Any]:
        if self._sizes is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter([type(self)._element(d) for d in self._sizes])

    def __bool__(self) -> bool:
        return self._sizes is not None

    def __eq__(self, other: object) -> bool:
        try:
            return self._sizes == as_shape(other)._sizes
        except (TypeError, ValueError):
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self._sizes)

    def __str__(self) -> str:
        if self._sizes is None:
            return "<unknown>"
        inside = ", ".join("?" if d is None else str(d) for d in self._sizes)
        return f"({inside},)" if len(self._sizes) == 1 else f"({inside})"

    def __repr__(self) -> str:
        return f"TensorShape({self.dims})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._sizes,)


def as_shape(value: Any) -> TensorShape:
    """Convert `value` to a :class:`TensorShape`; keep the version of an existing one."""
    return value if isinstance(value, TensorShape) else TensorShape(value)


def common_shape(one: TensorShape, other: TensorShape) -> TensorShape:
    """Return the most specific shape that includes both; sizes that differ are unknown."""
    first, second = one.sizes, other.sizes
    if first is None or second is None or len(first) != len(second):
        return type(one)(None)
    return type(one)([a if a == b else None for a, b in zip(first, second, strict=True)])


def in_messages(shape: Any) -> str:
    """Format a shape as messages of TensorFlow's kernels do: ``[2,?]``, or ``<unknown>``."""
    sizes = as_shape(shape).sizes
    if sizes is None:
        return "<unknown>"
    return f"[{','.join('?' if d is None else str(d) for d in sizes)}]"
