# SPDX-License-Identifier: Apache-2.0
"""Functions of NumPy arrays as operations."""

from __future__ import annotations

import operator
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from .._tf.arrays import strings_of
from .._tf.dtypes import DType, as_dtype, string
from .._tf.errors import (
    InternalError,
    InvalidArgumentError,
    OpError,
    ResourceExhaustedError,
    UnimplementedError,
    UnknownError,
    invalid,
)
from .._tf.faces import in_order
from .._tf.ops import Array
from ._nodes import Operation, Tensor
from ._plan import kernel_of, needed
from ._runtime import Runtime, Step, plain
from .constants import convert_to_tensor
from .graph import Graph, create_op

_KINDS: list[tuple[tuple[type[Exception], ...], type[OpError]]] = [
    ((ValueError, TypeError), InvalidArgumentError),
    ((StopIteration,), InternalError),
    ((MemoryError,), ResourceExhaustedError),
    ((NotImplementedError,), UnimplementedError),
]


def _raised(error: Exception) -> OpError:
    kinds = (kind for bases, kind in _KINDS if isinstance(error, bases))
    text = f"{type(error).__name__}: {error}\n{traceback.format_exc()}"
    return next(kinds, UnknownError)(None, None, text)


def _returned(value: Any, dtype: DType, place: int, token: str) -> Array:
    if dtype is string:
        try:
            return strings_of(value)
        except TypeError:
            raise invalid(f"Unsupported object type {type(value).__name__}") from None
    array = np.asarray(value)
    if array.dtype.newbyteorder("=") == dtype.numpy:
        return array.astype(dtype.numpy, copy=False)
    found = as_dtype(array.dtype).name if array.dtype.kind != "O" else "object"
    raise invalid(
        f"{place}-th value returned by {token} is {_short(found)}, but expects {_short(dtype.name)}"
    )


def _short(name: str) -> str:
    return {"float32": "float", "float64": "double"}.get(name, name)


def py_func(
    func: Callable[..., Any] | None = None,
    inp: Sequence[Any] = (),
    Tout: Any = None,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Apply `func` to the values of tensors."""
    if not callable(func):
        raise ValueError(
            f"Expected func to be callable. Received func={func} of type {type(func)}."
        )
    several = isinstance(Tout, (list, tuple))
    types = [as_dtype(t) for t in (Tout if several else [Tout])]
    tensors = [convert_to_tensor(value) for value in inp]
    call = func

    def kernel(step: Any, *values: Array) -> tuple[Any, ...]:
        # A function must not modify the arrays of the caller.
        given = [v[()] if v.ndim == 0 else v.copy() for v in values]
        try:
            result = call(*given)
        except OpError:
            raise
        except Exception as error:
            raise _raised(error) from error
        return _outputs(result, types, several, f"pyfunc_{op._id}")

    op = create_op(
        "PyFunc" if stateful else "PyFuncStateless",
        tensors,
        [(dtype, None) for dtype in types],
        kernel,
        name=name or "PyFunc",
        stateful=stateful,
    )
    return _result(op, several)


def _outputs(result: Any, types: list[DType], several: bool, token: str) -> tuple[Any, ...]:
    if result is None:
        found: list[Any] = []
    elif isinstance(result, (list, tuple)):
        found = list(result)
    else:
        found = [result]
    if len(found) != len(types):
        raise invalid(
            f"{token} returns {len(found)} values, but expects to see {len(types)} values."
        )
    return tuple(
        _returned(v, t, i, token) for i, (v, t) in enumerate(zip(found, types, strict=True))
    )


def _result(op: Operation, several: bool) -> Any:
    if not op.outputs:
        return op
    outputs: list[Tensor] = list(op.outputs)
    return outputs if several else outputs[0]


numpy_function: Final = in_order(py_func, "func! inp! Tout!", public="numpy_function")


class _Valued(Tensor):
    """A tensor of a graph that computes values on demand."""

    __slots__ = ()

    def numpy(self) -> Any:
        """Return the value."""
        return plain(self._found())

    def _found(self) -> Array:
        graph = self.graph
        assert isinstance(graph, _Valuing)
        return graph.value(self)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self._found(), dtype)

    def __bool__(self) -> bool:
        return bool(self._found())

    def __int__(self) -> int:
        return int(self._found())

    def __float__(self) -> float:
        return float(self._found())

    def __index__(self) -> int:
        return operator.index(self.numpy())

    def __len__(self) -> int:
        return len(self._found())

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))


class _Valuing(Graph):
    """The graph of a function that is called with values; each operation runs at most once."""

    def __init__(self) -> None:
        super().__init__()
        self._values: dict[Tensor, Any] = {}
        self._step = Step(Runtime(self))

    def add(self, op: Operation, control: bool = True) -> None:
        """Add an operation."""
        for tensor in op.outputs:
            tensor.__class__ = _Valued
        super().add(op, control)

    def value(self, tensor: Tensor) -> Array:
        """Return the value of a tensor."""
        values = self._values
        for op in needed([tensor.op], frozenset(values)) if tensor not in values else ():
            if not op.outputs or op.outputs[0] not in values:
                kernel = kernel_of(op.node)
                results = kernel(self._step, *[values[each] for each in op.inputs])
                values.update(zip(op.outputs, results, strict=True))
        return np.asarray(values[tensor])


def py_function(
    func: Callable[..., Any], inp: Sequence[Any], Tout: Any, name: str | None = None
) -> Any:
    """Apply `func` to tensors with values; the operations that it creates have values, too."""

    def call(*values: Any) -> Any:
        with _Valuing().as_default():
            found = func(*map(convert_to_tensor, values))
            if isinstance(found, (list, tuple)):
                return [_plain(each) for each in found]
            return _plain(found)

    return py_func(call, inp, Tout, name=name)


def _plain(value: Any) -> Any:
    return value.numpy() if hasattr(value, "numpy") else value
