# SPDX-License-Identifier: Apache-2.0
"""Find the files that a source names: paths, patterns, directories, URLs, and lists of these."""

from __future__ import annotations

import errno
import glob
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Union

from ..arguments import check_path, shown
from ..storage.remote import RemoteFile
from ..storage.urls import local_path
from .patterns import brace_words, matching_files
from .shard_sets import Shards, check_shards, check_shards_option, shard_count
from .side_files import is_leftover, is_side_file

if TYPE_CHECKING:
    from ..storage.options import StorageOptions

__all__ = [
    "DATASET_SUFFIX",
    "INDEX_SUFFIX",
    "NO_FILES",
    "PACKED_SUFFIXES",
    "PathLike",
    "beside",
    "dataset_path",
    "expand",
    "index_path",
    "is_dataset_index",
    "is_path",
    "is_record_name",
    "is_remote",
    "resolve",
    "shard_paths",
]

INDEX_SUFFIX = ".frindex"
DATASET_SUFFIX = ".frdataset"
PACKED_SUFFIXES = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".lz4": "lz4"}

_RECORD_NAME = re.compile(
    r"(?is).*\.tfrecord.*"
    r"|(?:.*\.(?:tfrec|tfr|records?)|part-[^.]*)(?:\.(?:gz|gzip|zz|zlib|deflate|zst))?"
)
_SPEC = re.compile(r"(?s)(.+)@(\d{1,6}|\*)([^/@]*)")  # name@10, name@*, name@10.gz
NO_FILES = "no files to read: the list of paths is empty"
_NO_STANDARD_INPUT = "no such file; - is standard input only for commands: use sys.stdin.buffer"
_NO_HOME = "no such file; ~ is not expanded: use os.path.expanduser()"
_NO_VARIABLES = "no such file; variables are not expanded: use os.path.expandvars()"
_NO_BRACES = "no such file; braces are not expanded: pass a list of names"
_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)
_NAMED = 3  # maximum number of a directory's files in a message

PathLike = Union[str, bytes, "os.PathLike[Any]"]
_File = str | bytes | RemoteFile


def is_path(source: object) -> bool:
    """Return whether a source is a path."""
    return isinstance(source, (str, bytes, os.PathLike))


def is_dataset_index(source: object) -> bool:
    """Return whether a source is a single dataset index."""
    if not isinstance(source, (str, bytes, os.PathLike)):
        return False
    name = os.fsdecode(source).partition("?")[0]
    return name.endswith(DATASET_SUFFIX) and not glob.has_magic(name)


def is_record_name(name: str) -> bool:
    """Return whether a file with this base name counts as a record file in its directory.

    Accepted names contain ``.tfrecord``, or end in ``.tfrec``, ``.tfr``, ``.record`` or
    ``.records``, or have the form ``part-00000`` without a suffix. A final ``.gz`` is allowed. Case
    is ignored.
    """
    if name[0] == "." or is_side_file(name):
        return False
    return ".tfrecord" in name or _RECORD_NAME.fullmatch(name) is not None


def expand(
    source: PathLike | Iterable[PathLike],
    storage: StorageOptions | None = None,
    *,
    shards: Shards = "complete",
    late: bool = False,
) -> list[str | bytes | RemoteFile]:
    """Return the files that a path, a URL, a pattern, or a list of these names, in order.

    An existing name is used unchanged, even if it contains special characters. A warning
    says if such a name with ``*``, ``?`` or ``@10`` also names other files. Otherwise

    * a name with ``*``, ``?`` or ``[`` is a pattern; its matches are sorted, and ``**`` matches
      across directories; of a matching directory, its record files are read;
    * braces (``{a,b}``, ``{00..15}``) and commas separate names;
    * ``name@10``, ``name@10.gz`` and ``name@*`` are the shards ``name-00000-of-00010`` and so on;
    * ``name.frdataset``, a dataset index, is replaced by the files that it describes.

    A directory expands to its files whose names :func:`is_record_name` accepts. Patterns and
    directories skip side files. For `shards`, see :mod:`fastrec.records.shard_sets`. With `late`,
    each of many named objects may be opened when it is needed; an object that does not exist raises
    FileNotFoundError then.

    Raises
    ------
    FileNotFoundError
        If a file does not exist, or a pattern has no match.
    IsADirectoryError
        If a directory contains no record files.
    MissingRecordsError
        If shards are missing or mixed.
    OSError
        If a directory cannot be listed. A pattern does not skip such a directory.
    """
    check_shards_option(shards)
    files, chosen = resolve(source, storage, late=late)
    if shards == "complete":
        check_shards(files, chosen)
    return files


def resolve(
    source: PathLike | Iterable[PathLike],
    storage: StorageOptions | None = None,
    *,
    late: bool = False,
) -> tuple[list[str | bytes | RemoteFile], set[str]]:
    """Return the files that a source names, and the set of files that it names exactly.

    Shard sets are not checked; see :func:`expand` for the rest.
    """
    if is_path(source):
        entries: list[Any] = [source]
    elif hasattr(source, "read"):
        raise TypeError(
            f"source must have a name, got the open file {shown(source)}; save it first"
        )
    elif isinstance(source, Iterable) and not _is_no_list(source):
        entries = list(source)
        if isinstance(source, (set, frozenset)):  # its order differs from process to process
            entries.sort(key=lambda entry: os.fsdecode(entry) if is_path(entry) else "")
    elif isinstance(source, (bytearray, memoryview)):
        raise TypeError(
            f"source must be a path or a file, got {shown(source)}; io.BytesIO(source) is a file"
        )
    else:
        raise TypeError(
            "source must be a path, a pattern, a list of these or a binary file, got "
            f"{shown(source)}"
        )
    for entry in entries:
        check_path("source", entry)
    chosen: set[str] = set()
    return _files_of(entries, storage, chosen, late), chosen


def _is_no_list(source: object) -> bool:
    is_data = isinstance(source, (bytearray, memoryview, Mapping))
    return is_data or getattr(source, "shape", None) == ()


def _files_of(
    entries: list[Any], storage: StorageOptions | None, chosen: set[str], late: bool = False
) -> list[_File]:
    """Return the files of all entries; add the exactly named files to `chosen`."""
    described = {n: _described(each, storage) for n, each in enumerate(entries)
                 if is_dataset_index(each)}  # fmt: skip
    plain = [each for n, each in enumerate(entries) if n not in described]
    remote = [each for each in plain if is_remote(each, storage)]
    objects = iter(_objects_of(remote, storage, chosen, late) if remote else ())
    files: list[_File] = []
    for number, each in enumerate(entries):
        if number in described:
            files += described[number]
        elif remote and is_remote(each, storage):
            files += next(objects)
        else:
            files += _local_files(each, chosen)
    return files


def _described(path: PathLike, storage: StorageOptions | None) -> list[_File]:
    """Return the files that a dataset index describes."""
    from .dataset_index import DatasetIndex

    return [*DatasetIndex.open(path, storage_options=storage).checked_files()]


def is_remote(path: PathLike, storage: StorageOptions | None) -> bool:
    """Return whether a path names an object in a store, by URL or in the options' file system."""
    if isinstance(path, RemoteFile) or (storage is not None and storage.filesystem is not None):
        return True
    name = os.fsdecode(path)
    named = re.match(r"[a-z][a-z0-9+.-]*://", name) and not name.startswith("file://")
    return bool(named) and not os.path.lexists(name)


def _local_files(source: PathLike, chosen: set[str]) -> list[_File]:
    """Return the local files that one entry names."""
    path: str | bytes = os.fspath(local_path(source))
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        name = os.fsdecode(path)
        if os.path.islink(path) and error.errno == errno.ENOENT:
            raise FileNotFoundError(errno.ENOENT, _dangling(name), name) from None
        if os.path.lexists(path) or not (glob.has_magic(name) or error.errno in _NOT_THERE):
            raise
        files: list[Any] = [*_matching(name)] if glob.has_magic(name) else []
        files = files or _files_by_other_names(name, None, chosen) or []
        if not files:
            raise _not_found(name, error) from None
        return [os.fsencode(each) for each in files] if isinstance(path, bytes) else files
    if stat.S_ISDIR(mode):
        return [*_record_files(path)]
    _warn_of_others(os.fsdecode(path))
    chosen.add(os.fsdecode(path))
    return [path]


def _warn_of_others(name: str) -> None:
    """Warn if the name of an existing file also names other files, by ``*``, ``?`` or ``@``.

    A command with a wrong output may have written such a file. Brackets, braces and commas are not
    checked, because they occur in ordinary names.
    """
    others = matching_files(name) if re.search(r"[*?]", name) else []
    for [pattern], count in _shard_patterns(name):
        shards = matching_files(pattern)
        others += [each for each in shards if count < 0 or shard_count(each) == count]
    if others := [each for each in others if each != name]:
        from ..storage.listing import warn_of_hidden

        warn_of_hidden(name, others[0])


def _matching(pattern: str) -> Iterator[str]:
    """Yield the files that match, and the record files in each directory that matches."""
    for name in matching_files(pattern):
        if name[-1] == os.sep:
            yield from map(os.fsdecode, _record_files(name.rstrip(os.sep) or name))
        else:
            yield name


def _dangling(name: str) -> str:
    return f"a symbolic link to {os.readlink(name)!a}, which does not exist"


def _objects_of(
    urls: list[Any], storage: StorageOptions | None, chosen: set[str], late: bool
) -> list[list[_File]]:
    """Return the objects that each URL names."""
    from ..storage.listing import expand_urls
    from ..storage.options import StorageOptions

    options = storage or StorageOptions()
    # Plain URLs share one round of requests; URLs with braces, commas or @ are tried individually.
    plain = [url for url in urls if isinstance(url, RemoteFile) or not _other_names(_name(url))]
    find = partial(
        expand_urls,
        options=options,
        is_record_file=is_record_name,
        is_side_key=_is_side_key,
        late=late,
    )
    batch = iter(find(plain) if plain else ())
    found: list[list[Any]] = []
    for url in urls:
        files: list[Any]
        if isinstance(url, RemoteFile) or not _other_names(_name(url)):
            files = next(batch)
        else:
            try:
                [files] = find([url])
            except FileNotFoundError:
                files = _files_by_other_names(_name(url), storage, chosen) or []
                if not files:
                    raise
                found.append(files)
                continue
        if len(files) == 1 and _base_name(_name(url)) == _base_name(files[0].name):
            chosen.add(files[0].name)
        found.append(files)
    return found


def _is_side_key(key: str) -> bool:
    """Return whether a pattern skips an object, by its key below the pattern's folder."""
    *folders, name = key.split("/")
    return is_side_file(name) or any(map(is_leftover, folders))


def _name(path: PathLike) -> str:
    return os.fsdecode(path)


def _base_name(url: str) -> str:
    return url.partition("?")[0].rpartition("/")[2]


def _other_names(name: str) -> list[tuple[list[str], int | None]]:
    """Return the interpretations of a nonexistent name, the most likely first.

    Each one is a list of names, and the number of shards if the names are shard patterns.
    """
    found: list[tuple[list[str], int | None]] = []
    if "{" in name and len(words := brace_words(name)) > 1:
        found.append((words, None))
    if "," in name and all(pieces := [piece.strip() for piece in name.split(",")]):
        found.append((pieces, None))
    return [*found, *_shard_patterns(name)]


def _shard_patterns(name: str) -> Iterator[tuple[list[str], int]]:
    """Yield the patterns of the shards that ``@`` in a name means, and the number of shards.

    Each pattern is a list of one element; the number is -1 for any number of shards.
    """
    if "@" in name and (match := _SPEC.fullmatch(name)) is not None:
        base, count, suffix = match.groups()
        root, kind = os.path.splitext(base)
        for head, tail in ((base, suffix), (root, kind + suffix)):
            pattern = f"{glob.escape(head)}-[0-9]*-of-[0-9]*{glob.escape(tail)}"
            yield [pattern], -1 if count == "*" else int(count)


def _files_by_other_names(
    name: str, storage: StorageOptions | None, chosen: set[str]
) -> list[_File] | None:
    """Return the files of the first interpretation of a name that yields any, or None."""
    for names, count in _other_names(name):
        try:
            files = _files_of(names, storage, chosen)
        except FileNotFoundError as error:
            if count is None and error.filename != names[0]:
                raise  # an earlier name exists, but this one does not
            continue
        if count is not None and count >= 0:
            files = [each for each in files if shard_count(_name(each)) == count]
        if files:
            return files
    return None


def _not_found(name: str, error: OSError) -> OSError:
    """Return the error about a local name that yields no file, with a hint how to fix it."""
    if glob.has_magic(name):
        return FileNotFoundError(errno.ENOENT, "no file matches the pattern", name)
    if name == "-":
        return FileNotFoundError(errno.ENOENT, _NO_STANDARD_INPUT, name)
    if name.startswith("~"):
        return FileNotFoundError(errno.ENOENT, _NO_HOME, name)
    if (match := _SPEC.fullmatch(name)) is not None:
        text = (
            f"no such file, and no shard named '{match[1]}-00000-of-{int(match[2]):05d}{match[3]}'"
        )
        return FileNotFoundError(errno.ENOENT, text, name)
    if "$" in name:
        return FileNotFoundError(errno.ENOENT, _NO_VARIABLES, name)
    if re.search(r"\{[^{}]*[,.][^{}]*\}", name):
        return FileNotFoundError(errno.ENOENT, _NO_BRACES, name)
    root, suffix = os.path.splitext(name)
    for pattern in (f"{root}-*-of-*{suffix}", f"{name}-*-of-*"):
        head, _, tail = map(glob.escape, pattern.partition("-*-of-*"))
        shards = matching_files(f"{head}-[0-9]*-of-[0-9]*{tail}")
        if shards:
            text = f"no such file; {len(shards)} shards of it are there: {pattern!a} reads them"
            return FileNotFoundError(errno.ENOENT, text, name)
    return error


def _record_files(directory: str | bytes) -> list[str | bytes]:
    with os.scandir(os.fsdecode(directory)) as listed:
        entries = sorted(listed, key=lambda entry: entry.name)
    # A link to a missing file stays in the list: opening it is an error, skipping it a loss.
    files = [each.path for each in entries if is_record_name(each.name) and not each.is_dir()]
    if not files:
        raise _no_records(os.fsdecode(directory), entries)
    return [os.fsencode(path) for path in files] if isinstance(directory, bytes) else [*files]


def _no_records(directory: str, entries: list[os.DirEntry[str]]) -> IsADirectoryError:
    """Return the error about a directory without record files, with a pattern that may help."""
    shown = [each for each in entries if each.name[0] != "." and not is_side_file(each.name)]
    files = [each.name for each in shown if each.is_file()]
    folders = [each.name for each in shown if each.is_dir()]
    text = "no record files in this directory"
    if names := files or [f"{name}/" for name in folders]:
        some = ", ".join(ascii(name) for name in names[:_NAMED])
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        pattern = os.path.join(directory, "*" if files else "**/*.tfrecord*")
        text += f", which has {some}{more}; a pattern names files of any name, such as {pattern!a}"
    return IsADirectoryError(errno.EISDIR, text, directory)


def index_path(path: PathLike) -> str | bytes:
    """Return the path of a file's index, next to the file."""
    name: str | bytes = os.fspath(path)
    if isinstance(name, bytes):
        return name + INDEX_SUFFIX.encode()
    return beside(name, INDEX_SUFFIX)


def beside(path: str, suffix: str) -> str:
    """Return the path of a file whose name has an additional suffix; a URL keeps its query."""
    if not path.startswith(("http://", "https://")):
        return path + suffix
    place, mark, query = path.partition("?")
    return f"{place}{suffix}{mark}{query}"


def dataset_path(path: PathLike) -> str:
    """Convert ``train.tfrecord`` or ``train.tfrecord.gz`` to ``train.frdataset``; keep a query."""
    name, mark, query = os.fsdecode(path), "", ""
    if name.startswith(("http://", "https://")):
        name, mark, query = name.partition("?")
    root, suffix = os.path.splitext(name)
    if suffix.lower() in PACKED_SUFFIXES:
        root = os.path.splitext(root)[0]
    return f"{root}{DATASET_SUFFIX}{mark}{query}"


def shard_paths(path: PathLike, shards: int, number: int | None = None) -> list[str]:
    """Return shard names: ``train.tfrecord`` in 3 shards is ``train-00000-of-00003.tfrecord``...

    ``train.csv.gz`` likewise becomes ``train-00000-of-00003.csv.gz``. With `number`, return the
    temporary name of one shard, for use while the number of shards is unknown.
    """
    root, suffix = os.path.splitext(os.fsdecode(path))
    if suffix.lower() in PACKED_SUFFIXES:
        inner, kind = os.path.splitext(root)
        if kind[1:].isalpha():  # excludes the 5 of v1.5.gz
            root, suffix = inner, kind + suffix
    if number is not None:
        return [f"{root}-{number:05d}{suffix}"]
    return [f"{root}-{shard:05d}-of-{shards:05d}{suffix}" for shard in range(shards)]
