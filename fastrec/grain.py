# SPDX-License-Identifier: Apache-2.0
"""Read record files as sources and datasets of Grain.

Requires the extra ``grain``: ``pip install 'fastrec-io[grain]'``.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from operator import index as as_index
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

try:
    import grain
except ModuleNotFoundError as _error:
    if _error.name != "grain":
        raise
    message = "fastrec.grain requires grain: pip install 'fastrec-io[grain]'"
    raise ModuleNotFoundError(message, name=_error.name) from None

from . import Batcher, Reader, SequenceFeatures, find_shard
from ._core import permuted
from .arguments import check_int
from .batches.block_shuffle import Shuffle
from .images.keyed import KeyedParser
from .parsing.by_number import take_records
from .parsing.left_out import LeftOut
from .parsing.parse import Misfits, ParseOnError
from .records.reader import record_numbers, usable_count
from .records.recovery import Skipped

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .batches.option_types import FurtherOptions

__all__ = ["BatchIterDataset", "BatchMapDataset", "Source", "collate"]


def _describe(reader: Reader, *more: str) -> str:
    """Return a description for Grain's checkpoints; it is equal for copies of the files."""
    names = [os.path.basename(os.fsdecode(path)) for path in reader.paths]
    files = repr(names[0]) if len(names) == 1 else f"{names[0]!r} and {len(names) - 1} more"
    return ", ".join([f"files={files}", f"records={len(reader)}", *more])


class Source:
    """A random-access source of single records, for ``grain.MapDataset.source`` and ``DataLoader``.

    Grain requests one record at a time from its source, which takes about 10 microseconds per
    record: :class:`BatchMapDataset` and :class:`BatchIterDataset` are many times faster. To batch
    rows with bytes features, or records, use ``batch(n, batch_fn=fastrec.grain.collate)``.

    Parameters
    ----------
    source : path, glob pattern, list of these, or Reader
    features : mapping of str to feature, optional
        Features to read from each record; elements are then dicts of NumPy arrays. By default,
        elements are the records as ``bytes``.
    seed : int, optional
        Seed of random image transforms, which require it. An image depends only on the seed, the
        epoch (see :meth:`set_epoch`) and the index.
    on_error : {"raise", "skip"} or callable
        ``"skip"`` leaves out records with damaged data and records that do not match the features:
        their elements are None, as after ``MapDataset.filter``, and ``to_iter_dataset`` omits them.
        Batch after ``to_iter_dataset``: ``MapDataset.batch`` refuses None. A callable gets the
        error of each such record. An error is raised if the first 100 requested records, and others
        from all over the source, cannot be used. More than a tenth causes a warning.

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
        self,
        source: Any,
        features: Mapping[str, Any] | None = None,
        *,
        seed: int | None = None,
        on_error: ParseOnError = "raise",
    ) -> None:
        self._reader = source if isinstance(source, Reader) else Reader(source)
        self._features = None if features is None else _checked(features)
        self._parse = None if self._features is None else KeyedParser(self._features, seed)
        self._epoch = 0
        self._left_out = LeftOut(on_error, "Source")

    @property
    def skipped(self) -> list[Skipped]:
        """Records left out so far by this process. Each worker process has a separate list."""
        return self._left_out.regions

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of random transforms; workers that have already started keep theirs."""
        epoch = check_int("epoch", epoch, 0, 2**62 - 1)
        self._epoch = epoch

    def __len__(self) -> int:
        return usable_count(self._reader)

    def __getitem__(self, index: Any) -> Any:
        if self._parse is None and not self._left_out.is_active:
            return self._reader[as_index(index)]
        return self._getitems([as_index(index)])[0]

    def _getitems(self, indices: Sequence[int]) -> Sequence[Any]:
        if not self._left_out.is_active:
            return self._elements(indices)
        numbers: list[int] = record_numbers(indices, len(self)).tolist()
        elements, kept = self._left_out.read(self._elements, numbers, self._reader)
        usable = dict(zip(kept, elements or (), strict=True))
        return [usable.get(number) for number in numbers]

    def _elements(self, indices: Sequence[int], misfits: Misfits | None = None) -> Sequence[Any]:
        if self._parse is None and misfits is None:
            return self._reader.__getitems__(indices)
        if self._parse is None:
            dataset = self._reader._files.dataset()
            return list(take_records(dataset, record_numbers(indices, len(dataset)), misfits))
        columns = self._parse(self._reader, indices, self._epoch, misfits=misfits)
        count = len(indices) - len(misfits or ())
        return [{name: column[i] for name, column in columns.items()} for i in range(count)]

    def __repr__(self) -> str:
        return f"fastrec.grain.Source({_describe(self._reader)}, features={self._features!r})"


def _checked(features: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(features, SequenceFeatures):
        raise TypeError("features must map names to features: BatchIterDataset reads feature lists")
    return dict(features)


def collate(rows: Sequence[Any]) -> Any:
    """Combine rows of a :class:`Source` to a batch; use it as `batch_fn` of Grain's ``batch``.

    Bytes become an array of objects. Grain's default is an array of NumPy's dtype ``S``, which
    loses NUL bytes at the end of each value.

    Parameters
    ----------
    rows : sequence of dict, or of bytes
        Elements of a Source. All arrays of a feature must have the same shape.

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
    """Batches by number: element ``i`` is batch ``i``, read and parsed in one call.

    Slicing (``ds[index::count]`` for the shards of a job), ``map``, ``repeat``, ``to_iter_dataset``
    and ``mp_prefetch`` are those of Grain. An element holds a whole batch, so
    ``to_iter_dataset(grain.ReadOptions(num_threads=1, prefetch_buffer_size=4))`` reads far enough
    ahead.

    Parameters
    ----------
    source : path, glob pattern, list of these, or Reader
    features : mapping of str to feature
        Features to read from each record.
    batch_size : int
    shuffle : bool
        Whether to read a uniform permutation of all records, which differs in each epoch (each
        repetition of ``repeat()``): the order of
        ``fastrec.Batcher(..., shuffle=True, seed=seed)``.
    seed : int
        Seed of the shuffle and of random image transforms, which require it.
    drop_remainder : bool
        Whether to drop the last batch if it is short.
    on_error : {"raise", "skip"} or callable
        ``"skip"`` leaves out records as in a :class:`Source`, so that a batch has fewer rows. A
        batch without a usable record is None.

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
        on_error: ParseOnError = "raise",
    ) -> None:
        super().__init__()
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {batch_size}")
        if shuffle and seed is None:
            raise ValueError("shuffle requires seed")
        self._reader = source if isinstance(source, Reader) else Reader(source)
        self._features = _checked(features)
        self._batch_size = batch_size
        self._seed = seed % 2**64 if shuffle and seed is not None else None
        self._drop_remainder = drop_remainder
        self._parse = KeyedParser(self._features, seed)
        self._left_out = LeftOut(on_error, "BatchMapDataset")

    @property
    def skipped(self) -> list[Skipped]:
        """Records left out so far by this process. Each worker process has a separate list."""
        return self._left_out.regions

    def __len__(self) -> int:
        count = usable_count(self._reader)
        return count // self._batch_size if self._drop_remainder else -(-count // self._batch_size)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self.slice(index)
        with self._stats.record_self_time():
            if not len(self):
                raise IndexError("batch index is out of range (0 batches)")
            epoch, batch = divmod(as_index(index), len(self))
            begin, count = batch * self._batch_size, len(self._reader)
            end = min(begin + self._batch_size, count)
            if self._seed is None:
                numbers = np.arange(begin, end, dtype=np.uint64)
            else:
                numbers = permuted(count, self._seed, epoch % 2**64, begin, end)
            columns: dict[str, Any] | None
            if self._left_out.is_active:
                columns, _ = self._left_out.read(
                    lambda some, misfits: self._parse(self._reader, some, epoch, None, misfits),
                    numbers.tolist(),
                    self._reader,
                )
            else:
                columns = self._parse(self._reader, numbers, epoch)
            return self._stats.record_output_spec(columns)

    def __str__(self) -> str:
        options = (f"batch_size={self._batch_size}", f"seed={self._seed}")
        return f"fastrec.grain.BatchMapDataset({_describe(self._reader, *options)})"


class BatchIterDataset(grain.IterDataset):  # type: ignore[misc]
    """The batches of a :class:`~fastrec.Batcher` in order, made by its threads.

    Each ``iter()`` starts at the first epoch, as usual in Grain; with ``epochs``, it covers
    several. The state of its iterators is the result of :meth:`Batches.state_dict`, and works with
    the checkpoints of Grain and Orbax. The workers of ``mp_prefetch`` divide the records among
    themselves, but the Batcher's threads make workers unnecessary.

    Parameters
    ----------
    source, features, batch_size, shuffle
        As for :class:`~fastrec.Batcher`.
    shard : (index, count), "auto" or None
        The shard of this process. ``"auto"`` uses :func:`~fastrec.find_shard`, which also supports
        JAX.
    seed : int, optional
        Seed of the shuffle. Required if several processes shuffle, so that all use the same order.
    **options
        Further options of :class:`~fastrec.Batcher`.

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
        uneven: Literal["longer", "drop", "pad"] = "longer",
        **options: Unpack[FurtherOptions],
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
            "uneven": uneven,
            "seed": secrets.randbits(63) if seed is None else seed,
        }
        self._share: tuple[Any, Any] = index, count
        self._make()

    def _make(self) -> Batcher:
        return Batcher(**self._options, shard=self._share)

    def set_slice(self, sl: slice, sequential_slice: bool = False) -> None:
        """Read only one worker's part, as ``mp_prefetch`` requests."""
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
