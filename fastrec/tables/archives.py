# SPDX-License-Identifier: Apache-2.0
"""Convert records to tar archives of samples (WebDataset), and such archives to records.

A first pass over the records finds the type of each feature, so that a feature has the same
extension in all samples. The second pass writes them.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .. import _core
from ..columns import Bytes
from ..errors import FastrecError
from ..records.compression import detect
from ..records.targets import read_file
from ..storage.options import StorageOptions
from ..storage.stores import public
from .conversion import Conversion, Done, refuse
from .new_files import NewFiles
from .samples import MEDIA_TYPES, Encoding, Layout, Row, Stored, decode, encode, rows_of, type_of
from .tar_members import END, check_key, comment_header, comment_of, member_header, padding

__all__ = ["are_tar", "read_archives", "write_archives"]

KEY = "__key__"
"""The feature with the key of a sample, where archives are read as records."""

_HEAD = 1 << 17  # bytes at the start of an archive that may have its description
_BLOCK = 256  # records that are parsed at once
_WRITE = 1 << 20  # bytes that are written at once
_EMPTY = {Bytes: np.zeros(0, np.bytes_)}  # a writer does not know the kind of an empty Bytes
_MOST_FILES = 4096  # files of a sample, as readers allow
_INTEGERS = ("cls", "cls2", "class", "count", "index", "inx", "id")
_NUMBER = re.compile(rb"[ \t\r\n]*-?[0-9]{1,18}[ \t\r\n]*")  # contents that are read as integers
_LONG = 10**18  # integers of more digits are read as bytes


def are_tar(paths: Sequence[Any], storage: StorageOptions) -> bool:
    """Return whether all files are tar archives, by their first bytes."""
    return bool(paths) and all(
        detect(read_file(path, storage, limit=512)) == "TAR" for path in paths
    )


# -- Records to archives ---------------------------------------------------------------------------


def _rows(job: Conversion, names: Sequence[str] | None) -> Iterator[tuple[str, int, Row]]:
    """Yield the file, the number in it, and the values of each record."""
    for path in job.paths:
        name, first = public(os.fsdecode(path)), 0
        for block in replace(job, paths=[path]).reader().blocks(_BLOCK):
            try:
                for number, row in enumerate(rows_of(block, first), first):
                    if names is not None:
                        row = {key: row[key] for key in names if key in row}
                    yield name, number, row
            except FastrecError as error:
                if hasattr(error, "in_record") and error.record is not None:
                    raise error.in_record(error.record, name) from None
                raise
            first += len(block)


class _Survey:
    """The types of all features."""

    def __init__(self) -> None:
        self.records = 0
        self.types: dict[str, dict[str, None]] = {}  # types of values of bytes, in order
        self.lists: set[str] = set()  # features of bytes with no or several values
        self.integers: dict[str, bool] = {}  # whether each record has one integer
        self.has_long = False  # whether an integer has more than 18 digits
        self.floats: set[str] = set()
        self.has_empty = False  # whether a record has at most the key of a sample
        self.places: dict[str, int] = {}  # number of records that have the feature

    def add(self, row: Row) -> None:
        """Add the values of a record."""
        self.records += 1
        self.has_empty |= row.keys() <= {KEY}
        for name, values in row.items():
            self.places[name] = self.places.get(name, 0) + 1
            if isinstance(values, np.ndarray):
                if values.dtype == np.int64:
                    self.integers[name] = self.integers.get(name, True) and len(values) == 1
                    self.has_long |= len(values) == 1 and not -_LONG < int(values[0]) < _LONG
                else:
                    self.floats.add(name)
                continue
            types = self.types.setdefault(name, {})
            if len(values) != 1:
                self.lists.add(name)
            elif name not in self.lists and "bin" not in types and values[0]:
                types[type_of(values[0])] = None

    def bytes_types(self, name: str) -> list[str]:
        """Return the types that files of a feature of single values have."""
        types = list(self.types[name])
        if not types:
            return ["bin"]
        if len(types) == 1 or MEDIA_TYPES.issuperset(types):
            return types
        return ["txt"] if {"txt", "json"}.issuperset(types) else ["bin"]


class _Plan:
    """How records become samples: the key, and the extensions of each feature.

    Parameters
    ----------
    survey : _Survey
    key : str, optional
        The feature with the key of a sample.
    extensions : mapping of str to str
        Extensions of some features.
    """

    def __init__(self, survey: _Survey, key: str | None, extensions: Mapping[str, str]) -> None:
        if odd := [name for name in extensions if name not in survey.places]:
            raise ValueError(f"extensions: {odd[0]!a} is in no record")
        self._is_sample = key is None and KEY in survey.places
        self.key = KEY if self._is_sample else key
        self.stored_key = Stored(None, "none")
        if self.key is not None:
            self.stored_key = Stored(self.key, self._key_encoding(survey, self.key))
        self._survey, self._chosen = survey, extensions
        self.files: dict[str, Stored] = {}
        self._of: dict[tuple[str, Encoding], dict[str, str]] = {}  # extensions by type
        for name in sorted(survey.places):
            if name != self.key:
                self._add(name)
        self.empty = "empty"
        while self.empty in self.files:
            self.empty += "_"
        self.files[self.empty] = Stored(None, "none")

    @staticmethod
    def _key_encoding(survey: _Survey, key: str) -> Encoding:
        count = survey.places.get(key, 0)
        if count < survey.records:
            raise ValueError(
                f"the key must be a feature of all records, got {key!a}, which {count} of "
                f"{survey.records} have; key= names another feature"
            )
        is_int = survey.integers.get(key, False) and key not in survey.types
        is_bytes = key in survey.types and key not in survey.lists and key not in survey.integers
        if key in survey.floats or not (is_int or is_bytes):
            raise ValueError(f"the key must be one string or integer in each record, got {key!a}")
        return "int" if is_int else "bytes"

    def _add(self, name: str) -> None:
        survey = self._survey
        if name in survey.types:
            is_list = name in survey.lists
            types = ["mp"] if is_list else survey.bytes_types(name)
            self._name(name, "list" if is_list else "bytes", types)
        if survey.integers.get(name):
            self._name(name, "int", ["cls"])
        if name in survey.floats or not survey.integers.get(name, True):
            self._name(name, "array", ["npy"])

    def _name(self, name: str, encoding: Encoding, types: list[str]) -> None:
        """Choose the extensions of a feature."""
        found: dict[str, str] = {}
        for kind in types:
            extension = self._extension(name, encoding, kind)
            held = self.files.get(extension)
            if held is None or extension in found.values():
                self.files[extension] = Stored(name, encoding)
            elif held != Stored(name, "bytes") or encoding != "int":
                raise ValueError(
                    f"features {held.feature!a} and {name!a} have the same extension "
                    f"{extension!a}; extensions= chooses another one"
                )
            found[kind] = extension
        self._of[name, encoding] = found

    def _extension(self, name: str, encoding: Encoding, kind: str) -> str:
        """Return the extension of a feature whose values have a type."""
        required = {"int": _INTEGERS, "array": ("npy",), "list": ("mp",)}.get(encoding, ())
        chosen = self._chosen.get(name)
        if chosen is not None:
            return _checked(chosen.removeprefix("."), name, required)
        plain = _clean(name) or "feature"
        if plain.startswith("tfrec"):
            plain = f"_{plain}"
        is_typed = plain.rpartition(".")[2] in (required or (kind,))
        is_free = self.files.get(plain) in (None, Stored(name, encoding), Stored(name, "bytes"))
        is_free &= plain not in self.files or encoding in ("int", "bytes")
        if self._is_sample and plain == name and (is_typed or encoding == "bytes") and is_free:
            return plain
        extension = plain if is_typed else f"{plain}.{kind}"
        number = 1
        while self.files.get(extension) not in (None, Stored(name, encoding)):
            number += 1
            extension = f"{plain}.{number}.{kind}"
        return extension

    def layout(self) -> Layout | None:
        """Return the layout; None if reading without it gives the same records."""
        is_plain = self._is_sample and all(
            stored.encoding == "none"
            or (extension == stored.feature and stored.encoding in ("bytes", "int"))
            for extension, stored in self.files.items()
        )
        is_plain &= self.stored_key.encoding == "bytes"
        is_plain &= not (self._survey.has_long or self._survey.has_empty)
        return None if is_plain else Layout(self.stored_key, self.files)

    def sample(self, row: Row, number: int) -> tuple[str, list[tuple[str, bytes]]]:
        """Return the key of a record, and the extensions and contents of its files.

        Raises
        ------
        ValueError
            If the record differs from those that were surveyed, or cannot be a sample.
        """
        key = f"{number:09d}"
        if self.key is not None:
            if self.key not in row:
                raise ValueError(_CHANGED)
            try:
                key = check_key(encode(self.stored_key.encoding, row[self.key]))
            except ValueError as error:
                raise ValueError(f"{error}; key= names another feature") from None
        files = []
        for name, values in row.items():
            if name != self.key:
                files.append(self._file(name, values))
        if not files:
            files.append((self.empty, b""))
        if len(files) > _MOST_FILES:
            raise ValueError(
                f"a sample has {len(files)} files, at most {_MOST_FILES} fit; select features"
            )
        return key, files

    def _file(self, name: str, values: Any) -> tuple[str, bytes]:
        encoding: Encoding = "bytes"
        if not isinstance(values, np.ndarray):
            encoding = "list" if name in self._survey.lists else "bytes"
        else:
            is_int = values.dtype == np.int64 and self._survey.integers.get(name, False)
            encoding = "int" if is_int else "array"
        types = self._of.get((name, encoding))
        if types is None or (encoding in ("bytes", "int") and len(values) != 1):
            raise ValueError(_CHANGED)
        content = encode(encoding, values)
        extension = next(iter(types.values()))
        if len(types) > 1 and content:
            extension = types.get(type_of(content), extension)
        if encoding == "bytes":
            _check_content(name, extension, content)
        return extension, content


_CHANGED = "the record differs from its state in the first pass: the file was changed"


def _check_content(name: str, extension: str, content: bytes) -> None:
    """Raise for a value of bytes that would be read as something else."""
    if len(content) >= 12 and _core.masked_crc32c(content[:8]) == int.from_bytes(
        content[8:12], "little"
    ):
        raise ValueError(
            f"the value of {name!a} is a record file, which readers of archives refuse; extract "
            "its records first"
        )
    if extension.rpartition(".")[2] in _INTEGERS and _NUMBER.fullmatch(content):
        raise ValueError(
            f"the value of {name!a} is the text {content!a}, which would be read as an integer; "
            "extensions= chooses another extension"
        )


def _checked(extension: str, name: str, required: Sequence[str]) -> str:
    """Return an extension that the caller chose for a feature."""
    if not extension or extension != _clean(extension) or extension.startswith(("tfrec", "__")):
        raise ValueError(
            f"an extension must have lower-case letters, digits and single dots, and not begin "
            f"with __ or tfrec, got {extension!a} for {name!a}"
        )
    if required and extension.rpartition(".")[2] not in required:
        raise ValueError(
            f"the extension of {name!a} must end in {required[0]!r}, which its values require, "
            f"got {extension!a}"
        )
    return extension


def _clean(name: str) -> str:
    """Return a name with only the characters of extensions."""
    text = re.sub(r"[^\w.+-]", "_", name.replace("/", ".").lower())
    return re.sub(r"\.{2,}", ".", text).strip(".")


class _Keys:
    """The distinct keys of an archive, in 8 bytes of memory each."""

    def __init__(self) -> None:
        self._recent: set[int] = set()
        self._runs: list[Any] = []  # sorted arrays, each shorter than the one before

    def add(self, key: str) -> bool:
        """Add a key; return False if it is already there."""
        digest = int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "little")
        if digest in self._recent or any(_holds(run, digest) for run in self._runs):
            return False
        self._recent.add(digest)
        if len(self._recent) == 1 << 16:
            run = np.sort(np.fromiter(self._recent, np.uint64, len(self._recent)))
            self._recent.clear()
            while self._runs and len(self._runs[-1]) <= len(run):
                run = np.sort(np.concatenate([self._runs.pop(), run]))
            self._runs.append(run)
        return True


def _holds(run: Any, digest: int) -> bool:
    at = int(np.searchsorted(run, np.uint64(digest)))
    return at < len(run) and int(run[at]) == digest


class _Archives:
    """Writes samples to one archive, or to shards, which appear together."""

    def __init__(self, files: NewFiles, most: int | None, layout: Layout | None) -> None:
        self._files, self._most = files, most
        self._head = b"" if layout is None else comment_header(layout.dump())
        self._pieces: list[bytes] = []
        self._size = 0
        self._next()

    def _next(self) -> None:
        self._file = self._files.add()
        self._keys, self._count = _Keys(), 0
        self._put(self._head)

    def _put(self, data: bytes) -> None:
        self._pieces.append(data)
        self._size += len(data)
        if self._size >= _WRITE:
            self._flush()

    def _flush(self) -> None:
        self._file.write_frames(b"".join(self._pieces), 0)
        self._pieces, self._size = [], 0

    def write(self, key: str, files: list[tuple[str, bytes]]) -> None:
        """Write a sample."""
        if self._count == self._most:
            self._end()
            self._next()
        if not self._keys.add(posixpath.normpath(key)):
            raise ValueError(
                f"the key {key[:80]!a} names the files of an earlier record; key= names another "
                "feature"
            )
        self._count += 1
        for extension, content in files:
            self._put(member_header(f"{key}.{extension}", len(content)))
            self._put(content)
            self._put(padding(len(content)))

    def _end(self) -> None:
        self._put(END)
        self._flush()

    def close(self) -> None:
        """Publish the archives."""
        self._end()
        self._files.close()


def write_archives(job: Conversion) -> Done:
    """Write record files to tar archives; return the number of records and the paths."""
    names = job.features
    if isinstance(names, Mapping) or hasattr(names, "context"):
        raise TypeError("features must be a list of names for a tar archive")
    job.check_suffix("a tar archive")
    job.refuse_compression(
        "tar archives are written without compression, which would prevent random access; "
        "end the name in .tar"
    )
    files = job.new_files()
    if names is not None and job.key is not None:
        names = [*names, job.key]
    survey = _Survey()
    quiet = job.on_error if isinstance(job.on_error, str) else _leave_out
    for _, _, row in _rows(replace(job, on_error=quiet), names):
        survey.add(row)
    if not survey.records:
        text = "has no records: an archive without samples is not readable; name other files"
        raise ValueError(f"{public(os.fsdecode(job.paths[0]))!a} {text}")
    if odd := [name for name in names or () if name not in survey.places]:
        raise ValueError(f"features: {odd[0]!a} is in no record")
    plan = _Plan(survey, job.key, job.extensions or {})
    done = 0
    try:
        archives = _Archives(files, job.shard_records, plan.layout())
        for path, number, row in _rows(job, names):
            try:
                archives.write(*plan.sample(row, done))
            except ValueError as error:
                raise ValueError(f"{path!a}: record {number}: {error}") from None
            done += 1
            if done % _BLOCK == 0:
                job.report(done, survey.records)
        if done != survey.records:
            raise ValueError(
                f"{done} records were read, and {survey.records} in the first pass: a file was "
                "changed"
            )
        job.report(done, survey.records)
        archives.close()
    except BaseException:
        files.abort()
        raise
    return done, files.paths


def _leave_out(_: Any) -> None:
    """Leave damage out, which the second pass reports."""


# -- Archives to records ---------------------------------------------------------------------------


def read_archives(job: Conversion) -> Done:
    """Write the samples of archives to record files; return the number and the paths.

    Records that :func:`write_archives` wrote become the same records again, except that features
    without values and without a kind are missing. A sample of another archive becomes a record of
    its files.
    """
    refuse("a source that is not a tar archive", features=job.features)
    with job.record_writer() as sink:
        for path in job.paths:
            name = public(os.fsdecode(path))
            layout = _layout_of(path, name, job.storage)
            first = 0
            for block in replace(job, paths=[path]).reader().blocks(_BLOCK):
                if layout is None:
                    sink.write_many(block)
                else:
                    for number, row in enumerate(rows_of(block, first), first):
                        sink.write(_restored(row, layout, name, number))
                first += len(block)
                job.report(sink.count)
    return sink.count, list(sink.paths)


def _layout_of(path: Any, name: str, storage: StorageOptions) -> Layout | None:
    try:
        return Layout.load(comment_of(read_file(path, storage, limit=_HEAD)))
    except ValueError as error:
        raise ValueError(f"{name!a}: {error}") from None


def _restored(row: Row, layout: Layout, path: str, number: int) -> Row:
    """Return the record of a sample; files that the layout does not list keep their extension."""
    record: Row = {}
    for extension, values in row.items():
        feature, encoding = layout.files.get(extension, Stored(extension, "bytes"))
        if extension == KEY:
            feature, encoding = layout.key
        if feature is None:
            continue
        if feature in record:
            text = f"two files hold the feature {feature!a}"
            raise ValueError(f"{path!a}: record {number}: {text}; convert other files")
        is_number = isinstance(values, np.ndarray)  # the reader's integers, by the extension
        try:
            record[feature] = values if is_number else decode(encoding, values[0])
        except ValueError as error:
            text = f"{path!a}: record {number}: the file {extension!a}: {error}"
            raise ValueError(f"{text}; write the archive again") from None
    return {
        name: values if len(values) else _EMPTY.get(type(values), values)
        for name, values in record.items()
    }
