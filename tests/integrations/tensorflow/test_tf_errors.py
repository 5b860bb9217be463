# SPDX-License-Identifier: Apache-2.0
"""Exceptions of a source reach the user, through every part of TensorFlow; bad input is named."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import fastrec
import fastrec.compat.v2
from fastrec.tensorflow import batches, dataset, original_errors

pytestmark = pytest.mark.filterwarnings("ignore")


class OfUserError(Exception):
    pass


def failing(files: str, features: Any, text: str = "the fourth batch") -> tf.data.Dataset:
    def transform(batch: Any) -> Any:
        if 30 in batch["id"]:
            raise OfUserError(text)
        return {"id": batch["id"]}

    return dataset(fastrec.Batcher(files, features, 10, transform=transform))


@tf.function  # type: ignore[untyped-decorator]
def total(numbers: Any) -> Any:
    result = tf.constant(0, tf.int64)
    for batch in numbers:
        result += tf.reduce_sum(batch["id"])
    return result


def distributed(numbers: Any) -> list[Any]:
    strategy = tf.distribute.get_strategy()
    return list(strategy.experimental_distribute_dataset(numbers))


CONSUMERS: dict[str, Callable[[Any], Any]] = {
    "iterator": list,
    "get_next": lambda numbers: [iterator.get_next() for iterator in [iter(numbers)] * 9],
    "map": lambda numbers: list(numbers.map(lambda batch: batch, 2)),
    "pipeline": lambda numbers: list(numbers.prefetch(2).unbatch().batch(3)),
    "shuffle": lambda numbers: list(numbers.shuffle(100)),
    "reduce": lambda numbers: numbers.reduce(0, lambda count, _: count + 1),
    "as_numpy_iterator": lambda numbers: list(numbers.as_numpy_iterator()),
    "function": total,
    "distribute": distributed,
}


@pytest.mark.parametrize("name", CONSUMERS)
def test_the_exception_of_a_transform_reaches_every_consumer(
    files: str, features: Any, name: str
) -> None:
    with pytest.raises(OfUserError, match=r"^the fourth batch$"):
        CONSUMERS[name](failing(files, features))


@pytest.mark.parametrize("name", CONSUMERS)
def test_the_exception_of_a_generator_of_compat_reaches_every_consumer(name: str) -> None:
    def numbers() -> Iterator[dict[str, int]]:
        yield {"id": 1}
        raise OfUserError("of the generator")

    ours = fastrec.compat.v2
    source = ours.data.Dataset.from_generator(
        numbers, output_signature={"id": ours.TensorSpec((), ours.int64)}
    )
    if name == "pipeline":
        source = source.batch(1)
    with pytest.raises(OfUserError, match=r"^of the generator$"):
        CONSUMERS[name](dataset(source))


def test_an_exception_with_the_text_of_an_earlier_one_is_its_own(files: str, features: Any) -> None:
    numbers = iter(failing(files, features, "batch").prefetch(9))
    assert len([next(numbers) for _ in range(2)]) == 2
    del numbers  # its error was not delivered
    with pytest.raises(OfUserError) as raised:
        list(failing(files, features, "batch"))
    with pytest.raises(OfUserError) as other:
        list(failing(files, features, "batch"))
    assert raised.value is not other.value
    with pytest.raises(tf.errors.InvalidArgumentError):
        list(tf.data.Dataset.range(3).batch(0))


def test_errors_of_tensorflow_are_left_alone() -> None:
    def checked(number: Any) -> Any:
        with tf.control_dependencies([tf.debugging.assert_less(number, tf.int64.min)]):
            return tf.identity(number)

    numbers = tf.data.Dataset.range(3).map(checked)
    with pytest.raises(tf.errors.InvalidArgumentError):
        list(numbers)
    with pytest.raises(tf.errors.InvalidArgumentError), original_errors():
        list(numbers)
    with pytest.raises(ZeroDivisionError), original_errors():
        _ = 1 / 0


def test_a_session_raises_the_exception_within_the_context(files: str, features: Any) -> None:
    with tf.Graph().as_default():
        numbers = tf.compat.v1.data.make_one_shot_iterator(failing(files, features)).get_next()
        with tf.compat.v1.Session() as session:
            for _ in range(3):
                session.run(numbers)
            with pytest.raises(OfUserError), original_errors():
                session.run(numbers)
        with tf.compat.v1.Session() as session:
            for _ in range(3):
                session.run(numbers)
            with pytest.raises(tf.errors.UnknownError, match="OfUserError: the fourth batch"):
                session.run(numbers)


# --- consumers that ignore errors -----------------------------------------------------------------

SKIPPERS: dict[str, Callable[[Any], Any]] = {
    "ignore_errors": lambda numbers: numbers.ignore_errors(),
    "map": lambda numbers: numbers.map(lambda each: each, 2).ignore_errors(),
    "prefetch": lambda numbers: numbers.prefetch(2).ignore_errors(),
    "experimental": lambda numbers: numbers.apply(tf.data.experimental.ignore_errors()),
    "nondeterministic": lambda numbers: numbers.map(
        lambda each: each, 2, deterministic=False
    ).ignore_errors(),
}

ALL = list(range(103))


def batcher_with_errors(files: str, features: Any, wrong: list[int], **options: Any) -> Any:
    def transform(batch: Any) -> Any:
        if set(wrong) & set(batch["id"].tolist()):
            raise OfUserError("of the transform")
        return batch["id"]

    batcher = fastrec.Batcher(files, features, 10, transform=transform, **options)
    return dataset(batcher, element_spec=tf.TensorSpec((None,), tf.int64))


def identifiers(numbers: tf.data.Dataset) -> list[int]:
    return [number for batch in numbers.as_numpy_iterator() for number in batch.tolist()]


@pytest.mark.parametrize(
    ("name", "wrong"),
    [*((name, [50]) for name in SKIPPERS), *(("prefetch", [i]) for i in (0, 102)), ("map", ALL)],
)
def test_a_batchers_pass_ends_at_the_first_error_where_errors_are_ignored(
    files: str, features: Any, name: str, wrong: list[int]
) -> None:
    first_error = wrong[0]
    numbers = batcher_with_errors(files, features, wrong)
    expected = list(range(first_error // 10 * 10))
    skipping = SKIPPERS[name](numbers)
    assert identifiers(skipping) == expected
    assert identifiers(skipping.repeat(2)) == expected * 2
    with pytest.raises(OfUserError):
        identifiers(numbers)
    endless = SKIPPERS[name](batcher_with_errors(files, features, wrong, epochs=None))
    assert identifiers(endless) == expected


def test_a_pass_that_cannot_begin_ends_where_errors_are_ignored(files: str, features: Any) -> None:
    batcher = fastrec.Batcher(files, {"id": features["id"]}, 10)
    numbers = dataset(batcher)
    iterator = iter(batcher)
    next(iterator)
    batcher.load_state_dict(iterator.state_dict())
    assert list(numbers.ignore_errors()) == []
    batcher.load_state_dict(iterator.state_dict())
    with pytest.raises(ValueError, match="this pass has 10 batches, and the dataset 11"):
        list(numbers)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [*((name, [0, 3, 4]) for name in SKIPPERS), ("map", [7]), ("prefetch", ALL[:8])],
)
def test_a_dataset_of_compat_skips_the_elements_that_tensorflow_skips(
    name: str, wrong: list[int]
) -> None:
    def numbers(module: Any) -> Any:
        def checked(number: Any) -> Any:
            for each in wrong:
                module.debugging.assert_none_equal(number, module.constant(each, module.int64))
            return number

        return module.data.Dataset.range(8).map(checked)

    expected = [number for number in range(8) if number not in wrong]
    assert list(SKIPPERS[name](numbers(tf)).as_numpy_iterator()) == expected
    ours = SKIPPERS[name](dataset(numbers(fastrec.compat.v2)))
    assert list(ours.as_numpy_iterator()) == expected
    assert list(ours.repeat(2).as_numpy_iterator()) == expected * 2


@pytest.mark.parametrize("first_error", [0, 2])
def test_a_generator_that_raises_ends_as_in_tensorflow(first_error: int) -> None:
    def numbers() -> Iterator[int]:
        yield from range(first_error)
        raise OfUserError("of the generator")

    def made(module: Any) -> Any:
        return module.data.Dataset.from_generator(
            numbers, output_signature=module.TensorSpec((), module.int64)
        )

    for skip in SKIPPERS.values():
        expected = list(skip(made(tf)).as_numpy_iterator())
        assert list(skip(dataset(made(fastrec.compat.v2))).as_numpy_iterator()) == expected
        assert expected == list(range(first_error))


def test_a_pass_with_another_number_of_elements_than_its_cardinality_is_an_error() -> None:
    ours = fastrec.compat.v2
    numbers = ours.data.Dataset.range(5)
    for cardinality, count in ((1, 0), (4, 3), (6, 5)):
        wrong = numbers.apply(ours.data.experimental.assert_cardinality(cardinality))
        result = dataset(wrong)
        assert int(result.cardinality()) == cardinality
        with pytest.raises(ours.errors.FailedPreconditionError):
            list(result)
        assert [int(each) for each in result.ignore_errors()] == list(range(count))


# --- bad input ------------------------------------------------------------------------------------


def test_images_of_any_size_are_refused_before_the_first_batch(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    with fastrec.Writer(tmp_path / "images") as writer:
        for side in (8, 9):
            encoded = io.BytesIO()
            image.new("RGB", (side, 8)).save(encoded, "PNG")
            writer.write(fastrec.encode_example({"image": encoded.getvalue()}))
    for ragged in (False, True):
        features = {"image": fastrec.ImageFeature(ragged=ragged)}
        with pytest.raises(ValueError, match=r"'image' must have a shape, .*\(height, width\)"):
            dataset(fastrec.Batcher(tmp_path / "images", features, 2))
    features = {"image": fastrec.ImageFeature()}
    single = dataset(fastrec.Batcher(tmp_path / "images", features, None))
    assert [each["image"].shape.as_list() for each in single] == [[8, 8, 3], [8, 9, 3]]
    cut = {"image": fastrec.Augment(shape=(4, 4), crop="center")}
    cropped = dataset(fastrec.Batcher(tmp_path / "images", features, 2, augment=cut))
    assert cropped.element_spec["image"].shape.as_list() == [None, 4, 4, 3]
    assert [each["image"].shape.as_list() for each in cropped] == [[2, 4, 4, 3]]


def test_a_list_of_columns_is_refused_with_the_remedy(files: str, features: Any) -> None:
    def listed(batch: Any) -> Any:
        return [batch["id"], batch["x"]]

    batcher = fastrec.Batcher(files, features, 10, transform=listed)
    for call in (dataset, lambda source: list(batches(source))):
        with pytest.raises(ValueError, match="put several columns into a tuple or a dict"):
            call(batcher)


@pytest.mark.parametrize("call", ["fit", "evaluate", "predict"])
def test_a_dataset_of_compat_in_keras_names_the_function_to_use(call: str) -> None:
    keras = pytest.importorskip("keras")
    source = fastrec.compat.v2.data.Dataset.range(3).batch(2)
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    message = "fastrec.tensorflow.dataset(dataset)"
    with pytest.raises((AttributeError, TypeError), match=re.escape(message)):
        getattr(model, call)(source, verbose=0)
