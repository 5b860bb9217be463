# SPDX-License-Identifier: Apache-2.0
"""``tf.lookup``: immutable tables, from tensors or the lines of files."""

from __future__ import annotations

import os
from typing import Any, ClassVar

import numpy as np

from ..dtypes import DType, as_dtype
from ..errors import FailedPreconditionError
from ..methods import Methods, of_values
from ..ops import Array, Block, Op, invalid, of_type
from ..ops.strings import of_rows
from ..tensor import convert_to_tensor
from ..vocabulary import TextFileIndex, column_of, lines_of, numbered, values_of
from . import Version

__all__ = [
    "KeyValueTensorInitializer",
    "StaticHashTable",
    "StaticVocabularyTable",
    "Table",
    "TextFileIndex",
    "TextFileInitializer",
    "in_array",
    "known",
]


def known(value: Any, dtype: Any = None) -> Array:
    """Return the elements of a value that is known before anything runs, as a vector.

    Raises
    ------
    ValueError
        If the value is a tensor that is not known yet.
    """
    if hasattr(value, "known"):
        value = value.known()
        if value is None:
            raise ValueError("tables are of constants, or of the lines of a file")
    found: Array = convert_to_tensor(value).array.reshape(-1)
    wanted = None if dtype is None else as_dtype(dtype)
    if wanted is None or wanted.numpy == found.dtype:
        return found
    found = convert_to_tensor(value, wanted).array.reshape(-1)
    return found.astype(wanted.numpy)


class KeyValueTensorInitializer:
    """The keys and values of a table."""

    def __init__(
        self,
        keys: Any,
        values: Any,
        key_dtype: Any = None,
        value_dtype: Any = None,
        name: str | None = None,
    ) -> None:
        self.keys, self.values = known(keys, key_dtype), known(values, value_dtype)
        if len(self.keys) != len(self.values):
            count, found = len(self.keys), len(self.values)
            raise invalid(f"Expected shape [{count}] for value, got [{found}]")

    @property
    def key_dtype(self) -> DType:
        """The type of the keys."""
        return as_dtype(self.keys.dtype)

    @property
    def value_dtype(self) -> DType:
        """The type of the values."""
        return as_dtype(self.values.dtype)


class TextFileInitializer(KeyValueTensorInitializer):
    """Keys and values from the lines of a file, which the constructor reads."""

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
        value_index_offset: int = 0,
    ) -> None:
        path: Any = known(filename)[0] if hasattr(filename, "dtype") else filename
        lines = lines_of(os.fsdecode(path), vocab_size)
        values = column_of(lines, value_index, value_dtype, delimiter)
        if value_index_offset:
            values += value_index_offset
        super().__init__(column_of(lines, key_index, key_dtype, delimiter), values)


class Table:
    """The base class of tables, with a lookup for dense, sparse and ragged keys."""

    _version: ClassVar[Version]
    key_dtype: DType
    value_dtype: DType
    values: dict[Any, Any]

    def _named(self, op: str) -> None:
        self._op = Op(op, self._found, of_type(self.value_dtype), self._found_all)

    def _found(self, keys: Any) -> Array:
        raise NotImplementedError

    def _found_all(self, _: int, keys: Block) -> Any:
        return of_rows(self._found, keys, {})

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Return the values of keys.

        Raises
        ------
        TypeError
            If the type of the keys is not the key type of the table.
        """
        if isinstance(keys, Methods):
            return of_values(self.lookup, keys)
        tensor = self._version.tensor(keys, None if hasattr(keys, "dtype") else self.key_dtype)
        if tensor.dtype != self.key_dtype:
            raise TypeError(
                f"Dtype of argument `keys` must be {self.key_dtype}, received: {tensor.dtype}"
            )
        return self._version.apply(self._op, [tensor], name)

    def __getitem__(self, keys: Any) -> Any:
        return self.lookup(keys)

    def _count(self) -> int:
        return len(self.values)

    def size(self, name: str | None = None) -> Any:
        """Return the number of keys, including out-of-vocabulary buckets."""
        return self._version.tensor(np.asarray(self._count(), np.int64))


class StaticHashTable(Table):
    """A table of values by key; `default_value` is returned for missing keys."""

    def __init__(
        self,
        initializer: KeyValueTensorInitializer,
        default_value: Any,
        shared_name: str | None = None,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        keys, values = initializer.keys.tolist(), initializer.values.tolist()
        self.values = {}
        for key, value in zip(keys, values, strict=True):
            if self.values.setdefault(key, value) != value:
                shown = [v.decode() if isinstance(v, bytes) else v for v in (key, value)]
                before = self.values[key]
                raise FailedPreconditionError(
                    None,
                    None,
                    f"HashTable has different value for same key. Key {shown[0]} has {before} and "
                    f"trying to add value {shown[1]}",
                )
        self.key_dtype, self.value_dtype = initializer.key_dtype, initializer.value_dtype
        self._default = convert_to_tensor(default_value, self.value_dtype).numpy()
        self._named("LookupTableFindV2")

    def _found(self, keys: Any) -> Array:
        return values_of(self.values, keys, self._default, self.value_dtype.numpy)

    def export(self, name: str | None = None) -> tuple[Any, Any]:
        """Return all keys and their values."""
        keys = in_array(list(self.values), self.key_dtype)
        values = in_array(list(self.values.values()), self.value_dtype)
        return self._version.tensor(keys), self._version.tensor(values)


def in_array(values: list[Any], dtype: DType) -> Array:
    """Return keys or values of a table as a vector."""
    found = np.empty(len(values), dtype.numpy)
    found[:] = values
    return found


class StaticVocabularyTable(Table):
    """A table of word numbers; words outside the vocabulary are hashed into extra numbers."""

    def __init__(
        self,
        initializer: KeyValueTensorInitializer | None,
        num_oov_buckets: int,
        lookup_key_dtype: Any = None,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        if num_oov_buckets < 1:
            raise ValueError("`num_oov_buckets` must be > 0; use StaticHashTable.")
        self.values, self._buckets = {}, int(num_oov_buckets)
        self.key_dtype, self.value_dtype = as_dtype(lookup_key_dtype or "string"), as_dtype("int64")
        if initializer is not None:
            if initializer.value_dtype != self.value_dtype:
                raise TypeError(
                    f"Invalid `value_dtype`, expected {self.value_dtype} but got "
                    f"{initializer.value_dtype}."
                )
            table = StaticHashTable(initializer, -1)
            self.values, self.key_dtype = table.values, table.key_dtype
        self._named("VocabularyLookup")

    def _found(self, keys: Any) -> Array:
        return numbered(self.values, keys, self._buckets)

    def _count(self) -> int:
        return len(self.values) + self._buckets
