# SPDX-License-Identifier: Apache-2.0
"""Variables: what a session remembers from one run to the next."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._tf.dtypes import DType, bool_, string
from .._tf.errors import FailedPreconditionError, OutOfRangeError
from .._tf.shape import TensorShape, in_messages
from ._nodes import Arithmetic, Operation, Tensor
from ._ops import invalid
from ._plan import frozen
from .constants import convert_to_tensor
from .control_flow import group
from .graph import GraphKeys, create_op, get_default_graph, name_scope

__all__ = [
    "Variable",
    "all_variables",
    "assert_variables_initialized",
    "assign",
    "assign_add",
    "assign_sub",
    "count_up_to",
    "global_variables",
    "global_variables_initializer",
    "initialize_all_variables",
    "initialize_local_variables",
    "initialize_variables",
    "is_variable_initialized",
    "local_variables",
    "local_variables_initializer",
    "report_uninitialized_variables",
    "trainable_variables",
    "variables_initializer",
]


class _Cell:
    """Value of one variable in a session."""

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


class Variable(Arithmetic):
    """A tensor whose value stays until it is assigned another.

    Parameters
    ----------
    initial_value : array_like, Tensor or callable
        What its initializer assigns to it.
    trainable : bool
        Whether it belongs to the collection of trainable variables.
    collections : sequence of str, optional
        The collections that it belongs to; those of global variables otherwise.
    validate_shape : bool
        Whether only values of the initial value's shape may be assigned.
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
            self.op = _variable_op(self.dtype, shape, scope)
            self._tensor = self.op.outputs[0]
            self.initializer = self.assign(self._initial, name="Assign").op
            self._snapshot = self._read("read")
        chosen = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
        self.trainable = trainable is not False
        if self.trainable and collections is None:
            chosen.append(GraphKeys.TRAINABLE_VARIABLES)
        graph.add_to_collections(chosen, self)

    def _as_graph_element(self) -> Tensor:
        return self._tensor

    def _as_tensor(self) -> Tensor:
        # Within control dependencies what was assigned by them is to be seen.
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
        """The graph that it belongs to."""
        return self.op.graph

    @property
    def name(self) -> str:
        """As in ``"Variable:0"``."""
        return self._tensor.name

    @property
    def shape(self) -> TensorShape:
        """Static shape."""
        return self._tensor.shape

    @property
    def initial_value(self) -> Tensor:
        """Value that the initializer assigns."""
        return self._initial

    @property
    def device(self) -> str:
        """The empty string: there is one device."""
        return ""

    def get_shape(self) -> TensorShape:
        """Return the static shape."""
        return self._tensor.shape

    def initialized_value(self) -> Tensor:
        """Return the value that the initializer assigns, whether it has run or not."""
        return self._initial

    def value(self) -> Tensor:
        """Its value at the beginning of a run."""
        return self._snapshot

    def read_value(self) -> Tensor:
        """Its value after what this is made to depend on."""
        with name_scope(self.op.name + "/"):
            return self._read("read")

    def eval(self, session: Any = None) -> Any:
        """Its value in `session`, or in the default one."""
        return self._tensor.eval(session=session)

    def load(self, value: Any, session: Any = None) -> None:
        """Give it `value` in `session`, or in the default one."""
        feed = {self.initializer.inputs[0]: value}
        self.initializer.run(feed, session)

    def assign(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Tensor:
        """Give it `value`; the result is that value."""
        return _assigning("Assign", self, value, lambda old, new: new, name, needs_old=False)

    def assign_add(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Tensor:
        """Add `delta` to it; the result is the new value."""
        return _assigning("AssignAdd", self, delta, np.add, name)

    def assign_sub(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Tensor:
        """Take `delta` from it; the result is the new value."""
        return _assigning("AssignSub", self, delta, np.subtract, name)

    def count_up_to(self, limit: int) -> Tensor:
        """Its value, before one is added to it; the end, once that is `limit`."""
        return count_up_to(self, limit)

    def set_shape(self, shape: Any) -> None:
        """Add to what is known of its shape."""
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
    """Give a variable `value`; the result is that value."""
    return _assigning("Assign", ref, value, lambda old, new: new, name, needs_old=False)


def assign_add(
    ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Tensor:
    """Add `value` to a variable; the result is the new value."""
    return _assigning("AssignAdd", ref, value, np.add, name)


def assign_sub(
    ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Tensor:
    """Take `value` from a variable; the result is the new value."""
    return _assigning("AssignSub", ref, value, np.subtract, name)


def count_up_to(ref: Any, limit: int, name: str | None = None) -> Tensor:
    """The value of a variable, before one is added to it."""
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


# Collections of variables, and what initialises them.


def global_variables(scope: str | None = None) -> list[Any]:
    """The variables that belong to the program."""
    return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def local_variables(scope: str | None = None) -> list[Any]:
    """The variables that belong to one process, as the counters of epochs do."""
    return get_default_graph().get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[Any]:
    """The variables that training would change."""
    return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def all_variables() -> list[Any]:
    """The older name of :func:`global_variables`."""
    return global_variables()


def variables_initializer(var_list: Sequence[Any], name: str | None = "init") -> Operation:
    """An operation that gives some variables their initial values."""
    return group(*[variable.initializer for variable in var_list], name=name)


def global_variables_initializer() -> Operation:
    """An operation that gives the global variables their initial values."""
    return variables_initializer(global_variables())


def local_variables_initializer() -> Operation:
    """An operation that gives the local variables their initial values."""
    return variables_initializer(local_variables())


initialize_variables = variables_initializer
initialize_all_variables = global_variables_initializer
initialize_local_variables = local_variables_initializer


def is_variable_initialized(variable: Any) -> Tensor:
    """Whether a variable has a value."""

    def kernel(step: Any) -> tuple[Any]:
        return (np.asarray(_cell(step, variable.op).value is not None),)

    return create_op(
        "IsVariableInitialized", (), [(bool_, [])], kernel, stateful=True, graph=variable.graph
    ).outputs[0]


def report_uninitialized_variables(
    var_list: Sequence[Any] | None = None, name: str = "report_uninitialized_variables"
) -> Tensor:
    """The names of the variables that have no value."""
    chosen = global_variables() + local_variables() if var_list is None else list(var_list)

    def kernel(step: Any) -> tuple[Any]:
        names = [v.op.name.encode() for v in chosen if _cell(step, v.op).value is None]
        result = np.empty(len(names), dtype=object)
        result[:] = names
        return (result,)

    return create_op("Report", (), [(string, [None])], kernel, name=name, stateful=True).outputs[0]


def assert_variables_initialized(var_list: Sequence[Any] | None = None) -> Operation | None:
    """An operation that fails unless the variables have values."""
    chosen = global_variables() + local_variables() if var_list is None else list(var_list)
    return group(*[variable._read("read") for variable in chosen]) if chosen else None


def get_or_create_global_step(graph: Any = None) -> Variable:
    """The variable that counts steps, which is 0 at first."""
    chosen = graph or get_default_graph()
    found: list[Variable] = chosen.get_collection("global_step")
    if found:
        return found[0]
    with chosen.as_default():
        made = Variable(np.int64(0), trainable=False, name="global_step")
    chosen.add_to_collection("global_step", made)
    return made
