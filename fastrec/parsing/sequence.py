# SPDX-License-Identifier: Apache-2.0
"""Parse SequenceExamples, which consist of a context and lists of frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import _core
from ..features.spec import Feature, plan_context, plan_frame_rows, plan_frames
from .absent import warn_of_misspelt
from .by_number import Dataset, Numbers, parse_records, warn_of_misspelt_in
from .parse import (
    Leniency,
    Misfits,
    ParseOnError,
    Records,
    check_record,
    check_records,
    compile_schema,
)

__all__ = [
    "SequenceParser",
    "parse_sequence_example",
    "parse_sequences",
    "parse_single_sequence_example",
    "read_sequences",
]

_Columns = dict[str, Any]


class SequenceParser:
    """A parser of SequenceExamples with a specification that is compiled once. Thread-safe.

    Parameters
    ----------
    context, sequence : mapping of str to feature
    padded : bool
        Whether the frames of a :class:`FixedLenSequenceFeature` become one padded array. Otherwise
        they are the rows of a :class:`Ragged`, and frame counts are not returned.
    skips : bool
        Whether to skip records that do not match the features.
    """

    def __init__(
        self, context: Any, sequence: Any, padded: bool = True, *, skips: bool = False
    ) -> None:
        self._context = compile_schema(plan_context, context, skips=skips)
        self._lists = compile_schema(plan_frames if padded else plan_frame_rows, sequence)

    @property
    def schemas(self) -> tuple[_core.Schema, _core.Schema]:
        """Schemas of the context and of the feature lists."""
        return self._context, self._lists

    def __call__(
        self, records: Any, misfits: Misfits | None = None
    ) -> tuple[_Columns, _Columns, _Columns]:
        """Return columns of the context, columns of the feature lists, and frame counts.

        The number and the error of each skipped record are added to `misfits`.
        """
        columns, frames = _core.parse_sequences(self._context, self._lists, records, misfits)
        lists = {name: column for name, column in frames.items() if not isinstance(name, tuple)}
        lengths = {name[0]: column for name, column in frames.items() if isinstance(name, tuple)}
        return columns, lists, lengths


def parse_sequences(
    records: Any,
    context: Any,
    sequence: Any,
    on_error: ParseOnError = "raise",
    *,
    warns: bool = True,
) -> tuple[_Columns, _Columns, _Columns]:
    """Parse a sequence of records, as :func:`parse_sequence_example` does.

    Without `warns`, features that no record has are not reported.
    """
    if context is None and sequence is None:
        raise ValueError("parsing requires context_features, sequence_features, or both")
    for name, features in (("context_features", context), ("sequence_features", sequence)):
        if features is not None and not isinstance(features, Mapping):
            kind = type(features).__name__
            raise TypeError(f"{name} must map names to features, got {kind}")
    leniency, misfits = Leniency(on_error), Misfits()
    parser = SequenceParser(context or {}, sequence or {}, skips=leniency.skips)
    columns = parser(records, misfits)
    leniency.settle(misfits, len(records))
    if warns:
        warn_of_misspelt(parser.schemas, len(records), lambda few: records[:few])
    return columns


def read_sequences(
    dataset: Dataset, numbers: Numbers, context: Any, sequence: Any, misfits: Misfits | None
) -> tuple[_Columns, _Columns, _Columns]:
    """Return the columns of records by number, as :func:`parse_sequence_example` does.

    `misfits` is as for :func:`parse_records`.
    """
    parser = SequenceParser(context, sequence, skips=misfits is not None)
    columns = parse_records(dataset, numbers, parser, misfits)
    warn_of_misspelt_in(parser.schemas, dataset, numbers, misfits)
    return columns


def parse_sequence_example(
    records: Records,
    context_features: Mapping[str, Feature] | None = None,
    sequence_features: Mapping[str, Feature] | None = None,
    *,
    on_error: ParseOnError = "raise",
) -> tuple[_Columns, _Columns, _Columns]:
    """Parse serialized ``tf.train.SequenceExample`` messages into batches of columns.

    Parameters
    ----------
    records : iterable of bytes-like, or Bytes
        As for :func:`parse_example`.
    context_features : mapping of str to feature, optional
        Features to read from the context, as :func:`parse_example` reads an Example.
    sequence_features : mapping of str to feature, optional
        Features to read from the feature lists: :class:`FixedLenSequenceFeature`,
        :class:`VarLenFeature` and :class:`RaggedFeature`.
    on_error : {"raise", "skip"} or callable
        As in :func:`parse_example`.

    Returns
    -------
    context : dict
        Columns, as :func:`parse_example` returns them.
    feature_lists : dict
        Columns by feature. A :class:`FixedLenSequenceFeature` becomes an array of shape
        ``(len(records), most frames, *shape)``, padded with zeros. A :class:`VarLenFeature` becomes
        a :class:`Sparse` of shape ``(len(records), most frames, most values)``. A
        :class:`RaggedFeature` becomes a :class:`Ragged` of frames, each of which is a row.
    lengths : dict
        Number of frames in each record, int64, by :class:`FixedLenSequenceFeature`.

    Raises
    ------
    ExampleParseError
        If a record does not match; the message names record, feature, frame and mismatch.

    Examples
    --------
    >>> from fastrec import FixedLenSequenceFeature
    >>> from fastrec.train import Feature, FeatureList, FeatureLists, Int64List, SequenceExample
    >>> frames = [Feature(int64_list=Int64List(value=[i, i + 1])) for i in range(3)]
    >>> record = SequenceExample(
    ...     feature_lists=FeatureLists(feature_list={"x": FeatureList(feature=frames)})
    ... ).SerializeToString()
    >>> features = {"x": FixedLenSequenceFeature((2,), int)}
    >>> _, lists, lengths = parse_sequence_example([record], sequence_features=features)
    >>> lists["x"].tolist(), lengths["x"].tolist()
    ([[[0, 1], [1, 2], [2, 3]]], [3])
    """
    return parse_sequences(check_records(records), context_features, sequence_features, on_error)


def parse_single_sequence_example(
    record: bytes,
    context_features: Mapping[str, Feature] | None = None,
    sequence_features: Mapping[str, Feature] | None = None,
) -> tuple[_Columns, _Columns]:
    """Parse one record as :func:`parse_sequence_example` does, without batch dimension and lengths.

    Returns
    -------
    context, feature_lists : dict

    Examples
    --------
    >>> import fastrec
    >>> record = fastrec.encode_sequence_example({"id": 7}, {"x": [[1, 2], [3, 4]]})
    >>> context, lists = fastrec.parse_single_sequence_example(
    ...     record,
    ...     {"id": fastrec.FixedLenFeature((), "int64")},
    ...     {"x": fastrec.FixedLenSequenceFeature((2,), "int64")},
    ... )
    >>> int(context["id"]), lists["x"].tolist()
    (7, [[1, 2], [3, 4]])
    """
    check_record(record)
    context, lists, _ = parse_sequences([record], context_features, sequence_features)
    return (
        {name: column[0] for name, column in context.items()},
        {name: column[0] for name, column in lists.items()},
    )
