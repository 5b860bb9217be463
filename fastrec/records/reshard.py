# SPDX-License-Identifier: Apache-2.0
"""Rewrite record files: merge them, split them into shards or shuffle them, in bounded memory."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from typing import Any

import numpy as np

from ..arguments import checked_arguments
from ..columns import Bytes
from ..errors import FastrecError
from ..storage.locations import locate
from ..storage.options import StorageOptions
from ..storage.urls import local_path
from .compression import Compression
from .dealing import Buckets, picked
from .framing import FRAME_OVERHEAD
from .object_rules import are_there
from .output_rules import UNFINISHED
from .paths import PathLike
from .record_files import Source
from .recovery import OnError
from .reshard_sources import BlockQueue, Sources
from .reshard_state import JobState
from .shard_layout import Layout, Progress, Resharded
from .shard_sets import Shards
from .shard_writer import ShardWriter

__all__ = ["reshard"]

_FORMAT = "fastrec reshard"
_VERSION = 1


def reshard(
    source: Source,
    target: PathLike,
    *,
    shards: int | None = None,
    shard_bytes: int | None = None,
    shard_records: int | None = None,
    shuffle: bool = False,
    seed: int | None = None,
    compression: Compression = "auto",
    level: int | None = None,
    memory: int = 256 << 20,
    resume: bool = False,
    overwrite: bool = False,
    on_error: OnError = "raise",
    progress: Progress | None = None,
    work: PathLike | None = None,
    storage_options: StorageOptions | Mapping[str, Any] | None = None,
    source_shards: Shards = "complete",
) -> Resharded:
    """Rewrite record files as new files, in order or shuffled, in bounded memory.

    If shuffled, the order is exactly that of ``Batcher(source, shuffle=True, seed=seed)`` in
    epoch 0, a uniform permutation of all records. If the files are larger than `memory`, they are
    read once in sequence and distributed to temporary files that each fit into memory, and these
    are shuffled. The disk then needs space for two copies. All files are first written to a local
    directory (``<target>.reshard``, next to a local target), and moved into place or uploaded at
    the end.

    Parameters
    ----------
    source : path, URL, glob pattern, directory, list of these
        Plain or compressed files, which are read in this order. A target cannot replace a source.
        Objects without an index are read once more, at the beginning, to count their records.
    target : path or URL
    shards, shard_bytes, shard_records : int, optional
        Number of files, or size of each file in bytes or records, as for :class:`fastrec.Writer`.
        Unlike there, each file holds consecutive records. By default there is one file.
    shuffle : bool
        Whether to shuffle the records.
    seed : int, optional
        Seed of the shuffle, 0 to 2**64 - 1; random by default.
    compression, level
        Compression of the target, as for :class:`fastrec.Writer`.
    memory : int
        Approximate number of bytes of records to hold at a time.
    resume : bool
        Whether to keep the finished work if the call fails. Another call with the same arguments
        then continues: files and records that were written are not written again. Otherwise the
        leftovers of a failed call are removed.
    overwrite : bool
        Whether to replace existing files, but never a source, as for :class:`fastrec.Writer`.
    on_error : {"raise", "tolerate_tail", "skip"} or callable
        Policy for damage, as for :class:`fastrec.Reader`.
    progress : callable, optional
        Called as ``progress(done, total)``, with numbers of records. Each record counts twice if
        temporary files are used.
    work : path, optional
        If the target is a URL: the directory for files before upload. It is created, and removed at
        the end. By default it is a temporary directory, which does not support `resume`.
    storage_options : StorageOptions or mapping, optional
        Options for URLs, as for :class:`fastrec.Reader`.
    source_shards : {"complete", "any"}
        The option `shards` of :class:`fastrec.Reader`, for the source.

    Returns
    -------
    Resharded
        The number of records and the paths of the files.

    Raises
    ------
    OSError, CorruptRecordError, TruncatedFileError
        If reading or writing fails. A local target is unchanged. If the target is a URL, uploaded
        objects are deleted, except with `resume`, or if they have replaced existing objects: the
        error names these, and the directory is kept.
    ValueError
        If earlier work belongs to other arguments, or to files that have changed.

    Examples
    --------
    >>> import os, tempfile, fastrec
    >>> folder = tempfile.mkdtemp()
    >>> with fastrec.Writer(os.path.join(folder, "in.tfrecord"), shards=3) as writer:
    ...     writer.write_many([b"%d" % number for number in range(9)])
    >>> target = os.path.join(folder, "out.tfrecord")
    >>> done = reshard(writer.paths, target, shards=2, shuffle=True, seed=7)
    >>> done.records, [os.path.basename(path) for path in done.paths]
    (9, ['out-00000-of-00002.tfrecord', 'out-00001-of-00002.tfrecord'])
    >>> sorted(fastrec.Reader(done.paths))
    [b'0', b'1', b'2', b'3', b'4', b'5', b'6', b'7', b'8']
    """
    options = checked_arguments(reshard, locals())
    del options["source"], options["resume"]
    layout = Layout(**options | {"target": os.fsdecode(local_path(target))})
    job = _Job(layout.expand(source), layout, resume)
    job.begin()
    try:
        return job.run()
    except BaseException:
        if not resume and not job.publishing:
            shutil.rmtree(job.folder, ignore_errors=True)
        raise


def _folder_of(layout: Layout, resume: bool) -> str:
    """Return the directory for files that are not published yet."""
    if not layout.uploads:
        if layout.work is not None:
            raise ValueError("work requires a target that is a URL")
        return f"{layout.target}.reshard"
    if layout.work is not None:
        return os.fsdecode(local_path(layout.work))
    if resume:
        raise ValueError("resume requires work, a local directory, where the target is a URL")
    import tempfile

    return os.path.join(tempfile.gettempdir(), f"fastrec-{secrets.token_hex(8)}.reshard")


class _Job:
    """A job: its sources, its directory, and its progress there."""

    def __init__(self, paths: list[Any], layout: Layout, resumable: bool) -> None:
        self._sources = Sources(paths, layout.on_error, layout.storage_options)
        self._layout, self._resumable = layout, resumable
        self.folder = _folder_of(layout, resumable)
        self._written = 0

    @property
    def publishing(self) -> bool:
        """Whether files may have been published already."""
        return self._state.publishing

    # -- Begin or resume -------------------------------------------------------------------------

    def begin(self) -> None:
        """Create the directory, or load the state from it."""
        try:
            os.mkdir(self.folder, 0o700)
        except FileExistsError:
            if not self._resumable:
                raise FileExistsError(17, UNFINISHED, self.folder) from None
            if (state := JobState.load(self.folder)) is not None:
                self._state = state
                self._check_state()
                return
        try:
            seed = self._layout.seed
            if self._layout.shuffle and seed is None:
                seed = secrets.randbits(64)
            self._state = JobState(self._plan(), *self._sources.count(), seed)
            self._state.save(self.folder)
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    def _plan(self) -> dict[str, Any]:
        layout = self._layout
        names = ("shards", "shard_bytes", "shard_records", "seed", "compression", "level", "memory")
        options = {name: getattr(layout, name) for name in names}
        options["shuffle"] = bool(layout.shuffle)
        options["on_error"] = layout.on_error if isinstance(layout.on_error, str) else "callable"
        files = self._sources.identities()
        plan = {"format": _FORMAT, "version": _VERSION, "files": files, "options": options}
        if layout.uploads:
            plan["target"] = locate(layout.target, layout.storage_options).name
        return plan

    def _check_state(self) -> None:
        """Raise unless a loaded state belongs to this job, and all files that it names exist."""
        state, plan, stored = self._state, self._plan(), self._state.plan
        if self.publishing:  # published files may have replaced sources
            for each in (stored, plan):
                each["files"] = [file[:1] for file in each["files"]]
        if stored != plan:
            raise ValueError(
                f"{self.folder!a} has work of other arguments or other files; remove it"
            )
        is_seeded = (state.seed is not None) == bool(self._layout.shuffle)
        if not is_seeded or (state.sizes and len(state.sizes) != len(self._buckets or ())):
            raise ValueError(f"{self.folder!a} has no valid state, remove it")
        paths, storage = self._targets(), self._layout.storage_options
        staged = [os.path.lexists(self._shard(number)) for number in range(len(paths))]
        if self.publishing and not all(staged):
            staged = [a or b for a, b in zip(staged, are_there(paths, storage), strict=True)]
        for number, there in enumerate(staged):
            if not there:
                raise ValueError(f"{self._shard(number)!a} is missing; remove {self.folder!a}")

    # -- Work ------------------------------------------------------------------------------------

    def run(self) -> Resharded:
        """Do the remaining work."""
        if not self.publishing:
            try:
                self._layout.check_targets(self._sources.paths)
            except FileExistsError:
                if not (self._state.shards or self._state.dealt):  # the folder contains no records
                    shutil.rmtree(self.folder, ignore_errors=True)
                raise
            self._write_shards()
            self._layout.check_targets(self._sources.paths)
            self._state.publishing = True
            self._state.save(self.folder)
        return self._publish()

    def _write_shards(self) -> None:
        done = self._state.shards
        self._written = sum(done)
        kind, level = self._layout.compression, self._layout.level
        queue = BlockQueue(self._ordered(self._written))
        for number, size in enumerate(self._sizes()):
            if number < len(done):
                continue
            with ShardWriter(self._shard(number), compression=kind, level=level) as writer:
                self._fill(writer, queue, size)
            done.append(writer.count)
            self._state.save(self.folder)
        if self._written != self._state.total:
            first = os.fsdecode(self._sources.paths[0])
            raise FastrecError(f"{first!a} has changed while it was read, or others have")

    def _sizes(self) -> Iterator[int | None]:
        """Yield the number of records for each file; None if its size in bytes decides."""
        total = self._state.total
        if self._layout.shard_bytes is None:
            yield from self._layout.records(total)
            return
        yield None
        while self._written < total:
            yield None

    def _ordered(self, first: int) -> Iterator[Bytes]:
        """Yield the records in output order, starting at position `first`."""
        if not self._layout.shuffle:
            return self._sources.blocks(self._state.counts, first)
        if self._buckets is None:
            return picked(self._sources.reader(), self._state, None, first)
        self._buckets.fill(self._sources, partial(self._report, 0))
        return self._buckets.blocks(first)

    @cached_property
    def _buckets(self) -> Buckets | None:
        """Temporary files for the records; None if the sources can be read in output order."""
        if not self._layout.shuffle:
            return None
        memory = self._layout.memory
        if self._state.bytes <= memory and self._sources.have_random_access:
            return None
        return Buckets(self.folder, self._state, memory)

    def _fill(self, writer: ShardWriter, queue: BlockQueue, size: int | None) -> None:
        """Write the records of one file."""
        left = (self._layout.shard_bytes or 0) if size is None else size
        earlier = self._state.total if self._buckets is not None else 0
        while left > 0 and (block := queue.peek()) is not None:
            ends = np.arange(1, len(block) + 1)
            if size is None:
                ends = ends * FRAME_OVERHEAD + block.offsets[1:] - block.offsets[0]
            count = min(int(np.searchsorted(ends, left)) + 1, len(block))
            left -= int(ends[count - 1])
            writer.write_many(queue.take(count))
            self._written += count
            self._report(earlier, self._written)

    def _report(self, earlier: int, done: int) -> None:
        """Report `done` records of a pass, after the records of an earlier pass."""
        if self._layout.progress is not None:
            passes = 1 if self._buckets is None else 2
            self._layout.progress(earlier + done, passes * self._state.total)

    # -- Files -----------------------------------------------------------------------------------

    def _shard(self, number: int) -> str:
        return os.path.join(self.folder, f"shard-{number:05d}")

    def _targets(self) -> list[str]:
        """Return the names of the files that were written so far."""
        return self._layout.names(len(self._state.shards))

    def _publish(self) -> Resharded:
        done, paths = self._state.shards, self._targets()
        left = [(self._shard(number), path) for number, path in enumerate(paths)]
        # Files that no longer exist in the folder are already published.
        left = [pair for pair in left if os.path.lexists(pair[0])]
        self._layout.publish(left, self.folder, paths, resumable=self._resumable)
        return Resharded(sum(done), paths)
