# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F403
"""``tf.data.experimental`` of both versions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..faces import Functions
from . import transformations
from .counted import Counted
from .csv_plan import CsvPlan
from .dataset import AUTOTUNE, Dataset
from .options import (
    AutoShardPolicy,
    AutotuneAlgorithm,
    AutotuneOptions,
    DistributeOptions,
    ExternalStatePolicy,
    OptimizationOptions,
    ThreadingOptions,
)
from .pipeline import INFINITE, UNKNOWN
from .reducing import Reduced, Reducer
from .transformations import *

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "SHARD_HINT",
    "UNKNOWN_CARDINALITY",
    "AutoShardPolicy",
    "AutotuneAlgorithm",
    "AutotuneOptions",
    "DistributeOptions",
    "Experimental",
    "ExternalStatePolicy",
    "OptimizationOptions",
    "Reducer",
    "ThreadingOptions",
    *transformations.__all__,
]

INFINITE_CARDINALITY = INFINITE
UNKNOWN_CARDINALITY = UNKNOWN
SHARD_HINT = -1


class Experimental(Functions):
    """Functions over the datasets of one API version.

    Parameters
    ----------
    dataset, records, csv : type
        The version's classes of datasets, of record datasets and of CSV datasets.
    parse : callable
        The version's ``parse_example``.
    made : callable
        Takes a function, a dataset and other arguments; returns the dataset that the function
        gives for datasets of version 2.
    adapted : callable
        Converts a program's function to one that these functions can call.
    """

    def __init__(
        self,
        dataset: Any,
        records: Any,
        csv: Any,
        parse: Callable[..., Any],
        made: Callable[..., Any] = lambda make, *given: make(*given),
        adapted: Callable[[Any], Any] = lambda function: function,
    ) -> None:
        super().__init__()
        self._dataset, self._records, self._csv, self._parse = dataset, records, csv, parse
        self._made, self._adapted = made, adapted

    def sample_from_datasets(
        self,
        datasets: Any,
        weights: Any = None,
        seed: Any = None,
        stop_on_empty_dataset: bool = False,
    ) -> Any:
        """Sample datasets by weight."""
        return self._dataset.sample_from_datasets(datasets, weights, seed, stop_on_empty_dataset)

    def choose_from_datasets(
        self, datasets: Any, choice_dataset: Any, stop_on_empty_dataset: bool = False
    ) -> Any:
        """Take each element from the dataset whose number `choice_dataset` gives."""
        return self._dataset.choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)

    def from_list(self, elements: Any, name: str | None = None) -> Any:
        """Create a dataset of the elements of a list, which have one structure."""
        if not isinstance(elements, list):
            raise TypeError("`elements` must be a list.")
        if not elements:
            raise ValueError("Invalid `elements`. `elements` should not be empty.")
        whole, *others = [self._dataset.from_tensors(element) for element in elements]
        for each in others:
            whole = whole.concatenate(each)
        return whole

    def RandomDataset(self, seed: Any = None) -> Any:
        """Generate random 32-bit integers without end."""
        return self._dataset.random(seed)

    def Counter(self, start: Any = 0, step: Any = 1, dtype: Any = "int64") -> Any:
        """Count without end from `start`."""
        return self._dataset.counter(start, step, dtype)

    def get_single_element(self, dataset: Any) -> Any:
        """Return the only element of a dataset."""
        return dataset.get_single_element()

    def assert_cardinality(self, expected_cardinality: Any) -> transformations.Transformation:
        """Return a function for ``apply`` that raises if the number of elements is different."""

        def make(dataset: Dataset, expected: Any) -> Dataset:
            return Dataset(Counted(dataset._node, int(expected)))

        return lambda dataset: self._made(make, dataset, expected_cardinality)

    def group_by_reducer(self, key_func: Any, reducer: Reducer) -> transformations.Transformation:
        """Return a function for ``apply`` that reduces the elements of each key."""
        parts = (reducer.init_func, reducer.reduce_func, reducer.finalize_func)
        adapted, key = Reducer(*map(self._adapted, parts)), self._adapted(key_func)

        def make(dataset: Dataset) -> Dataset:
            return Dataset(Reduced(dataset._node, key, adapted))

        return lambda dataset: self._made(make, dataset)

    def parse_example_dataset(
        self, features: Any, num_parallel_calls: Any = 1, deterministic: bool | None = None
    ) -> transformations.Transformation:
        """Return a function for ``apply`` that parses batches of serialized Examples."""
        return lambda dataset: dataset.map(lambda records: self._parse(records, features))

    def make_batched_features_dataset(
        self,
        file_pattern: Any,
        batch_size: int,
        features: Any,
        reader: Any = None,
        label_key: str | None = None,
        reader_args: Any = None,
        num_epochs: int | None = None,
        shuffle: bool = True,
        shuffle_buffer_size: int = 10000,
        shuffle_seed: int | None = None,
        prefetch_buffer_size: int | None = None,
        reader_num_threads: int | None = None,
        parser_num_threads: int | None = None,
        sloppy_ordering: bool = False,
        drop_final_batch: bool = False,
    ) -> Any:
        """Read batches of parsed Examples from files: dicts, or (dict, label) pairs."""
        make, arguments = reader or self._records, reader_args or []
        files = self._dataset.list_files(file_pattern, shuffle=shuffle, seed=shuffle_seed)
        cycle = 1 if reader_num_threads in (None, AUTOTUNE) else int(reader_num_threads)
        dataset = files.interleave(lambda path: make(path, *arguments), cycle_length=cycle)
        spec = dataset.element_spec
        if isinstance(spec, tuple) and len(spec) == 2:  # pairs of a key and a record
            dataset = dataset.map(lambda _, record: record)
        if shuffle:
            dataset = dataset.shuffle(shuffle_buffer_size, shuffle_seed)
        if num_epochs != 1:
            dataset = dataset.repeat(num_epochs)
        dataset = dataset.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
        dataset = dataset.apply(self.parse_example_dataset(features))
        if label_key:
            if label_key not in features:
                raise ValueError(
                    f"The `label_key` provided ({label_key!r}) must be one of the `features` keys: "
                    f"{features.keys()}."
                )
            dataset = dataset.map(lambda x: (x, x.pop(label_key)))
        return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)

    def make_csv_dataset(
        self,
        file_pattern: Any,
        batch_size: int,
        column_names: Any = None,
        column_defaults: Any = None,
        label_name: str | None = None,
        select_columns: Any = None,
        field_delim: str = ",",
        use_quote_delim: bool = True,
        na_value: str = "",
        header: bool = True,
        num_epochs: int | None = None,
        shuffle: bool = True,
        shuffle_buffer_size: int = 10000,
        shuffle_seed: int | None = None,
        prefetch_buffer_size: int | None = None,
        num_parallel_reads: int | None = None,
        sloppy: bool = False,
        num_rows_for_inference: int | None = 100,
        compression_type: Any = None,
        ignore_errors: bool = False,
        encoding: str = "utf-8",
    ) -> Any:
        """Read batches of CSV rows from files: dicts, or (dict, label) pairs."""
        plan = CsvPlan(
            file_pattern,
            column_names,
            column_defaults,
            label_name,
            select_columns,
            field_delim,
            use_quote_delim,
            na_value,
            header,
            num_rows_for_inference,
            compression_type,
            encoding,
        )
        return plan.dataset(
            self._dataset.from_tensor_slices(plan.paths),
            self._csv,
            batch_size,
            num_epochs,
            (shuffle_buffer_size if shuffle else None, shuffle_seed),
            prefetch_buffer_size,
            num_parallel_reads,
            ignore_errors,
        )
