# SPDX-License-Identifier: Apache-2.0
"""Functions that create, reshape, join, slice, pad and repeat tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import DType, as_dtype, bool_, float32, float64, int32, int64, string
from ..methods import Methods, RaggedMethods, of_values
from ..ops import Op, filling, joining, shaping
from ..ops.arithmetic import CAST, CONJ, IDENTITY
from ..ops.reductions import PROD
from . import Faces, one_of

_WIDER = (int32, int64, float32, float64)


class Arrays(Faces):
    """The functions of ``tf`` that operate on whole tensors."""

    def _cast(self, tensor: Any, dtype: Any) -> Any:
        return tensor if tensor.dtype is dtype else self._apply(CAST, (tensor,), DstT=dtype)

    def _sizes(self, shape: Any, attr: str) -> Any:
        return self._version.integers(shape, "shape", attr)

    # Functions that return shapes and sizes.

    def shape(self, input: Any, out_type: Any = int32, name: str | None = None) -> Any:
        """Return the shape of a tensor as a vector."""
        if hasattr(input, "dense_shape"):
            return self._cast(input.dense_shape, as_dtype(out_type))
        tensor, dtype = self._tensor(input), as_dtype(out_type)
        sizes = tensor.shape.sizes
        if sizes is not None and None not in sizes:
            return self._tensor(np.array(sizes, dtype.numpy), None, name)
        return self._apply(shaping.SHAPE, (tensor,), name, out_type=dtype)

    def size(self, input: Any, out_type: Any = int32, name: str | None = None) -> Any:
        """Return the number of elements of a tensor."""
        dtype = as_dtype(out_type)
        if isinstance(input, RaggedMethods):
            input = input.flat_values
        if hasattr(input, "dense_shape"):
            return self._apply(PROD, (self.shape(input, out_type=dtype),), name, keep_dims=False)
        tensor = self._tensor(input)
        count = tensor.shape.num_elements()
        if count is not None:
            return self._tensor(np.array(count, dtype.numpy), None, name)
        return self._apply(shaping.SIZE, (tensor,), name, out_type=dtype)

    def rank(self, input: Any, name: str | None = None) -> Any:
        """Return the number of dimensions of a tensor."""
        tensor: Any = input if isinstance(input, Methods) else self._tensor(input)
        if tensor.shape.ndims is not None:
            return self._tensor(tensor.shape.ndims, int32, name)
        return self._apply(shaping.RANK, (tensor,), name)

    # The same elements in another shape.

    def reshape(self, tensor: Any, shape: Any, name: str | None = None) -> Any:
        """Reshape a tensor; a size of -1 is computed from the number of elements."""
        given = self._tensor(tensor)
        sizes = self._version.integers(shape, "shape", "Tshape", 1)
        return self._apply(shaping.RESHAPE, (given, sizes), name)

    def expand_dims(
        self, input: Any, axis: Any = None, name: str | None = None, dim: Any = None
    ) -> Any:
        """Insert a dimension of size 1 at `axis`."""
        place = one_of("dim", dim, "axis", axis)
        if isinstance(input, RaggedMethods):
            return self._of_ragged.expand_dims(input, place)
        where = self._version.integers(place, "dim")
        return self._apply(shaping.EXPAND_DIMS, (self._tensor(input), where), name)

    def squeeze(
        self, input: Any, axis: Any = None, name: str | None = None, squeeze_dims: Any = None
    ) -> Any:
        """Remove all dimensions of size 1, or only the given ones."""
        chosen = one_of("squeeze_dims", squeeze_dims, "axis", axis)
        if self._version.is_tensor(chosen) and not hasattr(chosen, "numpy"):
            raise TypeError(f"Expected list for 'axis' argument to 'squeeze' Op, not {chosen!r}.")
        axes = [] if chosen is None else np.atleast_1d(np.asarray(chosen)).tolist()
        return self._apply(shaping.SQUEEZE, (self._tensor(input),), name, squeeze_dims=axes)

    def transpose(
        self, a: Any, perm: Any = None, conjugate: bool = False, name: str | None = None
    ) -> Any:
        """Permute the dimensions of a tensor; without `perm`, reverse them."""
        tensor = self._tensor(a)
        if conjugate and tensor.dtype.is_complex:
            tensor = self._apply(CONJ, (tensor,))
        order = [] if perm is None else [self._version.integers(perm, "perm", "Tperm", 1)]
        return self._apply(shaping.TRANSPOSE, (tensor, *order), name or "transpose")

    # Join tensors, and split a tensor.

    def stack(self, values: Any, axis: int = 0, name: str | None = "stack") -> Any:
        """Stack tensors of one shape along a new dimension."""
        if self._version.is_tensor(values):
            values = self.unstack(values)
        if self._of_ragged.among(values):
            return self._of_ragged.stack(values, axis)
        if not len(values):
            return self._tensor([])
        return self._apply(joining.PACK, self._version.alike("Pack", values), name, axis=axis)

    def unstack(
        self, value: Any, num: int | None = None, axis: int = 0, name: str | None = "unstack"
    ) -> list[Any]:
        """Split a tensor along one dimension, and remove that dimension from the parts."""
        tensor = self._tensor(value)
        count = joining.number_of_parts(tensor.shape, num, axis)
        found: list[Any] = self._version.apply_all(
            joining.UNPACK, (tensor,), name, num=count, axis=axis
        )
        return found

    def concat(self, values: Any, axis: Any, name: str | None = "concat") -> Any:
        """Concatenate tensors along an existing dimension."""
        if self._of_ragged.among(values):
            return self._of_ragged.concat(values, axis)
        tensors = self._version.alike("ConcatV2", values)
        if not tensors:
            raise ValueError("List argument 'values' to 'ConcatV2' Op with length 0 is too short.")
        where = self._version.integers(axis, "axis", None, 0)
        if len(tensors) == 1:
            return self._apply(IDENTITY, tensors, name)
        return self._apply(joining.CONCAT, [where, *tensors], name)

    def split(
        self,
        value: Any,
        num_or_size_splits: Any,
        axis: Any = 0,
        num: int | None = None,
        name: str | None = "split",
    ) -> list[Any]:
        """Split a tensor along a dimension into a number of equal parts, or into given sizes.

        One size may be -1 for the remaining elements. `num` is the number of sizes if it cannot be
        inferred.
        """
        inputs = [self._tensor(value), self._version.integers(axis, "axis", "Tdim", 0)]
        if isinstance(num_or_size_splits, (int, np.integer)):
            count = int(num_or_size_splits)
            if count < 1:
                raise self._version.refused_count("Split", "num_split", count)
        else:
            lengths = self._lengths(num_or_size_splits)
            found = lengths.shape.num_elements() if num is None else num
            if found is None:
                raise ValueError(f"Cannot infer argument `num` from shape {num_or_size_splits}")
            count = found
            inputs.append(lengths)
        parts: list[Any] = self._version.apply_all(joining.SPLIT, inputs, name, num=count)
        return parts

    def _lengths(self, value: Any) -> Any:
        types = ("int8", "int32", "int64")
        lengths = self._version.integers(value, "size_splits", "Tlen", None, types)
        if lengths.shape.ndims == 0:
            raise ValueError(
                f"Rank-0 tensors are not supported as the num_or_size_splits argument to split. "
                f"Argument provided: {value}"
            )
        if lengths.shape.ndims not in (1, None):
            raise ValueError(f"Shape must be rank 1 but is rank {lengths.shape.ndims} for 'SplitV'")
        return lengths

    # Fill, repeat, pad and reverse tensors.

    def sequence_mask(
        self, lengths: Any, maxlen: Any = None, dtype: Any = bool_, name: str | None = None
    ) -> Any:
        """Return one row for each length, in which the first ``length`` elements are true."""
        inputs = [self._tensor(each) for each in (lengths, maxlen) if each is not None]
        return self._apply(filling.SEQUENCE_MASK, inputs, name, dtype=as_dtype(dtype))

    def fill(self, dims: Any, value: Any, name: str | None = None) -> Any:
        """Create a tensor of the shape `dims` that is filled with one value."""
        sizes = self._sizes(dims, "index_type")
        return self._apply(filling.FILL, (sizes, self._tensor(value)), name)

    def _like(self, tensor: Any, value: int, dtype: Any, name: str | None) -> Any:
        if isinstance(tensor, RaggedMethods):
            return of_values(lambda flat: self._like(flat, value, dtype, name), tensor)
        given = self._tensor(tensor)
        element = given.dtype if dtype is None else as_dtype(dtype)
        kind, filler = "OnesLike" if value else "ZerosLike", self._filler(value, element)
        return self._apply(filling.FILLED_LIKE, (given,), name, kind, value=filler, dtype=element)

    @staticmethod
    def _filler(value: int, element: DType) -> Any:
        """Return 0 or 1 as an element; for strings, 0 is the empty string."""
        if element is string and value:
            raise TypeError(f"Expected string, but got {value} of type 'int'.")
        return b"" if element is string else value

    def zeros_like(self, input: Any, dtype: Any = None, name: str | None = None) -> Any:
        """Return zeros in the shape of a tensor; for strings, empty strings."""
        return self._like(input, 0, dtype, name or "zeros_like")

    def ones_like(self, input: Any, dtype: Any = None, name: str | None = None) -> Any:
        """Return ones in the shape of a tensor."""
        return self._like(input, 1, dtype, name or "ones_like")

    def range(
        self,
        start: Any,
        limit: Any = None,
        delta: Any = 1,
        dtype: Any = None,
        name: str | None = "range",
    ) -> Any:
        """Return numbers from `start` (0 by default) to below `limit` in steps of `delta`."""
        begin, end = (0, start) if limit is None else (start, limit)
        if dtype is not None:
            wanted = as_dtype(dtype)
            tensors = [self._given(part, wanted) for part in (begin, end, delta)]
        else:
            tensors = [self._tensor(part) for part in (begin, end, delta)]
            types = (tensor.dtype for tensor in tensors)
            wanted = max(types, key=lambda t: _WIDER.index(t) if t in _WIDER else 0)
        return self._apply(filling.RANGE, [self._cast(each, wanted) for each in tensors], name)

    def linspace(
        self, start: Any, stop: Any, num: Any, name: str | None = None, axis: int = 0
    ) -> Any:
        """Return evenly spaced numbers from `start` to `stop`."""
        ends = self._version.alike("LinSpace", [start, stop])
        if ends[0].dtype.is_integer:
            ends = [self._cast(end, float64) for end in ends]
        count = self._version.integers(num, "num", None, 0)
        return self._apply(filling.LINSPACE, [*ends, count], name, axis=axis)

    def tile(self, input: Any, multiples: Any, name: str | None = None) -> Any:
        """Repeat a tensor `multiples` times along each dimension."""
        return self._turned(filling.TILE, input, multiples, "multiples", "Tmultiples", name)

    def reverse(self, tensor: Any, axis: Any, name: str | None = None) -> Any:
        """Reverse a tensor along the given dimensions."""
        return self._turned(filling.REVERSE, tensor, axis, "axis", "Tidx", name)

    def _turned(
        self, op: Op, tensor: Any, numbers: Any, parameter: str, attr: str, name: str | None
    ) -> Any:
        given = self._version.integers(numbers, parameter, attr, 1)
        return self._apply(op, (self._tensor(tensor), given), name)

    def broadcast_to(self, input: Any, shape: Any, name: str | None = None) -> Any:
        """Broadcast a tensor to a shape: along dimensions of size 1 and new leading dimensions."""
        inputs = self._tensor(input), self._sizes(shape, "Tidx")
        return self._apply(filling.BROADCAST_TO, inputs, name)

    def pad(
        self,
        tensor: Any,
        paddings: Any,
        mode: str = "CONSTANT",
        constant_values: Any = 0,
        name: str | None = None,
    ) -> Any:
        """Pad each dimension before and after with the numbers of elements in `paddings`."""
        way = mode.upper()
        if way not in filling.PAD_MODES:
            raise ValueError(
                'Value of argument `mode` expected to be one of "CONSTANT", "REFLECT", or '
                f'"SYMMETRIC". Received `mode` = {mode}'
            )
        given = self._tensor(tensor)
        if isinstance(constant_values, int) and not constant_values:  # the plain 0 fits every type
            constant_values = b"" if given.dtype is string else np.zeros((), given.dtype.numpy)
        filler = self._tensor(constant_values, given.dtype)
        amounts = self._version.integers(paddings, "paddings", "Tpaddings", 2)
        return self._apply(filling.PAD, (given, amounts, filler), name, mode=way)
