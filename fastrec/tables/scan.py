# SPDX-License-Identifier: Apache-2.0
"""Lazy tables over record files for polars and DuckDB; a query reads only the data it needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from .. import arrow
from ..arguments import check_types
from ..features.spec import SequenceFeatures
from ..parsing.column_parser import TableFeatures

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..batches.option_types import ScanOptions

__all__ = ["Scan", "scan"]


class Scan:
    """Record files as a lazy table; a query reads only the part that it needs.

    Use :func:`scan` to create one. Each query reads the files from the beginning, and stops when it
    has enough rows.

    Attributes
    ----------
    description : mapping of str to feature, or SequenceFeatures
        The columns of the table, as for :func:`fastrec.arrow.table`.
    """

    def __init__(self, source: Any, features: Any, options: Mapping[str, Any]) -> None:
        self._source, self._options = source, dict(options)
        table = arrow.table(source, features, tensors=False, **self._options)
        self._table = table
        self.description: Final = table.description

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[arrow.RecordBatch]:
        """Yield record batches of some columns, in the order of the files.

        Parameters
        ----------
        columns : sequence of str, optional
            Names of the columns; all by default. For an empty sequence, each batch has one column,
            because the length of a batch is the length of its columns.
        """
        check_types(Scan.batches, locals())
        return iter(self._projected(columns).batches())

    def _projected(self, columns: Sequence[str] | None) -> arrow.Table:
        if columns is None:
            return self._table
        described = self.description
        names = [*_names(described)]
        if odd := sorted(set(columns).difference(names)):
            raise ValueError(f"columns must be among {', '.join(names)}, got {odd[0]!a}")
        kept = columns or names[:1]
        chosen: Any
        if isinstance(described, SequenceFeatures):
            chosen = TableFeatures(
                {name: each for name, each in described.context.items() if name in kept},
                {name: each for name, each in described.sequence.items() if name in kept},
            )
        else:
            chosen = {name: described[name] for name in kept}
        return arrow.table(self._source, chosen, tensors=False, **self._options)

    def to_polars(self) -> Any:
        """Return a ``polars.LazyFrame``.

        A query parses the columns that it needs, filters each batch, and stops at its ``head(n)``.

        Examples
        --------
        >>> import os, tempfile, fastrec
        >>> path = os.path.join(tempfile.mkdtemp(), "words.tfrecord")
        >>> with fastrec.Writer(path) as writer:
        ...     for count, word in enumerate(["one", "two"], 1):
        ...         writer.write({"count": count, "word": word})
        >>> frame = scan(path).to_polars()  # doctest: +SKIP
        >>> frame.filter(polars.col("count") > 1).collect()["word"].to_list()  # doctest: +SKIP
        [b'two']
        """
        import polars
        from polars.io.plugins import register_io_source

        def read(
            with_columns: list[str] | None, predicate: Any, n_rows: int | None, _: int | None
        ) -> Iterator[Any]:
            columns = with_columns
            if columns is not None and predicate is not None:
                columns = [*dict.fromkeys([*columns, *predicate.meta.root_names()])]
            left = n_rows
            if left == 0:
                return
            for batch in self.batches(columns):
                frame = polars.DataFrame(batch)
                if left is not None:
                    frame = frame.head(left)
                    left -= len(frame)
                if predicate is not None:
                    frame = frame.filter(predicate)
                yield frame if not with_columns else frame.select(with_columns)
                if left == 0:
                    return

        return register_io_source(read, schema=polars.DataFrame(self._table.empty()).schema)

    def to_dataset(self) -> Any:
        """Return a ``pyarrow.dataset.Dataset`` for a query of DuckDB.

        DuckDB finds the dataset by the name of its variable. DuckDB requests only the columns that
        it needs and the rows that match its filters, and stops at its ``LIMIT``. Other methods of
        pyarrow's datasets are not supported.
        """
        from .scanned_dataset import ScannedDataset

        return ScannedDataset(self)

    def __repr__(self) -> str:
        return f"<fastrec.tables.Scan: {', '.join(_names(self.description))}>"


def _names(described: Any) -> Iterator[str]:
    if isinstance(described, SequenceFeatures):
        yield from described.context
        yield from described.sequence
    else:
        yield from described


def scan(
    source: Any,
    features: Mapping[str, Any] | SequenceFeatures | None = None,
    **options: Unpack[ScanOptions],
) -> Scan:
    """Describe record files as a lazy table; a query reads only the columns that it needs.

    Parameters
    ----------
    source, features
        As for :func:`fastrec.arrow.table`. Without `features`, this call reads all records once, to
        infer them.
    **options
        Further options of :func:`fastrec.arrow.table`.

    Returns
    -------
    Scan

    Examples
    --------
    >>> import os, tempfile, fastrec
    >>> path = os.path.join(tempfile.mkdtemp(), "words.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     for count, word in enumerate(["one", "two"], 1):
    ...         writer.write({"count": count, "word": word})
    >>> words = scan(path).to_dataset()
    >>> words.scanner(columns=["count"]).to_table().to_pylist()
    [{'count': 1}, {'count': 2}]
    """
    check_types(scan, locals())
    return Scan(source, features, options)
