# SPDX-License-Identifier: Apache-2.0
"""Datasets without an end in Keras, and elements without rows in strategies."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import keras
import pytest
import tensorflow as tf
from tensorflow.python.data.experimental.ops import distribute

import fastrec
import fastrec.tensorflow
from fastrec.tensorflow import refusals

pytestmark = pytest.mark.filterwarnings("ignore")


class Counting(keras.Model):  # type: ignore[misc]
    """Counts the batches that it receives and does nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: Any = tf.Variable(0)
        self.built = True
        self.compile(optimizer=None)

    def train_step(self, data: Any) -> Any:
        self.count(data)
        return {"loss": tf.constant(0.0)}

    test_step = train_step

    def predict_step(self, data: Any) -> Any:
        self.count(data)
        return data["id"]

    def count(self, data: Any) -> None:
        # Without a batch, TensorFlow would still run a step that does not depend on it.
        self.steps.assign_add(tf.minimum(tf.size(data["id"]), 1))


def dataset(files: Any, features: Any, batch_size: int | None = 10, **options: Any) -> Any:
    source = fastrec.Batcher(files, {"id": features["id"]}, batch_size, **options)
    return fastrec.tensorflow.dataset(source)


DERIVED: dict[str, Callable[[Any], Any]] = {
    "the dataset": lambda data: data,
    "mapped": lambda data: data.map(lambda batch: batch),
    "prefetched": lambda data: data.shuffle(3).prefetch(1),
    "zipped": lambda data: tf.data.Dataset.zip((data, data)).map(lambda one, other: one),
}


@pytest.mark.parametrize("derived", DERIVED)
def test_an_endless_dataset_requires_a_number_of_steps(
    files: str, features: Any, derived: str
) -> None:
    endless = DERIVED[derived](dataset(files, features, epochs=None))
    model = Counting()
    for call in (model.fit, model.evaluate, model.predict):
        with pytest.raises(ValueError, match=r"has no end.*pass steps_per_epoch="):
            call(endless, verbose=0)
    assert model.steps.numpy() == 0
    model.fit(endless, steps_per_epoch=4, epochs=2, verbose=0)
    model.evaluate(endless, steps=3, verbose=0)
    assert model.steps.numpy() == 11


def test_endless_validation_data_require_a_number_of_steps(files: str, features: Any) -> None:
    train, endless = dataset(files, features), dataset(files, features, epochs=None)
    with pytest.raises(ValueError, match=r"has no end.*validation_steps= for validation_data"):
        Counting().fit(train, validation_data=endless, verbose=0)
    model = Counting()
    model.fit(train, validation_data=endless, validation_steps=2, verbose=0)
    assert model.steps.numpy() == 11 + 2


def test_datasets_with_an_end_need_no_number_of_steps(files: str, features: Any) -> None:
    model = Counting()
    endless = dataset(files, features, epochs=None)
    for finite in (
        dataset(files, features),
        dataset(files, features, epochs=2),
        endless.take(5),
        endless.take_while(lambda batch: batch["id"][0] < 50),
    ):
        model.fit(finite, verbose=0)
    assert model.steps.numpy() == 11 + 22 + 5 + 5


def test_a_source_of_unknown_length_is_read_to_its_end(files: str, features: Any) -> None:
    records = io.BytesIO()
    with fastrec.Writer(records) as writer:
        writer.write_many(fastrec.Reader(files))
    data = dataset(io.BytesIO(records.getvalue()), features)
    assert data.cardinality() == tf.data.UNKNOWN_CARDINALITY
    model = Counting()
    model.fit(data, verbose=0)
    assert model.steps.numpy() == 11


def test_an_endless_dataset_of_tensorflow_itself_is_left_to_keras() -> None:
    endless = tf.data.Dataset.range(3).batch(1).map(lambda batch: {"id": batch}).repeat()

    class Interrupted(Exception):
        pass

    class Interrupt(keras.callbacks.Callback):  # type: ignore[misc]
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            if batch == 4:
                raise Interrupted

    with pytest.raises(Interrupted):
        Counting().fit(endless, verbose=0, callbacks=[Interrupt()])


@pytest.mark.parametrize("derived", DERIVED)
def test_a_strategy_refuses_elements_without_rows(files: str, features: Any, derived: str) -> None:
    single = DERIVED[derived](dataset(files, features, None))
    with pytest.raises(ValueError, match=r"has none in .*give the Batcher a batch_size"):
        distribute.compute_batch_size(single)
    whole = DERIVED[derived](dataset(files, features, 10, drop_remainder=True))
    assert distribute.compute_batch_size(whole) == 10
    assert distribute.compute_batch_size(single.batch(4, drop_remainder=True)) == 4


def test_a_strategy_takes_elements_without_shapes() -> None:
    windows = tf.data.Dataset.range(6).window(2)
    assert distribute.compute_batch_size(windows) == -1
    optional = tf.experimental.Optional.from_value(1)
    assert distribute.compute_batch_size(tf.data.Dataset.from_tensors(optional)) == -1


def test_a_dataset_that_is_zipped_with_itself_again_and_again_is_searched_once() -> None:
    nested = tf.data.Dataset.range(6).batch(2)
    for _ in range(64):
        nested = tf.data.Dataset.zip(nested, nested).map(lambda left, _: left)
    assert not refusals._is_derived(nested)
