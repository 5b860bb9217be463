# SPDX-License-Identifier: Apache-2.0
"""Programs of TensorFlow 1: input code of fastrec.compat.v1, model and session of TensorFlow."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow
from tensorflow_values import plain

import fastrec
import fastrec.compat.v1 as ours
from fastrec.tensorflow import graph_tensors

pytestmark = pytest.mark.filterwarnings("ignore")
tf = tensorflow.compat.v1
EXAMPLES = Path(__file__).parents[3] / "examples"


def train(images: Any, labels: Any, steps: int) -> list[float]:
    """Train a linear model for some steps, as a program of TensorFlow 1 does."""
    pixels = tf.reshape(tf.cast(images, tf.float32), [images.shape[0], -1])
    weights = tf.get_variable("weights", [pixels.shape[1], 10], initializer=tf.zeros_initializer())
    logits = tf.matmul(pixels / tf.reduce_max(tf.abs(pixels)), weights)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = tf.reduce_mean(losses)
    update = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        found = [float(session.run([loss, update])[0]) for _ in range(steps)]
        coord.request_stop()
        coord.join(threads)
    return found


def test_cifar10_trains_on_its_input_program(tmp_path: Path) -> None:
    program = runpy.run_path(str(EXAMPLES / "cifar10_binary.py"))
    program["make_batches"](tmp_path)
    with ours.Graph().as_default(), tf.Graph().as_default():
        images, labels = graph_tensors(program["inputs"](tmp_path, 64, least=100))
        assert images.shape.as_list() == [64, 24, 24, 3]
        assert (images.dtype, labels.dtype) == (tf.float32, tf.int32)
        losses = train(images, labels, 12)
    assert losses[0] == pytest.approx(np.log(10))
    assert len(set(losses)) == 12


def test_cifar10_trains_on_slims_input_program(tmp_path: Path) -> None:
    program = runpy.run_path(str(EXAMPLES / "cifar10_slim.py"))
    rng = np.random.default_rng(0)
    planes = rng.integers(0, 256, (60, 3, 32, 32), dtype=np.uint8)
    program["convert"](tmp_path, "train", planes, rng.integers(0, 10, 60))
    with ours.Graph().as_default(), tf.Graph().as_default():
        provider = ours.contrib.slim.dataset_data_provider.DatasetDataProvider(
            program["dataset"](tmp_path, "train", 60)
        )
        batch = ours.train.batch(provider.get(["image", "label"]), batch_size=20, capacity=40)
        images, labels = graph_tensors(tuple(batch))
        assert images.shape.as_list() == [20, 32, 32, 3]
        losses = train(images, labels, 10)
    assert len(losses) == 10
    assert np.isfinite(losses).all()


def test_the_end_of_the_pipeline_is_out_of_range() -> None:
    with ours.Graph().as_default(), tf.Graph().as_default():
        numbers = ours.train.input_producer(
            ours.constant(np.arange(7)), num_epochs=2, shuffle=False
        )
        number = graph_tensors({"number": numbers.dequeue()}, name="next")["number"]
        doubled = 2 * number
        seen = []
        with tf.Session() as session:
            coord = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coord)
            try:
                while not coord.should_stop():
                    seen.append(int(session.run(doubled)))
            except tf.errors.OutOfRangeError:
                coord.request_stop()
            coord.join(threads)
    assert seen == [2 * i for i in range(7)] * 2


def test_a_monitored_session_starts_and_ends_the_pipeline() -> None:
    with ours.Graph().as_default(), tf.Graph().as_default():
        numbers = ours.train.input_producer(
            ours.constant(np.arange(5)), num_epochs=1, shuffle=False
        )
        number = graph_tensors((numbers.dequeue(),))[0]
        seen = []
        with tf.train.MonitoredTrainingSession() as session:
            while not session.should_stop():
                seen.append(int(session.run(number)))
    assert seen == list(range(5))


def record_batches(files: str, epochs: int | None) -> Any:
    """Return batches of 10 Examples as a program of TensorFlow 1 reads them."""
    names = ours.train.string_input_producer(ours.gfile.Glob(files), epochs, shuffle=False)
    parsed = ours.parse_single_example(
        ours.TFRecordReader().read(names)[1],
        {
            "id": ours.FixedLenFeature([], ours.int64),
            "tokens": ours.VarLenFeature(ours.int64),
        },
    )
    return ours.train.batch(parsed, 10, allow_smaller_final_batch=True)


def run_to_the_end(session: Any, tensors: Any) -> list[Any]:
    coord, values = tf.train.Coordinator(), []
    threads = tf.train.start_queue_runners(session, coord)
    try:
        while not coord.should_stop():
            values.append(session.run(tensors))
    except tf.errors.OutOfRangeError:
        coord.request_stop()
    coord.join(threads)
    return values


def test_sparse_tensors_and_lists_keep_their_structure(files: str) -> None:
    with ours.Graph().as_default(), tf.Graph().as_default():
        batch = record_batches(files, 1)
        numbers, (tokens,) = graph_tensors([batch["id"], (batch["tokens"],)])
        dense = tf.sparse.to_dense(tokens, -1)
        with tf.Session() as session:
            steps = run_to_the_end(session, [numbers, dense, tokens])
    rows = [row[row >= 0].tolist() for _, step, _ in steps for row in step]
    expected = fastrec.Batcher(files, {"tokens": fastrec.RaggedFeature(np.int64)}, 103)
    assert rows == plain(next(iter(expected))["tokens"])
    assert [n for step, _, _ in steps for n in step] == list(range(103))
    assert isinstance(steps[0][2], tf.SparseTensorValue)


def test_each_session_reads_the_pipeline_from_its_beginning(files: str) -> None:
    with ours.Graph().as_default(), tf.Graph().as_default():
        number = graph_tensors(record_batches(files, 1)["id"])
        for _ in range(2):  # as the evaluation of CIFAR-10 does, again and again
            with tf.Session() as session:
                steps = run_to_the_end(session, number)
            assert [n for step in steps for n in step] == list(range(103))


def test_a_checkpoint_of_the_graph_has_no_warning(
    tmp_path: Path, files: str, caplog: pytest.LogCaptureFixture
) -> None:
    with ours.Graph().as_default(), tf.Graph().as_default():
        number = graph_tensors(record_batches(files, 1)["id"])
        step = tf.train.get_or_create_global_step()
        with tf.control_dependencies([number]):
            update = step.assign_add(1)
        saved = {"checkpoint_dir": str(tmp_path), "save_checkpoint_steps": 3}
        with tf.train.MonitoredTrainingSession(**saved, save_summaries_steps=0) as session:
            while not session.should_stop():
                session.run(update)
    assert tf.train.load_checkpoint(str(tmp_path)).get_tensor("global_step") == 11
    assert "serializing" not in caplog.text
    with tf.Graph().as_default():
        tf.train.import_meta_graph(tf.train.latest_checkpoint(str(tmp_path)) + ".meta")


def test_an_error_of_the_pipeline_has_its_text(tmp_path: Path) -> None:
    with ours.Graph().as_default(), tf.Graph().as_default():
        names = ours.train.string_input_producer([str(tmp_path / "missing")], num_epochs=1)
        value = graph_tensors((ours.TFRecordReader().read(names)[1],))[0]
        with tf.Session() as session:
            coord = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coord)
            with pytest.raises(tf.errors.OpError, match=r"NotFoundError: .*missing"):
                session.run(value)
            coord.request_stop()
            coord.join(threads)


def test_other_values_and_eager_execution_are_refused() -> None:
    with ours.Graph().as_default():
        number = ours.constant(1)
        with pytest.raises(RuntimeError, match=r"requires a graph: .*fastrec\.tensorflow\.dataset"):
            graph_tensors((number,))
    with tf.Graph().as_default():
        for wrong in (1, tf.constant(1), np.zeros(2)):
            with pytest.raises(TypeError, match=r"\[0\] must be a dense or sparse tensor of"):
                graph_tensors((wrong,))
