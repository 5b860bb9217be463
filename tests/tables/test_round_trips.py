# SPDX-License-Identifier: Apache-2.0
"""What is written comes back: through every writer, reader, compression, format and iterable."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastrec

pa = pytest.importorskip("pyarrow")

INTS = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3)
FLOATS = st.lists(st.floats(width=32), max_size=3)
STRINGS = st.lists(st.binary(max_size=5), max_size=3)
TEXTS = st.lists(st.text(max_size=5).map(str.encode), max_size=3)
NAMES = st.sampled_from(["a", "b", "c/d", "\u00e9", "x y", "_"])


LISTS = {"int64_list": INTS, "float_list": FLOATS, "bytes_list": STRINGS}
ARRAYS: dict[str, Callable[[Any], Any]] = {
    "int64_list": lambda values: np.array(values, np.int64),
    "float_list": lambda values: np.array(values, np.float32),
    "bytes_list": fastrec.Bytes.from_list,
}
Row = dict[str, Any]  # (kind, values) by name; None for a feature without a kind


@st.composite
def tables(draw: Any, strings: Any = STRINGS, lists: bool = True) -> list[Row]:
    """Rows of features, each of one kind: with values, empty, without a kind, or absent."""
    kinds = draw(st.dictionaries(NAMES, st.sampled_from(list(LISTS)), max_size=3))
    table: list[Row] = []
    for _ in range(draw(st.integers(0, 4))):
        row: Row = {}
        for name, kind in kinds.items():
            values = draw(st.none() | (strings if kind == "bytes_list" else LISTS[kind]))
            if values is not None:
                row[name] = (kind, values if lists else values[:1])
            elif draw(st.booleans()):
                row[name] = None
        table.append(row)
    return table


def typed(row: Row) -> dict[str, Any]:
    """The row as a Writer takes it, with the types of its empty lists."""
    return {n: None if each is None else ARRAYS[each[0]](each[1]) for n, each in row.items()}


def same(a: Any, b: Any) -> bool:
    """Whether values are equal, NaN to NaN and the signs of zeros too."""
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or (
            a == b and math.copysign(1, a) == math.copysign(1, b)
        )
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[name], b[name]) for name in a)
    return bool(a == b)


def values_of(row: Row) -> Row:
    """The features that are present: a feature without a kind is the same as an absent one."""
    return {name: each for name, each in row.items() if each is not None}


def read(path: Any, **options: Any) -> list[Row]:
    """The kinds and values of all records by protobuf's own parser."""
    train = pytest.importorskip("fastrec.train")
    rows = []
    for record in fastrec.Reader(path, **options):
        row = {}
        for name, feature in train.Example.FromString(record).features.feature.items():
            kind = feature.WhichOneof("kind")
            row[name] = (kind, list(getattr(feature, kind).value)) if kind else None
        rows.append(values_of(row))
    return rows


def write(path: Any, rows: Iterable[Any], **options: Any) -> None:
    with fastrec.Writer(path, overwrite=True, **options) as writer:
        for row in rows:
            writer.write(row)


@settings(max_examples=40, deadline=None)
@given(rows=tables(), compression=st.sampled_from([None, "GZIP", "ZLIB"]))
def test_rows_come_back_from_record_files(rows: list[Row], compression: str | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.tfrecord")
        write(path, map(typed, rows), compression=compression)
        assert same(list(map(values_of, read(path))), list(map(values_of, rows)))


@settings(max_examples=60, deadline=None)
@given(rows=tables(), kind=st.sampled_from(["parquet", "arrow", "jsonl"]), describes=st.booleans())
def test_rows_come_back_from_tables(rows: list[Row], kind: Any, describes: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, table, back = (os.path.join(folder, f"x.{end}") for end in ("rec", kind, "back"))
        write(path, map(typed, rows))
        base64: dict[str, Any] = {"base64": True} if kind == "jsonl" else {}
        wanted = list(map(values_of, rows))
        if not any(rows):
            with pytest.raises(ValueError, match="has no features"):
                fastrec.convert(path, table, target_format=kind, **base64)
            return
        fastrec.convert(path, table, target_format=kind, **base64)
        features = dict(fastrec.infer_features(path, None)) if describes else None
        back_again: dict[str, Any] = {"source_format": kind, "target_format": "tfrecord", **base64}
        if kind == "jsonl" and features is None and (untyped := untyped_names(wanted)):
            with pytest.raises(ValueError, match=r"describe its type|features gives") as caught:
                fastrec.convert(table, back, **back_again)
            assert any(ascii(name) in str(caught.value) for name in untyped)
            return
        fastrec.convert(table, back, features=features, **back_again)
        assert same(list(map(values_of, read(back))), wanted)


def untyped_names(rows: list[Row]) -> set[str]:
    """Features whose kind JSON lines do not tell: always empty, or with a first value like NaN."""
    firsts: dict[str, Any] = {}
    for row in rows:
        for name, (_, values) in row.items():
            firsts[name] = firsts.get(name) or values[:1]
    empty = {name for row in rows for name, each in row.items() if not each[1]}
    unnamed = {
        name for name, first in firsts.items() if first and not isinstance(first[0], (bytes, int))
        and not math.isfinite(first[0])
    }  # fmt: skip
    return unnamed | {name for name in empty if not firsts[name]}


@settings(max_examples=30, deadline=None)
@given(rows=tables(TEXTS, lists=False))
def test_rows_of_single_values_come_back_from_csv(rows: list[Row]) -> None:
    rows = [{n: v for n, v in row.items() if v and v[1]} for row in rows]
    with tempfile.TemporaryDirectory() as folder:
        path, table, back = (os.path.join(folder, f"x.{end}") for end in ("rec", "csv", "back"))
        write(path, map(typed, rows))
        described = fastrec.infer_features(path, None)
        dtypes = {name: cast(Any, each).dtype for name, each in described.items()}
        features = {name: fastrec.arrow.Optional(dtype) for name, dtype in dtypes.items()}
        if not features:
            return
        fastrec.convert(path, table, features=features)
        fastrec.convert(table, back, features=features, target_format="tfrecord")
        assert same(list(map(values_of, read(back))), list(map(values_of, rows)))


@settings(max_examples=25, deadline=None)
@given(
    frames=st.lists(
        st.fixed_dictionaries(
            {
                "x": st.none() | st.lists(FLOATS, max_size=3),
                "s": st.none() | st.lists(STRINGS, max_size=3),
            }
        ),
        min_size=1,
        max_size=3,
    ),
    kind=st.sampled_from(["parquet", "arrow"]),
)
def test_feature_lists_come_back_from_tables(frames: list[dict[str, Any]], kind: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, table, back = (os.path.join(folder, f"x.{end}") for end in ("rec", kind, "back"))
        rows = []
        for number, lists in enumerate(frames):
            arrays = {
                name: [ARRAYS[kind](frame) for frame in lists[name]]
                for name, kind in (("x", "float_list"), ("s", "bytes_list"))
                if lists[name] is not None
            }
            rows.append(fastrec.encode_sequence_example({"id": number}, arrays))
        write(path, rows)
        fastrec.convert(path, table, target_format=kind)
        fastrec.convert(table, back, source_format=kind, target_format="tfrecord")
        assert same(lists_of(back), lists_of(path))


def lists_of(path: str) -> list[dict[str, Any]]:
    """The kinds and values of all frames, by protobuf's own parser."""
    train = pytest.importorskip("fastrec.train")
    return [
        {
            name: [
                (frame.WhichOneof("kind"), list(getattr(frame, frame.WhichOneof("kind")).value))
                for frame in frames.feature
            ]
            for name, frames in train.SequenceExample.FromString(
                record
            ).feature_lists.feature_list.items()
        }
        for record in fastrec.Reader(path)
    ]


NUMBERS = [
    f"{order}{kind}{size}"
    for order in "<>"
    for kind, sizes in (("i", "1248"), ("u", "1248"), ("f", "248"))
    for size in sizes
]


@pytest.mark.parametrize("dtype", [*NUMBERS, "?"])
def test_columns_of_every_dtype_come_back(dtype: str, tmp_path: Path) -> None:
    column = np.array([[0, 1, 2], [3, 4, 5]]).astype(dtype)
    if column.dtype.kind == "f":
        column[0, :] = [np.nan, -0.0, np.inf]
    path = tmp_path / "a.tfrecord"
    with fastrec.Writer(path) as writer:
        writer.write_batch({"x": column, "n": np.array([1, 2])})
        writer.write_many([fastrec.encode_example({"x": row, "n": 3}) for row in column])
    if column.dtype.itemsize == 1 and column.dtype.kind == "u":  # bytes: an image
        feature: Any = fastrec.RawFeature((3,), dtype)
    else:
        feature = fastrec.FixedLenFeature((3,), dtype)
    found = fastrec.parse_example(fastrec.Reader(path), {"x": feature})["x"]
    assert found.dtype == column.dtype.newbyteorder("=")
    np.testing.assert_array_equal(found, np.concatenate([column, column]))


ODD_NAMES = st.sampled_from(
    ["a", "\udcff", "caf\udce9", "\U0001f600", " ", "\n", "a,b", '"', "x" * 300, "-1", "\u202e"]
)


def described(path: str) -> Any:
    return fastrec.infer_features(path, None)


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(st.dictionaries(ODD_NAMES, INTS.filter(len), min_size=1, max_size=3), min_size=1),
    kind=st.sampled_from(["parquet", "arrow", "jsonl", "csv"]),
)
def test_odd_names_come_back_or_are_named_in_an_error(
    rows: list[dict[str, list[int]]], kind: Any
) -> None:
    names = sorted({name for row in rows for name in row})
    if kind == "csv":
        rows = [{name: values[:1] for name, values in row.items()} for row in rows]
    features: Any = {name: fastrec.RaggedFeature(np.int64) for name in names}
    with tempfile.TemporaryDirectory() as folder:
        path, table, back = (os.path.join(folder, f"x.{end}") for end in ("rec", kind, "back"))
        write(path, rows)
        assert sorted(described(path)) == names
        columns = fastrec.parse_example(list(fastrec.Reader(path)), features)
        for name in names:
            assert columns[name].to_list() == [row.get(name, []) for row in rows]
        if kind == "csv":
            features = {name: fastrec.arrow.Optional(np.int64) for name in names}
        expected = [{name: ("int64_list", values) for name, values in row.items()} for row in rows]
        if any("\udc80" <= letter <= "\udcff" for name in names for letter in name):
            with pytest.raises(ValueError, match="not UTF-8") as caught:
                fastrec.convert(path, table, features=features)
            assert any(ascii(name) in str(caught.value) for name in names)
            assert not os.path.exists(table)
            return
        fastrec.convert(path, table, features=features)
        fastrec.convert(table, back, features=features, target_format="tfrecord")
        assert list(map(values_of, read(back))) == expected


@settings(max_examples=30, deadline=None)
@given(rows=tables(), kinds=st.permutations(["parquet", "arrow", "jsonl"]))
def test_rows_come_back_after_every_format(rows: list[Row], kinds: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "0.rec")
        write(path, map(typed, rows))
        features: Any = dict(described(path))
        if not features or not any(rows):
            return
        for number, kind in enumerate(kinds):
            table, back = (
                os.path.join(folder, f"x.{kind}"),
                os.path.join(folder, f"{number + 1}.rec"),
            )
            base64: Any = {"base64": True} if kind == "jsonl" else {}
            fastrec.convert(path, table, features=features, **base64)
            fastrec.convert(table, back, features=features, target_format="tfrecord", **base64)
            path = back
        assert same(list(map(values_of, read(path))), list(map(values_of, rows)))


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_columns_come_back_from_npz_files(data: Any) -> None:
    count = data.draw(st.integers(0, 4))
    dtypes = data.draw(st.dictionaries(NAMES, st.sampled_from(NUMBERS), min_size=1, max_size=3))
    columns = {
        name: np.array(data.draw(st.lists(st.integers(0, 100), min_size=count, max_size=count)))
        .astype(dtype)
        .reshape(count, 1)
        for name, dtype in dtypes.items()
    }
    with tempfile.TemporaryDirectory() as folder:
        path, file = os.path.join(folder, "a.rec"), os.path.join(folder, "a.npz")
        arrays: dict[str, Any] = {str(n): each for n, each in enumerate(columns.values())}
        np.savez(file, **arrays)
        with np.load(file) as archive, fastrec.Writer(path) as writer:
            writer.write_batch(archive)
        features = {
            str(number): fastrec.RawFeature((1,), each.dtype)
            if each.dtype.itemsize == 1 and each.dtype.kind == "u"
            else fastrec.FixedLenFeature((1,), each.dtype)
            for number, each in enumerate(columns.values())
        }
        found = fastrec.parse_example(fastrec.Reader(path), features)
        for number, column in enumerate(columns.values()):
            assert found[str(number)].dtype == column.dtype.newbyteorder("=")
            np.testing.assert_array_equal(found[str(number)], column)
        np.savez(file, **found)
        with np.load(file) as archive:
            again = fastrec.encode_examples(archive)
        assert list(again) == list(fastrec.Reader(path))


def _itself(value: Any) -> Any:
    return value


def items(values: list[Any]) -> dict[str, Callable[[], Any]]:
    """The same items as every kind of iterable."""

    def generate() -> Iterator[Any]:
        yield from values

    array = np.empty(len(values), object)
    array[:] = values
    return {
        "list": lambda: values,
        "tuple": lambda: tuple(values),
        "generator": generate,
        "iterator": lambda: iter(values),
        "map": lambda: map(_itself, values),
        "dict values": lambda: dict(enumerate(values)).values(),
        "object array": lambda: array,
    }


RECORDS = [fastrec.encode_example({"x": [n] * n}) for n in range(5)]


@pytest.mark.parametrize("kind", items(RECORDS))
@pytest.mark.parametrize("options", [{}, {"shards": 2}, {"compression": "GZIP"}], ids=str)
def test_every_kind_of_iterable_is_written(kind: str, options: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    with fastrec.Writer(path, **options) as writer:
        writer.write_many(items(RECORDS)[kind]())
        writer.write_many(items([{"x": [n] * n} for n in range(5)])[kind]())
    pattern = tmp_path / "a-*" if "shards" in options else path
    assert sorted(fastrec.Reader(pattern)) == sorted(RECORDS * 2)


def test_blocks_and_arrays_are_written(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    pixels = np.arange(6, dtype=np.uint8).reshape(2, 3)
    with fastrec.Writer(path) as writer:
        writer.write_many(fastrec.Bytes.from_list(RECORDS[:2]))
        writer.write_many([fastrec.Bytes.from_list(RECORDS[2:4]), RECORDS[4]])
        writer.write_many(memoryview(cast(Any, pixels)))
        writer.write_many(pixels)
        writer.write_many(pa.array(RECORDS[:2]))
    rows = [bytes(row) for row in pixels]
    assert list(fastrec.Reader(path)) == [*RECORDS, *rows, *rows, *RECORDS[:2]]


@pytest.mark.parametrize(
    ("records", "says"),
    [
        (b"abc", "got one bytes; use write()"),
        ("abc", "got one str; use write()"),
        (memoryview(b"abc"), "got one memoryview; use write()"),
        (5, "got int"),
        (None, "got NoneType"),
        ({"x": 1}, "got dict; write_batch() writes columns"),
        (pa.table({"x": [1]}), "got Table; write_batch() writes columns"),
        (np.array([b"a\0", b"b"]), "drops zero bytes"),
        ([b"a", {"x": 1}], "record 1: a record must be bytes, got dict"),
        ([None], "record 0: a record must be bytes, got NoneType"),
    ],
    ids=["bytes", "str", "memoryview", "int", "none", "dict", "table", "array", "mixed", "None"],
)
def test_what_is_not_an_iterable_of_records_is_refused(
    records: Any, says: str, tmp_path: Path
) -> None:
    writer = fastrec.Writer(tmp_path / "a.tfrecord")
    with pytest.raises(TypeError) as caught:
        writer.write_many(records)
    writer.abort()
    assert says in str(caught.value)


def test_a_table_of_arrow_is_a_batch_of_columns(tmp_path: Path) -> None:
    table = pa.table({"x": [1, 2, 3], "s": ["a", "", None], "l": [[1.5], [], [2.5, 3.5]]})
    for number, each in enumerate((table, table.to_batches()[0], table.slice(1))):
        path = tmp_path / f"{number}.tfrecord"
        with fastrec.Writer(path) as writer:
            writer.write_batch(each)
        columns = {name: each.column(name) for name in each.schema.names}
        assert list(fastrec.Reader(path)) == list(fastrec.encode_examples(columns))
    doubled = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])
    writer = fastrec.Writer(tmp_path / "b.tfrecord")
    with pytest.raises(ValueError, match="same name"):
        writer.write_batch(doubled)
    writer.abort()
