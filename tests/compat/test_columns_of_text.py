# SPDX-License-Identifier: Apache-2.0
"""Text in columns: rows cut into fields, letters changed, patterns replaced, as one by one."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec.compat.v2 as tf
from fastrec import Bytes, _tensor
from fastrec.compat._tf.data import csv
from fastrec.compat._tf.kernels.csv import Field, fields_of, read_lines

ROWS = [b"a,b,c\n", b'"x,""y",,"z\n"\r\n', b",,\n", b'p,"q",r\r', b'"",\xc3\xa4,"\r"\n']
LONG = b"a text of some words \xc3\xa4 - + # !"
WRONG = [b'a"b,c,d\n', b'"a"b,c,d\n', b"e,f\n", b"g,h,i,j\n"]


@pytest.mark.parametrize("seed", range(6))
def test_rows_of_files_are_cut_natively_as_one_by_one(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(seed)
    rows = [draw.choice(ROWS if seed % 2 else [*ROWS, *WRONG]) for _ in range(300)]
    path = tmp_path / "rows.csv"
    path.write_bytes(b"one,two,three\n" + b"".join(rows) + b"last,row")
    monkeypatch.setattr(csv, "_CHUNK", draw.choice([7, 50, 1000]))

    def found(options: dict[str, Any]) -> list[Any]:
        defaults = [[""], ["none"], ["none"]]
        dataset = tf.data.experimental.CsvDataset(str(path), defaults, header=True, **options)
        values = iter(dataset)
        outcome: list[Any] = []
        while len(outcome) < 2000:
            try:
                outcome.append([column.numpy() for column in next(values)])
            except StopIteration:
                return outcome
            except tf.errors.InvalidArgumentError as error:
                outcome.append(error.message)
        raise AssertionError("no end")

    for options in ({}, {"na_value": "b"}, {"use_quote_delim": False}, {"field_delim": "a"}):
        quick = found(options)
        with monkeypatch.context() as patch:
            patch.setattr(csv._Rows, "_plain", lambda self: None)
            assert quick == found(options)


@pytest.mark.parametrize("quoted", [True, False])
def test_lines_are_cut_natively_as_one_by_one(quoted: bool) -> None:
    draw = random.Random(5)
    fields = [Field(np.dtype(object), b""), Field(np.dtype(object), b"none")] * 2
    for turn in range(400):
        lines = [
            b",".join(draw.choices([b"", b"a", LONG, b'"b"', b'"c,""d"', b"NA", b'"\n"'], k=4))
            for _ in range(draw.randrange(1, 5))
        ]
        lines += draw.choices([b'x"y', b"", b"a,b,c,d\n", b"\na,b,c,d", b'"a"b,c,d,e'], k=turn % 2)
        try:
            rows = [fields_of(line, b",", quoted) for line in lines]
            wrong = any(len(row) != 4 for row in rows)
        except tf.errors.InvalidArgumentError:
            wrong = True
        if wrong:
            with pytest.raises(tf.errors.InvalidArgumentError):
                read_lines(Bytes.from_list(lines), fields, b",", quoted, b"NA", None)
            continue
        columns = read_lines(Bytes.from_list(lines), fields, b",", quoted, b"NA", None)
        for number, texts in enumerate(zip(*rows, strict=True)):
            default = (b"", b"none")[number % 2]
            expected = [default if text in (b"", b"NA") else text for text in texts]
            assert list(columns[number]) == expected


def test_rows_that_are_cut_have_a_delimiter_of_their_own() -> None:
    with pytest.raises(ValueError, match="must not be a quote"):
        _tensor.cut_csv(np.zeros(1, np.uint8), np.array([0, 1]), 10, True, False)


def test_every_string_from_one_on_lies_within_the_data() -> None:
    texts = Bytes.from_list([b"", LONG, b"c", b"d" * 16, b"", b"end"])
    for first in range(8):
        for step in (1, 2, 3, 9):
            found = Bytes(*_tensor.every_string(texts.data, texts.offsets, first, step))
            assert list(found) == list(texts)[first::step]
    offsets = np.array([0, 9, 3, 4, 60])
    assert list(Bytes(*_tensor.every_string(texts.data, offsets, 2, 2))) == [LONG[3:4]]
    for first, step in ((1, 1), (3, 1), (0, 3)):
        with pytest.raises(ValueError, match="offsets must"):
            _tensor.every_string(texts.data, offsets, first, step)
    with pytest.raises(ValueError, match="step must be at least 1"):
        _tensor.every_string(texts.data, texts.offsets, 0, 0)
    with pytest.raises(ValueError, match="offsets must"):
        _tensor.every_string(texts.data, np.array([], np.int64), 0, 1)


@pytest.fixture
def lines(tmp_path: Path) -> list[str]:
    texts = ["aB d", "", "c\u00c4z", "[x", "ab"]
    (tmp_path / "lines.txt").write_text("\n".join(texts) + "\n", "utf-8")
    return texts


@pytest.mark.parametrize(
    "pattern", [" ", "^c", "d$", "\\bd", "[^aB]", "\\[^x", "z", "zz|y", "Ä", "ba", "q", "[^q]q"]
)
@pytest.mark.parametrize("known", [True, False])
def test_patterns_leave_strings_that_do_not_match_as_they_are(
    pattern: str, known: bool, lines: list[str], tmp_path: Path
) -> None:
    dataset = tf.data.TextLineDataset(str(tmp_path / "lines.txt")).batch(3)

    def changed(batch: Any) -> Any:
        given = pattern if known else tf.constant(pattern)
        return batch, tf.strings.regex_replace(batch, given, "-")

    for texts, found in dataset.map(changed):
        expected = [re.sub(pattern, "-", text.decode()).encode() for text in texts.numpy()]
        assert found.numpy().tolist() == expected


def test_letters_of_columns_are_changed_at_once(lines: list[str], tmp_path: Path) -> None:
    dataset = tf.data.TextLineDataset(str(tmp_path / "lines.txt")).batch(3).skip(1)
    for change, one in ((tf.strings.lower, bytes.lower), (tf.strings.upper, bytes.upper)):
        (found,) = dataset.map(change)
        assert found.numpy().tolist() == [one(text.encode()) for text in lines[3:]]
    for change, wide in ((tf.strings.lower, str.lower), (tf.strings.upper, str.upper)):
        (found,) = dataset.map(lambda x, change=change: change(x, encoding="utf-8"))
        assert found.numpy().tolist() == [wide(text).encode() for text in lines[3:]]


@pytest.mark.parametrize("splits", ["int32", "int64"])
@pytest.mark.parametrize("shape", [None, [None, 2], [None, 5], [3, None], [5, None], [2, 3]])
def test_rows_become_dense_as_in_plain_python(shape: Any, splits: str) -> None:
    lists = [[1, 2], [], [3, 4, 5], [6]]
    texts = [[b"%d" % n * n for n in row] for row in lists]
    height, width = shape or [None, None]
    height, width = height or len(lists), width or 3
    for rows, filler in ((lists, 0), (lists, -1), (texts, b""), (texts, b"--")):
        expected = [(row + [filler] * width)[:width] for row in rows]
        expected = (expected + [[filler] * width] * height)[:height]
        ragged = tf.ragged.constant([[], *rows], row_splits_dtype=splits)[1:]
        assert ragged.to_tensor(filler, shape=shape).numpy().tolist() == expected
        inner = tf.ragged.constant([rows, [], rows[:1]], row_splits_dtype=splits)
        assert inner.to_tensor(filler).shape == [3, 4, 3]
        assert inner.to_tensor(filler)[2, 0].numpy().tolist() == (rows[0] + [filler] * 3)[:3]


@pytest.mark.parametrize("pattern", ["(?L)a", "(?L:a)", "(?iL:a)", "(?u)a", r"\u0061", "(a"])
def test_flags_and_escapes_of_one_kind_of_text_alone_are_no_patterns(pattern: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid pattern"):
        tf.strings.regex_replace("a", pattern, "b")


def test_a_pattern_is_used_on_texts_of_either_kind() -> None:
    for text, expected in [("ab a", b"1b 1"), ("\u00e9a", b"\xc3\xa91"), ("a", b"1")]:
        assert tf.strings.regex_replace(text, r"[a]+", "1").numpy() == expected
