# SPDX-License-Identifier: Apache-2.0
"""Expand command-line arguments to files, and open inputs and outputs."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from io import BufferedReader, TextIOWrapper, UnsupportedOperation
from typing import Any

import fastrec
from fastrec import _core
from fastrec.cli.grammar import USAGE
from fastrec.cli.report import Failure, shown
from fastrec.cli.streams import flush_stdout, naming_stdout, write_stdout
from fastrec.columns import Bytes
from fastrec.errors import MissingRecordsError
from fastrec.records.byte_sources import is_regular, read_some
from fastrec.records.compression import Compression
from fastrec.records.output_rules import (
    IS_INPUT,
    check_replaceable,
    exists_error,
    is_input_file,
)
from fastrec.records.paths import is_remote, resolve
from fastrec.records.shard_sets import check_shards, lone_shards
from fastrec.records.shard_writer import ShardWriter
from fastrec.records.side_files import is_side_file
from fastrec.records.targets import open_writer, write_file
from fastrec.storage.options import StorageOptions
from fastrec.storage.remote import RemoteFile
from fastrec.storage.stores import public
from fastrec.tables.formats import tables_in

__all__ = [
    "STDIN",
    "check_local",
    "check_output",
    "check_outputs_of",
    "expand",
    "is_empty",
    "is_stream",
    "name_of",
    "open_output",
    "print_file",
    "reader_of",
    "size_of",
    "spooled",
    "standard_input",
    "through_file",
    "write_output",
]

STDIN = "-"
_OUTPUTS = ("output", "html", "write_manifest")  # options that name an output


def expand(
    words: Sequence[str], *, any_shards: bool = False, tables: bool = False
) -> tuple[list[str], list[OSError | MissingRecordsError]]:
    """Return the files that `words` name, in that order, and an error for each missing file.

    A word is ``-`` for standard input, or any source of :func:`fastrec.records.paths.expand`. The
    directory of a dataset that TFDS has prepared yields the files of its splits. A file is returned
    once, with a warning if two words are equal. Several words may come from a pattern that the
    shell has expanded. Side files among them are therefore left out,
    and several shards of a set must be complete unless `any_shards` is set. With `tables`, a
    directory that contains tables yields these.
    """
    files: list[str] = []
    missing: list[OSError | MissingRecordsError] = []
    chosen: set[str] = set()
    kept = [word for word in words if not is_side_file(os.path.basename(word))]
    for word in kept or words:  # reading a side file that was named alone raises an error
        try:
            if word == STDIN:
                files.append(word)
            else:
                files += (tables and tables_in(word)) or _meant_by(word, chosen)
        except OSError as error:
            missing.append(error)
    files = list(dict.fromkeys(files))
    if len(set(words)) < len(words):
        [(word, count)] = Counter(words).most_common(1)
        text = f"{word!a} is named {count} times, and is read once"
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    if not any_shards:
        try:
            names = [path for path in files if path != STDIN]
            check_shards(names, chosen & lone_shards(names))
        except MissingRecordsError as error:
            missing.append(error)
    return files, missing


def check_outputs_of(arguments: argparse.Namespace) -> None:
    """Raise if an output is a side file among the input words, which :func:`expand` leaves out."""
    words = getattr(arguments, "paths", None)
    if not isinstance(words, list) or len(words) < 2:
        return
    sides = [word for word in words if is_side_file(os.path.basename(word))]
    for option in _OUTPUTS:
        output = getattr(arguments, option, None)
        if output and is_input_file(output, sides):
            raise exists_error(output, IS_INPUT)


@contextlib.contextmanager
def spooled(files: Sequence[str], suffix: str = ".tfrecord") -> Iterator[list[str]]:
    """Replace standard input, pipes and devices by temporary files, to read them twice."""
    once = [each for each in files if is_stream(each)]
    if not once:
        yield [*files]
        return
    copies: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="fastrec-") as folder:
        for each in once:
            copies[each] = os.path.join(folder, f"input{len(copies)}{suffix}")
            with contextlib.ExitStack() as stack:
                file = standard_input() if each == STDIN else stack.enter_context(open(each, "rb"))
                writer = open_writer(copies[each], StorageOptions(), sync=False)
                copy = stack.enter_context(contextlib.closing(writer))
                while piece := read_some(file, 1 << 20):
                    copy.write_frames(piece, 0)
        yield [copies.get(each, each) for each in files]


@contextlib.contextmanager
def through_file(output: str, suffix: str = "") -> Iterator[str]:
    """Yield the file to write: the output, or a temporary copy of what standard output gets."""
    if output != STDIN:
        yield output
        return
    with tempfile.TemporaryDirectory(prefix="fastrec-") as folder:
        path = os.path.join(folder, f"output{suffix}")
        yield path
        print_file(path)


def print_file(path: str) -> None:
    """Copy the bytes of a file to standard output."""
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            write_stdout(piece)
    flush_stdout()


class _BegunInput:
    """Reads what a buffered stream has read ahead, and then its raw stream."""

    def __init__(self, stream: BufferedReader) -> None:
        self._stream = stream
        self.name = stream.name

    def read(self, size: int = -1) -> Any:
        held = len(_read_ahead(self._stream))
        if held:
            return self._stream.read(min(held, size) if size >= 0 else held)
        return self._stream.raw.read(size)


def _read_ahead(stream: BufferedReader) -> bytes:
    """Return the bytes that the buffer of a stream holds, without reading more into it."""
    # If the buffer is empty, peek() calls readinto(); the result None means: nothing to read yet.
    raw: Any = stream.raw
    raw.readinto = lambda _: None
    try:
        return stream.peek()
    finally:
        del raw.readinto


def standard_input() -> Any:
    """Return standard input, without its buffer except for the bytes that the buffer holds.

    While a buffer is filled from a pipe, Python handles no signals, and waits for the next bytes.

    Raises
    ------
    ValueError
        If a program has read ``sys.stdin`` as text, because text is read ahead: bytes after the
        returned text would be missing.
    """
    text: Any = sys.stdin
    if isinstance(text, TextIOWrapper):
        try:  # the only public way to ask for text that was read ahead
            text.reconfigure(encoding=text.encoding, errors=text.errors)
        except UnsupportedOperation:
            raise ValueError(
                "standard input was read as text, which takes more bytes than it returns: call "
                "sys.stdin.buffer.readline() instead of sys.stdin.readline()"
            ) from None
    stream = text.buffer
    if not isinstance(stream, BufferedReader):
        return stream
    return _BegunInput(stream) if _read_ahead(stream) else stream.raw


def is_stream(path: str) -> bool:
    """Return whether a file can be read only once: standard input, a pipe or a device."""
    if path == STDIN:
        return True
    if is_remote(path, None) or os.path.isdir(path):
        return False
    return os.path.exists(path) and not is_regular(path)


def _meant_by(word: str, chosen: set[str]) -> list[str]:
    """Return the files of one word, and add those to `chosen` that it names exactly."""
    if os.path.isdir(word) and fastrec.tfds.is_prepared(word):
        word = fastrec.tfds.info(word).directory
    found, exact = resolve(word)
    chosen |= exact
    if len(found) == 1 and isinstance(found[0], RemoteFile) and public(word) != word:
        chosen.add(word)
        return [word]  # includes the parts of a URL that messages omit
    return [os.fsdecode(path) for path in found]


def reader_of(path: str, **options: Any) -> fastrec.Reader:
    """Return a reader of one of the files, or of standard input."""
    return fastrec.Reader(standard_input() if path == STDIN else path, **options)


def size_of(paths: Iterable[str]) -> int:
    """Return the size of all files for progress; 0 if one is a stream or compressed."""
    total = 0
    try:
        for path in paths:
            if path == STDIN or not os.path.isfile(path) or reader_of(path).is_compressed(path):
                return 0
            total += os.path.getsize(path)
    except OSError:  # the verb reports it when it reads the file
        return 0
    return total


def check_local(paths: Iterable[str], what: str) -> None:
    """Raise an error if a path is a URL."""
    if urls := [path for path in paths if is_remote(path, None)]:
        raise Failure(f"{what} requires local files, got {shown(urls[0])}", USAGE)


def name_of(path: str) -> str:
    """Return the name of a file, or of standard input, for messages."""
    return "<stdin>" if path == STDIN else public(path)


def is_empty(path: str) -> bool:
    """Return whether a file or an object is empty."""
    [found], _ = resolve(path)
    return found.size == 0 if isinstance(found, RemoteFile) else os.path.getsize(found) == 0


def check_output(path: str, overwrite: bool, inputs: Sequence[str]) -> None:
    """Raise an error before the work begins if a file without records may not be written."""
    if path != STDIN and not is_remote(path, None):
        check_replaceable(path, overwrite=overwrite, inputs=inputs)


def write_output(path: str, text: str, overwrite: bool, inputs: Sequence[str] = ()) -> None:
    """Write a text file, completely or not at all, or to standard output for ``-``."""
    if path == STDIN:
        with naming_stdout():
            sys.stdout.write(text)
    else:
        write_file(path, text.encode(), overwrite=overwrite, inputs=inputs)


class _Stdout:
    """Writes records to standard output as they arrive."""

    count = 0

    def write_many(self, records: Bytes) -> None:
        for frames, count in _core.Frames(records):
            write_stdout(memoryview(frames))  # type: ignore[arg-type]
            self.count += count


@contextlib.contextmanager
def open_output(
    path: str, compression: Compression, *, overwrite: bool, inputs: Sequence[str]
) -> Iterator[Any]:
    """Open an output for blocks of records: an atomically published file, or standard output."""
    if path != STDIN:
        with ShardWriter(
            path, compression=compression, overwrite=overwrite, inputs=inputs
        ) as writer:
            yield writer
        return
    if compression not in (None, "auto"):
        raise ValueError("--compression requires a file as output")
    yield _Stdout()
    flush_stdout()
