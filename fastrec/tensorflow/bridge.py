# SPDX-License-Identifier: Apache-2.0
"""Passes over a source as a tf.data.Dataset.

TensorFlow calls Python through a PyFunc. One call takes longer than parsing a batch, so a call
returns a block of batches: those that are ready within a millisecond. The block becomes a
ListDataset whose elements are the arrays of the batches, without a copy, and a FlatMapDataset
concatenates the blocks. A GeneratorDataset gives each TensorFlow iterator its own pass, which
begins when the first element is requested and is closed when the iterator is deleted.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from .. import Batcher
from ..columns import Bytes
from .failures import failed
from .leaves import Leaf, flat_values, leaves_of

__all__ = ["Feed", "SourceDataset"]

_BLOCK_BATCHES = 8  # batches that TensorFlow takes in one call at most
_BLOCK_TENSORS = 256  # in all batches of a block, which are arguments of a function
_BLOCK_BYTES = 4 << 20  # bytes of a block; larger batches are taken alone
_BLOCK_SECONDS = 1e-3  # longest time in seconds that a block waits to be filled
_PACKED_BYTES = 256  # in one row of a column that is packed


class _Pass:
    """One pass over the source of a :class:`Feed`."""

    def __init__(self, begin: Callable[[], Iterator[Any]]) -> None:
        self.values: Iterator[Any] = iter(())
        self.failure: BaseException | None = None
        self.has_failed = self.ended = False
        self.delivered = 0  # elements
        try:
            self.values = begin()
        except BaseException as error:
            # TensorFlow would begin again for each element that is requested.
            self.failure = error


class Feed:
    """The passes over a source, each called by an iterator of TensorFlow.

    Parameters
    ----------
    source : Batcher or dataset of fastrec.compat.v2
    begin : callable
        Begins the next pass: returns an iterator over its elements.
    select : callable or None
        Called with each element; its result is what TensorFlow receives.
    spec : structure of tf.TypeSpec
        The type and shape of each tensor of an element.
    is_exact : bool
        Whether all elements are known to fit `spec`, and all tensors to have the same number of
        rows. Otherwise each element is checked.
    cardinality : int
        Number of elements of each pass, or one of TensorFlow's constants. A pass that ends with
        another number of elements raises a ValueError.
    """

    def __init__(
        self,
        source: Any,
        begin: Callable[[], Iterator[Any]],
        spec: Any,
        *,
        select: Callable[[Any], Any] | None = None,
        is_exact: bool = False,
        cardinality: int = tf.data.UNKNOWN_CARDINALITY,
    ) -> None:
        self.source = source
        self.cardinality = cardinality
        self._select = select
        self.spec = spec
        self.leaves: list[Leaf] = leaves_of(spec)
        self._begin = begin
        self._passes: dict[int, _Pass] = {}
        self._numbers = itertools.count()
        self._checks = not is_exact
        self._packing = Packing(self.leaves if is_exact else [])
        parts = [part for leaf in self.leaves for part in leaf.parts]
        self._has_strings = any(part.dtype == tf.string for part in parts)
        width = len(parts)
        self.block: int = max(1, min(_BLOCK_BATCHES, _BLOCK_TENSORS // max(1, width)))
        self._functions: list[Any] = []

    # --- called by TensorFlow's threads -----------------------------------------------------------

    def begin(self) -> Any:
        """Begin a pass, and return its number."""
        number = next(self._numbers)
        self._passes[number] = _Pass(self._begin)
        return np.int64(number)

    def take(self, number: Any) -> list[Any]:
        """Return the number of elements of the next block, and their arrays.

        Raises
        ------
        StopIteration
            At the end of the pass, which TensorFlow takes for its OutOfRangeError.
        """
        run = self._passes[int(number)]
        arrays: list[Any] = []
        width = count = size = 0
        is_new, is_last = run.delivered == 0, False
        began = time.perf_counter()
        while not run.ended and run.failure is None:
            try:
                element, bytes_of_strings = self._next(run)
            except StopIteration:
                break
            except BaseException as error:
                run.failure = error
                if is_last:  # TensorFlow does not ask for an error after the last element
                    count -= 1
                    del arrays[-width:]
                break
            width = len(element)
            arrays += element
            count += 1
            size += bytes_of_strings + sum(array.nbytes for array in element)
            is_last = run.delivered == self.cardinality
            if is_last:
                continue  # TensorFlow does not ask for the end of the pass: reach it here
            late = time.perf_counter() - began > _BLOCK_SECONDS
            # A consumer that needs one batch only, to build a model, gets one.
            if is_new or late or count == self.block or size > _BLOCK_BYTES:
                break
        if count:
            spare = arrays[:width] * (self.block - count)  # padding, which TakeDataset removes
            return [np.int64(count), *arrays, *spare]
        if run.failure is not None:
            failure, run.failure, run.has_failed = run.failure, None, True
            # A Batcher raises its error for ever, and a consumer that ignores errors would never
            # end. A dataset of fastrec.compat continues with the next element, as in TensorFlow.
            run.ended = isinstance(self.source, Batcher)
            raise failed(failure) from failure
        raise StopIteration

    def end(self, number: Any) -> Any:
        """End a pass."""
        run = self._passes.pop(int(number), None)
        close = getattr(run and run.values, "close", None)
        if close is not None:
            close()
        return np.int64(0)

    def _next(self, run: _Pass) -> tuple[list[Any], int]:
        """Return what :meth:`_arrays` does for the next element of a pass.

        Raises
        ------
        StopIteration
            At the end of the pass.
        ValueError
            When the number of elements is not the cardinality, though none has failed.
        """
        for element in run.values:
            run.delivered += 1
            if run.delivered > self.cardinality >= 0:
                raise ValueError(f"a pass must have {self.cardinality} elements, got more")
            return self._arrays(element)
        run.ended = True
        if run.has_failed:
            raise StopIteration
        if self.cardinality == tf.data.INFINITE_CARDINALITY:
            raise ValueError(f"a pass must have no end, got {run.delivered} elements")
        if run.delivered < self.cardinality:
            raise ValueError(f"a pass must have {self.cardinality} elements, got {run.delivered}")
        raise StopIteration

    def _arrays(self, element: Any) -> tuple[list[Any], int]:
        """Return the arrays of an element, and the size of its columns of strings in bytes."""
        if self._select is not None:
            element = self._select(element)
        values = flat_values(element)
        if len(values) != len(self.leaves):
            raise ValueError(
                f"an element must have the structure {self.spec!r}, got {len(values)} parts"
            )
        arrays: list[Any] = []
        for leaf, value in zip(self.leaves, values, strict=True):
            is_number = leaf.is_number and type(value) is np.ndarray
            parts = [value] if is_number else leaf.split(value)
            if self._checks:
                leaf.check(parts)
            arrays += parts
        strings = 0
        if self._has_strings:
            strings = sum(value.nbytes for value in values if isinstance(value, Bytes))
        return self._packing.pack(arrays), strings

    # --- TensorFlow's graph -----------------------------------------------------------------------

    def variant(self) -> Any:
        """Return the tensor that is a dataset of the elements."""
        number = tf.TensorSpec((), tf.int64)
        parts = [part.dtype for leaf in self.leaves for part in leaf.parts]
        width = self._packing.pack_types(parts)
        types = [tf.int64, *width * self.block]
        present = [leaf for leaf in self.leaves if leaf.parts]  # None is no tensor
        outputs = [leaf.output for leaf in present]
        elements = {
            "output_types": [spec.dtype for spec in outputs],
            "output_shapes": [spec.shape for spec in outputs],
        }

        def split(count: Any, *tensors: Any) -> Any:
            encoded = []
            for start in range(0, len(tensors), len(width)):
                remaining = iter(self._packing.unpack(tensors[start : start + len(width)]))
                for leaf in present:
                    encoded.append(leaf.encode([next(remaining) for _ in leaf.parts]))
            whole = tf.raw_ops.ListDataset(tensors=encoded, **elements)
            return tf.raw_ops.TakeDataset(input_dataset=whole, count=count, **elements)

        arrays = [tf.TensorSpec(None, dtype) for dtype in types[1:]]
        blocks = tf.raw_ops.GeneratorDataset(
            init_func_other_args=[],
            next_func_other_args=[],
            finalize_func_other_args=[],
            init_func=self._function(lambda: tf.numpy_function(self.begin, [], tf.int64)),
            next_func=self._function(lambda n: tf.numpy_function(self.take, [n], types), number),
            finalize_func=self._function(
                lambda n: tf.numpy_function(self.end, [n], tf.int64), number
            ),
            output_types=types,
            output_shapes=[number.shape, *(spec.shape for spec in arrays)],
        )
        passes = tf.raw_ops.FlatMapDataset(
            input_dataset=blocks,
            other_arguments=[],
            f=self._function(split, number, *arrays),
            **elements,
        )
        if self.cardinality == tf.data.UNKNOWN_CARDINALITY:
            return passes
        # assert_cardinality() would raise an error for ever after a pass that ended too early, and
        # a consumer that ignores errors would never end. An empty dataset that repeats has infinite
        # cardinality.
        nothing = tf.raw_ops.TakeDataset(input_dataset=passes, count=0, **elements)
        endless = tf.raw_ops.RepeatDataset(input_dataset=nothing, count=-1, **elements)
        whole = tf.raw_ops.ConcatenateDataset(
            input_dataset=passes, another_dataset=endless, **elements
        )
        if self.cardinality == tf.data.INFINITE_CARDINALITY:
            return whole
        return tf.raw_ops.TakeDataset(input_dataset=whole, count=self.cardinality, **elements)

    def _function(self, function: Callable[..., Any], *specs: Any) -> Any:
        """Return a graph of `function`, which is kept: TensorFlow keeps no Python functions.

        As a function for one device, which it is, TensorFlow does not optimise it again for each
        iterator. That took 20 milliseconds.
        """
        traced = tf.function(
            function,
            autograph=False,
            experimental_attributes={"experimental_ints_on_device": True},
        ).get_concrete_function(*specs)
        self._functions.append(traced)
        return traced


class Packing:
    """Small columns of one dtype in one array, because each array of a PyFunc takes time.

    Parameters
    ----------
    leaves : sequence of Leaf
        All with the same number of rows. Dense leaves of numbers are packed if their rows have a
        known shape and are small.
    """

    def __init__(self, leaves: Sequence[Leaf]) -> None:
        groups: dict[Any, list[int]] = {}
        self._inner: dict[int, list[int]] = {}
        number = 0
        for leaf in leaves:
            spec = leaf.parts[0]
            inner: list[Any] = spec.shape.as_list()[1:] if spec.shape.rank else [None]
            is_dense = len(leaf.parts) == 1 and spec.dtype != tf.string
            if is_dense and None not in inner:
                self._inner[number] = inner
                if math.prod(inner) * spec.dtype.size <= _PACKED_BYTES:
                    groups.setdefault(spec.dtype, []).append(number)
            number += len(leaf.parts)
        self._groups = [(dtype, group) for dtype, group in groups.items() if len(group) > 2]
        packed = {each for _, group in self._groups for each in group}
        self._others = [each for each in range(number) if each not in packed]

    def pack(self, arrays: list[Any]) -> list[Any]:
        """Return an array for each group, then the arrays that are not packed."""
        if not self._groups:
            return arrays
        packed = [
            np.concatenate([arrays[number] for number in group], axis=None)
            for _, group in self._groups
        ]
        return packed + [arrays[number] for number in self._others]

    def pack_types(self, types: list[Any]) -> list[Any]:
        """Return the dtypes of what :meth:`pack` returns."""
        if not self._groups:
            return types
        return [dtype for dtype, _ in self._groups] + [types[number] for number in self._others]

    def unpack(self, tensors: Sequence[Any]) -> Sequence[Any]:
        """Return the tensors that were packed, in a graph."""
        if not self._groups:
            return tensors
        columns = dict(zip(self._others, tensors[len(self._groups) :], strict=True))
        for tensor, (_, group) in zip(tensors, self._groups, strict=False):
            widths = [math.prod(self._inner[number]) for number in group]
            rows = tf.size(tensor, tf.int64) // sum(widths)
            sizes = rows * tf.constant(widths, tf.int64)
            split = tf.raw_ops.SplitV(value=tensor, size_splits=sizes, axis=0, num_split=len(group))
            for number, column in zip(group, split, strict=True):
                inner = self._inner[number]
                columns[number] = tf.reshape(column, [-1, *inner]) if inner else column
        return [columns[number] for number in sorted(columns)]


def _without_threads() -> Any:
    options = tf.data.Options()
    options.autotune.enabled = False
    # Threads of the pool that all operations share wait for work in a busy loop.
    options.threading.private_threadpool_size = 1
    options.experimental_optimization.inject_prefetch = False
    return options


class SourceDataset(tf.data.Dataset):  # type: ignore[misc]
    """A dataset over a :class:`Feed`."""

    def __init__(
        self, feed: Feed, dataset: SourceDataset | None = None, *, length: int | None = None
    ) -> None:
        self._feed, self._dataset, self._length = feed, dataset, length
        super().__init__(feed.variant() if dataset is None else dataset._variant_tensor)
        self._bare = self.with_options(_without_threads())

    def __iter__(self) -> Any:
        """Iterate over the elements.

        Without transformations of TensorFlow after it, the dataset needs neither a thread that
        prefetches, since the source has its own, nor one that tunes parameters. They take a fifth
        of the time of `fit`. Datasets that are derived from this one have both.
        """
        return iter(self._bare)

    def cardinality(self) -> Any:
        """Return the number of elements, as TensorFlow does.

        With `length` it is that number, also where an epoch that is resumed has fewer.
        """
        if self._length is None:
            return super().cardinality()
        return tf.constant(self._length, tf.int64)

    @property
    def source(self) -> Any:
        """The Batcher or dataset of fastrec.compat that the elements come from."""
        return self._feed.source

    def _inputs(self) -> list[Any]:
        return [] if self._dataset is None else [self._dataset]

    @property
    def element_spec(self) -> Any:
        return self._feed.spec
