# SPDX-License-Identifier: Apache-2.0
"""Parsing in ``fastrec.compat.v1``: Examples, SequenceExamples, raw bytes, lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fastrec
import fastrec.compat.v1 as tf
from fastrec import encode_example


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_an_example_becomes_tensors_of_every_kind(session: tf.Session) -> None:
    record = encode_example({"k": 3, "b": b"xy", "v": [1.5, 2.5], "i": [4, 1], "n": [1, 1]})
    parsed = tf.parse_single_example(
        record,
        {
            "k": tf.FixedLenFeature([], tf.int64),
            "b": tf.FixedLenFeature([1], tf.string),
            "d": tf.FixedLenFeature([2], tf.float32, [7, 8]),
            "v": tf.VarLenFeature(tf.float32),
            "s": tf.SparseFeature("i", "v", tf.float32, 6),
            "q": tf.FixedLenSequenceFeature([2], tf.int64, allow_missing=True),
            "r": tf.RaggedFeature(tf.float32, "v2", [tf.RaggedFeature.RowLengths("n")]),
        },
    )
    assert list(parsed) == ["s", "v", "b", "d", "k", "q", "r"]
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run(parsed)  # v2 is missing, and n says that it has two rows
    parsed.pop("r")
    with tf.Graph().as_default(), tf.Session() as fresh:
        again = tf.parse_single_example(
            record,
            {"v": tf.VarLenFeature(tf.float32), "s": tf.SparseFeature("i", "v", tf.float32, 6)},
        )
        result = fresh.run(again)
    assert result["v"].indices.tolist() == [[0], [1]]
    assert result["v"].dense_shape.tolist() == [2]
    assert result["s"].indices.tolist() == [[1], [4]]
    assert result["s"].values.tolist() == [2.5, 1.5]


def test_a_batch_has_a_leading_dimension(session: tf.Session) -> None:
    rows = tf.placeholder(tf.string, [None])
    parsed = tf.parse_example(
        rows,
        {
            "k": tf.FixedLenFeature([], tf.int64, -1),
            "b": tf.FixedLenFeature([], tf.string, ""),
            "v": tf.VarLenFeature(tf.int64),
            "r": tf.RaggedFeature(tf.int64, "w"),
        },
    )
    records = [encode_example({"k": 3, "v": [5], "w": [1, 2]}), encode_example({"b": b"\0x\0"})]
    result = session.run(parsed, {rows: records})
    assert result["k"].tolist() == [3, -1]
    assert result["b"].tolist() == [b"", b"\0x\0"]
    assert result["v"].dense_shape.tolist() == [2, 1]
    assert result["r"].to_list() == [[1, 2], []]
    dense = session.run(tf.sparse_tensor_to_dense(parsed["v"], -7), {rows: records})
    assert dense.tolist() == [[5], [-7]]
    assert session.run(parsed["r"].to_tensor(9), {rows: records}).tolist() == [[1, 2], [9, 9]]
    assert session.run(parsed["k"], {rows: []}).tolist() == []


@pytest.mark.parametrize(
    ("values", "feature", "single", "batch"),
    [
        (
            {},
            tf.FixedLenFeature([], tf.int64),
            "Feature: k (data type: int64) is required but could not be found.",
            "Name: n0, Feature: k (data type: int64) is required but could not be found.",
        ),
        (
            {"k": [1, 2]},
            tf.FixedLenFeature([3], tf.int64),
            "Key: k.  Can't parse serialized Example: Some int64_list slice was not parsed.",
            "Name: n0, Key: k, Index: 0.  Number of int64 values != expected.  Values size: 2 but "
            "output shape: [3]",
        ),
        (
            {"k": 1.5},
            tf.FixedLenFeature([], tf.int64),
            "Key: k.  Data types don't match. Data type: float but expected type: int64",
            "Name: n0, Key: k, Index: 0.  Data types don't match. Data type: float but expected "
            "type: int64",
        ),
        (
            {"k": 1.5},
            tf.VarLenFeature(tf.int64),
            "Key: k.  Data types don't match. Expected type: int64, Actual type: float",
            "Name: n0, Key: k, Index: 0.  Data types don't match. Expected type: int64, Actual "
            "type: float",
        ),
    ],
)
def test_what_cannot_be_parsed_is_said_in_the_words_that_programs_match(
    session: tf.Session, values: Any, feature: Any, single: str, batch: str
) -> None:
    record = encode_example(values)
    one = tf.parse_single_example(record, {"k": feature})
    many = tf.parse_example([record], {"k": feature}, example_names=["n0"])
    for fetch, text in ((one, single), (many, batch)):
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(fetch)
        assert str(caught.value).split("\n")[0] == text
        assert isinstance(caught.value, fastrec.ExampleParseError)
        assert isinstance(caught.value.__cause__, fastrec.ExampleParseError)
        assert caught.value.op.type.startswith("Parse")


@pytest.mark.parametrize(
    ("features", "error", "text"),
    [
        ({}, ValueError, "features cannot be empty"),
        (None, ValueError, "features cannot be None"),
        ({"k": 3}, ValueError, "Unsupported int 3 for key 'k'"),
        ({"k": tf.FixedLenFeature(None, tf.int64)}, ValueError, "Missing shape for feature k"),
        ({"k": tf.FixedLenFeature([], None)}, ValueError, "Missing type for feature k"),
        ({"k": tf.FixedLenFeature([None], tf.int64)}, ValueError, "First dimension of shape for"),
        ({"k": tf.FixedLenFeature([2, None], tf.int64)}, ValueError, r"received \[2, None\]\."),
        ({"k": tf.FixedLenFeature([], tf.int32)}, TypeError, "has DataType int32 not in list"),
        ({"k": tf.FixedLenFeature([2], tf.int64, 1)}, ValueError, "Cannot reshape a tensor with 1"),
        ({"k": tf.FixedLenFeature([], tf.int64, 1.5)}, TypeError, "Expected int64, but got 1.5"),
        ({"k": tf.FixedLenSequenceFeature([2], tf.int64)}, ValueError, "requires allow_missing"),
        ({"k": tf.SparseFeature(None, "v", tf.int64, 3)}, ValueError, "Missing index_key"),
        (
            {"s": tf.SparseFeature("i", "v", tf.float32, 3), "v": tf.VarLenFeature(tf.int64)},
            ValueError,
            "Conflicting type <dtype: 'float32'> vs <dtype: 'int64'> for feature v",
        ),
        (
            {"v": tf.FixedLenFeature([], tf.int64), "s": tf.SparseFeature("i", "v", tf.int64, 3)},
            ValueError,
            "Dense and sparse keys must not intersect",
        ),
    ],
)
def test_features_that_cannot_work_are_refused_when_the_graph_is_made(
    features: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        tf.parse_single_example(tf.placeholder(tf.string, []), features)


def test_sequence_examples_have_a_context_and_feature_lists(session: tf.Session) -> None:
    record = fastrec.encode_sequence_example({"c": 7}, {"x": [[1, 2], [3, 4]], "y": [[5], []]})
    context, lists = tf.parse_single_sequence_example(
        record,
        {"c": tf.FixedLenFeature([], tf.int64)},
        {"x": tf.FixedLenSequenceFeature([2], tf.int64), "y": tf.VarLenFeature(tf.int64)},
    )
    found = session.run({"c": context["c"], "x": lists["x"], "y": lists["y"]})
    assert found["c"] == 7
    assert found["x"].tolist() == [[1, 2], [3, 4]]
    assert found["y"].dense_shape.tolist() == [2, 1]
    _, batch, lengths = tf.parse_sequence_example(
        [record, record], None, {"x": tf.FixedLenSequenceFeature([2], tf.int64)}
    )
    assert session.run(batch["x"]).shape == (2, 2, 2)
    assert session.run(lengths["x"]).tolist() == [2, 2]
    missing = tf.parse_single_sequence_example(
        record, None, {"z": tf.FixedLenSequenceFeature([], tf.int64)}
    )[1]
    text = "Feature list 'z' is required but could not be found."
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        session.run(missing)


def test_raw_bytes_become_numbers(session: tf.Session) -> None:
    p = tf.placeholder(tf.string)
    little, big = tf.decode_raw(p, tf.int16), tf.decode_raw(p, tf.int16, little_endian=False)
    assert session.run(little, {p: b"\1\0\2\0"}).tolist() == [1, 2]
    assert session.run(big, {p: [b"\1\0", b"\0\2"]}).tolist() == [[256], [2]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="length 3 that is not a multiple of"):
        session.run(little, {p: b"abc"})
    text = "to all be the same size, but element 1 has size 2 != 4"
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        session.run(little, {p: [b"ab", b"abcd"]})
    result = session.run(tf.decode_raw(tf.constant(b"abc"), tf.uint8))
    result[:] = 0  # it is the caller's


def test_lines_become_columns(session: tf.Session) -> None:
    lines = tf.constant(["1,2.5,a", '2,,"b,""c"""'])
    a, b, c = tf.decode_csv(lines, [[0], [-1.0], [""]])
    assert session.run(a).tolist() == [1, 2]
    assert session.run(b).tolist() == [2.5, -1.0]
    assert session.run(c).tolist() == [b"a", b'b,"c"']
    (second,) = tf.decode_csv(lines, [tf.constant([0.0])], select_cols=[1])
    assert session.run(second).tolist() == [2.5, 0.0]
    for record, defaults, text in (
        ("1,2", [[0]], "Expect 1 fields but have 2 in record 0"),
        ("x", [[0]], "Field 0 in record 0 is not a valid int32: x"),
        ("", [np.zeros(0, np.int32)], "Expect 1 fields but have 0 in record 0"),
        (",1", [np.zeros(0, np.int32), [1]], "Field 0 is required but missing in record 0!"),
        ('a"b', [[""]], "Unquoted fields cannot have quotes/CRLFs inside"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            session.run(tf.decode_csv(record, defaults))
