# SPDX-License-Identifier: Apache-2.0
"""``tf.lookup`` and ``tf.contrib.lookup``: tables that do not change."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .._tf.arrays import make_array
from .._tf.dtypes import DType, as_dtype, int64, string
from .._tf.ops import Array
from .._tf.vocabulary import (
    TextFileIndex,
    column_of,
    lines_of,
    numbered,
    values_of,
)
from . import _missing
from ._nodes import Operation, Tensor
from ._ops import pure
from .constants import constant_value, convert_to_tensor
from .control_flow import group, no_op
from .graph import get_default_graph
from .sparse import SparseTensor

__all__ = [
    "HashTable",
    "KeyValueTensorInitializer",
    "StaticHashTable",
    "StaticVocabularyTable",
    "TextFileIdTableInitializer",
    "TextFileIndex",
    "TextFileInitializer",
    "TextFileStringTableInitializer",
    "index_table_from_file",
    "index_table_from_tensor",
    "index_to_string_table_from_file",
    "index_to_string_table_from_tensor",
    "tables_initializer",
]

_COLLECTION = "table_initializer"


def _known(value: Any, dtype: Any) -> Array:
    array = constant_value(value) if isinstance(value, Tensor) else make_array(value)
    if array is None:
        raise ValueError("tables of fastrec.compat.v1 are of constants, or of the lines of a file")
    kind = as_dtype(array.dtype if dtype is None else dtype)
    return array.reshape(-1) if kind is string else array.reshape(-1).astype(kind.numpy)


class KeyValueTensorInitializer:
    """Keys and the values of a table, which are constants."""

    def __init__(
        self,
        keys: Any,
        values: Any,
        key_dtype: Any = None,
        value_dtype: Any = None,
        name: str | None = None,
    ) -> None:
        self.keys, self.values = _known(keys, key_dtype), _known(values, value_dtype)
        if len(self.keys) != len(self.values):
            raise ValueError("keys and values must be as many")


class TextFileInitializer(KeyValueTensorInitializer):
    """Keys and values of the lines of a file, which is read at once."""

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
        path: Any = _known(filename, string)[0] if isinstance(filename, Tensor) else filename
        lines = lines_of(os.fsdecode(path), vocab_size)
        keys = column_of(lines, key_index, key_dtype, delimiter)
        super().__init__(keys, column_of(lines, value_index, value_dtype, delimiter))


def TextFileIdTableInitializer(
    filename: Any,
    key_column_index: int = TextFileIndex.WHOLE_LINE,
    value_column_index: int = TextFileIndex.LINE_NUMBER,
    vocab_size: int | None = None,
    delimiter: str = "\t",
    name: str = "text_file_id_table_init",
    key_dtype: Any = string,
) -> TextFileInitializer:
    """The numbers of the lines of a file, by their text."""
    return TextFileInitializer(
        filename, key_dtype, key_column_index, int64, value_column_index, vocab_size, delimiter
    )


def TextFileStringTableInitializer(
    filename: Any,
    key_column_index: int = TextFileIndex.LINE_NUMBER,
    value_column_index: int = TextFileIndex.WHOLE_LINE,
    vocab_size: int | None = None,
    delimiter: str = "\t",
    name: str = "text_file_string_table_init",
) -> TextFileInitializer:
    """The lines of a file, by their numbers."""
    return TextFileInitializer(
        filename, int64, key_column_index, string, value_column_index, vocab_size, delimiter
    )


class _Table:
    """What tables have in common: a lookup of dense and sparse keys, and an initializer."""

    key_dtype: DType
    value_dtype: DType

    def __init__(self) -> None:
        self.initializer: Operation = no_op()
        self.init = self.initializer
        get_default_graph().add_to_collection(_COLLECTION, self.initializer)

    def _found(self, keys: Array) -> Array:
        raise NotImplementedError

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of keys."""
        if isinstance(keys, SparseTensor):
            return keys.with_values(self.lookup(keys.values))
        if hasattr(keys, "with_flat_values"):
            return keys.with_flat_values(self.lookup(keys.flat_values))
        tensor = convert_to_tensor(keys)
        if tensor.dtype is not self.key_dtype:
            raise TypeError(
                f"Dtype of argument `keys` must be {self.key_dtype}, received: {tensor.dtype}"
            )
        kind = "LookupTableFindV2"
        return pure(kind, self._found, (tensor,), self.value_dtype, tensor.shape, name)

    def __getitem__(self, keys: Any) -> Any:
        return self.lookup(keys)


class StaticHashTable(_Table):
    """Values by key; `default_value` for what is no key."""

    def __init__(
        self,
        initializer: KeyValueTensorInitializer,
        default_value: Any,
        shared_name: str | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        keys, values = initializer.keys, initializer.values
        self.values = dict(zip(keys.tolist(), values.tolist(), strict=True))
        if len(self.values) != len(keys):
            raise ValueError("a table has a key once")
        self.key_dtype, self.value_dtype = as_dtype(keys.dtype), as_dtype(values.dtype)
        self._default = make_array(default_value, self.value_dtype)[()]

    def _found(self, keys: Array) -> Array:
        return values_of(self.values, keys, self._default, self.value_dtype.numpy)

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of keys."""
        return convert_to_tensor(np.int64(len(self.values)))


HashTable = StaticHashTable


class StaticVocabularyTable(_Table):
    """Numbers of words; words that are not there share some numbers more."""

    def __init__(
        self,
        initializer: KeyValueTensorInitializer,
        num_oov_buckets: int,
        lookup_key_dtype: Any = None,
        name: str | None = None,
    ) -> None:
        if num_oov_buckets < 1:
            raise ValueError(f"num_oov_buckets must be >= 1, got {num_oov_buckets}")
        super().__init__()
        self._table = StaticHashTable(initializer, -1)
        self._buckets = num_oov_buckets
        self.key_dtype, self.value_dtype = self._table.key_dtype, int64

    def _found(self, keys: Array) -> Array:
        return numbered(self._table.values, keys, self._buckets)

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of ids."""
        return convert_to_tensor(np.int64(len(self._table.values) + self._buckets))


def _indexed(initializer: Any, buckets: int, default: int) -> _Table:
    if buckets:
        return StaticVocabularyTable(initializer, buckets)
    return StaticHashTable(initializer, default)


def index_table_from_file(
    vocabulary_file: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    hasher_spec: Any = None,
    key_dtype: Any = string,
    name: str | None = None,
    key_column_index: int = TextFileIndex.WHOLE_LINE,
    value_column_index: int = TextFileIndex.LINE_NUMBER,
    delimiter: str = "\t",
) -> _Table:
    """The numbers of the lines of a file, by their text."""
    made = TextFileIdTableInitializer(
        vocabulary_file, key_column_index, value_column_index, vocab_size, delimiter, "", key_dtype
    )
    return _indexed(made, num_oov_buckets, default_value)


def index_table_from_tensor(
    vocabulary_list: Any = None,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: Any = None,
    dtype: Any = string,
    name: str | None = None,
    mapping: Any = None,
) -> _Table:
    """The places of words in a list."""
    words = _known(vocabulary_list if mapping is None else mapping, dtype)
    made = KeyValueTensorInitializer(words, np.arange(len(words), dtype=np.int64))
    return _indexed(made, num_oov_buckets, default_value)


def index_to_string_table_from_file(
    vocabulary_file: Any,
    vocab_size: int | None = None,
    default_value: Any = "UNK",
    name: str | None = None,
    key_column_index: int = TextFileIndex.LINE_NUMBER,
    value_column_index: int = TextFileIndex.WHOLE_LINE,
    delimiter: str = "\t",
) -> StaticHashTable:
    """The lines of a file, by their numbers."""
    made = TextFileStringTableInitializer(
        vocabulary_file, key_column_index, value_column_index, vocab_size, delimiter
    )
    return StaticHashTable(made, default_value)


def index_to_string_table_from_tensor(
    vocabulary_list: Any = None,
    default_value: Any = "UNK",
    name: str | None = None,
    mapping: Any = None,
) -> StaticHashTable:
    """The words of a list, by their places."""
    words = _known(vocabulary_list if mapping is None else mapping, string)
    made = KeyValueTensorInitializer(np.arange(len(words), dtype=np.int64), words)
    return StaticHashTable(made, default_value)


def tables_initializer(name: str = "init_all_tables") -> Operation:
    """An operation that has nothing to do: tables are ready when they are made."""
    return group(*get_default_graph().get_collection(_COLLECTION), name=name)


def __getattr__(name: str) -> Any:
    raise _missing.error("lookup", name)
