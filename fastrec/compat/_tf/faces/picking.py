# SPDX-License-Identifier: Apache-2.0
"""Functions that select elements of tensors by their indices, or sort them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from ..dtypes import DType, as_dtype, bool_, float32
from ..methods import Methods, of_values
from ..ops import Op, same_spec
from ..ops import picking as rows
from ..ops import reductions as ordered
from ..ops.arithmetic import CAST
from . import Faces

_PLACES = ("int16", "int32", "int64")


def scattering(name: str, change: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that changes a tensor at the indices in the rows of an index tensor."""

    def kernel(x: Any, indices: Any, updates: Any) -> Any:
        result = x.copy()
        change(result, tuple(np.moveaxis(indices, -1, 0)), updates)
        return result

    op = Op(name, kernel, same_spec)

    def function(
        self: Faces, tensor: Any, indices: Any, updates: Any, name: str | None = None
    ) -> Any:
        x = self._tensor(tensor)
        inputs = x, self._tensor(indices), self._tensor(updates, x.dtype)
        return self._apply(op, inputs, name)

    return function


class Picking(Faces):
    """The functions of ``tf`` that select elements."""

    def _places(self, indices: Any) -> Any:
        return self._version.integers(indices, "indices", "Tindices", None, _PLACES)

    def gather(
        self,
        params: Any,
        indices: Any,
        validate_indices: Any = None,
        axis: Any = None,
        batch_dims: int = 0,
        name: str | None = None,
    ) -> Any:
        """Gather the slices of `params` at `indices` along one dimension.

        With `batch_dims`, the first `batch_dims` dimensions of both tensors correspond.
        """
        if self._of_ragged.among([params, indices]):
            return self._of_ragged.gather(params, indices, axis, batch_dims, name)
        chosen = batch_dims if axis is None else axis
        along = self._version.integers(chosen, "axis", "Taxis", 0)
        inputs = self._tensor(params), self._places(indices), along
        return self._apply(rows.GATHER, inputs, name, batch_dims=int(batch_dims))

    def gather_nd(
        self, params: Any, indices: Any, batch_dims: int = 0, name: str | None = None
    ) -> Any:
        """Gather the slices of `params` at the indices in the last dimension of `indices`."""
        inputs = self._tensor(params), self._places(indices)
        return self._apply(rows.GATHER_ND, inputs, name, batch_dims=int(batch_dims))

    def one_hot(
        self,
        indices: Any,
        depth: Any,
        on_value: Any = None,
        off_value: Any = None,
        axis: Any = None,
        dtype: Any = None,
        name: str | None = None,
    ) -> Any:
        """Return rows of `depth` elements: `on_value` at one index and `off_value` elsewhere."""
        if isinstance(indices, Methods):
            how = depth, on_value, off_value, axis, dtype
            return of_values(lambda flat: self.one_hot(flat, *how), indices)
        types = ("uint8", "int8", "int32", "int64")
        places = self._version.integers(indices, "indices", "TI", None, types)
        count = self._version.integers(depth, "depth", None, 0, ("int32",))
        element = self._one_hot_type(on_value, off_value, dtype)
        on = self._tensor(1 if on_value is None else on_value, element)
        off = self._tensor(0 if off_value is None else off_value, element)
        at = -1 if axis is None else int(axis)
        inputs = places, count, on, off
        return self._apply(rows.ONE_HOT, inputs, name or "one_hot", axis=at)

    def _one_hot_type(self, on_value: Any, off_value: Any, dtype: Any) -> DType:
        if dtype is not None:
            return as_dtype(dtype)
        given = [value for value in (on_value, off_value) if value is not None]
        types: list[DType] = [self._tensor(value).dtype for value in given]
        if len(types) > 1 and types[0] is not types[1]:
            raise TypeError(
                f"dtype {types[0]} of on_value does not match dtype {types[1]} of off_value"
            )
        return types[0] if types else float32

    def boolean_mask(
        self, tensor: Any, mask: Any, axis: int | None = None, name: str | None = "boolean_mask"
    ) -> Any:
        """Return the elements where `mask` is true, as one row."""
        values, kept, first = self._tensor(tensor), self._tensor(mask), int(axis or 0)
        if kept.dtype is not bool_:
            kept = self._apply(CAST, (kept,), DstT=bool_)
        if kept.shape.ndims == 0:
            raise ValueError("mask cannot be scalar.")
        if None not in (values.shape.ndims, kept.shape.ndims):
            sizes = values.shape[first : first + kept.shape.ndims]
            if not sizes.is_compatible_with(kept.shape):
                raise ValueError(f"Shapes {sizes} and {kept.shape} are incompatible")
        return self._apply(rows.BOOLEAN_MASK, (values, kept), name, axis=first)

    def slice(self, input_: Any, begin: Any, size: Any, name: str | None = None) -> Any:
        """Slice `size` elements from `begin` along each dimension; -1 means all remaining ones."""
        first = self._version.integers(begin, "begin", "Index", 1)
        count = self._version.integers(size, "size", "Index", 1)
        return self._apply(rows.SLICE, (self._tensor(input_), first, count), name)

    tensor_scatter_nd_add: Final = scattering("TensorScatterAdd", np.add.at)
    tensor_scatter_nd_update: Final = scattering("TensorScatterUpdate", operator.setitem)


class TopK(NamedTuple):
    """The largest values and their indices."""

    values: Any
    indices: Any


def _how(axis: Any, direction: str) -> dict[str, Any]:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"Argument `direction` should be ASCENDING or DESCENDING, not {direction}")
    return {"axis": int(np.asarray(axis)), "descending": direction == "DESCENDING"}


class Ordering(Faces):
    """The functions of ``tf`` that reorder elements by value or position."""

    def argsort(
        self,
        values: Any,
        axis: int = -1,
        direction: str = "ASCENDING",
        stable: bool = False,
        name: str | None = None,
    ) -> Any:
        """Return the indices that sort the elements along an axis."""
        how = _how(axis, direction)
        return self._apply(ordered.ARGSORT, (self._operand(ordered.ARGSORT, values),), name, **how)

    def sort(
        self, values: Any, axis: int = -1, direction: str = "ASCENDING", name: str | None = None
    ) -> Any:
        """Sort the elements along an axis."""
        how = _how(axis, direction)
        return self._apply(ordered.SORT, (self._operand(ordered.SORT, values),), name, **how)

    def top_k(self, input: Any, k: Any = 1, sorted: bool = True, name: str | None = None) -> TopK:
        """Return the `k` largest elements of each row and their indices."""
        inputs = (self._operand(ordered.TOP_K, input),)
        return TopK(*self._version.apply_all(ordered.TOP_K, inputs, name, k=int(np.asarray(k))))

    def repeat(
        self, input: Any, repeats: Any, axis: int | None = None, name: str | None = None
    ) -> Any:
        """Repeat each element a number of times, in the flattened tensor or along `axis`."""
        inputs = self._tensor(input), self._version.integers(repeats, "repeats", "Trepeats")
        return self._apply(ordered.REPEAT, inputs, name, axis=axis)

    def roll(self, input: Any, shift: Any, axis: Any, name: str | None = None) -> Any:
        """Roll elements along dimensions; elements that leave at one end enter at the other."""
        places = self._version.integers(shift, "shift", "Tshift")
        along = self._version.integers(axis, "axis", "Taxis")
        return self._apply(ordered.ROLL, (self._tensor(input), places, along), name)
