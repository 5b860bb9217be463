# SPDX-License-Identifier: Apache-2.0
"""``tf.lookup`` and ``tf.contrib.lookup``: immutable and mutable tables."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Final

import numpy as np

from .._tf.dtypes import int64, string
from .._tf.faces import lookup as _mutable
from .._tf.faces import lookup as _tables
from .._tf.faces.lookup import (
    KeyValueTensorInitializer,
    Table,
    TextFileIndex,
    TextFileInitializer,
    known,
)
from ._nodes import Operation
from ._ops import GRAPHS
from .control_flow import group, no_op
from .graph import get_default_graph

_COLLECTION = "table_initializer"


def _initializer() -> Operation:
    """Add an operation without effect to the initializers of tables."""
    made = no_op()
    get_default_graph().add_to_collection(_COLLECTION, made)
    return made


class StaticHashTable(_tables.StaticHashTable):
    """Values by key; `default_value` for unknown keys."""

    _version = GRAPHS

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.init: Final = _initializer()
        self.initializer: Final = self.init


class StaticVocabularyTable(_tables.StaticVocabularyTable):
    """Numbers of words; unknown words share additional numbers."""

    _version = GRAPHS

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.init: Final = _initializer()
        self.initializer: Final = self.init


HashTable = StaticHashTable


class MutableHashTable(_mutable.MutableHashTable):
    """Mutable table of values by key."""

    _version = GRAPHS
    _done = staticmethod(lambda count: count.op)


class DenseHashTable(_mutable.DenseHashTable):
    """Values by key, except for two reserved keys."""

    _version = GRAPHS
    _done = staticmethod(lambda count: count.op)


experimental: Final = SimpleNamespace(
    MutableHashTable=MutableHashTable, DenseHashTable=DenseHashTable
)


def TextFileIdTableInitializer(
    filename: Any,
    key_column_index: int = TextFileIndex.WHOLE_LINE,
    value_column_index: int = TextFileIndex.LINE_NUMBER,
    vocab_size: int | None = None,
    delimiter: str = "\t",
    name: str = "text_file_id_table_init",
    key_dtype: Any = string,
) -> TextFileInitializer:
    """Return a table from the lines of a file to their numbers."""
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
    """Return a table from numbers to the lines of a file."""
    return TextFileInitializer(
        filename, int64, key_column_index, string, value_column_index, vocab_size, delimiter
    )


def _indexed(initializer: Any, buckets: int, default: int) -> Table:
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
) -> Table:
    """Return a table from the lines of a file to their numbers."""
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
) -> Table:
    """Return a table from the words of a list to their indices."""
    words = known(vocabulary_list if mapping is None else mapping, dtype)
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
    """Return a table from numbers to the lines of a file."""
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
    """Return a table from indices to the words of a list."""
    words = known(vocabulary_list if mapping is None else mapping, string)
    made = KeyValueTensorInitializer(np.arange(len(words), dtype=np.int64), words)
    return StaticHashTable(made, default_value)


def tables_initializer(name: str = "init_all_tables") -> Operation:
    """Return an operation without effect, because tables are initialized when they are created."""
    return group(*get_default_graph().get_collection(_COLLECTION), name=name)
