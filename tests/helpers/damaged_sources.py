# SPDX-License-Identifier: Apache-2.0
"""Damaged files and sets of files, for the tables of docs/damage.md."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import fastrec
from fastrec import _core

PAGE = Path(__file__).parents[2] / "docs" / "damage.md"
COUNT = 20
FEATURES = {"x": fastrec.FixedLenFeature((), np.int64)}
RECORDS = [fastrec.encode_example({"x": number, "y": b"yes"}) for number in range(COUNT)]
FRAMES = [_core.frame(record) for record in RECORDS]
SIZE = len(FRAMES[0])  # of each of them


def cut(size: int) -> bytes:
    return b"".join(FRAMES)[:size]


def changed(position: int, byte: int) -> bytes:
    data = bytearray(b"".join(FRAMES))
    data[position] ^= byte
    return bytes(data)


def with_record(record: bytes) -> bytes:
    return b"".join([*FRAMES[:7], _core.frame(record), *FRAMES[8:]])


# Record 7 is damaged, or the end of the file.
FILES: dict[str, bytes] = {
    "none": cut(COUNT * SIZE),
    "changed data": changed(7 * SIZE + 14, 1),
    "changed length": changed(7 * SIZE + 2, 1),
    "cut in a header": cut(19 * SIZE + 5),
    "cut in the data": cut(19 * SIZE + 15),
    "zeros in the middle": cut(7 * SIZE) + bytes(SIZE) + b"".join(FRAMES[8:]),
    "zeros at the end": cut(19 * SIZE) + bytes(64),
    "text at the end": cut(19 * SIZE) + b"this was appended by something else",
    "a message of another kind": with_record(b"not a protobuf message"),
    "a record without the feature": with_record(fastrec.encode_example({"z": 1})),
    "not a record file": b"<html><body>please sign in</body></html>" * 20,
    "an empty file": b"",
}


class Place(NamedTuple):
    """A damaged source, by itself in a folder, and what a function has lost of it."""

    source: Path
    lost: list[Any]

    @property
    def output(self) -> Path:
        folder = self.source.parent / "output"
        folder.mkdir(exist_ok=True)
        return folder / "out"


def contents(folder: Path, *, besides: Path) -> dict[Path, bytes]:
    """Return the bytes of all files in a folder, except those in the folder of the outputs."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path: path.read_bytes() for path in files if besides not in path.parents}


def a_file(data: bytes) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        (folder / "a.tfrecord").write_bytes(data)
        return folder / "a.tfrecord"

    return make


def a_set(*names: str) -> Callable[[Path], Path]:
    """Shards of ten records each, as a pattern."""

    def make(folder: Path) -> Path:
        for name in names:
            (folder / name).write_bytes(cut(10 * SIZE))
        return folder / "*.tfrecord*"

    return make


def a_stale_index(folder: Path) -> Path:
    path = a_file(cut(10 * SIZE))(folder)
    fastrec.Index.build(path).save()
    return a_file(cut(COUNT * SIZE))(folder)


SOURCES: dict[str, Callable[[Path], Path]] = {
    **{damage: a_file(data) for damage, data in FILES.items()},
    "an index of another file": a_stale_index,
    "a missing shard": a_set("a.tfrecord-00000-of-00003", "a.tfrecord-00002-of-00003"),
    "two sets of shards": a_set(
        "a.tfrecord-00000-of-00001", "a.tfrecord-00000-of-00002", "a.tfrecord-00001-of-00002"
    ),
    "a repaired copy": a_set("a.tfrecord", "a.repaired.tfrecord"),
}


def shown(cells: Mapping[str, list[str]], rows: str, columns: list[str]) -> str:
    """A table of outcomes, in which equal rows are one row, and equal columns one column."""
    grouped = _grouped(cells)
    across = _grouped(
        {name: [each[at] for each in grouped.values()] for at, name in enumerate(columns)}
    )
    lines = [f"| {rows} | " + " | ".join(across) + " |", "|---" * (len(across) + 1) + "|"]
    for at, name in enumerate(grouped):
        lines.append(f"| {name} | " + " | ".join(each[at] for each in across.values()) + " |")
    return "\n".join(lines) + "\n"


def _grouped(cells: Mapping[str, list[str]]) -> dict[str, list[str]]:
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, outcomes in cells.items():
        groups.setdefault(tuple(outcomes), []).append(name)
    return {"; ".join(names): list(outcomes) for outcomes, names in groups.items()}


def check_page(table: str, made: str) -> None:
    """Compare a table with that of the page; FASTREC_WRITE_TABLES=1 writes it to the page."""
    page = PAGE.read_text()
    begin = page.index(f"<!-- {table} begins -->\n") + len(f"<!-- {table} begins -->\n")
    end = page.index(f"<!-- {table} ends -->\n")
    if os.environ.get("FASTREC_WRITE_TABLES"):
        PAGE.write_text(page[:begin] + made + page[end:])
    else:
        assert page[begin:end] == made
