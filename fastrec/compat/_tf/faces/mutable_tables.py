# SPDX-License-Identifier: Apache-2.0
"""``tf.lookup.experimental``: tables that change while a program runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtypes import as_dtype, int64
from ..ops import Array, Op, invalid
from ..specs import TensorSpec, TypeSpec
from ..tensor import as_array, convert_to_tensor
from .lookup import Table, in_array

__all__ = ["DenseHashTable", "MutableHashTable"]

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
        self.key_dtype, self.value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)
        self._default = convert_to_tensor(default_value, self.value_dtype).array
        self.values = {}
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

    insert_or_assign, erase = MutableHashTable.insert, MutableHashTable.remove
