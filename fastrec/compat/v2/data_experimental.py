# SPDX-License-Identifier: Apache-2.0
"""``tf.data.experimental``, as far as records are concerned."""

from __future__ import annotations

from typing import Any

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
from .._tf.data.reducing import Reducer
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
from .._tf.record_options import as_path
from .._tf.record_writer import TFRecordWriter as _Writer
from .._tf.specs import TensorSpec
from .._tf.uncovered import uncovered

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "SHARD_HINT",
    "UNKNOWN_CARDINALITY",
    "AutoShardPolicy",
    "AutotuneAlgorithm",
    "AutotuneOptions",
    "Counter",
    "DistributeOptions",
    "ExternalStatePolicy",
    "OptimizationOptions",
    "RandomDataset",
    "Reducer",
    "TFRecordWriter",
    "ThreadingOptions",
    "assert_cardinality",
    "bucket_by_sequence_length",
    "cardinality",
    "choose_from_datasets",
    "copy_to_device",
    "dense_to_ragged_batch",
    "dense_to_sparse_batch",
    "enumerate_dataset",
    "from_list",
    "get_single_element",
    "get_structure",
    "group_by_reducer",
    "group_by_window",
    "ignore_errors",
    "load",
    "make_batched_features_dataset",
    "make_csv_dataset",
    "map_and_batch",
    "pad_to_cardinality",
    "parallel_interleave",
    "parse_example_dataset",
    "prefetch_to_device",
    "rejection_resample",
    "sample_from_datasets",
    "save",
    "scan",
    "shuffle_and_repeat",
    "snapshot",
    "take_while",
    "unbatch",
    "unique",
]

AUTOTUNE = -1
INFINITE_CARDINALITY = INFINITE
UNKNOWN_CARDINALITY = UNKNOWN
SHARD_HINT = -1


def parse_example_dataset(
    features: Any, num_parallel_calls: Any = 1, deterministic: bool | None = None
) -> Transformation:
    """For ``apply``: batches of serialized Examples become dicts of tensors."""
    from .parsing import parse_example

    return lambda dataset: dataset.map(lambda records: parse_example(records, features))


def make_batched_features_dataset(
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
    """Batches of parsed Examples of the files of a pattern."""
    from .._tf.data.dataset import Dataset
    from .._tf.data.file_datasets import TFRecordDataset

    make, arguments = reader or TFRecordDataset, reader_args or []
    files = Dataset.list_files(file_pattern, shuffle=shuffle, seed=shuffle_seed)
    cycle = 1 if reader_num_threads in (None, AUTOTUNE) else int(reader_num_threads)
    dataset = files.interleave(lambda path: make(path, *arguments), cycle_length=cycle)
    if _parts(dataset) == 2:  # keys and records
        dataset = dataset.map(lambda _, record: record)
    if shuffle:
        dataset = dataset.shuffle(shuffle_buffer_size, shuffle_seed)
    if num_epochs != 1:
        dataset = dataset.repeat(num_epochs)
    dataset = dataset.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    dataset = dataset.apply(parse_example_dataset(features))
    if label_key:
        if label_key not in features:
            raise ValueError(
                f"The `label_key` provided ({label_key!r}) must be one of the `features` keys: "
                f"{features.keys()}."
            )
        dataset = dataset.map(lambda x: (x, x.pop(label_key)))
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


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
    from .._tf.data.csv import CsvDataset
    from .._tf.data.csv_plan import CsvPlan
    from .._tf.data.dataset import Dataset

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


def _parts(dataset: Any) -> int:
    spec = dataset.element_spec
    return len(spec) if isinstance(spec, tuple) else 1


class TFRecordWriter:
    """Writes the elements of a data set of strings to a file."""

    def __init__(self, filename: Any, compression_type: Any = None) -> None:
        self._arguments = as_path(filename), compression_type

    def write(self, dataset: Any) -> None:
        """Write every element as a record."""
        structure = getattr(dataset, "element_spec", None)
        if not isinstance(structure, TensorSpec) or structure.dtype.name != "string":
            raise TypeError(
                "`dataset` must be a `tf.data.Dataset` of scalar strings, got "
                f"{dataset if structure is None else structure}."
            )
        with _Writer(*self._arguments) as writer:
            for record in dataset.as_numpy_iterator():
                writer.write(record)


def from_list(elements: Any, name: str | None = None) -> Any:
    """The elements of a list, which are alike."""
    from .._tf.data.dataset import Dataset

    if not isinstance(elements, list):
        raise TypeError("`elements` must be a list.")
    if not elements:
        raise ValueError("Invalid `elements`. `elements` should not be empty.")
    made = [Dataset.from_tensors(element) for element in elements]
    whole = made[0]
    for each in made[1:]:
        whole = whole.concatenate(each)
    return whole


def group_by_reducer(key_func: Any, reducer: Reducer) -> Transformation:
    """For ``apply``: for each key what a reducer makes of its elements."""
    from .._tf.data.dataset import Dataset
    from .._tf.data.reducing import Reduced

    return lambda dataset: Dataset(Reduced(dataset._node, key_func, reducer))


def save(dataset: Any, path: Any, compression: Any = None, shard_func: Any = None) -> None:
    """Write the elements of a data set to a folder."""
    dataset.save(path, compression, shard_func)


def load(
    path: Any, element_spec: Any = None, compression: Any = None, reader_func: Any = None
) -> Any:
    """The elements that were saved to a folder."""
    from .._tf.data.dataset import Dataset

    return Dataset.load(path, element_spec, compression, reader_func)


def cardinality(dataset: Any) -> Any:
    """Return the number of elements; -1 for an endless data set, -2 when it is not known."""
    return dataset.cardinality()


def assert_cardinality(expected_cardinality: int) -> Transformation:
    """For ``apply``: that many elements, or an error at the end."""
    from .._tf.data.counted import Counted
    from .._tf.data.dataset import Dataset

    return lambda dataset: Dataset(Counted(dataset._node, int(expected_cardinality)))


def get_single_element(dataset: Any) -> Any:
    """The one element of a data set."""
    return dataset.get_single_element()


def choose_from_datasets(
    datasets: Any, choice_dataset: Any, stop_on_empty_dataset: bool = False
) -> Any:
    """Elements of data sets, as another one says which is next."""
    from .._tf.data.dataset import Dataset

    return Dataset.choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)


def sample_from_datasets(
    datasets: Any, weights: Any = None, seed: int | None = None, stop_on_empty_dataset: bool = False
) -> Any:
    """Elements of data sets, drawn by weight."""
    from .._tf.data.dataset import Dataset

    return Dataset.sample_from_datasets(datasets, weights, seed, stop_on_empty_dataset)


def RandomDataset(seed: int | None = None) -> Any:
    """Integers of 32 bits, without end."""
    from .._tf.data.dataset import Dataset

    return Dataset.random(seed)


def Counter(start: int = 0, step: int = 1, dtype: Any = "int64") -> Any:
    """Integers from `start` on, without end."""
    from .._tf.data.dataset import Dataset

    return Dataset.counter(start, step, dtype)


def __getattr__(name: str) -> Any:
    if name == "CsvDataset":
        from .._tf.data.csv import CsvDataset

        return CsvDataset
    if name in ("Optional", "get_next_as_optional"):
        from .._tf.data import optional

        return getattr(optional, name)
    raise uncovered("v2", "data.experimental", name)
