# SPDX-License-Identifier: Apache-2.0
"""Iterators, which supply the elements of a dataset to a graph, and optional values."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from .._tf.data.iterating import DatasetIterator, signature_of
from .._tf.data.pipeline import spec_of
from .._tf.dtypes import as_dtype, resource, string
from .._tf.errors import FailedPreconditionError, OutOfRangeError, invalid
from .._tf.seeds import Run, holding, running
from .._tf.shape import TensorShape
from .._tf.specs import SparseTensorSpec, TensorSpec, TypeSpec
from .._tf.structure import flatten, pack
from .._tf.tensor import boxed
from ._composites import SparseTensor, outputs_of, parts_of, put_together
from ._datasets import Dataset, Elements
from ._nodes import Operation, Tensor
from ._runtime import Step
from .constants import convert_to_tensor
from .graph import create_op

_numbers = itertools.count()
_by_handle: weakref.WeakValueDictionary[bytes, Iterator] = weakref.WeakValueDictionary()


def running_with(step: Any, captures: dict[Tensor, Any]) -> AbstractContextManager[Any]:
    """Return a separate iteration, in which captured tensors have these values.

    `step` is None while a function of a dataset is traced with example values.
    """
    run: Run | None = {"captures": captures, "step": step and Step(step.session)}
    return holding(running, run)


class _State:
    """The state of an iterator in a session."""

    elements: DatasetIterator | None = None


class Iterator(Elements):
    """The elements of a dataset, as tensors that have the next element in each run."""

    def __init__(self, structure: Any, specs: list[TypeSpec]) -> None:
        self._structure, self._specs = structure, specs
        self._dataset: Dataset | None = None  # set for an iterator without initialization
        self._initializer: Operation | None = None
        self._handle = f"fastrec-iterator-{next(_numbers)}".encode()
        self._selected: Tensor | None = None
        op = create_op(
            "IteratorV2", (), [(resource, ())], self._resource, name="Iterator", stateful=True
        )
        self._op = op

    def _resource(self, step: Any) -> tuple[Any]:
        return (step.resource(self._op, _State),)

    @classmethod
    def _of(cls, dataset: Dataset, one_shot: bool) -> Iterator:
        spec_of(dataset._node)  # raises TypeError if the specs are not known
        made = cls(dataset._node.structure, dataset._node.specs)
        if one_shot:
            made._dataset = dataset
        else:
            made._initializer = made.make_initializer(dataset)
        return made

    @staticmethod
    def from_structure(
        output_types: Any,
        output_shapes: Any = None,
        shared_name: str | None = None,
        output_classes: Any = None,
    ) -> Iterator:
        """Return an iterator for datasets of such elements, set by :meth:`make_initializer`."""
        return Iterator(*_signature(output_types, output_shapes, output_classes))

    @staticmethod
    def from_string_handle(
        string_handle: Any,
        output_types: Any,
        output_shapes: Any = None,
        output_classes: Any = None,
    ) -> Iterator:
        """Return the iterator whose :meth:`string_handle` is fed to each run."""
        made = Iterator(*_signature(output_types, output_shapes, output_classes))
        made._selected = convert_to_tensor(string_handle, string)
        return made

    def string_handle(self, name: str | None = None) -> Tensor:
        """Return a string tensor that identifies the iterator."""
        _by_handle[self._handle] = self
        value = boxed(self._handle)
        kept = self  # lives as long as the operation

        def kernel(step: Any) -> tuple[Any]:
            assert kept is self
            return (value,)

        op = create_op(
            "IteratorToStringHandle", (), [(string, ())], kernel, name=name, stateful=True
        )
        return op.outputs[0]

    @property
    def initializer(self) -> Operation:
        """The operation that restarts the iterator."""
        if self._initializer is None:
            raise ValueError("Iterator does not have an initializer.")
        return self._initializer

    def make_initializer(self, dataset: Dataset, name: str | None = None) -> Operation:
        """Return an operation that starts iterating over a dataset."""
        self._check(dataset)
        captures = list(dataset._captures)

        def kernel(step: Any, state: _State, *values: Any) -> tuple[()]:
            state.elements = _begun(dataset, step, dict(zip(captures, values, strict=True)))
            return ()

        inputs = [self._op.outputs[0], *captures]
        return create_op("MakeIterator", inputs, [], kernel, name=name, stateful=True)

    def _check(self, dataset: Dataset) -> None:
        found = dataset._node
        types = [spec.dtype for spec in found.specs], [spec.dtype for spec in self._specs]
        if found.structure != self._structure or types[0] != types[1]:
            raise TypeError(
                f"Expected output types {self.output_types!r} but got dataset with output types "
                f"{dataset.output_types!r}."
            )
        for ours, theirs in zip(self._specs, found.specs, strict=True):
            if not ours.shape.is_compatible_with(theirs.shape):
                raise TypeError(
                    f"Expected output shapes compatible with {self.output_shapes!r} but got "
                    f"dataset with output shapes {dataset.output_shapes!r}."
                )

    def get_next(self, name: str | None = None) -> Any:
        """Return tensors that have the next element in each run."""

        def parts(found: tuple[Any, ...] | None) -> tuple[Any, ...]:
            if found is None:
                raise OutOfRangeError(None, None, "End of sequence")
            return found

        name, outputs = name or "IteratorGetNext", outputs_of(self._specs)
        made = self._next("IteratorGetNext", name, outputs, parts)
        return pack(self._structure, put_together(self._specs, made.outputs))

    def next_parts(self, type: str) -> Tensor:
        """Return one tensor with all components of the next element, or None at the end."""
        outputs = [(resource, TensorShape([]))]
        return self._next(type, None, outputs, lambda found: (found,)).outputs[0]

    def _next(
        self,
        type: str,
        name: str | None,
        outputs: Any,
        shown: Callable[[tuple[Any, ...] | None], tuple[Any, ...]],
    ) -> Operation:
        captures = list(self._dataset._captures) if self._dataset is not None else []
        first = self._op.outputs[0] if self._selected is None else self._selected

        def kernel(step: Any, where: Any, *values: Any) -> tuple[Any, ...]:
            elements = self._elements(step, where, dict(zip(captures, values, strict=True)))
            try:
                found = elements.parts()
            except StopIteration:
                return shown(None)
            return shown(tuple([part for raw in found for part in parts_of(raw)]))

        return create_op(type, [first, *captures], outputs, kernel, name=name, stateful=True)

    def _elements(self, step: Any, where: Any, captures: dict[Tensor, Any]) -> DatasetIterator:
        if self._selected is not None:
            found = _by_handle.get(where[()])
            if found is None:
                raise invalid(f"no iterator has the handle {where[()]!r}")
            return found._elements(step, found._resource(step)[0], {})
        state: _State = where
        if state.elements is None:
            if self._dataset is None:
                raise FailedPreconditionError(
                    None,
                    None,
                    f"GetNext() failed because the iterator has not been initialized. Ensure that "
                    f"you have run the initializer operation for this iterator before getting the "
                    f"next element: {self._op.name}",
                )
            state.elements = _begun(self._dataset, step, captures)
        return state.elements

    @property
    def element_spec(self) -> Any:
        """Types and shapes of the components of an element."""
        return pack(self._structure, self._specs)


def _signature(types: Any, shapes: Any, classes: Any) -> tuple[Any, list[TypeSpec]]:
    structure, specs = signature_of(types, shapes, None)
    if classes is not None:
        kinds = flatten(classes)[1]
        specs = [
            SparseTensorSpec(spec.shape, spec.dtype) if kind is SparseTensor else spec
            for kind, spec in zip(kinds, specs, strict=True)
        ]
    return structure, specs


def _begun(dataset: Dataset, step: Any, captures: dict[Tensor, Any]) -> DatasetIterator:
    with running_with(step, captures) as run:
        return DatasetIterator(dataset._build()._node, lambda raw: raw, run)


def make_one_shot_iterator(dataset: Any) -> Iterator:
    """Return an iterator over `dataset`, which is ready without an initializer."""
    found: Iterator = dataset.make_one_shot_iterator()
    return found


def make_initializable_iterator(dataset: Any, shared_name: str | None = None) -> Iterator:
    """Return an iterator over `dataset` that each run of its ``initializer`` restarts."""
    found: Iterator = dataset.make_initializable_iterator(shared_name)
    return found


def get_output_types(dataset_or_iterator: Any) -> Any:
    """Return the types of the components of an element."""
    return dataset_or_iterator.output_types


def get_output_shapes(dataset_or_iterator: Any) -> Any:
    """Return the shapes of the components of an element."""
    return dataset_or_iterator.output_shapes


def get_output_classes(dataset_or_iterator: Any) -> Any:
    """Return the classes of the components of an element."""
    return dataset_or_iterator.output_classes


class Optional:
    """An optional value, created by :meth:`from_value` and :meth:`empty`.

    Parameters
    ----------
    handle : Tensor
        The components of the value in a run, or None.
    spec : structure of TypeSpec
    """

    def __init__(self, handle: Tensor, spec: Any) -> None:
        self._handle, self._spec = handle, spec

    @staticmethod
    def from_value(value: Any) -> Optional:
        """Return an Optional with a value."""
        structure, leaves = flatten(value)
        tensors = [convert_to_tensor(leaf) for leaf in leaves]
        spec = pack(structure, [TensorSpec(each.shape, each.dtype) for each in tensors])
        return Optional(_handle("OptionalFromValue", tensors, lambda step, *parts: (parts,)), spec)

    @staticmethod
    def empty(element_spec: Any) -> Optional:
        """Return an Optional without a value."""
        return Optional(_handle("OptionalNone", [], lambda step: (None,)), element_spec)

    def has_value(self, name: str | None = None) -> Tensor:
        """Return whether there is a value."""

        def kernel(step: Any, parts: Any) -> tuple[Any]:
            return (np.asarray(parts is not None),)

        outputs = [(as_dtype("bool"), TensorShape([]))]
        op = create_op("OptionalHasValue", [self._handle], outputs, kernel, name=name)
        return op.outputs[0]

    def get_value(self, name: str | None = None) -> Any:
        """Return the value; a run without one raises InvalidArgumentError."""
        structure, specs = flatten(self._spec)

        def kernel(step: Any, parts: Any) -> tuple[Any, ...]:
            if parts is None:
                text = "The given optional does not have a value."
                raise invalid(text)
            return tuple(parts)

        op = create_op("OptionalGetValue", [self._handle], outputs_of(specs), kernel, name=name)
        return pack(structure, put_together(specs, op.outputs))

    @property
    def element_spec(self) -> Any:
        """Types and shapes of the components of the value."""
        return self._spec

    def __repr__(self) -> str:
        return f"tf.experimental.Optional({self._spec!r})"


def _handle(type: str, inputs: list[Tensor], kernel: Any) -> Tensor:
    op = create_op(type, inputs, [(resource, TensorShape([]))], kernel, stateful=True)
    return op.outputs[0]


def get_next_as_optional(iterator: Iterator) -> Optional:
    """Return the next element of an iterator, or an Optional without a value at its end."""
    return Optional(iterator.next_parts("IteratorGetNextAsOptional"), iterator.element_spec)
