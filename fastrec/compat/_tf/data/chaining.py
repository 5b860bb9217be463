# SPDX-License-Identifier: Apache-2.0
"""Methods of ``tf.data.Dataset`` that return another dataset."""

from __future__ import annotations

import functools
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from fastrec.threads.cpus import usable_cpus

from ..dtypes import as_dtype
from ..errors import invalid
from ..records import as_path
from ..tensor import convert_to_tensor
from . import flow as _flow
from . import portions as _portions
from .batching import Batch, RaggedBatch, Unbatch
from .depth import with_room
from .functions import Scalar, shown
from .interleaving import interleaved
from .iterating import padding_of, tensors
from .mapping import Filter, Predicate, mapped
from .options import Options, merged
from .padding import PaddedBatch
from .pipeline import Once, Stage
from .portions import Concatenate, check_alike

if TYPE_CHECKING:
    from .dataset import Dataset

AUTOTUNE = -1


def _parallel(calls: Any) -> int | None:
    return None if calls is None else int(calls)


def _whole(name: str, value: Any) -> int:
    """Return a number of elements, checked to be an int64 scalar.

    Raises
    ------
    TypeError, ValueError, InvalidArgumentError
        If the value is not an int64 scalar.
    """
    tensor = convert_to_tensor(value, "int64")
    if tensor.shape.ndims:
        raise invalid(f"{name} must be a scalar")
    return int(tensor)


def merged_of(stage: Stage) -> Options:
    """Return the merged options of the datasets that a stage is made of."""
    found = Options()
    for each in stage.inputs:
        shown = getattr(each, "dataset", None)
        found = merged(found, merged_of(each) if shown is None else shown.options())
    return found


@with_room
class Chain(ABC):
    """Methods that append a step to a dataset's stage."""

    _node: Stage
    _options: Options | None = None

    @abstractmethod
    def _of(self, stage: Stage) -> Dataset:
        """Return the dataset of a stage."""

    @abstractmethod
    def __iter__(self) -> Iterator[Any]:
        """Return an iterator over the elements."""

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        synchronous: bool | None = None,
        use_unbounded_threadpool: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Apply `map_func` to each element.

        The function is traced: it is called once with symbolic tensors, which record its
        operations. These then run on many elements at once. A function that needs to see
        values, for example in an ``if``, is called with each element instead.
        """
        parallel = _parallel(num_parallel_calls)
        if parallel is not None and parallel < 1 and parallel != AUTOTUNE:
            raise invalid("num_parallel_calls must be greater than zero.")
        return self._of(mapped(self._node, map_func, parallel))

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """Drop the elements if `predicate` returns False for them."""
        return self._of(Filter(self._node, predicate))

    def flat_map(self, map_func: Callable[..., Dataset], name: str | None = None) -> Dataset:
        """Map each element to a dataset and concatenate these datasets."""
        return self._of(interleaved(self._node, map_func))

    def interleave(
        self,
        map_func: Callable[..., Dataset],
        cycle_length: int | None = None,
        block_length: int | None = None,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Map each element to a dataset and take turns among `cycle_length` of these datasets."""
        parallel = _parallel(num_parallel_calls)
        cycle = cycle_length
        if cycle is None or cycle == AUTOTUNE:
            cycle = parallel if parallel and parallel > 0 else usable_cpus()
        block = 1 if block_length is None else _whole("block_length", block_length)
        for what, value in (("cycle_length", cycle), ("block_length", block)):
            if value < 1:
                raise invalid(f"`{what}` must be > 0")
        return self._of(interleaved(self._node, map_func, cycle, block, parallel is not None))

    def batch(
        self,
        batch_size: Any,
        drop_remainder: bool = False,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Combine consecutive elements into batches, along a new first dimension."""
        return self._of(Batch(self._node, _whole("batch_size", batch_size), bool(drop_remainder)))

    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Batch elements of different shapes, padded to the largest or to `padded_shapes`."""
        shapes, padding = padding_of(self._node, padded_shapes, padding_values)
        size, drop = _whole("batch_size", batch_size), bool(drop_remainder)
        return self._of(PaddedBatch(self._node, size, drop, shapes, padding))

    def ragged_batch(
        self,
        batch_size: Any,
        drop_remainder: bool = False,
        row_splits_dtype: Any = "int64",
        name: str | None = None,
    ) -> Dataset:
        """Batch elements; parts that differ in length become the rows of a ragged tensor."""
        dtype = as_dtype(row_splits_dtype)
        return self._of(
            RaggedBatch(self._node, _whole("batch_size", batch_size), bool(drop_remainder), dtype)
        )

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
        """Batch elements of similar length, padded to the longest of their batch."""
        from .windows import Bucketed

        shapes, padding = (
            (None, []) if no_padding else padding_of(self._node, padded_shapes, padding_values)
        )
        stage = Bucketed(
            self._node,
            Scalar(element_length_func, self._node),
            bucket_boundaries,
            bucket_batch_sizes,
            shapes,
            padding,
            pad_to_bucket_boundary,
            drop_remainder,
        )
        return self._of(stage)

    def unbatch(self, name: str | None = None) -> Dataset:
        """Split each element into its rows."""
        return self._of(Unbatch(self._node))

    def rebatch(
        self, batch_size: Any, drop_remainder: bool = False, name: str | None = None
    ) -> Dataset:
        """Split elements into rows and batch these with another size, or with several in turn."""
        from .batching import Rebatch

        sizes = np.asarray(convert_to_tensor(batch_size, "int64")).reshape(-1).tolist()
        return self._of(Rebatch(self._node, sizes, bool(drop_remainder)))

    def sparse_batch(self, batch_size: Any, row_shape: Any, name: str | None = None) -> Dataset:
        """Combine elements of any sizes up to `row_shape` into one sparse tensor."""
        from .batching import SparseBatch

        return self._of(SparseBatch(self._node, _whole("batch_size", batch_size), row_shape))

    def window(
        self,
        size: int,
        shift: int | None = None,
        stride: int = 1,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Return datasets of `size` consecutive elements each."""
        from .windows import Window

        shift = size if shift is None else shift
        for what, value in (("size", size), ("shift", shift), ("stride", stride)):
            if _whole(what, value) < 1:
                raise invalid(f"Window {what} must be greater than zero.")
        make = lambda stage: self._of(stage)._node  # noqa: E731
        return self._of(Window(self._node, size, shift, stride, drop_remainder, make))

    def shuffle(
        self,
        buffer_size: Any,
        seed: int | None = None,
        reshuffle_each_iteration: bool | None = True,
        name: str | None = None,
    ) -> Dataset:
        """Draw elements from a buffer of `buffer_size`; a seed gives TensorFlow's order."""
        from .reordering import Shuffle

        reshuffle = True if reshuffle_each_iteration is None else bool(reshuffle_each_iteration)
        return self._of(Shuffle(self._node, _whole("buffer_size", buffer_size), seed, reshuffle))

    def repeat(self, count: Any = None, name: str | None = None) -> Dataset:
        """Repeat the dataset `count` times; forever by default."""
        number = -1 if count is None else _whole("count", count)
        return self._of(_portions.Repeat(self._node, number)) if number else self.take(0)

    def take(self, count: Any, name: str | None = None) -> Dataset:
        """Keep the first `count` elements, or all of them if `count` is -1."""
        return self._of(_portions.Take(self._node, _whole("count", count)))

    def skip(self, count: Any, name: str | None = None) -> Dataset:
        """Skip the first `count` elements."""
        return self._of(_portions.Skip(self._node, _whole("count", count)))

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Dataset:
        """Keep every `num_shards`-th element, starting with element `index`."""
        return self._of(
            _portions.Shard(self._node, _whole("num_shards", num_shards), _whole("index", index))
        )

    def prefetch(self, buffer_size: Any, name: str | None = None) -> Dataset:
        """Let a thread make up to `buffer_size` elements ahead of time."""
        from .threads import Prefetch

        size = _parallel(buffer_size)
        if size is not None and size < AUTOTUNE:
            raise invalid("buffer_size must be >= 0 or set buffer_size to be -1 for auto-tuning")
        return self._of(Prefetch(self._node, size))

    def cache(self, filename: Any = "", name: str | None = None) -> Dataset:
        """Keep elements in memory once all have been made, or in files that persist.

        The files are in the folder ``filename + ".cache"`` and appear when the last element has
        been made. Elements of types that cannot be saved are kept in memory.
        """
        name = filename.numpy() if hasattr(filename, "numpy") else filename
        path = as_path(name) if isinstance(name, (str, bytes, os.PathLike)) else ""
        if not path:
            return self._of(_flow.Cache(self._node))
        from .saving import Kept

        try:
            return self._of(Kept(self._node, f"{path}.cache"))
        except TypeError:
            return self._of(_flow.Cache(self._node))

    def snapshot(
        self,
        path: Any,
        compression: Any = "AUTO",
        reader_func: Callable[..., Any] | None = None,
        shard_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Store elements in files once all have been made, in a subfolder of `path` per pipeline.

        `shard_func` selects the shard of each element, and `reader_func` combines the datasets of
        the shards when they are read. A stored pipeline is recognized by its steps and the code of
        its functions; a pipeline that cannot be described this way is kept in memory.
        """
        from .saved_format import Unrepeatable, fingerprint
        from .saving import Kept, Saved

        known = {"AUTO": None, "NONE": None, "SNAPPY": None, "": None}
        kind = known.get(compression, compression)
        of = None if shard_func is None else Scalar(shard_func, self._node)

        def read(saved: Saved) -> Stage:
            def shard(place: Any) -> Dataset:
                make = functools.partial(saved.of_shards, [place])
                return self._of(Once(make, saved.structure, saved.specs))

            shards = list(map(shard, saved.shards))
            assert reader_func is not None
            of_shards: Any = type(self).from_tensor_slices(shards)  # type: ignore[attr-defined]
            made: Stage = reader_func(of_shards)._node
            return made

        try:
            folder = os.path.join(as_path(path), fingerprint(self._node))
            reads = None if reader_func is None else read
            return self._of(Kept(self._node, folder, kind, of, reads))
        except (TypeError, Unrepeatable):
            return self.cache()

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """Append the elements of `dataset`."""
        if not isinstance(dataset, Chain):
            raise TypeError(f"`dataset` must be a `Dataset` object. Got {type(dataset)}.")
        check_alike(self._node, dataset._node)
        return self._of(Concatenate(self._node, dataset._node))

    def enumerate(self, start: int = 0, name: str | None = None) -> Dataset:
        """Pair each element with its number."""
        return self._of(_flow.Enumerate(self._node, _whole("start", start)))

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """End the dataset as soon as `predicate` returns False; this element is dropped."""
        return self._of(_flow.TakeWhile(self._node, Predicate(predicate, self._node)))

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Dataset:
        """Drop the elements that raise an error."""
        return self._of(_flow.IgnoreErrors(self._node, log_warning))

    def scan(
        self, initial_state: Any, scan_func: Callable[..., Any], name: str | None = None
    ) -> Dataset:
        """Apply a function of state and element; it returns the next state and a new element."""
        from .reducing import Scan

        return self._of(Scan(self._node, initial_state, scan_func))

    def reduce(
        self, initial_state: Any, reduce_func: Callable[..., Any], name: str | None = None
    ) -> Any:
        """Apply a function of state and element to all elements; return the last state."""
        state = tensors(initial_state)
        for element in self:
            state = tensors(reduce_func(state, element))
        return state

    def unique(self, name: str | None = None) -> Dataset:
        """Drop the elements that have occurred before."""
        return self._of(_flow.Unique(self._node))

    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        window_size: int | None = None,
        window_size_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Group elements by key and apply `reduce_func` to a window of each group at a time."""
        from .windows import GroupedByKey

        if (window_size is None) == (window_size_func is None):
            raise ValueError(
                "Either the `window_size` argument or the `window_size_func` argument must be "
                "specified."
            )
        size = window_size_func or (lambda _: window_size)

        def reduced(number: int, elements: Stage) -> Stage:
            made: Dataset = reduce_func(shown(np.asarray(number, np.int64)), self._of(elements))
            return made._node

        stage = GroupedByKey(
            self._node,
            Scalar(key_func, self._node),
            reduced,
            functools.cache(lambda key: int(np.asarray(size(shown(np.asarray(key, np.int64)))))),
        )
        return self._of(stage)

    def rejection_resample(
        self,
        class_func: Callable[..., Any],
        target_dist: Any,
        initial_dist: Any = None,
        seed: int | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Return (class, element) pairs, resampled so that classes follow `target_dist`."""
        from .reducing import Rejected, mixed, shares, static_share

        target = np.asarray(convert_to_tensor(target_dist)).astype(np.float32)
        initial = None
        if initial_dist is not None:
            initial = np.asarray(convert_to_tensor(initial_dist)).astype(np.float32)

        def with_class(*parts: Any) -> Any:
            return class_func(*parts), parts[0] if len(parts) == 1 else parts

        classed = self.map(with_class)
        chances = shares(classed._node, initial, target)
        rejected = Rejected(classed._node, chances, seed)
        share = None if initial is None else static_share(initial, target)
        if share in (0, 1):
            return classed if share else self._of(rejected)
        return self._of(mixed([classed._node, rejected], chances, seed))

    def apply(self, transformation_func: Callable[[Dataset], Any], name: str | None = None) -> Any:
        """Return the result of a function of the dataset, which must also be a dataset."""
        made = transformation_func(cast("Dataset", self))
        if not isinstance(made, Chain):
            raise TypeError(
                f"`transformation_func` must return a `tf.data.Dataset` object. Got {type(made)}."
            )
        return made

    def with_options(self, options: Options, name: str | None = None) -> Dataset:
        """Return the dataset with these options, which take precedence over its own."""
        if not isinstance(options, Options):
            raise TypeError(f"`options` must be a `tf.data.Options` object, got {options!r}.")
        made = self._of(self._node)
        made._options = merged(self.options(), options)
        return made

    def options(self) -> Options:
        """Return the merged options of this dataset and of the datasets that it is made of."""
        return self._options or merged_of(self._node)
