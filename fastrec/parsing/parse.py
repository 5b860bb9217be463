# SPDX-License-Identifier: Apache-2.0
"""Parse Examples into columns."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Union

from .. import _core
from ..arguments import check_int, check_types, is_bytes_like, shown
from ..columns import Bytes
from ..errors import FastrecError, call_out, detached
from ..features.column_spec import ReadPlan
from ..features.spec import Feature, plan_example
from ..records.recovery import warn_of_losses
from ..threads.cpus import usable_cpus
from .absent import warn_of_misspelt

__all__ = [
    "MOST_THREADS",
    "ExampleParser",
    "Leniency",
    "Misfits",
    "ParseOnError",
    "Records",
    "parse_example",
    "parse_single_example",
]

ParseOnError = Union[Literal["raise", "skip"], Callable[[FastrecError], Any]]  # noqa: UP007

Records = Union[Iterable[Union[bytes, bytearray, memoryview, Bytes]], Bytes]  # noqa: UP007
"""Records in any form that can be iterated over."""

# A batch smaller than this is parsed faster than another thread can start.
_WORTH_THREADS = 1 << 20
MOST_THREADS = 8  # threads by default; more rarely help, because memory limits them


@functools.lru_cache(maxsize=32)
def _compile(
    plan: Callable[[Any], ReadPlan], items: tuple[Any, ...], _: str, skips: bool
) -> _core.Schema:
    return _core.Schema(plan(dict(items)), skips=skips)


def compile_schema(
    plan: Callable[[Any], ReadPlan], features: Any, *, skips: bool = False
) -> _core.Schema:
    """Return a compiled schema of the features, which is cached.

    The printed form of defaults is part of the cache key, because 0.0 and -0.0 are equal.
    """
    try:
        items = tuple(features.items())
        defaults = str([getattr(f, "default_value", 0) for _, f in items])
        return _compile(plan, items, defaults, skips)
    except (AttributeError, TypeError):  # not a mapping, or a default that is not hashable
        return _core.Schema(plan(features), skips=skips)


def check_threads(threads: int | None) -> None:
    if threads is not None:
        check_int("threads", threads, 1, 2**16)


def threads_for(records: Sequence[Any] | Bytes, threads: int | None) -> int:
    check_threads(threads)
    if threads is not None:
        return threads
    size = records.nbytes if isinstance(records, Bytes) else sum(map(len, records))
    return 1 if size < _WORTH_THREADS else min(usable_cpus(), MOST_THREADS)


def check_records(records: Any) -> Bytes | tuple[Any, ...]:
    """Return the records of any iterable as a sequence.

    Raises
    ------
    TypeError
        If `records` is a single record (which is iterable, too) or the path of a file, or if an
        item is not bytes-like.
    """
    if isinstance(records, (str, os.PathLike)):
        raise TypeError(
            f"records must be an iterable of serialized messages, got {shown(records)}; if that "
            "is a file, pass fastrec.Reader(...) of it"
        )
    if isinstance(records, (bytes, bytearray, memoryview)):
        raise TypeError(
            f"records must be a sequence of records, got one {type(records).__name__}; "
            f"parse_single_example and parse_single_sequence_example take one record"
        )
    try:
        if not isinstance(records, Bytes):  # iterating over a Bytes would copy every string
            iter(records)
    except TypeError:
        raise TypeError(
            f"records must be an iterable of serialized messages, got {shown(records)}"
        ) from None
    return _core.as_records(records)


def check_record(record: Any) -> None:
    """Raise TypeError unless one record is bytes-like."""
    if type(record) is not bytes and not is_bytes_like(record):
        is_path = isinstance(record, (str, os.PathLike))
        hint = "; if that is a file, pass a record of it, fastrec.Reader(...)[0]" if is_path else ""
        raise TypeError(f"record must be bytes-like, got {type(record).__name__}{hint}")


# Number and error of records that do not match the features.
Misfits = list[tuple[int, FastrecError]]


class Leniency:
    """The policy of a parsing function for records that do not match the features.

    Parameters
    ----------
    on_error : {"raise", "skip"} or callable
    """

    def __init__(self, on_error: ParseOnError) -> None:
        if type(on_error) is not str or on_error not in ("raise", "skip"):
            check_types(Leniency.__init__, {"on_error": on_error})
        self._on_error = on_error
        self.skips: bool = on_error != "raise"

    def settle(self, misfits: Misfits, count: int) -> None:
        """Report the errors of the skipped records, out of `count` records.

        Raises
        ------
        FastrecError
            The first error, if all records were skipped.
        """
        if not misfits:
            return
        for _, error in misfits:
            if callable(self._on_error):
                call_out(self._on_error, detached(error))
        if len(misfits) == count:
            raise misfits[0][1]
        if not callable(self._on_error):
            warn_of_losses(len(misfits), count, f"the first: {misfits[0][1]}")


class ExampleParser:
    """A parser of Examples with a specification that is compiled once. Thread-safe."""

    def __init__(self, features: Mapping[str, Feature], on_error: ParseOnError = "raise") -> None:
        self._leniency = Leniency(on_error)
        self._schema = compile_schema(plan_example, features, skips=self._leniency.skips)

    def __call__(
        self, records: Records, threads: int | None = None, *, warns: bool = False
    ) -> dict[str, Any]:
        """Return columns, as :func:`parse_example` does; `warns` allows warnings."""
        records = check_records(records)
        misfits: Misfits = []
        columns = self._schema.parse(records, threads_for(records, threads), misfits)
        self._leniency.settle(misfits, len(records))
        if warns:
            warn_of_misspelt([self._schema], len(records), lambda few: records[:few])
        return columns

    def single(self, record: bytes) -> dict[str, Any]:
        """Return the values of one record, as :func:`parse_single_example` does."""
        check_record(record)
        return {key: column[0] for key, column in self._schema.parse([record]).items()}


def parse_example(
    records: Records,
    features: Mapping[str, Feature],
    *,
    threads: int | None = None,
    on_error: ParseOnError = "raise",
) -> dict[str, Any]:
    """Parse serialized ``tf.train.Example`` messages into a batch of columns.

    If a record contains a feature several times, the last one counts. A Feature without a kind is
    treated as missing. Messages are valid under the same rules as in protobuf, but values of
    features that are not requested are not checked.

    Parameters
    ----------
    records : iterable of bytes-like, or Bytes
        A list, an iterator, a :class:`Reader`, its views or its blocks, an array of objects or of
        Arrow's binary type. An iterator is consumed.
    features : mapping of str to feature
        Features to read, with their types.
    threads : int, optional
        Maximum number of threads that parse a large batch; by default the number of usable
        processors, up to 8. The result does not depend on it.
    on_error : {"raise", "skip"} or callable
        ``"skip"`` skips records that do not match `features`, so that columns have fewer rows. A
        callable is called with the :class:`ExampleParseError` of each skipped record; its
        ``record`` attribute is the number of the record. If all records would be skipped, the first
        error is raised.

    Returns
    -------
    dict
        Columns by feature, in the order of `features`. A :class:`FixedLenFeature`,
        :class:`FixedLenSequenceFeature` or :class:`RawFeature` of known shape becomes an ndarray of
        shape ``(len(records), ...)``, or for bytes a :class:`Bytes` of that shape. A
        :class:`RaggedFeature` becomes a :class:`Ragged`. A :class:`VarLenFeature` or
        :class:`SparseFeature` becomes a :class:`Sparse`. The caller owns the arrays, which are
        writable and 64-byte aligned.

    Raises
    ------
    ExampleParseError
        If a record does not match `features`; the message names record, feature and mismatch.

    Examples
    --------
    >>> import numpy as np, fastrec
    >>> record = fastrec.encode_example({"image": np.arange(6, dtype=np.uint8), "label": 3})
    >>> columns = parse_example([record, record], {
    ...     "image": fastrec.RawFeature((2, 3), np.uint8),
    ...     "label": fastrec.FixedLenFeature((), np.int64),
    ... })
    >>> columns["image"].shape, columns["label"]
    ((2, 2, 3), array([3, 3]))
    """
    return ExampleParser(features, on_error)(records, threads, warns=True)


def parse_single_example(record: bytes, features: Mapping[str, Feature]) -> dict[str, Any]:
    """Parse one record as :func:`parse_example` does, without the batch dimension.

    Returns
    -------
    dict
        Values by feature: an ndarray of the feature's shape (a NumPy scalar for ``()``), bytes or a
        :class:`Bytes`; for a ragged or sparse feature, its only row.

    Raises
    ------
    ExampleParseError
        If the record does not match `features`.

    Examples
    --------
    >>> import fastrec
    >>> record = fastrec.encode_example({"x": [1, 2], "name": "one"})
    >>> features = {
    ...     "x": fastrec.FixedLenFeature((2,), "int64"),
    ...     "name": fastrec.FixedLenFeature((), bytes),
    ... }
    >>> fastrec.parse_single_example(record, features)
    {'x': array([1, 2]), 'name': b'one'}
    """
    return ExampleParser(features).single(record)
