# SPDX-License-Identifier: Apache-2.0
"""The arguments of a conversion, which all formats share."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..encoding.writer import Writer
from ..records.object_rules import check_outputs
from ..records.paths import PACKED_SUFFIXES, is_remote
from ..records.reader import Reader
from ..records.recovery import OnError
from ..storage.options import StorageOptions
from .new_files import NewFiles

__all__ = ["Conversion", "Done", "refuse"]

Done = tuple[int, "list[str]"]
"""Number of records, and paths of the files that were written."""


@dataclass(frozen=True)
class Conversion:
    """Arguments of :func:`fastrec.convert`, with its sources as `paths` and `storage`.

    `options` are the options of a Writer for record files; other targets have none of them.
    """

    paths: Sequence[Any]
    target: Any
    features: Any
    key: str | None
    extensions: Mapping[str, str] | None
    compression: str | None
    level: int | None
    row_group_size: int
    shard_records: int | None
    overwrite: bool
    on_error: OnError
    progress: Callable[[int, int | None], object] | None
    storage: StorageOptions
    options: Mapping[str, Any]

    def report(self, done: int, total: int | None = None) -> None:
        """Call the caller's function with a number of records."""
        if self.progress is not None:
            self.progress(done, total)

    def reader(self) -> Reader:
        """Return a reader of sources that are record files."""
        return Reader(
            self.paths, on_error=self.on_error, storage_options=self.storage, shards="any"
        )

    def check_sources(self, phrase: str) -> None:
        """Raise unless all sources are local; `phrase` names their format, not TFRecord."""
        if remote := [path for path in self.paths if is_remote(path, self.storage)]:
            raise ValueError(f"{phrase} must be local, got {os.fsdecode(remote[0])!a}")
        if self.on_error not in ("raise", "tolerate_tail"):
            raise ValueError(f"on_error='skip' requires TFRecord, got {phrase}")

    def record_writer(self, features: Any = None, threads: int | None = None) -> Writer:
        """Return the writer of a target that consists of record files."""
        rules: dict[str, Any] = {"overwrite": self.overwrite, "inputs": self.paths}
        sharded = self.shard_records is not None
        check_outputs(self.target, sharded, records=True, storage=self.storage, **rules)
        named: dict[Any, Any] = {None: "auto", "none": None}
        return Writer(
            self.target,
            compression=named.get(self.compression, self.compression),
            level=self.level,
            overwrite=self.overwrite,
            shard_records=self.shard_records,
            features=features,
            threads=threads,
            storage_options=self.storage,
            **self.options,
        )

    def new_files(self) -> NewFiles:
        """Return the files of a target that is not TFRecord."""
        return NewFiles(
            self.target,
            sharded=self.shard_records is not None,
            overwrite=self.overwrite,
            storage_options=self.storage,
            inputs=self.paths,
        )

    def refuse_compression(self, problem: str) -> None:
        """Raise ValueError with `problem` if the target is to be compressed."""
        if self.compression not in (None, "none") or self.level is not None:
            raise ValueError(problem)

    def check_suffix(self, phrase: str) -> None:
        """Raise for a name that promises compression, which the target does not have as a whole."""
        if os.path.splitext(os.fsdecode(self.target).lower())[1] in PACKED_SUFFIXES:
            raise ValueError(
                f"{phrase} is written without further compression, which would prevent random "
                f"access, got {os.fsdecode(self.target)!a}; leave out the last suffix"
            )


def refuse(requires: str, **options: Any) -> None:
    """Raise for the first option that is set: each requires something else."""
    for name, value in options.items():
        if value is not None and value is not False:
            raise ValueError(f"{name} requires {requires}")
