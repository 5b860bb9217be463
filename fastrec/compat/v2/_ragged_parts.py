# SPDX-License-Identifier: Apache-2.0
"""Parts of the rows of ragged arrays."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

import fastrec

from .._tf.tensor import as_array

__all__ = ["refilled", "within_rows"]


def within_rows(ragged: fastrec.Ragged, key: Any) -> fastrec.Ragged:
    """``row[key]`` of each row.

    Raises
    ------
    ValueError
        When `key` is no slice: a row may be too short for a number.
    """
    if not isinstance(key, slice):
        raise ValueError("Cannot index into an inner ragged dimension.")
    splits = ragged.row_splits.tolist()
    spans = [range(begin, end)[key] for begin, end in itertools.pairwise(splits)]
    return _of_spans(ragged, spans)


def _of_spans(ragged: fastrec.Ragged, spans: Sequence[range]) -> fastrec.Ragged:
    """Rows that are made of the values at these places."""
    lengths = [len(span) for span in spans]
    splits = np.concatenate([[0], np.cumsum(lengths)]).astype(ragged.row_splits.dtype)
    places = np.array([at for span in spans for at in span], np.int64)
    values = ragged.values
    if isinstance(values, fastrec.Ragged):
        inner = values.row_splits.tolist()
        return fastrec.Ragged(
            _of_spans(values, [range(inner[at], inner[at + 1]) for at in places.tolist()]), splits
        )
    if isinstance(values, fastrec.Bytes):
        return fastrec.Ragged(values.take(places), splits)
    return fastrec.Ragged(as_array(values)[places], splits)


def refilled(ragged: fastrec.Ragged, flat: Any) -> fastrec.Ragged:
    """Other values in the same rows."""
    inner = ragged.values
    values = refilled(inner, flat) if isinstance(inner, fastrec.Ragged) else flat
    return fastrec.Ragged(values, ragged.row_splits)
