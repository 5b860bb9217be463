# SPDX-License-Identifier: Apache-2.0
"""Variables, whose values a session keeps from one run to the next, and scopes of their names."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from .._tf.arrays import frozen
from .._tf.dtypes import DType, as_dtype, bool_, float32, string
from .._tf.errors import FailedPreconditionError, OutOfRangeError, invalid
from .._tf.shape import TensorShape, as_shape, in_messages
from ._nodes import Operation, SymbolicOperators, Tensor
from .array_ops import arrays
from .constants import constant, convert_to_tensor
from .control_flow import group
from .draws import draws
from .graph import GraphKeys, create_op, get_default_graph, name_scope


class _Cell:
    """The value of one variable in a session."""

    __slots__ = ("lock", "value")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.value: Any = None


def _cell(step: Any, op: Operation) -> _Cell:
    found: _Cell = step.resource(op, _Cell)
    return found


def _value(step: Any, op: Operation) -> Any:
    value = _cell(step, op).value
    if value is None:
        raise FailedPreconditionError(
            None, None, f"Attempting to use uninitialized value {op.name}"
        )
    return value


class Variable(SymbolicOperators):
    """A tensor whose value remains until another value is assigned.

    Parameters
    ----------
    initial_value : array_like, Tensor or callable
        The value that its initializer assigns.
    trainable : bool
        Whether it is in the collection of trainable variables.
    collections : sequence of str, optional
        Its collections; by default that of global variables.
    validate_shape : bool
        Whether assigned values must have the shape of the initial value.
    name : str, optional
        Its name.
    dtype : DType, optional
        The type of its elements.
    """

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        collections: Sequence[str] | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        expected_shape: Any = None,
        **ignored: Any,
    ) -> None:
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        graph = get_default_graph()
        with graph.control_dependencies(None), name_scope(name, "Variable") as scope:
            value = initial_value() if callable(initial_value) else initial_value
            self._initial = convert_to_tensor(value, dtype, name="initial_value")
            self.dtype: DType = self._initial.dtype
            shape = self._initial.shape if validate_shape else TensorShape(None)
            self.op: Final = _variable_op(self.dtype, shape, scope)
            self._tensor = self.op.outputs[0]
            self.initializer: Operation = self.assign(self._initial, name="Assign").op
            self._snapshot = self._read("read")
        chosen = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
        self.trainable: bool = trainable is not False
        if self.trainable and collections is None:
            chosen.append(GraphKeys.TRAINABLE_VARIABLES)
        graph.add_to_collections(chosen, self)

    def _as_graph_element(self) -> Tensor:
        return self._tensor

    def _as_tensor(self) -> Tensor:
        # Within control dependencies, reads see the values that these have assigned.
        inside = get_default_graph() is self.graph and self.graph._building.control
        return self._read("read") if inside else self._snapshot

    def _read(self, name: str) -> Tensor:
        op = self.op

        def kernel(step: Any) -> tuple[Any]:
            return (_value(step, op),)

        outputs = [(self.dtype, self.shape)]
        return create_op(
            "Identity", (), outputs, kernel, name=name, stateful=True, graph=self.graph
        ).outputs[0]

    @property
    def graph(self) -> Any:
        """The graph of the variable."""
        return self.op.graph

    @property
    def name(self) -> str:
        """The name, for example ``"Variable:0"``."""
        return self._tensor.name

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return self._tensor.shape

    @property
    def initial_value(self) -> Tensor:
        """The value that the initializer assigns."""
        return self._initial

    @property
    def device(self) -> str:
        """The empty string, because there is one device."""
        return ""

    def get_shape(self) -> TensorShape:
        """Return the static shape."""
        return self._tensor.shape

    def initialized_value(self) -> Tensor:
        """Return the value that the initializer assigns, whether it has run or not."""
        return self._initial

    def value(self) -> Tensor:
        """Return the value at the start of a run."""
        return self._snapshot

    def read_value(self) -> Tensor:
        """Return the value after the control dependencies."""
        with name_scope(self.op.name + "/"):
            return self._read("read")

    def eval(self, session: Any = None) -> Any:
        """Return the value in `session`, or in the default session."""
        return self._tensor.eval(session=session)

    def load(self, value: Any, session: Any = None) -> None:
        """Assign `value` in `session`, or in the default session."""
        feed = {self.initializer.inputs[0]: value}
        self.initializer.run(feed, session)

    def assign(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Tensor:
        """Assign `value`; the result is the new value."""
        return _assigning("Assign", self, value, lambda old, new: new, name, needs_old=False)

    def assign_add(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Tensor:
        """Add `delta`; the result is the new value."""
        return _assigning("AssignAdd", self, delta, np.add, name)

    def assign_sub(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Tensor:
        """Subtract `delta`; the result is the new value."""
        return _assigning("AssignSub", self, delta, np.subtract, name)

    def count_up_to(self, limit: int) -> Tensor:
        """Return the value and then increment it; raise OutOfRangeError once it equals `limit`."""
        return count_up_to(self, limit)

    def set_shape(self, shape: Any) -> None:
        """Add information to the static shape."""
        self._tensor.set_shape(shape)

    def __repr__(self) -> str:
        return f"<tf.Variable {self.name!r} shape={self.shape} dtype={self.dtype.name}_ref>"


def _variable_op(dtype: DType, shape: TensorShape, scope: str) -> Operation:
    def kernel(step: Any) -> tuple[Any]:
        return (_value(step, op),)

    op = create_op("VariableV2", (), [(dtype, shape)], kernel, name=scope, stateful=True)
    return op


def _assigning(
    type: str,
    variable: Any,
    value: Any,
    change: Callable[[Any, Any], Any],
    name: str | None,
    needs_old: bool = True,
) -> Tensor:
    tensor = convert_to_tensor(value, variable.dtype)
    variable.shape.assert_is_compatible_with(tensor.shape)
    op, known = variable.op, variable.shape

    def kernel(step: Any, new: Any) -> tuple[Any]:
        if not known.is_compatible_with(new.shape):
            raise invalid(
                f"Assign requires shapes of both tensors to match. lhs shape= "
                f"{in_messages(known)} rhs shape= {in_messages(new.shape)}"
            )
        cell = _cell(step, op)
        with cell.lock:
            old = _value(step, op) if needs_old else None
            changed = np.asarray(change(old, new), dtype=variable.dtype.numpy)
            cell.value = frozen(changed.copy() if changed is new else changed)
            return (cell.value,)

    outputs = [(variable.dtype, known.merge_with(tensor.shape))]
    return create_op(type, (tensor,), outputs, kernel, name=name, stateful=True).outputs[0]


def assign(
    ref: Any,
    value: Any,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """Assign `value` to a variable; the result is the new value."""
    return _assigning("Assign", ref, value, lambda old, new: new, name, needs_old=False)


def assign_add(
    ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Tensor:
    """Add `value` to a variable; the result is the new value."""
    return _assigning("AssignAdd", ref, value, np.add, name)


def assign_sub(
    ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Tensor:
    """Subtract `value` from a variable; the result is the new value."""
    return _assigning("AssignSub", ref, value, np.subtract, name)


def count_up_to(ref: Any, limit: int, name: str | None = None) -> Tensor:
    """Return the value of a variable and then increment it."""
    op = ref.op

    def kernel(step: Any) -> tuple[Any]:
        cell = _cell(step, op)
        with cell.lock:
            value = _value(step, op)
            if value >= limit:
                raise OutOfRangeError(None, None, f"Reached limit of {limit}")
            cell.value = frozen(np.asarray(value + 1, dtype=value.dtype))
            return (value,)

    outputs: list[tuple[DType, Any]] = [(ref.dtype, [])]
    return create_op(
        "CountUpTo", (), outputs, kernel, name=name, stateful=True, graph=ref.graph
    ).outputs[0]


# Collections of variables, and their initializers.


def global_variables(scope: str | None = None) -> list[Any]:
    """Return the variables of the whole program."""
    return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def local_variables(scope: str | None = None) -> list[Any]:
    """Return the variables of one process, such as counters of epochs."""
    return get_default_graph().get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[Any]:
    """Return the variables that training changes."""
    return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def all_variables() -> list[Any]:
    """Return the result of :func:`global_variables`, under its older name."""
    return global_variables()


def variables_initializer(var_list: Sequence[Any], name: str | None = "init") -> Operation:
    """Return an operation that assigns initial values to several variables."""
    return group(*[variable.initializer for variable in var_list], name=name)


def global_variables_initializer() -> Operation:
    """Return an operation that assigns initial values to the global variables."""
    return variables_initializer(global_variables())


def local_variables_initializer() -> Operation:
    """Return an operation that assigns initial values to the local variables."""
    return variables_initializer(local_variables())


initialize_variables = variables_initializer
initialize_all_variables = global_variables_initializer
initialize_local_variables = local_variables_initializer


def is_variable_initialized(variable: Any) -> Tensor:
    """Return whether a variable has a value."""

    def kernel(step: Any) -> tuple[Any]:
        return (np.asarray(_cell(step, variable.op).value is not None),)

    return create_op(
        "IsVariableInitialized", (), [(bool_, [])], kernel, stateful=True, graph=variable.graph
    ).outputs[0]


def report_uninitialized_variables(
    var_list: Sequence[Any] | None = None, name: str = "report_uninitialized_variables"
) -> Tensor:
    """Return the names of the variables without a value."""
    chosen = global_variables() + local_variables() if var_list is None else list(var_list)

    def kernel(step: Any) -> tuple[Any]:
        names = [v.op.name.encode() for v in chosen if _cell(step, v.op).value is None]
        result = np.empty(len(names), dtype=object)
        result[:] = names
        return (result,)

    return create_op("Report", (), [(string, [None])], kernel, name=name, stateful=True).outputs[0]


def assert_variables_initialized(var_list: Sequence[Any] | None = None) -> Operation | None:
    """Return an operation that fails unless the variables have values."""
    chosen = global_variables() + local_variables() if var_list is None else list(var_list)
    return group(*[variable._read("read") for variable in chosen]) if chosen else None


def get_or_create_global_step(graph: Any = None) -> Variable:
    """Return the variable that counts steps, initially 0; create it if necessary."""
    chosen = graph or get_default_graph()
    found: list[Variable] = chosen.get_collection("global_step")
    if found:
        return found[0]
    with chosen.as_default():
        made = Variable(np.int64(0), trainable=False, name="global_step")
    chosen.add_to_collection("global_step", made)
    return made


AUTO_REUSE = "AUTO_REUSE"


class VariableScope:
    """The scope of :func:`get_variable`: its name, reuse rule and default initializer."""

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
