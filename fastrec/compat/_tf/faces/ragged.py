# SPDX-License-Identifier: Apache-2.0
"""``tf.ragged`` of both versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtypes import as_dtype
from ..methods import Functions, RaggedMethods, integers
from ..ops import ragged as of_ragged
from ..ops import ragged_rows as of_rows
from ..tensor import convert_to_tensor


def levels(value: Any) -> int:
    """Return the number of dimensions of nested lists, whose scalars must be at one depth.

    Raises
    ------
    ValueError
        If the scalars are at different depths.
    """
    if not isinstance(value, (list, tuple, np.ndarray)):
        return 0
    depths = {(levels(item), _has_scalars(item)) for item in value}
    scalars = {depth for depth, there in depths if there}
    if len(scalars) > 1 or (scalars and max(depth for depth, _ in depths) > max(scalars)):
        raise ValueError("all scalar values must have the same nesting depth")
    return 1 + max([depth for depth, _ in depths], default=0)


def _has_scalars(value: Any) -> bool:
    return not isinstance(value, (list, tuple, np.ndarray)) or any(map(_has_scalars, value))


def parts_of_lists(
    pylist: Any, dtype: Any, ragged_rank: int | None, inner_shape: Any, splits_dtype: Any
) -> tuple[Any, list[Any]]:
    """Return the flat values and row splits of nested lists.

    Raises
    ------
    ValueError
        If the lists are not nested as required.
    """
    deep = levels(pylist)
    inner = () if inner_shape is None else tuple(inner_shape)
    rank = ragged_rank if ragged_rank is not None else max(deep - 1 - len(inner), 0)
    if rank and rank >= max(deep, 1):
        raise ValueError(
            f"pylist has scalar values depth {deep}, but ragged_rank={rank} requires scalar value "
            f"depth greater than {rank}"
        )
    splits, values = [], pylist
    for _ in range(rank):
        lengths = [len(row) for row in values]
        splits.append(np.cumsum([0, *lengths]).astype(as_dtype(splits_dtype).numpy))
        values = [item for row in values for item in row]
    empty = not isinstance(values, (bytes, str)) and np.size(values) == 0
    if empty and isinstance(values, list):
        kind = as_dtype("float32" if dtype is None else dtype).numpy
        deeper = (0,) * (deep - rank - 1 - len(inner)) if rank < deep else ()
        return np.zeros((len(values), *deeper, *inner), kind), splits
    return convert_to_tensor(values, dtype).array, splits


def _dimension(what: str, number: Any, rank: int, of: str, end: int) -> int:
    """Return the number of a dimension below `end`; a negative one counts from the last."""
    found = int(np.asarray(number))
    if not -rank <= found < end:
        raise ValueError(f"{what}={found} out of bounds: expected {-rank}<={what}<rank({of})")
    return found + rank if found < 0 else found


class RaggedFunctions(Functions):
    """The functions of ``tf.ragged``."""

    @staticmethod
    def among(values: Any) -> bool:
        """Return whether the arguments of a function of ``tf`` include a ragged tensor."""
        several = isinstance(values, (list, tuple))
        return several and any(isinstance(each, RaggedMethods) for each in values)

    def _either(self, value: Any) -> Any:
        return value if isinstance(value, RaggedMethods) else self._tensor(value)

    def constant(
        self,
        pylist: Any,
        dtype: Any = None,
        ragged_rank: int | None = None,
        inner_shape: Any = None,
        name: str | None = None,
        row_splits_dtype: Any = "int64",
    ) -> Any:
        """Create a ragged tensor from nested lists."""
        flat, splits = parts_of_lists(pylist, dtype, ragged_rank, inner_shape, row_splits_dtype)
        return self._made.from_nested_row_splits(self._tensor(flat), splits)

    def map_flat_values(self, op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Apply a function to the flat values of ragged tensors that have the same rows."""
        given = [*args, *kwargs.values()]
        first = next((each for each in given if isinstance(each, RaggedMethods)), None)
        if first is None:
            return op(*args, **kwargs)

        def flat(value: Any) -> Any:
            if value is first:
                return first.flat_values
            return first._aligned(value) if isinstance(value, RaggedMethods) else value

        found = op(*map(flat, args), **{key: flat(value) for key, value in kwargs.items()})
        rows, size = found.shape[:1], first.flat_values.shape[:1]
        if not found.shape.ndims or not rows.is_compatible_with(size):
            raise ValueError(
                "tf.ragged.map_flat_values requires that the output of `op` have the same "
                f"outer-dimension size as flat_values of any ragged inputs. (output shape: "
                f"{found.shape}; expected outer dimension size: {size.as_list()[0]})"
            )
        return first.with_flat_values(found)

    def boolean_mask(self, data: Any, mask: Any, name: str | None = None) -> Any:
        """Keep the elements of each row where `mask` is True."""
        inputs = [self._either(data), self._either(mask)]
        return self._call(of_rows.BOOLEAN_MASK, inputs, name)

    def stack(self, values: Sequence[Any], axis: int = 0, name: str | None = None) -> Any:
        """Stack tensors, whose rows may differ in length, along a new dimension.

        Raises
        ------
        ValueError
            If `values` is empty.
        """
        parts = [self._either(value) for value in values]
        if not parts:
            raise ValueError("rt_inputs may not be empty.")
        rank = parts[0].shape.ndims
        if rank == 0:
            return self._made._operators["stack"](parts)
        place = int(axis) % (rank + 1)
        return self._call(of_rows.STACK, parts, name, axis=place)

    def concat(self, values: Sequence[Any], axis: Any, name: str | None = None) -> Any:
        """Concatenate tensors along a dimension; the lengths of rows may differ."""
        parts = [self._either(value) for value in values]
        first = next(part for part in parts if part.shape.ndims is not None)
        rank, place = first.shape.ndims, int(np.asarray(axis))
        if not -rank <= place < rank:
            raise ValueError(f"axis={place} out of bounds: expected -{rank}<=axis<{rank}")
        return self._call(of_rows.CONCAT, parts, name, axis=place % rank)

    def expand_dims(self, input: Any, axis: Any, name: str | None = None) -> Any:
        """Insert a dimension of size 1."""
        return self._call(of_rows.EXPAND_DIMS, [input], name, axis=input._axis(axis, 1))

    def gather(
        self,
        params: Any,
        indices: Any,
        axis: Any = None,
        batch_dims: int = 0,
        name: str | None = None,
    ) -> Any:
        """Gather the slices of `params` at `indices` along one dimension."""
        x, places = self._either(params), self._either(indices)
        rank, count = x.shape.ndims, places.shape.ndims
        batch = _dimension("batch_dims", batch_dims, count, "indices", count + 1)
        if batch >= rank:
            raise ValueError("batch_dims must be less than rank(params)")
        along = batch if axis is None else _dimension("axis", axis, rank, "params", rank)
        if along < batch:
            raise ValueError("axis must be greater than or equal to batch_dims")
        return self._call(of_rows.GATHER, [x, places], name, axis=along, batch_dims=batch)

    def range(
        self,
        starts: Any,
        limits: Any = None,
        deltas: Any = 1,
        dtype: Any = None,
        name: str | None = None,
        row_splits_dtype: Any = "int64",
    ) -> Any:
        """Return rows of numbers from `starts` to below `limits`."""
        first, last = (0, starts) if limits is None else (starts, limits)
        parts = [self._tensor(each) for each in (first, last, deltas)]
        order = ["int32", "int64", "float32", "float64"]
        wanted = dtype or max((part.dtype.name for part in parts), key=order.index)
        cast = self._made._operators["cast"]
        parts = [cast(part, as_dtype(wanted)) for part in parts]
        return self._call(of_rows.RANGE, parts, name, dtype=as_dtype(row_splits_dtype))

    def row_splits_to_segment_ids(
        self, splits: Any, name: str | None = None, out_type: Any = None
    ) -> Any:
        """Return the row number of each value."""
        found = self._call(of_ragged.SEGMENT_IDS, [integers(self._tensor, splits)], name)
        return found if out_type is None else self._made._operators["cast"](found, out_type)

    def segment_ids_to_row_splits(
        self,
        segment_ids: Any,
        num_segments: Any = None,
        out_type: Any = None,
        name: str | None = None,
    ) -> Any:
        """Return the row splits for values with the given row numbers."""
        ids = integers(self._tensor, segment_ids)
        found = self._made.from_value_rowids(ids, ids, num_segments).row_splits
        return found if out_type is None else self._made._operators["cast"](found, out_type)
