# SPDX-License-Identifier: Apache-2.0
"""Check the rules for replacing files.

Every function and command that writes a file follows these rules (docs/writing.md states them for
users):

* An existing file is replaced only with ``overwrite=True``.
* An input of the same call is never replaced. Files are compared by device and inode, so that hard
  links, symbolic links and relative names of an input are recognised.
* A record file is only replaced by records, never by a table, an index, a manifest or a page.
* An index next to its record file, whose name the caller did not choose, replaces an older
  index, but never another kind of file.
* Only an index replaces an index or has the name of one, because patterns and directories skip
  these names.
* A set of shards replaces a whole set. If a set with the same name and another number of shards
  exists, this is an error without ``overwrite``, and the set is removed with ``overwrite``.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import stat
from collections.abc import Iterable, Sequence
from typing import Any

from .. import _core
from ..errors import FastrecError
from .compression import WRITABLE, Codec, Compression, compression_of_name, detect, normalize
from .inflate import inflate
from .paths import PathLike, is_remote, shard_paths

__all__ = [
    "EXISTS",
    "HEAD",
    "INDEXED",
    "INDEX_HEAD",
    "IS_INPUT",
    "NOT_INDEX",
    "NOT_RECORDS",
    "UNFINISHED",
    "begins_with_index",
    "begins_with_records",
    "check_name",
    "check_replaceable",
    "check_set",
    "exists_error",
    "holds_records",
    "is_index",
    "is_input_file",
    "output_compression",
    "remove_shards",
    "shard_pattern",
    "stale_shards",
]

EXISTS = "the file exists; overwrite=True replaces it"
UNFINISHED = "work of another call is here; resume=True goes on with it"

IS_INPUT = "an input of the same call cannot be replaced; name another file"
NOT_RECORDS = "a record file cannot be replaced by another kind of file; name another file"
NOT_INDEX = "an index cannot be replaced by another kind of file; name another file"
INDEXED = ("", ".frindex", ".frcolumns")  # suffixes of a record file and its indexes
_INDEX_NAMES = (".frindex", ".frcolumns", ".frdataset")
_INDEX = b"\x89FR"  # the first bytes of every index and column file
INDEX_HEAD = len(_INDEX)  # initial bytes that tell whether a file is an index
HEAD = 1 << 20  # initial bytes of a file that are searched for a record

_Identity = tuple[int, int]


def exists_error(path: str, text: str = EXISTS) -> FileExistsError:
    """Return the error for an output that must not be replaced."""
    return FileExistsError(17, text, path)


def output_compression(path: Any, compression: Compression) -> Codec | None:
    """Return the compression of a new file; ``"auto"`` follows the file's name."""
    if compression != "auto":
        kind = normalize(compression)
        if kind is not None and kind not in WRITABLE:
            raise ValueError(
                f"compression {kind!r} can be read, but not written; use None or 'GZIP'"
            )
        return kind
    is_name = isinstance(path, (str, bytes, os.PathLike))
    return compression_of_name(os.fsdecode(path)) if is_name else None


def check_replaceable(
    path: PathLike,
    *,
    overwrite: bool,
    records: bool = False,
    index: bool = False,
    inputs: Iterable[Any] = (),
) -> None:
    """Raise unless a new file may be written to a local path.

    Parameters
    ----------
    records, index
        Whether the new file will hold records, or be an index, so that it may replace one.
    inputs
        Paths or open files that the same call reads; URLs among them are ignored.

    Raises
    ------
    FileExistsError
    ValueError
        If a file that is not an index has the name of one.
    """
    name = os.fsdecode(path)
    if not index:
        check_name(name)
    try:
        there = os.stat(name)
    except FileNotFoundError:
        if os.path.islink(name) and not overwrite:
            raise exists_error(name) from None
        return
    if not overwrite:
        raise exists_error(name)
    if stat.S_ISDIR(there.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    if not stat.S_ISREG(there.st_mode):  # otherwise a regular file would replace /dev/full
        raise OSError(errno.EINVAL, "only regular files can be replaced", name)
    if (there.st_dev, there.st_ino) in _identities(inputs):
        raise exists_error(name, IS_INPUT)
    if not records and holds_records(name):
        raise exists_error(name, NOT_RECORDS)
    if not index and is_index(name):
        raise exists_error(name, NOT_INDEX)


def check_name(name: str) -> None:
    """Raise a ValueError for the name of an index, under which other data would not be found."""
    if name.endswith(_INDEX_NAMES):
        suffix = name[name.rindex(".") :]
        raise ValueError(
            f"the name of an output must not end in '{suffix}', got {name!a}: only an index may "
            f"have this name, and patterns skip it"
        )


def is_input_file(path: str, inputs: Iterable[Any]) -> bool:
    """Return whether a local path names one of the input files."""
    return bool(_identities([path]) & _identities(inputs))


def check_set(
    path: PathLike, sharded: bool, *, overwrite: bool, records: bool, inputs: Iterable[Any] = ()
) -> None:
    """Raise unless new files may be written for a shard set, as `check_replaceable` does.

    With `sharded`, `path` names a set of shards, and existing sets of any size are checked.
    """
    for each in _shards_of(path) if sharded else [path]:
        check_replaceable(each, overwrite=overwrite, records=records, inputs=inputs)


def remove_shards(paths: Iterable[str]) -> None:
    """Remove stale shards and their indexes, after the files of the new set are in place."""
    for path in paths:
        for suffix in INDEXED:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path + suffix)


def stale_shards(path: PathLike, written: Sequence[str]) -> list[str]:
    """Return the existing shards of the set `path` that are not in `written`."""
    new = {os.path.basename(each) for each in written}
    return [each for each in _shards_of(path) if os.path.basename(each) not in new]


def shard_pattern(name: str) -> re.Pattern[str]:
    """Return a pattern that matches the shard names of a set, for any number of shards."""
    [first] = shard_paths(name, 1)
    head, _, tail = first.rpartition("-00000-of-00001")
    return re.compile(re.escape(head) + "-[0-9]{5}-of-[0-9]{5}" + re.escape(tail))


def _shards_of(path: PathLike) -> list[str]:
    """Return the existing shards of a set, for any number of shards."""
    folder, name = os.path.split(os.fsdecode(path))
    pattern = shard_pattern(name)
    try:
        names = os.listdir(folder or ".")
    except (FileNotFoundError, NotADirectoryError):
        return []  # creating the file will report the error
    return [os.path.join(folder, each) for each in sorted(names) if pattern.fullmatch(each)]


def _identities(inputs: Iterable[Any]) -> set[_Identity]:
    found: set[_Identity] = set()
    for each in inputs:
        with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
            status = os.fstat(each.fileno()) if hasattr(each, "fileno") else os.stat(each)
            found.add((status.st_dev, status.st_ino))
    return found


def is_index(path: PathLike, storage: Any = None) -> bool:
    """Return whether a file is an index of fastrec, or the columns of one; True for an object."""
    if is_remote(path, storage):
        return True
    try:
        with open(path, "rb") as file:
            return begins_with_index(file.read(len(_INDEX)))
    except OSError:
        return False  # opening it for writing reports the error


def begins_with_index(head: bytes) -> bool:
    """Return whether a file is an index, or its columns, from its first bytes."""
    return head.startswith(_INDEX)


def holds_records(path: str) -> bool:
    """Return whether a file holds a TFRecord record within its first MiB, once decompressed."""
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD)
    except InterruptedError:
        pass  # Only close() raises this error, after the bytes were read.
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None
    return begins_with_records(head, path)


def begins_with_records(head: bytes, path: str) -> bool:
    """Return whether the first bytes of a file hold a TFRecord record, once decompressed."""
    kind = detect(head)
    if kind in WRITABLE:
        try:
            head = next(inflate(io.BytesIO(head).read, kind, path), b"")
        except ModuleNotFoundError:
            return True  # the library that shows the content is not installed
        except FastrecError:
            return False  # damaged before the first record
    if len(head) < 12:
        return False
    if head[8:12] == _core.masked_crc32c(head[:8]).to_bytes(4, "little"):
        return True  # also if the record is longer than 1 MiB
    found, _ = _core.RecordReader(path, read=io.BytesIO(head).read, begin=0).find()
    return found is not None
