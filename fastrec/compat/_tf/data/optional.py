# SPDX-License-Identifier: Apache-2.0
"""``tf.experimental.Optional``: a value, or none."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidArgumentError
from ..specs import ElementsSpec, TensorSpec
from ..structure import flatten, map_leaves, pack
from ..tensor import convert_to_tensor

__all__ = ["Optional", "OptionalSpec", "get_next_as_optional"]


class Optional:
    """Value of some structure, or none. Created by :meth:`from_value` and :meth:`empty`.

    Parameters
    ----------
    spec : structure of TypeSpec
    value : structure of Tensor, optional
    there : bool
    """

    def __init__(self, spec: Any, value: Any = None, there: bool = False) -> None:
        self._spec, self._value, self._there = spec, value, there

    @staticmethod
    def from_value(value: Any) -> Optional:
        """Return an optional that holds `value`."""
        structure, leaves = flatten(value)
        made = pack(structure, [_tensor(leaf) for leaf in leaves])
        return Optional(map_leaves(_spec_of, made), made, True)

    @staticmethod
    def empty(element_spec: Any) -> Optional:
        """Return an optional without a value."""
        return Optional(element_spec)

    def has_value(self, name: str | None = None) -> Any:
        """Return whether there is a value."""
        return convert_to_tensor(self._there)

    def get_value(self, name: str | None = None) -> Any:
        """Return the value.

        Raises
        ------
        InvalidArgumentError
            If there is no value.
        """
        if not self._there:
            raise InvalidArgumentError(None, None, "The given optional does not have a value.")
        return self._value

    @property
    def element_spec(self) -> Any:
        """Types and shapes of the parts of the value."""
        return self._spec

    def __repr__(self) -> str:
        return f"tf.experimental.Optional({self._spec!r})"


class OptionalSpec(ElementsSpec):
    """Spec of optional values."""

    value_type = Optional

    def __repr__(self) -> str:
        return f"OptionalSpec({self.element_spec!r},)"


def _tensor(value: Any) -> Any:
    return value if hasattr(value, "_raw") else convert_to_tensor(value)


def _spec_of(tensor: Any) -> Any:
    return tensor._spec if hasattr(tensor, "_raw") else TensorSpec.from_tensor(tensor)


def get_next_as_optional(iterator: Any) -> Optional:
    """Return an optional with the next element of an iterator; empty at its end."""
    try:
        return Optional(iterator.element_spec, next(iterator), True)
    except StopIteration:
        return Optional(iterator.element_spec)
