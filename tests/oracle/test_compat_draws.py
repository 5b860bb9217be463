# SPDX-License-Identifier: Apache-2.0
"""Random numbers of ``fastrec.compat`` have TensorFlow's bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastrec.compat.v1 as ours1
import fastrec.compat.v2 as ours2

COUNT = 200_001


@pytest.fixture(scope="module")
def tf() -> Any:
    return pytest.importorskip("tensorflow")


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", ["uniform", "normal", "truncated_normal"])
def test_numbers_have_the_bits_of_tensorflow(tf: Any, name: str, dtype: str) -> None:
    found = []
    for each in (tf, ours2):
        each.random.set_seed(5)
        stateful = getattr(each.random, name)([COUNT], dtype=dtype, seed=3)
        stateless = getattr(each.random, f"stateless_{name}")([COUNT], [7, 8], dtype=dtype)
        found.append(stateful.numpy().tobytes() + stateless.numpy().tobytes())
    assert found[0] == found[1]
    with tf.Graph().as_default():
        tf.compat.v1.set_random_seed(5)
        drawn = getattr(tf.random, name)([COUNT], dtype=dtype, seed=3)
        theirs = tf.compat.v1.Session().run([drawn, drawn])
    with ours1.Graph().as_default():
        ours1.set_random_seed(5)
        drawn = getattr(ours1.random, name)([COUNT], dtype=dtype, seed=3)
        mine = ours1.Session().run([drawn, drawn])
    assert [x.tobytes() for x in theirs] == [x.tobytes() for x in mine]


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_whole_numbers_and_orders_are_those_of_tensorflow(tf: Any, dtype: str) -> None:
    found = []
    for each in (tf, ours2):
        each.random.set_seed(5)
        generator = each.random.Generator.from_state([2**62 + 1, -3, 2], alg="philox")
        drawn = [
            each.random.uniform([999], -7, 1000, dtype, seed=3),
            each.random.uniform([999], -7, 1000, dtype, seed=3),
            each.random.shuffle(each.range(5000), seed=3),
            each.random.experimental.stateless_shuffle(each.range(5000), [1, 2]),
            generator.uniform_full_int([99], dtype),
            generator.normal([99]),
            generator.state,
            each.random.categorical([[0.1, 0.5, 0.2]], 999, dtype, seed=9),
            each.random.categorical([np.sin(np.arange(100.0))], 999, dtype, seed=11),
            each.random.categorical([[-np.inf, 1.0, np.nan, np.inf, 1.5]], 999, dtype, seed=12),
            each.random.stateless_categorical([[-np.inf, -np.inf]], 9, [1, 2], dtype),
            each.random.fold_in([1, 2], each.constant(7, dtype)),
        ]
        found.append([x.numpy().tolist() for x in drawn])
    assert found[0] == found[1]


def gammas(tf: Any) -> list[Any]:
    tf.random.set_seed(5)
    found = [
        tf.random.gamma(shape, alpha, beta, seed=seed)
        for alpha in (0.2, 1.0, 3.0, [0.3, 1.0, 7.0], [[0.25]])
        for shape, beta in (([], None), ([3], 2.0), ([50, 2], [[0.5], [3.0]]), ([0], None))
        for seed in (3, None)
    ]

    def beta(_: Any) -> Any:
        one, other = (tf.random.gamma(shape=[2], alpha=[0.25]) for _ in range(2))
        return one / (one + other)

    return [x.numpy().tolist() for x in [*found, *tf.data.Dataset.range(40).map(beta)]]


def test_numbers_of_gamma_distributions_are_those_of_tensorflow(tf: Any) -> None:
    assert gammas(tf) == gammas(ours2)


def candidates(tf: Any, name: str, unique: bool, count: int, span: int) -> list[Any]:
    tf.random.set_seed(5)

    def drawn(true: Any) -> Any:
        return tuple(getattr(tf.random, name)(true, 2, count, unique, span, seed=42))

    true = np.arange(20).reshape(5, 2, 2) % span
    found = [drawn(true[0]) for _ in range(3)]
    found += tf.data.Dataset.from_tensor_slices(true).map(drawn)
    return [[part.numpy() for part in each] for each in found]


@pytest.mark.parametrize("unique", [True, False])
@pytest.mark.parametrize(
    ("count", "span"), [(1, 1), (4, 18), (10, 10), (64, 4096), (3, 2**40 + 3), (200, 201)]
)
@pytest.mark.parametrize("name", ["log_uniform_candidate_sampler", "uniform_candidate_sampler"])
def test_candidates_are_those_of_tensorflow(
    tf: Any, name: str, count: int, span: int, unique: bool
) -> None:
    for theirs, mine in zip(
        candidates(tf, name, unique, count, span),
        candidates(ours2, name, unique, count, span),
        strict=True,
    ):
        np.testing.assert_array_equal(mine[0], theirs[0])
        for expected, found in zip(theirs[1:], mine[1:], strict=True):
            # A function of C that rounds another way than NumPy's takes part.
            np.testing.assert_allclose(found, expected, rtol=3e-7)
            assert found.dtype == expected.dtype


def functions_that_draw(tf: Any) -> list[Any]:
    tf.random.set_seed(5)

    @tf.function
    def inner(x: Any) -> Any:
        return x + tf.random.uniform([]), tf.random.uniform([])

    @tf.function(autograph=False)
    def outer(x: Any) -> Any:
        return inner(x)[0] + tf.random.uniform([]), tf.random.normal([])

    class Shift:
        @tf.function
        def __call__(self, x: Any) -> Any:
            return x + tf.random.uniform([])

    def change(_: Any) -> Any:
        first, one, second = tf.random.uniform([]), inner(1.0), tf.random.uniform([])
        return [first, *one, second, *outer(2.0), *inner(1.0), Shift()(3.0), tf.random.uniform([])]

    return [[float(x) for x in row] for row in tf.data.Dataset.range(9).map(change)]


def test_functions_count_their_seeds_as_those_of_tensorflow(tf: Any) -> None:
    assert functions_that_draw(tf) == functions_that_draw(ours2)


def drawn_in_a_data_set(tf: Any) -> list[Any]:
    """What an initializable iterator gives, twice, each time over two passes."""

    def change(i: Any) -> Any:
        image = tf.image.random_flip_left_right(tf.reshape(tf.range(12), [2, 2, 3]), seed=5)
        return (
            tf.random_uniform([]),
            tf.random_uniform([], seed=4),
            tf.random_shuffle(tf.range(3)),
            tf.random_shuffle(tf.range(i + 2), seed=1)[0],
            tf.random_crop(image, [1, 1, 3], seed=6),
        )

    found = []
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(3)
        before = tf.random_uniform([])
        iterator = tf.data.Dataset.range(4).map(change).repeat(2).make_initializable_iterator()
        following = iterator.get_next()
        for _ in range(2):
            session.run(iterator.initializer)
            found += [session.run(following) for _ in range(8)]
        found.append([session.run(before)])
    return [[np.asarray(value).tolist() for value in element] for element in found]


@pytest.mark.filterwarnings("ignore:Seed 3 from outer graph")
def test_draws_of_graphs_data_sets_are_those_of_tensorflow(tf: Any) -> None:
    theirs = drawn_in_a_data_set(tf.compat.v1)
    assert theirs[:8] == theirs[8:16]
    assert drawn_in_a_data_set(ours1) == theirs


def uses_of_a_data_set(tf: Any, seed: int | None) -> list[Any]:
    """What datasets give in which one that draws is used several times."""
    of = tf.data.Dataset
    tf.random.set_seed(3)
    drawn = of.range(3).map(lambda x: tf.random.uniform([], seed=seed))
    kept = of.range(9).filter(lambda x: tf.random.uniform([], seed=seed) < 0.5)
    shuffled = of.range(6).shuffle(6, seed=seed)
    every = [
        of.zip((drawn, drawn)).repeat(2),
        of.zip((drawn.repeat(2), drawn.map(lambda x: x + 1).batch(2).unbatch().repeat(2))),
        drawn.concatenate(drawn).repeat(2),
        of.choose_from_datasets([drawn, drawn, drawn], of.range(3).repeat(3)),
        of.zip((drawn.cache(), drawn.prefetch(1))),
        of.zip((of.zip((drawn, drawn)), drawn)),
        of.zip((kept, kept)),
        of.zip((shuffled, shuffled)),
    ]
    return [
        [np.asarray(tf.nest.flatten(row)).tolist() for row in each.as_numpy_iterator()]
        for each in every
    ]


@pytest.mark.parametrize("seed", [None, 1])
def test_each_use_of_a_data_set_draws_for_itself_as_in_tensorflow(
    tf: Any, seed: int | None
) -> None:
    assert uses_of_a_data_set(tf, seed) == uses_of_a_data_set(ours2, seed)
