# SPDX-License-Identifier: Apache-2.0
"""``tf.data.experimental``, and what ``tf.contrib.data`` has of it."""

from __future__ import annotations

from typing import Any

from .._tf.data.counted import Counted
from .._tf.data.csv_plan import CsvPlan
from .._tf.data.dataset import Dataset as _Base
from .._tf.data.options import (
    AutoShardPolicy,
    AutotuneAlgorithm,
    AutotuneOptions,
    DistributeOptions,
    ExternalStatePolicy,
    OptimizationOptions,
    ThreadingOptions,
)
from .._tf.data.pipeline import INFINITE, UNKNOWN
from .._tf.data.reducing import Reduced, Reducer
from .._tf.data.transformations import (
    Transformation,
    bucket_by_sequence_length,
    copy_to_device,
    dense_to_ragged_batch,
    dense_to_sparse_batch,
    enumerate_dataset,
    get_structure,
    group_by_window,
    ignore_errors,
    map_and_batch,
    pad_to_cardinality,
    parallel_interleave,
    prefetch_to_device,
    rejection_resample,
    scan,
    shuffle_and_repeat,
    snapshot,
    take_while,
    unbatch,
    unique,
)
from .._tf.uncovered import uncovered
from ._dataset_methods import Dataset
from ._datasets import AUTOTUNE, adapted
from ._file_datasets import CsvDataset, TFRecordDataset
from .optional import Optional, get_next_as_optional

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "SHARD_HINT",
    "UNKNOWN_CARDINALITY",
    "AutoShardPolicy",
    "AutotuneAlgorithm",
    "AutotuneOptions",
    "Counter",
    "CsvDataset",
    "DistributeOptions",
    "ExternalStatePolicy",
    "OptimizationOptions",
    "Optional",
    "RandomDataset",
    "Reducer",
    "ThreadingOptions",
    "assert_cardinality",
    "bucket_by_sequence_length",
    "choose_from_datasets",
    "copy_to_device",
    "dense_to_ragged_batch",
    "dense_to_sparse_batch",
    "enumerate_dataset",
    "get_next_as_optional",
    "get_single_element",
    "get_structure",
    "group_by_reducer",
    "group_by_window",
    "ignore_errors",
    "make_batched_features_dataset",
    "make_csv_dataset",
    "map_and_batch",
    "map_and_batch_with_legacy_function",
    "pad_to_cardinality",
    "parallel_interleave",
    "parse_example_dataset",
    "prefetch_to_device",
    "rejection_resample",
    "sample_from_datasets",
    "scan",
    "shuffle_and_repeat",
    "snapshot",
    "take_while",
    "unbatch",
    "unique",
]

map_and_batch_with_legacy_function = map_and_batch
INFINITE_CARDINALITY = INFINITE
UNKNOWN_CARDINALITY = UNKNOWN
SHARD_HINT = -1

sample_from_datasets = Dataset.sample_from_datasets  # type: ignore[attr-defined]


def choose_from_datasets(
    datasets: Any, choice_dataset: Any, stop_on_empty_dataset: bool = False
) -> Any:
    """Elements of data sets, as another one says which is next."""
    return Dataset.choose_from_datasets(  # type: ignore[attr-defined]
        datasets, choice_dataset, stop_on_empty_dataset
    )


def RandomDataset(seed: Any = None) -> Any:
    """Integers of 32 bits, without end."""
    return Dataset.random(seed)  # type: ignore[attr-defined]


def Counter(start: Any = 0, step: Any = 1, dtype: Any = "int64") -> Any:
    """Integers from `start` on, without end."""
    return Dataset.counter(start, step, dtype)  # type: ignore[attr-defined]


def get_single_element(dataset: Any) -> Any:
    """The one element of a data set."""
    return dataset.get_single_element()


def assert_cardinality(expected_cardinality: Any) -> Transformation:
    """For ``apply``: that many elements, or an error at the end."""

    def make(dataset: _Base, expected: Any) -> _Base:
        return _Base(Counted(dataset._node, int(expected)))

    return lambda dataset: Dataset._made(make, dataset, expected_cardinality)


def group_by_reducer(key_func: Any, reducer: Reducer) -> Transformation:
    """For ``apply``: for each key what a reducer makes of its elements."""
    parts = (reducer.init_func, reducer.reduce_func, reducer.finalize_func)
    graphs, key = Reducer(*map(adapted, parts)), adapted(key_func)

    def make(dataset: _Base) -> _Base:
        return _Base(Reduced(dataset._node, key, graphs))

    return lambda dataset: Dataset._made(make, dataset)


def parse_example_dataset(
    features: Any, num_parallel_calls: Any = 1, deterministic: bool | None = None
) -> Transformation:
    """For ``apply``: batches of serialized Examples become dicts of tensors."""
    from .parsing_ops import parse_example

    return lambda dataset: dataset.map(
        lambda records: parse_example(records, features), num_parallel_calls
    )


def make_batched_features_dataset(
    file_pattern: Any,
    batch_size: int,
    features: Any,
    reader: Any = TFRecordDataset,
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
    """Batches of parsed Examples of the files of a pattern: dicts, or pairs with the label."""
    arguments = reader_args or []
    files = Dataset.list_files(file_pattern, shuffle=shuffle, seed=shuffle_seed)
    made: Any = files.apply(
        parallel_interleave(lambda path: reader(path, *arguments), reader_num_threads or 1)
    )
    if isinstance(made.output_types, tuple) and len(made.output_types) == 2:  # keys and records
        made = made.map(lambda _, record: record)
    if shuffle:
        made = made.shuffle(shuffle_buffer_size, shuffle_seed)
    if num_epochs != 1:
        made = made.repeat(num_epochs)
    made = made.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    made = made.apply(parse_example_dataset(features, parser_num_threads))
    if label_key:
        if label_key not in features:
            raise ValueError(
                f"The `label_key` provided ({label_key!r}) must be one of the `features` keys: "
                f"{features.keys()}."
            )
        made = made.map(lambda x: (x, x.pop(label_key)))
    return made.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


def make_csv_dataset(
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
    """Batches of the rows of files of comma-separated values: dicts, or pairs with the label."""
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
        Dataset.from_tensor_slices(plan.paths),
        CsvDataset,
        batch_size,
        num_epochs,
        (shuffle_buffer_size if shuffle else None, shuffle_seed),
        prefetch_buffer_size,
        num_parallel_reads,
        ignore_errors,
    )


def __getattr__(name: str) -> Any:
    raise uncovered("v1", "data.experimental", name)
