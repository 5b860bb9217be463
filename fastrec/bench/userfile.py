# SPDX-License-Identifier: Apache-2.0
"""Turn a file of the user's own into a case, by inferring its features."""

from __future__ import annotations

import itertools
import os
from typing import Any

import numpy as np

import fastrec

from ..records.targets import write_file
from .cases import Case, Column, Field, Ragged, Strings, packed

__all__ = ["JOBS", "case_of"]

JOBS = ("verify", "count", "index", "iterate", "random", "parse", "shuffle", "gzip", "write",
        "first batch", "memory")  # fmt: skip
"""Those that mean something for any file."""

_KINDS = {"b": "int64", "i": "int64", "u": "int64", "f": "float", "O": "bytes", "S": "bytes"}
_LARGE = 100_000
_WRITTEN, _WRITTEN_BYTES = 20_000, 200 << 20


def _field(name: str, feature: Any) -> Field:
    """Describe a column to the suite; kinds that libraries name differently become ragged."""
    if isinstance(feature, fastrec.RawFeature):
        if feature.shape is None or np.dtype(feature.dtype) != np.uint8:
            return Field(name, "bytes", ())
        return Field(name, "raw", feature.shape)
    kind = "bytes" if feature.dtype in (bytes, str) else _KINDS[np.dtype(feature.dtype).kind]
    fixed = isinstance(feature, fastrec.FixedLenFeature) and feature.default_value is None
    if not fixed or (kind == "bytes" and feature.shape != ()):
        return Field(name, kind, None)
    return Field(name, kind, feature.shape)


def _plain(column: Any) -> Column:
    if isinstance(column, fastrec.Bytes):
        return Strings(column.data, column.offsets)
    if isinstance(column, fastrec.Ragged):
        values: Any = _plain(column.values)
        return Ragged(values, column.row_splits)
    array: np.ndarray[Any, Any] = column
    return array


def case_of(path: str, saved: str) -> Case:
    """Return the case for the file at `path`, and write the values of its first records to `saved`.

    Raises
    ------
    FastrecError, OSError
        If the file cannot be read, is compressed, or does not contain Examples.
    """
    from .peers.ours import features_of

    features = fastrec.infer_features(path)
    fields = tuple(_field(name, feature) for name, feature in features.items())
    with fastrec.Reader(path) as reader:
        records = len(reader)
        each = os.path.getsize(path) // max(records, 1)
        written = min(records, _WRITTEN, max(_WRITTEN_BYTES // max(each, 1), 1))
        batch = 16 if each > _LARGE else 128
        case = Case(os.path.basename(path), path, fields, records, min(batch, records), written)
        head = list(itertools.islice(reader, written))
    parsed = fastrec.parse_example(head, features_of(case))
    columns = {name: _plain(column) for name, column in parsed.items()}
    write_file(saved, packed(columns), overwrite=True)
    return case
