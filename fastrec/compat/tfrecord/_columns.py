# SPDX-License-Identifier: Apache-2.0
"""A block of Examples as one dict of arrays for each, without a message object a record."""

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
    """An array of dtype ``S``, which cannot hold zeros at the end of a string: of objects then."""
    if not any(value.endswith(b"\0") for value in values):
        return np.array(values, dtype=bytes)
    array = np.empty(len(values), object)
    array[:] = values
    return array


def rows_of(
    records: fastrec.Bytes, wanted: dict[str, str | None] | None
) -> Iterator[dict[str, Any]] | None:
    """The features of each record, when all records have the same ones, of the same kinds.

    Parameters
    ----------
    records : Bytes
    wanted : dict of str to str, or None
        The kind of each feature that is wanted, where it is given; None for all features.

    Returns
    -------
    iterator of dict, or None
        None when the records differ, or are not as wanted: then each has to be looked at.
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
    """The one kind that a feature is of in all records."""
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
