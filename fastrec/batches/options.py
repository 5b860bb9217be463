# SPDX-License-Identifier: Apache-2.0
"""Check the options of a Batcher when it is created."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import index
from typing import Any, Literal

from ..arguments import check_fields, check_int, shown
from ..features.column_spec import RECORD, ReadPlan
from ..features.image import ImageFeature, encoded_images
from ..features.raw import RawFeature
from ..features.spec import (
    Feature,
    FixedLenFeature,
    FixedLenSequenceFeature,
    SequenceFeatures,
    VarLenFeature,
    plan_example,
)
from ..images.augment import Augment
from ..records.compression import Compression
from ..records.manifest import Manifest
from ..records.paths import PathLike
from ..records.recovery import OnError
from ..records.shard_sets import Shards
from ..storage.options import StorageOptions
from ..threads.cpus import usable_cpus
from .block_shuffle import Shuffle, order_fields
from .buckets import Buckets
from .order import OrderSpec
from .packing import Packing
from .selection import Selection, Split, Weights

__all__ = ["Options"]

_ROWS = 64  # records parsed together if single records are delivered


def _pair(shard: Any) -> tuple[int, int]:
    if not isinstance(shard, (tuple, list)) or len(shard) != 2:
        raise ValueError(f"shard must be (index, count), 'auto' or None, got {shown(shard)}")
    number, count = (check_int("a number of shard", each, 0, 2**62) for each in shard)
    if number >= count:
        raise ValueError(f"shard must be (index, count) with index < count, got {shard!r}")
    return number, count


def _check_augment(key: str, augment: Any, features: Mapping[str, Feature]) -> None:
    if key not in features:
        raise ValueError(f"augment: {key!r} is not in features")
    if not isinstance(augment, Augment):
        raise TypeError(f"augment[{key!r}] must be an Augment, got {type(augment).__name__}")
    feature = features[key]
    is_array = isinstance(feature, FixedLenFeature) and len(feature.shape) == 3
    is_image = isinstance(feature, ImageFeature) and not feature.ragged
    if not is_array and not is_image and not isinstance(feature, RawFeature):
        raise TypeError(
            f"augment {key!r} requires an ImageFeature (one encoded image) or a RawFeature "
            f"(pixels), got {feature!r}"
        )


@dataclass(frozen=True)
class Options:
    """The arguments of :class:`Batcher` except its source, in internal form.

    If `seed` is None, a random seed is drawn.
    """

    features: Mapping[str, Feature] | SequenceFeatures | None = None
    batch_size: int | None = 1
    shuffle: Shuffle = False
    seed: int | None = None
    reshuffle: bool = True
    epochs: int | None = 1
    drop_remainder: bool = False
    batch_across_epochs: bool = False
    shard: tuple[int, int] | Literal["auto"] | None = None
    uneven: Literal["longer", "drop", "pad"] = "longer"
    interleave: int | None = None
    augment: Mapping[str, Augment] | None = None
    buckets: Buckets | None = None
    packing: Packing | None = None
    where: str | None = None
    weights: Weights | None = None
    balance: str | tuple[str, Mapping[Any, float]] | None = None
    order: str | None = None
    split: Split | tuple[Any, Any] | None = None
    threads: int | None = None
    prefetch: int = 2
    pin_memory: bool = False
    drop_behind: bool = False
    transform: Callable[[Any], Any] | None = None
    transform_workers: int | None = None
    verify: bool = True
    on_error: OnError = "raise"
    on_stats: Callable[[Any], Any] | None = None
    every: float = 10.0
    progress: bool = False
    storage_options: StorageOptions | Mapping[str, Any] | None = None
    manifest: Manifest | PathLike | None = None
    compression: Compression = "auto"
    shards: Shards = "complete"

    def __post_init__(self) -> None:
        if isinstance(self.features, int):
            raise TypeError(
                f"features must be a mapping or None, got {self.features}; batch_size is the third "
                f"argument: Batcher(source, features, {self.features})"
            )
        check_fields(self, skip=("shard", "weights", "balance", "split"))
        object.__setattr__(self, "storage_options", StorageOptions.of(self.storage_options))
        self._check_kinds()
        order_fields(self.shuffle)
        for name, least, most in (
            ("batch_size", 1, 2**40),
            ("epochs", 1, 2**62),
            ("interleave", 1, 256),
            ("threads", 1, 256),
            ("prefetch", 0, 2**16),
            ("transform_workers", 1, 256),
        ):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, check_int(name, value, least, most))
        if self.transform_workers is not None:
            self._check_transform_workers()
        if self.every < 0:
            raise ValueError(f"every must be at least 0 seconds, got {self.every}")
        if self.seed is None:
            object.__setattr__(self, "seed", int.from_bytes(os.urandom(8), "little"))
        assert self.seed is not None
        object.__setattr__(self, "seed", index(self.seed) % 2**64)
        if self.threads is None:
            object.__setattr__(self, "threads", min(usable_cpus(), 8))
        if self.shard is not None and not (isinstance(self.shard, str) and self.shard == "auto"):
            object.__setattr__(self, "shard", _pair(self.shard))

    def _check_transform_workers(self) -> None:
        if sys.platform == "win32":
            raise ValueError("transform_workers requires Linux or macOS")
        if self.transform is None:
            raise ValueError("transform_workers requires transform")
        try:
            pickle.dumps(self.transform)
        except Exception as error:
            raise TypeError(
                "transform_workers requires a transform that can be pickled, such as a function "
                f"at the top level of a module: {error}"
            ) from error

    def _check_kinds(self) -> None:
        features = self.features
        if self.selection.is_weighted and self.shuffle not in (False, True):
            raise ValueError(
                "weights or balance draw every record at random: leave out shuffle, got "
                f"shuffle={self.shuffle!r}"
            )
        if self.interleave is not None and (self.selection.is_weighted or self.selection.order):
            raise ValueError("interleave, and weights, balance or order, are mutually exclusive")
        object.__setattr__(self, "augment", dict(self.augment or {}))
        named: Mapping[str, Feature] = features if isinstance(features, Mapping) else {}
        for key, augment in (self.augment or {}).items():
            _check_augment(key, augment, named)
        if self.packing is not None:
            self._check_packing()
        self._check_planned_buckets()
        if self.buckets is not None:
            if self.batch_size is None:
                raise ValueError("buckets and batch_size=None are mutually exclusive")
            if self.buckets.by not in named:
                raise ValueError(f"buckets: {self.buckets.by!r} is not in features")

    @cached_property
    def selection(self) -> Selection:
        """The options that select records."""
        return Selection(self.where, self.weights, self.balance, self.order, Split._of(self.split))

    @property
    def is_planned(self) -> bool:
        """Whether batches are planned from the lengths of all records."""
        return self.packing is not None or (self.buckets is not None and self.buckets.planned)

    def _check_planned_buckets(self) -> None:
        if not (isinstance(self.buckets, Buckets) and self.buckets.planned):
            return
        for name, is_refused in (
            ("images", bool(any(self.images) or self.augment)),
            ("batch_across_epochs", self.batch_across_epochs),
            ("on_error", self.on_error != "raise"),
            ("shuffle=N (use True or 'blocks')", order_fields(self.shuffle)["shuffle"] == "buffer"),
        ):
            if is_refused:
                raise ValueError(f"planned buckets and {name} are mutually exclusive")

    def _check_packing(self) -> None:
        assert self.packing is not None
        if not isinstance(self.features, (Mapping, SequenceFeatures)):
            raise TypeError("packing requires features, a mapping of ragged features of numbers")
        self.packing._check(self.features)
        for name, is_refused in (
            ("batch_size=None", self.batch_size is None),
            ("buckets", self.buckets is not None),
            ("augment", bool(self.augment)),
            ("batch_across_epochs", self.batch_across_epochs),
            ("on_error", self.on_error != "raise"),
            ("shuffle=N (use True or 'blocks')", order_fields(self.shuffle)["shuffle"] == "buffer"),
        ):
            if is_refused:
                raise ValueError(f"packing and {name} are mutually exclusive")

    @property
    def sequences(self) -> SequenceFeatures | None:
        """The specification if records are SequenceExamples, or None."""
        return self.features if isinstance(self.features, SequenceFeatures) else None

    @cached_property
    def images(self) -> tuple[dict[str, ImageFeature], ...]:
        """The features that workers decode after parsing; two such dicts for SequenceExamples."""
        parts: tuple[Any, ...] = (self.features if isinstance(self.features, Mapping) else {},)
        if self.sequences is not None:
            parts = (self.sequences.context, self.sequences.sequence)
        return tuple(
            {key: each for key, each in part.items() if isinstance(each, ImageFeature)}
            for part in parts
        )

    @property
    def workers(self) -> int:
        """Number of threads of each kind."""
        assert self.threads is not None
        return self.threads

    @property
    def callers(self) -> int:
        """Number of threads that process batches, each with at most one worker process."""
        return max(self.workers, self.transform_workers or 0)

    @property
    def depth(self) -> int:
        """Number of batches that are finished or in progress, ahead of the consumer."""
        return self.callers + self.prefetch

    def plan(self) -> ReadPlan:
        """Return the native loader's schema: images stay encoded, SequenceExamples stay records."""
        if self.features is None or self.sequences is not None:
            return RECORD
        if not isinstance(self.features, Mapping):
            raise TypeError(f"features must be a mapping or None, got {self.features!r}")
        return plan_example(encoded_images(self.features))

    @property
    def _rows(self) -> int:
        """Number of records that are parsed together if single records are delivered.

        It is 1 if the shape of a column depends on the other records that are parsed with it.
        """
        if self.sequences is not None:
            each = [*self.sequences.context.values(), *self.sequences.sequence.values()]
            padded = any(isinstance(feature, VarLenFeature) for feature in each) or any(
                isinstance(feature, FixedLenSequenceFeature)
                for feature in self.sequences.context.values()
            )
        else:
            kinds = (VarLenFeature, FixedLenSequenceFeature)
            named: Mapping[str, Any] = self.features or {}  # type: ignore[assignment]
            padded = any(isinstance(feature, kinds) for feature in named.values())
        return 1 if padded else _ROWS

    def order_spec(self) -> OrderSpec:
        """Return the options that determine the batches' records; ``"auto"`` is one shard."""
        by_row = self.batch_size is None
        size = self._rows if self.batch_size is None else self.batch_size
        dealt = by_row or (self.buckets is not None and not self.buckets._only_pads(size))
        if self.buckets is not None:
            size = self.buckets._window_of(size)
        assert self.seed is not None
        return OrderSpec(
            **order_fields(self.shuffle),
            seed=self.seed,
            reshuffle=bool(self.reshuffle),
            epochs=self.epochs or 0,
            shard=self.shard if isinstance(self.shard, tuple) else (0, 1),
            uneven=self.uneven,
            batch_size=size,
            drop_remainder=bool(self.drop_remainder) and not dealt,
            batch_across_epochs=bool(self.batch_across_epochs) and not by_row,
            interleave=self.interleave,
            by_row=by_row,
        )
