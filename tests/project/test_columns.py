# SPDX-License-Identifier: Apache-2.0
"""Bytes and Ragged behave as the lists that they stand for."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastrec import Arrays, Bytes, Ragged, Sparse

some_strings = st.lists(st.binary(max_size=6), max_size=8)
some_rows = st.lists(st.lists(st.integers(0, 99), max_size=4), max_size=8)


def ragged(rows: list[list[int]]) -> Ragged:
    splits = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return Ragged(np.array([value for row in rows for value in row], np.int64), splits)


def shaped(strings: list[bytes], width: int) -> Bytes:
    flat = Bytes.from_list(strings)
    return Bytes(flat.data, flat.offsets, (len(strings) // width, width))


@given(some_strings)
def test_bytes_are_the_list_they_were_made_of(strings: list[bytes]) -> None:
    column = Bytes.from_list(strings)
    assert list(column) == column.to_list() == column.to_numpy().tolist() == strings
    assert column == strings
    assert column.shape == (len(column),) == (len(strings),)
    assert column.nbytes == sum(map(len, strings))
    assert [column[i] for i in range(-len(strings), len(strings))] == strings * 2
    assert np.asarray(column).dtype == object


def test_large_strings_are_copied_one_by_one() -> None:
    strings = [b"a" * 40_000, b"", b"b" * 30_000]
    column = Bytes.from_list([b"before", *strings, b"after"])[1:4]
    assert column.to_list() == strings


def test_the_only_row_of_a_sparse_column_is_all_of_it() -> None:
    column = Sparse(np.array([[0, 2], [0, 3]]), np.array([5, 6]), (1, 4))
    (row,) = column
    assert row.to_dense().tolist() == [0, 0, 5, 6]
    assert row.dense_shape == (4,)
    with pytest.raises(IndexError):
        column[1]


@given(some_strings, st.slices(8))
def test_a_slice_of_bytes_is_the_slice_of_the_list(strings: list[bytes], where: slice) -> None:
    part = Bytes.from_list(strings)[where]
    assert isinstance(part, Bytes)
    assert part.to_list() == strings[where]
    assert part == strings[where]
    assert part.nbytes == sum(map(len, strings[where]))
    assert part[::-1].to_list() == strings[where][::-1]


@given(some_strings.filter(lambda strings: len(strings) % 2 == 0), st.slices(4))
def test_bytes_may_have_more_dimensions(strings: list[bytes], where: slice) -> None:
    column = shaped(strings, 2)
    rows = [strings[i : i + 2] for i in range(0, len(strings), 2)]
    assert len(column) == len(rows)
    assert column.to_list() == rows
    each: Any = column
    assert [row.to_list() for row in each] == rows
    assert column[where].to_list() == rows[where]
    assert column.to_numpy().shape == (len(rows), 2)


@pytest.mark.parametrize("index", [3, -4, 10**30])
def test_an_index_outside_is_an_index_error(index: int) -> None:
    with pytest.raises(IndexError):
        Bytes.from_list([b"a", b"b", b"c"])[index]
    with pytest.raises(IndexError):
        ragged([[1], [], [2]])[index]


def test_bytes_compare_by_what_they_hold() -> None:
    column = Bytes.from_list([b"a", b"bc"])
    moved = Bytes(np.frombuffer(b"xabc", np.uint8), np.array([1, 2, 4]))
    assert column == moved
    assert column != Bytes.from_list([b"ab", b"c"])
    assert column != 3
    assert shaped([b"a", b"b"], 1) != Bytes.from_list([b"a", b"b"])


@given(some_rows)
def test_ragged_rows_are_the_lists_they_were_made_of(rows: list[list[int]]) -> None:
    column = ragged(rows)
    assert len(column) == len(rows)
    assert column.to_list() == rows
    assert [row.tolist() for row in column] == rows
    assert [column[i].tolist() for i in range(-len(rows), len(rows))] == rows * 2
    assert column.row_lengths.tolist() == [len(row) for row in rows]
    assert column.flat_values.tolist() == [value for row in rows for value in row]


@given(some_rows, st.slices(8))
def test_a_slice_of_ragged_rows_is_the_slice_of_the_list(
    rows: list[list[int]], where: slice
) -> None:
    part = ragged(rows)[where]
    assert isinstance(part, Ragged)
    assert len(part) == len(rows[where])
    assert part.to_list() == rows[where]


def test_ragged_rows_may_nest_and_may_hold_bytes() -> None:
    strings = Ragged(Bytes.from_list([b"a", b"b", b"c"]), np.array([0, 2, 2, 3]))
    assert strings.to_list() == [[b"a", b"b"], [], [b"c"]]
    assert strings[0] == [b"a", b"b"]
    nested = Ragged(strings, np.array([0, 1, 3]))
    assert nested.to_list() == [[[b"a", b"b"]], [[], [b"c"]]]
    assert nested.flat_values is strings.values
    assert nested[1].to_list() == [[], [b"c"]]


@pytest.mark.parametrize("column", [Bytes.from_list([b"a", b""]), ragged([[1], []])], ids=repr)
def test_columns_can_be_pickled_and_copied(column: Any) -> None:
    assert pickle.loads(pickle.dumps(column)) == column
    assert copy.deepcopy(column) == column


@given(some_strings, st.lists(st.integers(-9, 9)))
def test_strings_are_taken_by_their_numbers(strings: list[bytes], order: list[int]) -> None:
    try:
        expected = [strings[place] for place in order]
    except IndexError:
        with pytest.raises(IndexError):
            Bytes.from_list(strings).take(order)
    else:
        assert Bytes.from_list(strings).take(order).to_list() == expected


@pytest.mark.parametrize("offsets", [[0, 9], [2, 1], [-1, 1], [0, 3, 1, 2]])
def test_strings_that_lie_outside_of_their_data_are_not_taken(offsets: list[int]) -> None:
    with pytest.raises(ValueError, match="offsets must ascend"):
        Bytes(np.zeros(3, np.uint8), np.array(offsets, np.int64)).take([0])


@given(st.lists(st.lists(st.binary(max_size=3), max_size=4), max_size=5), st.data())
def test_rows_become_the_lists_that_they_were_made_of(
    rows: list[list[bytes]], data: st.DataObject
) -> None:
    splits = np.cumsum([0, *map(len, rows)])
    flat = [item for row in rows for item in row]
    strings = Ragged(Bytes.from_list(flat), splits)
    sizes = Ragged(np.array([len(item) for item in flat], np.int16), splits)
    first = data.draw(st.integers(0, len(rows)))
    last = data.draw(st.integers(first, len(rows)))
    part = rows[first:last]
    assert strings[first:last].to_list() == part
    assert sizes[first:last].to_list() == [[len(item) for item in row] for row in part]
    nested = Ragged(strings, np.array([0, first, len(rows)]))
    assert nested.to_list() == [rows[:first], rows[first:]]
    arrays = Arrays(sizes.values, splits, np.array([[len(row), 1] for row in rows]).reshape(-1, 2))
    assert arrays[first:last].to_list() == [[[len(item)] for item in row] for row in part]


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.data())
def test_sparse_values_are_put_at_their_indices(shape: list[int], data: st.DataObject) -> None:
    place = st.tuples(*(st.integers(0, size - 1) for size in shape))
    places = data.draw(st.lists(place, unique=True, max_size=6))
    indices = np.array(places, np.int64).reshape(-1, len(shape))
    dense = np.full(shape, 7)
    for number, each in enumerate(places):
        dense[each] = number
    sparse = Sparse(indices, np.arange(len(places)), tuple(shape))
    assert np.array_equal(sparse.to_dense(7), dense)
    if places:
        axis = data.draw(st.integers(0, len(shape) - 1))
        indices[-1, axis] = data.draw(st.sampled_from([-1, shape[axis], 2**62]))
        with pytest.raises(IndexError, match="an index lies outside of"):
            sparse.to_dense()


@pytest.mark.parametrize("offsets", [[0, 5], [3, 1], [-1, 2], [0, 2**62, 2], [5, -(2**63) + 2]])
def test_strings_outside_of_their_data_are_refused(offsets: list[int]) -> None:
    strings = Bytes(np.zeros(4, np.uint8), np.array(offsets))
    for call in (strings.to_list, strings.to_numpy, lambda: strings.take([0])):
        with pytest.raises(ValueError, match="offsets must ascend, and lie within the data"):
            call()
