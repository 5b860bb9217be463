# SPDX-License-Identifier: Apache-2.0
"""The table of docs/damage.md: what each function does about each kind of damage.

``FASTREC_WRITE_TABLES=1 pytest tests/records/test_table_of_damage.py`` writes the table anew.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import fastrec
from fastrec import _core

PAGE = Path(__file__).parents[2] / "docs" / "damage.md"
BEGIN, END = "<!-- the table begins -->\n", "<!-- the table ends -->\n"
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


def numbers_of(records: Any) -> int:
    return len([bytes(record) for record in records])


def reading(**options: Any) -> Callable[[Place], int]:
    def read(place: Place) -> int:
        reader = fastrec.Reader(place.source, **options)
        counts = {
            numbers_of(reader),
            numbers_of(reader.views()),
            sum(map(numbers_of, reader.blocks(6))),
        }
        place.lost[:] = reader.skipped
        (count,) = counts
        return count

    return read


def by_number(**options: Any) -> Callable[[Place], int]:
    def read(place: Place) -> int:
        reader = fastrec.Reader(place.source, **options)
        count = numbers_of(reader.read_many(range(len(reader))))
        assert count == numbers_of(reader[number] for number in range(len(reader)))
        place.lost[:] = reader.skipped
        return count

    return read


def batching(**options: Any) -> Callable[[Place], int]:
    def read(place: Place) -> int:
        counts = set()
        for order in ({}, {"shuffle": True, "seed": 1}, {"batch_size": None}):
            batcher = fastrec.Batcher(
                place.source, FEATURES, **{"batch_size": 6, **order, **options}
            )
            counts.add(sum(np.size(batch["x"]) for batch in batcher))
            place.lost[:] = batcher.skipped
        (count,) = counts
        return count

    return read


def parse_many(place: Place) -> int:
    reader = fastrec.Reader(place.source)
    return len(fastrec.parse_many(reader, range(len(reader)), FEATURES)["x"])


def parse(on_error: Any) -> Callable[[Place], int]:
    def read(place: Place) -> int:
        records = list(fastrec.Reader(place.source))
        handler: Any = place.lost.append if on_error == "skip" else "raise"
        return len(fastrec.parse_example(records, FEATURES, on_error=handler)["x"])

    return read


def repair(place: Place) -> int:
    saved = fastrec.repair(place.source, place.output)
    place.lost[:] = saved.skipped
    return fastrec.verify(saved.path).records


def reshard(place: Place) -> int:
    fastrec.reshard([place.source], place.output)
    return fastrec.verify(place.output).records


def convert(place: Place) -> int:
    return fastrec.convert(place.source, f"{place.output}.jsonl", features=FEATURES).records


def dataset(place: Place) -> int:
    pytest.importorskip("torch")
    records = fastrec.torch.Dataset(fastrec.Reader(place.source), FEATURES)
    return len([records[number] for number in range(len(records))])


FUNCTIONS: dict[str, Callable[[Place], int]] = {
    "`Reader`": reading(),
    "`Reader`, `skip`": reading(on_error="skip"),
    "`Reader`, `tolerate_tail`": reading(on_error="tolerate_tail"),
    "`reader[i]`": by_number(),
    "`Batcher`": batching(),
    "`Batcher`, `skip`": batching(on_error="skip"),
    "`parse_many`": parse_many,
    "`parse_example`": parse("raise"),
    "`parse_example`, `skip`": parse("skip"),
    "`count`": lambda place: fastrec.count(place.source),
    "`verify`": lambda place: fastrec.verify(place.source).records,
    "`repair`": repair,
    "`reshard`": reshard,
    "`convert`": convert,
    "`torch.Dataset`": dataset,
}
ALWAYS = [name for name in FUNCTIONS if name != "`torch.Dataset`"]


def outcome(function: Callable[[Place], int], place: Place) -> str:
    """What a function does: an error, or the number of records and how many losses it lists."""
    error: fastrec.FastrecError | None = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            count = function(place)
        except fastrec.FastrecError as raised:
            error = raised
    if error is None:
        return f"{count}, lists {len(place.lost)}" if place.lost else f"{count}"
    # parse_example() does not know the file, and names the record alone.
    assert str(place.source.parent) in str(error) or error.record is not None
    return f"`{getattr(error, 'kind', '') or type(error).__name__}`"


def do_all(folder: Path, names: list[str]) -> dict[str, list[str]]:
    """The outcomes by function, in the order of the damages."""
    cells: dict[str, list[str]] = {name: [] for name in names}
    for number, make in enumerate(SOURCES.values()):
        for column, name in enumerate(names):
            here = folder / f"{number}-{column}"
            here.mkdir()
            source = make(here)
            before = {path: path.read_bytes() for path in here.iterdir()}
            cells[name].append(outcome(FUNCTIONS[name], Place(source, [])))
            after = {path: path.read_bytes() for path in here.iterdir() if path.is_file()}
            assert before == after
    return cells


def shown(cells: dict[str, list[str]]) -> str:
    """The table, with a column for all functions of the same outcomes."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, outcomes in cells.items():
        groups.setdefault(tuple(outcomes), []).append(name)
    heads = ["; ".join(names) for names in groups.values()]
    lines = ["| damage | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    for row, damage in enumerate(SOURCES):
        lines.append(f"| {damage} | " + " | ".join(each[row] for each in groups) + " |")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    pytest.importorskip("pyarrow")  # of convert()
    return do_all(tmp_path_factory.mktemp("damage"), ALWAYS)


def test_the_table_of_the_page_is_what_the_functions_do(cells: dict[str, list[str]]) -> None:
    page = PAGE.read_text()
    begin, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    made = shown(cells)
    if os.environ.get("FASTREC_WRITE_TABLES"):
        PAGE.write_text(page[:begin] + made + page[end:])
        page, end = PAGE.read_text(), begin + len(made)
    assert page[begin:end] == made


def check(cells: dict[str, list[str]]) -> None:
    for name, outcomes in cells.items():
        for damage, cell in zip(SOURCES, outcomes, strict=True):
            whole = 0 if damage == "an empty file" else COUNT
            is_error, lists = cell.startswith("`"), "lists" in cell
            assert is_error or lists or cell == str(whole), (damage, name, cell)


def test_no_function_gives_fewer_or_more_records_without_a_word(
    cells: dict[str, list[str]],
) -> None:
    check(cells)


def test_nor_does_a_dataset_of_torch(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    check(do_all(tmp_path, ["`torch.Dataset`"]))
