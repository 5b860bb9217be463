# SPDX-License-Identifier: Apache-2.0
"""Loops over rows, and loops with a condition."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._tf import nest
from .._tf.dtypes import as_dtype
from .._tf.naming import named
from .._tf.ops import invalid
from .._tf.structure import flatten, pack
from .._tf.tensor import EagerTensor, convert_to_tensor
from .._tf.tracing.calls import Unfit, current_call, repeated
from .._tf.tracing.parts import as_part
from .._tf.tracing.recording import Recording, Symbol
from ._faces import arrays

__all__ = ["foldl", "foldr", "map_fn", "scan", "vectorized_map", "while_loop"]


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
    wanted = dtype if fn_output_signature is None else fn_output_signature
    if any(isinstance(leaf, Symbol) for leaf in leaves):
        from .._tf.tracing.loops import mapped_rows  # imported only by functions that need it

        def of_row(*row: Any) -> Any:
            return _of_type(fn(pack(structure, row)), wanted)

        with contextlib.suppress(Unfit):
            return mapped_rows(of_row, list(map(convert_to_tensor, leaves)))
    columns = [_rows(convert_to_tensor(leaf)) for leaf in leaves]
    fn = repeated(fn)
    made = [flatten(fn(pack(structure, row)), lists=True) for row in zip(*columns, strict=True)]
    if not made:
        kinds = flatten(wanted, lists=True) if wanted is not None else (structure, leaves)
        types = [as_dtype(getattr(kind, "dtype", kind)) for kind in kinds[1]]
        return pack(kinds[0], [EagerTensor(np.zeros(0, each.numpy)) for each in types])
    return _stacked([each[1] for each in made], made[0][0])


def _of_type(value: Any, wanted: Any) -> Any:
    """Convert the result of a function to tensors of the declared types."""
    if wanted is None:
        return value
    kinds = [getattr(kind, "dtype", kind) for kind in flatten(wanted, lists=True)[1]]
    leaves = nest.flatten(value)
    tensors = [convert_to_tensor(*pair) for pair in zip(leaves, kinds, strict=True)]
    return nest.pack_sequence_as(value, tensors)


def _stacked(made: Sequence[Sequence[Any]], structure: Any) -> Any:
    return pack(structure, [arrays.stack(list(part)) for part in zip(*made, strict=True)])


def vectorized_map(fn: Callable[..., Any], elems: Any, **_: Any) -> Any:
    """Apply `fn` as :func:`map_fn` does."""
    return map_fn(fn, elems)


def _folded(fn: Callable[..., Any], elems: Any, initial: Any, reverse: bool) -> tuple[Any, Any]:
    """Return the results of `fn` for each row, in order, and their structure."""
    structure, leaves = flatten(elems, lists=True)
    columns = [_rows(convert_to_tensor(leaf)) for leaf in leaves]
    rows = list(zip(*columns, strict=True))[:: -1 if reverse else 1]
    kind, held = (structure, None) if initial is None else flatten(initial, lists=True)
    made = [] if held is None else [list(map(as_part, held))]
    fn = repeated(fn)
    for row in rows:
        if not made:
            made.append(list(row))
            continue
        found = flatten(fn(pack(kind, made[-1]), pack(structure, row)), lists=True)[1]
        made.append(list(map(as_part, found)))
    return made if held is None else made[1:], kind


def _folded_symbols(
    fn: Callable[..., Any], elems: Any, initial: Any, reverse: bool, every: bool
) -> Any:
    """Fold as an operation of a traced function; raise Unfit if this is not possible."""
    structure, leaves = flatten(elems, lists=True)
    kind, held = (structure, None) if initial is None else flatten(initial, lists=True)
    if not any(isinstance(leaf, Symbol) for leaf in [*leaves, *(held or ())]):
        raise Unfit("values that are there")
    from .._tf.tracing.loops import folded_rows  # imported only by functions that need it

    def of_parts(before: Any, row: Any) -> Any:
        return fn(pack(kind, before), pack(structure, row))

    begin = None if held is None else list(map(as_part, held))
    columns = list(map(convert_to_tensor, leaves))
    return folded_rows(of_parts, columns, begin, reverse, every)


def scan(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """Apply `fn` to its previous result and each row, and stack all results."""
    with contextlib.suppress(Unfit):
        return _folded_symbols(fn, elems, initializer, reverse, True)
    made, kind = _folded(fn, elems, initializer, reverse)
    return _stacked(made[::-1] if reverse else made, kind)


def _fold(reverse: bool) -> Callable[..., Any]:
    def fold(
        fn: Callable[..., Any],
        elems: Any,
        initializer: Any = None,
        parallel_iterations: int = 10,
        back_prop: bool = True,
        swap_memory: bool = False,
        name: str | None = None,
    ) -> Any:
        with contextlib.suppress(Unfit):
            return _folded_symbols(fn, elems, initializer, reverse, False)
        made, kind = _folded(fn, elems, initializer, reverse)
        if not made and initializer is None:
            raise invalid("elems must have an element where there is no initializer")
        return pack(kind, made[-1]) if made else initializer

    way = "last to the first" if reverse else "first to the last"
    doc = f"Apply `fn` to its previous result and each row, from the {way}; return the last result."
    return named(fold, "foldr" if reverse else "foldl", doc=doc)


foldl, foldr = _fold(False), _fold(True)


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
    values: Any = loop_vars if isinstance(loop_vars, (list, tuple)) else (loop_vars,)
    with contextlib.suppress(Unfit):
        return _looped_symbols(cond, body, values, shape_invariants, maximum_iterations)
    most = None if maximum_iterations is None else int(np.asarray(maximum_iterations))
    count, alone = 0, False
    cond, body = repeated(cond), repeated(body)
    while (most is None or count < most) and cond(*values):
        values = body(*values)
        alone = not isinstance(values, (list, tuple))
        values = (values,) if alone else values
        count += 1
    values = nest.map_structure(_as_tensor, values)
    return values[0] if alone else values


def _looped_symbols(
    cond: Callable[..., Any], body: Callable[..., Any], values: Any, shapes: Any, most: Any
) -> Any:
    """Loop as an operation of a traced function; raise Unfit if this is not possible."""
    structure, leaves = flatten(tuple(values), lists=True)
    if not isinstance(current_call(), Recording):
        raise Unfit("values that are there")
    from .._tf.tracing.loops import looped  # imported only by functions that need it

    def step(*parts: Any) -> Any:
        return body(*pack(structure, parts))

    sizes = None if shapes is None else flatten(tuple(shapes), lists=True)[1]
    return looped(
        lambda *parts: cond(*pack(structure, parts)),
        step,
        list(map(as_part, leaves)),
        sizes,
        -1 if most is None else most,
    )


def _as_tensor(value: Any) -> Any:
    plain = (bool, int, float, str, bytes, np.ndarray, np.generic)
    return convert_to_tensor(value) if isinstance(value, plain) else value
