# SPDX-License-Identifier: Apache-2.0
"""Operations of a graph, which are named views of nodes, and the tensors between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from fastrec.errors import FastrecError

from .._tf.dtypes import DType
from .._tf.errors import OpError, ResourceExhaustedError, invalid, translated
from .._tf.ops import Op
from .._tf.shape import TensorShape
from .._tf.tensor import DenseOperators
from .._tf.tracing.recording import Node

if TYPE_CHECKING:
    from .control_flow import Branch
    from .graph import Graph

Kernel = Callable[..., "tuple[Any, ...]"]
"""``kernel(step, *input_values)`` gives one value for each output.

A value is an ndarray, with 0 dimensions for a scalar; of strings, an object array of ``bytes``; of
a resource, any object. Kernels leave their inputs as they are.
"""

# The value of a tensor on the side of a switch that is not taken.
DEAD: Any = type("Dead", (), {"__repr__": lambda self: "no value"})()

# Implementations of Python's operators on tensors, filled by the modules that define operations.
operators: dict[str, Callable[..., Any]] = {}


class SessionOp(Op):
    """An operation that only a session can run: its kernel takes the step first.

    The kernel knows the attributes of the node. Operations of the registry take them, and no step.

    Attributes
    ----------
    drawing : Drawing, optional
        The operation of the registry that the kernel runs with random numbers of the session.
    """

    drawing: Any = None

    def __init__(self, name: str, kernel: Kernel, pure: bool = True, blocking: bool = False):
        # Instances store only these attributes, because graphs have thousands of operations.
        vars(self).update(name=name, kernel=kernel, pure=pure, blocking=blocking)


class Operation:
    """A named view of a node of a graph.

    Attributes
    ----------
    node : Node
        Its slots are the tensors of the graph.
    switched : int
        The number of switches that decide whether it runs.
    inner : tuple of Branch
        The parts of the graph that its kernel runs.
    """

    __slots__ = ("_id", "control_inputs", "graph", "inner", "name", "node", "origin", "switched")

    def __init__(self, graph: Graph, name: str, origin: tuple[str, int] | None) -> None:
        self.graph: Final = graph
        self.name: str = name
        self.node: Node
        self.control_inputs: tuple[Operation, ...] = ()
        self.switched: int = 0
        self.inner: tuple[Branch, ...] = ()
        self.origin: tuple[str, int] | None = origin
        self._id = 0

    @property
    def type(self) -> str:
        """The kind of operation."""
        return self.node.op.name

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The input tensors."""
        return tuple([tensor for _, tensor in self.node.inputs])

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The output tensors."""
        return self.node.slots

    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes."""
        return self.node.attributes

    @property
    def stateful(self) -> bool:
        """Whether repeated runs may differ, or it has effects other than its outputs."""
        return not (self.node.op.pure and self.node.slots)

    def named(self, error: Exception) -> Exception:
        """Return the error that a session raises if the kernel raised `error`."""
        if isinstance(error, OpError):
            return error.at(self)
        if isinstance(error, (FastrecError, OSError)):
            return translated(error).at(self)
        if isinstance(error, MemoryError):
            return ResourceExhaustedError(None, None, str(error) or "out of memory").at(self)
        return invalid(str(error)).at(self) if type(error) is ValueError else error

    @property
    def node_def(self) -> Operation:
        """This operation, because operations have only one representation."""
        return self

    @property
    def values(self) -> Callable[[], tuple[Tensor, ...]]:
        """A function that returns the outputs."""
        return lambda: self.outputs

    @property
    def device(self) -> str:
        """The empty string, because there is one device."""
        return ""

    def get_attr(self, name: str) -> Any:
        """Return an attribute of the operation.

        Raises
        ------
        ValueError
            If the operation has no attribute with this name.
        """
        if name not in self.attrs:
            raise ValueError(f"Operation {self.name!r} has no attr named {name!r}.")
        return self.attrs[name]

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Run the operation in `session`, or in the default session."""
        chosen = operators["session"]("run", session, self.graph)
        chosen.run(self, feed_dict)

    def __repr__(self) -> str:
        return f"<tf.Operation {self.name!r} type={self.type}>"


class OperatorNotAllowedInGraphError(TypeError):
    """A tensor was used where a value is required."""


class SymbolicOperators(DenseOperators):
    """Python's operators for tensors and variables of a graph."""

    __slots__ = ()

    def _operate(self, name: str, *others: Any) -> Tensor:
        result: Tensor = operators[name](self, *others)
        return result

    def _operate_reflected(self, name: str, other: Any) -> Tensor:
        result: Tensor = operators[name](other, self, reflected=True)
        return result

    __div__: Callable[[Any, Any], Any] = DenseOperators.__truediv__

    def __iter__(self) -> Iterator[Any]:
        raise OperatorNotAllowedInGraphError(
            "Iterating over a symbolic `tf.Tensor` is not allowed: run it in a session first."
        )

    def __bool__(self) -> bool:
        raise OperatorNotAllowedInGraphError(
            "Using a symbolic `tf.Tensor` as a Python `bool` is not allowed: run it in a session "
            "first, or use tf.cond."
        )

    def __array__(self, *arguments: Any, **settings: Any) -> Any:
        name = getattr(self, "name", "?")
        raise NotImplementedError(
            f"Cannot convert a symbolic tf.Tensor ({name}) to a numpy array. This error may "
            f"indicate that you're trying to pass a Tensor to a NumPy call, which is not supported."
        )

    def __len__(self) -> int:
        name = getattr(self, "name", "?")
        raise TypeError(
            f"len is not well defined for a symbolic Tensor ({name}). "
            f"Please call `x.shape` rather than `len(x)` for shape information."
        )


class Tensor(SymbolicOperators):
    """The symbolic output of an operation, compared and hashed by identity."""

    __slots__ = ("__weakref__", "_shape", "dtype", "op", "value_index")

    def __init__(self, op: Operation, value_index: int, dtype: DType, shape: TensorShape) -> None:
        self.op: Final = op
        self.value_index: int = value_index
        self.dtype: Final = dtype
        self._shape = shape

    @property
    def graph(self) -> Graph:
        """The graph of the tensor."""
        return self.op.graph

    @property
    def name(self) -> str:
        """The name, for example ``"op:0"``."""
        return f"{self.op.name}:{self.value_index}"

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return self._shape

    @property
    def device(self) -> str:
        """The empty string, because there is one device."""
        return ""

    def get_shape(self) -> TensorShape:
        """Return the static shape."""
        return self._shape

    def set_shape(self, shape: Any) -> None:
        """Add information to the static shape.

        Raises
        ------
        ValueError
            If the shapes are incompatible.
        """
        self._shape = self._shape.merge_with(shape)

    def consumers(self) -> list[Operation]:
        """Return the operations that use this tensor."""
        return [op for op in self.graph.get_operations() if self in op.inputs]

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Return the value of the tensor in `session`, or in the default session."""
        return operators["session"]("eval", session, self.graph).run(self, feed_dict)

    def known(self) -> Any:
        """Return the constant value of the tensor; None if it is unknown."""
        return operators["constant_value"](self)

    def known_sizes(self) -> Any:
        """Return the known elements of a vector of sizes."""
        return operators["shape_value"](self).sizes

    def known_rows(self) -> list[Any]:
        """Return the known rows of a matrix of sizes."""
        parts = self.op.inputs if self.op.type == "Pack" else ()
        return [operators["shape_value"](part).sizes for part in parts]

    def constant_value(self) -> Any:
        """Return the constant value of the tensor, or the tensor if it has none."""
        found = self.known()
        return self if found is None else found

    def ref(self) -> Tensor:
        """Return the tensor, because it is hashable."""
        return self

    def __str__(self) -> str:
        shape = "" if self._shape.ndims is None else f", shape={self._shape}"
        return f'Tensor("{self.name}"{shape}, dtype={self.dtype.name})'

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape={self._shape} dtype={self.dtype.name}>"
