# SPDX-License-Identifier: Apache-2.0
"""Access records by number: choose the dataset implementation, and find or build its indexes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..errors import CorruptRecordError, IndexMismatchError, RandomAccessError, warn_caller
from ..storage.ahead import Ahead, Job, run_all
from ..storage.remote import RemoteFile
from . import compression as streams
from .byte_sources import head_of
from .framing import HEAD_SIZE
from .index import Index
from .inflated_dataset import InflatedDataset, InflatedFile
from .passes import Pass
from .paths import index_path
from .remote_dataset import IndexList, RemoteDataset
from .remote_indexes import FEW, Kept, LateIndexes, index_beside, load_indexes

if TYPE_CHECKING:
    from .record_files import RecordFiles

__all__ = ["dataset_of", "find_indexes", "read_heads"]


def dataset_of(files: RecordFiles) -> _core.Dataset | RemoteDataset:
    """Return a dataset of the records by number; this loads or builds indexes.

    Raises
    ------
    RandomAccessError
        If the records can only be read in sequence.
    OSError, CorruptRecordError, TruncatedFileError, IndexMismatchError
    """
    if files.is_followed:
        raise RandomAccessError("a file that is followed has no random access")
    if (name := files.sequential_source()) is not None:
        raise RandomAccessError(
            "random access requires regular files given by path, all of them compressed or "
            f"none, and those in a local file system; {name} can only be iterated over"
        )
    if files.remote and files.cache is None:
        return _make_remote(files)
    places = _local_places(files)
    if files.are_packed:
        return _make_inflated(files, places)
    make = partial(_core.Dataset, files.paths, places=places, **files.options)
    if files.described is not None and files.index is not True and files.on_error == "raise":
        listed = np.stack([files.described.sizes, files.described.counts], axis=1)
        listed = np.ascontiguousarray(listed, np.uint64)
        return make(listed=listed, beside=None if files.index is False else _warn)
    if files.opens_late:
        assert files.listed is not None
        listed = np.array([(file.size, file.records) for file in files.listed.entries], np.uint64)
        return make(listed=listed, beside=None if files.index is False else _warn)
    if files.on_error != "raise" and files.counts_damaged:
        return _make_by_headers(files, places, make)
    if files.on_error != "raise":
        # The numbers must agree with iteration, which only counts the records that it yields.
        return make(indexes=_damaged_indexes(files))
    if files.index is True and not files.remote:
        return make(beside=True)
    if isinstance(files.index, str) and files.index == "auto":
        return make(beside=_warn)
    return make(indexes=_given_index(files))


def _make_by_headers(
    files: RecordFiles, places: list[str | bytes], make: Callable[..., _core.Dataset]
) -> _core.Dataset:
    """Number the records of local files by their headers.

    Only files with a damaged header are read from start to end.
    """
    try:
        return make()
    except CorruptRecordError:
        damage = files.policy()
    indexes = []
    for number, (path, place) in enumerate(zip(files.paths, places, strict=True)):
        try:
            alone = _core.Dataset([path], places=[place], **files.options)
            indexes.append(alone.index_of(0))
        except CorruptRecordError:
            indexes.append(files.open(number, damage).index())
    return make(indexes=indexes)


def _make_inflated(files: RecordFiles, places: list[str | bytes]) -> InflatedDataset:
    found: Iterable[tuple[Index, IndexMismatchError | None]]
    _check_index_option(files)
    jobs = [
        partial(_inflated_index, files, *each) for each in zip(files.paths, places, strict=True)
    ]
    if files.on_error == "raise":
        threads = files.threads
        found = Ahead((Job(job, 0) for job in jobs), budget=1, threads=threads, most=threads)
    else:
        found = (job(None) for job in jobs)
    inflated = []
    for path, place, (index, refused) in zip(files.paths, places, found, strict=True):
        if refused is not None:
            _warn(refused)
        inflated.append(InflatedFile(path, place, index))
    return InflatedDataset(inflated, files.options, files.threads)


def _inflated_index(
    files: RecordFiles, path: str | bytes, place: str | bytes, pause: Any
) -> tuple[Index, IndexMismatchError | None]:
    """Return the index of a compressed file, from the file next to it or by inflating it."""
    option, refused = files.index, None
    if isinstance(option, Index):
        return option, None
    if files.described is not None and files.uses_checkpoints:
        return files.described._inflated_index(files.paths.index(path), place), None
    if option is not False and files.uses_checkpoints:
        beside = index_path(place) if option is True or option == "auto" else option
        assert not isinstance(beside, bool)
        try:
            return Index._load(path, place, beside), None
        except (IndexMismatchError, FileNotFoundError) as error:
            if option != "auto":
                raise
            refused = error if isinstance(error, IndexMismatchError) else None
    kind = streams.detect(head_of(place)) if files.compression == "auto" else files.compression
    assert kind is not None
    # If damaged records are skipped, the checksums of records determine the numbers.
    verify = files.options["verify"] and files.on_error != "raise"
    options = {**files.options, "verify": verify, "damage": files.policy()}
    return Index._inflated(path, place, kind, options, files.limits, pause), refused


def _damaged_indexes(files: RecordFiles) -> list[_core.FileIndex]:
    if len(files.indexes) == len(files.paths):
        return [files.indexes[number] for number in range(len(files.paths))]
    return [part.index() for part in Pass(files, files.policy(), views=False)]


def _make_remote(files: RecordFiles) -> RemoteDataset:
    if len(files.remote) != len(files.paths):
        raise RandomAccessError(
            "random access requires files that are all local or all remote; with "
            "StorageOptions(cache=...) the remote ones become local"
        )
    if files.on_error != "raise":
        _warn_of_reading(files)
        found = _damaged_indexes(files)
    elif files.described is not None:
        described = files.described.sections()
        return RemoteDataset(
            files.remote, described, files.storage, files.options, files.remote_size
        )
    elif files.counts_late:
        late = LateIndexes(files.remote, partial(_load_indexes, files))
        return RemoteDataset(files.remote, late, files.storage, files.options)
    elif isinstance(files.index, bool) or files.index == "auto":
        beside = None if files.index == "auto" else bool(files.index)
        run = None if files.begun is None else files.begun()
        kept: dict[int, Kept] | None = None if run is None or run.started else {}
        with _no_compressed(files):
            found = load_indexes(
                [*files.remote],
                files.storage,
                beside,
                files.options,
                known=files.indexes,
                kept=kept,
            )
        if run is not None and kept:
            run.kept = kept
    else:
        found = [index for index in _given_index(files) or [] if index is not None]
    files.indexes = {}
    return RemoteDataset(files.remote, IndexList(found), files.storage, files.options)


def read_heads(remote: Sequence[RemoteFile]) -> dict[str, bytes]:
    """Return the first bytes of objects, by name."""
    heads = run_all(partial(file.head, HEAD_SIZE) for file in remote)
    return {file.name: head for file, head in zip(remote, heads, strict=True)}


def find_indexes(files: RecordFiles) -> bool:
    """Return whether the first object has an index next to it, and so probably each object.

    The index is kept, and so are the indexes of the others if they are few. Their first bytes are
    requested at the same time. All of many objects with indexes are assumed to have the compression
    of the first one.
    """
    remote = files.remote
    some = remote[: 1 if len(remote) > FEW else None]
    detects = files.compression == "auto" and files._heads is None
    heads = [partial(file.head, HEAD_SIZE) for file in some if detects]
    indexes = [partial(index_beside, file, False) for file in some]
    results: list[Any] = run_all([*heads, *indexes])
    if files.index == "auto" and files.on_error == "raise":
        for number, index in enumerate(results[len(heads) :]):
            if index is not None:
                files.indexes.setdefault(number, index)
    has_index = results[len(heads)] is not None
    if heads and (has_index or len(some) == len(remote)):
        found = results[: len(heads)]
        found += found[:1] * (len(remote) - len(found))
        files._heads = {file.name: head for file, head in zip(remote, found, strict=True)}
    return has_index


def _load_indexes(files: RecordFiles, first: int, stop: int) -> list[_core.FileIndex]:
    """Return the indexes of the objects with the numbers `first` to `stop`."""
    known = {number - first: index for number, index in files.indexes.items() if number >= first}
    some = [*files.remote[first:stop]]
    with _no_compressed(files):
        return load_indexes(some, files.storage, None, files.options, known=known, kept=None)


@contextlib.contextmanager
def _no_compressed(files: RecordFiles) -> Iterator[None]:
    """Convert the error of a compressed object, if the compression of the first was assumed."""
    try:
        yield
    except CorruptRecordError as error:
        if files.compression != "auto" or error.content not in streams.CODECS:
            raise
        raise RandomAccessError(
            f"{error.path!a} is compressed ({error.content}), and {files.paths[0]!a} is not: "
            "objects of both kinds can only be read in sequence, without shuffle and shards; "
            "read them apart"
        ) from None


def _warn_of_reading(files: RecordFiles) -> None:
    size = files.remote_size
    if len(files.indexes) < len(files.paths) and size > files.storage.window_bytes:
        warn_caller(
            f"on_error={files.on_error!a} reads all {len(files.paths)} remote files "
            f"({size / 1e6:,.0f} MB) once to give their sound records numbers; on_error='raise' "
            "uses indexes, StorageOptions(cache=...) keeps copies"
        )


def _local_places(files: RecordFiles) -> list[str | bytes]:
    copies = iter(() if files.cache is None else files.cache.paths([*files.remote], keep=True))
    return [next(copies) if isinstance(p, RemoteFile) else p for p in files.places]


def _given_index(files: RecordFiles) -> list[_core.FileIndex | None] | None:
    option = files.index
    if option is False:
        return None
    if option is True:
        # Reading the headers of a cached copy is faster than fetching an index.
        return [
            None if isinstance(place, RemoteFile) else Index._read(path, index_path(place))._core
            for path, place in zip(files.paths, files.places, strict=True)
        ]
    _check_index_option(files)
    if not isinstance(option, Index):
        option = Index._read(files.paths[0], option)
    return [option._core]


def _check_index_option(files: RecordFiles) -> None:
    option = files.index
    if len(files.paths) != 1 and not isinstance(option, bool) and option != "auto":
        raise ValueError(f"index={option!r} requires a single file, got {len(files.paths)}")


def _warn(error: IndexMismatchError) -> None:
    """Warn that the index next to a file is not used."""
    warn_caller(str(error))
