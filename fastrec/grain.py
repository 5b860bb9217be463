# SPDX-License-Identifier: Apache-2.0
"""Record files as sources and datasets of Grain.

Requires the extra ``grain``: ``pip install 'fastrec-io[grain]'``.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from operator import index as as_index
from typing import Any, Literal

import numpy as np

try:
    import grain
except ModuleNotFoundError as error:
    if error.name != "grain":
        raise
    message = "fastrec.grain requires grain: pip install 'fastrec-io[grain]'"
    raise ModuleNotFoundError(message, name=error.name) from None

from . import Batcher, Reader, find_shard
from ._core import permuted
from .arguments import check_int
from .batches.block_shuffle import Shuffle
from .images.keyed import KeyedParser

__all__ = ["BatchIterDataset", "BatchMapDataset", "Source", "collate"]


def _describe(reader: Reader, *more: str) -> str:
    """The same for a copy of the files elsewhere, as Grain's checkpoints compare it."""
    names = [os.path.basename(os.fsdecode(path)) for path in reader.paths]
    files = repr(names[0]) if len(names) == 1 else f"{names[0]!r} and {len(names) - 1} more"
    return ", ".join([f"files={files}", f"records={len(reader)}", *more])


class Source:
    """A random-access source of single records, for ``grain.MapDataset.source`` and ``DataLoader``.

    Grain takes a record from its source at a time, and spends some 10 microseconds on each:
    :class:`BatchMapDataset` and :class:`BatchIterDataset` are many times faster. Rows with bytes
    features, or records, are batched by ``batch(n, batch_fn=fastrec.grain.collate)``.

    Parameters
    ----------
    source : path, glob pattern, list of these, or Reader
    features : mapping of str to feature, optional
        What to read of each record: elements are dicts of NumPy arrays. By default they are the
        records as ``bytes``.
    seed : int, optional
        Seed of random transforms of images, which they require. An image is a function of the seed,
        the epoch (see :meth:`set_epoch`) and the index alone.

    Examples
    --------
    >>> import os, tempfile, fastrec, fastrec.grain, grain
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write_batch({"x": np.arange(6)})
    >>> source = Source(path, {"x": fastrec.FixedLenFeature((), np.int64)})
    >>> [int(element["x"]) for element in grain.MapDataset.source(source)[2:4]]
    [2, 3]
    """

    def __init__(
        self, source: Any, features: Mapping[str, Any] | None = None, *, seed: int | None = None
    ) -> None:
        self._reader = source if isinstance(source, Reader) else Reader(source)
        self._features = None if features is None else dict(features)
        self._parse = None if self._features is None else KeyedParser(self._features, seed)
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Draw what random transforms do in this epoch; workers that have started do not follow."""
        epoch = check_int("epoch", epoch, 0, 2**62 - 1)
        self._epoch = epoch

    def __len__(self) -> int:
        return len(self._reader)

    def __getitem__(self, index: Any) -> Any:
        if self._parse is None:
            return self._reader[as_index(index)]
        return self._getitems([as_index(index)])[0]

    def _getitems(self, indices: Sequence[int]) -> Sequence[Any]:
        if self._parse is None:
            return self._reader.__getitems__(indices)
        columns = self._parse(self._reader, indices, self._epoch)
        return [{name: column[i] for name, column in columns.items()} for i in range(len(indices))]

    def __repr__(self) -> str:
        return f"fastrec.grain.Source({_describe(self._reader)}, features={self._features!r})"


def collate(rows: Sequence[Any]) -> Any:
    """Make a batch of rows of a :class:`Source`, as the `batch_fn` of Grain's ``batch``.

    Bytes become an array of objects. Grain itself makes one of NumPy's dtype ``S``, which loses NUL
    bytes at the end of each.

    Parameters
    ----------
    rows : sequence of dict, or of bytes
        Elements of a Source. Arrays of a feature must have one shape.

    Returns
    -------
    dict of str to ndarray, or ndarray

    Raises
    ------
    ValueError
        If arrays of a feature differ in shape.

    Examples
    --------
    >>> collate([{"raw": b"1"}, {"raw": b"2\\0"}])
    {'raw': array([b'1', b'2\\x00'], dtype=object)}
    """
    if isinstance(rows[0], Mapping):
        return {name: collate([row[name] for row in rows]) for name in rows[0]}
    if isinstance(rows[0], bytes):
        return np.array(rows, dtype=object)
    return np.stack(rows)


class BatchMapDataset(grain.MapDataset):  # type: ignore[misc]
    """Batches by number: element ``i`` is batch ``i`` of parsed records, read and parsed at once.

    Slicing (``ds[index::count]`` for the shards of a job), ``map``, ``repeat``, ``to_iter_dataset``
    and ``mp_prefetch`` are Grain's own. An element holds a whole batch, so
    ``to_iter_dataset(grain.ReadOptions(num_threads=1, prefetch_buffer_size=4))`` reads far enough
    ahead.

    Parameters
    ----------
    source : path, glob pattern, list of these, or Reader
    features : mapping of str to feature
        What to read of each record.
    batch_size : int
    shuffle : bool
        A uniform permutation of all records, another one in each epoch (that is, each time through
        of ``repeat()``): the order of ``fastrec.Batcher(..., shuffle=True, seed=seed)``.
    seed : int
        Seed of the shuffle and of random transforms of images, which require it.
    drop_remainder : bool
        Leave out the last batch when it is short.

    Examples
    --------
    >>> import os, tempfile, fastrec, fastrec.grain
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write_batch({"x": np.arange(6)})
    >>> batches = BatchMapDataset(path, {"x": fastrec.FixedLenFeature((), np.int64)}, 4)
    >>> len(batches), batches[1]["x"]
    (2, array([4, 5]))
    """

    def __init__(
        self,
        source: Any,
        features: Mapping[str, Any],
        batch_size: int,
        *,
        shuffle: bool = False,
        seed: int | None = None,
        drop_remainder: bool = False,
    ) -> None:
        super().__init__()
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {batch_size}")
        if shuffle and seed is None:
            raise ValueError("shuffle requires seed")
        self._reader = source if isinstance(source, Reader) else Reader(source)
        self._features = dict(features)
        self._batch_size = batch_size
        self._seed = seed % 2**64 if shuffle and seed is not None else None
        self._drop_remainder = drop_remainder
        self._parse = KeyedParser(self._features, seed)

    def __len__(self) -> int:
        count = len(self._reader)
        return count // self._batch_size if self._drop_remainder else -(-count // self._batch_size)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self.slice(index)
        with self._stats.record_self_time():
            epoch, batch = divmod(as_index(index), len(self))
            begin, count = batch * self._batch_size, len(self._reader)
            end = min(begin + self._batch_size, count)
            if self._seed is None:
                numbers = np.arange(begin, end, dtype=np.uint64)
            else:
                numbers = permuted(count, self._seed, epoch % 2**64, begin, end)
            columns = self._parse(self._reader, numbers, epoch)
            return self._stats.record_output_spec(columns)

    def __str__(self) -> str:
        options = (f"batch_size={self._batch_size}", f"seed={self._seed}")
        return f"fastrec.grain.BatchMapDataset({_describe(self._reader, *options)})"


class BatchIterDataset(grain.IterDataset):  # type: ignore[misc]
    """The batches of a :class:`~fastrec.Batcher` in turn, made by its threads.

    Each ``iter()`` begins at the first epoch, as everywhere in Grain; ``epochs`` goes through
    several. The state of its iterators is that of :meth:`Batches.state_dict`, for Grain's and
    Orbax's checkpoints. The workers of ``mp_prefetch`` share the records out, but its threads make
    it fast without them.

    Parameters
    ----------
    source, features, batch_size, shuffle
        As for :class:`~fastrec.Batcher`.
    shard : (index, count), "auto" or None
        The share of this process; ``"auto"`` as :func:`~fastrec.find_shard` says, from JAX too.
    seed : int, optional
        Of the shuffle. Required where several processes shuffle, so that all have one order.
    **options
        Further ones of :class:`~fastrec.Batcher`.

    Examples
    --------
    >>> import os, tempfile, fastrec, fastrec.grain
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write_batch({"x": np.arange(6)})
    >>> features = {"x": fastrec.FixedLenFeature((), np.int64)}
    >>> [batch["x"].tolist() for batch in BatchIterDataset(path, features, 4)]
    [[0, 1, 2, 3], [4, 5]]
    """

    def __init__(
        self,
        source: Any,
        features: Mapping[str, Any] | None = None,
        batch_size: int | None = 1,
        *,
        shard: tuple[int, int] | Literal["auto"] | None = None,
        shuffle: Shuffle = False,
        seed: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        if isinstance(shard, str) and shard != "auto":
            raise ValueError(f"shard must be 'auto', (index, count) or None, got {shard!r}")
        index, count = find_shard() if isinstance(shard, str) else shard or (0, 1)
        if count > 1 and seed is None and shuffle:
            raise ValueError("shuffle in several processes requires seed, the same in all of them")
        self._options = {
            **options,
            "source": source,
            "features": features,
            "batch_size": batch_size,
            "shuffle": shuffle,
            "seed": secrets.randbits(63) if seed is None else seed,
        }
        self._share: tuple[Any, Any] = index, count
        self._make()

    def _make(self) -> Batcher:
        return Batcher(**self._options, shard=self._share)

    def set_slice(self, sl: slice, sequential_slice: bool = False) -> None:
        """Take one worker's part, as ``mp_prefetch`` deals them out."""
        index, count = self._share
        workers, worker = sl.step or 1, sl.start or 0
        self._share = index * workers + worker, count * workers

    def __iter__(self) -> grain.DatasetIterator:
        return _BatchIterator(self._make())

    def __str__(self) -> str:
        return f"fastrec.grain.BatchIterDataset(shard={self._share})"


class _BatchIterator(grain.DatasetIterator):  # type: ignore[misc]
    """The iterator of :class:`BatchIterDataset`."""

    def __init__(self, batcher: Batcher) -> None:
        super().__init__()
        self._batcher = batcher
        self._batches = iter(batcher)

    def __next__(self) -> Any:
        self._assert_not_closed()
        return next(self._batches)

    def get_state(self) -> dict[str, Any]:
        return self._batches.state_dict()

    def set_state(self, state: dict[str, Any]) -> None:
        self._batches.close()
        self._batcher.load_state_dict(state)
        self._batches = iter(self._batcher)

    def close(self) -> None:
        super().close()
        self._batches.close()

    def __str__(self) -> str:
        return f"fastrec.grain.BatchIterDataset({self._batches!r})"
