# SPDX-License-Identifier: Apache-2.0
"""Optional values of graphs: the next element of an iterator, or none at its end."""

from __future__ import annotations

import pytest

import fastrec.compat.v1 as tf

experimental = tf.data.experimental


def test_the_end_of_a_data_set_is_no_value() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        rows = tf.data.Dataset.range(2).map(lambda x: {"a": x, "b": (tf.as_string(x), [x, x])})
        iterator = tf.data.make_initializable_iterator(rows)
        found = experimental.get_next_as_optional(iterator)
        there, value = found.has_value(), found.get_value()
        assert value["b"][1].shape.as_list() == [2]
        assert found.element_spec == iterator.element_spec
        for _ in range(2):  # begun anew
            session.run(iterator.initializer)
            for number in range(2):
                is_there, row = session.run([there, value])
                assert is_there
                assert (row["a"], row["b"][0]) == (number, b"%d" % number)
                assert row["b"][1].tolist() == [number, number]
            assert not session.run(there)
            with pytest.raises(tf.errors.InvalidArgumentError, match="does not have a value"):
                session.run(value)


def test_an_iterator_that_was_not_initialized() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(2))
        there = experimental.get_next_as_optional(iterator).has_value()
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(there)


def test_values_that_are_given() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(tf.int32, [None])
        some = experimental.Optional.from_value({"a": fed, "b": 2.5})
        none = experimental.Optional.empty(some.element_spec)
        assert session.run([some.has_value(), none.has_value()], {fed: [1]}) == [True, False]
        found = session.run(some.get_value(), {fed: [1, 2]})
        assert found["a"].tolist() == [1, 2]
        assert found["b"] == 2.5
        with pytest.raises(tf.errors.InvalidArgumentError, match="does not have a value"):
            session.run(none.get_value())
