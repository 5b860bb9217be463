# SPDX-License-Identifier: Apache-2.0
"""Arrays of tensors, which loops write."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tf.ops import Mismatch, Op, invalid
from .._tf.ops import tensor_arrays as ops
from .._tf.specs import TensorArraySpec
from .._tf.tensor import TensorShape, convert_to_tensor
from .._tf.tracing.calls import current_call
from .._tf.tracing.recording import SYMBOL_WRAPPERS, WRAPPERS, Recording, Symbol, run

__all__ = ["TensorArray"]


def _checked(op: Op, inputs: list[Any], **how: Any) -> Any:
    """The result of an operation; for what does not go together a ValueError, as it is called."""
    try:
        return run(op, inputs, **how)
    except Mismatch as error:
        raise ValueError(str(error)) from None


class TensorArray:
    """Tensors by number, as a loop writes them.

    A write changes it and returns it; in a function that is traced it returns another one.
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
        self._size: int | None = None  # where it never changes
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
        """Whether it grows when it is written to."""
        found: bool = self._spec.dynamic_size
        return found

    @property
    def element_shape(self) -> TensorShape:
        """The shape of the tensors, as far as it is known."""
        found: TensorShape = self._spec.element_shape
        return found

    def after(self, found: TensorArray) -> TensorArray:
        """This array after operations that gave another one."""
        if isinstance(current_call(), Recording) or isinstance(found._raw, Symbol):
            found._size = self._size
            return found
        self._raw = found._raw
        return self

    def _given(self, op: Op, *inputs: Any, **how: Any) -> Any:
        """What it holds; tensors that were not written have the shape that is known here."""
        return _checked(op, [self, *inputs], shape=self.element_shape, **how)

    def size(self, name: str | None = None) -> Any:
        """Return the number of tensors."""
        return run(ops.SIZE, [self])

    def identity(self) -> TensorArray:
        """The same array."""
        return self

    def close(self, name: str | None = None) -> None:
        """Nothing: the tensors go when nothing holds them."""

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """Put a tensor at a number."""
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
        """The tensor at a number."""
        return self._given(ops.READ, convert_to_tensor(index))

    def stack(self, name: str | None = None) -> Any:
        """All of them, one below the other."""
        return self._given(ops.STACK, size=self._size)

    def gather(self, indices: Any, name: str | None = None) -> Any:
        """Some of them, one below the other."""
        return self._given(ops.GATHER, convert_to_tensor(indices))

    def concat(self, name: str | None = None) -> Any:
        """All of them, one after the other along their first dimension."""
        return _checked(ops.JOINED, [self])

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """Take the rows of a tensor."""
        return self.after(_checked(ops.UNSTACK, [self, convert_to_tensor(value)]))

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """Take the rows of a tensor, each at its number."""
        places, rows = convert_to_tensor(indices), convert_to_tensor(value)
        return self.after(run(ops.SCATTER, [self, places, rows]))

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """Take the parts of a tensor, of these lengths."""
        rows = [convert_to_tensor(value), convert_to_tensor(lengths)]
        return self.after(run(ops.SPLIT, [self, *rows]))


WRAPPERS[ops.Tensors] = SYMBOL_WRAPPERS[TensorArraySpec] = TensorArray._from
