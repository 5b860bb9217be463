# SPDX-License-Identifier: Apache-2.0
"""Warn about features that no record has: their names may be misspelt."""

from __future__ import annotations

import contextlib
import difflib
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from .. import _core
from ..columns import Bytes
from ..errors import FastrecError

__all__ = ["FEW", "absence_text", "absent_features", "names_in", "warn_of_misspelt"]

FEW = 32
"""Records that are examined for the names of their features."""

_MOST_REMEMBERED = 1024  # sources whose features were examined already
_examined: set[tuple[bytes, ...]] = set()


def names_in(records: Bytes | Sequence[Any]) -> set[str]:
    """Return the names of the features of records."""
    survey = _core.Survey()
    with contextlib.suppress(FastrecError):
        survey.add(records)
    return {_text(key) for key in survey.sightings()}


def absent_features(
    schemas: Sequence[_core.Schema], names: set[str]
) -> Iterator[tuple[str, list[str]]]:
    """Yield the features that no parsed record has, each with similar names of `names`.

    `names` are the names of the features of some records.
    """
    wanted = {key for schema in schemas for key in schema.keys}
    for key in dict.fromkeys(key for schema in schemas for key in schema.unseen):
        name = _text(key)
        if name in names:
            continue
        close = difflib.get_close_matches(name, sorted(names), 3)
        yield name, [other for other in close if other.encode() not in wanted] or close


def absence_text(who: str, name: str, close: Sequence[str]) -> str:
    """Return the warning that `who`, such as ``"none of 9 records"``, has a feature."""
    hint = f"; is it {' or '.join(map(ascii, close))}?" if close else ""
    return f"{who} has feature {name!a}: its column has no values but defaults{hint}"


def warn_of_misspelt(
    schemas: Sequence[_core.Schema], records: Bytes | Sequence[Any], *, stacklevel: int
) -> None:
    """Warn about features that none of many records has, if there are features of similar names.

    The same features are examined once in a process: rare features are absent from many calls.
    """
    unseen = () if len(records) < FEW else tuple(k for each in schemas for k in each.unseen)
    if not unseen or unseen in _examined:
        return
    if len(_examined) < _MOST_REMEMBERED:
        _examined.add(unseen)
    for name, close in absent_features(schemas, names_in(records[:FEW])):
        if close:
            text = absence_text("none of the records", name, close)
            warnings.warn(text, RuntimeWarning, stacklevel=stacklevel + 1)


def _text(key: bytes) -> str:
    return key.decode("utf-8", "backslashreplace")
