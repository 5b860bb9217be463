# SPDX-License-Identifier: Apache-2.0
"""The columns of an index: what they hold, which file they belong to, and hostile bytes."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastrec
from fastrec.cli.rows import pieces
from fastrec.parsing.conditions import WhereError
from fastrec.parsing.dataset_columns import ColumnTerms, joined
from fastrec.parsing.index_columns import IndexColumns, columns_path, names_of
from fastrec.parsing.where import parse

ROWS: list[dict[str, Any]] = [
    {"label": 3, "loss": 0.5, "name": b"cat", "tokens": [1, 2, 3], "image": b"12345"},
    {"label": -7, "loss": float("nan"), "name": b"dog", "tokens": [], "image": b""},
    {"loss": 2.0, "name": b"cat", "tokens": [9] * 300, "image": b"1"},
    {"label": 70_000, "name": b"", "tokens": [4], "image": b"x" * 70},
]
COLUMNS = "label, loss, name, len(tokens), size(image), len(name)"


def write(path: Path, rows: list[dict[str, Any]], **options: Any) -> Path:
    with fastrec.Writer(path, **options) as writer:
        for row in rows:
            writer.write(row)
    return path


def as_lists(columns: IndexColumns) -> dict[str, list[Any]]:
    """Columns as lists, with None for a missing value."""
    lists = {}
    for name, (values, missing, labels) in columns.columns.items():
        items = values.tolist() if labels is None else [labels[code] for code in values.tolist()]
        absent = [False] * len(items) if missing is None else missing.tolist()
        lists[name] = [None if none else item for item, none in zip(items, absent, strict=True)]
    return lists


@pytest.mark.parametrize("name", ["a.tfrecord", "a.tfrecord.gz"])
def test_columns_hold_values_lengths_and_sizes_of_every_record(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, ROWS)
    index = fastrec.Index.build(path, columns=COLUMNS)
    index.save()
    lists = as_lists(fastrec.Index.load(path).columns)
    assert np.isnan(lists["loss"].pop(1))
    assert lists == {
        "label": [3, -7, None, 70_000],
        "loss": [0.5, 2.0, None],
        "name": [b"cat", b"dog", b"cat", b""],
        "len(tokens)": [3, 0, 300, 1],
        "size(image)": [5, 0, 1, 70],
        "len(name)": [1, 1, 1, 1],
    }


def test_numbers_take_as_few_bytes_as_their_range_needs(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    with fastrec.Writer(path) as writer:
        writer.write_batch({"small": np.arange(1000) % 100, "large": np.arange(1000) << 40})
    columns = IndexColumns.build(path, "small,large").columns
    assert [column.values.dtype for column in columns.values()] == [np.int8, np.int64]


def test_feature_lists_count_their_frames(tmp_path: Path) -> None:
    path = tmp_path / "sequences.tfrecord"
    with fastrec.Writer(path) as writer:
        for count in (2, 0, 5):
            writer.write(
                fastrec.encode_sequence_example({"id": count}, {"frames": [[1.0, 2.0]] * count})
            )
    lists = as_lists(IndexColumns.build(path, ["id", "len(frames)"]))
    assert lists == {"id": [2, 0, 5], "len(frames)": [2, 0, 5]}


def test_a_copy_of_the_file_keeps_its_columns_and_another_file_refuses_them(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tfrecord", ROWS)
    fastrec.Index.build(path, columns="label").save()
    copy = tmp_path / "copy.tfrecord"
    for suffix in ("", ".frindex", ".frcolumns"):
        shutil.copyfile(f"{path}{suffix}", f"{copy}{suffix}")
    assert len(fastrec.Index.load(copy).columns) == 4
    other = write(tmp_path / "other.tfrecord", [{**row, "label": 5} for row in reversed(ROWS)])
    shutil.copyfile(columns_path(path), columns_path(other))
    with pytest.raises(fastrec.IndexMismatchError, match="made from another file"):
        IndexColumns.load(other)


def test_values_changed_in_place_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    with fastrec.Writer(path) as writer:
        writer.write_batch({"label": np.arange(100)})
    IndexColumns.build(path, "label").save()
    with fastrec.Writer(path, overwrite=True) as writer:
        writer.write_batch({"label": np.arange(100)[::-1].copy()})
    with pytest.raises(fastrec.IndexMismatchError, match="another file"):
        IndexColumns.load(path)


def test_several_values_where_a_column_has_one_number_name_the_record(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tfrecord", ROWS)
    with pytest.raises(
        fastrec.ExampleParseError, match=r"record 0 in .*: tokens must be one number, got 3"
    ):
        IndexColumns.build(path, "tokens")


def test_a_feature_that_no_record_has_suggests_similar_names(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tfrecord", ROWS)
    with pytest.raises(fastrec.ExampleParseError, match="'labels'; similar names: 'label'"):
        IndexColumns.build(path, "labels")


def test_a_feature_of_two_kinds_names_the_record(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tfrecord", [{"x": 1}] * 5000 + [{"x": b"no"}])
    with pytest.raises(fastrec.ExampleParseError, match="record 5000"):
        IndexColumns.build(path, "x")


def test_size_of_numbers_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tfrecord", ROWS)
    with pytest.raises(fastrec.ExampleParseError, match=r"size\(\) is of bytes"):
        IndexColumns.build(path, "size(label)")


@pytest.mark.parametrize("columns", ["", [], "label,", "isnan(loss)", "3", "len()"])
def test_names_that_cannot_be_parsed_are_refused(columns: Any) -> None:
    with pytest.raises(ValueError, match=r"expected|at least one|parsed"):
        names_of(columns)


def test_missing_columns_name_the_command_that_adds_them(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tfrecord", ROWS)
    columns = IndexColumns.build(path, "label")
    with pytest.raises(fastrec.IndexMismatchError, match=r"--columns 'label,len\(tokens\)'"):
        columns.require(names_of("label,len(tokens)"))


def test_every_changed_or_missing_byte_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tfrecord", ROWS)
    saved = IndexColumns.build(path, COLUMNS).to_bytes()
    for place in range(len(saved)):
        with pytest.raises(fastrec.IndexMismatchError):
            IndexColumns._parse(path, saved[:place])
        changed = bytearray(saved)
        changed[place] ^= 1 << place % 8
        with pytest.raises(fastrec.IndexMismatchError):
            IndexColumns._parse(path, bytes(changed))


VALUES = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=2),
    st.lists(st.floats(width=32), max_size=1),
    st.lists(st.sampled_from([b"a", b"b", b"long"]), max_size=1),
)
CONDITIONS = st.sampled_from(
    ["i > 0", "i in (1, 2) or len(f) > 1", "not (f < 0.5)", "isnan(f)", "b == 'a'", "b", "b != 'b'",
     "size(b) > 2", "not i", "len(b) == 0 and not isinf(f)"]
)  # fmt: skip
ROW = st.fixed_dictionaries(
    {},
    optional={
        "i": st.integers(-(2**63), 2**63 - 1),
        "f": st.floats(width=32),
        "b": st.sampled_from([b"a", b"b", b"long"]),
    },
)


@settings(deadline=None)
@given(st.lists(ROW, min_size=1, max_size=20), CONDITIONS)
def test_a_condition_holds_for_the_same_records_on_columns_and_on_records(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]], condition: str
) -> None:
    rows = [*rows, {"i": 1, "f": 1.0, "b": b"a"}]
    path = write(tmp_path_factory.mktemp("rows") / "a.tfrecord", rows)
    where = parse(condition)
    built = IndexColumns.build(path, [str(term) for term in where.terms if term.measure != "isnan"
                                      and term.measure != "isinf"] + ["i", "f", "b"])  # fmt: skip
    loaded = IndexColumns._parse(path, built.to_bytes())
    assert as_lists(loaded).keys() == as_lists(built).keys()
    mask = where.mask_of(ColumnTerms(loaded.columns, len(loaded)))
    [block] = fastrec.Reader(path).blocks(1000)
    expected = np.concatenate(
        [where.mask(piece.columns or {}, len(piece.records)) for piece in pieces(block)]
    )
    assert mask.tolist() == expected.tolist()


def test_files_are_joined_with_one_numbering_of_strings(tmp_path: Path) -> None:
    parts = [
        IndexColumns.build(write(tmp_path / f"{number}.tfrecord", rows), "name,label")
        for number, rows in enumerate([ROWS, ROWS[::-1]])
    ]
    column = joined(parts, names_of("name"))["name"]
    assert column.labels is not None
    names = [column.labels[code] for code in column.values.tolist()]
    assert names == [row["name"] for row in ROWS + ROWS[::-1]]


def test_the_table_of_an_index_has_its_columns(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = write(tmp_path / "a.tfrecord", ROWS)
    table = fastrec.Index.build(path, columns="label,name,len(tokens)").table()
    assert table.column_names == ["record", "offset", "size", "label", "name", "len(tokens)"]
    assert table["label"].to_pylist() == [3, -7, None, 70_000]
    assert table["name"].to_pylist() == ["cat", "dog", "cat", ""]
    assert table["size"].to_pylist() == [len(record) for record in fastrec.Reader(path)]
    assert fastrec.Index.build(path).table().column_names == ["record", "offset", "size"]


def test_columns_are_never_read_as_records(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tfrecord", ROWS)
    fastrec.Index.build(path, columns="label").save()
    assert fastrec.Reader(f"{tmp_path}/*").paths == [os.fspath(path)]


def test_an_unknown_measure_is_refused() -> None:
    with pytest.raises(WhereError):
        names_of("isinf(x)")
