# SPDX-License-Identifier: Apache-2.0
"""Read records by number and parse them, without those that cannot be used."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, TypeVar, Union

import numpy as np
import numpy.typing as npt

from .. import _core
from ..arguments import check_types
from ..columns import Bytes
from ..errors import ExampleParseError, FastrecError
from ..features.column_spec import RECORD
from ..features.spec import Feature, plan_example
from ..records.reader import Reader, record_numbers
from ..records.remote_dataset import RemoteDataset
from ..threads.cpus import usable_cpus
from .absent import warn_of_misspelt
from .parse import (
    MOST_THREADS,
    Leniency,
    Misfits,
    ParseOnError,
    check_threads,
    compile_schema,
    threads_for,
)

__all__ = [
    "Dataset",
    "Numbers",
    "parse_many",
    "parse_records",
    "read_columns",
    "take_records",
    "warn_of_misspelt_in",
    "without",
]

Dataset = Union[_core.Dataset, RemoteDataset]  # noqa: UP007
Numbers = npt.NDArray[np.uint64]
_Result = TypeVar("_Result")


def parse_many(
    reader: Reader,
    indices: Sequence[int] | npt.NDArray[Any],
    features: Mapping[str, Feature],
    *,
    threads: int | None = None,
    on_error: ParseOnError = "raise",
) -> dict[str, Any]:
    """Read records by index and parse them into a batch of columns, in one native call.

    The result is that of ``parse_example(reader.read_many(indices), features)``, but the records
    are not copied. This is useful for custom samplers.

    Parameters
    ----------
    reader : Reader
    indices : sequence of int, or integer array of shape (n,)
        Record numbers in any order, with repeats; negative numbers count from the end.
    features, threads, on_error
        As in :func:`parse_example`. `on_error` also applies to records with damaged data.

    Returns
    -------
    dict
        Columns, as from :func:`parse_example`.

    Raises
    ------
    IndexError
        If an index is out of range.
    CorruptRecordError, TruncatedFileError, LimitExceededError, RandomAccessError
        As from :meth:`Reader.read_many`.
    ExampleParseError
        If a record does not match `features`; the message names file, record and feature.

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
    check_threads(threads)
    dataset = reader._files.dataset()
    numbers = record_numbers(indices, len(dataset))
    leniency = Leniency(on_error)
    misfits: Misfits | None = [] if leniency.skips else None
    columns = read_columns(dataset, numbers, features, threads, misfits)
    leniency.settle(misfits or [], len(numbers))
    return columns


@functools.cache
def _record_schema() -> _core.Schema:
    return _core.Schema(RECORD, skips=True)


def take_records(dataset: Dataset, numbers: Numbers, misfits: Misfits | None) -> Bytes:
    """Return the records with these numbers as one block.

    With `misfits`, records with damaged data are left out, and their places in `numbers` and errors
    are added to it. All other damage is an error, because it concerns more than one record.
    """
    if misfits is None:
        return dataset.take(numbers)
    if isinstance(dataset, RemoteDataset):
        return dataset.take(numbers, misfits)
    records: Any = _record_schema().gather(dataset, numbers, misfits=misfits)
    return records  # type: ignore[no-any-return]


def parse_records(
    dataset: Dataset,
    numbers: Numbers,
    parse: Callable[[Bytes, Misfits], _Result],
    misfits: Misfits | None,
) -> _Result:
    """Return the result of `parse` for records by number; errors name file and record.

    With `misfits`, records that cannot be used are left out, as by :func:`take_records`. `parse`
    adds those that do not match its features to its second argument.
    """
    damaged: Misfits | None = None if misfits is None else []
    records, unfit = take_records(dataset, numbers, damaged), Misfits()
    rows = without(np.arange(len(numbers)), damaged)

    def locate(error: Any) -> FastrecError:
        if error.record is None:
            return error  # type: ignore[no-any-return]
        path, record, offset = dataset.position_of(int(numbers[rows[error.record]]))
        return error.in_record(record, path, offset)  # type: ignore[no-any-return]

    try:
        result = parse(records, unfit)
    except ExampleParseError as error:
        raise locate(error) from None
    if misfits is not None:
        misfits += damaged or ()
        misfits += [(int(rows[row]), locate(error)) for row, error in unfit]
        misfits.sort(key=itemgetter(0))
    return result


def read_columns(
    dataset: Dataset,
    numbers: Numbers,
    features: Mapping[str, Feature],
    threads: int | None,
    misfits: Misfits | None,
) -> dict[str, Any]:
    """Return the columns of records by number; `misfits` is as for :func:`parse_records`."""
    schema = compile_schema(plan_example, features, skips=misfits is not None)
    if isinstance(dataset, RemoteDataset):
        columns = parse_records(
            dataset,
            numbers,
            lambda records, unfit: schema.parse(records, threads_for(records, threads), unfit),
            misfits,
        )
    else:
        threads = threads or min(usable_cpus(), MOST_THREADS)
        columns = schema.gather(dataset, numbers, threads, misfits)
    warn_of_misspelt_in([schema], dataset, numbers, misfits)
    return columns


def warn_of_misspelt_in(
    schemas: Sequence[_core.Schema], dataset: Dataset, numbers: Numbers, misfits: Misfits | None
) -> None:
    """Warn about features that no record has, as :func:`warn_of_misspelt` does."""
    sound = without(numbers, misfits)
    warn_of_misspelt(schemas, len(sound), lambda few: dataset.take(sound[:few]))


def without(rows: npt.NDArray[Any], misfits: Misfits | None) -> npt.NDArray[Any]:
    """Return an array without the places of misfits."""
    return np.delete(rows, [row for row, _ in misfits]) if misfits else rows
