# SPDX-License-Identifier: Apache-2.0
"""Ragged features that records cut into rows, in all ways, nested, and wrongly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastrec
from fastrec import RaggedFeature

# The rows [3, 1], [], [4, 1, 5]; then none; then [9].
RECORDS = [
    fastrec.encode_example(values)
    for values in (
        {
            "values": [3, 1, 4, 1, 5],
            "splits": [0, 2, 2, 5],
            "lengths": [2, 0, 3],
            "starts": [0, 2, 2],
            "limits": [2, 2, 5],
            "ids": [0, 0, 2, 2, 2],
            "outer": [1, 2],
        },
        {},
        {
            "values": [9],
            "splits": [0, 1],
            "lengths": [1],
            "starts": [0],
            "limits": [1],
            "ids": [0],
            "outer": [1],
        },
    )
]
ROWS = [[[3, 1], [], [4, 1, 5]], [], [[9]]]
EVERY = [
    RaggedFeature.RowSplits("splits"),
    RaggedFeature.RowLengths("lengths"),
    RaggedFeature.RowStarts("starts"),
    RaggedFeature.RowLimits("limits"),
    RaggedFeature.ValueRowIds("ids"),
]


def parse(records: list[bytes], *partitions: Any, **options: Any) -> Any:
    feature = RaggedFeature(np.int64, "values", list(partitions), **options)
    return fastrec.parse_example(records, {"x": feature})["x"]


@pytest.mark.parametrize("partition", EVERY, ids=lambda p: p.kind)
def test_every_way_to_say_rows_gives_the_same_rows(partition: Any) -> None:
    assert parse(RECORDS, partition).to_list() == ROWS
    feature = RaggedFeature(np.int64, "values", [partition])
    assert fastrec.parse_single_example(RECORDS[0], {"x": feature})["x"].to_list() == ROWS[0]


@pytest.mark.parametrize("inner", EVERY, ids=lambda p: p.kind)
def test_partitions_nest(inner: Any) -> None:
    rows = parse(RECORDS, RaggedFeature.RowLengths("outer"), inner)
    assert rows.to_list() == [[[[3, 1]], [[], [4, 1, 5]]], [], [[[9]]]]


def test_uniform_rows_at_the_end_are_a_dimension_of_the_values() -> None:
    records = [fastrec.encode_example({"values": list(range(12)), "n": [2, 0, 1]})]
    rows = parse(
        records,
        RaggedFeature.RowLengths("n"),
        RaggedFeature.UniformRowLength(2),
        RaggedFeature.UniformRowLength(2),
    )
    assert rows.flat_values.shape == (3, 2, 2)
    assert rows.to_list() == [[[[[0, 1], [2, 3]], [[4, 5], [6, 7]]], [], [[[8, 9], [10, 11]]]]]


def test_uniform_rows_of_ragged_ones_are_ragged() -> None:
    records = [fastrec.encode_example({"values": [1, 2, 3], "n": [1, 0, 2, 0]})]
    rows = parse(records, RaggedFeature.UniformRowLength(2), RaggedFeature.RowLengths("n"))
    assert rows.to_list() == [[[[1], []], [[2, 3], []]]]


def test_rows_of_no_length_have_no_values() -> None:
    assert parse([RECORDS[1]], RaggedFeature.UniformRowLength(0)).to_list() == [[]]
    with pytest.raises(fastrec.ExampleParseError, match="length 0"):
        parse(RECORDS, RaggedFeature.UniformRowLength(0))


def test_bytes_can_be_partitioned() -> None:
    records = [fastrec.encode_example({"values": ["a", "", "ccc"], "n": [1, 2]})]
    features = {"x": RaggedFeature(bytes, "values", [RaggedFeature.RowLengths("n")])}
    assert fastrec.parse_example(records, features)["x"].to_list() == [[[b"a"], [b"", b"ccc"]]]
    even = {"x": RaggedFeature(bytes, "values", [RaggedFeature.UniformRowLength(3)])}
    assert fastrec.parse_example(records, even)["x"].to_list() == [[[b"a", b"", b"ccc"]]]


def test_splits_may_be_int32() -> None:
    rows = parse(RECORDS, EVERY[1], row_splits_dtype=np.int32)
    assert rows.row_splits.dtype == rows.values.row_splits.dtype == np.int32
    assert (
        fastrec.parse_example(RECORDS, {"values": RaggedFeature(np.int64, row_splits_dtype="i4")})[
            "values"
        ].row_splits.dtype
        == np.int32
    )


def test_several_features_share_values_and_partitions() -> None:
    columns = fastrec.parse_example(
        RECORDS,
        {
            "x": RaggedFeature(np.int64, "values", [EVERY[1]]),
            "y": RaggedFeature(np.int32, "values", [EVERY[0]]),
            "values": RaggedFeature(np.int64),
            "lengths": fastrec.VarLenFeature(np.int64),
        },
    )
    assert columns["x"].to_list() == columns["y"].to_list() == ROWS
    assert columns["values"].to_list() == [[3, 1, 4, 1, 5], [], [9]]
    assert columns["lengths"].to_dense().tolist() == [[2, 0, 3], [0, 0, 0], [1, 0, 0]]


WRONG = [
    (RaggedFeature.RowSplits, [0, 2, 1, 5], "decrease"),
    (RaggedFeature.RowSplits, [1, 5], "begin with 0"),
    (RaggedFeature.RowSplits, [0, 4], "end with"),
    (RaggedFeature.RowSplits, [0, 6], "outside"),
    (RaggedFeature.RowSplits, [], "end with"),
    (RaggedFeature.RowLengths, [2, 2], "add up"),
    (RaggedFeature.RowLengths, [6], "too large"),
    (RaggedFeature.RowLengths, [7, -2], "negative"),
    (RaggedFeature.RowLengths, [2**63 - 1, 5], "too large"),
    (RaggedFeature.RowStarts, [1, 2], "begin with"),
    (RaggedFeature.RowStarts, [0, 3, 2], "decrease"),
    (RaggedFeature.RowStarts, [0, -1], "outside"),
    (RaggedFeature.RowLimits, [2, 4], "end with"),
    (RaggedFeature.RowLimits, [3, 2, 5], "decrease"),
    (RaggedFeature.RowLimits, [-(2**63), 5], "outside"),
    (RaggedFeature.RowStarts, [], "begin with"),
    (RaggedFeature.ValueRowIds, [0, 0, 1, 1], "one row number"),
    (RaggedFeature.ValueRowIds, [0, 0, 2, 1, 1], "decrease"),
    (RaggedFeature.ValueRowIds, [-1, 0, 0, 0, 0], "row number"),
    (RaggedFeature.ValueRowIds, [0, 0, 0, 0, 2**40], "row number"),
]


@pytest.mark.parametrize(("make", "said", "problem"), WRONG)
@pytest.mark.parametrize("before", [0, 2])
def test_rows_that_do_not_cover_the_values_are_an_error(
    make: Any, said: list[int], problem: str, before: int
) -> None:
    good = {
        "RowSplits": [0, 1],
        "RowLengths": [1],
        "RowStarts": [0],
        "RowLimits": [1],
        "ValueRowIds": [0],
    }[make("p").kind]
    fine = fastrec.encode_example({"values": [7], "p": good})
    broken = fastrec.encode_example({"values": [3, 1, 4, 1, 5], "p": said})
    with pytest.raises(fastrec.ExampleParseError, match=problem) as caught:
        parse([fine] * before + [broken, fine], make("p"))
    assert caught.value.record == before
    assert f"record {before}: feature 'p': it has" in str(caught.value)


def test_rows_that_cancel_out_between_records_are_an_error() -> None:
    records = [
        fastrec.encode_example({"values": [1, 2], "n": [1]}),
        fastrec.encode_example({"values": [3, 4], "n": [1, 2]}),
    ]
    with pytest.raises(fastrec.ExampleParseError, match=r"record 0: .* add up"):
        parse(records, RaggedFeature.RowLengths("n"))


def test_partitions_are_checked_when_they_are_made() -> None:
    with pytest.raises(TypeError, match="partitions"):
        RaggedFeature(np.int64, partitions=RaggedFeature.RowLengths("n"))
    with pytest.raises(TypeError, match="partition"):
        RaggedFeature(np.int64, partitions=["n"])
    with pytest.raises(TypeError):
        RaggedFeature.RowLengths(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="empty"):
        RaggedFeature.RowLengths("")
    with pytest.raises(ValueError, match="negative"):
        RaggedFeature.UniformRowLength(-1)
    with pytest.raises(TypeError, match="validate"):
        RaggedFeature(np.int64, validate=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="row_splits_dtype"):
        RaggedFeature(np.int64, row_splits_dtype=np.int16)
    with pytest.raises(ValueError, match="empty"):
        RaggedFeature(np.int64, value_key="")


def test_a_key_cannot_be_of_two_kinds() -> None:
    features = {
        "x": RaggedFeature(np.int64, "values", [RaggedFeature.RowLengths("n")]),
        "n": RaggedFeature(np.float32),
    }
    with pytest.raises(ValueError, match=r"'n' cannot be read both as int64 and as float"):
        fastrec.parse_example(RECORDS, features)
