# SPDX-License-Identifier: Apache-2.0
"""``tf.data.experimental`` of both versions: transformations and functions of datasets."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final

from ..faces import Functions
from ..naming import accepting, named
from ..specs import sample
from ..structure import flatten, pack
from . import experimental as transformations
from .chaining import AUTOTUNE
from .csv import CsvPlan
from .dataset import Dataset
from .pipeline import INFINITE, UNKNOWN
from .portions import Counted
from .reducing import Reduced, Reducer

Transformation = Callable[[Any], Any]


def _transformation(name: str, method: str = "") -> Callable[..., Transformation]:
    """Return the function for ``apply`` that calls a method of datasets."""
    below = getattr(Dataset, method or name)
    known = inspect.signature(below).parameters.values()
    signature = inspect.Signature([each for each in known if each.name not in ("self", "name")])
    check = accepting(name, signature)

    def function(*arguments: Any, **others: Any) -> Transformation:
        check(*arguments, **others)
        return lambda dataset: getattr(dataset, below.__name__)(*arguments, **others)

    function.__signature__ = signature  # type: ignore[attr-defined]
    doc = f"For ``apply``: :meth:`Dataset.{below.__name__}`.\n\n{below.__doc__}"
    return named(function, name, doc=doc)


bucket_by_sequence_length: Final = _transformation("bucket_by_sequence_length")
dense_to_ragged_batch: Final = _transformation("dense_to_ragged_batch", "ragged_batch")
dense_to_sparse_batch: Final = _transformation("dense_to_sparse_batch", "sparse_batch")
enumerate_dataset: Final = _transformation("enumerate_dataset", "enumerate")
group_by_window: Final = _transformation("group_by_window")
ignore_errors: Final = _transformation("ignore_errors")
rejection_resample: Final = _transformation("rejection_resample")
scan: Final = _transformation("scan")
snapshot: Final = _transformation("snapshot")
take_while: Final = _transformation("take_while")
unbatch: Final = _transformation("unbatch")
unique: Final = _transformation("unique")


def prefetch_to_device(device: Any, buffer_size: int | None = None) -> Transformation:
    """Return a function for ``apply`` that makes elements ahead of time, without moving them."""
    return lambda dataset: dataset.prefetch(-1 if buffer_size is None else buffer_size)


def copy_to_device(target_device: Any, source_device: Any = "/cpu:0") -> Transformation:
    """Return a function for ``apply`` that returns the dataset unchanged."""
    return lambda dataset: dataset


def get_structure(dataset_or_iterator: Any) -> Any:
    """Return the specs of the parts of an element."""
    return dataset_or_iterator.element_spec


def shuffle_and_repeat(
    buffer_size: int, count: int | None = None, seed: int | None = None
) -> Transformation:
    """Return a function for ``apply`` that shuffles the dataset and repeats it."""
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: int,
    num_parallel_batches: int | None = None,
    drop_remainder: bool = False,
    num_parallel_calls: Any = None,
) -> Transformation:
    """Return a transformation for ``apply`` that maps a function and batches its results.

    By default a whole batch is mapped in parallel.

    Raises
    ------
    ValueError
        If `num_parallel_batches` and `num_parallel_calls` are both not None.
    """
    if num_parallel_calls is None:
        batches = 1 if num_parallel_batches is None else num_parallel_batches
        num_parallel_calls = batch_size * batches if isinstance(batch_size, int) else -1
    elif num_parallel_batches is not None:
        raise ValueError(
            "`map_and_batch` allows only one of `num_parallel_batches` and `num_parallel_calls` to "
            "be set, but both were set."
        )
    return lambda dataset: dataset.map(map_func, num_parallel_calls).batch(
        batch_size, drop_remainder
    )


def parallel_interleave(
    map_func: Callable[..., Any],
    cycle_length: int,
    block_length: int = 1,
    sloppy: bool | None = False,
    buffer_output_elements: int | None = None,
    prefetch_input_elements: int | None = None,
) -> Transformation:
    """Return a function for ``apply`` that takes turns among the datasets of elements."""
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length)


def pad_to_cardinality(cardinality: int, mask_key: str = "valid") -> Transformation:
    """Return a function for ``apply`` that pads a dataset of dicts to `cardinality` elements.

    Raises
    ------
    ValueError
        If elements are not dicts, or their number is unknown or greater than `cardinality`.
    """

    def padded(dataset: Any) -> Any:
        specs = dataset.element_spec
        if not isinstance(specs, dict):
            raise ValueError(
                "`pad_to_cardinality` requires its input dataset to be a dictionary, but it has "
                f"elements of {specs}."
            )
        have, text = dataset._node.cardinality(), "The dataset passed into `pad_to_cardinality`"
        if have < 0:
            raise ValueError(f"{text} must have a known cardinalty, but has cardinality {have}")
        if have > cardinality:
            raise ValueError(
                f"{text} must have a cardinalty less than the target cardinality "
                f"({cardinality}), but has cardinality {have}"
            )
        structure, parts = flatten(specs)
        filler = pack(structure, [sample(part, 0, 0) for part in parts])
        marked = dataset.map(lambda element: {**element, mask_key: True})
        rest = type(dataset).from_tensors({**filler, mask_key: False}).repeat(cardinality - have)
        return marked.concatenate(rest)

    return padded


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
