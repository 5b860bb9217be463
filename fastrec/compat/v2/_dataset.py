# SPDX-License-Identifier: Apache-2.0
"""``tf.data.Dataset``."""

from __future__ import annotations

import glob
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .._dtypes import as_dtype
from . import _flow
from ._ahead import Prefetch
from ._batching import Batch, PaddedBatch, RaggedBatch, Unbatch, Window
from ._buckets import Bucketed
from ._iterating import (
    DatasetIterator,
    Options,
    as_numpy,
    checked,
    padding_of,
    signature_of,
    tensors,
)
from ._mapping import Filter, Function, Interleave, hidden, mapped, shown
from ._pipeline import INFINITE, UNKNOWN, Node, Once, Values, invalid
from ._reordering import Shuffle
from ._seeds import draws, get_seed, looking_ahead
from ._sources import Numbers, Slices, Tensors, names_of
from ._specs import TensorSpec, TypeSpec
from ._structure import LEAF, flatten, pack
from ._tensor import EagerTensor
from ._trace import wrap

__all__ = ["AUTOTUNE", "Dataset"]

AUTOTUNE = -1


def _parallel(calls: Any) -> int | None:
    return None if calls is None else int(calls)


class Dataset:
    """Elements, one after the other, which are made when they are asked for."""

    def __init__(self, node: Node) -> None:
        self._node = node
        node.dataset = self

    # What it is made of.

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """One element."""
        structure, leaves = flatten(tensors)
        return Dataset(Tensors(structure, [hidden(leaf) for leaf in leaves]))

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """An element for each row."""
        structure, leaves = flatten(tensors)
        return Dataset(Slices(structure, [hidden(leaf) for leaf in leaves]))

    @staticmethod
    def range(*args: int, output_type: Any = "int64", name: str | None = None) -> Dataset:
        """Integers, as Python's ``range`` has them."""
        span = range(*[int(a) for a in args])
        return Dataset(Numbers(span.start, span.stop, span.step, as_dtype(output_type)))

    @staticmethod
    def from_generator(
        generator: Callable[..., Any],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Sequence[Any] = (),
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """What a generator yields."""
        if not callable(generator):
            raise TypeError("`generator` must be a Python callable.")
        structure, specs = signature_of(output_types, output_shapes, output_signature)
        given = [wrap(hidden(arg)).numpy() for arg in args]

        def make() -> Values:
            return (checked(value, structure, specs) for value in generator(*given))

        return Dataset(Once(make, structure, specs))

    @staticmethod
    def list_files(
        file_pattern: Any,
        shuffle: bool | None = None,
        seed: int | None = None,
        name: str | None = None,
    ) -> Dataset:
        """The names of files that match patterns; shuffled, unless `shuffle` is False.

        Raises
        ------
        InvalidArgumentError
            When there is none.
        """
        patterns = names_of(file_pattern)
        names = sorted({name for pattern in patterns for name in glob.glob(pattern)})
        if not names:
            raise invalid(f"No files matched pattern: {', '.join(patterns)}")
        dataset = Dataset.from_tensor_slices(names)
        return dataset if shuffle is False else dataset.shuffle(len(names), seed=seed)

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """Elements of data sets side by side, until one has no more."""
        nested = args[0] if len(args) == 1 else args or datasets
        if isinstance(nested, Dataset):
            nested = (nested,)
        structure, leaves = flatten(nested)
        nodes = [leaf._node for leaf in leaves]
        return Dataset(_flow.Zip(structure, nodes, lambda inner: pack(structure, inner)))

    @staticmethod
    def sample_from_datasets(
        datasets: Sequence[Dataset],
        weights: Any = None,
        seed: int | None = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Elements of data sets, drawn by weight. The draws are not those of TensorFlow."""
        shares = [1.0] * len(datasets) if weights is None else list(np.asarray(weights, float))
        seeds = get_seed(seed)
        nodes = [dataset._node for dataset in datasets]
        choices = lambda: _flow.by_weight(shares, draws(*seeds))  # noqa: E731
        return Dataset(_flow.Sample(nodes, choices, stop_on_empty_dataset))

    @staticmethod
    def choose_from_datasets(
        datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = True
    ) -> Dataset:
        """Elements of data sets, as another one says which is next."""
        choices = lambda: (int(value[0]) for value in choice_dataset._node.stream())  # noqa: E731
        nodes = [dataset._node for dataset in datasets]
        return Dataset(_flow.Sample(nodes, choices, stop_on_empty_dataset))

    # What is made of it.

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        synchronous: bool | None = None,
        use_unbounded_threadpool: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """`map_func` of each element.

        The function is traced: called once, with what stands for tensors, to see of which
        operations it consists. These are then run on many elements at once. A function that needs
        to see values, as for an ``if``, is called with each element instead.
        """
        return Dataset(mapped(self._node, map_func, _parallel(num_parallel_calls)))

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements for which `predicate` says True."""
        return Dataset(Filter(self._node, predicate))

    def flat_map(self, map_func: Callable[..., Dataset], name: str | None = None) -> Dataset:
        """The elements of the data set of each element, one data set after the other."""
        return Dataset(Interleave(self._node, map_func))

    def interleave(
        self,
        map_func: Callable[..., Dataset],
        cycle_length: int | None = None,
        block_length: int | None = None,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """The elements of the data sets of elements, some data sets in turns."""
        from fastrec.examples import usable_cpus

        parallel = _parallel(num_parallel_calls)
        cycle = cycle_length
        if cycle is None or cycle == AUTOTUNE:
            cycle = parallel if parallel and parallel > 0 else usable_cpus()
        if cycle < 1:
            raise invalid("`cycle_length` must be > 0")
        return Dataset(Interleave(self._node, map_func, cycle, block_length or 1))

    def batch(
        self,
        batch_size: Any,
        drop_remainder: bool = False,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """So many elements as one, of one dimension more."""
        return Dataset(Batch(self._node, int(batch_size), bool(drop_remainder)))

    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """So many elements as one, filled up to the largest, or to `padded_shapes`."""
        shapes, padding = padding_of(self._node, padded_shapes, padding_values)
        size, drop = int(batch_size), bool(drop_remainder)
        return Dataset(PaddedBatch(self._node, size, drop, shapes, padding))

    def ragged_batch(
        self,
        batch_size: Any,
        drop_remainder: bool = False,
        row_splits_dtype: Any = "int64",
        name: str | None = None,
    ) -> Dataset:
        """So many elements as one, those that differ in length as rows of a ragged tensor."""
        dtype = as_dtype(row_splits_dtype)
        return Dataset(RaggedBatch(self._node, int(batch_size), bool(drop_remainder), dtype))

    def bucket_by_sequence_length(
        self,
        element_length_func: Callable[..., Any],
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Elements with others of similar length as one, filled up to the longest."""
        call = Function(element_length_func, self._node.structure)
        shapes, padding = padding_of(self._node, padded_shapes, padding_values)
        node = Bucketed(
            self._node,
            lambda value: int(np.asarray(call(value)[1][0])),
            bucket_boundaries,
            bucket_batch_sizes,
            None if no_padding else shapes,
            padding,
            pad_to_bucket_boundary,
            drop_remainder,
        )
        return Dataset(node)

    def unbatch(self, name: str | None = None) -> Dataset:
        """The rows of the elements."""
        return Dataset(Unbatch(self._node))

    def rebatch(
        self, batch_size: int, drop_remainder: bool = False, name: str | None = None
    ) -> Dataset:
        """The rows of the elements in batches of another size."""
        return self.unbatch().batch(batch_size, drop_remainder)

    def window(
        self,
        size: int,
        shift: int | None = None,
        stride: int = 1,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Data sets of so many elements each."""
        shift = size if shift is None else shift
        make = lambda node: Dataset(node)._node  # noqa: E731
        return Dataset(Window(self._node, size, shift, stride, drop_remainder, make))

    def shuffle(
        self,
        buffer_size: Any,
        seed: int | None = None,
        reshuffle_each_iteration: bool | None = True,
        name: str | None = None,
    ) -> Dataset:
        """Elements drawn from a buffer of that size: for a seed, TensorFlow's own draws."""
        reshuffle = True if reshuffle_each_iteration is None else bool(reshuffle_each_iteration)
        return Dataset(Shuffle(self._node, int(buffer_size), seed, reshuffle))

    def repeat(self, count: Any = None, name: str | None = None) -> Dataset:
        """Everything so many times; for ever by default."""
        return Dataset(_flow.Repeat(self._node, None if count is None else int(count)))

    def take(self, count: Any, name: str | None = None) -> Dataset:
        """The first elements; all for -1."""
        return Dataset(_flow.Take(self._node, int(count)))

    def skip(self, count: Any, name: str | None = None) -> Dataset:
        """Without the first elements."""
        return Dataset(_flow.Skip(self._node, int(count)))

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Dataset:
        """Every `num_shards`-th element, from number `index` on."""
        return Dataset(_flow.Shard(self._node, int(num_shards), int(index)))

    def prefetch(self, buffer_size: Any, name: str | None = None) -> Dataset:
        """So many elements made ahead of time, by a thread."""
        return Dataset(Prefetch(self._node, _parallel(buffer_size)))

    def cache(self, filename: Any = "", name: str | None = None) -> Dataset:
        """Elements kept in memory once all have been made; `filename` is not looked at."""
        return Dataset(_flow.Cache(self._node))

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """The elements of another data set after those of this one."""
        if len(self._node.specs) != len(dataset._node.specs):
            raise TypeError("Two datasets to concatenate have different types")
        return Dataset(_flow.Concatenate(self._node, dataset._node))

    def enumerate(self, start: int = 0, name: str | None = None) -> Dataset:
        """Pairs of a number and an element."""
        return Dataset(_flow.Enumerate(self._node, int(start)))

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements before the first for which `predicate` says False."""
        call = Function(predicate, self._node.structure)
        return Dataset(
            _flow.TakeWhile(self._node, lambda value: bool(np.asarray(call(value)[1][0])))
        )

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Dataset:
        """Without the elements that cannot be made."""
        return Dataset(_flow.IgnoreErrors(self._node, log_warning))

    def scan(
        self, initial_state: Any, scan_func: Callable[..., Any], name: str | None = None
    ) -> Dataset:
        """A function of a state and each element, which gives the next state and an element."""

        def make() -> Iterator[Any]:
            state = tensors(initial_state)
            for element in self:
                state, output = scan_func(state, element)
                yield output

        structure, specs = self._scanned(initial_state, scan_func, make)
        values = lambda: (tuple(map(hidden, flatten(v)[1])) for v in make())  # noqa: E731
        return Dataset(Once(values, structure, specs))

    def _scanned(
        self, state: Any, function: Callable[..., Any], make: Callable[[], Iterator[Any]]
    ) -> tuple[Any, list[TypeSpec]]:
        """What :meth:`scan` gives: as its function is traced, or else as the first of it is."""
        within, leaves = flatten(tensors(state))
        specs: list[TypeSpec] = [TensorSpec(leaf.shape, leaf.dtype) for leaf in leaves]
        call = Function(lambda s, x: function(s, x)[1], (within, self._node.structure))
        traced = call.trace([*specs, *self._node.specs])
        if traced is not None:
            return traced[1], traced[0].specs
        with looking_ahead():
            probe = next(make(), None)
        structure, leaves = (LEAF, []) if probe is None else flatten(probe)
        return structure, [TensorSpec(x.shape, x.dtype) for x in map(wrap, map(hidden, leaves))]

    def reduce(
        self, initial_state: Any, reduce_func: Callable[..., Any], name: str | None = None
    ) -> Any:
        """A function of a state and each element, which gives the next state; the last state."""
        state = tensors(initial_state)
        for element in self:
            state = tensors(reduce_func(state, element))
        return state

    def apply(self, transformation_func: Callable[[Dataset], Any], name: str | None = None) -> Any:
        """What a function makes of the data set."""
        return transformation_func(self)

    def with_options(self, options: Options, name: str | None = None) -> Dataset:
        """The same: none of the options is needed."""
        return self

    def options(self) -> Options:
        """No options."""
        return Options()

    # What is in it.

    def __iter__(self) -> DatasetIterator:
        return DatasetIterator(self._node, shown)

    def as_numpy_iterator(self) -> DatasetIterator:
        """The elements as ndarrays, NumPy scalars and bytes."""
        return DatasetIterator(self._node, as_numpy)

    def get_single_element(self, name: str | None = None) -> Any:
        """The one element.

        Raises
        ------
        InvalidArgumentError
            When there are more, or none.
        """
        found = list(itertools.islice(self, 2))
        if len(found) != 1:
            raise invalid(
                "Dataset was empty." if not found else "Dataset had more than one element."
            )
        return found[0]

    @property
    def element_spec(self) -> Any:
        """What the elements are."""
        return pack(self._node.structure, self._node.specs)

    def cardinality(self, name: str | None = None) -> Any:
        """How many elements there are; -1 for no end, -2 when that is not known."""
        return EagerTensor(np.asarray(self._node.cardinality(), np.int64))

    def __len__(self) -> int:
        count = self._node.cardinality()
        if count == INFINITE:
            raise TypeError("The dataset is infinite.")
        if count == UNKNOWN:
            raise TypeError("The dataset length is unknown.")
        return count

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<_{type(self._node).__name__}Dataset element_spec={self.element_spec!r}>"
