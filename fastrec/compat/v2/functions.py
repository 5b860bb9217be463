# SPDX-License-Identifier: Apache-2.0
"""Python functions in datasets, choices and loops, and further functions that programs call."""

from __future__ import annotations

import builtins
import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np

from .._tf import nest
from .._tf.data.dataset import Dataset
from .._tf.dtypes import as_dtype, short_name
from .._tf.errors import invalid, of_python
from .._tf.faces.control_flow import Choosing, Folds
from .._tf.ops import Op, known_specs
from .._tf.specs import DatasetSpec, TensorSpec, TypeSpec
from .._tf.structure import flatten, pack
from .._tf.tensor import EagerTensor, Tensor, convert_to_tensor
from .._tf.tracing.calls import Unfit, apart, current_call, repeated
from .._tf.tracing.parts import as_part
from .._tf.tracing.recording import Recording, Symbol, raw_of, run, spec_of, wrap
from ._faces import EAGER, arrays


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
    op = Op(name, kernel, known_specs(specs), pure=False)
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
        from .._tf.tracing.parts import chosen

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


def control_dependencies(control_inputs: Any) -> contextlib.AbstractContextManager[None]:
    """Return a context without effect, because operations run in the order of their calls."""
    return contextlib.nullcontext()


def no_op(name: str | None = None) -> None:
    """Do nothing."""


def group(*inputs: Any, name: str | None = None) -> None:
    """Do nothing, because the inputs have already run."""


def _numbered(number: Any, functions: Sequence[Callable[[], Any]]) -> Any:
    last = len(functions) - 1
    if isinstance(number, Symbol):
        from .._tf.tracing.parts import chosen

        places = {place: place for place in range(last)}
        with contextlib.suppress(Unfit):
            return chosen(number, functions, places, "branch_fns arguments to tf.switch_case")
    return next((functions[i] for i in range(last) if number == i), functions[-1])()


_choosing = Choosing(EAGER, cond, _numbered, control_dependencies)
case: Final = _choosing.case
switch_case: Final = _choosing.switch_case


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
    rows = [pack(structure, row) for row in zip(*columns, strict=True)]
    made = [flatten(_of_type(fn(row), wanted), lists=True) for row in rows]
    if not made:
        kinds = flatten(wanted, lists=True) if wanted is not None else (structure, leaves)
        return pack(kinds[0], list(map(_no_rows, kinds[1])))
    return _stacked([each[1] for each in made], made[0][0])


def _no_rows(kind: Any) -> EagerTensor:
    """Return the result of a function for no rows, from its declared type."""
    sizes = kind.shape.as_list() if isinstance(kind, TensorSpec) and kind.shape.sizes else []
    return EagerTensor(
        np.zeros([0, *(size or 0 for size in sizes)], as_dtype(getattr(kind, "dtype", kind)).numpy)
    )


def _of_type(value: Any, wanted: Any) -> Any:
    """Convert the result of a function to tensors of the declared types.

    Raises
    ------
    InvalidArgumentError
        If a tensor has another type.
    """
    if wanted is None:
        return value
    tensors = []
    for leaf, kind in zip(nest.flatten(value), flatten(wanted, lists=True)[1], strict=True):
        dtype = as_dtype(getattr(kind, "dtype", kind))
        if isinstance(leaf, Tensor) and leaf.dtype != dtype:
            raise invalid(f"fn must return values of type {dtype.name}, got {leaf.dtype.name}")
        tensors.append(leaf if hasattr(leaf, "_raw") else convert_to_tensor(leaf, dtype))
        if isinstance(kind, TensorSpec) and isinstance(tensors[-1], Symbol):
            tensors[-1].set_shape(kind.shape)
    return nest.pack_sequence_as(value, tensors)


def _stacked(made: Sequence[Sequence[Any]], structure: Any) -> Any:
    return pack(structure, [arrays.stack(list(part)) for part in zip(*made, strict=True)])


def vectorized_map(fn: Callable[..., Any], elems: Any, **_: Any) -> Any:
    """Apply `fn` as :func:`map_fn` does."""
    return map_fn(fn, elems)


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


def _folded(
    fn: Callable[..., Any], elems: Any, initial: Any, reverse: bool, name: str | None, every: bool
) -> Any:
    with contextlib.suppress(Unfit):
        return _folded_symbols(fn, elems, initial, reverse, every)
    from .._tf.tracing.loops import folded  # imported only by functions that need it

    structure, leaves = flatten(elems, lists=True)
    columns = [map(raw_of, _rows(convert_to_tensor(leaf))) for leaf in leaves]
    rows = list(zip(*columns, strict=True))
    kind, starts = (structure, []) if initial is None else flatten(initial, lists=True)
    start = [raw_of(as_part(each)) for each in starts]
    fn = repeated(fn)

    def shown(of: Any, parts: Iterable[Any]) -> Any:
        return pack(of, list(map(wrap, parts)))

    def step(before: Sequence[Any], row: Sequence[Any]) -> list[Any]:
        found = fn(shown(kind, before), shown(structure, row))
        return [raw_of(as_part(each)) for each in flatten(found, lists=True)[1]]

    # The states of an empty scan have the shapes and types of the initial one.
    specs = [spec_of(each) for each in start or rows[0]] if every and (start or rows) else None
    return shown(kind, folded(step, rows, start, reverse, specs))


_folds = Folds(_folded)
scan: Final = _folds.scan
foldl: Final = _folds.foldl
foldr: Final = _folds.foldr


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
    is_alone = not isinstance(loop_vars, (list, tuple))
    values: Any = (loop_vars,) if is_alone else loop_vars
    with contextlib.suppress(Unfit):
        found = _looped_symbols(cond, body, values, shape_invariants, maximum_iterations)
        return found[0] if is_alone else found
    most = None if maximum_iterations is None else int(np.asarray(maximum_iterations))
    count = 0
    cond, body = repeated(cond), repeated(body)
    while (most is None or count < most) and cond(*values):
        values = _listed(body(*values))
        count += 1
    values = nest.map_structure(_as_tensor, values)
    return values[0] if is_alone else values


def _listed(result: Any) -> Any:
    """Return the variables after a turn; a body with one variable may return it alone."""
    return result if isinstance(result, (list, tuple)) else [result]


def _looped_symbols(
    cond: Callable[..., Any], body: Callable[..., Any], values: Any, shapes: Any, most: Any
) -> Any:
    """Loop as an operation of a traced function; raise Unfit if this is not possible."""
    structure, leaves = flatten(tuple(values), lists=True)
    if not isinstance(current_call(), Recording):
        raise Unfit("values that are there")
    from .._tf.tracing.loops import looped  # imported only by functions that need it

    def step(*parts: Any) -> Any:
        return _listed(body(*pack(structure, parts)))

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
