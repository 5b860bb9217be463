# SPDX-License-Identifier: Apache-2.0
"""Rows of one size as records of a file, so that a Batcher gives them in its order."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fastrec

from ..columns import Bytes

__all__ = ["RowFile"]


class RowFile:
    """A file of rows, deleted with the last that refers to it unless it was given a name.

    A copy in another process refers to the file, and does not delete it.

    Attributes
    ----------
    path : str
    """

    def __init__(self, path: str, *, directory: str | None = None) -> None:
        self.path = path
        if directory is not None:
            weakref.finalize(self, _remove, directory, os.getpid())

    @classmethod
    def write(
        cls,
        blocks: Iterable[NDArray[Any]],
        dtype: np.dtype[Any],
        identity: Iterable[str],
        path: str | None = None,
    ) -> RowFile:
        """Write rows.

        Parameters
        ----------
        blocks : iterable of ndarray
            Rows, one after the other.
        dtype : dtype
            Of a row.
        identity : iterable of str
            What tells these rows from others. The name of the file follows from it, and with the
            name the state of a Batcher.
        path : str, optional
            Where to keep the file.
        """
        directory = None
        if path is None:
            directory = tempfile.mkdtemp(prefix="fastrec-")
            path = os.path.join(directory, f"{digest_of(identity)}.rows")
        try:
            with fastrec.Writer(path, fsync=False) as writer:
                for block in blocks:
                    data = np.ascontiguousarray(block, dtype).reshape(-1).view(np.uint8)
                    offsets = np.arange(len(block) + 1, dtype=np.int64) * dtype.itemsize
                    writer.write_many(Bytes(data, offsets))
        except BaseException:
            if directory is not None:
                shutil.rmtree(directory, ignore_errors=True)
            raise
        return cls(path, directory=directory)

    @staticmethod
    def as_array(rows: Bytes, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Rows as an array.

        Raises
        ------
        ValueError
            When they are not of that dtype.
        """
        sizes = np.diff(rows.offsets)
        if (sizes != dtype.itemsize).any():
            raise ValueError(f"rows must have {dtype.itemsize} bytes; the file is another's")
        return rows.data[rows.offsets[0] : rows.offsets[-1]].view(dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        return RowFile, (self.path,)


def digest_of(identity: Iterable[str]) -> str:
    """A short digest of some strings."""
    digest = hashlib.sha256()
    for text in identity:
        digest.update(f"{len(text)}:{text}".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:24]


def _remove(directory: str, owner: int) -> None:
    if os.getpid() == owner:  # a child of fork() leaves it to its parent
        shutil.rmtree(directory, ignore_errors=True)
