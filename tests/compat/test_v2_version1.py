# SPDX-License-Identifier: Apache-2.0
"""Names of ``tf.compat.v1`` under version 2 mean what version 1 means by them, and run at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from version1_expressions import EXPRESSIONS, check, value

import fastrec
import fastrec.compat.v2 as tf


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_a_name_of_version_1_gives_the_value_of_version_1(text: str) -> None:
    check(value(tf, text), EXPRESSIONS[text])


def test_functions_of_a_dataset_use_the_meaning_of_version_1_too() -> None:
    v1 = tf.compat.v1

    def function(x: Any) -> Any:
        mask = v1.where(tf.stack([x > 0, x < 0]), [[1, 2], [3, 4]], [[5, 6], [7, 8]])
        return mask, v1.div(x, tf.constant(2, tf.int64)), v1.reduce_sum(mask, keep_dims=True)

    rows = list(tf.data.Dataset.range(-3, 4, 6).map(function).as_numpy_iterator())
    assert [mask.tolist() for mask, _, _ in rows] == [[[5, 6], [3, 4]], [[1, 2], [7, 8]]]
    assert [half.tolist() for _, half, _ in rows] == [-2, 1]
    assert [total.tolist() for _, _, total in rows] == [[[18]], [[18]]]


def test_functions_without_tensors_return_what_they_return_in_version_1(tmp_path: Path) -> None:
    v1 = tf.compat.v1
    with fastrec.Writer(tmp_path / "one") as writer:
        writer.write_many([b"a", b"b"])
    assert [*v1.io.tf_record_iterator(str(tmp_path / "one"))] == [b"a", b"b"]
    assert v1.get_collection("none") == v1.trainable_variables() == []
    assert v1.gfile.Exists(str(tmp_path)) is True
    assert v1.errors.error_code_from_exception_type(v1.errors.NotFoundError) == 5
    with v1.variable_scope("scope") as scope:
        assert scope.name == "scope"
    assert v1.__version__.count(".") == 2


def test_an_eager_program_may_enable_what_is_enabled(monkeypatch: pytest.MonkeyPatch) -> None:
    tf.compat.v1.enable_eager_execution()
    tf.compat.v1.enable_v2_behavior()
    assert tf.compat.v1.executing_eagerly()
    monkeypatch.setattr(type(tf.compat.v1), "graphs", True)  # as disable_v2_behavior() does
    with pytest.raises(ValueError, match="program startup"):
        tf.compat.v1.enable_eager_execution()


@pytest.mark.parametrize("name", ["Variable", "get_variable"])
def test_an_eager_variable_is_refused_by_name(name: str) -> None:
    with pytest.raises(AttributeError, match=f"has no '{name}'"):
        getattr(tf.compat.v1, name)
    with tf.compat.v1.Graph().as_default():
        assert callable(getattr(tf.compat.v1, name))
