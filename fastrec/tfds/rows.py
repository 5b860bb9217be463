# SPDX-License-Identifier: Apache-2.0
"""Store rows of one size as the records of a file, so that a Batcher can order them."""

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
    """A file of rows. An unnamed file is deleted with the last object that refers to it.

    A copy in another process refers to the file but never deletes it.

    Attributes
    ----------
    path : str
        The path of the file.
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
        """Write rows to a file.

        Parameters
        ----------
        blocks : iterable of ndarray
            Blocks of rows, in order.
        dtype : dtype
            The dtype of a row.
        identity : iterable of str
            Texts that distinguish these rows from others. The name of the file is derived from
            them, and the state of a Batcher from the name.
        path : str, optional
            The path of a file to keep.
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
        """Return rows as a structured array.

        Raises
        ------
        ValueError
            If the size of a row differs from that of the dtype.
        """
        sizes = np.diff(rows.offsets)
        if (sizes != dtype.itemsize).any():
            raise ValueError(f"rows must have {dtype.itemsize} bytes; the file is another's")
        return rows.data[rows.offsets[0] : rows.offsets[-1]].view(dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        return RowFile, (self.path,)


def digest_of(identity: Iterable[str]) -> str:
    """Return a short digest of several strings."""
    digest = hashlib.sha256()
    for text in identity:
        digest.update(f"{len(text)}:{text}".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:24]


def _remove(directory: str, owner: int) -> None:
    if os.getpid() == owner:  # The parent deletes the file, not its forked child.
        shutil.rmtree(directory, ignore_errors=True)
