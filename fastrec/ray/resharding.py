# SPDX-License-Identifier: Apache-2.0
"""Record files rewritten by the tasks of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import ray
import ray.exceptions

import fastrec

from ..records.compression import Compression
from ..records.recovery import OnError
from ..records.reshard_units import reshard_by
from ..records.shard_sets import Shards

__all__ = ["reshard"]


def reshard(
    source: Any,
    target: Any,
    *,
    shards: int | None = None,
    shard_bytes: int | None = None,
    shard_records: int | None = None,
    shuffle: bool = False,
    seed: int | None = None,
    compression: Compression = "auto",
    level: int | None = None,
    memory: int = 256 << 20,
    overwrite: bool = False,
    on_error: OnError = "raise",
    progress: Callable[[int, int], object] | None = None,
    work: Any = None,
    storage_options: Any = None,
    source_shards: Shards = "complete",
    ray_remote_args: Mapping[str, Any] | None = None,
) -> fastrec.Resharded:
    """Rewrite record files as others, in order or shuffled, by tasks of Ray.

    The files and their records are those that :func:`fastrec.reshard` writes with the same
    arguments, byte for byte where they are not compressed: with a seed, in the order of
    ``Batcher(source, shuffle=True, seed=seed)`` in epoch 0. Everything is written to the directory
    ``<target>.reshard`` beside the target first, and put in place at the end. A shuffle writes all
    records there once more before, so the disk needs room for two copies. A task that is lost with
    its worker is run again. There is no ``resume``: the driver alone knows which tasks are done, so
    a job whose driver is lost begins anew, once its directory was removed; the target is unchanged.

    Parameters
    ----------
    source : path, URL, glob pattern, directory, list of these
        Plain or compressed files. All nodes must see the source and the target under the same
        path, as on a file system that all of them mount, or as objects.
    target : path or URL
    shards, shard_bytes, shard_records : int, optional
        Number of files, or their size in bytes or records, each written by one task. Without these
        there is one file. For ``shard_bytes`` the driver holds four bytes for each record.
    shuffle, seed, compression, level, overwrite
        As for :func:`fastrec.reshard`.
    on_error
        As for :func:`fastrec.reshard`; a callable has to be one that can be pickled.
    progress : callable, optional
        ``progress(done, total)``, in records, after each task; in a shuffle each counts twice.
    memory : int
        Bytes of records that a task may hold at once, about.
    work : path, optional
        For a target that is a URL: a directory that all nodes see, for what is not uploaded yet.
    storage_options : StorageOptions or mapping, optional
        Of URLs, as for :func:`read_tfrecords`.
    source_shards : {"complete", "any"}
        As for :func:`fastrec.reshard`.
    ray_remote_args : mapping, optional
        Of the tasks, as for ``ray.remote``: ``num_cpus``, ``memory``, ``max_retries``, ...

    Returns
    -------
    Resharded
        Number of records, and paths of the files.

    Raises
    ------
    OSError, CorruptRecordError, TruncatedFileError
        The target is unchanged then.
    FastrecError
        If a source changes meanwhile.

    Examples
    --------
    >>> import ray, fastrec.ray
    >>> fastrec.ray.reshard(
    ...     "train-*.tfrecord", "mixed.tfrecord", shards=512, shuffle=True, seed=7
    ... )  # doctest: +SKIP
    """
    return reshard_by(
        partial(_run, dict(ray_remote_args or {})),
        source,
        target,
        shards=shards,
        shard_bytes=shard_bytes,
        shard_records=shard_records,
        shuffle=shuffle,
        seed=seed,
        compression=compression,
        level=level,
        memory=memory,
        overwrite=overwrite,
        on_error=on_error,
        progress=progress,
        work=work,
        storage_options=storage_options,
        source_shards=source_shards,
    )


def _run(
    options: dict[str, Any],
    function: Callable[[Any, Any], Any],
    shared: Any,
    items: Sequence[Any],
    report: Callable[[int], object],
) -> list[Any]:
    """The results of a function, each by a task, in order."""
    task = ray.remote(function).options(**options) if options else ray.remote(function)
    stored = ray.put(shared)
    numbers = {task.remote(stored, item): number for number, item in enumerate(items)}
    results: list[Any] = [None] * len(items)
    waiting = list(numbers)
    while waiting:
        (ready,), waiting = ray.wait(waiting)
        try:
            results[numbers[ready]] = ray.get(ready)
        except ray.exceptions.RayTaskError as error:
            raise error.cause from error
        report(numbers[ready])
    return results
