# SPDX-License-Identifier: Apache-2.0
"""``tf.lookup``: tables that do not change, and those that do."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from .._tf.faces import lookup as _tables
from .._tf.faces import mutable_tables as _mutable
from .._tf.faces.lookup import KeyValueTensorInitializer, TextFileIndex, TextFileInitializer
from .._tf.uncovered import uncovered
from ._eager import EAGER

__path__: list[str] = []  # of what it has, no files

__all__ = [
    "KeyValueTensorInitializer",
    "StaticHashTable",
    "StaticVocabularyTable",
    "TextFileIndex",
    "TextFileInitializer",
    "experimental",
]


class StaticHashTable(_tables.StaticHashTable):
    """Values by key; `default_value` for what is no key."""

    _version = EAGER


class StaticVocabularyTable(_tables.StaticVocabularyTable):
    """Numbers of words; words that are not there share some numbers more."""

    _version = EAGER


class MutableHashTable(_mutable.MutableHashTable):
    """Values by key, which a program may change."""

    _version = EAGER
    _done = staticmethod(lambda _: None)


class DenseHashTable(_mutable.DenseHashTable):
    """Values by key, which a program may change; one key marks what is empty."""

    _version = EAGER
    _done = staticmethod(lambda _: None)


experimental = SimpleNamespace(MutableHashTable=MutableHashTable, DenseHashTable=DenseHashTable)


def __getattr__(name: str) -> Any:
    raise uncovered("v2", "lookup", name)
