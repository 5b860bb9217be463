# SPDX-License-Identifier: Apache-2.0
"""Data sets of files, whose names may be tensors."""

from __future__ import annotations

from typing import Any

from .._tf.data import file_datasets as _files
from ._datasets import Dataset

__all__ = ["FixedLengthRecordDataset", "TFRecordDataset", "TextLineDataset"]


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
