# SPDX-License-Identifier: Apache-2.0
"""``tf.lookup``: immutable and mutable tables."""

from __future__ import annotations

from .._tf.faces import lookup as _tables
from .._tf.faces import mutable_tables as _mutable
from ._eager import EAGER

__all__ = ["DenseHashTable", "MutableHashTable", "StaticHashTable", "StaticVocabularyTable"]


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
