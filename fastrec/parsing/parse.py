# SPDX-License-Identifier: Apache-2.0
"""Examples to columns."""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Union

import numpy.typing as npt

from .. import _core
from ..arguments import check_int, check_types, is_bytes_like, shown
from ..columns import Bytes
from ..errors import ExampleParseError, FastrecError, call_out
from ..features.column_spec import ReadPlan
from ..features.spec import Feature, plan_example
from ..records.reader import Reader, record_numbers
from ..threads import usable_cpus

__all__ = [
    "ExampleParser",
    "Leniency",
    "Misfits",
    "ParseOnError",
    "Records",
    "parse_example",
    "parse_many",
    "parse_single_example",
]

ParseOnError = Union[Literal["raise", "skip"], Callable[[FastrecError], Any]]  # noqa: UP007

Records = Union[Iterable[Union[bytes, bytearray, memoryview, Bytes]], Bytes]  # noqa: UP007
"""Records in any form that can be iterated over."""

# A batch of fewer bytes is parsed before another thread has started.
_WORTH_THREADS = 1 << 20
_MOST_THREADS = 8


@functools.lru_cache(maxsize=32)
def _compile(
    plan: Callable[[Any], ReadPlan], items: tuple[Any, ...], _: str, skips: bool
) -> _core.Schema:
    return _core.Schema(plan(dict(items)), skips=skips)


def compile_schema(
    plan: Callable[[Any], ReadPlan], features: Any, *, skips: bool = False
) -> _core.Schema:
    """A schema of the features, kept for the next time.

    Defaults are told apart by how they print as well: 0.0 and -0.0 are equal.
    """
    try:
        items = tuple(features.items())
        defaults = str([getattr(f, "default_value", 0) for _, f in items])
        return _compile(plan, items, defaults, skips)
    except (AttributeError, TypeError):  # not a mapping, or a default that has no hash
        return _core.Schema(plan(features), skips=skips)


def _check_threads(threads: int | None) -> None:
    if threads is not None:
        check_int("threads", threads, 1, 2**16)


def _threads_for(records: Sequence[Any] | Bytes, threads: int | None) -> int:
    _check_threads(threads)
    if threads is not None:
        return threads
    size = records.nbytes if isinstance(records, Bytes) else sum(map(len, records))
    return 1 if size < _WORTH_THREADS else min(usable_cpus(), _MOST_THREADS)


def check_records(records: Any) -> Bytes | tuple[Any, ...]:
    """Return the records of any iterable as a sequence.

    Raises
    ------
    TypeError
        For a single record, which can be iterated over too, for the path of a file, and for items
        that are not bytes-like.
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
        if not isinstance(records, Bytes):  # whose iterator copies every string
            iter(records)
    except TypeError:
        raise TypeError(
            f"records must be an iterable of serialized messages, got {shown(records)}"
        ) from None
    return _core.as_records(records)


def check_record(record: Any) -> None:
    """Raise TypeError unless one record is bytes-like."""
    if type(record) is not bytes and not is_bytes_like(record):
        raise TypeError(f"record must be bytes-like, got {type(record).__name__}")


Misfits = list[tuple[int, FastrecError]]  # number and error of records that do not fit


class Leniency:
    """The policy of a parsing function for records that do not fit.

    Parameters
    ----------
    on_error : {"raise", "skip"} or callable
    """

    def __init__(self, on_error: ParseOnError) -> None:
        if type(on_error) is not str or on_error not in ("raise", "skip"):
            check_types(Leniency.__init__, {"on_error": on_error})
        self._on_error = on_error
        self.skips = on_error != "raise"

    def settle(self, misfits: Misfits, count: int) -> None:
        """Hand on the errors of the records that were left out, of `count` in all.

        Raises
        ------
        FastrecError
            The first one, when no record is left.
        """
        if not misfits:
            return
        for _, error in misfits:
            if callable(self._on_error):
                call_out(self._on_error, error)
        if len(misfits) == count:
            raise misfits[0][1]
        if not callable(self._on_error) and len(misfits) * 10 > count:
            warnings.warn(
                f"on_error='skip' left out {len(misfits)} of {count} records; the first: "
                f"{misfits[0][1]}",
                RuntimeWarning,
                stacklevel=4,
            )


class ExampleParser:
    """Parses Examples by a specification that is compiled once.

    It may be called by several threads at once.
    """

    def __init__(self, features: Mapping[str, Feature], on_error: ParseOnError = "raise") -> None:
        self._leniency = Leniency(on_error)
        self._schema = compile_schema(plan_example, features, skips=self._leniency.skips)

    def __call__(self, records: Records, threads: int | None = None) -> dict[str, Any]:
        """Columns, as :func:`parse_example` gives them."""
        records = check_records(records)
        misfits: Misfits = []
        columns = self._schema.parse(records, _threads_for(records, threads), misfits)
        self._leniency.settle(misfits, len(records))
        return columns

    def single(self, record: bytes) -> dict[str, Any]:
        """The values of one record, as :func:`parse_single_example` gives them."""
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

    The last of several values of one feature counts, a Feature with no kind set is a missing one,
    and the verdict on what is a message is protobuf's; values of features that are not asked for
    are not looked at.

    Parameters
    ----------
    records : iterable of bytes-like, or Bytes
        A list, an iterator, a :class:`Reader`, its views or its blocks, an array of objects or of
        Arrow's binary type. An iterator is consumed.
    features : mapping of str to feature
        What to read, and as what.
    threads : int, optional
        How many may parse large batches together; the usable processors, up to 8, by default. The
        result does not depend on it.
    on_error : {"raise", "skip"} or callable
        ``"skip"`` leaves out records that do not fit `features`, so that columns have fewer rows. A
        callable is called with the :class:`ExampleParseError` of each, whose ``record`` is the
        number of the record. When no record fits, the first error is raised.

    Returns
    -------
    dict
        By feature, in the order of `features`. A :class:`FixedLenFeature`,
        :class:`FixedLenSequenceFeature` or :class:`RawFeature` of known shape is an ndarray of
        shape ``(len(records), ...)``, or a :class:`Bytes` of that shape where the dtype is bytes; a
        :class:`RaggedFeature` is a :class:`Ragged`, a :class:`VarLenFeature` or
        :class:`SparseFeature` a :class:`Sparse`. The arrays are the caller's, writable, and 64-byte
        aligned.

    Raises
    ------
    ExampleParseError
        Naming record and feature, what was expected and what came.

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
    return ExampleParser(features, on_error)(records, threads)


def parse_many(
    reader: Reader,
    indices: Sequence[int] | npt.NDArray[Any],
    features: Mapping[str, Feature],
    *,
    threads: int | None = None,
    on_error: ParseOnError = "raise",
) -> dict[str, Any]:
    """Read records by index and parse them into a batch of columns, in one native call.

    ``parse_example(reader.read_many(indices), features)`` without the copy of the records in
    between: for samplers of one's own.

    Parameters
    ----------
    reader : Reader
    indices : sequence of int, or integer array of shape (n,)
        In any order, with repeats; negative ones count from the end.
    features, threads, on_error
        As in :func:`parse_example`. `on_error` also decides about records whose data is damaged.

    Returns
    -------
    dict
        As from :func:`parse_example`.

    Raises
    ------
    IndexError
        If an index is out of range.
    CorruptRecordError, TruncatedFileError, LimitExceededError, RandomAccessError
        As from :meth:`Reader.read_many`.
    ExampleParseError
        Naming file, record within it and feature.

    Examples
    --------
    >>> import os, tempfile, numpy as np, fastrec
    >>> path = os.path.join(tempfile.mkdtemp(), "squares.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write_batch({"square": np.arange(6) ** 2})
    >>> reader = fastrec.Reader(path)
    >>> parse_many(reader, [5, 0, -2], {"square": fastrec.FixedLenFeature((), np.int64)})
    {'square': array([25,  0, 16])}
    """
    check_types(parse_many, {"reader": reader})
    _check_threads(threads)
    dataset = reader._files.dataset()
    numbers = record_numbers(indices, len(dataset))
    leniency, misfits = Leniency(on_error), Misfits()
    schema = compile_schema(plan_example, features, skips=leniency.skips)
    if isinstance(dataset, _core.Dataset):
        threads = threads or min(usable_cpus(), _MOST_THREADS)
        columns = schema.gather(dataset, numbers, threads, misfits)
        leniency.settle(misfits, len(numbers))
        return columns
    records = dataset.take(numbers)

    def locate(error: Any) -> FastrecError:
        if error.record is None:
            return error  # type: ignore[no-any-return]
        path, record, _ = dataset.position_of(int(numbers[error.record]))
        return error.in_record(record, path)  # type: ignore[no-any-return]

    try:
        columns = schema.parse(records, _threads_for(records, threads), misfits)
    except ExampleParseError as error:
        raise locate(error) from None
    leniency.settle([(row, locate(error)) for row, error in misfits], len(numbers))
    return columns


def parse_single_example(record: bytes, features: Mapping[str, Feature]) -> dict[str, Any]:
    """Parse one record as :func:`parse_example` does, without the batch dimension.

    Returns
    -------
    dict
        By feature: an ndarray of the feature's shape (a NumPy scalar for ``()``), bytes or a
        :class:`Bytes`; for a ragged or sparse feature the one row.

    Raises
    ------
    ExampleParseError
        When the record is not what `features` describe.

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
