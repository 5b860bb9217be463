# SPDX-License-Identifier: Apache-2.0
"""Data sets of files, whose names may be tensors."""

from __future__ import annotations

from typing import Any

from .._tf.data import csv as _csv
from .._tf.data import file_datasets as _files
from ._datasets import Dataset

__all__ = ["CsvDataset", "FixedLengthRecordDataset", "TFRecordDataset", "TextLineDataset"]


class TFRecordDataset(Dataset):
    """The records of files, as strings."""

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        self._set(
            _files.TFRecordDataset, (filenames, compression_type, None, num_parallel_reads), {}
        )


class TextLineDataset(Dataset):
    """The lines of files, without their ends."""

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        self._set(_files.TextLineDataset, (filenames, compression_type), {})


class FixedLengthRecordDataset(Dataset):
    """Strings of one length, one after the other, of files."""

    def __init__(
        self,
        filenames: Any,
        record_bytes: Any,
        header_bytes: Any = None,
        footer_bytes: Any = None,
        buffer_size: Any = None,
        compression_type: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        given = (filenames, record_bytes, header_bytes, footer_bytes, None, compression_type)
        self._set(_files.FixedLengthRecordDataset, given, {})


class CsvDataset(Dataset):
    """The rows of files of comma-separated values, each a tuple of scalars."""

    def __init__(
        self,
        filenames: Any,
        record_defaults: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        header: bool = False,
        field_delim: str = ",",
        use_quote_delim: bool = True,
        na_value: str = "",
        select_cols: Any = None,
        exclude_cols: Any = None,
    ) -> None:
        given = (filenames, record_defaults, compression_type, buffer_size, header, field_delim)
        rest = (use_quote_delim, na_value, select_cols, exclude_cols)
        self._set(_csv.CsvDataset, (*given, *rest), {})
