# SPDX-License-Identifier: Apache-2.0
"""``tf.lookup``: tables that do not change."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tf.dtypes import as_dtype
from .._tf.ops import Op, of_type
from .._tf.specs import TensorSpec
from .._tf.tensor import EagerTensor, convert_to_tensor
from .._tf.trace import run
from .._tf.vocabulary import (
    TextFileIndex,
    column_of,
    lines_of,
    numbered,
    values_of,
)

__all__ = [
    "KeyValueTensorInitializer",
    "StaticHashTable",
    "StaticVocabularyTable",
    "TextFileIndex",
    "TextFileInitializer",
]


class KeyValueTensorInitializer:
    """Keys and the values of a table."""

    def __init__(
        self,
        keys: Any,
        values: Any,
        key_dtype: Any = None,
        value_dtype: Any = None,
        name: str | None = None,
    ) -> None:
        self.keys = convert_to_tensor(keys, key_dtype).array.reshape(-1)
        self.values = convert_to_tensor(values, value_dtype).array.reshape(-1)
        if len(self.keys) != len(self.values):
            raise ValueError("keys and values must be as many")


class TextFileInitializer(KeyValueTensorInitializer):
    """Keys and values of the lines of a file."""

    def __init__(
        self,
        filename: Any,
        key_dtype: Any,
        key_index: int,
        value_dtype: Any,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
    ) -> None:
        path = filename.numpy().decode() if hasattr(filename, "numpy") else filename
        lines = lines_of(path, vocab_size)
        keys = column_of(lines, key_index, key_dtype, delimiter)
        values = column_of(lines, value_index, value_dtype, delimiter)
        super().__init__(keys, values, key_dtype, value_dtype)


class StaticHashTable:
    """Values by key; `default_value` for what is no key."""

    def __init__(self, initializer: Any, default_value: Any, name: str | None = None) -> None:
        keys, values = initializer.keys.tolist(), initializer.values
        self._values = dict(zip(keys, values.tolist(), strict=True))
        if len(self._values) != len(keys):
            raise ValueError("a table has a key once")
        self.key_dtype = as_dtype(initializer.keys.dtype)
        self.value_dtype = as_dtype(values.dtype)
        self._default = convert_to_tensor(default_value, self.value_dtype).numpy()
        self._op = Op(
            "LookupTableFindV2",
            self._found,
            lambda specs, _: [TensorSpec(specs[0].shape, self.value_dtype)],
        )

    def _found(self, keys: Any) -> Any:
        return values_of(self._values, keys, self._default, self.value_dtype.numpy)

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of keys."""
        if hasattr(keys, "with_values") and hasattr(keys, "values"):
            return keys.with_values(self.lookup(keys.values))
        return run(self._op, [convert_to_tensor(keys, self.key_dtype)])

    __getitem__ = lookup

    def size(self, name: str | None = None) -> Any:
        """Return the number of keys."""
        return EagerTensor(np.asarray(len(self._values), np.int64))


class StaticVocabularyTable:
    """Numbers of words; words that are not there share some numbers more."""

    def __init__(
        self,
        initializer: Any,
        num_oov_buckets: int,
        lookup_key_dtype: Any = None,
        name: str | None = None,
    ) -> None:
        if num_oov_buckets < 1:
            raise ValueError("num_oov_buckets must be >= 1")
        self._table = StaticHashTable(initializer, -1)
        self._buckets = num_oov_buckets
        self._op = Op("VocabularyLookup", self._found, of_type("int64"))

    def _found(self, keys: Any) -> Any:
        return numbered(self._table._values, keys, self._buckets)

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The numbers of words."""
        if hasattr(keys, "with_values") and hasattr(keys, "values"):
            return keys.with_values(self.lookup(keys.values))
        return run(self._op, [convert_to_tensor(keys, self._table.key_dtype)])

    __getitem__ = lookup

    def size(self, name: str | None = None) -> Any:
        """Return the number of ids."""
        return self._table.size() + self._buckets
