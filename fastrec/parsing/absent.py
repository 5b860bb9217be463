# SPDX-License-Identifier: Apache-2.0
"""Warn about features that no record has: their names may be misspelt."""

from __future__ import annotations

import contextlib
import difflib
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from .. import _core
from ..columns import Bytes
from ..errors import FastrecError, warn_caller

__all__ = ["FEW", "UnseenColumns", "absence_text", "absent_features", "warn_of_misspelt"]

FEW = 32
"""Records that are examined for the names of their features."""

_MOST_NAMES = 10_000  # names of hostile records that are kept for a hint
_MOST_REMEMBERED = 1024  # sources whose features were examined already
_examined: set[tuple[bytes, ...]] = set()

_OF_THE_OTHER_SIDE = (
    "it is a feature list: SequenceFeatures or parse_sequence_example reads it",
    "it is a feature of the context",
)


def _names_in(records: Bytes | Sequence[Any]) -> tuple[set[str], set[str]]:
    """Return the names of features, and the names of feature lists, of some records."""
    survey = _core.Survey()
    with contextlib.suppress(FastrecError):
        survey.add(records)
    features, lists = ({_text(key) for key in counts} for counts in survey.counts())
    return features, lists


def _hints(
    sides: Sequence[Sequence[str]], found: Sequence[set[str]], wanted: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Yield the names that are not in `found`, each with a hint, or an empty text.

    `sides` are names of features, and of feature lists; so is `found`, with the names of some
    records. `wanted` are all names that are read.
    """
    for side, names in enumerate(sides):
        for name in dict.fromkeys(names):
            if name in found[side]:
                continue
            if name in found[1 - side]:
                yield name, _OF_THE_OTHER_SIDE[side]
                continue
            close = difflib.get_close_matches(name, sorted(found[side]), 3)
            close = [other for other in close if other not in wanted] or close
            yield name, f"is it {' or '.join(map(ascii, close))}?" if close else ""


def absent_features(
    schemas: Sequence[_core.Schema], records: Bytes | Sequence[Any]
) -> Iterator[tuple[str, str]]:
    """Yield the features that no parsed record has, each with a hint, or an empty text.

    A second schema describes feature lists. `records` is a sample of the parsed records.
    """
    wanted = {_text(key) for schema in schemas for key in schema.keys}
    unseen = [list(map(_text, schema.unseen)) for schema in schemas]
    yield from _hints(unseen, _names_in(records), wanted)


def absence_text(who: str, name: str, hint: str) -> str:
    """Return the warning that `who`, such as ``"none of 9 records"``, has a feature."""
    text = f"{who} has feature {name!a}: its column has no values but defaults"
    return f"{text}; {hint}" if hint else text


def warn_of_misspelt(
    schemas: Sequence[_core.Schema],
    count: int,
    take: Callable[[int], Bytes | Sequence[Any]],
) -> None:
    """Warn about features that none of `count` records has, if there is a hint at another name.

    `take` returns the given number of records. The same features are examined once in a process:
    rare features are absent from many calls.
    """
    unseen = () if count < FEW else tuple(k for each in schemas for k in each.unseen)
    if not unseen or unseen in _examined:
        return
    if len(_examined) < _MOST_REMEMBERED:
        _examined.add(unseen)
    for name, hint in absent_features(schemas, take(FEW)):
        if hint:
            warn_caller(absence_text("none of the records", name, hint))


class UnseenColumns:
    """Find the masked columns of a pass that are empty in every row.

    Parameters
    ----------
    features, lists : collection of str
        Names of columns of features, and of feature lists.
    optional : collection of str
        Columns that are often empty. Only those with a hint at another name cause a warning.
    """

    def __init__(
        self, features: Collection[str], lists: Collection[str], optional: Collection[str] = ()
    ) -> None:
        self._optional = optional
        self._sides = [*features], [*lists]
        self._unseen = {*features, *lists}
        self._count = 0
        self._examined = 0
        self._found: tuple[set[str], set[str]] = set(), set()  # names for the hints

    def note(self, columns: Mapping[str, Any], records: Bytes) -> None:
        """Examine the next columns, and the records that they come from."""
        self._count += len(records)
        if not self._unseen:
            return
        masks = {name: getattr(columns[name], "mask", None) for name in self._unseen}
        self._unseen = {name for name, mask in masks.items() if mask is not None and mask.all()}
        if not self._unseen:
            self._found = set(), set()
        elif self._examined < FEW:
            # Only names are kept: the records may be long, and the pass may be too.
            examined = records[: FEW - self._examined]
            self._examined += len(examined)
            for names, new in zip(self._found, _names_in(examined), strict=True):
                names.update(itertools.islice(new, max(_MOST_NAMES - len(names), 0)))

    def warn(self) -> None:
        """Warn about the columns without values, at the end of the pass."""
        unseen = [[name for name in side if name in self._unseen] for side in self._sides]
        if not self._count or not self._unseen:
            return
        for name, hint in _hints(unseen, self._found, {*self._sides[0], *self._sides[1]}):
            if hint or name not in self._optional:
                text = absence_text(f"none of {self._count} records", name, hint)
                warn_caller(text)


def _text(key: bytes) -> str:
    return key.decode("utf-8", "backslashreplace")
