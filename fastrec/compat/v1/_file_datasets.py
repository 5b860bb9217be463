# SPDX-License-Identifier: Apache-2.0
"""Datasets of files, whose names may be tensors."""

from __future__ import annotations

from typing import Any

from .._tf.data import csv as _csv
from .._tf.data import file_datasets as _files
from ._datasets import Dataset

__all__ = ["CsvDataset", "FixedLengthRecordDataset", "TFRecordDataset", "TextLineDataset"]


class _OfFiles(Dataset):
    _below: Any

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self._set(self._below, arguments, named)


class TFRecordDataset(_OfFiles):
    """The records of files, as strings."""

    _below = _files.TFRecordDataset


class TextLineDataset(_OfFiles):
    """The lines of files, without line endings."""

    _below = _files.TextLineDataset


class FixedLengthRecordDataset(_OfFiles):
    """Consecutive strings of one length from files."""

    _below = _files.FixedLengthRecordDataset


class CsvDataset(_OfFiles):
    """The rows of files of comma-separated values, as tuples of scalars."""

    _below = _csv.CsvDataset
