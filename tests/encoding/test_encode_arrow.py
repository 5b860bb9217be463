# SPDX-License-Identifier: Apache-2.0
"""Arrow arrays as columns, by way of the C data interface."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

from fastrec import encode_example, encode_examples

pa = pytest.importorskip("pyarrow")


class Capsules:
    """An array of which only the interface shows."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        return self._array.__arrow_c_array__()


def same(array: Any, rows: list[Any]) -> None:
    expected = [encode_example({"a": row}) for row in rows]
    for column in (array, Capsules(array)):
        assert encode_examples({"a": column}).to_list() == expected
    middle = array[1:-1]
    assert encode_examples({"a": middle}).to_list() == expected[1:-1]
    chunks = pa.chunked_array([array, middle])
    assert encode_examples({"a": chunks}).to_list() == expected + expected[1:-1]


@pytest.mark.parametrize("dtype", [np.dtype(c) for c in "bBhHiIqQefd"], ids=str)
def test_numbers_of_every_type(dtype: np.dtype) -> None:
    values = np.arange(20).astype(dtype)
    same(pa.array(values), list(values))


def test_booleans_of_single_bits() -> None:
    values = [True, False, False, True, True, False, True, True, False, True, False]
    same(pa.array(values), values)


@pytest.mark.parametrize("kind", ["binary", "large_binary"])
def test_bytes(kind: str) -> None:
    values = [b"a", b"", b"longer than twelve bytes", b"x", b"y"]
    same(pa.array(values, getattr(pa, kind)()), values)


@pytest.mark.parametrize("kind", ["string", "large_string"])
def test_text(kind: str) -> None:
    values = ["a", "", "\N{SNOWMAN}", "x", "y"]
    same(pa.array(values, getattr(pa, kind)()), values)


@pytest.mark.parametrize("wrap", ["list_", "large_list"])
@pytest.mark.parametrize(
    "rows", [[[1, 2], [3], [4, 5, 6], [7]], [["a"], ["b", "c"], [""], ["d"]], [[0.5], [1.5], [2.5]]]
)
def test_lists(wrap: str, rows: list[Any]) -> None:
    inner = {int: pa.int64(), str: pa.string(), float: pa.float32()}[type(rows[0][0])]
    same(pa.array(rows, getattr(pa, wrap)(inner)), rows)


def test_lists_of_a_fixed_size() -> None:
    rows = [[1, 2], [3, 4], [5, 6], [7, 8]]
    same(pa.array(rows, pa.list_(pa.int32(), 2)), rows)
    texts = [["a", "b"], ["c", "d"], ["e", "f"]]
    same(pa.array(texts, pa.list_(pa.string(), 2)), texts)
    strings = [b"abc", b"def", b"ghi"]
    same(pa.array(strings, pa.binary(3)), strings)


@pytest.mark.parametrize(
    "rows", [[1, None, 3, None], ["a", None, "b", None], [[1], None, [2], [3]]]
)
def test_nulls_are_features_of_no_kind(rows: list[Any]) -> None:
    same(pa.array(rows), rows)


@pytest.mark.parametrize("values", [[[1, 2], None, [3, 4], None], [["a"], None, ["b"]]])
def test_a_null_among_lists_of_a_fixed_size_is_one(values: list[Any]) -> None:
    inner = pa.int16() if len(values) == 4 else pa.string()
    same(pa.array(values, pa.list_(inner, len(values[0]))), values)


@pytest.mark.parametrize("kind", [pa.list_(pa.int8()), pa.list_(pa.int8(), 1)])
def test_nulls_beyond_a_slice_do_not_matter(kind: Any) -> None:
    array = pa.array([[None], [1], [2], [None]], kind)
    assert encode_examples({"a": array[1:3]}).to_list() == [
        encode_example({"a": [value]}) for value in (1, 2)
    ]


@pytest.mark.parametrize("values", [["x", "y"], [1.5, 2.5]])
def test_chunks_with_empty_dictionaries(values: list[Any]) -> None:
    parts: list[list[Any]] = [[], values, [None]]
    kind = pa.string() if isinstance(values[0], str) else pa.float32()
    chunks = pa.chunked_array([pa.array(part, kind).dictionary_encode() for part in parts])
    expected = [encode_example({"a": value}) for value in [*values, None]]
    assert encode_examples({"a": chunks}).to_list() == expected


@pytest.mark.parametrize("kind", ["string", "large_binary", "string_view", "int64"])
@pytest.mark.parametrize("numbers", ["int8", "uint32", "int64"])
def test_dictionaries_are_what_they_stand_for(kind: str, numbers: str) -> None:
    words: list[Any] = [b"a", b"a word of many bytes", b"", b"a"]
    words = [3, 4, 5, 3] if kind == "int64" else words
    indices = pa.array([2, None, 0, 0, 1, 3], getattr(pa, numbers)())
    array = pa.DictionaryArray.from_arrays(indices, pa.array(words, getattr(pa, kind)()))
    same(array, [words[2], None, words[0], words[0], words[1], words[3]])
    array = pa.DictionaryArray.from_arrays(pa.array([1, 0, 1]), pa.array([None, words[1]]))
    same(array, [words[1], None, words[1]])


def test_a_number_beyond_the_dictionary_is_refused() -> None:
    array = pa.DictionaryArray.from_arrays(pa.array([0, 2]), pa.array(["a", "b"]), safe=False)
    with pytest.raises(TypeError, match="numbers beyond its dictionary"):
        encode_examples({"a": array})


@pytest.mark.parametrize("kind", ["string_view", "binary_view"])
def test_strings_of_views(kind: str) -> None:
    values = [b"short", b"", None, b"just twelve.", b"thirteen long", b"y" * 100_000, b"x", None]
    same(pa.array(values, getattr(pa, kind)()), values)
    same(pa.array([b"a", b"b", b"c"], getattr(pa, kind)()), [b"a", b"b", b"c"])
    many = [b"%d" % i * (i % 9) for i in range(3000)]
    same(pa.array(many, getattr(pa, kind)()), many)


def test_nothing_but_nulls() -> None:
    same(pa.nulls(4), [None] * 4)


@pytest.mark.parametrize(
    "array",
    [
        lambda: pa.array([1, 2], pa.timestamp("s")),
        lambda: pa.array([1, 2], pa.date32()),
        lambda: pa.array([{"x": 1}]),
        lambda: pa.array([[1, None]]),
    ],
)
def test_what_no_list_stores_is_refused_by_name(array: Any) -> None:
    with pytest.raises(TypeError, match="'key': the Arrow array is"):
        encode_examples({"key": array()})


def test_an_array_of_no_rows() -> None:
    assert len(encode_examples({"a": pa.array([], pa.int64())})) == 0
    assert len(encode_examples({"a": pa.chunked_array([], pa.string())})) == 0


def test_memory_goes_back_when_nothing_looks_at_it() -> None:
    before = pa.total_allocated_bytes()
    for _ in range(3):
        array = pa.array(np.arange(100_000))
        encode_examples({"a": array, "b": pa.array(["x"] * 100_000)})
        del array
        gc.collect()
    assert pa.total_allocated_bytes() == before
