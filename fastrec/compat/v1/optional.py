# SPDX-License-Identifier: Apache-2.0
"""``tf.data.experimental.Optional``: a value that may be absent in a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tf.dtypes import as_dtype, resource
from .._tf.errors import InvalidArgumentError
from .._tf.shape import TensorShape
from .._tf.specs import TensorSpec
from .._tf.structure import flatten, pack
from ._composites import put_together, specs_of
from ._nodes import Tensor
from .constants import convert_to_tensor
from .graph import create_op
from .iterators import Iterator

__all__ = ["Optional", "get_next_as_optional"]


class Optional:
    """An optional value, created by :meth:`from_value` and :meth:`empty`.

    Parameters
    ----------
    handle : Tensor
        The components of the value in a run, or None.
    spec : structure of TypeSpec
    """

    def __init__(self, handle: Tensor, spec: Any) -> None:
        self._handle, self._spec = handle, spec

    @staticmethod
    def from_value(value: Any) -> Optional:
        """Return an Optional with a value."""
        structure, leaves = flatten(value)
        tensors = [convert_to_tensor(leaf) for leaf in leaves]
        spec = pack(structure, [TensorSpec(each.shape, each.dtype) for each in tensors])
        return Optional(_handle("OptionalFromValue", tensors, lambda step, *parts: (parts,)), spec)

    @staticmethod
    def empty(element_spec: Any) -> Optional:
        """Return an Optional without a value."""
        return Optional(_handle("OptionalNone", [], lambda step: (None,)), element_spec)

    def has_value(self, name: str | None = None) -> Tensor:
        """Return whether there is a value."""

        def kernel(step: Any, parts: Any) -> tuple[Any]:
            return (np.asarray(parts is not None),)

        outputs = [(as_dtype("bool"), TensorShape([]))]
        op = create_op("OptionalHasValue", [self._handle], outputs, kernel, name=name)
        return op.outputs[0]

    def get_value(self, name: str | None = None) -> Any:
        """Return the value; a run without one raises InvalidArgumentError."""
        structure, specs = flatten(self._spec)
        outputs = [
            (as_dtype(dtype), TensorShape(shape))
            for spec in specs
            for dtype, shape in specs_of(spec)
        ]

        def kernel(step: Any, parts: Any) -> tuple[Any, ...]:
            if parts is None:
                text = "The given optional does not have a value."
                raise InvalidArgumentError(None, None, text)
            return tuple(parts)

        op = create_op("OptionalGetValue", [self._handle], outputs, kernel, name=name)
        return pack(structure, put_together(specs, op.outputs))

    @property
    def element_spec(self) -> Any:
        """Types and shapes of the components of the value."""
        return self._spec

    def __repr__(self) -> str:
        return f"tf.experimental.Optional({self._spec!r})"


def _handle(type: str, inputs: list[Tensor], kernel: Any) -> Tensor:
    op = create_op(type, inputs, [(resource, TensorShape([]))], kernel, stateful=True)
    return op.outputs[0]


def get_next_as_optional(iterator: Iterator) -> Optional:
    """Return the next element of an iterator, or an Optional without a value at its end."""
    return Optional(iterator.next_parts("IteratorGetNextAsOptional"), iterator.element_spec)
