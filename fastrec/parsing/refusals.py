# SPDX-License-Identifier: Apache-2.0
"""Build outputs from columns without the records that an output refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ..errors import ExampleParseError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["build_without_refused"]

_BLOCK_ROWS = 256  # rows that are built again after one of them was refused

_Columns = TypeVar("_Columns")
_Outputs = TypeVar("_Outputs")


def build_without_refused(
    columns: _Columns,
    take: Callable[[_Columns, NDArray[np.int64]], _Columns],
    build: Callable[[_Columns], _Outputs],
    count: int,
) -> tuple[_Outputs, list[tuple[int, ExampleParseError]]]:
    """Build outputs from the rows of columns, without the rows that `build` refuses.

    Parameters
    ----------
    columns : object
        Columns of `count` rows.
    take : callable
        Returns the rows of columns that have the given numbers, which are ascending.
    build : callable
        Builds the outputs of columns. It raises an ExampleParseError whose `record` is a row of
        these columns. It may compare each row with the first one.
    count : int

    Returns
    -------
    outputs : object
        Result of `build` for the remaining rows.
    refused : list of (int, ExampleParseError)
        Number and error of each refused row, in ascending order.
    """
    refused: dict[int, ExampleParseError] = {}
    first = np.empty(0, np.int64)
    # Each refusal costs another attempt, so blocks keep the time in proportion to the rows.
    for start in range(0, count, _BLOCK_ROWS):
        rows = np.concatenate([first, np.arange(start, min(start + _BLOCK_ROWS, count))])
        block = take(columns, rows)
        while True:
            try:
                build(block)
                break
            except ExampleParseError as error:
                if error.record is None:
                    raise
                refused[int(rows[error.record])] = error
                left = np.delete(np.arange(len(rows)), error.record)
                rows, block = rows[left], take(block, left)
        first = rows[:1]
    kept = np.delete(np.arange(count), list(refused))
    return build(take(columns, kept)), sorted(refused.items())
