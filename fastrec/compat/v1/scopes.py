# SPDX-License-Identifier: Apache-2.0
"""Variables that are found by name."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, Final

from .._tf.dtypes import as_dtype, float32, string
from .._tf.shape import as_shape
from ._nodes import Tensor
from .array_ops import arrays
from .constants import constant, convert_to_tensor
from .draws import draws
from .graph import GraphKeys, get_default_graph, name_scope
from .variables import Variable

AUTO_REUSE = "AUTO_REUSE"


class VariableScope:
    """The name, reuse and initializer with which :func:`get_variable` finds variables."""

    def __init__(self, name: str, reuse: Any, initializer: Any = None) -> None:
        self.name: str = name
        self.reuse: Any = reuse
        self.initializer: Final = initializer

    @property
    def original_name_scope(self) -> str:
        """The name, with a slash at its end."""
        return self.name + "/" if self.name else ""

    def reuse_variables(self) -> None:
        """Allow only existing variables from now on."""
        self.reuse = True


def _stack() -> list[VariableScope]:
    extras = get_default_graph().extras
    found: list[VariableScope] = extras.setdefault("scopes", [VariableScope("", False)])
    return found


def get_variable_scope() -> VariableScope:
    """Return the current scope."""
    return _stack()[-1]


@contextlib.contextmanager
def variable_scope(
    name_or_scope: Any,
    default_name: str | None = None,
    values: Any = None,
    initializer: Any = None,
    reuse: Any = None,
    **ignored: Any,
) -> Iterator[VariableScope]:
    """Make :func:`get_variable` use names below a scope, and place new operations there, too."""
    stack = _stack()
    outer = stack[-1]
    if isinstance(name_or_scope, VariableScope):
        name = name_or_scope.name
    else:
        prefix = outer.name + "/" if outer.name else ""
        name = prefix + (name_or_scope or get_default_graph().unique_name(default_name or "scope"))
    scope = VariableScope(name, reuse or outer.reuse, initializer or outer.initializer)
    stack.append(scope)
    try:
        with name_scope(name.rsplit("/", 1)[-1], values=values):
            yield scope
    finally:
        stack.remove(scope)


def get_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool | None = None,
    collections: Sequence[str] | None = None,
    **ignored: Any,
) -> Any:
    """Return the variable with this name in the current scope; create it if necessary."""
    scope = get_variable_scope()
    full = f"{scope.name}/{name}" if scope.name else name
    store: dict[str, Any] = get_default_graph().extras.setdefault("variables", {})
    if full in store:
        if not scope.reuse:
            raise ValueError(
                f"Variable {full} already exists, disallowed. Did you mean to set reuse=True or "
                f"reuse=tf.AUTO_REUSE in VarScope?"
            )
        return store[full]
    if scope.reuse is True:
        raise ValueError(
            f"Variable {full} does not exist, or was not created with tf.get_variable(). Did you "
            f"mean to set reuse=tf.AUTO_REUSE in VarScope?"
        )
    with get_default_graph().name_scope(None):
        value = _initial_of(full, shape, dtype, initializer or scope.initializer)
        store[full] = Variable(
            value, trainable, collections, name=full, dtype=None if shape is None else dtype
        )
    return store[full]


def _initial_of(name: str, shape: Any, dtype: Any, initializer: Any) -> Any:
    if initializer is not None and not callable(initializer):
        return convert_to_tensor(initializer, dtype)
    sizes = as_shape(shape)
    if shape is None or not sizes.is_fully_defined():
        raise ValueError(
            f"Shape of a new variable ({name}) must be fully defined, but instead was {sizes}."
        )
    element = float32 if dtype is None else as_dtype(dtype)
    if initializer is None:
        return constant(0, element if element is not string else None, sizes.as_list())
    made = initializer() if isinstance(initializer, type) else initializer
    return lambda: made(sizes.as_list(), dtype=element)


def get_local_variable(name: str, *args: Any, **settings: Any) -> Any:
    """Return a variable as :func:`get_variable` does, but local and not trained."""
    settings["collections"] = [GraphKeys.LOCAL_VARIABLES]
    settings["trainable"] = False
    return get_variable(name, *args, **settings)


# Initial values of variables.


class _Initializer:
    def __init__(self, make: Any) -> None:
        self._make = make

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        made: Tensor = self._make(shape, dtype or float32)
        return made


class zeros_initializer(_Initializer):
    """Initializer of variables that are zero."""

    def __init__(self, dtype: Any = float32) -> None:
        super().__init__(arrays.zeros)


class ones_initializer(_Initializer):
    """Initializer of variables that are one."""

    def __init__(self, dtype: Any = float32) -> None:
        super().__init__(arrays.ones)


class constant_initializer(_Initializer):
    """One value, or an array of values."""

    def __init__(self, value: Any = 0, dtype: Any = float32, verify_shape: bool = False) -> None:
        super().__init__(lambda shape, t: constant(value, t, shape, verify_shape=verify_shape))


class random_uniform_initializer(_Initializer):
    """Uniformly distributed random numbers."""

    def __init__(
        self, minval: Any = -0.05, maxval: Any = 0.05, seed: int | None = None, dtype: Any = float32
    ) -> None:
        super().__init__(lambda shape, t: draws.uniform(shape, minval, maxval, t, seed))


class random_normal_initializer(_Initializer):
    """Normally distributed random numbers."""

    def __init__(
        self, mean: Any = 0.0, stddev: Any = 0.05, seed: int | None = None, dtype: Any = float32
    ) -> None:
        super().__init__(lambda shape, t: draws.normal(shape, mean, stddev, t, seed))


class truncated_normal_initializer(_Initializer):
    """Normally distributed random numbers within two standard deviations of the mean."""

    def __init__(
        self, mean: Any = 0.0, stddev: Any = 0.05, seed: int | None = None, dtype: Any = float32
    ) -> None:
        super().__init__(lambda shape, t: draws.truncated_normal(shape, mean, stddev, t, seed))
