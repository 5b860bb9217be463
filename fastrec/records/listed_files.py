# SPDX-License-Identifier: Apache-2.0
"""Compare the files of a reader with the entries of its manifest."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ..errors import MissingRecordsError
from ..storage.options import StorageOptions
from ..storage.remote import RemoteFile
from .paths import PathLike

if TYPE_CHECKING:
    from .manifest import Manifest

__all__ = ["ListedFiles"]


class ListedFiles:
    """Files with their entries in a manifest.

    Attributes
    ----------
    entries : list of ManifestFile
        One entry for each file.
    """

    def __init__(
        self,
        manifest: Manifest | PathLike,
        storage: StorageOptions,
        paths: Sequence[str | bytes],
        places: Sequence[str | bytes | RemoteFile],
    ) -> None:
        from .manifest import Manifest

        self.entries: Final = Manifest.of(manifest, storage)._entries(paths)
        self._paths, self._places = paths, places

    def check_size(self, number: int) -> None:
        """Raise MissingRecordsError unless a file has the size that the manifest states."""
        place, expected = self._places[number], self.entries[number].size
        size = place.size if isinstance(place, RemoteFile) else os.stat(place).st_size
        if size != expected:
            raise self._error(number, f"has {size} bytes, the manifest says {expected}")

    def check_counts(self, counts: Sequence[int]) -> None:
        """Raise MissingRecordsError unless all files have the listed sizes and record counts."""
        for number, (count, entry) in enumerate(zip(counts, self.entries, strict=True)):
            self.check_size(number)
            if count != entry.records:
                raise self._error(number, f"has {count} records, the manifest says {entry.records}")

    def _error(self, number: int, difference: str) -> MissingRecordsError:
        name = os.fsdecode(self._paths[number])
        error = MissingRecordsError(f"{name!a} {difference}")
        error.path = name
        return error
