# SPDX-License-Identifier: Apache-2.0
"""Convert a block of Examples to dicts of arrays, without a message object per record."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

import fastrec
from fastrec.parsing.infer import kinds_of

__all__ = ["rows_of", "string_array"]

_KINDS = ("bytes_list", "float_list", "int64_list")
_DTYPES: dict[str, Any] = {"bytes_list": bytes, "float_list": np.float32, "int64_list": np.int64}


def string_array(values: list[bytes]) -> Any:
    """Return an array of dtype ``S``, or of objects if a string ends with a zero byte."""
    if not any(value.endswith(b"\0") for value in values):
        return np.array(values, dtype=bytes)
    array = np.empty(len(values), object)
    array[:] = values
    return array


def rows_of(
    records: fastrec.Bytes, wanted: dict[str, str | None] | None
) -> Iterator[dict[str, Any]] | None:
    """Return the features of each record, if all records have the same features and kinds.

    Parameters
    ----------
    records : Bytes
    wanted : dict of str to str, or None
        The requested features, with their kinds if these are given; None for all features.

    Returns
    -------
    iterator of dict, or None
        None if the records differ, or do not match `wanted`; each must then be parsed separately.
    """
    try:
        seen = kinds_of(records)
        keys = list(seen) if wanted is None else list(wanted)
        kinds = [_kind(seen.get(key), len(records)) for key in keys]
        if None in kinds or (
            wanted and any(w not in (None, k) for w, k in zip(wanted.values(), kinds, strict=True))
        ):
            return None
        features = {
            k: fastrec.RaggedFeature(_DTYPES[kind or ""])
            for k, kind in zip(keys, kinds, strict=True)
        }
        columns = fastrec.parse_example(records, features) if features else {}
    except fastrec.ExampleParseError:
        return None
    rows = [_cells(columns[key]) for key in keys]
    return (
        (dict(zip(keys, cells, strict=True)) for cells in zip(*rows, strict=True)) if rows else None
    )


def _kind(counts: tuple[int, ...] | None, total: int) -> str | None:
    """Return the kind of a feature, if it is the same in all records."""
    for kind, count in zip(_KINDS, (counts or (0,) * 4)[1:], strict=True):
        if count == total:
            return kind
    return None


def _cells(column: fastrec.Ragged) -> list[Any]:
    splits = column.row_splits.tolist()
    values = column.values
    spans = itertools.pairwise(splits)
    if not isinstance(values, fastrec.Bytes):
        return [values[begin:end] for begin, end in spans]
    strings = values.to_list()
    return [
        strings[begin] if end - begin == 1 else string_array(strings[begin:end])
        for begin, end in spans
    ]
