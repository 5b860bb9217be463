# SPDX-License-Identifier: Apache-2.0
"""Examples to columns: every kind of feature in every dtype, and what an error tells."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
import reference
import strategies as make
import wire
from hypothesis import given
from hypothesis import strategies as st
from verbs import assert_columns, assert_one_ascii_line, assert_same_array

import fastrec
from fastrec import FixedLenFeature, RaggedFeature, RawFeature, parse_example, parse_single_example

SCALAR = {"a": FixedLenFeature((), np.int64)}


def records(*values: Any, key: str = "a") -> list[bytes]:
    return [reference.encode({key: value}) for value in values]


def error_of(features: dict[str, Any], *values: Any) -> fastrec.ExampleParseError:
    with pytest.raises(fastrec.ExampleParseError) as caught:
        parse_example(records(*values), features)
    assert_one_ascii_line(caught.value)
    assert caught.value.kind == "schema"
    return caught.value


@given(st.lists(make.plain_examples, max_size=6), make.some_wanted)
def test_a_batch_of_examples_is_parsed_as_the_reference_parses_each(
    batch: list[bytes], features: dict[str, Any]
) -> None:
    try:
        rows = [reference.parse(record, features) for record in batch]
    except reference.Refused:
        with pytest.raises(fastrec.ExampleParseError) as caught:
            parse_example(batch, features)
        number = caught.value.record
        assert number is not None
        for record in batch[:number]:
            reference.parse(record, features)
        with pytest.raises(reference.Refused):
            reference.parse(batch[number], features)
        return
    columns = parse_example(batch, features)
    assert list(columns) == list(features)
    assert_columns(columns, rows)
    assert_columns(parse_example(fastrec.Bytes.from_list(batch), features), rows)


@given(make.plain_examples, make.some_wanted)
def test_a_single_example_has_no_batch_dimension(data: bytes, features: dict[str, Any]) -> None:
    try:
        row = reference.parse(data, features)
    except reference.Refused:
        with pytest.raises(fastrec.ExampleParseError):
            parse_single_example(data, features)
        return
    found = parse_single_example(data, features)
    assert list(found) == list(features)
    for name, expected in row.items():
        if isinstance(expected, np.ndarray):
            assert_same_array(found[name], expected)
        elif isinstance(expected, bytes):
            assert found[name] == expected
        else:
            assert found[name].to_list() == expected


# --- dtypes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", make.INT_DTYPES, ids=str)
@pytest.mark.parametrize("kind", [lambda d: FixedLenFeature((2,), d), RaggedFeature])
def test_integers_are_read_as_any_integer_dtype_to_its_limits(dtype: np.dtype, kind: Any) -> None:
    low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    high = min(int(high), 2**63 - 1)
    column = parse_example(records([int(low), high]), {"a": kind(dtype)})["a"]
    assert column[0].dtype == dtype
    assert column[0].tolist() == [low, high]
    for beyond in (int(low) - 1, high + 1):
        if -(2**63) <= beyond < 2**63:
            error = error_of({"a": kind(dtype)}, [low, low], [beyond, low])
            assert error.record == 1
            assert str(beyond) in str(error)
            assert dtype.name in str(error)


@pytest.mark.parametrize("dtype", make.FLOAT_DTYPES, ids=str)
def test_floats_are_read_as_any_float_dtype(dtype: np.dtype) -> None:
    values = [0.0, -0.0, 1.5, 1e-8, 65504.0, 65520.0, 3.4e38, float("inf"), 1 / 3, 6e-8, 1e-45]
    column = parse_example(records(values), {"a": RaggedFeature(dtype)})["a"]
    with np.errstate(over="ignore"):
        assert_same_array(column[0], np.array(values, np.float32).astype(dtype))


def test_every_bit_of_a_nan_is_kept() -> None:
    bits = [0x7FC00000, 0x7F800001, 0xFFC12345, 0x7FFFFFFF, 0xFF800001]
    record = wire.example_of("a", wire.sized(2, wire.sized(1, struct.pack("<5I", *bits))))
    for feature in (FixedLenFeature((5,), np.float32), RaggedFeature(np.float32)):
        column = parse_example([record], {"a": feature})["a"]
        assert np.asarray(column[0]).view(np.uint32).tolist() == bits


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.bool_, np.float32, np.float16, bytes])
@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (0,), (2, 0, 3)])
def test_columns_have_the_shape_of_the_batch_and_the_feature(
    shape: tuple[int, ...], dtype: Any
) -> None:
    count = int(np.prod(shape))
    value: Any = [b"x"] * count if dtype is bytes else np.ones(shape, dtype)
    if dtype is np.uint8:
        value = value.astype(np.int64)
    if count == 0:
        kinds = {"i": 3, "u": 3, "b": 3, "f": 2, "S": 1}
        data = [wire.example_of("a", wire.sized(kinds[np.dtype(dtype).kind], b""))] * 4
    else:
        data = records(*[value] * 4)
    column = parse_example(data, {"a": FixedLenFeature(shape, dtype)})["a"]
    assert column.shape == (4, *shape)
    if dtype is not bytes:
        assert column.dtype == np.dtype(dtype)
        assert column.flags.c_contiguous
        assert column.flags.writeable


@pytest.mark.parametrize("dtype", make.RAW_DTYPES, ids=str)
@pytest.mark.parametrize("little_endian", [True, False])
def test_raw_bytes_are_read_in_their_byte_order(dtype: np.dtype, little_endian: bool) -> None:
    array = np.arange(12).reshape(3, 4).astype(dtype) * dtype.type(3)
    order: Any = "<" if little_endian else ">"
    data = records(array.astype(dtype.newbyteorder(order)).tobytes(), bytes(array.nbytes))
    feature = RawFeature((3, 4), dtype, little_endian=little_endian)
    column = parse_example(data, {"a": feature})["a"]
    assert_same_array(column, np.stack([array, np.zeros_like(array)]))
    ragged = parse_example(
        [*data, *records(b"")], {"a": RawFeature(None, dtype, little_endian=little_endian)}
    )["a"]
    assert [len(row) for row in ragged] == [12, 12, 0]
    assert_same_array(ragged[0], array.ravel())


def test_an_empty_batch_has_columns_of_no_rows() -> None:
    columns = parse_example(
        [],
        {
            "fixed": FixedLenFeature((2, 3), np.int32),
            "bytes": FixedLenFeature((2,), bytes),
            "ragged": RaggedFeature(np.float32),
            "strings": RaggedFeature(bytes),
            "raw": RawFeature((4,), np.uint8),
        },
    )
    assert columns["fixed"].shape == (0, 2, 3)
    assert columns["bytes"].shape == (0, 2)
    assert columns["raw"].shape == (0, 4)
    assert columns["ragged"].to_list() == columns["strings"].to_list() == []


# --- missing values and defaults ----------------------------------------------------------------


@pytest.mark.parametrize("missing", [b"", wire.example_of("a", b""), wire.example_of("b", b"")])
def test_a_missing_feature_takes_its_default(missing: bytes) -> None:
    features = {
        "a": FixedLenFeature((2,), np.int32, [7, -8]),
        "a2": FixedLenFeature((2, 2), np.float32, 1.5),
        "a3": FixedLenFeature((), bytes, b"none"),
        "a4": FixedLenFeature((), bytes, "text"),
    }
    columns = parse_example([missing] * 3, features)
    assert columns["a"].tolist() == [[7, -8]] * 3
    assert columns["a2"].tolist() == [[[1.5, 1.5], [1.5, 1.5]]] * 3
    assert columns["a3"].to_list() == [b"none"] * 3
    assert columns["a4"].to_list() == [b"text"] * 3


@pytest.mark.parametrize("missing", [b"", wire.example_of("a", b"")])
@pytest.mark.parametrize(
    "feature",
    [FixedLenFeature((), np.int64), RawFeature((1,), np.uint8), FixedLenFeature((0,), np.int64)],
)
def test_a_missing_feature_without_default_is_an_error(missing: bytes, feature: Any) -> None:
    with pytest.raises(fastrec.ExampleParseError, match=r"'a'.*missing") as caught:
        parse_example([missing], {"a": feature})
    assert (caught.value.kind, caught.value.record) == ("schema", 0)


def test_an_empty_list_never_takes_the_default() -> None:
    empty = wire.example_of("a", wire.ints_feature())
    with pytest.raises(fastrec.ExampleParseError, match=r"expected 1 .*found 0"):
        parse_example([empty], {"a": FixedLenFeature((), np.int64, 5)})


def test_a_ragged_feature_that_is_missing_is_an_empty_row() -> None:
    features: dict[str, Any] = {
        "a": RaggedFeature(np.int64),
        "b": RaggedFeature(bytes),
        "c": RawFeature(None, "u1"),
    }
    columns = parse_example([b"", wire.example_of("a", b"")], features)
    assert [column.to_list() for column in columns.values()] == [[[], []]] * 3


# --- what an error tells ------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 3, 100_000])
@pytest.mark.parametrize("packed", [True, False])
def test_a_wrong_count_is_told_with_both_numbers(count: int, packed: bool) -> None:
    write = wire.packed_ints if packed else wire.unpacked_ints
    record = wire.example_of("key", wire.sized(3, write([1] * count)))
    with pytest.raises(fastrec.ExampleParseError) as caught:
        parse_example([record], {"key": FixedLenFeature((2,), np.int64)})
    for word in ("key", "expected 2", f"found {count}"):
        assert word in str(caught.value)


@pytest.mark.parametrize("kind", ["int64_list", "float_list", "bytes_list"])
@pytest.mark.parametrize("dtype", [np.int32, np.float64, bytes])
@pytest.mark.parametrize("count", [0, 1])
def test_a_wrong_kind_is_told_with_both_kinds(kind: str, dtype: Any, count: int) -> None:
    number = ["bytes_list", "float_list", "int64_list"].index(kind) + 1
    expected = {np.int32: "int64_list", np.float64: "float_list", bytes: "bytes_list"}[dtype]
    content = [wire.strings([b"x"]), wire.packed_floats([1]), wire.packed_ints([1])][number - 1]
    record = wire.example_of("a", wire.sized(number, content * count))
    for feature in (FixedLenFeature((count,), dtype), RaggedFeature(dtype)):
        if kind == expected:
            parse_example([record], {"a": feature})
            continue
        with pytest.raises(fastrec.ExampleParseError) as caught:
            parse_example([record], {"a": feature})
        for word in ("'a'", f"expected {expected}", f"found {kind}"):
            assert word in str(caught.value)


def test_raw_bytes_of_a_wrong_size_are_told_with_both_sizes() -> None:
    error = error_of({"a": RawFeature((3, 2), np.uint16)}, bytes(12), bytes(11))
    assert error.record == 1
    for word in ("'a'", "12 bytes", "uint16", "found 11"):
        assert word in str(error)
    error = error_of({"a": RawFeature(None, np.uint16)}, bytes(12), bytes(11))
    assert "multiple of 2" in str(error)


@pytest.mark.parametrize("values", [[], [b"ab", b"cd"], [b"ab", b""], [b"", b"ab"]])
@pytest.mark.parametrize("shape", [(2,), None])
def test_raw_features_need_exactly_one_value(values: list[bytes], shape: Any) -> None:
    record = wire.example_of("a", wire.sized(1, wire.strings(values)))
    with pytest.raises(fastrec.ExampleParseError):
        parse_example([record], {"a": RawFeature(shape, np.uint8)})


@pytest.mark.parametrize(
    "key",
    ["caf\N{LATIN SMALL LETTER E WITH ACUTE}", "\ud800\udfff", "new\nline", "\0", "k" * 2**20],
)
def test_any_key_is_told_in_a_clipped_line_of_ascii(key: str) -> None:
    if key == "\ud800\udfff":
        key = b"\xff\xfe\xfd".decode("utf-8", "surrogateescape")
    with pytest.raises(fastrec.ExampleParseError) as caught:
        parse_example([b""], {key: FixedLenFeature((), np.int64)})
    assert_one_ascii_line(caught.value)
    assert len(str(caught.value)) < 300


def test_a_key_may_be_bytes_that_are_not_utf8() -> None:
    record = wire.example(wire.entry(b"\xff\xfe", wire.ints_feature(3)))
    features: Any = {b"\xff\xfe": FixedLenFeature((), np.int64)}
    found: Any = parse_example([record], features)
    assert found[b"\xff\xfe"].tolist() == [3]


def test_the_first_bad_record_is_the_one_that_is_told() -> None:
    error = error_of(SCALAR, 1, 2, [3, 4], 5, [6, 7])
    assert error.record == 2
    assert "record 2" in str(error)


@pytest.mark.parametrize("batch", [None, 5, b"bytes", "text", [None], ["text"], [1]])
def test_what_are_no_records_are_refused(batch: Any) -> None:
    with pytest.raises(TypeError, match=r"record|bytes|iter"):
        parse_example(batch, SCALAR)


@pytest.mark.parametrize("features", [None, {}, [], {"a": None}, {"a": np.int64}, {1: SCALAR["a"]}])
def test_what_are_no_features_are_refused(features: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        parse_example([b""], features)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_records_may_be_any_bytes_like_object(kind: Any) -> None:
    batch = [kind(record) for record in records(1, 2)]
    assert parse_example(batch, SCALAR)["a"].tolist() == [1, 2]
    assert parse_single_example(batch[1], SCALAR)["a"] == 2
