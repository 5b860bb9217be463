# SPDX-License-Identifier: Apache-2.0
"""Values to Examples: the bytes are those of protobuf's deterministic serialization."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference
import strategies as make
import wire
from hypothesis import example, given
from hypothesis import strategies as st
from verbs import assert_one_ascii_line

import fastrec
from fastrec import encode_example, encode_examples, train

ARRAYS = [*make.INT_DTYPES, *make.FLOAT_DTYPES]


def feature_of(value: Any) -> train.Feature:
    return train.Example.FromString(encode_example({"a": value})).features.feature["a"]


@given(st.dictionaries(st.text(max_size=5), make.encodable, max_size=6))
@example({"b": 1, "a": 2, "": 3, "\N{SNOWMAN}": 4, "ab": 5, "a\0": 6, "\U0001f600": 7, "\uffff": 8})
def test_any_mapping_is_encoded_as_protobuf_does(mapping: dict[str, Any]) -> None:
    data = encode_example(mapping)
    assert data == reference.encode(mapping)
    assert set(train.Example.FromString(data).features.feature) == set(mapping)


@given(st.dictionaries(st.text("abc\N{SNOWMAN}", min_size=2, max_size=2), make.encodable))
def test_the_bytes_are_those_of_protobufs_deterministic_serialization(
    mapping: dict[str, Any],
) -> None:
    # Of keys that begin no other key: there protobuf's own runtimes disagree (reference.encode).
    data = encode_example(mapping)
    example = train.Example.FromString(data)
    assert example.SerializeToString(deterministic=True) == data
    assert reference.to_example(mapping).SerializeToString(deterministic=True) == data


def test_an_empty_mapping_is_an_example_without_features() -> None:
    # As with TensorFlow's Example(features=Features(feature={})): the field is there.
    assert encode_example({}) == b"\x0a\x00"


@pytest.mark.parametrize("dtype", ARRAYS, ids=str)
@pytest.mark.parametrize("shape", [(), (1,), (5,), (2, 3), (2, 1, 2)])
def test_arrays_of_every_dtype_are_flattened_in_c_order(
    dtype: np.dtype, shape: tuple[int, ...]
) -> None:
    array = (np.arange(np.prod(shape)).reshape(shape) % 2).astype(dtype)
    for value in (array, np.asfortranarray(array), array[..., ::-1] if shape else array):
        assert encode_example({"a": value}) == reference.encode({"a": value})
    if dtype.kind == "f":
        assert feature_of(array).float_list.value == array.ravel().tolist()
    elif dtype == np.uint8 and shape:
        assert feature_of(array).bytes_list.value == [array.tobytes()]
    else:
        assert feature_of(array).int64_list.value == array.ravel().tolist()


@pytest.mark.parametrize("dtype", [dtype for dtype in ARRAYS if dtype.itemsize > 1], ids=str)
def test_arrays_may_be_of_either_byte_order_and_unaligned(dtype: np.dtype) -> None:
    array = np.arange(1, 6).astype(dtype)
    swapped = array.astype(dtype.newbyteorder())
    buffer = bytearray(b"x" + array.tobytes())
    unaligned = np.frombuffer(buffer, dtype, offset=1)
    expected = encode_example({"a": array})
    assert encode_example({"a": swapped}) == encode_example({"a": unaligned}) == expected


@pytest.mark.parametrize(
    "scalar",
    [
        np.int8(-3),
        np.uint64(7),
        np.bool_(True),
        np.float16(1.5),
        np.float32(1.5),
        np.float64(1.5),
        np.int64(-(2**63)),
        True,
    ],
)
def test_numpy_scalars_are_as_python_ones(scalar: Any) -> None:
    plain = scalar if isinstance(scalar, bool) else scalar.item()
    assert encode_example({"a": scalar}) == encode_example({"a": plain})
    assert encode_example({"a": [scalar, scalar]}) == encode_example({"a": [plain, plain]})


@pytest.mark.parametrize("scalar", [np.uint8(200), np.array(200, np.uint8), [np.uint8(200)]])
def test_a_uint8_scalar_is_an_integer_and_not_an_image(scalar: Any) -> None:
    assert feature_of(scalar).int64_list.value == [200]


@pytest.mark.parametrize("shape", [(0,), (3,), (2, 3), (4, 4, 3)])
def test_a_uint8_array_is_one_bytes_value(shape: tuple[int, ...]) -> None:
    image = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
    for value in (image, np.asfortranarray(image), image[::-1]):
        assert feature_of(value).bytes_list.value == [value.tobytes()]


@pytest.mark.parametrize("value", [None, [], ()])
def test_no_value_is_a_feature_of_no_kind(value: Any) -> None:
    assert encode_example({"a": value}) == wire.example_of("a", b"")


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.bytes_, np.str_])
def test_an_empty_array_is_an_empty_list_of_its_kind(dtype: Any) -> None:
    empty = np.empty(0, dtype)
    data = encode_example({"a": empty})
    feature = fastrec.RaggedFeature(bytes if empty.dtype.kind in "SU" else dtype)
    assert fastrec.parse_example([data], {"a": feature})["a"].to_list() == [[]]
    for rows in ([empty], [empty, []], [[], empty], [empty, None]):  # no other row says the kind
        assert data in encode_examples({"a": rows}).to_list()


@pytest.mark.parametrize(
    "value",
    [
        b"x",
        bytearray(b"x"),
        memoryview(b"x"),
        "x",
        np.bytes_(b"x"),
        np.str_("x"),
        [b"x"],
        ("x",),
        [memoryview(b"x")],
        np.array([b"x"]),
        np.array(["x"]),
        np.array([b"x"], object),
    ],
)
def test_strings_in_any_form_are_bytes(value: Any) -> None:
    assert feature_of(value).bytes_list.value == [b"x"]


def test_text_is_utf8() -> None:
    assert feature_of("\N{SNOWMAN}").bytes_list.value == ["\N{SNOWMAN}".encode()]
    with pytest.raises((ValueError, TypeError), match="'a'"):
        encode_example({"a": "\ud800"})


def test_the_bits_of_a_nan_are_kept() -> None:
    bits = np.array([0x7FC00001, 0x7F800001, 0xFFC12345], np.uint32)
    data = encode_example({"a": bits.view(np.float32)})
    assert bits.tobytes() in data


@pytest.mark.parametrize(
    "value",
    [
        2**63,
        -(2**63) - 1,
        2**64,
        10**40,
        [1, 2**63],
        np.array([2**63], np.uint64),
        np.uint64(2**64 - 1),
    ],
)
def test_an_integer_beyond_int64_is_refused_by_name(value: Any) -> None:
    with pytest.raises((OverflowError, ValueError), match="'key'") as caught:
        encode_example({"key": value})
    assert_one_ascii_line(caught.value)


BEYOND = 3.4028235677973366e38  # half a step above the largest float32: rounds to infinity


@pytest.mark.parametrize("value", [1e39, -1e300, [1.0, 1e39], np.array([0, 1e40]), BEYOND])
def test_a_finite_float_beyond_float32_is_refused_by_name(value: Any) -> None:
    with pytest.raises((OverflowError, ValueError), match="'key'") as caught:
        encode_example({"key": value})
    assert_one_ascii_line(caught.value)


@pytest.mark.parametrize(
    "value",
    [
        float("inf"),
        -float("inf"),
        float("nan"),
        3.4028234e38,
        np.nextafter(BEYOND, 0),
        1e-50,
        -0.0,
        np.float16("inf"),
    ],
)
def test_any_other_float_is_the_nearest_float32(value: float) -> None:
    np.testing.assert_array_equal(feature_of(value).float_list.value, [np.float32(value)])


@pytest.mark.parametrize(
    "value",
    [
        object(),
        {"nested": 1},
        {1, 2},
        1j,
        [1, "mixed"],
        [b"x", 1],
        [None],
        [object()],
        np.array([1j]),
        np.array(["2020-01-01"], "M8[D]"),
        np.array([object()]),
        [[1, 2], [3]],
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_that_no_list_holds_is_refused_by_name(value: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="'key'") as caught:
        encode_example({"key": value})
    assert not isinstance(caught.value, UnicodeError)
    assert_one_ascii_line(caught.value)


def test_integers_among_floats_are_floats() -> None:
    assert feature_of([1, 2.5]).float_list.value == [1.0, 2.5]
    assert feature_of([True, 2]).int64_list.value == [1, 2]


@pytest.mark.parametrize("mapping", [None, 3, b"bytes", [("a", 1)], "text"])
def test_what_is_no_mapping_is_refused(mapping: Any) -> None:
    with pytest.raises(TypeError):
        encode_example(mapping)


@pytest.mark.parametrize("key", [1, None, ("a",), 2.5])
def test_a_key_that_is_no_text_is_refused(key: Any) -> None:
    with pytest.raises(TypeError):
        encode_example({key: 1})


# --- columns ------------------------------------------------------------------------------------


@st.composite
def columns(draw: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Columns, and the rows that they stand for."""
    count = draw(st.integers(0, 5))
    table: dict[str, Any] = {}
    rows: list[dict[str, Any]] = [{} for _ in range(count)]
    for name in draw(st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=1, unique=True)):
        how = draw(st.sampled_from(["array", "list", "strings", "bytes", "ragged", "raggeds"]))
        if how == "array":
            shape = (count, *draw(st.sampled_from([(), (1,), (3,), (2, 2)])))
            array = np.arange(np.prod(shape)).reshape(shape) % 100
            table[name] = array.astype(draw(st.sampled_from(ARRAYS)))
            values = list(table[name])
        elif how == "list":
            values = table[name] = draw(st.lists(make.int64s, min_size=count, max_size=count))
        elif how in ("strings", "bytes"):
            values = draw(st.lists(make.strings, min_size=count, max_size=count))
            table[name] = values if how == "strings" else fastrec.Bytes.from_list(values)
        else:
            lengths = draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
            splits = np.cumsum([0, *lengths], dtype=np.int64)
            flat: Any = np.arange(splits[-1], dtype=np.float32)
            if how == "raggeds":
                flat = fastrec.Bytes.from_list([b"%d" % i for i in range(splits[-1])])
            table[name] = fastrec.Ragged(flat, splits)
            values = [list(row) if how == "raggeds" else row for row in table[name]]
        for row, value in zip(rows, values, strict=True):
            row[name] = value
    return table, rows


def same_but_for_empty_lists(found: bytes, row: dict[str, Any]) -> bool:
    """A row without elements may be an empty list or have no kind."""
    theirs, ours = reference.to_example(row), train.Example.FromString(found)
    for name, value in row.items():
        if not isinstance(value, (bytes, int)) and len(np.shape(value)) and len(value) == 0:
            for message in (theirs, ours):
                feature = message.features.feature[name]
                kind = feature.WhichOneof("kind")
                assert not kind or not getattr(feature, kind).value
                feature.Clear()
    return ours == theirs


@given(columns())
def test_columns_are_encoded_row_by_row(
    table_and_rows: tuple[dict[str, Any], list[dict[str, Any]]],
) -> None:
    table, rows = table_and_rows
    found = encode_examples(table)
    assert isinstance(found, fastrec.Bytes)
    assert len(found) == len(rows)
    for data, row in zip(found, rows, strict=True):
        assert same_but_for_empty_lists(data, row)
        again = train.Example.FromString(data)
        assert again.SerializeToString(deterministic=True) == data, "not the canonical bytes"


@given(columns())
def test_a_writer_writes_columns_as_their_rows(
    tmp_path: Path, table_and_rows: tuple[dict[str, Any], list[dict[str, Any]]]
) -> None:
    table, rows = table_and_rows
    with fastrec.Writer(tmp_path / "file", overwrite=True) as writer:
        writer.write_batch(table)
        assert writer.count == len(rows)
    assert list(fastrec.Reader(tmp_path / "file")) == encode_examples(table).to_list()


@given(st.lists(st.dictionaries(st.sampled_from("abc"), make.encodable), max_size=4))
def test_a_writer_writes_mappings_as_examples(
    tmp_path: Path, mappings: list[dict[str, Any]]
) -> None:
    with fastrec.Writer(tmp_path / "file", overwrite=True) as writer:
        for mapping in mappings:
            writer.write(mapping)
    assert list(fastrec.Reader(tmp_path / "file")) == [encode_example(m) for m in mappings]


def test_images_in_a_column_are_one_bytes_value_a_row() -> None:
    images = np.arange(24, dtype=np.uint8).reshape(2, 2, 2, 3)
    for data, image in zip(encode_examples({"image": images}), images, strict=True):
        assert data == encode_example({"image": image})


def test_columns_of_different_lengths_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"'b'|'a'"):
        encode_examples({"a": np.arange(3), "b": np.arange(4)})


@pytest.mark.parametrize(
    "column", [3, None, object(), np.int64(3), np.array(3)], ids=lambda value: type(value).__name__
)
def test_a_column_without_rows_is_refused_by_name(column: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="'key'"):
        encode_examples({"key": column})


@pytest.mark.parametrize("column", [np.array([1, 2**63], np.uint64), np.array([0, 1e39])])
def test_a_value_out_of_range_is_refused_with_its_key_and_row(column: Any) -> None:
    with pytest.raises((OverflowError, ValueError), match="'key'") as caught:
        encode_examples({"key": column})
    assert "1" in str(caught.value)


def test_hostile_splits_and_offsets_are_refused() -> None:
    for splits in ([0, 5], [0, -1], [2, 1], [-1, 2], [0, 2**62]):
        column = fastrec.Ragged(np.arange(3), np.array(splits, np.int64))
        with pytest.raises(ValueError, match="'key'"):
            encode_examples({"key": column})
        strings = fastrec.Bytes(np.zeros(3, np.uint8), np.array(splits, np.int64))
        with pytest.raises(ValueError, match="'key'"):
            encode_examples({"key": strings})


@given(make.plain_examples, st.data())
def test_what_is_parsed_can_be_encoded_again(data: bytes, draw: Any) -> None:
    example = train.Example.FromString(data)
    dtypes = {"int64_list": np.int64, "float_list": np.float32, "bytes_list": bytes}
    features = {
        name: fastrec.RaggedFeature(dtypes[kind])
        for name, feature in example.features.feature.items()
        if (kind := feature.WhichOneof("kind")) and getattr(feature, kind).value
    }
    if not features:
        return
    columns = fastrec.parse_example([data] * 2, features)
    again = fastrec.parse_example(encode_examples(columns), features)
    for name in features:
        assert again[name].row_splits.tolist() == columns[name].row_splits.tolist()
        values, expected = again[name].values, columns[name].values
        if isinstance(expected, fastrec.Bytes):
            assert values == expected
        else:
            assert values.tobytes() == expected.tobytes()


@pytest.mark.parametrize("encode", [fastrec.encode_example, fastrec.encode_examples])
@pytest.mark.parametrize("listed", [False, True])
def test_a_pillow_image_is_refused_because_pixels_lose_its_size(encode: Any, listed: bool) -> None:
    image = pytest.importorskip("PIL.Image").new("RGB", (2, 3))
    with pytest.raises(TypeError, match="a Pillow image cannot be stored as pixels alone"):
        encode({"image": [image] if listed else image})
