# SPDX-License-Identifier: Apache-2.0
"""Python functions in datasets, and further functions that input programs call."""

from __future__ import annotations

import builtins
import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._tf.data.dataset import Dataset
from .._tf.dtypes import as_dtype, short_name
from .._tf.errors import of_python
from .._tf.ops import Op
from .._tf.specs import DatasetSpec, TensorSpec, TypeSpec
from .._tf.tensor import EagerTensor, Tensor, convert_to_tensor
from .._tf.tracing.calls import Unfit, apart
from .._tf.tracing.recording import Symbol, run, wrap

__all__ = [
    "cond",
    "executing_eagerly",
    "function",
    "get_static_value",
    "is_tensor",
    "numpy_function",
    "print_",
    "py_function",
    "type_spec_from_value",
]


def _outputs(Tout: Any) -> list[Any]:
    many = isinstance(Tout, (list, tuple))
    return [
        each if isinstance(each, TypeSpec) else as_dtype(each)
        for each in (Tout if many else [Tout])
    ]


def _check_types(parts: Sequence[Any], dtypes: Sequence[Any]) -> None:
    for number, (part, dtype) in enumerate(zip(parts, dtypes, strict=False)):
        found = convert_to_tensor(np.asarray(part)).dtype
        if found != dtype:
            raise ValueError(
                f"{number}-th value returned by pyfunc is {short_name(found)}, but expects "
                f"{short_name(dtype)}"
            )


def _called(
    func: Callable[..., Any], inp: Sequence[Any], Tout: Any, show: Callable[[Any], Any], name: str
) -> Any:
    wanted = _outputs(Tout)
    dtypes = [each.dtype if isinstance(each, TypeSpec) else each for each in wanted]

    def kernel(*values: Any) -> Any:
        with of_python():
            return called(*values)

    def called(*values: Any) -> Any:
        found = func(*[show(wrap(value)) for value in values])
        many = isinstance(found, (list, tuple)) and isinstance(Tout, (list, tuple))
        parts = list(found) if many else [found]
        if name == "PyFunc":
            _check_types(parts, dtypes)
        raws = [convert_to_tensor(p, d).raw for p, d in zip(parts, dtypes, strict=True)]
        return tuple(raws) if len(raws) > 1 else raws[0]

    specs = [w if isinstance(w, TypeSpec) else TensorSpec(None, w) for w in wanted]
    op = Op(name, kernel, lambda *_: specs, None, pure=False)
    result = run(op, [convert_to_tensor(value) for value in inp])
    if isinstance(Tout, (list, tuple)):
        return list(result) if isinstance(result, tuple) else [result]
    return result


def py_function(
    func: Callable[..., Any] | None = None,
    inp: Sequence[Any] | None = None,
    Tout: Any = None,
    name: str | None = None,
) -> Any:
    """Call a Python function of eager tensors; a decorator without `func` and `inp`."""
    if func is None:
        return lambda function: lambda *args: py_function(function, args, Tout)
    if inp is None:
        return lambda *args: py_function(func, args, Tout)
    return _called(func, inp, Tout, lambda value: value, "EagerPyFunc")


def numpy_function(
    func: Callable[..., Any] | None = None,
    inp: Sequence[Any] | None = None,
    Tout: Any = None,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Call a Python function of ndarrays; a decorator without `func` and `inp`."""
    if func is None:
        return lambda function: lambda *args: numpy_function(function, args, Tout)
    if inp is None:
        return lambda *args: numpy_function(func, args, Tout)
    return _called(func, inp, Tout, lambda value: value.numpy(), "PyFunc")


def function(func: Callable[..., Any] | None = None, **_: Any) -> Any:
    """Return the function, with a separate count of seeds for its draws in a dataset."""
    return function if func is None else apart(func)


def cond(
    pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any], name: str | None = None
) -> Any:
    """Return the result of one of two functions."""
    if isinstance(pred, Symbol):
        from .._tf.tracing.choices import chosen  # imported only by functions that need it

        with contextlib.suppress(Unfit):
            return chosen(pred, [false_fn, true_fn], {0: 0, 1: 1})
    return apart(true_fn if pred else false_fn)()


def executing_eagerly() -> bool:
    """Return True."""
    return True


def is_tensor(x: Any) -> bool:
    """Return whether a value is a tensor: dense, sparse or ragged."""
    return isinstance(x, Tensor) or hasattr(x, "_raw")


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """Return the value of a tensor; None for one that depends on the elements of a dataset."""
    if isinstance(tensor, EagerTensor):
        return tensor.numpy()
    return None if isinstance(tensor, Symbol) else tensor


def print_(*inputs: Any, output_stream: Any = None, end: str = "\n", **_: Any) -> None:
    """Print tensors and other values."""
    symbols = [value for value in inputs if isinstance(value, Symbol)]
    if symbols:
        raise TypeError("what a function prints has to be there")
    shown = [str(v.numpy()) if isinstance(v, EagerTensor) else str(v) for v in inputs]
    builtins.print(*shown, end=end, file=output_stream)


def type_spec_from_value(value: Any) -> Any:
    """Return the spec of a value."""
    if isinstance(value, Dataset):
        return DatasetSpec.from_value(value)
    return TypeSpec.from_value(value)
