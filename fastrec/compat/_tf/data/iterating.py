# SPDX-License-Identifier: Apache-2.0
"""Iterators, optional values, and checks of element structures and shapes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import errors as _errors
from ..errors import invalid
from ..ops import Op
from ..seeds import holding, running
from ..specs import DatasetSpec, ElementsSpec, TensorSpec, TypeSpec
from ..structure import LEAF, flatten, map_leaves, pack, packer, parts_along
from ..tensor import TensorShape, convert_to_tensor
from ..tracing.calls import current_call
from ..tracing.recording import Recording, run, wrap
from .depth import call_with_room
from .functions import hidden, shown
from .pipeline import Stage, spec_of
from .streams import Value


class DatasetIterator:
    """Iterator over the elements of a dataset; may be shared by threads."""

    def __init__(
        self, stage: Stage, show: Callable[[Any], Any], run: dict[Any, Any] | None = None
    ) -> None:
        self._node, self._show = stage, show
        self._run: dict[Any, Any] = {} if run is None else run
        with holding(running, self._run):
            self._values = call_with_room(stage.depth, stage.elements)
        self._pack: Callable[[Sequence[Any]], Any] | None = None
        self._lock = threading.RLock()

    def __iter__(self) -> DatasetIterator:
        return self

    def __next__(self) -> Any:
        if isinstance(current_call(), Recording):
            return self._recorded()
        with self._lock:
            value = self.parts()
            if self._pack is None:  # some structures are known only from the first element
                self._pack = call_with_room(self._node.depth, self._packer)
        return self._pack(list(map(self._show, value)))

    def _packer(self) -> Callable[[Sequence[Any]], Any]:
        return packer(self._node.structure)

    def parts(self) -> Value:
        """Return the raw values of the parts of the next element."""
        with self._lock:
            token = running.set(self._run)
            try:
                return call_with_room(self._node.depth, next, self._values)
            finally:
                running.reset(token)

    next = __next__

    def _recorded(self) -> Any:
        """Return symbols of the next element, for a function that captures this iterator."""
        specs = self._node.specs
        if not all(isinstance(spec, TypeSpec) for spec in specs):
            raise TypeError("a traced function takes no datasets from an iterator")

        def kernel() -> tuple[Any, ...]:
            try:
                return tuple(self.parts())
            except StopIteration:
                raise _errors.OutOfRangeError(None, None, "End of sequence") from None

        parts = run(Op("IteratorGetNext", kernel, lambda *_: specs, pure=False), [])
        return pack(self._node.structure, parts if isinstance(parts, tuple) else (parts,))

    def get_next(self) -> Any:
        """Return the next element.

        Raises
        ------
        OutOfRangeError
            At the end of the dataset.
        """
        try:
            return self.__next__()
        except StopIteration:
            raise _errors.OutOfRangeError(None, None, "End of sequence") from None

    def get_next_as_optional(self) -> Any:
        """Return the next element, or an optional without a value at the end."""
        return get_next_as_optional(self)

    @property
    def element_spec(self) -> Any:
        """Types and shapes of the parts of an element."""
        return spec_of(self._node)


def as_numpy(part: Any) -> Any:
    value = shown(part)
    return value.as_numpy_iterator() if hasattr(value, "as_numpy_iterator") else value.numpy()


def tensors(value: Any) -> Any:
    structure, leaves = flatten(value)
    return pack(structure, [shown(hidden(leaf)) for leaf in leaves])


def signature_of(types: Any, shapes: Any, signature: Any) -> tuple[Any, list[TypeSpec]]:
    if signature is not None:
        return flatten(signature)
    if types is None:
        raise TypeError("Either `output_signature` or `output_types` must be specified")
    structure, dtypes = flatten(types)
    sizes = [None] * len(dtypes) if shapes is None else shapes_of(shapes, structure)
    return structure, [TensorSpec(size, dtype) for size, dtype in zip(sizes, dtypes, strict=True)]


def _is_unknown(size: Any) -> bool:
    return isinstance(size, (int, np.integer)) and size == -1


def shapes_of(shapes: Any, structure: Any) -> list[Any]:
    """Return the shapes of the parts of a structure; lists and tuples may be shapes."""
    return list(map(_sizes, parts_along(shapes, structure)))


def _sizes(shape: Any) -> Any:
    sizes = shape.array if hasattr(shape, "array") else shape
    if isinstance(sizes, (list, tuple, np.ndarray)):
        sizes = [None if size is None or _is_unknown(size) else size for size in sizes]
    return TensorShape(sizes).sizes


def _parts(value: Any, structure: Any) -> list[Any]:
    """Return the parts of a value.

    Raises
    ------
    TypeError
        If the value does not have the expected structure.
    """
    if structure is LEAF:
        return [value]
    if structure is None:
        return []
    kind = dict if isinstance(structure, dict) else tuple
    if (
        not isinstance(value, kind)
        or len(value) != len(structure)
        or (isinstance(value, dict) and value.keys() != structure.keys())
    ):
        raise TypeError(
            f"`generator` yielded an element that did not match the expected structure: {value!r}"
        )
    if isinstance(value, dict):
        keys = flatten({key: key for key in value})[1]
        return [p for key in keys for p in _parts(value[key], structure[key])]
    return [p for each, inner in zip(value, structure, strict=True) for p in _parts(each, inner)]


def _plain(leaf: Any, spec: TypeSpec) -> Any:
    """Return a leaf as an array if its type and shape already match `spec`, or else None."""
    if type(leaf) is np.ndarray:
        alike = leaf.dtype == spec.dtype.numpy and leaf.dtype != object
        return leaf.copy() if alike and spec.shape.sizes == leaf.shape else None
    if type(leaf) is int and -(1 << 31) <= leaf < 1 << 31 and spec.shape.sizes == ():
        kind = spec.dtype.numpy
        return np.asarray(leaf, kind) if kind in (np.int32, np.int64) else None
    return None


def checked(value: Any, structure: Any, specs: Sequence[TypeSpec]) -> Value:
    """Convert a value that a generator yielded to the announced types."""
    found = []
    for leaf, spec in zip(_parts(value, structure), specs, strict=True):
        if (plain := _plain(leaf, spec)) is not None:
            found.append(plain)
            continue
        if hasattr(leaf, "_raw"):
            found.append(leaf._raw)
            continue
        tensor = convert_to_tensor(
            np.asarray(leaf) if isinstance(leaf, np.number) else leaf, spec.dtype
        )
        if not spec.shape.is_compatible_with(tensor.shape):
            raise TypeError(
                f"`generator` yielded an element of shape {tensor.shape} where an element of shape "
                f"{spec.shape} was expected."
            )
        found.append(tensor.raw)
    return tuple(found)


def padding_of(stage: Stage, shapes: Any, values: Any) -> tuple[list[Any], list[Any]]:
    """Return the padded shapes and padding values of all parts; None for the default."""
    specs, structure = stage.specs, stage.structure
    if None in flatten(structure, nones=True)[1]:
        raise TypeError("`padded_batch` is not supported for datasets with None in elements")
    for spec in specs:
        if isinstance(spec, DatasetSpec):
            raise TypeError("`padded_batch` is not supported for datasets of datasets")
        if not isinstance(spec, TensorSpec):
            raise TypeError(
                "`padded_batch` is only supported for datasets that produce tensor elements but "
                "type spec of elements in the input dataset is not a subclass of TensorSpec: "
                f"`{spec}`."
            )
    sizes = [None] * len(specs) if shapes is None else shapes_of(shapes, structure)
    for size, spec in zip(sizes, specs, strict=True):
        _check_padded(size, spec)
    if values is None:
        return sizes, [None] * len(specs)
    if flatten(values)[0] is LEAF:  # one value for all parts
        parts = [values] * len(specs)
    else:
        try:
            parts = parts_along(values, structure)
        except (ValueError, TypeError, KeyError) as error:
            text = "`padding_values` does not have the structure of the elements"
            raise TypeError(text) from error
    return sizes, [_filler(part, spec) for part, spec in zip(parts, specs, strict=True)]


def _check_padded(size: Any, spec: TypeSpec) -> None:
    known = spec.shape.sizes
    if size is None or known is None:
        return
    if len(size) != len(known) or any(
        None not in (a, b) and a < b for a, b in zip(size, known, strict=True)
    ):
        raise ValueError(
            f"The padded shape {tuple(size)} is not compatible with the shape {known} of the "
            "corresponding input component."
        )


def _filler(value: Any, spec: TypeSpec) -> Any:
    if value is None:
        return None
    tensor = wrap(hidden(value))
    if tensor.shape.ndims:
        raise ValueError(
            f"Invalid `padding_values`. `padding_values` values should be scalars, but got "
            f"{tensor.shape}."
        )
    if tensor.dtype != spec.dtype:
        raise TypeError(
            f"Invalid `padding_values`. `padding_values` values type <dtype: "
            f"'{tensor.dtype.name}'> does not match type <dtype: '{spec.dtype.name}'> of the "
            "corresponding input component."
        )
    return tensor.numpy()


class Optional:
    """Value of some structure, or none. Created by :meth:`from_value` and :meth:`empty`.

    Parameters
    ----------
    spec : structure of TypeSpec
    value : structure of Tensor, optional
    there : bool
    """

    def __init__(self, spec: Any, value: Any = None, there: bool = False) -> None:
        self._spec, self._value, self._there = spec, value, there

    @staticmethod
    def from_value(value: Any) -> Optional:
        """Return an optional that holds `value`."""
        structure, leaves = flatten(value)
        made = pack(structure, [_tensor(leaf) for leaf in leaves])
        return Optional(map_leaves(_spec_of, made), made, True)

    @staticmethod
    def empty(element_spec: Any) -> Optional:
        """Return an optional without a value."""
        return Optional(element_spec)

    def has_value(self, name: str | None = None) -> Any:
        """Return whether there is a value."""
        return convert_to_tensor(self._there)

    def get_value(self, name: str | None = None) -> Any:
        """Return the value.

        Raises
        ------
        InvalidArgumentError
            If the optional is empty.
        """
        if not self._there:
            raise invalid("The given optional does not have a value.")
        return self._value

    @property
    def element_spec(self) -> Any:
        """Types and shapes of the parts of the value."""
        return self._spec

    def __repr__(self) -> str:
        return f"tf.experimental.Optional({self._spec!r})"


class OptionalSpec(ElementsSpec):
    """Spec of optional values."""

    value_type = Optional

    def __repr__(self) -> str:
        return f"OptionalSpec({self.element_spec!r},)"


def _tensor(value: Any) -> Any:
    return value if hasattr(value, "_raw") else convert_to_tensor(value)


def _spec_of(tensor: Any) -> Any:
    return tensor._spec if hasattr(tensor, "_raw") else TensorSpec.from_tensor(tensor)


def get_next_as_optional(iterator: Any) -> Optional:
    """Return an optional with the next element of an iterator; empty at its end."""
    try:
        return Optional(iterator.element_spec, next(iterator), True)
    except StopIteration:
        return Optional(iterator.element_spec)
