# SPDX-License-Identifier: Apache-2.0
"""The table of docs/damage.md: what each function does about each kind of damage.

``FASTREC_WRITE_TABLES=1 pytest tests/records/test_table_of_damage.py`` writes the table anew.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from damaged_sources import COUNT, FEATURES, SOURCES, Place, check_page, contents, shown

import fastrec


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
        for order in (
            {},
            {"shuffle": True, "seed": 1},
            {"shuffle": "blocks", "seed": 1},
            {"shuffle": 4, "seed": 1},
            {"batch_size": None},
        ):
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


def parse_one_by_one(place: Place) -> int:
    return len([fastrec.parse_single_example(r, FEATURES) for r in fastrec.Reader(place.source)])


def parse_sequences(on_error: Any) -> Callable[[Place], int]:
    def read(place: Place) -> int:
        handler: Any = place.lost.append if on_error == "skip" else "raise"
        records = fastrec.Reader(place.source)
        context, *_ = fastrec.parse_sequence_example(records, FEATURES, on_error=handler)
        return len(context["x"])

    return read


def infer(**options: Any) -> Callable[[Place], int]:
    def read(place: Place) -> int:
        features = fastrec.infer_features(place.source, **options)
        place.lost[:] = features.skipped
        return features.records

    return read


def table(**options: Any) -> Callable[[Place], int]:
    def read(place: Place) -> int:
        found = fastrec.arrow.table(place.source, FEATURES, **options)
        count = sum(map(len, found.batches()))
        place.lost[:] = found.skipped
        return count

    return read


def scan(place: Place) -> int:
    table = fastrec.tables.scan(place.source, FEATURES).to_dataset().to_table()
    return len(table)


def ranges(place: Place) -> int:
    found = fastrec.file_ranges(place.source, 3)
    return sum(numbers_of(fastrec.Reader(each)) for each in found)


def dataset_index(place: Place) -> int:
    output = place.source.parent / "all.frdataset"  # its paths are relative to its folder
    index = fastrec.DatasetIndex.build(place.source, output)
    assert len(fastrec.Reader(index.path)) == index.records
    return index.records


def manifest(place: Place) -> int:
    return sum(each.records or 0 for each in fastrec.Manifest.build(place.source))


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


def dataset_that_skips(place: Place) -> int:
    pytest.importorskip("torch")
    records = fastrec.torch.Dataset(place.source, FEATURES, on_error="skip")
    count = len(records.__getitems__(range(len(records)))) if len(records) else 0
    place.lost[:] = records.skipped
    return count


def iterable_dataset(**options: Any) -> Callable[[Place], int]:
    def read(place: Place) -> int:
        pytest.importorskip("torch")
        batches = fastrec.torch.IterableDataset(place.source, FEATURES, 6, **options)
        count = sum(len(batch["x"]) for batch in batches)
        place.lost[:] = batches.skipped
        return count

    return read


def source_of_grain(**options: Any) -> Callable[[Place], int]:
    def read(place: Place) -> int:
        grain = pytest.importorskip("grain")
        records = fastrec.grain.Source(place.source, FEATURES, **options)
        count = len(list(grain.MapDataset.source(records))) if len(records) else 0
        place.lost[:] = records.skipped
        return count

    return read


def batches_of_grain(**options: Any) -> Callable[[Place], int]:
    def read(place: Place) -> int:
        pytest.importorskip("grain")
        batches = fastrec.grain.BatchMapDataset(place.source, FEATURES, 6, **options)
        count = sum(len(batch["x"]) for batch in batches) if len(batches) else 0
        place.lost[:] = batches.skipped
        return count

    return read


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
    "`parse_single_example`": parse_one_by_one,
    "`parse_sequence_example`": parse_sequences("raise"),
    "`parse_sequence_example`, `skip`": parse_sequences("skip"),
    "`infer_features`": infer(),
    "`infer_features`, `skip`": infer(on_error="skip"),
    "`arrow.table`": table(),
    "`arrow.table`, `skip`": table(on_error="skip"),
    "`tables.scan`": scan,
    "`file_ranges`": ranges,
    "`DatasetIndex.build`": dataset_index,
    "`Manifest.build`": manifest,
    "`count`": lambda place: fastrec.count(place.source),
    "`verify`": lambda place: fastrec.verify(place.source).records,
    "`repair`": repair,
    "`reshard`": reshard,
    "`convert`": convert,
    "`torch.Dataset`": dataset,
    "`torch.Dataset`, `skip`": dataset_that_skips,
    "`torch.IterableDataset`": iterable_dataset(),
    "`torch.IterableDataset`, `skip`": iterable_dataset(on_error="skip"),
    "`grain.Source`": source_of_grain(),
    "`grain.Source`, `skip`": source_of_grain(on_error="skip"),
    "`grain.BatchMapDataset`": batches_of_grain(),
    "`grain.BatchMapDataset`, `skip`": batches_of_grain(on_error="skip"),
}
OPTIONAL = ("torch", "grain")
ALWAYS = [name for name in FUNCTIONS if not any(library in name for library in OPTIONAL)]


def outcome(function: Callable[[Place], int], place: Place) -> str:
    """What a function does: an error, or the number of records and how many losses it lists."""
    error: Exception | None = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            count = function(place)
        except fastrec.FastrecError as raised:
            error = raised
        except ValueError as raised:
            if type(raised).__name__ != "ArrowInvalid":  # pyarrow passes on the message alone
                raise
            error = raised
    if error is None:
        return f"{count}, lists {len(place.lost)}" if place.lost else f"{count}"
    # parse_example() does not know the file, and names the record alone.
    assert str(place.source.parent) in str(error) or getattr(error, "record", None) is not None
    return f"`{getattr(error, 'kind', '') or type(error).__name__}`"


def do_all(folder: Path, names: list[str]) -> dict[str, list[str]]:
    """The outcomes by function, in the order of the damages."""
    cells: dict[str, list[str]] = {name: [] for name in names}
    for number, make in enumerate(SOURCES.values()):
        for column, name in enumerate(names):
            here = folder / f"{number}-{column}"
            here.mkdir()
            source = make(here)
            before = contents(here, besides=here / "output")
            cells[name].append(outcome(FUNCTIONS[name], Place(source, [])))
            after = contents(here, besides=here / "output")
            if name == "`DatasetIndex.build`":
                after.pop(here / "all.frdataset", None)  # dataset_index() writes it
            assert before == after, name
    return cells


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    pytest.importorskip("pyarrow")  # of convert()
    return do_all(tmp_path_factory.mktemp("damage"), ALWAYS)


def test_the_table_of_the_page_is_what_the_functions_do(cells: dict[str, list[str]]) -> None:
    check_page("the table", shown(cells, "function", list(SOURCES)))


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


@pytest.mark.parametrize("library", OPTIONAL)
def test_nor_does_a_dataset_of_another_library(tmp_path: Path, library: str) -> None:
    pytest.importorskip(library)
    check(do_all(tmp_path, [name for name in FUNCTIONS if f"`{library}." in name]))
