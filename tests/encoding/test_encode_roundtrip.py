# SPDX-License-Identifier: Apache-2.0
"""Values of every dtype and form are the same when they are read back."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from fastrec import (
    Bytes,
    FixedLenFeature,
    Ragged,
    RaggedFeature,
    RawFeature,
    encode_example,
    encode_examples,
    parse_example,
    train,
)
from fastrec.features.row_partitions import Partition

INTS = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"]
LISTED = [*INTS, "float16", "float32"]
RAW = [*LISTED, "uint64", "float64", "complex64", "complex128"]
SHAPES = arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)


@st.composite
def columns(draw: Any, dtypes: list[str]) -> np.ndarray:
    """Rows of one shape and dtype, in any byte order and memory layout."""
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    shape = (draw(st.integers(1, 4)), *draw(SHAPES))
    column: np.ndarray[Any, Any] = draw(arrays.arrays(dtype, shape, elements=None))
    layout = draw(st.sampled_from(["plain", "swapped", "fortran", "reversed"]))
    if layout == "swapped":
        return column.astype(dtype.newbyteorder())
    if layout == "fortran":
        return np.asfortranarray(column)
    return column[::-1] if layout == "reversed" else column


def assert_same(found: np.ndarray, column: np.ndarray) -> None:
    assert found.dtype == column.dtype.newbyteorder("=")
    assert found.shape == column.shape
    np.testing.assert_array_equal(found, column)


@given(columns(LISTED))
def test_lists_of_every_dtype(column: np.ndarray) -> None:
    features = {"a": FixedLenFeature(column.shape[1:], column.dtype.newbyteorder("="))}
    records = encode_examples({"a": column}, features)
    assert_same(parse_example(records, features)["a"], column)
    rows = [encode_example({"a": row}, features) for row in column]
    assert records.to_list() == rows
    assert_same(parse_example(rows, features)["a"], column)


@given(columns(RAW), st.booleans())
def test_raw_arrays_of_every_dtype(column: np.ndarray, little: bool) -> None:
    dtype = column.dtype.newbyteorder("=")
    features = {"a": RawFeature(column.shape[1:], dtype, little)}
    records = encode_examples({"a": column}, features)
    assert_same(parse_example(records, features)["a"], column)
    assert records.to_list() == [encode_example({"a": row}, features) for row in column]


@given(columns([*INTS, "float32"]))
def test_protobuf_reads_and_writes_the_same(column: np.ndarray) -> None:
    features = {"a": FixedLenFeature(column.shape[1:], column.dtype.newbyteorder("="))}
    records = encode_examples({"a": column}, features).to_list()
    for record, row in zip(records, column, strict=True):
        example = train.Example.FromString(record)
        assert example.SerializeToString(deterministic=True) == record
        kind = "float_list" if column.dtype.kind == "f" else "int64_list"
        assert example.features.feature["a"].WhichOneof("kind") == kind
        again = train.Example()
        values = row.reshape(-1).astype(np.float64 if kind == "float_list" else np.int64)
        getattr(again.features.feature["a"], kind).value.extend(values.tolist())
        parsed = parse_example([again.SerializeToString()], features)["a"]
        assert_same(parsed, row[np.newaxis])


@given(st.lists(st.lists(st.binary(max_size=9), max_size=4), min_size=1, max_size=5))
def test_ragged_bytes(rows: list[list[bytes]]) -> None:
    splits = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    column = Ragged(Bytes.from_list([string for row in rows for string in row]), splits)
    features = {"a": RaggedFeature(bytes)}
    for records in (encode_examples({"a": column}), encode_examples({"a": rows}, features)):
        assert parse_example(records, features)["a"].to_list() == rows


@given(st.data(), st.sampled_from(LISTED), st.lists(st.integers(0, 5), min_size=1, max_size=5))
def test_ragged_numbers_of_every_dtype(data: Any, dtype: str, lengths: list[int]) -> None:
    splits = np.cumsum([0, *lengths], dtype=np.int64)
    values = data.draw(arrays.arrays(np.dtype(dtype), int(splits[-1])))
    features = {"a": RaggedFeature(dtype)}
    column = Ragged(values, splits)
    rows = [values[a:b] for a, b in pairwise(splits)]
    for records in (
        encode_examples({"a": column}, features),
        encode_examples({"a": rows}, features),
        [encode_example({"a": row}, features) for row in rows],
    ):
        found = parse_example(records, features)["a"]
        assert found.row_splits.tolist() == splits.tolist()
        assert_same(found.values, values)


IMAGES = arrays.arrays(np.uint8, arrays.array_shapes(min_dims=3, max_dims=3, min_side=0))


@given(st.lists(IMAGES, min_size=1, max_size=4))
def test_images_of_any_shape(images: list[np.ndarray]) -> None:
    features = {"image": RawFeature("shape", np.uint8)}
    records = encode_examples({"image": images}, features)
    assert records.to_list() == [encode_example({"image": p}, features) for p in images]
    for found, image in zip(parse_example(records, features)["image"], images, strict=True):
        assert_same(found, image)


NESTED = st.lists(st.lists(st.lists(st.integers(-5, 5), max_size=3), max_size=3), max_size=3)


@given(st.lists(NESTED, min_size=1, max_size=3), st.sampled_from(sorted(Partition.KINDS)))
def test_rows_of_rows_by_every_kind_of_partition(rows: list[Any], kind: str) -> None:
    if kind == "ValueRowIds":  # which cannot say of empty rows at the end
        rows = [[[*middle, [1]] for middle in row] + [[[2]]] for row in rows]
    make = getattr(RaggedFeature, kind)
    feature = RaggedFeature(np.int64, "flat", [make("outer"), make("inner")])
    features = {"rows": feature}
    records = [encode_example({"rows": row}, features) for row in rows]
    assert encode_examples({"rows": rows}, features).to_list() == records
    found = parse_example(records, features)["rows"]
    assert found.to_list() == rows
    assert encode_examples({"rows": found}, features).to_list() == records


def test_rows_of_rows_that_are_none_are_refused_by_name() -> None:
    even = RaggedFeature(np.int64, None, [RaggedFeature.UniformRowLength(2)])
    assert parse_example([encode_example({"a": [[1, 2], [3, 4]]}, {"a": even})], {"a": even})
    with pytest.raises(ValueError, match=r"'a': a row must have 2 values .*, got 3"):
        encode_example({"a": [[1, 2], [3, 4, 5]]}, {"a": even})
    with pytest.raises(TypeError, match=r"'a': must be nested lists of depth 2 .*, got int"):
        encode_example({"a": [1, 2]}, {"a": even})
    given_apart = RaggedFeature(np.int64, None, [RaggedFeature.RowLengths("n")])
    record = encode_example({"a": [1, 2, 3], "n": [1, 2]}, {"a": given_apart})
    assert record == encode_example({"a": [[1], [2, 3]]}, {"a": given_apart})
