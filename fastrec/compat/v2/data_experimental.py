# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F403
"""``tf.data.experimental``, as far as it concerns records."""

from __future__ import annotations

from typing import Any

from .._tf.data import experimental as _shared
from .._tf.data.csv import CsvDataset as CsvDataset
from .._tf.data.dataset import Dataset
from .._tf.data.experimental import *
from .._tf.data.file_datasets import TFRecordDataset
from .._tf.faces import functions_of
from .._tf.record_options import as_path
from .._tf.record_writer import TFRecordWriter as _Writer
from .._tf.specs import TensorSpec
from .._tf.tensor import EagerTensor
from .._tf.uncovered import uncovered
from ._faces import parsers

globals().update(
    functions_of(_shared.Experimental(Dataset, TFRecordDataset, CsvDataset, parsers.parse_example))
)


def _plain(value: Any) -> Any:
    """Return the value of a tensor of one string; return anything else unchanged."""
    return value.numpy() if isinstance(value, EagerTensor) else value


class TFRecordWriter:
    """Writes the elements of a dataset of strings to a file."""

    def __init__(self, filename: Any, compression_type: Any = None) -> None:
        self._arguments = as_path(_plain(filename)), compression_type

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


def save(dataset: Any, path: Any, compression: Any = None, shard_func: Any = None) -> None:
    """Write the elements of a data set to a folder."""
    dataset.save(path, compression, shard_func)


def load(
    path: Any, element_spec: Any = None, compression: Any = None, reader_func: Any = None
) -> Any:
    """Return the dataset of the elements that :func:`save` wrote to a directory."""
    return Dataset.load(path, element_spec, compression, reader_func)


def cardinality(dataset: Any) -> Any:
    """Return the number of elements; -1 for an infinite dataset, -2 if it is unknown."""
    return dataset.cardinality()


def __getattr__(name: str) -> Any:
    if name in ("Optional", "OptionalSpec", "get_next_as_optional"):
        from .._tf.data import optional

        return getattr(optional, name)
    raise uncovered("v2", "data.experimental", name)
