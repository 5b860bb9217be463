# SPDX-License-Identifier: Apache-2.0
"""The functions of ``tf.data.experimental`` that write and read files of elements."""

from __future__ import annotations

from typing import Any

from .._tf.data.dataset import Dataset
from .._tf.record_options import as_path
from .._tf.record_writer import TFRecordWriter as _Writer
from .._tf.specs import TensorSpec
from .._tf.tensor import EagerTensor


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
