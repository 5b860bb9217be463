# SPDX-License-Identifier: Apache-2.0
"""Rewrite record files with tasks on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import ray
import ray.exceptions

import fastrec

from ..arguments import checked_arguments
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
    """Rewrite record files as new files, in order or shuffled, with Ray tasks.

    The files contain the same records as the files that :func:`fastrec.reshard` writes with the
    same arguments; uncompressed files are identical byte for byte. With a seed, the order is that
    of ``Batcher(source, shuffle=True, seed=seed)`` in epoch 0. Everything is first written to the
    directory ``<target>.reshard`` next to the target, and moved into place at the end. A shuffle
    writes all records to that directory twice, so the disk needs space for two copies. A task that
    is lost with its worker is run again. There is no ``resume``, because only the driver knows
    which tasks are done. If the driver is lost, the target is unchanged; remove the directory and
    start the job again.

    Parameters
    ----------
    source : path, URL, glob pattern, directory, list of these
        Plain or compressed files. All nodes must see the source and the target under the same
        path, as on a file system that all of them mount, or as objects.
    target : path or URL
    shards, shard_bytes, shard_records : int, optional
        Number of files, or size of each file in bytes or records. One task writes each file. By
        default there is one file. For ``shard_bytes``, the driver holds four bytes per record.
    shuffle, seed, compression, level, overwrite
        As for :func:`fastrec.reshard`.
    on_error
        As for :func:`fastrec.reshard`; a callable must be picklable.
    progress : callable, optional
        Called as ``progress(done, total)`` after each task, with numbers of records. In a shuffle,
        each record counts twice.
    memory : int
        Approximate number of bytes of records that a task may hold at a time.
    work : path, optional
        If the target is a URL: a directory that all nodes can access, for files before upload.
    storage_options : StorageOptions or mapping, optional
        Options for URLs, as for :func:`read_tfrecords`.
    source_shards : {"complete", "any"}
        As for :func:`fastrec.reshard`.
    ray_remote_args : mapping, optional
        Arguments of ``ray.remote`` for the tasks: ``num_cpus``, ``memory``, ``max_retries``, ...

    Returns
    -------
    Resharded
        The number of records and the paths of the files.

    Raises
    ------
    OSError, CorruptRecordError, TruncatedFileError
        If reading or writing fails. The target is unchanged.
    FastrecError
        If a source file changes during the run.

    Examples
    --------
    >>> import ray, fastrec.ray
    >>> fastrec.ray.reshard(
    ...     "train-*.tfrecord", "mixed.tfrecord", shards=512, shuffle=True, seed=7
    ... )  # doctest: +SKIP
    """
    options = checked_arguments(reshard, locals())
    remote = dict(options.pop("ray_remote_args") or {})
    return reshard_by(partial(_run, remote), **options)


def _run(
    options: dict[str, Any],
    function: Callable[[Any, Any], Any],
    shared: Any,
    items: Sequence[Any],
    report: Callable[[int], object],
) -> list[Any]:
    """Return the results of a function in order; each call is one task."""
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
