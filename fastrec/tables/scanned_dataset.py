# SPDX-License-Identifier: Apache-2.0
"""A scan as a pyarrow dataset, for DuckDB to request columns and rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow
import pyarrow.dataset

if TYPE_CHECKING:
    from .scan import Scan

__all__ = ["ScannedDataset"]


class ScannedDataset(pyarrow.dataset.Dataset):  # type: ignore[misc]
    """The rows of a :class:`~fastrec.tables.Scan`; DuckDB requires a subclass of this class."""

    def __init__(self, scan: Scan) -> None:
        self._scan = scan

    @property
    def schema(self) -> Any:
        """The ``pyarrow.Schema`` of all columns."""
        return pyarrow.schema(self._scan._table)

    def scanner(self, columns: Sequence[str] | None = None, filter: Any = None, **_: Any) -> Any:
        """Return a ``pyarrow.dataset.Scanner`` of the columns, and of the rows a filter selects."""
        parsed = columns
        if columns is not None and filter is not None:
            # An expression has no list of its fields, but its text contains their names.
            text = str(filter)
            parsed = [*dict.fromkeys([*columns, *(n for n in self.schema.names if n in text)])]
        reader = pyarrow.RecordBatchReader.from_stream(self._scan._projected(parsed))
        return pyarrow.dataset.Scanner.from_batches(reader, columns=columns, filter=filter)
