# SPDX-License-Identifier: Apache-2.0
"""Possible states of a disk after a power failure, from the system calls of a program.

The model is a file system that keeps no promise it did not give: what was written to a file since
its last fsync is there or is not, piece by piece and in any combination, the last piece also by
half; what was done to a directory since its last fsync, likewise. (Pillai and others, "All file
systems are not created equal", OSDI 2014.)
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Disk", "calls_of"]

Piece = tuple[int, bytes | None]
"""What was written where; without bytes the file was cut there."""

MOST_PENDING = 8


def _with(content: bytes, pieces: list[Piece]) -> bytes:
    for at, data in pieces:
        if data is None:
            content = content[:at].ljust(at, b"\0")
        else:
            content = content.ljust(at, b"\0")
            content = content[:at] + data + content[at + len(data) :]
    return content


@dataclass
class File:
    durable: bytes = b""
    pending: list[Piece] = field(default_factory=list)
    position: int = 0

    def after_a_crash(self) -> Iterator[bytes]:
        assert len(self.pending) <= MOST_PENDING, "too many writes between two syncs to try all"
        for kept in itertools.product((False, True), repeat=len(self.pending)):
            pieces = list(itertools.compress(self.pending, kept))
            yield _with(self.durable, pieces)
            if pieces and pieces[-1][1] is not None:
                at, data = pieces[-1]
                assert data is not None
                yield _with(self.durable, [*pieces[:-1], (at, data[: len(data) // 2])])


@dataclass
class Disk:
    """Files by name as they are for certain, and what was done to names since."""

    names: dict[str, File]
    renamed: list[tuple[str | None, str, File]] = field(default_factory=list)
    now: dict[str, File] = field(default_factory=dict)
    open: dict[str, File | str] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path) -> Disk:
        names = {str(path): File(path.read_bytes()) for path in folder.iterdir()}
        return cls(names, now=dict(names))

    def call(self, words: list[str], data: bytes) -> None:
        """One call, of those that calls_of() gives."""
        name, fd = words[0], words[1]
        if name == "rename":
            file = self.now.pop(words[1])
            self.now[words[2]] = file
            self.renamed.append((words[1], words[2], file))
        elif name == "create" or (name == "open" and words[2] in self.now):
            file = self.now.get(words[2]) or File()
            if words[2] not in self.now:
                self.now[words[2]] = file
                self.renamed.append((None, words[2], file))
            file.position = len(_with(file.durable, file.pending))
            self.open[fd] = file
        elif name == "open":
            self.open[fd] = os.path.normpath(words[2])
        elif name == "fsync":
            self._sync(self.open[fd])
        else:
            self._change(self.open[fd], name, words, data)

    def _sync(self, target: File | str) -> None:
        if isinstance(target, File):
            target.durable, target.pending = _with(target.durable, target.pending), []
            return
        for before, after, file in self.renamed:
            if before is not None:
                self.names.pop(before, None)
            self.names[after] = file
        self.renamed = []

    def _change(self, file: File | str, name: str, words: list[str], data: bytes) -> None:
        assert isinstance(file, File)
        if name == "truncate":
            file.pending.append((int(words[2]), None))
        else:
            assert name == "write"
            file.pending.append((file.position, data))
            file.position += len(data)

    def after_a_crash(self, name: str) -> set[bytes | None]:
        """All that may be found under `name`; None for no file."""
        found: set[bytes | None] = set()
        for kept in itertools.product((False, True), repeat=len(self.renamed)):
            names = dict(self.names)
            for before, after, file in itertools.compress(self.renamed, kept):
                if before is not None:
                    names.pop(before, None)
                names[after] = file
            if name in names:
                found.update(names[name].after_a_crash())
            else:
                found.add(None)
        return found


def calls_of(log: bytes) -> Iterator[tuple[list[str], bytes]]:
    """The calls that the shim wrote down, each with what it wrote."""
    at = 0
    while at < len(log):
        end = log.index(b"\n", at)
        line = log[at:end].decode()
        name, _, rest = line.partition(" ")
        words = [name, *(rest.split("\t") if name == "rename" else rest.split(" ", 1))]
        at = end + 1
        size = int(words[2]) if name == "write" else 0
        yield words, log[at : at + size]
        at += size
