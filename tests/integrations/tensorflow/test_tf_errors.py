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
