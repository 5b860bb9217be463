# SPDX-License-Identifier: Apache-2.0
"""``tf.lookup``: tables from tensors or the lines of files, and mutable tables."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

import numpy as np

from fastrec import _tensor

from ..dtypes import DType, as_dtype, int64
from ..errors import FailedPreconditionError, invalid, translated
from ..methods import Methods, of_values
from ..ops import Array, Block, Op, of_type
from ..ops.strings import of_rows
from ..specs import TensorSpec, TypeSpec
from ..tensor import as_array, convert_to_tensor
from . import Version


class TextFileIndex:
    """Selects a column of a text file: the whole line, or its number."""

    WHOLE_LINE = -2
    LINE_NUMBER = -1


def lines_of(path: str, vocab_size: int | None) -> list[bytes]:
    """Return the first lines of a file."""
    try:
        with open(path, "rb") as file:
            return file.read().splitlines()[:vocab_size]
    except OSError as error:
        raise translated(error) from None


def column_of(lines: list[bytes], index: int, dtype: Any, delimiter: str = "\t") -> Array:
    """Return one column of lines: the whole line, its number, or a field.

    Raises
    ------
    InvalidArgumentError
        If a line lacks the field, or the field is not a number.
    """
    kind = as_dtype(dtype)
    if index == TextFileIndex.LINE_NUMBER:
        return np.arange(len(lines), dtype=kind.numpy)
    found = lines
    if index != TextFileIndex.WHOLE_LINE:
        found = [_field(number, line, index, delimiter) for number, line in enumerate(lines)]
    if kind.name != "string":
        try:
            return np.array(found).astype(kind.numpy)
        except ValueError as error:
            raise invalid(f"Field {index} is not of type {kind.name}: {error}") from None
    texts = np.empty(len(found), object)
    texts[:] = found
    return texts


def _field(number: int, line: bytes, index: int, delimiter: str) -> bytes:
    fields = line.split(delimiter.encode())
    if index >= len(fields):
        raise invalid(
            f"Invalid number of columns in line {number}: expected {index + 1}, got {len(fields)}"
        )
    return fields[index]


def values_of(table: dict[Any, Any], keys: Any, default: Any, dtype: np.dtype[Any]) -> Array:
    """Return the value of each key; `default` for unknown keys."""
    array = as_array(keys)
    out = np.empty(array.size, dtype)
    flat = [array[()]] if not array.ndim else array.reshape(-1).tolist()
    out[:] = [table.get(key, default) for key in flat]
    return out.reshape(array.shape)


def numbered(table: dict[Any, Any], keys: Any, buckets: int) -> Array:
    """Return the number of each word; unknown words share numbers by their fingerprints."""
    texts = as_array(keys)
    numbers = values_of(table, texts, -1, np.dtype(np.int64))
    flat, words = numbers.reshape(-1), texts.reshape(-1).tolist()
    others = np.flatnonzero(flat < 0)
    if others.size:
        given = [words[place] for place in others.tolist()]
        spelled = [word if isinstance(word, bytes) else str(word).encode() for word in given]
        flat[others] = _tensor.hashes("farm", spelled) % np.uint64(buckets) + np.uint64(len(table))
    return numbers


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
        self.keys: Final = known(keys, key_dtype)
        self.values: Final = known(values, value_dtype)
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


class Table(ABC):
    """The base class of tables, with a lookup for dense, sparse and ragged keys."""

    _version: ClassVar[Version]
    key_dtype: DType
    value_dtype: DType
    values: dict[Any, Any]

    def _named(self, op: str) -> None:
        self._op = Op(op, self._found, of_type(self.value_dtype), self._found_all)

    @abstractmethod
    def _found(self, keys: Any) -> Array:
        """Return the values of keys."""

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
        self.values: dict[Any, Any] = {}
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
        self.key_dtype: DType = initializer.key_dtype
        self.value_dtype: DType = initializer.value_dtype
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
        self.values: dict[Any, Any] = {}
        self._buckets = int(num_oov_buckets)
        self.key_dtype: DType = as_dtype(lookup_key_dtype or "string")
        self.value_dtype: DType = as_dtype("int64")
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


_NUMBER = TensorSpec([], int64)


class MutableHashTable(Table):
    """A table of values by key that is filled while in use; missing keys get `default_value`."""

    # Takes the number of keys after a change, and returns the result of the function that changed
    # the table.
    _done: Callable[[Any], Any]

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        self.key_dtype: DType = as_dtype(key_dtype)
        self.value_dtype: DType = as_dtype(value_dtype)
        self._default = convert_to_tensor(default_value, self.value_dtype).array
        self.values: dict[Any, Any] = {}
        self._op = self._kernel("LookupTableFindV2", self._found, self._found_spec)
        self._insert = self._kernel("LookupTableInsertV2", self._inserted)
        self._remove = self._kernel("LookupTableRemoveV2", self._removed)
        self._size = self._kernel("LookupTableSizeV2", self._counted)
        self._export = self._kernel("LookupTableExportV2", self._exported, self._all_spec)

    @staticmethod
    def _kernel(
        name: str, kernel: Callable[..., Any], infer: Callable[..., list[TypeSpec]] | None = None
    ) -> Op:
        return Op(name, kernel, infer or (lambda *_, **__: [_NUMBER]), pure=False)

    def _keys(self, keys: Any) -> list[Any]:
        """Return the keys of an array as a list; DenseHashTable rejects reserved keys."""
        array = as_array(keys)
        return [array[()]] if not array.ndim else array.reshape(-1).tolist()

    def _found(self, keys: Any, *defaults: Any) -> Array:
        given, shape = self._keys(keys), as_array(keys).shape
        inner = self._default.shape
        others = as_array(defaults[0]) if defaults else self._default
        if others.shape not in (inner, (*shape, *inner)):
            raise invalid(f"Expected shape {list(inner)} for default, got {list(others.shape)}")
        found = np.empty((len(given), *inner), self.value_dtype.numpy)
        found[...] = others.reshape((-1, *inner))
        for place, key in enumerate(given):
            if key in self.values:
                found[place] = self.values[key]
        return found.reshape((*shape, *inner))

    def _found_spec(self, specs: Sequence[Any], *_: Any) -> list[TypeSpec]:
        sizes = specs[0].shape.sizes
        whole = None if sizes is None else [*sizes, *self._default.shape]
        return [TensorSpec(whole, self.value_dtype)]

    def _inserted(self, keys: Any, values: Any) -> Array:
        array, wanted = as_array(values), (*as_array(keys).shape, *self._default.shape)
        if array.shape != wanted:
            raise invalid(f"Expected shape {list(wanted)} for value, got {list(array.shape)}")
        rows = array.reshape((-1, *self._default.shape))
        self.values.update(zip(self._keys(keys), rows, strict=True))
        return self._counted()

    def _removed(self, keys: Any) -> Array:
        for key in self._keys(keys):
            self.values.pop(key, None)
        return self._counted()

    def _counted(self) -> Array:
        return np.asarray(len(self.values), np.int64)

    def _exported(self) -> tuple[Array, Array]:
        found = np.empty((len(self.values), *self._default.shape), self.value_dtype.numpy)
        for place, value in enumerate(self.values.values()):
            found[place] = value
        return in_array(list(self.values), self.key_dtype), found

    def _all_spec(self, *_: Any) -> list[TypeSpec]:
        sizes = [None, *self._default.shape]
        return [TensorSpec([None], self.key_dtype), TensorSpec(sizes, self.value_dtype)]

    def _given(self, keys: Any) -> Any:
        return self._version.tensor(keys, self.key_dtype)

    def lookup(  # type: ignore[override]
        self, keys: Any, dynamic_default_values: Any = None, name: str | None = None
    ) -> Any:
        """Return the values of keys; missing keys get the default, which may vary by key."""
        inputs = [self._given(keys)]
        if dynamic_default_values is not None:
            inputs.append(self._version.tensor(dynamic_default_values, self.value_dtype))
        return self._version.apply(self._op, inputs, name)

    def insert(self, keys: Any, values: Any, name: str | None = None) -> Any:
        """Insert keys and their values; existing keys get the new values."""
        inputs = [self._given(keys), self._version.tensor(values, self.value_dtype)]
        return type(self)._done(self._version.apply(self._insert, inputs, name))

    def remove(self, keys: Any, name: str | None = None) -> Any:
        """Remove keys; missing keys are ignored."""
        return type(self)._done(self._version.apply(self._remove, [self._given(keys)], name))

    def size(self, name: str | None = None) -> Any:
        """Return the number of keys."""
        return self._version.apply(self._size, [], name)

    def export(self, name: str | None = None) -> tuple[Any, Any]:
        """Return all keys and their values."""
        keys, values = self._version.apply_all(self._export, [], name)
        return keys, values


class DenseHashTable(MutableHashTable):
    """A table of values by key; `empty_key` and `deleted_key` are reserved."""

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        empty_key: Any,
        deleted_key: Any,
        initial_num_buckets: int | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        super().__init__(key_dtype, value_dtype, default_value, name, checkpoint)
        empty, deleted = (
            convert_to_tensor(key, self.key_dtype).array for key in (empty_key, deleted_key)
        )
        if empty.ndim or deleted.ndim:
            raise NotImplementedError(
                "DenseHashTable covers keys of one element: join several, as by strings.reduce_join"
            )
        if empty == deleted:
            raise invalid("Empty and deleted keys cannot be equal")
        self._kept = {"empty_key": empty.item(), "deleted_key": deleted.item()}

    def _keys(self, keys: Any) -> list[Any]:
        found = super()._keys(keys)
        for name, key in self._kept.items():
            if key in found:
                raise invalid(f"Using the {name} as a table key is not allowed")
        return found

    insert_or_assign: Final = MutableHashTable.insert
    erase: Final = MutableHashTable.remove
