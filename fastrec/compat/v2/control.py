# SPDX-License-Identifier: Apache-2.0
"""Choices and checks, as functions of Python over tensors."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._tf import errors as _errors
from .._tf.ops import Op
from .._tf.tensor import as_array, convert_to_tensor
from .._tf.tracing.recording import Symbol, Unfit, run
from .functions import cond

__all__ = [
    "Assert",
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
    "no_op",
    "switch_case",
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

    op = Op(name, kernel, lambda *_: [])
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


def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """Return the result of the function of the first condition that holds."""
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs)
    if exclusive:
        text = "Input error: exclusive=True: more than 1 conditions evaluated as True:"
        _check("Assert", lambda *holds: np.sum(holds) < 2, text, *[pred for pred, _ in pairs])
    if default is None:
        last, function = pairs.pop()

        def default() -> Any:
            _check(
                "Assert",
                lambda holds: holds,
                "Input error: None of conditions evaluated as True:",
                last,
            )
            return function()

    return _first(pairs, default)


def _first(pairs: Sequence[Any], default: Callable[[], Any]) -> Any:
    if not pairs:
        return default()
    (pred, function), *others = pairs
    return cond(pred, function, lambda: _first(others, default))


def switch_case(
    branch_index: Any,
    branch_fns: Any,
    default: Callable[[], Any] | None = None,
    name: str = "switch_case",
) -> Any:
    """Return the result of the function at an index."""
    pairs = dict(branch_fns if isinstance(branch_fns, dict) else _numbered(branch_fns))
    last = max(pairs)
    if isinstance(branch_index, Symbol):
        from .._tf.tracing.choices import chosen  # which other functions do without

        numbers = sorted(pairs)
        functions = [*[pairs[number] for number in numbers], *([default] if default else [])]
        places = {number: at for at, number in enumerate(numbers)}
        with contextlib.suppress(Unfit):
            return chosen(branch_index, functions, places, "branch_fns arguments to tf.switch_case")
    for number, fn in pairs.items():
        if number != last and branch_index == number:
            return fn()
    if default is not None and branch_index != last:
        return default()
    return pairs[last]()


def _numbered(functions: Sequence[Any]) -> list[tuple[int, Any]]:
    return [f if isinstance(f, tuple) else (i, f) for i, f in enumerate(functions)]
