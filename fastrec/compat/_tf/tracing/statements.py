# SPDX-License-Identifier: Apache-2.0
"""Runtime of rewritten functions: branches, loops and calls; see :mod:`.converting`.

Decisions that depend on a symbol become operations of the traced function. All others behave like
the original Python statement.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .. import nest
from ..dtypes import as_dtype
from ..ops.arithmetic import CAST, LOGICAL_NOT
from ..ops.filling import RANGE
from ..ops.shaping import SHAPE
from ..tensor import EagerTensor, Tensor, convert_to_tensor
from .calls import Unfit, apart, repeated
from .converting import RUNTIME, converted_code
from .loops import looped
from .parts import Draft, as_part, chosen, chosen_part, tracing
from .recording import Symbol, run

_YES_AND_NO = {0: 0, 1: 1}
_APART = apart(len).__code__  # identifies functions wrapped by tf.function
_FOREIGN = {"fastrec", "numpy", "tensorflow", *sys.stdlib_module_names}

Values = tuple[Any, ...]


class Unset:
    """Value of a variable that has not been set, or only on one side of an ``if``."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"the variable {self._name}, which has no value"


def converted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose decisions on symbols are recorded, also in the functions it calls.

    Return the function itself if it cannot be rewritten, for example without source.
    """
    if isinstance(function, types.MethodType):
        return types.MethodType(converted(function.__func__), function.__self__)
    if isinstance(function, functools.partial):
        inner = converted(function.func)
        return functools.partial(inner, *function.args, **function.keywords)
    if not isinstance(function, types.FunctionType):
        call = vars(type(function)).get("__call__")
        own = isinstance(call, types.FunctionType) and _is_own(call)
        return types.MethodType(converted(call), function) if call and own else function
    if function.__code__ is _APART:
        return apart(converted(function.__wrapped__))  # type: ignore[attr-defined]
    return _rewritten(function) if _is_own(function) else function


def _is_own(function: Any) -> bool:
    """Return whether a function belongs to the program, not to a library."""
    module = str(function.__globals__.get("__name__", "")).partition(".")[0]
    return function.__code__ is _APART or module not in _FOREIGN


def _rewritten(function: types.FunctionType) -> types.FunctionType:
    old = function.__code__
    code = None if RUNTIME in old.co_freevars else converted_code(old)
    if code is None:
        return function
    cells = dict(zip(old.co_freevars, function.__closure__ or (), strict=True))
    cells[RUNTIME] = _CELL
    closure = tuple(cells[name] for name in code.co_freevars)
    found = types.FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, closure
    )
    found.__kwdefaults__ = function.__kwdefaults__
    return found


def _called(function: Any) -> Any:
    """Return the function to call instead of `function`."""
    try:
        return _OF_PYTHON.get(function) or converted(function)
    except TypeError:  # unhashable
        return converted(function)


# Decisions.


def _assigned(
    test: Any, then: Callable[..., Any], otherwise: Callable[..., Any], values: Values, writes: bool
) -> Any:
    """Return the variables after an ``if``; both sides return their variables."""
    if not isinstance(test, Symbol):
        return (then if test else otherwise)(*values)
    _check(writes)
    drafts = [Draft(functools.partial(side, *values)) for side in (otherwise, then)]
    pairs = list(zip(*[draft.returned for draft in drafts], strict=True))
    late = [at for at, pair in enumerate(pairs) if pair[0] is not pair[1] and _agree(*pair)]
    draws = not tracing().is_asking
    parts = [draft.part([draft.returned[at] for at in late], draws) for draft in drafts]
    found = [one if one is other else Unset("of one side") for one, other in pairs]
    if late or any(part.trace.nodes for part in parts):
        for at, value in zip(late, chosen_part(test, parts, _YES_AND_NO), strict=True):
            found[at] = value
    return tuple(found)


def _returned(
    test: Any, then: Callable[..., Any], otherwise: Callable[..., Any], values: Values, writes: bool
) -> Any:
    """Return the result of a function that ends with an ``if``."""
    if not isinstance(test, Symbol):
        return (then if test else otherwise)(*values)
    _check(writes)
    return _chosen(test, functools.partial(then, *values), functools.partial(otherwise, *values))


def _ended(
    test: Any, then: Callable[..., Any], otherwise: Callable[..., Any], values: Values, writes: bool
) -> tuple[Values, Any]:
    """Return the variables and the jump after a loop body that ends with an ``if``."""

    def flat(side: Callable[..., Any]) -> Callable[..., Values]:
        def called(*given: Any) -> Values:
            found, broken = side(*given)
            return (*found, broken)

        return called

    *found, broken = _assigned(test, flat(then), flat(otherwise), values, writes)
    return tuple(found), broken


def _chosen(test: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    if not isinstance(test, Symbol):
        return then() if test else otherwise()
    return chosen(test, [otherwise, then], _YES_AND_NO)


def _both(one: Any, other: Callable[[], Any]) -> Any:
    if not isinstance(one, Symbol):
        return one and other()
    return chosen(one, [lambda: one, other], _YES_AND_NO)


def _either(one: Any, other: Callable[[], Any]) -> Any:
    if not isinstance(one, Symbol):
        return one or other()
    return chosen(one, [other, lambda: one], _YES_AND_NO)


def _contrary(value: Any) -> Any:
    return run(LOGICAL_NOT, [value]) if isinstance(value, Symbol) else not value


def _check(writes: bool) -> None:
    if writes:
        raise Unfit("a part of a function changes what is no variable")


def _is_value(leaf: Any) -> bool:
    return isinstance(leaf, (Tensor, bool, int, float, str, bytes, np.ndarray, np.generic)) or (
        hasattr(leaf, "_raw")
    )


def _are_values(value: Any) -> bool:
    return all(map(_is_value, nest.flatten(value)))


def _agree(one: Any, other: Any) -> bool:
    """Return whether both values are tensors with the same nesting."""
    if not (_are_values(one) and _are_values(other)):
        return False
    try:
        nest.assert_same_structure(one, other)
    except ValueError:
        return False
    return True


# Loops.


def _each(rows: Any, body: Callable[..., Any], values: Values, writes: bool, breaks: bool) -> Any:
    """Return the variables after a ``for``."""
    if not isinstance(rows, Symbol):
        function = repeated(body) if isinstance(rows, EagerTensor) else body
        for row in rows:
            values, broken = function(row, *values)
            if broken:
                break
        return values
    count = _length(rows)

    def step(at: Any, *state: Any) -> Any:
        found, broken = body(rows[at], *state)
        return (at + 1, *found), broken

    begin = (convert_to_tensor(np.int32(0)), *values)
    return _repeated(lambda at, *_: at < count, step, begin, writes, breaks)[1:]


def _while(
    test: Callable[..., Any], body: Callable[..., Any], values: Values, writes: bool, breaks: bool
) -> Any:
    """Return the variables after a ``while``."""
    while True:
        holds = test(*values)
        if isinstance(holds, Symbol):
            return _repeated(test, body, values, writes, breaks)
        if not holds:
            return values
        values, broken = body(*values)
        if broken:
            return values


def _repeated(
    test: Callable[..., Any], body: Callable[..., Any], values: Values, writes: bool, breaks: bool
) -> Values:
    """Return the variables after a recorded loop, which may change only tensors."""
    _check(writes)
    late = [at for at, value in enumerate(values) if _are_values(value)]
    state = [values[at] for at in late]

    def packed(leaves: Sequence[Any]) -> list[Any]:
        found, inner = list(values), nest.pack_sequence_as(state, list(leaves))
        for at, value in zip(late, inner, strict=True):
            found[at] = value
        return found

    def holds(broken: Any, *leaves: Any) -> Any:
        more = test(*packed(leaves))
        return _both(_contrary(broken), lambda: more) if breaks else more

    def step(_: Any, *leaves: Any) -> Any:
        found, broken = body(*packed(leaves))
        for at, (old, new) in enumerate(zip(values, found, strict=True)):
            if at not in late and not isinstance(old, Unset) and new is not old:
                raise Unfit("a loop changes what is no tensor")
        new = [found[at] for at in late]
        nest.assert_same_structure(state, new)
        return convert_to_tensor(broken), *map(as_part, nest.flatten(new))

    begin = [convert_to_tensor(False), *map(as_part, nest.flatten(state))]
    return tuple(packed(looped(holds, step, begin, None, -1)[1:]))


# Replacements for Python's built-in functions.


def _length(value: Any) -> Any:
    if not isinstance(value, Symbol) or (value.shape.sizes or [None])[0] is not None:
        return len(value)
    return run(SHAPE, [value], out_type=as_dtype("int32"))[0]


def _number(kind: type, dtype: str) -> Callable[..., Any]:
    def number(value: Any = 0, *how: Any) -> Any:
        if not isinstance(value, Symbol):
            return kind(value, *how)
        return run(CAST, [value], DstT=as_dtype(dtype))

    return number


def _range(*limits: Any) -> Iterable[int] | Symbol:
    if not any(isinstance(each, Symbol) for each in limits):
        return range(*limits)
    first, last, step = (*(limits if len(limits) > 1 else (0, *limits)), 1)[:3]
    ends = [convert_to_tensor(each) for each in (first, last, step)]
    dtype = as_dtype("int64" if any(each.dtype.name == "int64" for each in ends) else "int32")
    found: Symbol = run(RANGE, [run(CAST, [each], DstT=dtype) for each in ends])
    return found


_OF_PYTHON: dict[Any, Callable[..., Any]] = {
    int: _number(int, "int32"),
    float: _number(float, "float32"),
    len: _length,
    range: _range,
}

_CELL = types.CellType(
    types.SimpleNamespace(
        Unset=Unset,
        assigned=_assigned,
        both=_both,
        chosen=_chosen,
        contrary=_contrary,
        each=_each,
        either=_either,
        ended=_ended,
        function=_called,
        returned=_returned,
        while_=_while,
    )
)
