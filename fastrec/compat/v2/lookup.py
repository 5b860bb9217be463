# SPDX-License-Identifier: Apache-2.0
"""``tf.lookup``: tables that do not change."""

from __future__ import annotations

from .._tf.faces import lookup as _tables
from .._tf.faces.lookup import KeyValueTensorInitializer, TextFileIndex, TextFileInitializer
from ._eager import EAGER

__all__ = [
    "KeyValueTensorInitializer",
    "StaticHashTable",
    "StaticVocabularyTable",
    "TextFileIndex",
    "TextFileInitializer",
]


class StaticHashTable(_tables.StaticHashTable):
    """Values by key; `default_value` for what is no key."""

    _version = EAGER


class StaticVocabularyTable(_tables.StaticVocabularyTable):
    """Numbers of words; words that are not there share some numbers more."""

    _version = EAGER
