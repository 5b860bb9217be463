# SPDX-License-Identifier: Apache-2.0
"""Loops, choices and checks, as functions of Python over tensors."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._tf import errors as _errors
from .._tf.dtypes import as_dtype
from .._tf.nest import map_structure
from .._tf.ops import Op
from .._tf.structure import flatten, pack
from .._tf.tensor import EagerTensor, TensorShape, as_array, convert_to_tensor
from .._tf.trace import run
from .array_ops import stack

__all__ = [
    "Assert",
    "TensorArray",
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_less",
    "assert_less_equal",
    "assert_non_negative",
    "assert_none_equal",
    "assert_positive",
    "assert_rank",
    "case",
    "check_numerics",
    "control_dependencies",
    "group",
    "map_fn",
    "no_op",
    "switch_case",
    "vectorized_map",
    "while_loop",
]


def control_dependencies(control_inputs: Any) -> contextlib.AbstractContextManager[None]:
    """Nothing to wait for: operations run in the order in which they are called."""
    return contextlib.nullcontext()


def no_op(name: str | None = None) -> None:
    """Nothing."""


def group(*inputs: Any, name: str | None = None) -> None:
    """Nothing: what is called has been done."""


def _check(name: str, holds: Callable[..., Any], text: str, *values: Any) -> None:
    def kernel(*arrays: Any) -> tuple[()]:
        given = [as_array(each) for each in arrays]
        if not np.all(holds(*given)):
            shown = ", ".join(np.array2string(each, threshold=6) for each in given)
            raise _errors.InvalidArgumentError(None, None, f"{text} {shown}")
        return ()

    op = Op(name, kernel, lambda *_: [], None, pure=False)
    run(op, [convert_to_tensor(value) for value in values])


def Assert(condition: Any, data: Any, summarize: int | None = None, name: Any = None) -> None:
    """Refuse what does not hold."""
    _check("Assert", lambda holds, *_: holds, "assertion failed:", condition, *data)


def _comparison(name: str, sign: str, holds: Callable[..., Any]) -> Callable[..., None]:
    def check(
        x: Any, y: Any, message: str | None = None, summarize: int | None = None, name: Any = None
    ) -> None:
        one = convert_to_tensor(x)
        other = convert_to_tensor(y, one.dtype)
        text = f"{message or ''} Condition x {sign} y did not hold.".strip()
        _check("Assert", holds, text, one, other)

    check.__doc__ = f"Refuse elements for which ``x {sign} y`` does not hold."
    check.__name__ = name
    return check


assert_equal = _comparison("assert_equal", "==", np.equal)
assert_none_equal = _comparison("assert_none_equal", "!=", np.not_equal)
assert_less = _comparison("assert_less", "<", np.less)
assert_less_equal = _comparison("assert_less_equal", "<=", np.less_equal)
assert_greater = _comparison("assert_greater", ">", np.greater)
assert_greater_equal = _comparison("assert_greater_equal", ">=", np.greater_equal)


def assert_positive(x: Any, message: str | None = None, **_: Any) -> None:
    """Refuse elements that are not above 0."""
    _check("Assert", lambda a: a > 0, f"{message or ''} Condition x > 0 did not hold.", x)


def assert_non_negative(x: Any, message: str | None = None, **_: Any) -> None:
    """Refuse elements below 0."""
    _check("Assert", lambda a: a >= 0, f"{message or ''} Condition x >= 0 did not hold.", x)


def assert_rank(x: Any, rank: Any, message: str | None = None, name: Any = None) -> None:
    """Refuse a tensor of another number of dimensions."""
    wanted = int(np.asarray(rank))
    tensor = convert_to_tensor(x)
    if tensor.shape.ndims not in (None, wanted):
        raise ValueError(
            f"{message or ''} Tensor {tensor} must have rank {wanted}. Received rank "
            f"{tensor.shape.ndims}, shape {tensor.shape}".strip()
        )
    _check("Assert", lambda a: a.ndim == wanted, f"{message or ''} rank must be {wanted}", tensor)


def _finite(x: Any, message: str) -> Any:
    for found, text in ((np.isnan(x).any(), "NaN"), (np.isinf(x).any(), "Inf")):
        if found:
            text = f"{message} : Tensor had {text} values"
            raise _errors.InvalidArgumentError(None, None, text)
    return x


def check_numerics(tensor: Any, message: str, name: str | None = None) -> Any:
    """The tensor, whose elements have to be finite numbers."""
    op = Op("CheckNumerics", lambda x: _finite(x, message), lambda specs, _: [specs[0]])
    return run(op, [convert_to_tensor(tensor)])


def _rows(value: Any) -> list[Any]:
    return [value[i] for i in range(len(value))]


def map_fn(
    fn: Callable[..., Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """Apply `fn` to each row and stack the results."""
    structure, leaves = flatten(elems, lists=True)
    columns = [_rows(convert_to_tensor(leaf)) for leaf in leaves]
    made = [flatten(fn(pack(structure, row)), lists=True) for row in zip(*columns, strict=True)]
    wanted = dtype if fn_output_signature is None else fn_output_signature
    if not made:
        kinds = flatten(wanted, lists=True) if wanted is not None else (structure, leaves)
        types = [as_dtype(getattr(kind, "dtype", kind)) for kind in kinds[1]]
        return pack(kinds[0], [EagerTensor(np.zeros(0, each.numpy)) for each in types])
    parts = [stack(list(part)) for part in zip(*(each[1] for each in made), strict=True)]
    return pack(made[0][0], parts)


def vectorized_map(fn: Callable[..., Any], elems: Any, **_: Any) -> Any:
    """As :func:`map_fn`."""
    return map_fn(fn, elems)


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: Any = None,
    name: str | None = None,
) -> Any:
    """Apply `body` to the variables repeatedly while `cond` holds."""
    most = None if maximum_iterations is None else int(np.asarray(maximum_iterations))
    values: Any = loop_vars if isinstance(loop_vars, (list, tuple)) else (loop_vars,)
    count, alone = 0, False
    while (most is None or count < most) and cond(*values):
        values = body(*values)
        alone = not isinstance(values, (list, tuple))
        values = (values,) if alone else values
        count += 1
    values = map_structure(_as_tensor, values)
    return values[0] if alone else values


def _as_tensor(value: Any) -> Any:
    plain = (bool, int, float, str, bytes, np.ndarray, np.generic)
    return convert_to_tensor(value) if isinstance(value, plain) else value


def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """Return the result of the function of the first condition that holds."""
    pairs = pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs
    for pred, fn in pairs:
        if pred:
            return fn()
    if default is None:
        raise _errors.InvalidArgumentError(None, None, "None of the conditions evaluated as True")
    return default()


def switch_case(
    branch_index: Any,
    branch_fns: Any,
    default: Callable[[], Any] | None = None,
    name: str = "switch_case",
) -> Any:
    """Return the result of the function at an index."""
    pairs = dict(branch_fns if isinstance(branch_fns, dict) else _numbered(branch_fns))
    last = max(pairs)
    for number, fn in pairs.items():
        if number != last and branch_index == number:
            return fn()
    if default is not None and branch_index != last:
        return default()
    return pairs[last]()


def _numbered(functions: Sequence[Any]) -> list[tuple[int, Any]]:
    return [f if isinstance(f, tuple) else (i, f) for i, f in enumerate(functions)]


class TensorArray:
    """Tensors by number, as a loop writes them."""

    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        element_shape: Any = None,
        **_: Any,
    ) -> None:
        self.dtype = as_dtype(dtype)
        self._values: dict[int, Any] = {}
        self._size = 0 if size is None else int(np.asarray(size))
        self._grows = bool(dynamic_size)
        self._shape = TensorShape(element_shape)

    def size(self) -> Any:
        """Return the number of tensors."""
        return EagerTensor(np.asarray(self._size, np.int32))

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """Put a tensor at a number."""
        at = int(np.asarray(index))
        if at >= self._size and not self._grows:
            text = f"Tried to write to index {at} but array is not resizeable and size is: "
            raise _errors.OutOfRangeError(None, None, text + str(self._size))
        self._values[at] = convert_to_tensor(value, self.dtype)
        if self._shape.sizes is None:
            self._shape = self._values[at].shape
        self._size = max(self._size, at + 1)
        return self

    def read(self, index: Any, name: str | None = None) -> Any:
        """The tensor at a number; zeros where none was written."""
        at = int(np.asarray(index))
        if at < 0:
            text = f"Tried to read from negative index {at}"
            raise _errors.OutOfRangeError(None, None, text)
        if at >= self._size:
            text = f"Tried to read from index {at} but array size is: {self._size} "
            raise _errors.OutOfRangeError(None, None, text)
        if at not in self._values:
            if not self._shape.is_fully_defined():
                text = f"Cannot convert a partially known TensorShape {self._shape} to a Tensor."
                raise ValueError(text)
            empty = b"" if self.dtype.name == "string" else 0
            self._values[at] = EagerTensor(np.full(self._shape.sizes, empty, self.dtype.numpy))
        return self._values[at]

    def stack(self, name: str | None = None) -> Any:
        """All of them, one below the other."""
        if not self._size:
            known = self._shape.as_list() if self._shape.is_fully_defined() else []
            return EagerTensor(np.zeros((0, *known), self.dtype.numpy))
        return stack([self.read(i) for i in range(self._size)])

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """Take the rows of a tensor."""
        rows = _rows(convert_to_tensor(value, self.dtype))
        self._values, self._size = dict(enumerate(rows)), len(rows)
        return self
