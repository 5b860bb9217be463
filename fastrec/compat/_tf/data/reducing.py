# SPDX-License-Identifier: Apache-2.0
"""``scan``, ``take_while``, ``reduce``, reductions of groups, and ``rejection_resample``."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from ..dtypes import as_dtype
from ..errors import OpError
from ..kernels import philox
from ..seeds import draws, get_seed, graph_seed
from ..specs import TensorSpec, TypeSpec
from ..structure import LEAF, flatten, pack
from ..tracing.trace import Trace
from .flow import Sample, by_weight
from .functions import Function, Scalar, Unsupported, failed, hidden, shown
from .iterating import tensors
from .mapping import Untraced
from .pipeline import UNKNOWN, Stage, lowering
from .streams import Each, Pull, Value, steps


class Scan(Untraced):
    """Stage that applies a function of state and element, which returns the next state.

    Parameters
    ----------
    stage : Stage
    initial_state : structure of tensors
    function : callable
        Takes a state and an element; returns the next state and an output element.
    """

    def __init__(self, stage: Stage, initial_state: Any, function: Callable[..., Any]) -> None:
        super().__init__(stage)
        self._state, self._function = tensors(initial_state), function
        self._trace: Trace | None = None
        self._call = Function(self._pair, (flatten(self._state)[0], self.inputs[0].structure))
        self._found = self._traced()

    def _traced(self) -> tuple[Any, list[TypeSpec]] | None:
        structure, leaves = flatten(self._state)
        specs: list[Any] = [TensorSpec(leaf.shape, leaf.dtype) for leaf in leaves]
        traced = self._call.trace([*specs, *self.inputs[0].specs])
        if traced is None:
            return None
        (state, made), found = traced[1], traced[0].specs
        following, specs_made = found[: len(specs)], found[len(specs) :]
        if state != structure or any(
            one.dtype != other.dtype for one, other in zip(specs, following, strict=True)
        ):
            raise TypeError(
                "The element types for the new state must match the initial state. Expected "
                f"{pack(structure, specs)}; got {following}."
            )
        if [spec.shape.sizes for spec in following] != [spec.shape.sizes for spec in specs]:
            return None  # the state grows, so output shapes may change
        if traced[0].is_pure and not traced[0].draws:
            self._trace = traced[0]
        return made, specs_made

    def _pair(self, state: Any, element: Any) -> Any:
        """Call the function and check that it returns a (state, element) pair."""
        found = self._function(state, element)
        if not isinstance(found, tuple) or len(found) != 2:
            raise Unsupported(
                "`scan_func` should return a pair consisting of new state and the output value."
            )
        return found

    def start(self, ask: int) -> Pull:
        stream = self.inputs[0].elements()
        state: list[Any] = list(map(hidden, flatten(self._state)[1]))

        def step() -> Value:
            nonlocal state
            values = [*state, *next(stream)]
            try:
                if self._trace is not None and lowering():
                    parts = list(self._trace(values))
                else:
                    (_, kind), parts = self._call(values)
                    self._learn(kind, parts[len(state) :])
            except OpError as error:
                raise failed(error, "Scan") from error.__cause__
            state, value = parts[: len(state)], tuple(parts[len(state) :])
            return value

        return Each(steps(step))


_KEY = TensorSpec((), "int64")
_MOST_TRIALS = 4  # a state's shape is then stable or has unknown rank


class Reducer:
    """Reducer of a group: functions that create, update and finalize its state.

    Parameters
    ----------
    init_func, reduce_func, finalize_func : callable
    """

    def __init__(
        self,
        init_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        finalize_func: Callable[..., Any],
    ) -> None:
        self.init_func: Final = init_func
        self.reduce_func: Final = reduce_func
        self.finalize_func = finalize_func


def _wider(one: TypeSpec, other: TypeSpec) -> TypeSpec:
    """Return the spec that describes values of both specs.

    Raises
    ------
    TypeError
        If their types differ.
    """
    if type(one) is not type(other) or one.dtype != other.dtype:
        raise TypeError(
            "The element types for the new state must match the initial state. Expected "
            f"{one.dtype}, got {other.dtype}."
        )
    a, b = one.shape.sizes, other.shape.sizes
    if a is None or b is None or len(a) != len(b):
        return one.reshaped(None)
    return one.reshaped([x if x == y else None for x, y in zip(a, b, strict=True)])


class Reduced(Untraced):
    """Stage that yields the reduced value of each key, in key order.

    Raises
    ------
    ValueError
        If `key` does not return an int64 scalar.
    TypeError
        If the type of the state changes.
    """

    def __init__(self, stage: Stage, key: Callable[..., Any], reducer: Reducer) -> None:
        super().__init__(stage)
        self._reducer = reducer
        traced = Function(key, stage.structure).trace(stage.specs)
        if traced is not None:
            specs = traced[0].specs
            if traced[1] is not LEAF or any(
                spec.dtype != as_dtype("int64") or spec.shape.sizes for spec in specs
            ):
                raise ValueError(
                    f"Invalid `key_func`. Expected `key_func` to return a scalar tensor of type "
                    f"`tf.int64`, but its return type is {specs}."
                )
        self._key = Scalar(key, stage)
        self._found = self._traced(stage)

    def _traced(self, stage: Stage) -> tuple[Any, list[TypeSpec]] | None:
        begun = Function(self._reducer.init_func, LEAF).trace([_KEY])
        if begun is None:
            return None
        state, specs = begun[1], begun[0].specs
        step = Function(self._reducer.reduce_func, (state, stage.structure))
        for _ in range(_MOST_TRIALS):
            if (made := step.trace([*specs, *stage.specs])) is None:
                return None
            if made[1] != state:
                raise TypeError("The new state must have the structure of the initial state.")
            wider = list(map(_wider, specs, made[0].specs))
            if wider == specs:
                break
            specs = wider
        ended = Function(self._reducer.finalize_func, state).trace(specs)
        return None if ended is None else (ended[1], ended[0].specs)

    def cardinality(self) -> int:
        return UNKNOWN

    def start(self, ask: int) -> Pull:
        groups: list[tuple[int, Any]] | None = None

        def step() -> Value:
            nonlocal groups
            if groups is None:
                groups = sorted(self._states().items(), reverse=True)
            if not groups:
                raise StopIteration
            _, (structure, parts) = groups.pop()
            kind, made = Function(self._reducer.finalize_func, structure)(parts)
            self._learn(kind, made)
            return tuple(made)

        return Each(steps(step))

    def _states(self) -> dict[int, tuple[Any, list[Any]]]:
        stage = self.inputs[0]
        states: dict[int, tuple[Any, list[Any]]] = {}
        for key, value in self._key.beside(stage):
            if key not in states:
                first = self._reducer.init_func(shown(np.asarray(key, np.int64)))
                kind, leaves = flatten(first)
                states[key] = kind, list(map(hidden, leaves))
            structure, parts = states[key]
            call = Function(self._reducer.reduce_func, (structure, stage.structure))
            states[key] = call([*parts, *value])
        return states


_BATCH, _SMOOTHING = 32, 10  # elements between two estimates; initial count of each class
_FLOAT = np.dtype(np.float32)
Array = np.ndarray[Any, Any]
Shares = Callable[[], Iterator[tuple[Array, float]]]


def _accepted(initial: Array, target: Array) -> tuple[Array, float]:
    """Return the acceptance probability of each class, and the share passed on unchanged."""
    with np.errstate(all="ignore"):
        ratio = target / (initial + np.finfo(_FLOAT).tiny)
        least = ratio.min()
        return (ratio - least) / (ratio.max() - least), float(least)


def static_share(initial: Array, target: Array) -> float:
    """Return the probability that an element passes unchanged."""
    with np.errstate(all="ignore"):
        return float(np.min(target / initial))


def shares(stage: Stage, initial: Array | None, target: Array) -> Shares:
    """Return a function that yields the probabilities for each element.

    Parameters
    ----------
    stage : Stage
        Its elements begin with their class. Without `initial`, the classes are counted.
    """
    if initial is not None:
        known = _accepted(initial, target)
        return lambda: itertools.repeat(known)

    def estimated() -> Iterator[tuple[Array, float]]:
        seen = np.full(len(target), _SMOOTHING, np.int64)
        stream = stage.elements()
        while batch := list(itertools.islice(stream, _BATCH)):
            classes = [int(np.asarray(value[0])) for value in batch]
            inside = [number for number in classes if 0 <= number < len(seen)]
            seen += np.bincount(inside, minlength=len(seen))
            found = _accepted((seen / seen.sum()).astype(_FLOAT), target)
            yield from itertools.repeat(found, _BATCH)

    return estimated


class Rejected(Stage):
    """Stage that accepts each element with the probability of its class."""

    def __init__(self, stage: Stage, chances: Shares, seed: int | None) -> None:
        super().__init__(stage)
        self._chances, self._seeds = chances, graph_seed(seed, 0)

    @property
    def pure(self) -> bool:
        return False

    def cardinality(self) -> int:
        return UNKNOWN

    def start(self, ask: int) -> Pull:
        stream, chances = self.inputs[0].elements(), self._chances()
        state = philox.Philox(*self._seeds)

        def step() -> Value:
            while True:
                value = next(stream)
                kept = next(chances)[0][int(np.asarray(value[0]))]
                if philox.uniform(state.start(philox.PER_OUTPUT), (), _FLOAT) < kept:
                    return value

        return Each(steps(step))


def mixed(stages: Sequence[Stage], chances: Shares, seed: int | None) -> Sample:
    """Draw from the first stage with the share passed on unchanged, otherwise from the second."""
    pair = get_seed(seed)

    def choices() -> Iterator[int]:
        numbers = draws(*pair)
        for _, share in chances():
            yield next(by_weight([share, 1.0 - share], len(stages), numbers))

    return Sample(stages, choices, True)
