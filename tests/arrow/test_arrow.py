# SPDX-License-Identifier: Apache-2.0
"""Columns and record files as Arrow data: the same values for every consumer, and no leak."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from misfits import COUNT, FAULTS, USABLE, write_misfits

import fastrec
from fastrec import _core, arrow

pytest.importorskip("pyarrow")
import pyarrow as pa

COLUMNS: dict[str, Any] = {
    "scalar": np.array([3, 1, 2], np.int64),
    "matrix": np.arange(12, dtype=np.float32).reshape(3, 2, 2),
    "flag": np.array([True, False, True]),
    "flags": np.array([[True, False], [False, False], [True, True]]),
    "half": np.array([0.5, -1, 2], np.float16),
    "word": fastrec.Bytes.from_list([b"a", b"", b"words"]),
    "pair": fastrec.Bytes(
        np.frombuffer(b"abcdef", np.uint8), np.array([0, 1, 2, 3, 4, 5, 6]), (3, 2)
    ),
    "ragged": fastrec.Ragged(np.arange(5), np.array([0, 2, 2, 5])),
    "nested": fastrec.Ragged(
        fastrec.Ragged(fastrec.Bytes.from_list([b"1", b"2", b"3"]), np.array([0, 1, 3])),
        np.array([0, 1, 1, 2]),
    ),
    "sparse": fastrec.Sparse(np.array([[0, 0], [2, 0], [2, 1]]), np.array([7, 8, 9]), (3, 2)),
    "masked": np.ma.MaskedArray(np.arange(3), [False, True, False]),
    "images": fastrec.Arrays(
        np.arange(8, dtype=np.uint8), np.array([0, 6, 8, 8]), np.array([[2, 3], [1, 2], [0, 1]])
    ),
}
VALUES: dict[str, list[Any]] = {
    "scalar": [3, 1, 2],
    "matrix": [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]],
    "flag": [True, False, True],
    "flags": [[True, False], [False, False], [True, True]],
    "half": [0.5, -1, 2],
    "word": [b"a", b"", b"words"],
    "pair": [[b"a", b"b"], [b"c", b"d"], [b"e", b"f"]],
    "ragged": [[0, 1], [], [2, 3, 4]],
    "nested": [[[b"1"]], [], [[b"2", b"3"]]],
    "sparse": [[7], [], [8, 9]],
    "masked": [0, None, 2],
    "images": [
        {"data": [0, 1, 2, 3, 4, 5], "shape": [2, 3]},
        {"data": [6, 7], "shape": [1, 2]},
        {"data": [], "shape": [0, 1]},
    ],
}


@pytest.mark.parametrize("name", list(COLUMNS))
@pytest.mark.parametrize("tensors", [True, False])
def test_every_kind_of_column_is_sound_arrow_data(name: str, tensors: bool) -> None:
    table = pa.table(arrow.batch({name: COLUMNS[name]}, tensors=tensors))
    table.validate(full=True)
    assert table[name].to_pylist() == VALUES[name]


@pytest.mark.parametrize("name", ["word", "ragged", "nested", "sparse", "images", "pair"])
def test_a_column_alone_and_a_slice_of_it_are_arrow_arrays(name: str) -> None:
    column = COLUMNS[name]
    array = pa.array(column)
    array.validate(full=True)
    assert array.to_pylist() == VALUES[name]
    if name != "sparse":
        assert pa.array(column[1:]).to_pylist() == VALUES[name][1:]
        assert pa.array(column[:0]).to_pylist() == []
    assert pa.DataType._import_from_c_capsule(column.__arrow_c_schema__()) == array.type


def test_arrays_keep_their_shape_as_canonical_tensors() -> None:
    table = pa.table(arrow.batch({"x": COLUMNS["matrix"]}))
    assert table.schema.field("x").type == pa.fixed_shape_tensor(pa.float32(), (2, 2))
    tensor = table["x"].chunk(0).to_numpy_ndarray()
    np.testing.assert_array_equal(tensor, COLUMNS["matrix"])
    plain = pa.table(arrow.batch({"x": COLUMNS["matrix"]}, tensors=False))
    assert plain.schema.field("x").type == pa.list_(pa.field("item", pa.float32()), 4)


def test_memory_is_shared_and_stays_for_as_long_as_arrow_holds_it() -> None:
    values = np.arange(1000)
    gone = weakref.ref(values)
    table = pa.table(arrow.batch({"x": values}))
    assert table["x"].chunk(0).buffers()[1].address == values.ctypes.data
    del values
    gc.collect()
    assert gone() is not None
    assert table["x"].to_pylist() == list(range(1000))
    del table
    gc.collect()
    assert gone() is None


def test_capsules_that_nobody_consumes_release_what_they_hold() -> None:
    values = np.arange(10)
    gone = weakref.ref(values)
    batch = arrow.batch({"x": values, "y": fastrec.Ragged(values, np.arange(11))})
    capsules = [batch.__arrow_c_schema__(), *batch.__arrow_c_array__(), batch.__arrow_c_stream__()]
    del values, batch
    assert gone() is not None
    del capsules
    gc.collect()
    assert gone() is None


def test_narrow_types_and_text_are_given_on_request() -> None:
    wanted = pa.schema(
        [
            ("word", pa.string()),
            ("ragged", pa.list_(pa.int64())),
            ("nested", pa.list_(pa.list_(pa.large_string()))),
        ]
    )
    batch = arrow.batch({name: COLUMNS[name] for name in wanted.names})
    got = pa.RecordBatchReader.from_stream(batch, schema=wanted).read_all()
    got.validate(full=True)
    assert got.schema.field("word").type == pa.string()
    assert got.schema.field("ragged").type == pa.list_(pa.int64())
    assert got.schema.field("nested").type == pa.list_(pa.list_(pa.large_string()))
    assert got["nested"].to_pylist() == [[["1"]], [], [["2", "3"]]]


def test_the_default_types_are_large_and_never_views() -> None:
    asked = pa.schema([("word", pa.binary_view()), ("ragged", pa.list_(pa.int8()))])
    batch = arrow.batch({name: COLUMNS[name] for name in asked.names})
    schema = pa.Schema._import_from_c_capsule(
        batch.__arrow_c_array__(asked.__arrow_c_schema__())[0]
    )
    assert schema.field("word").type == pa.large_binary()
    assert schema.field("ragged").type == pa.list_(pa.int64())


@pytest.mark.parametrize(
    ("strings", "row"),
    [([b"fine", b"\xff"], 1), ([b"\xc3", b"\xa9"], 1), ([b"ok", b"x\xc3"], 1), ([b"\x80"], 0)],
)
def test_text_that_is_not_utf8_is_refused_by_row(strings: list[bytes], row: int) -> None:
    batch = arrow.batch({"word": fastrec.Bytes.from_list(strings)})
    wanted = pa.schema([("word", pa.string())])
    with pytest.raises(ValueError, match=rf"column 'word': row {row} is not UTF-8"):
        batch.__arrow_c_array__(wanted.__arrow_c_schema__())


@given(st.lists(st.binary(max_size=6), max_size=8))
def test_text_is_accepted_exactly_where_every_row_is_text(strings: list[bytes]) -> None:
    wanted = pa.schema([("w", pa.large_string())]).__arrow_c_schema__()
    batch = arrow.batch({"w": fastrec.Bytes.from_list(strings)})
    try:
        expected = [string.decode() for string in strings]
    except UnicodeDecodeError:
        with pytest.raises(ValueError, match="is not UTF-8"):
            batch.__arrow_c_array__(wanted)
    else:
        got = pa.RecordBatch._import_from_c_capsule(*batch.__arrow_c_array__(wanted))
        assert got["w"].to_pylist() == expected


def test_offsets_beyond_32_bits_are_refused_where_they_were_asked_for() -> None:
    splits = np.array([0, 2**31], np.int64)
    column = fastrec.Ragged(np.broadcast_to(np.uint8(0), (2**31,)), splits)
    wanted = pa.list_(pa.uint8()).__arrow_c_schema__()
    with pytest.raises(OverflowError, match="32-bit offsets"):
        _core.arrow_column(column, wanted)


@pytest.mark.parametrize("offsets", [[0, 4], [-1, 2], [2, 1], [0, 2**62], [0, 3, 1]], ids=str)
def test_offsets_that_lie_are_refused(offsets: list[int]) -> None:
    column = fastrec.Bytes(np.zeros(3, np.uint8), np.array(offsets, np.int64))
    with pytest.raises(ValueError, match="offsets must be within the data"):
        column.__arrow_c_array__()
    with pytest.raises(ValueError, match="offsets must be within the data"):
        fastrec.Ragged(np.zeros(3), np.array(offsets, np.int64)).__arrow_c_array__()


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (np.zeros(3, np.complex64), "column 'x': complex64 has no Arrow form"),
        (np.array([b"a", b"b", b"c"], object), "column 'x': object has no Arrow form"),
        ([1, 2, 3], "column 'x': list has no Arrow form"),
        (np.ma.MaskedArray(np.zeros((3, 2))), "must have one dimension, got 2"),
        (
            fastrec.Sparse(np.array([[0, 5]]), np.array([1]), (3, 9)),
            "values fill their rows from the left",
        ),
    ],
    ids=str,
)
def test_what_has_no_arrow_form_is_refused_by_name(column: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        arrow.batch({"x": column}).__arrow_c_array__()


def test_columns_of_several_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="column 'b' has 2 rows, others have 3"):
        pa.table(arrow.batch({"a": np.zeros(3), "b": np.zeros(2)}))
    with pytest.raises(TypeError, match="columns must be a mapping, got array"):
        arrow.batch(np.zeros(3))  # type: ignore[arg-type]


def test_other_byte_orders_and_strides_are_copied_right() -> None:
    swapped = np.arange(4, dtype=">i4")
    strided = np.arange(8)[::2]
    fortran = np.asfortranarray(np.arange(8).reshape(4, 2))
    table = pa.table(arrow.batch({"a": swapped, "b": strided, "c": fortran}, tensors=False))
    assert table.to_pydict() == {
        "a": [0, 1, 2, 3],
        "b": [0, 2, 4, 6],
        "c": [[0, 1], [2, 3], [4, 5], [6, 7]],
    }


@pytest.fixture
def words(tmp_path: Path) -> Path:
    path = tmp_path / "words.tfrecord"
    with fastrec.Writer(path) as writer:
        for i in range(1000):
            row: dict[str, Any] = {"id": i, "list": np.arange(i % 4), "vec": np.ones(3, np.float32)}
            if i % 3:
                row["word"] = f"w{i}"
            writer.write(row)
    return path


def expected(i: int) -> dict[str, Any]:
    word = f"w{i}".encode() if i % 3 else None
    return {"id": i, "list": list(range(i % 4)), "vec": [1.0, 1.0, 1.0], "word": word}


def test_files_are_a_stream_that_can_be_read_again(words: Path) -> None:
    table = arrow.table(words, batch_size=64)
    for _ in range(2):
        reader = pa.RecordBatchReader.from_stream(table)
        batches = list(reader)
        assert {len(batch) for batch in batches} == {64, 1000 % 64}
        assert pa.Table.from_batches(batches).to_pylist() == [expected(i) for i in range(1000)]


def test_the_schema_is_there_before_the_first_record(words: Path) -> None:
    table = arrow.table(words, {"id": fastrec.FixedLenFeature((), np.int64)})
    schema = pa.schema(table)
    assert schema == pa.schema([("id", pa.int64())])
    assert pa.table(table).schema == schema


def test_an_optional_feature_is_null_where_a_record_lacks_it(words: Path) -> None:
    features = {"word": arrow.Optional(bytes), "none": arrow.Optional(np.float32)}
    wanted = pa.schema([("word", pa.string())])
    table = pa.RecordBatchReader.from_stream(arrow.table(words, features), wanted).read_all()
    assert table["word"].to_pylist()[:3] == [None, "w1", "w2"]
    assert table["word"].null_count == 334


def test_an_optional_feature_with_two_values_is_an_error(words: Path) -> None:
    table = arrow.table(words, {"list": arrow.Optional(np.int64)})
    with pytest.raises(
        pa.ArrowInvalid, match=r"record 2 in .*'list': expected at most 1 value, found 2; a Ragged"
    ):
        pa.table(table)


def test_damage_is_an_error_of_the_consumer_that_says_where(words: Path) -> None:
    data = bytearray(words.read_bytes())
    data[20_000] ^= 1
    words.write_bytes(data)
    table = arrow.table(words, {"id": fastrec.FixedLenFeature((), np.int64)}, batch_size=16)
    with pytest.raises((pa.ArrowInvalid, OSError), match="corrupted record at"):
        pa.table(table)
    kept = arrow.table(words, {"id": fastrec.FixedLenFeature((), np.int64)}, on_error="skip")
    assert len(pa.table(kept)) == 999


def test_a_stream_that_is_dropped_half_read_stops_its_workers(words: Path) -> None:
    reader = pa.RecordBatchReader.from_stream(arrow.table(words, batch_size=8))
    reader.read_next_batch()
    del reader
    gc.collect()


def test_polars_takes_it(words: Path) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(arrow.table(words, tensors=False))
    assert frame["id"].sum() == 499500
    assert frame["word"].null_count() == 334


def test_duckdb_takes_it(words: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    rows = arrow.table(words, tensors=False)
    assert duckdb.sql("select sum(id), count(word) from rows").fetchall() == [(499500, 666)]
    assert rows is not None  # the query finds it by its name


def test_pandas_takes_it(words: Path) -> None:
    pandas = pytest.importorskip("pandas")
    if not hasattr(pandas.DataFrame, "from_arrow"):
        pytest.skip("pandas 3 has DataFrame.from_arrow")
    frame = pandas.DataFrame.from_arrow(arrow.table(words, tensors=False))
    assert frame["id"].sum() == 499500


def test_nanoarrow_takes_it(words: Path) -> None:
    nanoarrow = pytest.importorskip("nanoarrow")
    stream = nanoarrow.ArrayStream(arrow.table(words, tensors=False))
    assert sum(len(array) for array in stream.iter_chunks()) == 1000


def test_datafusion_takes_it(words: Path) -> None:
    datafusion = pytest.importorskip("datafusion")
    frame = datafusion.SessionContext().from_arrow(arrow.table(words, tensors=False))
    assert frame.count() == 1000


# -- Records that do not match the features ------------------------------------------------------

FEATURES = {
    "id": fastrec.FixedLenFeature((), np.int64),
    "pair": fastrec.FixedLenFeature((2,), np.float32),
}
BAD: list[dict[str, Any]] = [
    {"pair": [1.0, 2.0]},
    {"id": "a", "pair": [1.0, 2.0]},
    {"id": 1, "pair": [1.0]},
]


def file_of(path: Path, rows: list[Any]) -> Path:
    with fastrec.Writer(path) as writer:
        for row in rows:
            writer.write(row)
    return path


def good(number: int) -> dict[str, Any]:
    return {"id": number, "pair": [1.0, 2.0]}


@pytest.mark.parametrize("batch_size", [1, 4, 8192])
def test_records_that_do_not_match_are_left_out_and_listed(tmp_path: Path, batch_size: int) -> None:
    rows: list[Any] = [good(n) if n % 5 else BAD[n // 5 % 3] for n in range(30)]
    rows[7] = b"\xff\xff"
    file = file_of(tmp_path / "a.tfrecord", rows)
    kept = [n for n in range(30) if n % 5 and n != 7]
    table = arrow.table(file, FEATURES, on_error="skip", batch_size=batch_size)
    for _ in range(2):
        assert pa.table(table)["id"].to_pylist() == kept
        assert [lost.record for lost in table.skipped] == sorted({*range(30)} - {*kept})
    seen: list[int] = []
    table = arrow.table(
        file, {**FEATURES, "whole": arrow.Record()}, batch_size=batch_size,
        on_error=lambda error: seen.append(error.record or 0),
    )  # fmt: skip
    whole = pa.table(table)["whole"].to_pylist()
    assert [int(row["id"]) for row in map(one_of, whole)] == kept
    assert seen == sorted({*range(30)} - {*kept})
    few = arrow.table(file, FEATURES, on_error="skip", max_bad=3)
    with pytest.raises(pa.ArrowInvalid, match=r"record 10 in .*a\.tfrecord"):
        pa.table(few)


def one_id(record: bytes) -> int:
    return int(fastrec.parse_single_example(record, {"id": FEATURES["id"]})["id"])


def one_of(record: bytes) -> dict[str, Any]:
    return fastrec.parse_single_example(record, FEATURES)


def test_a_table_without_any_record_that_matches_is_an_error(tmp_path: Path) -> None:
    files = [file_of(tmp_path / f"{n}.tfrecord", BAD) for n in range(2)]
    with pytest.raises(
        pa.ArrowInvalid, match=r"no record can be used: all of the first 6 .*'id': it is missing"
    ):
        pa.table(arrow.table(files, FEATURES, on_error="skip"))
    assert pa.table(arrow.table(files, {"id": arrow.Optional(bytes)}, on_error="skip")).num_rows


@pytest.mark.parametrize("fault", FAULTS)
def test_a_table_of_files_or_ranges_leaves_out_records_but_not_all(
    tmp_path: Path, fault: str
) -> None:
    features: dict[str, Any] = {"id": FEATURES["id"], "whole": arrow.Record()}
    if fault == "another count":
        features["id"] = arrow.Optional(np.int64)
    for usable in (False, True):
        paths = write_misfits(tmp_path, fault, (True, not usable))
        for source in (paths, fastrec.file_ranges(paths, 300)):
            table = arrow.table(source, features, on_error="skip", batch_size=16)
            if not usable:
                with pytest.raises(pa.ArrowInvalid, match="no record can be used: all of the fir"):
                    pa.table(table)
                continue
            rows = pa.table(table).to_pylist()
            assert [row["id"] for row in rows] == USABLE
            assert [one_id(row["whole"]) for row in rows] == USABLE
            assert len(table.skipped) == COUNT + COUNT // 4
            few = arrow.table(source, features, on_error="skip", max_bad=COUNT + COUNT // 4 - 1)
            with pytest.raises(pa.ArrowInvalid, match=r"1\.tfrecord"):
                pa.table(few)


def test_sequences_that_do_not_match_are_left_out(tmp_path: Path) -> None:
    features = fastrec.SequenceFeatures(
        {"id": FEATURES["id"]}, {"steps": fastrec.RaggedFeature(np.int64)}
    )
    records = [
        fastrec.encode_sequence_example({"id": n} if n % 3 else {}, {"steps": [[n], [n, n]]})
        for n in range(7)
    ]
    file = file_of(tmp_path / "a.tfrecord", records)
    table = arrow.table(file, features, on_error="skip")
    assert pa.table(table)["id"].to_pylist() == [1, 2, 4, 5]
    assert [lost.record for lost in table.skipped] == [0, 3, 6]


def test_features_are_inferred_from_the_records_that_are_kept(tmp_path: Path) -> None:
    rows = [b"no message" if number % 4 == 1 else good(number) for number in range(20)]
    table = arrow.table(file_of(tmp_path / "a.tfrecord", rows), on_error="skip")
    assert pa.table(table)["id"].to_pylist() == [n for n in range(20) if n % 4 != 1]
    assert [lost.record for lost in table.skipped] == [1, 5, 9, 13, 17]


def test_a_file_without_features_is_named(tmp_path: Path) -> None:
    fastrec.Writer(tmp_path / "empty.tfrecord").close()
    for source in (tmp_path / "empty.tfrecord", [str(tmp_path / "empty.tfrecord")]):
        with pytest.raises(ValueError, match=r"empty.tfrecord' has no features: pass features"):
            fastrec.arrow.table(source)
