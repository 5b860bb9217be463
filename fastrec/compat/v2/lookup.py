# SPDX-License-Identifier: Apache-2.0
"""``tf.lookup``: immutable and mutable tables."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from .._tf.faces import lookup as _tables
from .._tf.faces import mutable_tables as _mutable
from .._tf.faces.lookup import KeyValueTensorInitializer, TextFileIndex, TextFileInitializer
from .._tf.uncovered import uncovered
from ._eager import EAGER

__path__: list[str] = []  # submodules are attributes, not files

__all__ = [
    "KeyValueTensorInitializer",
    "StaticHashTable",
    "StaticVocabularyTable",
    "TextFileIndex",
    "TextFileInitializer",
    "experimental",
]


class StaticHashTable(_tables.StaticHashTable):
    """Values by key; `default_value` for unknown keys."""

    _version = EAGER


class StaticVocabularyTable(_tables.StaticVocabularyTable):
    """Numbers of words; unknown words share additional numbers."""

    _version = EAGER


class MutableHashTable(_mutable.MutableHashTable):
    """Values by key, which a program may change."""

    _version = EAGER
    _done = staticmethod(lambda _: None)


class DenseHashTable(_mutable.DenseHashTable):
    """Values by key, which a program may change; one key marks empty slots."""

    _version = EAGER
    _done = staticmethod(lambda _: None)


experimental = SimpleNamespace(MutableHashTable=MutableHashTable, DenseHashTable=DenseHashTable)


def __getattr__(name: str) -> Any:
    raise uncovered("v2", "lookup", name)
