# SPDX-License-Identifier: Apache-2.0
"""Parse records into columns for Arrow, with nulls for absent values.

:mod:`fastrec.arrow`, Ray, Spark and Hugging Face read record files with a :class:`ColumnParser`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..columns import Bytes, Ragged
from ..errors import ExampleParseError, FastrecError
from ..features.column_spec import Presence
from ..features.image import ImageFeature
from ..features.spec import RaggedFeature, SequenceFeatures, VarLenFeature
from ..records.record_files import RecordFiles
from ..records.recovery import Damage
from .absent import UnseenColumns
from .feature_stats import Features, FeatureStats, InferredSequence
from .parse import ExampleParser
from .sequence import parse_sequences

__all__ = ["ColumnParser", "Filter", "Optional", "Record", "TableFeatures", "inferred_columns"]


@dataclass(frozen=True)
class Optional:
    """A feature with at most one value per record: a scalar column with nulls for absent values.

    Parameters
    ----------
    dtype : dtype-like
        As for :class:`fastrec.FixedLenFeature`.
    """

    dtype: Any


@dataclass(frozen=True)
class Record:
    """The whole record as a binary column, without parsing."""


class TableFeatures(SequenceFeatures):
    """Features of SequenceExamples whose context may have an :class:`Optional`."""

    def __post_init__(self) -> None:
        pass


def inferred_columns(described: Features | InferredSequence) -> dict[str, Any] | TableFeatures:
    """Return the columns of inferred features.

    A feature that has one value, or is absent from the record, is an :class:`Optional`.
    """
    if isinstance(described, InferredSequence):
        return TableFeatures(_with_optional(described.context), dict(described.sequence))
    return _with_optional(described)


def _with_optional(described: Features) -> dict[str, Any]:
    return {
        name: Optional(feature.dtype)
        if isinstance(feature, RaggedFeature) and _is_optional(described.stats[name])
        else feature
        for name, feature in described.items()
    }


def _is_optional(stats: FeatureStats) -> bool:
    """Return whether a scalar column can represent the feature: no record has an empty list."""
    return stats.fewest == stats.most == 1 or not stats.kinds


def _is_utf8(name: str) -> bool:
    return name.encode("utf-8", "replace") == name.encode("utf-8", "surrogateescape")


# Features with a list in each record, which a record may lack.
_LISTS: Final = (RaggedFeature, VarLenFeature)

_SAMPLED: Final = 64  # records of each file that represent it


class ColumnParser:
    """Parses blocks of records into columns that can be exported to Arrow.

    Parameters
    ----------
    features : mapping of str to feature, Optional or Record
    sequence : mapping of str to feature, optional
        Feature lists. If present, records are SequenceExamples, and `features` describes the
        context.
    threads : int, optional
        As for :func:`fastrec.parse_example`.

    Attributes
    ----------
    features, sequence : dict of str to feature
        The features to parse, with a :class:`~RaggedFeature` for each :class:`Optional`,
        and the presence of each list, which tells an absent list from an empty one.
    names : list of str
        Names of the columns.
    """

    def __init__(
        self,
        features: Mapping[str, Any],
        sequence: Mapping[str, Any] | None = None,
        threads: int | None = None,
    ) -> None:
        if not isinstance(features, Mapping):
            raise TypeError(f"features must be a mapping, got {type(features).__name__}")
        if twice := sorted(set(features).intersection(sequence or ())):
            raise ValueError(f"{twice[0]!a} is a feature of the context and a feature list")
        self.names: list[str] = [*features, *(sequence or ())]
        if not self.names:
            raise ValueError("features is empty: name at least one feature")
        if others := [name for name in self.names if not isinstance(name, str)]:
            raise TypeError(f"the names of features must be str, got {others[0]!a}")
        if odd := [name for name in self.names if not _is_utf8(name)]:
            raise ValueError(
                f"feature {odd[0]!a} has a name that is not UTF-8, which Arrow requires; describe "
                f"other features"
            )
        if images := [n for n, each in features.items() if isinstance(each, ImageFeature)]:
            raise TypeError(f"feature {images[0]!a}: an ImageFeature has no Arrow type; read bytes")
        self._whole = [name for name, each in features.items() if isinstance(each, Record)]
        self._optional = [name for name, each in features.items() if isinstance(each, Optional)]
        self.features: Final = {
            name: RaggedFeature(each.dtype) if isinstance(each, Optional) else each
            for name, each in features.items()
            if not isinstance(each, Record)
        }
        self.sequence: dict[str, Any] | None = None if sequence is None else dict(sequence)
        self._presences: dict[str, str] = {}
        for some in (self.features, self.sequence or {}):
            for name, each in list(some.items()):
                if isinstance(each, _LISTS) and name not in self._optional:
                    self._presences[name] = key = _unused(f"has {name}", self.names)
                    some[key] = Presence(name, each)
        self._threads = threads
        self(Bytes.from_list([]))  # raises immediately if the features cannot be read

    @property
    def reads_records(self) -> bool:
        """Whether a column holds whole records."""
        return bool(self._whole)

    def __call__(
        self, records: Bytes, failures: list[ExampleParseError] | None = None
    ) -> dict[str, Any]:
        """Parse records; the columns are in the order of the features.

        Without `failures`, a record that does not match the features raises an error. Otherwise it
        is left out, and `failures`, an empty list, receives the error.
        """
        columns = self._parsed(records, failures)
        numbers = _numbers_without(failures, len(records)) if failures else None
        if several := self._several_values(columns, numbers):
            if failures is None:
                raise several[0]
            failures += several
            failures.sort(key=lambda failure: failure.record or 0)
            numbers = _numbers_without(failures, len(records))
            columns = self._parsed(records.take(numbers))
        if self._whole and numbers is not None:
            records = records.take(numbers)
        return self.finish(columns, records)

    def _several_values(
        self, columns: Mapping[str, Any], numbers: NDArray[np.int64] | None
    ) -> list[ExampleParseError]:
        """Return an error for each record with several values of an Optional.

        `numbers` are the numbers of the records in `columns`, if some are left out.
        """
        errors: dict[int, ExampleParseError] = {}
        for name in self._optional:
            lengths = columns[name].row_lengths
            if lengths.max(initial=0) <= 1:
                continue
            for row in np.flatnonzero(lengths > 1):
                record = int(row if numbers is None else numbers[row])
                errors.setdefault(record, _not_optional(name, lengths[row], record))
        return list(errors.values())

    def _parsed(
        self, records: Bytes, failures: list[ExampleParseError] | None = None
    ) -> dict[str, Any]:
        on_error: Any = "raise" if failures is None else failures.append
        try:
            if self.sequence is not None:
                context, lists, _ = parse_sequences(
                    records, self.features, self.sequence, on_error, warns=False
                )
                return {**context, **lists}
            if not self.features:
                return {}
            return ExampleParser(self.features, on_error)(records, self._threads)
        except ExampleParseError:
            if not failures or len(failures) < len(records):
                raise
            return self._parsed(Bytes.from_list([]))  # all of this block is left out

    def finish(self, columns: Mapping[str, Any], records: Bytes | None = None) -> dict[str, Any]:
        """Mask absent values and lists, and add columns of whole records."""
        found = dict(columns)
        for name, key in self._presences.items():
            absent = ~found.pop(key)
            if absent.any():
                found[name] = _core.Masked(found[name], absent)
        found |= {name: _masked(name, found[name]) for name in self._optional}
        found |= dict.fromkeys(self._whole, records)
        return {name: found[name] for name in self.names}

    def unseen(self) -> UnseenColumns:
        """Return the columns that may be null, to find those without values in a pass."""
        lists = self.sequence or {}
        features = [name for name in self._presences if name not in lists]
        found = [name for name in self._presences if name in lists]
        return UnseenColumns([*features, *self._optional], found, self._optional)

    def read(
        self,
        files: RecordFiles,
        batch_size: int,
        where: Filter | None = None,
        inspect: Callable[[Bytes], object] | None = None,
        others: Iterable[RecordFiles] = (),
        unseen: UnseenColumns | None = None,
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        """Read files in order, in blocks of up to `batch_size` records or 32 MiB.

        Each element is the number of the file and the columns of a block.

        Only the records that `where` selects are parsed. `inspect` may raise an
        :class:`ExampleParseError` about a block before it is parsed. If the policy of the files
        allows it, records that do not match the features are left out and listed in
        `files.skipped`.

        `others` are files from all parts of the source, if `files` are a part of it. A pass that
        leaves out every record raises an error unless a record at the start of `others` can be
        used. `unseen` notes the columns of each block.
        """
        damage = files.policy()
        first: FastrecError | None = None
        left_out = kept = 0
        for number, reader in enumerate(files.readers(damage)):
            place, gaps = files.place(number), reader.gaps
            done = 0
            while (block := reader.take(batch_size)) is not None:
                rows = None
                unselected: list[ExampleParseError] = []
                failures: list[ExampleParseError] = []
                try:
                    if inspect is not None:
                        inspect(block)
                    if where is not None:
                        rows = where.rows(block, None if damage is None else unselected)
                    chosen = block if rows is None else block.take(rows)
                    columns = self(chosen, None if damage is None else failures)
                except ExampleParseError as error:
                    if error.record is None:
                        raise
                    raise _located(error, place, gaps, done, rows) from None
                errors = [_located(each, place, gaps, done, None) for each in unselected]
                errors += [_located(each, place, gaps, done, rows) for each in failures]
                for each in errors:
                    damage.leave_out(each)  # type: ignore[union-attr]
                    first = first or each
                left_out += len(errors)
                kept += len(chosen) - len(failures)
                if len(chosen) > len(failures):
                    if unseen is not None:
                        unseen.note(columns, chosen)
                    yield number, columns
                done += len(block)
        if damage is None or not damage.regions or kept:
            return
        if not any(map(self._is_any_usable, others)):
            raise damage.useless(first, max(left_out, len(damage.regions)))

    def _is_any_usable(self, files: RecordFiles) -> bool:
        """Return whether a record at the start of any file can be used."""
        damage = Damage("skip", None, {})
        for reader in files.readers(damage):
            failures: list[ExampleParseError] = []
            block = reader.take(_SAMPLED)
            if block is not None:
                self(block, failures)
                if len(failures) < len(block):
                    return True
        return False


@dataclass(frozen=True)
class Filter:
    """Selects records by a few columns, before the other columns are parsed.

    Parameters
    ----------
    parser : ColumnParser
        Parses the columns.
    select : callable
        Returns the numbers of the selected rows, in ascending order.
    """

    parser: ColumnParser
    select: Callable[[dict[str, Any]], NDArray[np.int64]]

    def rows(
        self, records: Bytes, failures: list[ExampleParseError] | None = None
    ) -> NDArray[np.int64]:
        """Return the numbers of the selected records; `failures` is as for ColumnParser."""
        rows = self.select(self.parser(records, failures))
        return _numbers_without(failures, len(records))[rows] if failures else rows


def _numbers_without(failures: Sequence[ExampleParseError], count: int) -> NDArray[np.int64]:
    """Return the numbers of the records, of `count` records, that did not fail."""
    return np.delete(np.arange(count), [failure.record or 0 for failure in failures])


def _located(
    error: ExampleParseError, place: Any, gaps: list[int], done: int, rows: NDArray[Any] | None
) -> ExampleParseError:
    """Return an error about a row of a block as an error about a record of a file."""
    row = error.record or 0
    index = done + (row if rows is None else int(rows[row]))
    return error.in_record(_core.number_of(index, gaps), place)


def _unused(name: str, names: Collection[str]) -> str:
    """Return a name that is not among `names`, and begins with `name`."""
    while name in names:
        name += "_"
    return name


def _not_optional(name: str, length: int, record: int | None) -> ExampleParseError:
    """Return the error for an Optional that has several values in a record."""
    cause = f"expected at most 1 value, found {length}"
    hint = "a RaggedFeature reads any number"
    error = ExampleParseError(cause, hint=hint, kind="schema", record=record)
    return error.in_feature(name)


def _masked(name: str, column: Ragged) -> Any:
    """Return rows of at most one value as an array, masked where the value is absent."""
    lengths = column.row_lengths
    if lengths.max(initial=0) > 1:  # of records that a Batcher has parsed
        raise _not_optional(name, lengths.max(), None)
    present = lengths == 1
    values = column.values
    if isinstance(values, Bytes):
        rows = Bytes(values.data, values.offsets[column.row_splits])
        return _core.Masked(rows, ~present)
    filled = np.zeros(len(lengths), values.dtype)
    filled[present] = values
    return np.ma.MaskedArray(filled, ~present)
