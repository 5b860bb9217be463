# SPDX-License-Identifier: Apache-2.0
"""Arrays of tensors, which loops write."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tf.errors import invalid
from .._tf.ops import Mismatch, Op
from .._tf.ops import tensor_arrays as ops
from .._tf.specs import TensorArraySpec
from .._tf.tensor import TensorShape, convert_to_tensor
from .._tf.tracing.calls import current_call
from .._tf.tracing.recording import SYMBOL_WRAPPERS, WRAPPERS, Recording, Symbol, run


def _checked(op: Op, inputs: list[Any], **how: Any) -> Any:
    """Return the result of an operation; raise ValueError for incompatible arguments."""
    try:
        return run(op, inputs, **how)
    except Mismatch as error:
        raise ValueError(str(error)) from None


class TensorArray:
    """Tensors by index, as a loop writes them.

    Eagerly, a write changes the array and returns it; in a traced function it returns a new array.
    """

    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Any = None,
        flow: Any = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        spec = TensorArraySpec(element_shape, dtype, bool(dynamic_size), infer_shape)
        self._raw: Any = ops.Tensors(spec, 0)
        self._size: int | None = None  # set if it never changes
        if isinstance(size, Symbol):
            self._raw = run(ops.SIZED, [self, size])._raw
            return
        count = 0 if size is None else int(np.asarray(size))
        self._raw = ops.Tensors(spec, count)
        self._size = None if dynamic_size else count

    @classmethod
    def _from(cls, raw: Any) -> TensorArray:
        found = cls.__new__(cls)
        found._raw, found._size = raw, None
        return found

    @property
    def _spec(self) -> Any:
        return self._raw.spec

    @property
    def dtype(self) -> Any:
        """The type of the tensors."""
        return self._spec.dtype

    @property
    def dynamic_size(self) -> bool:
        """Whether writing extends the array."""
        found: bool = self._spec.dynamic_size
        return found

    @property
    def element_shape(self) -> TensorShape:
        """The static shape of the tensors."""
        found: TensorShape = self._spec.element_shape
        return found

    def after(self, found: TensorArray) -> TensorArray:
        """Return this array after operations that produced another one."""
        if isinstance(current_call(), Recording) or isinstance(found._raw, Symbol):
            found._size = self._size
            return found
        self._raw = found._raw
        return self

    def _given(self, op: Op, *inputs: Any, **how: Any) -> Any:
        """Return stored tensors; those that were not written have the static shape."""
        return _checked(op, [self, *inputs], shape=self.element_shape, **how)

    def size(self, name: str | None = None) -> Any:
        """Return the number of tensors."""
        return run(ops.SIZE, [self])

    def identity(self) -> TensorArray:
        """Return the same array."""
        return self

    def close(self, name: str | None = None) -> None:
        """Do nothing, because the tensors are freed with their last reference."""

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """Write a tensor at an index."""
        tensor = convert_to_tensor(value)
        if tensor.dtype != self.dtype:
            raise invalid(
                f"TensorArray dtype is {self.dtype.name} but Op is trying to write dtype "
                f"{tensor.dtype.name} "
            )
        if not self.element_shape.is_compatible_with(tensor.shape):
            raise ValueError(
                f"Incompatible shape for value ({tensor.shape}), expected ({self.element_shape})"
            )
        return self.after(run(ops.WRITE, [self, convert_to_tensor(index), tensor]))

    def read(self, index: Any, name: str | None = None) -> Any:
        """Return the tensor at an index."""
        return self._given(ops.READ, convert_to_tensor(index))

    def stack(self, name: str | None = None) -> Any:
        """Stack all tensors along a new first dimension."""
        return self._given(ops.STACK, size=self._size)

    def gather(self, indices: Any, name: str | None = None) -> Any:
        """Stack selected tensors along a new first dimension."""
        return self._given(ops.GATHER, convert_to_tensor(indices))

    def concat(self, name: str | None = None) -> Any:
        """Concatenate all tensors along their first dimension."""
        return _checked(ops.JOINED, [self])

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """Write the rows of a tensor."""
        return self.after(_checked(ops.UNSTACK, [self, convert_to_tensor(value)]))

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """Write the rows of a tensor at given indices."""
        places, rows = convert_to_tensor(indices), convert_to_tensor(value)
        return self.after(run(ops.SCATTER, [self, places, rows]))

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """Write the parts of a tensor with given lengths."""
        rows = [convert_to_tensor(value), convert_to_tensor(lengths)]
        return self.after(run(ops.SPLIT, [self, *rows]))


WRAPPERS[ops.Tensors] = SYMBOL_WRAPPERS[TensorArraySpec] = TensorArray._from
