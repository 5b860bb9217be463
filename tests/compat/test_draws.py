# SPDX-License-Identifier: Apache-2.0
"""Draws of the registry: those of TensorFlow 2.21, the same one by one and as a column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastrec.compat.v1 as tf1
import fastrec.compat.v2 as tf2
from fastrec import _tensor
from fastrec.compat._tf.dtypes import as_dtype
from fastrec.compat._tf.kernels.philox import Philox
from fastrec.compat._tf.ops import Block, draws

SAMPLERS = ["log_uniform_candidate_sampler", "uniform_candidate_sampler"]
SHAPES = [(), (3,), (5, 2), (0,), (70, 7)]
OF_A_SHAPE = {
    "uniform": (draws.UNIFORM, ("float16", "float32", "float64")),
    "normal": (draws.NORMAL, ("float16", "float32", "float64")),
    "truncated": (draws.TRUNCATED_NORMAL, ("float16", "float32", "float64")),
    "full": (draws.FULL_INTEGER, ("int32", "uint32", "int64", "uint64")),
}


def one_by_one(op: draws.Drawing, count: int, *inputs: Any, **how: Any) -> tuple[Any, Philox]:
    state = Philox(3, 4)
    blocks = op.blocks(*inputs, **how)
    assert blocks is not None
    return [op.kernel(state.start(blocks), *inputs, **how) for _ in range(count)], state


def as_a_column(op: draws.Drawing, count: int, *inputs: Any, **how: Any) -> tuple[Any, Philox]:
    state = Philox(3, 4)
    starts = Block(state.starts(op.blocks(*inputs, **how) or 0, count), True)
    assert op.block is not None
    found = op.block(count, starts, *[Block(each, False) for each in inputs], **how)
    return (found.value if isinstance(found, Block) else found), state


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("kind", "dtype"), [(kind, dtype) for kind, (_, types) in OF_A_SHAPE.items() for dtype in types]
)
def test_draws_of_many_elements_are_those_of_each(
    kind: str, dtype: str, shape: tuple[int, ...]
) -> None:
    op, sizes = OF_A_SHAPE[kind][0], np.array(shape, np.int32)
    each, one = one_by_one(op, 20, sizes, dtype=as_dtype(dtype))
    column, other = as_a_column(op, 20, sizes, dtype=as_dtype(dtype))
    np.testing.assert_array_equal(column, np.stack(each))
    assert column.dtype == each[0].dtype == np.dtype(dtype)
    assert one.position == other.position


@pytest.mark.parametrize("rows", [0, 1, 3])
@pytest.mark.parametrize("count", [0, 1, 300])
@pytest.mark.parametrize("classes", [1, 2, 7, 100])
def test_classes_of_many_elements_are_those_of_each(rows: int, count: int, classes: int) -> None:
    how: dict[str, Any] = {"count": count, "dtype": as_dtype("int32")}
    logits = np.random.default_rng(rows).normal(0, 3, (20, rows, classes)).astype(np.float32)
    logits[1:4, :, :1], logits[5:7] = [[[-np.inf]], [[np.inf]], [[np.nan]]], -np.inf
    starts = Philox(3, 4).starts(256, 20)
    assert draws.CATEGORICAL.block is not None
    for own_starts, own_logits in ((True, False), (True, True), (False, True)):
        given = starts if own_starts else starts[0], logits if own_logits else logits[8]
        blocks = Block(given[0], own_starts), Block(given[1], own_logits)
        column = draws.CATEGORICAL.block(20, *blocks, **how)
        pairs = zip(
            np.broadcast_to(given[0], starts.shape),
            np.broadcast_to(given[1], logits.shape),
            strict=True,
        )
        each = [draws.CATEGORICAL.kernel(*pair, **how) for pair in pairs]
        np.testing.assert_array_equal(column, np.stack(each))
        assert column.dtype == each[0].dtype == np.int32


def test_classes_are_drawn_by_their_probabilities() -> None:
    shares = np.array([0.5, 0.0, 0.2, 0.3])
    with np.errstate(divide="ignore"):
        logits = np.log(shares)[np.newaxis]
    start = np.array([1, 2, 3], np.uint64)
    how: dict[str, Any] = {"count": 100_000, "dtype": as_dtype("int64")}
    found = draws.CATEGORICAL.kernel(start, logits, **how)
    np.testing.assert_allclose(np.bincount(found[0]) / 100_000, shares, atol=0.01)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("low", "high"),
    [(-3, 77), (-(2**31), 2**31 - 1), (5, 6), (0, 2**63 - 1), (-(2**63), 2**63 - 1)],
)
def test_integers_are_within_their_limits(shape: tuple[int, ...], low: int, high: int) -> None:
    dtype = np.int64 if high - low > 2**32 else np.int32
    inputs = np.array(shape, np.int32), np.array(low, dtype), np.array(high, dtype)
    each, _ = one_by_one(draws.INTEGER, 20, *inputs)
    column, _ = as_a_column(draws.INTEGER, 20, *inputs)
    np.testing.assert_array_equal(column, np.stack(each))
    assert column.dtype == dtype
    assert all(low <= int(number) < high for number in column.reshape(-1))


@pytest.mark.parametrize("shape", [(1,), (2,), (9,), (300,), (7, 3), (5, 2, 2)])
def test_rows_of_a_column_are_shuffled_as_each(shape: tuple[int, ...]) -> None:
    rows = np.arange(20 * np.prod(shape)).reshape(20, *shape)
    one, other = Philox(3, 4), Philox(3, 4)
    blocks = draws.SHUFFLE.blocks(rows[0]) or 0
    each = [draws.SHUFFLE.kernel(one.start(blocks), row) for row in rows]
    assert draws.SHUFFLE.block is not None
    starts = Block(other.starts(blocks, 20), True)
    np.testing.assert_array_equal(draws.SHUFFLE.block(20, starts, Block(rows, True)), each)
    same = draws.SHUFFLE.block(20, starts, Block(rows[3], False))
    assert [sorted(row) for row in same.reshape(20, shape[0], -1)[..., 0].tolist()] == [
        rows[3].reshape(shape[0], -1)[:, 0].tolist()
    ] * 20


def test_a_counter_is_carried_into_its_upper_half() -> None:
    state, inputs = Philox(7, 5), (np.array([600], np.int32),)
    state.position = (5 << 64) + 2**64 - 100
    whole = draws.UNIFORM.kernel(state.start(0), *inputs, dtype=as_dtype("float32"))
    state.position += 100
    assert state.position == 6 << 64
    rest = draws.UNIFORM.kernel(state.start(0), *inputs, dtype=as_dtype("float32"))
    np.testing.assert_array_equal(whole[400:], rest[:200])
    state.position = (5 << 64) + 2**64 - 100
    assert state.starts(60, 4)[:, 1:].tolist() == [
        [2**64 - 100, 5],
        [2**64 - 40, 5],
        [20, 6],
        [80, 6],
    ]
    state.position = 2**128 - 1
    assert state.start(2).tolist() == [7, 2**64 - 1, 2**64 - 1]
    assert state.position == 1


NORMAL = {
    "float32": [0.5441101, 0.2073803, 0.07356432, 0.04643455, -1.3015898],
    "float64": [-0.14231181, 0.74060724, -1.46904766, 1.14774745, -0.72188138],
}
TRUNCATED = {
    "float32": [0.5441101, 0.2073803, 0.07356432, 0.04643455, 0.16820592],
    "float64": [-0.14231181, 0.74060724, -0.55238775, -0.73445009, -0.39842023],
}


@pytest.mark.parametrize("tf", [tf1, tf2], ids=["v1", "v2"])
@pytest.mark.parametrize("dtype", NORMAL)
def test_stateless_draws_are_those_of_tensorflow(tf: Any, dtype: str) -> None:
    with tf1.Graph().as_default(), tf1.Session() as session:
        found = [
            tf.random.stateless_normal([5], [1, 2], dtype=dtype),
            tf.random.stateless_truncated_normal([5], [1, 2], dtype=dtype),
            tf.random.stateless_shuffle(np.arange(9), [3, 4]),
            tf.random.split([1, 2]),
        ]
        normal, truncated, order, seeds = session.run(found) if tf is tf1 else found
    np.testing.assert_allclose(normal, NORMAL[dtype], rtol=1e-6)
    np.testing.assert_allclose(truncated, TRUNCATED[dtype], rtol=1e-6)
    assert sorted(np.asarray(order).tolist()) == list(range(9))
    assert np.asarray(seeds).shape == (2, 2)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_truncated_numbers_are_normal_ones_but_for_those_far_away(dtype: str) -> None:
    many = tf2.random.stateless_truncated_normal([50_000], [1, 2], dtype=dtype).numpy()
    assert np.abs(many).max() < 2
    assert abs(float(many.mean())) < 0.02
    assert abs(float(many.std()) - 0.8796) < 0.01


def test_limits_may_come_of_an_element() -> None:
    def drawn(limit: Any) -> Any:
        return tf2.random.uniform([3], limit - 4, limit, tf2.int64, seed=1)

    limits = tf2.data.Dataset.range(5, 300)
    fast = np.stack(list(limits.map(drawn).as_numpy_iterator()))
    before = tf2.data.set_lowering(False)
    try:
        slow = np.stack(list(limits.map(drawn).as_numpy_iterator()))
    finally:
        tf2.data.set_lowering(before)
    np.testing.assert_array_equal(fast, slow)
    offsets = fast - np.arange(5, 300)[:, None]
    assert set(offsets.reshape(-1).tolist()) == {-4, -3, -2, -1}


@pytest.mark.parametrize("tf", [tf1, tf2], ids=["v1", "v2"])
def test_draws_that_there_are_none_of_are_refused(tf: Any) -> None:
    with tf1.Graph().as_default(), tf1.Session() as session:

        def run(value: Any) -> Any:
            return session.run(value) if tf is tf1 else value

        with pytest.raises(ValueError, match="Must specify maxval"):
            tf.random.uniform([2], dtype=tf.int32)
        with pytest.raises(ValueError, match="Argument `dtype` got invalid value <dtype: 'int8'>"):
            tf.random.uniform([2], 0, 3, dtype=tf.int8)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Need minval < maxval, got 3 >="):
            run(tf.random.uniform([2], 3, 3, dtype=tf.int32))
        assert np.asarray(run(tf.random.uniform([0], 3, 3, dtype=tf.int32))).tolist() == []
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"seed must have shape \[2\]"):
            run(tf.random.stateless_uniform([2], [1, 2, 3]))
        text = r"Need value.shape >= size, got \] \[2 2\] \[3 1\]"
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            run(tf.image.random_crop(tf.zeros([2, 2]), [3, 1]))


def test_gammas_are_of_their_means_and_variances_and_the_same_one_by_one() -> None:
    tf2.random.set_seed(1)
    alphas = np.array([0.3, 1.0, 4.0], np.float32)
    found = tf2.random.gamma([20000], alphas, beta=2.0, seed=7).numpy()
    np.testing.assert_allclose(found.mean(0), alphas / 2, rtol=0.05)
    np.testing.assert_allclose(found.var(0), alphas / 4, rtol=0.1)
    start = Philox(3, 4).start(6 * 256)
    whole = draws.GAMMA.kernel(start, np.array([2], np.int32), alphas)
    one = draws.GAMMA.kernel(start, np.array([2], np.int32), alphas[:1])
    np.testing.assert_array_equal(whole[:, 0], one[:, 0])
    assert np.isnan(
        draws.GAMMA.kernel(start, np.array([], np.int32), np.array([-1.0], np.float32))
    ).all()


@pytest.mark.parametrize("own", [False, True])
def test_gammas_of_many_elements_are_those_of_each(own: bool) -> None:
    starts = Philox(3, 4).starts(6 * 256, 5)
    alphas = np.linspace(0.2, 3, 15 if own else 3).reshape((5, 3) if own else 3).astype(np.float32)
    shape = Block(np.array([2], np.int32), False)
    assert draws.GAMMA.block is not None
    found = draws.GAMMA.block(5, Block(starts, True), shape, Block(alphas, own))
    for i, start in enumerate(starts):
        one = draws.GAMMA.kernel(start, shape.value, alphas[i] if own else alphas)
        np.testing.assert_array_equal(found[i], one)
    with pytest.raises(ValueError, match="5 starts, 2 draws of 3 times 1 shapes"):
        _tensor.philox_gammas(starts, np.ones((3, 1)), 2)


def test_a_gamma_is_drawn_for_each_element() -> None:
    def weight(_: Any) -> Any:
        return tf2.random.gamma([1], [0.25])

    dataset = tf2.data.Dataset.range(50).map(weight)
    assert dataset.element_spec.shape.as_list() == [1, 1]
    assert len({float(found[0, 0]) for found in dataset}) == 50
    with tf1.Graph().as_default(), tf1.Session() as session:
        node = tf1.random_gamma([3], 2.0, seed=1)
        assert session.run(node).shape == (3,)


def test_sizes_may_be_calculated_with_fractions() -> None:
    assert tf2.zeros([1, tf2.constant(2.9), 3]).shape.as_list() == [1, 2, 3]


def test_a_function_counts_its_seeds_for_itself() -> None:
    @tf2.function
    def draw(x: Any) -> Any:
        """Add a number."""
        return x + tf2.random.uniform([])

    def change(_: tf2.Tensor) -> tuple[tf2.Tensor, ...]:
        return tf2.random.uniform([]), draw(0.0), tf2.random.uniform([]), draw(0.0)

    tf2.random.set_seed(1)
    for first, one, second, other in tf2.data.Dataset.range(5).map(change):
        assert first == one == other != second
    assert draw.__doc__ == "Add a number."
    assert draw(0.0) != draw(0.0)


@pytest.mark.parametrize("name", SAMPLERS)
def test_candidates_are_as_many_as_wanted_and_below_their_bound(name: str) -> None:
    tf2.random.set_seed(1)
    found = getattr(tf2.random, name)([[0, 9]], 2, 10, True, 10, seed=2)
    assert sorted(found.sampled_candidates.numpy().tolist()) == list(range(10))
    assert found.true_expected_count.shape == (1, 2)
    np.testing.assert_array_equal(
        found.true_expected_count.numpy()[0],
        [
            found.sampled_expected_count.numpy()[found.sampled_candidates == each][0]
            for each in (0, 9)
        ],
    )
    same = getattr(tf2.random, name)([[0]], 1, 3, False, 1, seed=2)
    assert same.sampled_candidates.numpy().tolist() == [0, 0, 0]
    assert same.sampled_expected_count.numpy().tolist() == [3.0, 3.0, 3.0]


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_graph_draws_the_candidates_of_a_data_set(name: str) -> None:
    with tf1.Graph().as_default(), tf1.Session() as session:
        tf1.set_random_seed(5)
        drawn = getattr(tf1.nn, name)(tf1.constant([[3]], "int64"), 1, 5, True, 50, seed=7)
        assert [each.shape.as_list() for each in drawn] == [[5], [1, 1], [5]]
        graph = [session.run(drawn) for _ in range(4)]
    tf2.random.set_seed(5)
    data = tf2.data.Dataset.range(4).map(
        lambda _: tuple(getattr(tf2.random, name)([[3]], 1, 5, True, 50, seed=7))
    )
    for one, other in zip(graph, data.as_numpy_iterator(), strict=True):
        for part, same in zip(one, other, strict=True):
            np.testing.assert_array_equal(part, same)


@pytest.mark.parametrize("name", SAMPLERS)
def test_candidates_that_cannot_be_drawn_are_refused(name: str) -> None:
    draw = getattr(tf2.random, name)
    for true, columns, count, message in (
        ([[1]], 1, 4, "range is too small"),
        ([1], 1, 2, "must be a matrix"),
        ([[1, 2]], 1, 2, "must have num_true columns, expected: 2 was: 1"),
        ([[0], [3]], 1, 2, r"out of range \[0, 3\), received 3"),
    ):
        with pytest.raises(tf2.errors.InvalidArgumentError, match=message):
            draw(true, columns, count, True, 3)
    with pytest.raises(ValueError, match="at least 1"):
        draw([[1]], 1, 0, True, 3)
