# SPDX-License-Identifier: Apache-2.0
"""``tf.data.Dataset`` of version 1: a dataset that a graph defines and a session runs.

A dataset may depend on tensors whose values only a session knows: names of files that are fed, a
batch size, or tensors that a function captures. It is therefore stored as the calls that create it.
These calls run once while the graph is built, for the types and shapes of elements, and, if some
tensors have no value then, once more when an iterator is initialized.
"""

from __future__ import annotations

import contextvars
import functools
import inspect
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .._tf.arrays import make_array
from .._tf.data import csv as _csv
from .._tf.data import dataset as _base
from .._tf.data import file_datasets as _files
from .._tf.data.chaining import Chain
from .._tf.data.functions import DatasetSignature, Function
from .._tf.data.interleaving import Interleave
from .._tf.data.options import Options
from .._tf.data.pipeline import Stage
from .._tf.data.streams import Pull
from .._tf.dtypes import as_dtype
from .._tf.naming import uncovered
from .._tf.seeds import holding, seeded_by
from .._tf.shape import TensorShape
from .._tf.specs import TensorSpec, TypeSpec, unbatched
from .._tf.structure import LEAF, flatten, map_leaves, pack
from ._composites import (
    COMPOSITES,
    RaggedTensorValue,
    SparseTensorValue,
    class_of,
    eager,
    outputs_of,
    parts_of,
    pieces,
    put_together,
    spec_of,
)
from ._functions import GraphFunction
from ._nodes import Operation, Tensor
from .constants import constant_value, convert_to_tensor
from .draws import get_seed
from .graph import captured_values, create_op

Captures = dict[Tensor, None]

# While a graph is built, tensors without a value are replaced by arrays of their shape and type.
_SPECS_ONLY: contextvars.ContextVar[bool] = contextvars.ContextVar("specs_only", default=False)


class _Late(Stage):
    """Elements that depend on tensors of a session."""

    def __init__(self, structure: Any, specs: list[TypeSpec]) -> None:
        super().__init__()
        self._structure, self._specs = structure, specs

    structure = property(lambda self: self._structure)
    specs = property(lambda self: self._specs)

    @property
    def pure(self) -> bool:
        return False

    def start(self, ask: int) -> Pull:
        raise TypeError("a data set of tensors of a graph can only be gone through by an iterator")


def _value_of(tensor: Tensor) -> Any:
    known = constant_value(tensor)
    if known is not None:
        return known
    if tensor in captured_values():
        return captured_values()[tensor]
    if not _SPECS_ONLY.get():
        raise TypeError(f"{tensor} has no value outside of a session")
    if tensor.dtype.name == "string":
        return np.empty(0, object)  # an empty list of file names
    return np.ones([size or 1 for size in tensor.shape.sizes or ()], tensor.dtype.numpy)


def _resolved(value: Any) -> Any:
    """Convert an argument to the form that the underlying datasets take."""
    if isinstance(value, Tensor):
        return _value_of(value)
    if isinstance(value, Dataset):
        return value._build()
    if isinstance(value, TensorShape):
        return None if value.sizes is None else list(value.sizes)
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)([_resolved(each) for each in value])
    if isinstance(value, dict):
        return {key: _resolved(each) for key, each in value.items()}
    return value


def _captured_by(value: Any, found: Captures) -> None:
    """Add the tensors of an argument that require a session to `found`."""
    if isinstance(value, Tensor) and constant_value(value) is None:
        found[value] = None
    elif isinstance(value, Dataset):
        found.update(value._captures)
    elif isinstance(value, GraphFunction):
        found.update(value.captures)
    elif isinstance(value, (list, tuple)):
        for each in value:
            _captured_by(each, found)
    elif isinstance(value, dict):
        _captured_by(list(value.values()), found)


def _first_or_again(pairs: list[tuple[int, int]]) -> Callable[[int | None], tuple[int, int]]:
    """Return a function that repeats the seeds that a graph assigned to a dataset."""
    numbers = itertools.count()

    def pair(seed: int | None) -> tuple[int, int]:
        number = next(numbers)
        if number == len(pairs):
            first, second = get_seed(seed)
            pairs.append((first or 0, second or 0))
        return pairs[number]

    return pair


def adapted(value: Any) -> Any:
    return GraphFunction(value, _shown, _built) if callable(value) else value


def _shown(dataset: _base.Dataset) -> Dataset:
    """Wrap a dataset that is an element of another dataset."""
    return Dataset._made(lambda: dataset)


def _built(dataset: Dataset) -> _base.Dataset:
    return dataset._build()


class Elements:
    """Types, shapes and classes of the components of an element."""

    @property
    def element_spec(self) -> Any:
        """Types and shapes of the components of an element."""
        raise NotImplementedError

    @property
    def output_types(self) -> Any:
        """The types of the components of an element."""
        return map_leaves(lambda spec: spec.dtype, self.element_spec)

    @property
    def output_shapes(self) -> Any:
        """The static shapes of the components of an element."""
        return map_leaves(lambda spec: TensorShape(spec.shape.sizes), self.element_spec)

    @property
    def output_classes(self) -> Any:
        """The classes of the components of an element."""
        return map_leaves(class_of, self.element_spec)


class Dataset(Elements):
    """Elements of tensors, which an iterator yields one by one.

    Attributes
    ----------
    of_tensors : tuple, optional
        For a dataset of tensors: its constructor, the tensors, and their structure.
    """

    of_tensors: tuple[Callable[[Any], _base.Dataset], Any, list[Any]] | None = None

    @classmethod
    def _made(cls, make: Callable[..., Any], *arguments: Any, **named: Any) -> Dataset:
        """Return the dataset that `make` creates from the resolved arguments."""
        made = Dataset.__new__(Dataset)
        made._set(make, arguments, named)
        return made

    def _set(self, make: Callable[..., Any], arguments: Any, named: Any) -> None:
        pairs: list[tuple[int, int]] = []

        def build() -> Any:
            given, by_name = _resolved(tuple(arguments)), _resolved(named)
            with seeded_by(_first_or_again(pairs)):
                return make(*given, **by_name)

        self._how = build
        with holding(_SPECS_ONLY, True):
            self._specs_only: _base.Dataset = build()
        self._captures: Captures = {}
        _captured_by([*arguments, *named.values()], self._captures)

    def _build(self) -> _base.Dataset:
        """Create the underlying dataset with the current values of captured tensors."""
        known = not self._captures or _SPECS_ONLY.get()
        return self._specs_only if known else self._how()

    @property
    def _node(self) -> Stage:
        return self._specs_only._node

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise uncovered("v1", "data.Dataset", name)

    # Sources.

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """Create a dataset with one element."""
        return _of_values(tensors, _base.Dataset.from_tensors, lambda spec: spec)

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """Create a dataset with one element per row."""
        return _of_values(tensors, _base.Dataset.from_tensor_slices, unbatched)

    @staticmethod
    def from_sparse_tensor_slices(sparse_tensor: Any) -> Dataset:
        """Create a dataset of the rows of a sparse tensor: indices, values and shape."""
        rows = Dataset.from_tensor_slices(sparse_tensor)
        made: Dataset = rows.map(lambda row: (row.indices, row.values, row.dense_shape))
        return made

    @staticmethod
    def range(*args: Any, output_type: Any = "int64", name: str | None = None) -> Dataset:
        """Create a dataset of integers, with the arguments of Python's ``range``."""
        make = functools.partial(_base.Dataset.range, output_type=output_type)
        return Dataset._made(make, *args)

    @staticmethod
    def from_generator(
        generator: Callable[..., Any],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Any = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """Create a dataset of the values that a generator yields."""
        if not callable(generator):
            raise TypeError("`generator` must be callable.")

        def make(given: Any) -> _base.Dataset:
            return _base.Dataset.from_generator(
                generator, output_types, output_shapes, given, output_signature
            )

        return Dataset._made(make, tuple(args or ()))

    @staticmethod
    def list_files(
        file_pattern: Any, shuffle: bool | None = None, seed: Any = None, name: str | None = None
    ) -> Dataset:
        """Create a dataset of the names of files that match patterns, shuffled by default."""

        def make(pattern: Any, seed: Any) -> _base.Dataset:
            if _SPECS_ONLY.get() and np.size(pattern) == 0:
                return _base.Dataset(_Late(LEAF, [TensorSpec((), "string")]))
            return _base.Dataset.list_files(pattern, shuffle, seed)

        return Dataset._made(make, file_pattern, seed)

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """Combine elements of datasets until one of them ends."""
        nested = args[0] if len(args) == 1 else args or datasets
        if isinstance(nested, Dataset):
            raise TypeError("`datasets` must be a nested structure of data sets")
        return Dataset._made(_base.Dataset.zip, nested)

    # Iterators.

    def make_one_shot_iterator(self) -> Any:
        """Return an iterator that needs no initialization."""
        from .iterators import Iterator

        return Iterator._of(self, one_shot=True)

    def make_initializable_iterator(self, shared_name: str | None = None) -> Any:
        """Return an iterator that each run of its ``initializer`` restarts."""
        from .iterators import Iterator

        return Iterator._of(self, one_shot=False)

    # Transformations that differ from those of version 2.

    def apply(self, transformation_func: Callable[[Any], Any]) -> Any:
        """Return the result of a function of the dataset, which must also be a dataset."""
        made = transformation_func(self)
        if not isinstance(made, Dataset):
            raise TypeError(
                f"`transformation_func` must return a `Dataset`, got {type(made).__name__}."
            )
        return made

    def reduce(self, initial_state: Any, reduce_func: Callable[..., Any]) -> Any:
        """Apply a function of a state and an element to all elements; return the last state."""
        state, leaves = flatten(initial_state)
        tensors = [convert_to_tensor(leaf) for leaf in leaves]
        call = adapted(reduce_func)
        specs: list[TypeSpec] = [TensorSpec(t.shape.sizes, t.dtype) for t in tensors]
        Function(call, (state, self._node.structure)).trace([*specs, *self._node.specs])

        def last(dataset: Any, given: Sequence[Any]) -> Sequence[Any]:
            found = dataset.reduce(pack(state, given), call)
            return [part for leaf in flatten(found)[1] for part in parts_of(_raw(leaf))]

        return pack(state, _run_once(self, "ReduceDataset", specs, last, tensors, call))

    def map_with_legacy_function(
        self, map_func: Callable[..., Any], num_parallel_calls: Any = None, **ignored: Any
    ) -> Dataset:
        """Apply :meth:`map`."""
        made: Dataset = self.map(map_func, num_parallel_calls)
        return made

    def filter_with_legacy_function(self, predicate: Callable[..., Any]) -> Dataset:
        """Apply :meth:`filter`."""
        made: Dataset = self.filter(predicate)
        return made

    def with_options(self, options: Options) -> Dataset:
        """Return the dataset with additional options."""
        return Dataset._made(lambda dataset: dataset.with_options(options), self)

    def options(self) -> Options:
        """Return the options of this dataset and its inputs."""
        return self._specs_only.options()

    def get_single_element(self, name: str | None = None) -> Any:
        """Return the only element."""
        specs = self._node.specs

        def only(dataset: Any, _: Any) -> Sequence[Any]:
            found = flatten(dataset.get_single_element())[1]
            return [part for leaf in found for part in parts_of(_raw(leaf))]

        found = _run_once(self, "DatasetToSingleElement", specs, only, [])
        return pack(self._node.structure, put_together(specs, found))

    # Properties of the elements.

    @property
    def element_spec(self) -> Any:
        """Types and shapes of the components of an element."""
        return self._specs_only.element_spec

    def __iter__(self) -> Any:
        raise RuntimeError(
            "Data sets of fastrec.compat.v1 are gone through by iterators: "
            "make_one_shot_iterator or make_initializable_iterator."
        )

    def __repr__(self) -> str:
        name = type(self._node).__name__
        shapes, types = self.output_shapes, self.output_types
        return f"<{name}Dataset shapes: {shapes}, types: {types}>"


def _raw(leaf: Any) -> Any:
    return leaf._raw if hasattr(leaf, "_raw") else leaf.raw


def _run_once(
    dataset: Dataset,
    name: str,
    specs: Sequence[TypeSpec],
    run: Callable[[Any, Sequence[Any]], Sequence[Any]],
    given: Sequence[Tensor],
    *functions: Any,
) -> list[Tensor]:
    """Return the outputs of an operation that iterates over a dataset each time it runs."""
    from .iterators import running_with

    needs: Captures = dict(dataset._captures)
    _captured_by(functions, needs)
    captures = list(needs)

    def kernel(step: Any, *values: Any) -> tuple[Any, ...]:
        env = dict(zip(captures, values[len(given) :], strict=True))
        with running_with(step, env):
            return tuple(run(dataset._build(), values[: len(given)]))

    inputs, outputs = [*given, *captures], outputs_of(specs)
    op: Operation = create_op(name, inputs, outputs, kernel, name=name, stateful=True)
    return list(op.outputs)


def _of_values(tensors: Any, make: Callable[[Any], Any], row: Callable[[Any], Any]) -> Dataset:
    structure, leaves = flatten(tensors)
    given = [_leaf(leaf) for leaf in leaves]
    if all(not isinstance(each, (Tensor, *COMPOSITES)) for each in given):
        return Dataset._made(lambda: make(pack(structure, given)))

    def made(parts: Any) -> _base.Dataset:
        if _SPECS_ONLY.get() and any(
            constant_value(t) is None and t not in captured_values() for t in _tensors(given)
        ):
            return _base.Dataset(_Late(structure, [row(_spec(each)) for each in given]))
        left = iter(parts)
        values = [
            eager(each, [next(left) for _ in pieces(each)])
            if isinstance(each, (Tensor, *COMPOSITES))
            else each
            for each in given
        ]
        whole: _base.Dataset = make(pack(structure, values))
        return whole

    dataset = Dataset._made(made, list(_tensors(given)))
    dataset.of_tensors = make, structure, given
    return dataset


def _tensors(given: Iterable[Any]) -> Iterable[Tensor]:
    for each in given:
        if isinstance(each, (Tensor, *COMPOSITES)):
            yield from pieces(each)


def _leaf(value: Any) -> Any:
    if isinstance(value, SparseTensorValue):
        return eager(value, tuple(value))
    if isinstance(value, RaggedTensorValue):
        return eager(value, [value.flat_values, *value.nested_row_splits])
    if hasattr(value, "_as_graph_element"):
        return convert_to_tensor(value)
    if isinstance(value, (Tensor, *COMPOSITES)):
        return value
    if isinstance(value, (list, tuple)) and any(isinstance(each, Tensor) for each in value):
        return convert_to_tensor(value)
    return make_array(value)


def _spec(value: Any) -> TypeSpec:
    if isinstance(value, (Tensor, *COMPOSITES)):
        return spec_of(value)
    return TensorSpec(value.shape, as_dtype(value.dtype))


_FUNCTIONS = (
    "map_func",
    "predicate",
    "element_length_func",
    "key_func",
    "reduce_func",
    "scan_func",
    "window_size_func",
    "cond",
    "class_func",
)


def _method(name: str) -> Callable[..., Dataset]:
    """Return a method of version 1's datasets that calls the method of the underlying dataset."""
    below = getattr(Chain, name)
    signature = inspect.signature(below)

    @functools.wraps(below)
    def method(self: Dataset, *arguments: Any, **named: Any) -> Dataset:
        bound = signature.bind(self, *arguments, **named).arguments
        bound.pop("self")
        given = {k: adapted(v) if k in _FUNCTIONS else v for k, v in bound.items()}

        def make(dataset: _base.Dataset, /, **resolved: Any) -> _base.Dataset:
            made: _base.Dataset = getattr(dataset, name)(**resolved)
            if isinstance(made._node, Interleave):
                _declare(made._node, dataset._node, given["map_func"])
            return made

        return Dataset._made(make, self, **given)

    return method


def _declare(stage: Interleave, before: Stage, function: GraphFunction) -> None:
    """Tell `stage` the signature of the datasets that the graph of its function describes."""
    if stage.known is None and all(isinstance(spec, TypeSpec) for spec in before.specs):
        dataset = function.sampled(before.structure, before.specs)
        if not isinstance(dataset, Dataset):
            raise TypeError("`map_func` must return a `Dataset` object.")
        stage.known = DatasetSignature.of(dataset._node)


for _name in (
    "batch", "bucket_by_sequence_length", "cache", "concatenate", "enumerate", "filter",
    "flat_map", "group_by_window", "ignore_errors", "interleave", "map", "padded_batch",
    "prefetch", "ragged_batch", "rebatch", "rejection_resample", "repeat", "scan", "shard",
    "shuffle", "skip", "sparse_batch",
    "take", "take_while", "unbatch", "unique", "window",
):  # fmt: skip
    setattr(Dataset, _name, _method(_name))


def _static(name: str) -> Any:
    below = getattr(_base.Dataset, name)

    @functools.wraps(below)
    def made(*arguments: Any, **named: Any) -> Dataset:
        return Dataset._made(below, *arguments, **named)

    return staticmethod(made)


for _name in ("choose_from_datasets", "counter", "random", "sample_from_datasets"):
    setattr(Dataset, _name, _static(_name))


class _OfFiles(Dataset):
    _below: Any

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self._set(self._below, arguments, named)


class TFRecordDataset(_OfFiles):
    """The records of files, as strings."""

    _below = _files.TFRecordDataset


class TextLineDataset(_OfFiles):
    """The lines of files, without line endings."""

    _below = _files.TextLineDataset


class FixedLengthRecordDataset(_OfFiles):
    """Consecutive strings of one length from files."""

    _below = _files.FixedLengthRecordDataset


class CsvDataset(_OfFiles):
    """The rows of files of comma-separated values, as tuples of scalars."""

    _below = _csv.CsvDataset
