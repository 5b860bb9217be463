# SPDX-License-Identifier: Apache-2.0
"""Expansion of command-line arguments to files, and where records go to and come from."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import fastrec
from fastrec import _core
from fastrec.cli.grammar import USAGE
from fastrec.cli.report import Failure, shown
from fastrec.columns import Bytes
from fastrec.records.paths import expand as meant_by
from fastrec.records.paths import is_remote
from fastrec.storage.remote import RemoteFile
from fastrec.storage.stores import public

__all__ = [
    "STDIN",
    "check_local",
    "expand",
    "is_empty",
    "name_of",
    "open_output",
    "reader_of",
    "size_of",
]

STDIN = "-"


def expand(words: Iterable[str]) -> tuple[list[str], list[OSError]]:
    """The files that `words` name, in that order, and what could not be found.

    A word is ``-`` for standard input, a file, a directory (the files in it with ``.tfrecord`` in
    their names; of a data set that TFDS has prepared those of its splits) or a pattern that the
    shell left alone.
    """
    files: list[str] = []
    missing: list[OSError] = []
    for word in words:
        try:
            files += [word] if word == STDIN else _meant_by(word)
        except OSError as error:
            missing.append(error)
    return list(dict.fromkeys(files)), missing


def _meant_by(word: str) -> list[str]:
    if os.path.isdir(word) and fastrec.tfds.is_prepared(word):
        word = fastrec.tfds.info(word).directory
    found = meant_by(word)
    if len(found) == 1 and isinstance(found[0], RemoteFile) and public(word) != word:
        return [word]  # with what its name in messages leaves out
    return [os.fsdecode(path) for path in found]


def reader_of(path: str, **options: Any) -> fastrec.Reader:
    """A reader of one of the files, or of standard input."""
    return fastrec.Reader(sys.stdin.buffer if path == STDIN else path, **options)


def size_of(paths: Iterable[str]) -> int:
    """Bytes of all files, for progress; 0 if one is a stream, or is compressed."""
    total = 0
    try:
        for path in paths:
            if path == STDIN or not os.path.isfile(path) or reader_of(path).is_compressed(path):
                return 0
            total += os.path.getsize(path)
    except OSError:  # the verb says it, when it comes to the file
        return 0
    return total


def check_local(paths: Iterable[str], what: str) -> None:
    """Raise unless no path is a URL."""
    if urls := [path for path in paths if is_remote(path, None)]:
        raise Failure(f"{what} requires local files, got {shown(urls[0])}", USAGE)


def name_of(path: str) -> str:
    """The name of a file, or of standard input, as messages have it."""
    return "<stdin>" if path == STDIN else public(path)


def is_empty(path: str) -> bool:
    """Whether a file or an object has no bytes."""
    (found,) = meant_by(path)
    return found.size == 0 if isinstance(found, RemoteFile) else os.path.getsize(found) == 0


class _Stdout:
    """Writes records to standard output as they come."""

    count = 0

    def __init__(self) -> None:
        self._file = sys.stdout.buffer

    def write_many(self, records: Bytes) -> None:
        for frames, count in _core.Frames(records):
            self._file.write(memoryview(frames))  # type: ignore[arg-type]
            self.count += count


@contextlib.contextmanager
def open_output(path: str, *, compression: str = "none", overwrite: bool = False) -> Iterator[Any]:
    """Open an output for blocks of records: an atomically published file, or standard output."""
    kind = None if compression == "none" else compression
    if path != STDIN:
        with fastrec.Writer(path, compression=kind, overwrite=overwrite) as writer:
            yield writer
        return
    if kind is not None:
        raise ValueError("--compression requires a file as output")
    yield _Stdout()
    sys.stdout.buffer.flush()
