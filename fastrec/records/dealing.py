# SPDX-License-Identifier: Apache-2.0
"""Write records to temporary record files, one bucket for each range of output positions."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..columns import Bytes
from ..errors import FastrecError

__all__ = ["Bucket", "deal"]

_BUFFER = 1 << 16  # buffer size in bytes, small because many files are open


class Bucket:
    """A record file that grows; it is first truncated to its last known good size."""

    def __init__(self, path: str, size: int) -> None:
        self._path = path
        self._file = open(path, "ab", buffering=_BUFFER)  # noqa: SIM115
        if self._file.seek(0, os.SEEK_END) < size:
            self._file.close()
            raise FastrecError(f"{path!a} must have {size} bytes: remove the directory it is in")
        self._file.truncate(size)

    def write(self, records: list[bytes]) -> None:
        for frames, _ in _core.Frames(records):
            self._do(self._file.write, frames)

    def flush(self) -> int:
        """Pass buffered data to the operating system, and return the size of the file."""
        self._do(self._file.flush)
        return self._file.tell()

    def _do(self, function: Callable[..., Any], *arguments: Any) -> None:
        try:
            function(*arguments)
        except OSError as error:
            raise OSError(error.errno, error.strerror, self._path) from None

    def __enter__(self) -> Bucket:
        return self

    def __exit__(self, exc_type: object, *exc_info: object) -> None:
        with contextlib.suppress(OSError) if exc_type else contextlib.nullcontext():
            self._file.close()


def deal(block: Bytes, numbers: NDArray[np.int64], buckets: list[Bucket]) -> None:
    """Append each record to the bucket whose number is given."""
    order = np.argsort(numbers, kind="stable")
    records = block.to_list()
    present, begins = np.unique(numbers[order], return_index=True)
    for number, some in zip(present.tolist(), np.split(order, begins[1:]), strict=True):
        buckets[number].write([records[i] for i in some.tolist()])
