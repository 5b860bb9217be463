# SPDX-License-Identifier: Apache-2.0
"""Loops of a graph, and lists of tensors that they write. One operation runs the body of a loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from .._tf.dtypes import DType, as_dtype, int32, resource, short_name
from .._tf.errors import invalid
from .._tf.faces.control_flow import Folds
from .._tf.ops import Array
from .._tf.shape import TensorShape, common_shape, in_messages
from .._tf.structure import flatten, pack
from .._tf.tensor import as_array, boxed
from .._tf.tracing.loops import folded, turned
from ._nodes import Tensor
from .constants import constant_value, convert_to_tensor
from .control_flow import Branch, _not_alone, alignment, branched_op, check_lengths, rows_of
from .graph import create_op, get_default_graph, name_scope

_List = list[Any]  # list of arrays; None for elements that are not written yet


def _place(elements: _List, index: Array, what: str) -> int:
    at = int(index)
    if not 0 <= at < len(elements):
        raise invalid(f"Trying to {what} element {at} in a list with {len(elements)} elements.")
    return at


class TensorArray:
    """A list of tensors. Writing returns a new list, as the flow of a graph requires.

    Parameters
    ----------
    dtype : dtype-like
        The type of the elements.
    size : int or Tensor
        Number of elements.
    dynamic_size : bool
        Whether writing after the last element extends the list.
    element_shape : TensorShape or a value that can be converted to one, optional
        The shape of each element; inferred from writes unless `infer_shape` is False.
    """

    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Any = None,
        flow: Any = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        if size is None:
            raise ValueError("Size must be provided if handle is not provided")
        self.dtype: DType = as_dtype(dtype)
        self._grows, self._infers = bool(dynamic_size), bool(infer_shape)
        self._shape = [TensorShape(element_shape)]  # shared by all versions of the list
        given = convert_to_tensor(size, int32)
        known = constant_value(given)
        self._size = None if known is None or self._grows else int(known)

        def kernel(step: Any, count: Array) -> tuple[Array]:
            return (boxed([None] * int(count)),)

        self.flow: Final = self._op("TensorListReserve", kernel, [given], [(resource, [])], name)[0]

    def _op(
        self,
        kind: str,
        kernel: Callable[..., Any],
        inputs: Sequence[Tensor],
        outputs: Sequence[Any],
        name: str | None,
    ) -> tuple[Tensor, ...]:
        return create_op(kind, inputs, outputs, kernel, name=name, stateful=True).outputs

    def _as_graph_element(self) -> Tensor:
        return self.flow

    def with_flow(self, flow: Tensor) -> TensorArray:
        """Return the same list after other operations."""
        made = TensorArray.__new__(TensorArray)
        made.__dict__.update(self.__dict__, flow=flow)
        return made

    def _changed(
        self,
        kind: str,
        change: Callable[..., _List],
        inputs: Sequence[Tensor],
        name: str | None,
    ) -> TensorArray:
        def kernel(step: Any, box: Array, *values: Array) -> tuple[Array]:
            return (boxed(change(box[()], *values)),)

        flow = self._op(kind, kernel, [self.flow, *inputs], [(resource, [])], name)[0]
        return self.with_flow(flow)

    def _taken(
        self,
        kind: str,
        take: Callable[..., Array],
        inputs: Sequence[Tensor],
        shape: Any,
        name: str | None,
        dtype: DType | None = None,
    ) -> Tensor:
        def kernel(step: Any, box: Array, *values: Array) -> tuple[Array]:
            return (take(box[()], *values),)

        outputs = [(dtype or self.dtype, shape)]
        return self._op(kind, kernel, [self.flow, *inputs], outputs, name)[0]

    def _value(self, value: Any, shape: Callable[[TensorShape], TensorShape]) -> Tensor:
        """Return a written value, and infer the shape of elements from it."""
        tensor = convert_to_tensor(value)
        if tensor.dtype is not self.dtype:
            raise invalid(
                f"Invalid data types; op elements {short_name(tensor.dtype)} but list elements "
                f"{short_name(self.dtype)}"
            )
        found = shape(tensor.shape)
        if not self._shape[0].is_compatible_with(found):
            raise ValueError(f"Inconsistent shapes: saw {found} but expected {self._shape[0]}")
        if self._infers:
            self._shape[0] = self._shape[0].merge_with(found)
        return tensor

    def _filled(self, elements: _List, what: str = "stack") -> _List:
        """Return the elements, with zeros for those that were never written."""
        if all(element is not None for element in elements):
            return elements
        sizes: Any = self._shape[0].sizes
        shapes: list[Any] = [element.shape for element in elements if element is not None]
        if sizes is None or None in sizes:
            if not shapes:
                raise invalid(
                    f"Tried to {what} list which only contains uninitialized tensors and has a "
                    f"non-fully-defined element_shape: {in_messages(sizes)}"
                )
            sizes = shapes[0]
        none: Array = np.full(sizes, b"" if self.dtype.name == "string" else 0, self.dtype.numpy)
        return [none if element is None else element for element in elements]

    def _together(self, elements: _List) -> Array:
        sizes: Any = self._shape[0].sizes
        if not elements:
            if sizes is None or None in sizes:
                raise invalid(
                    "Tried to stack elements of an empty list with non-fully-defined "
                    f"element_shape: {in_messages(sizes)}"
                )
            return np.zeros((0, *sizes), self.dtype.numpy)
        whole = self._filled(elements)
        shapes = {element.shape for element in whole}
        if len(shapes) > 1:
            first, other = list(dict.fromkeys(element.shape for element in whole))[:2]
            raise invalid(
                f"Tried to stack list with elements of different shapes: {in_messages(first)} and "
                f"{in_messages(other)}"
            )
        return np.stack(whole)

    @property
    def element_shape(self) -> TensorShape:
        """The static shape of each element."""
        return self._shape[0]

    @property
    def dynamic_size(self) -> bool:
        """Whether writing after the last element extends the list."""
        return self._grows

    def identity(self) -> TensorArray:
        """Return the same list."""
        return self.with_flow(self.flow)

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """Write a tensor at an index."""

        def change(elements: _List, at: Array, element: Array) -> _List:
            more = int(at) + 1 - len(elements) if self._grows else 0
            made = [*elements, *[None] * more]
            made[_place(made, at, "modify")] = element
            return made

        inputs = [convert_to_tensor(index), self._value(value, lambda shape: shape)]
        return self._changed("TensorListSetItem", change, inputs, name)

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """Return the tensor at an index."""

        def take(elements: _List, at: Array) -> Array:
            found: Array = self._filled([elements[_place(elements, at, "access")]], "read")[0]
            return found

        inputs = [convert_to_tensor(index)]
        return self._taken("TensorListGetItem", take, inputs, self._shape[0], name)

    def stack(self, name: str | None = None) -> Tensor:
        """Stack all elements along a new first dimension."""

        def take(elements: _List) -> Array:
            if self._size is not None and len(elements) != self._size:
                raise invalid(
                    f"Operation expected a list with {self._size} elements but got a list with "
                    f"{len(elements)} elements."
                )
            return self._together(elements)

        shape = TensorShape([self._size]).concatenate(self._shape[0])
        return self._taken("TensorListStack", take, [], shape, name)

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """Stack selected elements along a new first dimension."""

        def take(elements: _List, places: Array) -> Array:
            return self._together([elements[_place(elements, at, "access")] for at in places])

        given = convert_to_tensor(indices)
        shape = TensorShape([None]).concatenate(self._shape[0])
        return self._taken("TensorListGather", take, [given], shape, name)

    def concat(self, name: str | None = None) -> Tensor:
        """Concatenate all elements along their first dimension."""

        def take(elements: _List) -> Array:
            found: Array = np.concatenate(self._filled(elements, "concat"))
            return found

        sizes: Any = self._shape[0].sizes
        shape = None
        if sizes is not None:
            known = self._infers and self._size is not None and sizes and sizes[0] is not None
            shape = TensorShape([self._size * sizes[0] if known else None, *sizes[1:]])
        return self._taken("TensorListConcatV2", take, [], shape, name)

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """Write the rows of a tensor."""
        given = self._value(value, lambda shape: shape[1:])
        return self._changed(
            "TensorListFromTensor", lambda _, rows: list(map(as_array, rows)), [given], name
        )

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """Write the rows of a tensor at given indices."""

        def change(elements: _List, places: Array, rows: Array) -> _List:
            made = [*elements, *[None] * (int(places.max(initial=-1)) + 1 - len(elements))]
            for at, row in zip(places, map(as_array, rows), strict=True):
                made[_place(made, at, "modify")] = row
            return made

        inputs = [convert_to_tensor(indices), self._value(value, lambda shape: shape[1:])]
        return self._changed("TensorListScatterIntoExistingList", change, inputs, name)

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """Write the parts of a tensor with given lengths."""

        def change(_: _List, whole: Array, sizes: Array) -> _List:
            return list(np.split(whole, np.cumsum(sizes)[:-1]))

        def shape(whole: TensorShape) -> TensorShape:
            return TensorShape([None]).concatenate(whole[1:])

        inputs = [self._value(value, shape), convert_to_tensor(lengths)]
        return self._changed("TensorListSplit", change, inputs, name)

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of elements."""

        def take(elements: _List) -> Array:
            return np.asarray(len(elements), np.int32)

        return self._taken("TensorListLength", take, [], [], name, int32)

    def close(self, name: str | None = None) -> None:
        """Do nothing, because the list is freed with its last reference."""


def _inner(dtype: Any, shape: Any) -> Tensor:
    """Create the placeholder for a loop variable."""
    return create_op("LoopVariable", (), [(dtype, shape)], _not_alone, stateful=True).outputs[0]


_Shown = Callable[[Sequence[Any]], list[Any]]


def _shown(leaves: Sequence[Any]) -> _Shown:
    """Return a function that wraps tensors as the loop's variables: tensors or arrays of them."""
    arrays = [leaf if isinstance(leaf, TensorArray) else None for leaf in leaves]
    return lambda tensors: [
        tensor if array is None else array.with_flow(tensor)
        for array, tensor in zip(arrays, tensors, strict=True)
    ]


def _called(
    function: Callable[..., Any], structure: Any, shown: _Shown
) -> Callable[..., list[Any]]:
    """Wrap `function` to take and return the flattened parts of a structure."""

    def call(*parts: Any) -> list[Any]:
        found = flatten(function(pack(structure, shown(parts))), lists=True)[1]
        return [convert_to_tensor(part) for part in found]

    return call


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: Any = None,
    return_same_structure: bool = False,
) -> Any:
    """Apply `body` to the variables again and again, while `cond` holds."""
    if not callable(cond) or not callable(body):
        raise TypeError("cond and body must be callable.")
    structure, leaves = flatten(tuple(loop_vars), lists=True)
    if not leaves:
        raise ValueError("No loop variables provided.")
    with name_scope(name, "while"):
        given = [convert_to_tensor(leaf) for leaf in leaves]
        shapes = [tensor.shape for tensor in given]
        if shape_invariants is not None:
            wanted = flatten(tuple(shape_invariants), lists=True)[1]
            shapes = [TensorShape(each) for each in wanted]
        inner = [_inner(t.dtype, shape) for t, shape in zip(given, shapes, strict=True)]
        shown = _shown(leaves)
        test = Branch(_called(lambda parts: cond(*parts), structure, shown), inner)
        kind: list[type] = []

        def once(parts: Any) -> Any:
            found = body(*parts)
            kind[:] = [type(found)]
            return tuple(found) if isinstance(found, (list, tuple)) else (found,)

        step = Branch(_called(once, structure, shown), inner)
        _check_body(inner, step.tensors)
        most = [] if maximum_iterations is None else [convert_to_tensor(maximum_iterations)]
        made = pack(structure, shown(_loop(given, shapes, test, step, most)))
        if len(made) == 1 and not return_same_structure:
            return made[0]
        return list(made) if kind == [list] else made


def _check_body(before: Sequence[Tensor], after: Sequence[Any]) -> None:
    if len(before) != len(after):
        raise ValueError(
            f"The number of inputs and outputs of body must match: {len(before)}, {len(after)}"
        )
    for one, other in zip(before, after, strict=True):
        if one.dtype is not other.dtype:
            raise TypeError(
                f"body must give tensors of the types of loop_vars, got {other.dtype.name} for "
                f"{one.dtype.name}"
            )
        wider = common_shape(one.shape, other.shape)
        if wider.sizes != one.shape.sizes:
            raise ValueError(
                f"Input tensor enters the loop with shape {one.shape}, but has shape {other.shape} "
                f"after one iteration. To allow the shape to vary across iterations, use the "
                f"`shape_invariants` argument of tf.while_loop to specify a less-specific shape."
            )


def _loop(
    given: Sequence[Tensor],
    shapes: Sequence[TensorShape],
    test: Branch,
    step: Branch,
    most: Sequence[Tensor],
) -> Sequence[Tensor]:
    size, of_test = len(given), len(test.captured)

    def kernel(run: Any, *values: Any) -> tuple[Any, ...]:
        of_step = size + of_test
        before, inside = values[size:of_step], values[of_step : of_step + len(step.captured)]
        return turned(
            lambda state: test.plan.run(run, [*state, *before])[0],
            lambda state: step.plan.run(run, [*state, *inside]),
            values[:size],
            int(values[-1]) if most else -1,
        )

    outputs = [(t.dtype, shape) for t, shape in zip(given, shapes, strict=True)]
    inputs = [*given, *test.captured, *step.captured, *most]
    return branched_op([test, step], "While", inputs, outputs, kernel).outputs


def _folded(
    fn: Callable[..., Any], elems: Any, initial: Any, reverse: bool, name: str | None, every: bool
) -> Any:
    with name_scope(name, "scan" if every else "fold"):
        of_elements, leaves = flatten(elems, lists=True)
        rows = [convert_to_tensor(leaf) for leaf in leaves]
        check_lengths(rows)
        parts = [_inner(t.dtype, t.shape[1:]) for t in rows]
        from_first = initial is None
        kind, starts = flatten(elems if from_first else initial, lists=True)
        begin = parts if from_first else [convert_to_tensor(each) for each in starts]
        state = [_inner(t.dtype, t.shape) for t in begin]

        def body(*values: Any) -> list[Any]:
            before, now = values[: len(state)], values[len(state) :]
            made = flatten(fn(pack(kind, before), pack(of_elements, now)), lists=True)[1]
            return [convert_to_tensor(part) for part in made]

        branch = Branch(body, [*state, *parts])
        _check_body(state, branch.tensors)
        first = [] if from_first else begin
        count, align = len(rows), alignment(get_default_graph())

        def kernel(run: Any, *values: Any) -> tuple[Any, ...]:
            begins = count + len(first)
            start, outer = values[count:begins], values[begins:]
            return folded(
                lambda held, row: branch.plan.run(run, [*held, *row, *outer]),
                rows_of(align(values[:count])),
                start,
                reverse,
                begin if every else None,
            )

        length = rows[0].shape[:1] if every else TensorShape([])
        outputs = [(t.dtype, length.concatenate(t.shape)) for t in begin]
        inputs = [*rows, *first, *branch.captured]
        type = "Scan" if every else "Fold"
        op = branched_op([branch], type, inputs, outputs, kernel, reverse=reverse)
        found = pack(kind, op.outputs)
        return list(found) if isinstance(elems if from_first else initial, list) else found


_folds = Folds(_folded)
scan: Final = _folds.scan
foldl: Final = _folds.foldl
foldr: Final = _folds.foldr
