# SPDX-License-Identifier: Apache-2.0
"""VarLenFeature, SparseFeature and FixedLenSequenceFeature."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastrec
from fastrec import FixedLenSequenceFeature, SparseFeature, VarLenFeature


def records(*rows: dict[str, Any]) -> list[bytes]:
    return [fastrec.encode_example(row) for row in rows]


def test_values_of_varying_number_are_sparse() -> None:
    batch = records({"a": [1, 2, 3]}, {}, {"a": []}, {"a": [4]})
    found = fastrec.parse_example(batch, {"a": VarLenFeature(np.int64)})["a"]
    assert found.indices.tolist() == [[0, 0], [0, 1], [0, 2], [3, 0]]
    assert found.values.tolist() == [1, 2, 3, 4]
    assert found.dense_shape == (4, 3)
    assert found.to_dense(-1).tolist() == [[1, 2, 3], [-1] * 3, [-1] * 3, [4, -1, -1]]


def test_an_empty_batch_is_sparse_without_a_size() -> None:
    found = fastrec.parse_example([], {"a": VarLenFeature(bytes)})["a"]
    assert (found.indices.shape, len(found.values), found.dense_shape) == ((0, 2), 0, (0, 0))


def test_one_example_has_no_batch_dimension() -> None:
    (record,) = records({"a": ["x", "yy"]})
    found = fastrec.parse_single_example(record, {"a": VarLenFeature(bytes)})["a"]
    assert found.indices.tolist() == [[0], [1]]
    assert list(found.values) == [b"x", b"yy"]
    assert found.dense_shape == (2,)


def test_a_sparse_feature_is_sorted_by_index_and_keeps_duplicates_in_order() -> None:
    batch = records(
        {"i": [3, 0, 3], "v": [1.0, 2.0, 3.0]}, {}, {"i": [9, -2, 20], "v": [4.0, 5.0, 6.0]}
    )
    found = fastrec.parse_example(batch, {"x": SparseFeature("i", "v", np.float32, 10)})["x"]
    assert found.indices.tolist() == [[0, 0], [0, 3], [0, 3], [2, -2], [2, 9], [2, 20]]
    assert found.values.tolist() == [2.0, 1.0, 3.0, 5.0, 4.0, 6.0]
    assert found.dense_shape == (3, 10)
    with pytest.raises(IndexError):
        found.to_dense()


def test_what_is_said_to_be_sorted_is_left_alone() -> None:
    batch = records({"i": [3, 0], "v": ["a", "b"]})
    for already, expected in ((True, [3, 0]), (False, [0, 3])):
        feature = SparseFeature("i", "v", bytes, 10, already_sorted=already)
        found = fastrec.parse_example(batch, {"x": feature})["x"]
        assert found.indices[:, 1].tolist() == expected
        assert list(found.values) == ([b"a", b"b"] if already else [b"b", b"a"])


def test_sparse_features_have_any_number_of_dimensions_and_share_keys() -> None:
    batch = records({"i": [1, 0, 1], "j": [0, 5, -1], "v": [7, 8, 9]})
    found = fastrec.parse_example(
        batch,
        {
            "x": SparseFeature(["i", "j"], "v", np.int64, [2, 6]),
            "y": SparseFeature(["j"], "v", np.int16, [6]),
            "v": VarLenFeature(np.int64),
        },
    )
    assert found["x"].indices.tolist() == [[0, 0, 5], [0, 1, -1], [0, 1, 0]]
    assert found["x"].values.tolist() == [8, 9, 7]
    assert found["x"].dense_shape == (1, 2, 6)
    assert found["y"].values.tolist() == [9, 7, 8]
    assert found["y"].values.dtype == np.int16
    assert found["v"].values.tolist() == [7, 8, 9]


def test_a_value_without_an_index_is_an_error_also_where_another_record_has_one_too_many() -> None:
    batch = records({"i": [1], "v": [1, 2]}, {"i": [1, 2], "v": [3]})
    with pytest.raises(fastrec.ExampleParseError, match="one index for each value") as caught:
        fastrec.parse_example(batch, {"x": SparseFeature("i", "v", np.int64, 4)})
    assert caught.value.record == 0


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("i", "v", np.int64, [4]), TypeError),
        ((["i"], "v", np.int64, 4), TypeError),
        ((["i", "j"], "v", np.int64, [4]), ValueError),
        (([], "v", np.int64, []), ValueError),
        (("", "v", np.int64, 4), ValueError),
        (("i", "", np.int64, 4), ValueError),
        (("i", None, np.int64, 4), TypeError),
        (("i", "v", None, 4), TypeError),
        (("i", "v", np.int64, -4), ValueError),
    ],
)
def test_parts_that_do_not_go_together_are_refused(arguments: Any, error: Any) -> None:
    with pytest.raises(error):
        SparseFeature(*arguments)


def test_rows_are_padded_to_the_longest_record() -> None:
    batch = records({"a": [1, 2, 3, 4]}, {}, {"a": [5, 6]})
    feature = FixedLenSequenceFeature((2,), np.int64, allow_missing=True)
    found = fastrec.parse_example(batch, {"a": feature})["a"]
    assert found.tolist() == [[[1, 2], [3, 4]], [[0, 0], [0, 0]], [[5, 6], [0, 0]]]
    assert fastrec.parse_single_example(batch[2], {"a": feature})["a"].tolist() == [[5, 6]]


@pytest.mark.parametrize(
    ("dtype", "values", "default", "padding"),
    [
        (np.int64, [1], -7, -7),
        (np.uint8, [1], 255, 255),
        (np.float32, [1.0], -0.0, -0.0),
        (bytes, ["x"], "no", b"no"),
        (bytes, ["x"], None, b""),
    ],
)
def test_the_padding_is_the_default(dtype: Any, values: Any, default: Any, padding: Any) -> None:
    batch = records({"a": values}, {"a": values * 2})
    feature = FixedLenSequenceFeature((), dtype, allow_missing=True, default_value=default)
    found = fastrec.parse_example(batch, {"a": feature})["a"]
    assert found.shape == (2, 2)
    assert repr(found.tolist()[0][1] if dtype is not bytes else found.to_list()[0][1]) == repr(
        padding
    )


def test_values_that_fill_no_row_are_an_error() -> None:
    batch = records({"a": [1, 2]}, {"a": [1, 2, 3]})
    feature = FixedLenSequenceFeature((2,), np.int64, allow_missing=True)
    with pytest.raises(fastrec.ExampleParseError, match=r"record 1: feature 'a': .* multiple of 2"):
        fastrec.parse_example(batch, {"a": feature})


def test_sequences_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="shape"):
        FixedLenSequenceFeature((2, 0), np.int64, allow_missing=True)
    with pytest.raises(ValueError, match="allow_missing"):
        fastrec.parse_example([], {"a": FixedLenSequenceFeature((), np.int64)})
    with pytest.raises(TypeError):
        FixedLenSequenceFeature((), np.int64, default_value=1.5)
    with pytest.raises(ValueError, match="values"):
        FixedLenSequenceFeature((), np.int64, default_value=[1, 2])


def test_batches_of_every_kind_come_out_of_a_batcher(tmp_path: Any) -> None:
    path = tmp_path / "file"
    with fastrec.Writer(path) as writer:
        for i in range(7):
            writer.write({"v": list(range(i)), "i": list(range(i)), "n": [i]})
    features = {
        "sparse": SparseFeature("i", "v", np.int64, 8),
        "v": VarLenFeature(np.int64),
        "i": FixedLenSequenceFeature((), np.int64, allow_missing=True, default_value=-1),
        "rows": fastrec.RaggedFeature(np.int64, "v", [fastrec.RaggedFeature.RowLengths("n")]),
    }
    rows = fastrec.Reader(path)[:]
    for number, batch in enumerate(fastrec.Batcher(path, features, batch_size=3, threads=2)):
        alone = fastrec.parse_example(rows[3 * number : 3 * number + 3], features)
        assert batch["sparse"] == alone["sparse"]
        assert batch["v"] == alone["v"]
        assert batch["rows"] == alone["rows"]
        np.testing.assert_array_equal(batch["i"], alone["i"])


def test_an_index_key_must_be_a_name_or_names() -> None:
    with pytest.raises(TypeError, match="index_key must be a str or a list of str, got int"):
        SparseFeature(5, "v", np.int64, [4])
