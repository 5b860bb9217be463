# SPDX-License-Identifier: Apache-2.0
"""Strings are cut into parts, one by one and in columns, and files into lines."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastrec.compat.v1 as v1
import fastrec.compat.v2 as v2
from fastrec.compat._tf.data import file_datasets
from fastrec.compat._tf.ops.cutting import Cut

texts = st.lists(st.text("ab, :\t", max_size=9).map(str.encode), min_size=1, max_size=40)


def mapped(strings: list[bytes], function: Callable[[Any], Any]) -> list[Any]:
    with v1.Graph().as_default(), v1.Session() as session:
        data = v1.data.Dataset.from_tensor_slices(strings).map(function)
        row, found = v1.data.make_one_shot_iterator(data).get_next(), []
        for _ in strings:
            parts = session.run(row)
            found.append([np.asarray(part).tolist() for part in parts])
    return found


def both_ways(strings: list[bytes], function: Callable[[Any], Any]) -> list[Any]:
    before = v2.data.set_lowering(False)
    try:
        one_by_one = mapped(strings, function)
    finally:
        v2.data.set_lowering(before)
    in_columns = mapped(strings, function)
    assert in_columns == one_by_one
    return in_columns


@given(texts, st.sampled_from([b",", b" ", b", ", b"", b":"]), st.sampled_from([-1, 0, 1]))
def test_many_strings_are_cut_as_each_of_them(strings: list[bytes], sep: bytes, most: int) -> None:
    for cut in (Cut(True, True), Cut(True, False), Cut(most=most)):
        flat, splits = cut.many(np.array([*strings, *[b"a b"] * 16], object), sep)
        parts = list(flat)
        bounds = itertools.pairwise(splits.tolist())
        expected = [cut.one(text, sep) for text in [*strings, *[b"a b"] * 16]]
        assert [parts[a:b] for a, b in bounds] == expected


@given(texts)
def test_parts_of_parts(strings: list[bytes]) -> None:
    def function(text: Any) -> Any:
        outer = v1.string_split([text, text + b",c"], ",", skip_empty=False)
        inner = v1.string_split(outer.values, ":")
        words = v1.strings.split([text])
        return [x for each in (outer, inner, words) for x in (each.indices, each.values)]

    both_ways(strings, function)


def test_numbers_of_a_line() -> None:
    def function(line: Any) -> Any:
        columns = v1.string_split([line], " ")
        pairs = v1.string_split(columns.values[1:], ":")
        ids, values = v1.split(v1.reshape(pairs.values, pairs.dense_shape), 2, axis=1)
        label = v1.string_to_number(columns.values[0])
        return label, v1.string_to_number(ids, v1.int32), v1.string_to_number(values)

    lines = [b"1 3:0.5 40:2", b"0 1:1e2 2:-3", b"1 7:8"]
    for given_lines in (lines[:2] * 20, lines * 20):
        found = both_ways(given_lines, function)
        assert found[:2] == [[1.0, [[3], [40]], [[0.5], [2]]], [0.0, [[1], [2]], [[100], [-3]]]]
    assert found[2] == [1.0, [[7]], [[8.0]]]


def test_places_of_lines_of_differing_length() -> None:
    def function(line: Any) -> Any:
        words = v1.string_split([line]).values
        return words[0], words[-1], words[1:], words[:2], words[1:3]

    lines = [b"a", b"b c", b"d e f g", b"h i j"] * 10
    assert both_ways(lines, function)[2] == [
        b"d",
        b"g",
        [b"e", b"f", b"g"],
        [b"d", b"e"],
        [b"e", b"f"],
    ]
    with pytest.raises(v1.errors.InvalidArgumentError, match="out of bounds"):
        mapped([*lines, b""], function)


def test_a_part_of_a_line_of_version_2() -> None:
    lines = [b"a,b", b"", b"c,,d"] * 20
    data = v2.data.Dataset.from_tensor_slices(lines).map(lambda line: v2.strings.split(line, ","))
    assert [each.tolist() for each in data.take(3).as_numpy_iterator()] == [
        [b"a", b"b"],
        [b""],
        [b"c", b"", b"d"],
    ]


@pytest.mark.parametrize("size", [1, 2, 5, 1 << 16])
def test_lines_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(file_datasets, "_READ", size)
    expected = {
        b"": [],
        b"\n": [b""],
        b"a": [b"a"],
        b"a\r\n\r\nb\rc\n": [b"a", b"", b"bc"],
        b"a\n\nlonger than others": [b"a", b"", b"longer than others"],
        b"a\n\r": [b"a"],
    }
    for text, lines in expected.items():
        path = tmp_path / "lines.txt"
        path.write_bytes(text)
        data = v2.data.TextLineDataset([str(path), str(path)])
        assert list(data.as_numpy_iterator()) == [*lines, *lines]
        in_columns = [row for batch in data.batch(2).as_numpy_iterator() for row in batch.tolist()]
        assert in_columns == [*lines, *lines]


def test_lines_with_and_without_quotes_have_the_same_columns() -> None:
    def columns(line: Any) -> Any:
        return v1.decode_csv(line, [["x"], [7], [0.5], [""]], na_value="NA")

    plain = [b"a,1,2,b", b",,,", b"c,0007,1e2,NA"] * 8
    expected = [[b"a", 1, 2.0, b"b"], [b"x", 7, 0.5, b""], [b"c", 7, 100.0, b""]] * 8
    assert both_ways(plain, columns) == expected
    assert both_ways([*plain, b'"q,""r""",1,1,'], columns) == [*expected, [b'q,"r"', 1, 1.0, b""]]
    for wrong in (b"a,1,2", b"", b"a,b,2,c"):
        with pytest.raises(v1.errors.InvalidArgumentError):
            mapped([*plain, wrong], columns)
