# SPDX-License-Identifier: Apache-2.0
"""Parsing with on_error leaves out exactly the records that do not fit."""

from __future__ import annotations

import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastrec
from fastrec import FixedLenFeature, RaggedFeature, SparseFeature
from fastrec.features.builders import PaddedBuild
from fastrec.parsing import absent

pytestmark = pytest.mark.filterwarnings("ignore:on_error left out")

FEATURES: dict[str, Any] = {
    "id": FixedLenFeature((), np.int64),
    "pair": FixedLenFeature((2,), np.float32),
    "names": FixedLenFeature((2,), bytes),
    "words": RaggedFeature(bytes),
    "raw": fastrec.RawFeature((3,), np.uint16),
    "sparse": SparseFeature("at", "value", np.int64, 10),
    "rows": RaggedFeature(np.int64, "flat", partitions=[RaggedFeature.RowLengths("lengths")]),
}

FAULTS: dict[str, dict[str, Any]] = {
    "missing": {"pair": None},
    "kind": {"names": [1.5, 2.5]},
    "count": {"names": [b"a", b"b", b"c"]},
    "raw": {"raw": b"123"},
    "index": {"at": [1, 2, 3]},
    "partition": {"lengths": [5, 5]},
}


def encode(number: int, fault: str) -> bytes:
    row: dict[str, Any] = {
        "id": number,
        "pair": np.array([number, -number], np.float32),
        "names": [b"n%d" % number, b""],
        "words": [b"w"] * (number % 3),
        "raw": np.full(3, number, np.uint16).tobytes(),
        "at": [1, 4],
        "value": [number, number],
        "flat": [number] * 3,
        "lengths": [1, 2],
    } | FAULTS.get(fault, {})
    if fault == "malformed":
        return b"no message"
    return fastrec.encode_example({key: value for key, value in row.items() if value is not None})


def assert_same(columns: dict[str, Any], expected: dict[str, Any]) -> None:
    for name, column in expected.items():
        other = columns[name]
        if name == "sparse":
            assert other.dense_shape == column.dense_shape
            assert other.indices.tolist() == column.indices.tolist()
            assert list(other.values) == list(column.values)
        elif hasattr(column, "to_list"):
            assert other.to_list() == column.to_list()
        else:
            assert np.asarray(other).tolist() == np.asarray(column).tolist()


@given(
    faults=st.lists(st.sampled_from(["", "", "", "malformed", *FAULTS]), min_size=1, max_size=40),
    threads=st.integers(1, 4),
    pad=st.sampled_from([0, 300_000]),
)
def test_what_is_left_is_what_parsing_the_sound_records_gives(
    tmp_path: Path, faults: list[str], threads: int, pad: int
) -> None:
    records = [encode(number, fault) for number, fault in enumerate(faults)]
    if pad:  # each record is long enough for a thread of its own
        extra = fastrec.encode_example({"other": b"x" * pad})
        records = [record if record == b"no message" else record + extra for record in records]
    good = [record for record, fault in zip(records, faults, strict=True) if not fault]
    bad = [number for number, fault in enumerate(faults) if fault]
    path = tmp_path / "a.tfrecord"
    with fastrec.Writer(path, overwrite=True) as writer:
        writer.write_many(records)
    reader = fastrec.Reader(path)
    numbers = np.arange(len(records))[::-1]
    errors: list[Any] = []
    if not good:
        with pytest.raises(fastrec.ExampleParseError):
            fastrec.parse_example(records, FEATURES, threads=threads, on_error="skip")
        return
    expected = fastrec.parse_example(good, FEATURES)
    skip: Any
    for skip in ("skip", errors.append):
        assert_same(
            fastrec.parse_example(records, FEATURES, threads=threads, on_error=skip), expected
        )
    assert [error.record for error in errors] == bad
    assert all(f"record {error.record}: " in str(error) for error in errors)
    errors.clear()
    columns = fastrec.parse_many(reader, numbers, FEATURES, threads=threads, on_error=errors.append)
    assert_same(columns, fastrec.parse_example(good[::-1], FEATURES))
    assert [error.record for error in errors] == bad[::-1]
    assert {error.path for error in errors} <= {str(path)}


def test_damaged_data_is_left_out_of_records_by_index(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    with fastrec.Writer(path, overwrite=True) as writer:
        writer.write_batch({"x": np.arange(20)})
    data = bytearray(path.read_bytes())
    size = len(data) // 20
    data[3 * size + 14] ^= 1
    path.write_bytes(bytes(data))
    features = {"x": FixedLenFeature((), np.int64)}
    reader = fastrec.Reader(path)
    errors: list[Any] = []
    columns = fastrec.parse_many(reader, [5, 3, 4], features, on_error=errors.append)
    assert columns["x"].tolist() == [5, 4]
    assert [(type(error), error.record) for error in errors] == [(fastrec.CorruptRecordError, 3)]
    with pytest.raises(fastrec.CorruptRecordError):
        fastrec.parse_many(reader, [5, 3, 4], features)


def test_sequences_that_do_not_fit_are_left_out() -> None:
    records = [
        fastrec.encode_sequence_example({"id": [n] * (1 + (n % 4 == 1))}, {"x": [[n]] * (n % 3)})
        for n in range(12)
    ]
    errors: list[Any] = []
    context, lists, _ = fastrec.parse_sequence_example(
        records,
        {"id": FixedLenFeature((), np.int64)},
        {"x": RaggedFeature(np.int64)},
        on_error=errors.append,
    )
    assert context["id"].tolist() == [n for n in range(12) if n % 4 != 1]
    assert lists["x"].to_list() == [[[n]] * (n % 3) for n in range(12) if n % 4 != 1]
    assert [error.record for error in errors] == [1, 5, 9]


@pytest.mark.parametrize("sequences", [False, True])
def test_records_that_outputs_refuse_are_left_out_in_few_attempts(
    monkeypatch: pytest.MonkeyPatch, sequences: bool
) -> None:
    built = 0
    build = PaddedBuild.__call__

    def count_rows(self: PaddedBuild, column: fastrec.Ragged) -> Any:
        nonlocal built
        built += len(column)
        return build(self, column)

    monkeypatch.setattr(PaddedBuild, "__call__", count_rows)
    features = {"x": fastrec.FixedLenSequenceFeature((2,), np.int64, allow_missing=True)}
    errors: list[Any] = []
    values = [[n] * (2 + n % 2) for n in range(3_000)]
    if sequences:
        records = [
            fastrec.encode_sequence_example({"x": x}, {"y": [[n]]}) for n, x in enumerate(values)
        ]
        frames = {"y": RaggedFeature(np.int64)}
        columns, lists, _ = fastrec.parse_sequence_example(
            records, features, frames, on_error=errors.append
        )
        assert lists["y"].to_list() == [[[n]] for n in range(0, 3_000, 2)]
    else:
        records = [fastrec.encode_example({"x": x}) for x in values]
        columns = fastrec.parse_example(records, features, on_error=errors.append, threads=1)
    assert columns["x"].tolist() == [[x] for x in values[::2]]
    assert [error.record for error in errors] == list(range(1, 3_000, 2))
    assert built < 300 * len(records)


def test_policies_are_checked_and_many_misfits_are_a_warning() -> None:
    features = {"x": FixedLenFeature((), np.int64)}
    record = fastrec.encode_example({"x": 1})
    with pytest.raises(ValueError, match="on_error must be 'raise', 'skip' or callable"):
        fastrec.parse_example([record], features, on_error="tolerate_tail")  # type: ignore[arg-type]
    with pytest.warns(RuntimeWarning, match="left out 1 of 2 records") as caught:
        fastrec.parse_example([record, b"no"], features, on_error="skip")
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fastrec.parse_example([record] * 10 + [b"no"], features, on_error="skip")

    def stop(error: Exception) -> None:
        raise StopIteration

    with pytest.raises(RuntimeError, match="raised StopIteration"):
        fastrec.parse_example([record, b"no"], features, on_error=stop)


@pytest.mark.parametrize("how", ["parse_example", "parse_many", "parse_sequence_example"])
@pytest.mark.parametrize(
    "feature",
    [RaggedFeature(np.int64), fastrec.VarLenFeature(np.int64),
     FixedLenFeature((), np.int64, default_value=0)],
)  # fmt: skip
def test_a_misspelt_feature_that_no_record_has_is_a_warning(
    how: str, feature: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(absent, "_examined", set())
    records = [fastrec.encode_example({"label": i}) for i in range(100)]
    with fastrec.Writer(tmp_path / "a.tfrecord") as writer:
        writer.write_many(records)
    reader = fastrec.Reader(tmp_path / "a.tfrecord")

    def parse(name: str, count: int = 100) -> None:
        if how == "parse_many":
            fastrec.parse_many(reader, range(count), {name: feature})
        else:
            getattr(fastrec, how)(iter(records[:count]), {name: feature})

    with pytest.warns(RuntimeWarning, match="none of .* 'lable': .* is it 'label'") as caught:
        parse("lable")
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse("lable")  # once is enough
        parse("label")
        parse("rare")  # without a similar name, it may be in other records
        parse("labell", count=5)


PASSES: dict[str, Any] = {
    "batcher": lambda path, features: list(fastrec.Batcher(path, features, 16)),
    "table": lambda path, features: list(fastrec.arrow.table(path, features).batches()),
    "convert": lambda path, features: fastrec.convert(
        path, path.with_suffix(".jsonl"), features=features
    ),
}


@pytest.mark.parametrize("read", PASSES.values(), ids=PASSES)
@pytest.mark.parametrize(
    ("features", "hint"),
    [
        ({"idd": RaggedFeature(np.int64)}, "'idd'.*; is it 'id'"),
        ({"rare": fastrec.VarLenFeature(np.int64)}, "'rare': its column has no values"),
        ({"frames": RaggedFeature(np.int64)}, "'frames': .*it is a feature list: SequenceFeatures"),
        (
            fastrec.SequenceFeatures({}, {"frame": RaggedFeature(np.int64)}),
            "'frame': .*; is it 'frames'",
        ),
        (
            fastrec.SequenceFeatures({}, {"id": RaggedFeature(np.int64)}),
            "'id': .*; it is a feature of the context",
        ),
    ],
    ids=str,
)
def test_a_pass_without_a_value_of_a_feature_is_a_warning(
    read: Any, features: Any, hint: str, tmp_path: Path
) -> None:
    if read is PASSES["convert"]:
        pytest.importorskip("pyarrow")
    paths = [tmp_path / "a.tfrecord", tmp_path / "b.tfrecord"]
    for number, path in enumerate(paths):
        with fastrec.Writer(path) as writer:
            writer.write(fastrec.encode_sequence_example({"id": number}, {"frames": [[1]]}))
    with pytest.warns(RuntimeWarning, match=f"none of 1 records has feature {hint}") as caught:
        read(paths[0], features)
    assert len(caught) == 1


def test_one_file_with_a_value_is_enough(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    for number in range(3):
        with fastrec.Writer(tmp_path / f"{number}.tfrecord") as writer:
            writer.write({"id": 1} if number != 1 else {"id": 1, "rare": [2, 3]})
    features = {"id": FixedLenFeature((), np.int64), "rare": RaggedFeature(np.int64)}
    done = fastrec.convert(tmp_path, tmp_path / "out.jsonl", features=features)
    assert done.records == 3
    table = fastrec.arrow.table(tmp_path, features)
    assert sum(map(len, table.batches())) == 3


def test_names_for_hints_are_kept_instead_of_long_records() -> None:
    record = fastrec.encode_example({"label": [1], "image": bytes(1 << 20)})
    records = fastrec.Bytes.from_list([record] * absent.FEW)
    masked: Any = np.ma.MaskedArray(np.zeros(absent.FEW), np.ones(absent.FEW, np.bool_))
    unseen = absent.UnseenColumns(["lable"], [])
    tracemalloc.start()
    try:
        unseen.note({"lable": masked}, records)
        assert tracemalloc.get_traced_memory()[0] < 1 << 20
    finally:
        tracemalloc.stop()
    with pytest.warns(RuntimeWarning, match="none of 32 records has .*; is it 'label'"):
        unseen.warn()
