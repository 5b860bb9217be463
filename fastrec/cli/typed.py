# SPDX-License-Identifier: Apache-2.0
"""Convert values to the types in the ``features.json`` of TFDS, if the directory has one.

A record stores booleans, unsigned integers and class numbers as 64-bit integers.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastrec.cli.files import STDIN, name_of
from fastrec.cli.rows import Row
from fastrec.columns import Bytes
from fastrec.records.paths import is_remote
from fastrec.storage.options import StorageOptions

__all__ = ["Types", "class_text", "common_types", "numbers", "typed_row", "types_of"]

Types = Mapping[str, Any]
"""Connectors of TFDS by the name that a feature has in records."""

_NONE: Types = MappingProxyType({})


def types_of(path: str) -> Types:
    """Return the types of the features of a local file; empty without ``features.json``."""
    if path in (STDIN, name_of(STDIN)) or is_remote(path, None):
        return _NONE
    return _described(os.path.dirname(path))


def common_types(paths: Iterable[str]) -> Types:
    """Return the types of the features of several files, if they belong to one dataset."""
    found = [types_of(path) for path in paths]
    return found[0] if found and all(each is found[0] for each in found) else _NONE


@lru_cache(maxsize=16)
def _described(directory: str) -> Types:
    if not os.path.exists(os.path.join(directory, "features.json")):
        return _NONE
    from fastrec.tfds.documents import MetadataError
    from fastrec.tfds.schema import load_features

    try:
        features = load_features(directory, StorageOptions())
    except (MetadataError, OSError):  # values are then shown as they are stored
        return _NONE
    return _NONE if features is None else {leaf.name: leaf.value for leaf in features.leaves()}


def typed_row(path: str, row: Row, *, named: bool) -> Row:
    """Return the typed values of a record; with `named`, classes as ``3 (cat)``."""
    types = types_of(path)
    if not types:
        return row
    return {name: _typed(values, types.get(name), named) for name, values in row.items()}


def _typed(values: Any, kind: Any, named: bool) -> Any:
    if kind is None or not isinstance(values, np.ndarray) or values.dtype != np.int64:
        return values
    if named and class_text(kind, 0):
        texts = [class_text(kind, number) or str(number) for number in values.tolist()]
        return Bytes.from_list([text.encode("utf-8", "replace") for text in texts])
    return numbers(values, kind)


def numbers(values: NDArray[Any], kind: Any) -> NDArray[Any]:
    """Convert the integers of a record to the type that was written."""
    if kind.dtype == np.uint64 and values.dtype == np.int64:
        return values.view(np.uint64)
    if kind.dtype == np.bool_ and values.dtype == np.int64 and not (values & ~1).any():
        return values.astype(np.bool_)
    return values


def class_text(kind: Any, number: int) -> str:
    """Return ``3 (cat)``; an empty text if the name of the class is unknown."""
    try:
        name = kind.int2str(number)
    except (AttributeError, ValueError):
        return ""
    return "" if name == str(number) else f"{number} ({name})"
