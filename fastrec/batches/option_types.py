# SPDX-License-Identifier: Apache-2.0
"""Types of the options that functions pass on to a Batcher, for type checkers.

A function has ``**options: Unpack[...]``, and a misspelt option or value is a type error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from ..images.augment import Augment
    from ..records.compression import Compression
    from ..records.manifest import Manifest
    from ..records.paths import PathLike
    from ..records.recovery import OnError
    from ..records.shard_sets import Shards
    from ..storage.options import StorageOptions
    from .block_shuffle import Shuffle
    from .buckets import Buckets
    from .packing import Packing
    from .report import Report
    from .selection import Split, Weights

__all__ = [
    "BatcherOptions",
    "FurtherOptions",
    "OrderOptions",
    "ReadingOptions",
    "ScanOptions",
    "TableOptions",
    "TransformedOptions",
]


class OrderOptions(TypedDict, total=False):
    """Options of the order of records in a Batcher."""

    shuffle: Shuffle
    seed: int | None
    shard: tuple[int, int] | Literal["auto"] | None
    uneven: Literal["longer", "drop", "pad"]


class ReadingOptions(TypedDict, total=False):
    """Options of a Batcher without order options and transform."""

    reshuffle: bool
    epochs: int | None
    drop_remainder: bool
    batch_across_epochs: bool
    interleave: int | None
    augment: Mapping[str, Augment] | None
    buckets: Buckets | None
    packing: Packing | None
    where: str | None
    weights: Weights | None
    balance: str | tuple[str, Mapping[Any, float]] | None
    order: str | None
    split: Split | tuple[Any, Any] | None
    threads: int | None
    prefetch: int
    pin_memory: bool
    drop_behind: bool
    transform_workers: int | None
    verify: bool
    on_error: OnError
    on_stats: Callable[[Report], Any] | None
    every: float
    progress: bool
    storage_options: StorageOptions | Mapping[str, Any] | None
    manifest: Manifest | PathLike | None
    compression: Compression
    shards: Shards


class TransformedOptions(ReadingOptions, OrderOptions, total=False):
    """Options of a Batcher except the transform."""


class FurtherOptions(ReadingOptions, total=False):
    """Options of a Batcher without order options."""

    transform: Callable[[Any], Any] | None


class BatcherOptions(FurtherOptions, OrderOptions, total=False):
    """All keyword options of a Batcher."""


class TableOptions(BatcherOptions, total=False):
    """Options of a Batcher, and further options of a table."""

    max_bad: int | None
    max_record_bytes: int | None


class ScanOptions(TableOptions, total=False):
    """Options of a table that is scanned."""

    batch_size: int
