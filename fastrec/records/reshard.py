# SPDX-License-Identifier: Apache-2.0
"""Rewrite record files: merge them, split them into shards or shuffle them, in bounded memory."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arguments import check_types
from ..columns import Bytes
from ..errors import FastrecError
from ..storage.ahead import run_all
from ..storage.options import StorageOptions
from ..storage.remote import RemoteFile
from ..storage.stores import locate
from ..storage.urls import local_path
from .byte_sources import NamedFile
from .compression import Compression
from .dealing import Bucket, deal
from .framing import FRAME_OVERHEAD
from .object_rules import are_there
from .output_rules import output_compression
from .paths import PathLike, expand, is_remote
from .reader import Reader
from .record_files import RecordFiles, Source
from .recovery import OnError
from .shard_layout import (
    Progress,
    Resharded,
    check_arguments,
    check_targets,
    publish,
    shard_names,
    shard_sizes,
    upload,
)
from .shard_sets import Shards
from .shard_writer import ShardWriter

__all__ = ["reshard"]

_FORMAT = "fastrec reshard"
_VERSION = 1
_BLOCK = 4096  # records
_BLOCK_BYTES = 16 << 20
_MOST_BUCKETS = 512  # maximum number of open files
_CHECKPOINTS = 16  # number of checkpoints while records are written to buckets
_SIZES = ("shards", "shard_bytes", "shard_records")
_STATE = "state.json"


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
    check_types(reshard, locals())
    compression = output_compression(target, compression)
    check_arguments(
        {"shards": shards, "shard_bytes": shard_bytes, "shard_records": shard_records},
        shuffle=shuffle,
        seed=seed,
        compression=compression,
        level=level,
        memory=memory,
    )
    storage, name = StorageOptions.of(storage_options), os.fsdecode(local_path(target))
    job = _Work(
        expand(source, storage, shards=source_shards),  # type: ignore[arg-type]
        name,
        _folder_of(name, work, storage, resume),
        {
            "shards": shards,
            "shard_bytes": shard_bytes,
            "shard_records": shard_records,
            "shuffle": bool(shuffle),
            "seed": seed,
            "compression": compression,
            "level": level,
            "memory": memory,
            "on_error": on_error if isinstance(on_error, str) else "callable",
        },
        on_error,
        progress,
        storage,
    )
    job.begin(resume)
    try:
        return job.run(overwrite, resume)
    except BaseException:
        if not resume and not job.publishing:
            shutil.rmtree(job.folder, ignore_errors=True)
        raise


def _folder_of(target: str, work: PathLike | None, storage: StorageOptions, resume: bool) -> str:
    """Return the directory for files that are not published yet."""
    if not is_remote(target, storage):
        if work is not None:
            raise ValueError("work requires a target that is a URL")
        return f"{target}.reshard"
    if work is not None:
        return os.fsdecode(local_path(work))
    if resume:
        raise ValueError("resume requires work, a local directory, where the target is a URL")
    import tempfile

    return os.path.join(tempfile.gettempdir(), f"fastrec-{secrets.token_hex(8)}.reshard")


class _Work:
    """A job and its progress, which a file in its directory stores."""

    def __init__(
        self,
        paths: list[Any],
        target: str,
        folder: str,
        options: dict[str, Any],
        on_error: OnError,
        progress: Progress | None,
        storage: StorageOptions,
    ) -> None:
        self._paths, self._target, self._options = paths, target, options
        self._on_error, self._progress = on_error, progress
        self._storage = storage
        self._uploads = is_remote(target, storage)
        self.folder = folder
        self._state: dict[str, Any] = {}
        self._written = 0
        self._offset = 0  # records reported as progress by the previous pass

    # -- The state -------------------------------------------------------------------------------

    @property
    def publishing(self) -> bool:
        """Whether files may have been published already."""
        return bool(self._state.get("publishing"))

    def _plan(self) -> dict[str, Any]:
        remote = [path for path in self._paths if isinstance(path, RemoteFile)]
        run_all(file.identify for file in remote if file.version is None)
        files = [_identity(path) for path in self._paths]
        plan = {"format": _FORMAT, "version": _VERSION, "files": files, "options": self._options}
        if self._uploads:
            plan["target"] = locate(self._target, self._storage).name
        return plan

    def _is_of_this_job(self) -> bool:
        """Compare the plan; published files may have replaced sources."""
        found, own = self._state["plan"], self._plan()
        if self.publishing:
            for each in (found, own):
                each["files"] = [file[:1] for file in each["files"]]
        return bool(found == own)

    def begin(self, resume: bool) -> None:
        """Create the directory, or load the state from it."""
        try:
            os.mkdir(self.folder, 0o700)
        except FileExistsError:
            if not resume:
                raise FileExistsError(
                    17, "work of another call is here; resume=True goes on with it", self.folder
                ) from None
            if self._load():
                return
        self._state = {"plan": self._plan(), "dealt": 0, "sizes": [], "shards": []}
        try:
            counts = self._count()
            if self._options["shuffle"] and self._options["seed"] is None:
                self._state["seed"] = secrets.randbits(64)
            self._state |= counts
            self._save()
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    def _load(self) -> bool:
        """Load the state, which must belong to this job; return False if there is no state."""
        try:
            with NamedFile(os.path.join(self.folder, _STATE)) as file:
                state = json.loads(file.read())
        except FileNotFoundError:
            return False  # the job was killed before it wrote a state
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{self.folder!a} has no valid state, remove it: {error}") from None
        self._state = state
        if not self._is_valid():
            raise ValueError(f"{self.folder!a} has no valid state, remove it")
        if not self._is_of_this_job():
            raise ValueError(
                f"{self.folder!a} has work of other arguments or other files; remove it"
            )
        self._check_shards()
        return True

    def _is_valid(self) -> bool:
        """Check the types and sums in a loaded state."""
        state = self._state
        if not isinstance(state, dict) or not isinstance(state.get("plan"), dict):
            return False
        listed = [state.get(name) for name in ("counts", "shards", "sizes")]
        single = [state.get("bytes"), state.get("dealt")]
        if not all(isinstance(each, list) for each in listed):
            return False
        numbers = [*single, *itertools.chain.from_iterable(listed)]  # type: ignore[arg-type]
        if not all(type(each) is int and 0 <= each < 2**63 for each in numbers):
            return False
        drawn = self._options["shuffle"] and self._options["seed"] is None
        if drawn and not (type(state.get("seed")) is int and 0 <= state["seed"] < 2**64):
            return False
        done = sum(state["shards"])
        whole = done == self._total if self.publishing else done <= self._total
        sizes = not state["sizes"] or (
            self._deals and len(state["sizes"]) + 1 == len(self._bounds())
        )
        counted = len(state["counts"]) == len(self._paths) and state["dealt"] <= self._total
        files = state["plan"].get("files")
        listed_files = isinstance(files, list) and all(isinstance(each, list) for each in files)
        return bool(whole and sizes and counted and listed_files)

    def _check_shards(self) -> None:
        """Raise unless all written files exist."""
        paths = self._targets()
        staged = [os.path.lexists(self._shard(number)) for number in range(len(paths))]
        if self.publishing and not all(staged):
            staged = [a or b for a, b in zip(staged, are_there(paths, self._storage), strict=True)]
        for number, there in enumerate(staged):
            if not there:
                raise ValueError(f"{self._shard(number)!a} is missing; remove {self.folder!a}")

    def _shard(self, number: int) -> str:
        return os.path.join(self.folder, f"shard-{number:05d}")

    def _targets(self) -> list[str]:
        """Return the names of the files that were written so far."""
        files = {name: self._options[name] for name in _SIZES}
        return shard_names(self._target, len(self._state["shards"]), files)

    def _save(self) -> None:
        text = json.dumps(self._state)
        writer = _core.RecordWriter(os.path.join(self.folder, _STATE))
        writer.write_frames(text.encode(), 0)
        writer.close()

    # -- Reading ---------------------------------------------------------------------------------

    def _open(self, verify: bool = True) -> RecordFiles:
        return RecordFiles(
            self._paths,
            verify=verify,
            on_error=self._on_error,
            index="auto" if self._remote else False,
            shards="any",
            storage_options=self._storage,
        )

    @cached_property
    def _remote(self) -> bool:
        """Whether sources are read over a network."""
        remote = any(isinstance(path, RemoteFile) for path in self._paths)
        return remote and self._storage.cache is None

    def _count(self) -> dict[str, Any]:
        """Return the number of records and their bytes, by file."""
        files = self._open()
        if self._has_numbers(files):
            counts = files.dataset().file_counts()
            size = sum(file.size for file in files.remote)
            return {"counts": counts, "bytes": size - FRAME_OVERHEAD * sum(counts)}
        found = [reader.walk() for reader in self._open(self._on_error != "raise").readers()]
        return {"counts": [each[0] for each in found], "bytes": sum(each[1] for each in found)}

    def _has_numbers(self, files: RecordFiles) -> bool:
        """Return whether the sources are objects that may all have an index."""
        every = self._remote and len(files.remote) == len(files.paths)
        return every and self._on_error == "raise" and not files.sequential

    @property
    def _total(self) -> int:
        return int(sum(self._state["counts"]))

    def _blocks(self, first: int) -> Iterator[Bytes]:
        """Yield records in file order, starting at number `first`."""
        files, counts = self._open(), self._state["counts"]
        damage, begin = files.policy(), 0
        while begin < len(counts) and first >= counts[begin]:
            first -= counts[begin]
            begin += 1
        places = files.places[begin:]
        remote = files.streams([place for place in places if isinstance(place, RemoteFile)])
        for number in range(begin, len(counts)):
            count = left = counts[number]
            reader = files.open(number, damage, remote=remote)
            while (block := reader.take(_BLOCK)) is not None:
                left -= len(block)
                if first < len(block):
                    yield block[first:] if first else block
                first = max(first - len(block), 0)
            if left:
                name = os.fsdecode(self._paths[number])
                raise FastrecError(
                    f"{name!a} has changed: it had {count} records, and has {count - left}"
                )

    # -- Work ------------------------------------------------------------------------------------

    def run(self, overwrite: bool, resumable: bool) -> Resharded:
        """Do the remaining work."""
        if not self.publishing:
            files = {name: self._options[name] for name in _SIZES}
            rules: dict[str, Any] = {
                "overwrite": overwrite,
                "inputs": self._paths,
                "storage": self._storage,
            }
            check_targets(self._target, files, **rules)
            self._write_shards()
            check_targets(self._target, files, **rules)
            self._state["publishing"] = True
            self._save()
        return self._publish(overwrite, resumable)

    def _sizes(self) -> Iterator[int | None]:
        """Yield the number of records for each file; None if its size in bytes decides."""
        if self._options["shard_bytes"] is None:
            yield from shard_sizes(
                self._total, self._options["shards"], self._options["shard_records"]
            )
            return
        yield None
        while self._written < self._total:
            yield None

    def _write_shards(self) -> None:
        done: list[int] = self._state["shards"]
        self._written = sum(done)
        kind, level = self._options["compression"], self._options["level"]
        source = _Source(self._ordered(self._written))
        for number, size in enumerate(self._sizes()):
            if number < len(done):
                continue
            with ShardWriter(self._shard(number), compression=kind, level=level) as writer:
                self._fill(writer, source, size)
            done.append(writer.count)
            self._save()
        if self._written != self._total:
            first = os.fsdecode(self._paths[0])
            raise FastrecError(f"{first!a} has changed while it was read, or others have")

    def _fill(self, writer: ShardWriter, source: _Source, size: int | None) -> None:
        """Write the records of one file."""
        left = self._options["shard_bytes"] if size is None else size
        while left > 0 and (block := source.peek()) is not None:
            ends = np.arange(1, len(block) + 1)
            if size is None:
                ends = ends * FRAME_OVERHEAD + block.offsets[1:] - block.offsets[0]
            count = min(int(np.searchsorted(ends, left)) + 1, len(block))
            left -= int(ends[count - 1])
            writer.write_many(source.take(count))
            self._written += count
            self._report(self._written)

    def _report(self, done: int) -> None:
        if self._progress is not None:
            self._progress(done + self._offset, self._total * (2 if self._deals else 1))

    def _publish(self, overwrite: bool, resumable: bool) -> Resharded:
        done, paths = self._state["shards"], self._targets()
        left = [(self._shard(number), path) for number, path in enumerate(paths)]
        # Files that no longer exist in the folder are already published.
        left = [pair for pair in left if os.path.lexists(pair[0])]
        if self._uploads:
            rules: dict[str, Any] = {"storage": self._storage, "resumable": resumable}
            upload(left, self.folder, self._target, paths, overwrite, **rules)
        else:
            publish(left, self.folder, self._target, paths, overwrite)
        return Resharded(sum(done), paths)

    # -- Order -----------------------------------------------------------------------------------

    def _ordered(self, first: int) -> Iterator[Bytes]:
        """Yield the records in output order, starting at position `first`."""
        if not self._options["shuffle"]:
            return self._blocks(first)
        if self._deals:
            self._deal()
            self._offset = self._total
            return self._from_buckets(first)
        reader = Reader(self._paths, index=False, shards="any", storage_options=self._storage)
        return self._picked(reader, self._permuted, first, self._total)

    @cached_property
    def _deals(self) -> bool:
        """Whether the records go through temporary files."""
        if not self._options["shuffle"]:
            return False
        if self._remote:
            return True
        fits = self._state["bytes"] <= self._options["memory"]
        return not fits or self._on_error != "raise" or self._open().sequential

    def _permuted(self, begin: int, end: int) -> NDArray[np.uint64]:
        seed = self._state.get("seed", self._options["seed"])
        return _core.permuted(self._total, int(seed), 0, begin, end)

    def _picked(
        self, reader: Reader, numbers: Callable[[int, int], Any], first: int, end: int
    ) -> Iterator[Bytes]:
        """Yield the records at output positions `first` to `end` in blocks."""
        mean = self._state["bytes"] // max(self._total, 1) + 1
        step = max(1, min(_BLOCK, _BLOCK_BYTES // mean))
        for place in range(first, end, step):
            yield reader.read_many(numbers(place, min(place + step, end)))

    def _bounds(self) -> list[int]:
        """Return the output positions at which buckets start, and the end."""
        size = self._state["bytes"] + self._total * FRAME_OVERHEAD
        count = max(1, -(-2 * size // self._options["memory"]))
        if count > _MOST_BUCKETS:
            least = -(-2 * size // _MOST_BUCKETS)
            raise ValueError(f"memory must be at least {least} bytes for these files")
        return [self._total * number // count for number in range(count + 1)]

    def _bucket(self, number: int) -> str:
        return os.path.join(self.folder, f"bucket-{number:05d}")

    def _from_buckets(self, first: int) -> Iterator[Bytes]:
        """Yield records from the buckets; each bucket holds its records in file order."""
        for number, (begin, end) in enumerate(itertools.pairwise(self._bounds())):
            if end <= first or begin == end:
                continue
            ranks = np.empty(end - begin, np.int64)
            ranks[np.argsort(self._permuted(begin, end))] = np.arange(end - begin)
            with Reader(self._bucket(number), compression=None, index=False) as reader:
                start = max(first - begin, 0)
                yield from self._picked(reader, partial(_part, ranks), start, len(ranks))

    def _deal(self) -> None:
        """Append each record to the bucket that contains its output position."""
        done, ends = self._state["dealt"], np.array(self._bounds()[1:], np.uint64)
        if done == self._total and done:
            return
        sizes = self._state["sizes"] or [0] * len(ends)
        seed = int(self._state.get("seed", self._options["seed"]))
        with contextlib.ExitStack() as stack:
            buckets = [
                stack.enter_context(Bucket(self._bucket(number), size))
                for number, size in enumerate(sizes)
            ]
            saved = done
            for block in self._blocks(done):
                places = _core.places_of(self._total, seed, 0, done, done + len(block))
                deal(block, np.searchsorted(ends, places, "right"), buckets)
                done += len(block)
                self._report(done)
                if done - saved >= self._total // _CHECKPOINTS:
                    saved = done
                    self._state |= {"dealt": done, "sizes": [each.flush() for each in buckets]}
                    self._save()
            self._state |= {"dealt": done, "sizes": [each.flush() for each in buckets]}
            self._save()


class _Source:
    """Blocks of records; any number of records can be taken at a time."""

    def __init__(self, blocks: Iterator[Bytes]) -> None:
        self._blocks, self._block = blocks, Bytes.from_list([])

    def peek(self) -> Bytes | None:
        """Return the rest of a block; None at the end."""
        while not len(self._block):
            if (block := next(self._blocks, None)) is None:
                return None
            self._block = block
        return self._block

    def take(self, count: int) -> Bytes:
        taken, self._block = self._block[:count], self._block[count:]
        return taken


def _identity(path: Any) -> list[Any]:
    """Return name, size and version of a source, for the state."""
    if isinstance(path, RemoteFile):
        return [path.name, path.size, path.version]
    found = os.stat(path)
    return [os.path.abspath(os.fsdecode(path)), found.st_size, found.st_mtime_ns]


def _part(ranks: NDArray[np.int64], begin: int, end: int) -> NDArray[np.int64]:
    return ranks[begin:end]
