# SPDX-License-Identifier: Apache-2.0
"""Batches for a training loop."""

from __future__ import annotations

import operator
import os
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from . import _core
from .arrays import Bytes
from .errors import FastrecError
from .features import Feature, plan_example
from .lowering import RECORD
from .records import Reader, Source

__all__ = ["Batcher"]


def _usable_cpus() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1


def _check_shard(shard: tuple[int, int] | None) -> tuple[int, int]:
    if shard is None:
        return 0, 1
    index, count = shard
    if not 0 <= index < count:
        raise ValueError(f"shard is (index, count) with 0 <= index < count, not {shard}")
    return index, count


class Batcher:
    """Batches of parsed records: shuffled, sharded, in parallel, in a fixed order.

    Each ``iter()`` starts at the beginning, with threads of its own. The batches are a function of
    the files, the seed and the shard alone: the number of threads does not change them.

    Parameters
    ----------
    source : path, glob pattern, list of these, or binary file object
    features : mapping of str to feature, optional
        What to read from each record. None: batches are :class:`~fastrec.Bytes` of whole records.
    batch_size : int
    shuffle : bool
        A fresh uniform permutation of all records every epoch, in constant memory. Needs
        uncompressed files.
    seed : int, optional
        Of the shuffle; drawn at random, once, when None.
    epochs : int or None
        Passes over the data; None for ever. No batch spans two epochs.
    drop_remainder : bool
        Leave out the last batch of an epoch when it is short.
    shard : (index, count), optional
        Take every ``count``-th record of the epoch's order, from ``index`` on: the shards are
        disjoint, cover everything, and are equal to within one record.
    threads : int, optional
        Workers that read and parse; the usable processors, up to 8, by default.
    prefetch : int
        Batches to have ready, beyond those being made.
    transform : callable, optional
        Called with each batch by the thread that iterates; what it returns is yielded instead.
    verify : bool
        Check the CRC32C of every record.

    Raises
    ------
    OSError, CorruptRecordError, ExampleParseError
        From iterating, in place of the batch that could not be made.

    Examples
    --------
    >>> import os, tempfile, numpy as np, fastrec
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write_batch({"x": np.arange(5)})
    >>> features = {"x": fastrec.FixedLenFeature((), np.int64)}
    >>> [batch["x"].tolist() for batch in Batcher(path, features, batch_size=2)]
    [[0, 1], [2, 3], [4]]
    """

    def __init__(
        self,
        source: Source,
        features: Mapping[str, Feature] | None = None,
        batch_size: int = 1,
        *,
        shuffle: bool = False,
        seed: int | None = None,
        epochs: int | None = 1,
        drop_remainder: bool = False,
        shard: tuple[int, int] | None = None,
        threads: int | None = None,
        prefetch: int = 2,
        transform: Callable[[Any], Any] | None = None,
        verify: bool = True,
    ) -> None:
        if not 1 <= operator.index(batch_size) < 2**48:
            raise ValueError(f"batch_size must be at least 1, not {batch_size}")
        if epochs is not None and epochs < 1:
            raise ValueError(f"epochs must be at least 1, or None for ever, not {epochs}")
        if shuffle not in (True, False):
            raise ValueError(f"shuffle must be True or False, not {shuffle!r}")
        if threads is not None and not 1 <= threads <= 256:
            raise ValueError(f"threads must be 1 to 256, not {threads}")
        if prefetch < 0:
            raise ValueError(f"prefetch must be at least 0, not {prefetch}")
        self._reader = Reader(source, verify=verify)
        self._threads = threads or min(_usable_cpus(), 8)
        self._prefetch = prefetch
        self._transform = transform
        plan = RECORD if features is None else plan_example(features)
        self._schema = _core.Schema(plan, self._threads + prefetch)
        index, shards = _check_shard(shard)
        self._order = {
            "shuffle": bool(shuffle),
            "seed": int.from_bytes(os.urandom(8), "little") if seed is None else seed % 2**64,
            "epochs": epochs or 0,
            "shard_index": index,
            "shard_count": shards,
            "batch_size": batch_size,
            "drop_remainder": drop_remainder,
        }
        self._loaders: weakref.WeakSet[_core.Loader] = weakref.WeakSet()

    def _streams(self) -> bool:
        """Whether the records can only be had one after the other."""
        reader = self._reader
        return reader._file is not None or any(map(reader.is_compressed, reader.paths))

    def _native(self) -> Iterator[Any]:
        loader = _core.Loader(
            self._reader._index(),
            self._schema,
            self._order,
            threads=self._threads,
            prefetch=self._threads + self._prefetch,
        )
        self._loaders.add(loader)
        return loader

    def _streamed(self) -> Iterator[Any]:
        """The same batches from sources without random access: this thread reads and parses."""
        order = self._order
        epoch = 0
        while order["epochs"] == 0 or epoch < order["epochs"]:
            epoch += 1
            batch: list[bytes] = []
            for number, record in enumerate(self._reader):
                if number % order["shard_count"] != order["shard_index"]:
                    continue
                batch.append(record)
                if len(batch) == order["batch_size"]:
                    yield self._parse(batch)
                    batch = []
            if batch and not order["drop_remainder"]:
                yield self._parse(batch)

    def _parse(self, records: list[bytes]) -> Any:
        return self._schema.parse(records) if self._schema.parses else Bytes.from_list(records)

    def __iter__(self) -> Iterator[Any]:
        if not self._streams():
            batches = self._native()
        elif self._order["shuffle"]:
            raise FastrecError("shuffling needs uncompressed files that are named by path")
        else:
            batches = self._streamed()
        return batches if self._transform is None else map(self._transform, batches)

    def __len__(self) -> int:
        """Batches in all epochs.

        Raises
        ------
        TypeError
            When there is no end to them, or the source has no random access.
        """
        if self._order["epochs"] == 0:
            raise TypeError("epochs is None: there is no end to the batches")
        if self._streams():
            raise TypeError("the number of records in a stream is not known beforehand")
        per_epoch = _core.epoch_batches(self._order, len(self._reader))
        return int(self._order["epochs"] * per_epoch)

    def close(self) -> None:
        """Stop every iterator's workers."""
        for loader in list(self._loaders):
            loader.close()

    def __enter__(self) -> Batcher:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()
