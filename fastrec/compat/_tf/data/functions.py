# SPDX-License-Identifier: Apache-2.0
"""Functions of elements: traced, or called with each element, with the reason why."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import sys
import types
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..columns import Variants
from ..errors import InvalidArgumentError, OpError, OutOfRangeError, invalid
from ..seeds import kept_for_run, looking_ahead, running
from ..specs import DatasetSpec, TypeSpec, common
from ..structure import LEAF, flatten, pack
from ..tensor import EagerTensor, Tensor, convert_to_tensor
from ..tracing.calls import CALLERS, Called, Unfit, calling
from ..tracing.parts import Branches
from ..tracing.recording import Mistake, Undecided, raw_of, wrap
from ..tracing.trace import Trace, sketched, traced
from ..width import AHEAD
from .pipeline import Once, Stage, in_columns, lowering
from .streams import Rows, Value, Values, flattened, pulled

_HERE = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))


def explaining() -> bool:
    """Return whether ``FASTREC_COMPAT_EXPLAIN=1`` is set."""
    return os.environ.get("FASTREC_COMPAT_EXPLAIN", "0") not in ("", "0")


def explain(function: Callable[..., Any], error: Exception) -> None:
    """Write to standard error which line of a program keeps a function from being traced.

    Parameters
    ----------
    function : callable
        The function of a ``map``, ``filter`` or the like.
    error : Exception
        The error raised when it was called with symbols.
    """
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith(_HERE)]
    name = getattr(function, "__qualname__", type(function).__name__)
    _tell(
        f"{name} is called for each element: {type(error).__name__}: {error}",
        (own[-1].filename, own[-1].lineno or 0) if own else None,
    )


def explain_way(trace: Trace, way: str) -> None:
    """Write to standard error how the rows of a traced function are made.

    Parameters
    ----------
    trace : Trace
    way : str
        The end of a sentence that begins with the name of the function.
    """
    function = trace.function
    code = getattr(function, "__code__", None)
    rules = f"; rules: {', '.join(trace.rules)}" if trace.rules else ""
    _tell(
        f"{getattr(function, '__qualname__', 'a function')} {way}{rules}",
        (code.co_filename, code.co_firstlineno) if code else None,
    )


def explain_step(name: str, reason: str, origin: tuple[str, int] | None) -> None:
    """Write to standard error why an operation of a queue runner runs once for each record.

    Parameters
    ----------
    name : str
        Name of the operation.
    reason : str
    origin : (str, int), optional
        File and line of the program that created the operation which requires this.
    """
    _tell(f"{name} runs once for each record: {reason}", origin)


def _tell(what: str, origin: tuple[str, int] | None) -> None:
    import linecache

    line = linecache.getline(*origin).strip() if origin else ""
    where = f"{origin[0]}:{origin[1]}: {line}" if origin else "?"
    print(f"fastrec.compat: {what}\n    {where}", file=sys.stderr)


def shown(raw: Any) -> Any:
    """Return a value in the form that programs see."""
    if type(raw) is np.ndarray:
        return EagerTensor(raw)
    return raw.dataset if isinstance(raw, Stage) else wrap(raw)


def hidden(value: Any) -> Any:
    """Return a program's value in the form that stages store."""
    if hasattr(value, "_node"):
        return value._node
    if isinstance(value, (list, tuple)) and any(hasattr(each, "_node") for each in value):
        return Variants([hidden(each) for each in value])
    if isinstance(value, Tensor) or hasattr(value, "_raw"):
        return raw_of(value)
    return raw_of(convert_to_tensor(value))


class Function:
    """Function of a program, with the structure of the elements that it is called with."""

    def __init__(self, function: Callable[..., Any], structure: Any) -> None:
        self.function, self.structure = function, structure
        self.refusal: str | None = None  # an error raised while tracing
        self._states: dict[Any, Any] = {}  # random states for calls outside of an iteration

    def arguments(self, parts: Sequence[Any]) -> tuple[Any, ...]:
        """Return the arguments for a call; a tuple element becomes one argument per part."""
        value = pack(self.structure, parts)
        plain = isinstance(value, tuple) and not hasattr(value, "_fields")
        return value if plain else (value,)

    def states(self) -> dict[Any, Any]:
        """Return the random states that the calls of this iteration draw from."""
        return self._states if running.get() is None else kept_for_run(self, dict)

    def __call__(self, parts: Sequence[Any], states: Any = None) -> tuple[Any, list[Any]]:
        """Call the function; return the structure and the parts of its result.

        A call from another thread must be passed this iteration's `states`.
        """
        with calling(Called(self.states() if states is None else states)):
            returned = self.function(*self.arguments([shown(part) for part in parts]))
        structure, leaves = flatten(_unlisted(returned))
        return structure, [hidden(leaf) for leaf in leaves]

    def trace(self, specs: Sequence[TypeSpec]) -> tuple[Trace, Any] | None:
        """Return the recorded operations and result structure; None if it cannot be traced.

        Raises
        ------
        AttributeError, NameError, ImportError, KeyError, TypeError
            If the function fails in a way that does not depend on the element, such as a name that
            does not exist or a wrong number of arguments.
        """
        try:
            return self._traced(specs)
        except (NameError, ImportError, Mistake):
            raise
        except Unfit as error:
            with contextlib.suppress(Exception):
                return self._traced(specs, ())  # do not draw ahead
            return self._rewritten(specs, error)
        except AttributeError as error:
            if isinstance(error.obj, types.ModuleType):
                raise
            return self._rewritten(specs, error)
        except Exception as error:
            if _is_mistake(error):
                raise
            self.refusal = str(error) if isinstance(error, InvalidArgumentError) else None
            return self._rewritten(specs, error)

    def _rewritten(self, specs: Sequence[TypeSpec], error: Exception) -> tuple[Trace, Any] | None:
        """Return the recorded operations after rewriting Python statements as operations."""
        from ..tracing.statements import converted  # rarely needed

        try:
            return self._traced(specs, function=converted(self.function))
        except Exception as again:
            self._untraced(again if isinstance(error, Undecided) else error)
        return None

    def trace_dataset(self, specs: Sequence[Any]) -> tuple[Trace, Stage] | None:
        """Return the operations and the dataset of tensors that they return, or None.

        Raises
        ------
        TypeError
            If the function is known, without an element, not to return a dataset.
        """
        if not all(isinstance(spec, TypeSpec) for spec in specs):
            return None
        returned: list[Any] = []

        def results(value: Any) -> tuple[Any, list[Any]]:
            returned.append(value)
            return LEAF, list(value._node.columns) if hasattr(value, "_node") else []

        try:
            trace, _ = traced(self.function, specs, self.arguments, results)
        except Exception:  # a call with an element raises it again
            return None
        if not hasattr(returned[0], "_node"):
            raise TypeError(
                f"The `map_func` argument must return a `Dataset` object. Got {type(returned[0])}."
            )
        return trace, returned[0]._node

    def signature_of_dataset(self, specs: Sequence[Any]) -> DatasetSignature | None:
        """Return properties of the returned datasets that do not depend on an element.

        The function is called twice with symbols, with different answers to its questions about
        values. Properties that differ are unknown. Return None if it needs an actual element.
        """
        signatures: list[DatasetSignature] = []

        def arguments(symbols: list[Any]) -> Any:
            following = iter(symbols)
            return self.arguments(
                [dataset_of(s) if isinstance(s, DatasetSpec) else next(following) for s in specs]
            )

        def results(value: Any) -> tuple[Any, list[Any]]:
            signatures.append(DatasetSignature.of(value._node))
            return LEAF, []

        tensors = [spec for spec in specs if not isinstance(spec, DatasetSpec)]
        try:
            with looking_ahead():
                for answer, number in ((True, 2), (False, 3)):
                    sketched(self.function, tensors, arguments, results, answer, number)
        except Exception:  # A call with an element raises it again.
            return None
        return signatures[0].common(signatures[1])

    def _untraced(self, error: Exception) -> None:
        """Explain why a function is called with each element, if explanations are enabled."""
        if explaining():
            explain(self.function, error)

    def branches(self, specs: Sequence[TypeSpec]) -> Branches | None:
        """Return the traced paths through a function with value-dependent branches, or None."""
        found = Branches(lambda answers: self._traced(specs, answers))
        return found if found.possible() else None

    def signature(self, specs: Sequence[TypeSpec]) -> tuple[Any, list[TypeSpec]] | None:
        """Return the structure and specs of the result that hold for every branch.

        Return None if they are not known.
        """
        try:
            (structure, found), (other, others) = (
                sketched(self.function, specs, self.arguments, _as_results, answer)
                for answer in (True, False)
            )
        except Exception:  # a call with values raises it, if it happens there
            return None
        known = _common_specs(found, others)
        return None if structure != other or known is None else (structure, known)

    def _traced(
        self,
        specs: Sequence[TypeSpec],
        answers: Sequence[bool] | None = None,
        function: Callable[..., Any] | None = None,
    ) -> tuple[Trace, Any]:
        found = traced(function or self.function, specs, self.arguments, _as_results, answers)
        found[0].function = self.function
        return found


CALLERS.add(Function.__call__.__code__)


class DatasetSignature(NamedTuple):
    """Structure, specs and purity of the datasets that a function returns."""

    structure: Any
    specs: list[TypeSpec]
    pure: bool

    @classmethod
    def of(cls, stage: Stage) -> DatasetSignature:
        """Return the signature of a stage."""
        return cls(stage.structure, stage.specs, stage.pure)

    def common(self, other: DatasetSignature) -> DatasetSignature | None:
        """Return the shared properties of two signatures; None if more than sizes differ."""
        specs = _common_specs(self.specs, other.specs)
        if self.structure != other.structure or specs is None:
            return None
        return DatasetSignature(self.structure, specs, self.pure and other.pure)


def dataset_of(spec: DatasetSpec) -> Any:
    """Return an empty dataset with the specs of a signature."""
    from .dataset import Dataset

    structure, specs = flatten(spec.element_spec)
    return Dataset(Once(lambda: iter(()), structure, specs, 0))


def _common_specs(one: Sequence[Any], other: Sequence[Any]) -> list[Any] | None:
    """Return specs that hold for both; None where types differ."""
    if len(one) != len(other):
        return None
    specs = []
    for a, b in zip(one, other, strict=True):
        if isinstance(a, TypeSpec) and type(a) is type(b) and a.dtype is b.dtype:
            specs.append(common(a, b))
        elif a == b:
            specs.append(a)
        else:
            return None
    return specs


def _is_mistake(error: Exception) -> bool:
    """Return whether an error is a missing key or a call with wrong arguments."""
    if isinstance(error, TypeError):
        wrong = ("positional argument", "unexpected keyword argument")
        return any(text in str(error) for text in wrong)
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return (
        isinstance(error, KeyError)
        and at is not None
        and not str(at.tb_frame.f_globals.get("__name__")).startswith("fastrec.")
    )


class Unsupported(Mistake):
    """Raised if a function returns a value that cannot be part of an element."""


def _as_results(value: Any) -> tuple[Any, list[Any]]:
    structure, leaves = flatten(_unlisted(value))
    if any(hasattr(leaf, "_node") for leaf in leaves):
        raise TypeError("not tensors")
    return structure, [_as_result(leaf) for leaf in leaves]


def _as_result(value: Any) -> Any:
    if isinstance(value, Tensor) or hasattr(value, "_raw"):
        return value
    if isinstance(value, type):
        raise Unsupported(
            f"Unsupported return value from function passed to Dataset.map(): {value}."
        )
    return convert_to_tensor(value)


def failed(error: OpError, name: str) -> OpError:
    """Return an error of a program's function with the text that TensorFlow adds.

    An OutOfRangeError of the function must not look like the end of the dataset.
    """
    if isinstance(error, OutOfRangeError):
        text = f"Function invocation produced OutOfRangeError: {error.message}"
        return invalid(text)
    return error.within(
        f"Error in user-defined function passed to {name} transformation with iterator: "
        f"Iterator::Root::{name}: "
    )


def _unlisted(value: Any) -> Any:
    """Return a list as a tuple: a function that returns a list returns several tensors."""
    return tuple(value) if type(value) is list else value


class PerElement(ABC):
    """Function of elements that returns one Python value; computed in columns if possible.

    Attributes
    ----------
    kind : type
        The type of the value.
    trace : Trace, optional
        The operations of the function; None if it could not be traced.
    """

    kind: type[Any] = int
    trace: Trace | None

    @abstractmethod
    def __call__(self, value: Value) -> Any:
        """Return the value for an element."""

    def beside(self, stage: Stage) -> Iterator[tuple[Any, Value]]:
        """Yield (result, element) for each element of `stage`."""
        trace = self.trace if in_columns() else None
        if trace is None or trace.is_large or not trace.is_pure or not stage.runs_ahead:
            return self._each(stage.elements())
        rows = pulled(stage.start(AHEAD), AHEAD)
        return flattened(map(functools.partial(self._of_rows, trace), rows))

    def _each(self, values: Values) -> Iterator[tuple[Any, Value]]:
        def with_result(value: Value) -> tuple[Any, Value]:
            return self(value), value

        return map(with_result, values)

    def _of_rows(self, trace: Trace, rows: Rows) -> Iterator[tuple[Any, Value]]:
        try:
            results = np.asarray(trace.run_block(rows.count, rows.columns)[0]).reshape(rows.count)
        except Exception:  # calling it with each element finds the one that fails
            return self._each(rows.elements())
        known = itertools.chain(map(self.kind, results.tolist()), itertools.repeat(0))
        return zip(known, rows.elements(), strict=False)  # an error follows the last result


class Scalar(PerElement):
    """Function of elements that returns one integer; traced if possible.

    Parameters
    ----------
    function : callable
    stage : Stage
        The stage whose elements are passed to the function.
    """

    def __init__(self, function: Callable[..., Any], stage: Stage) -> None:
        self._call = Function(function, stage.structure)
        known = all(isinstance(spec, TypeSpec) for spec in stage.specs)
        found = self._call.trace(stage.specs) if known else None
        self.trace = found[0] if found is not None and not found[0].draws else None

    def __call__(self, value: Value) -> int:
        if self.trace is not None and lowering():
            return int(np.asarray(self.trace(value)[0]))
        return int(np.asarray(self._call(value)[1][0]))
