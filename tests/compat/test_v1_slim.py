# SPDX-License-Identifier: Apache-2.0
"""Slim: datasets, providers, parallel readers, prefetch queues."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec
import fastrec.compat.v1 as tf

slim = tf.contrib.slim
FILES, ROWS = 3, 20


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


@pytest.fixture(scope="module")
def pattern(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("slim")
    rng = np.random.default_rng(1)
    for file in range(FILES):
        with fastrec.Writer(folder / f"data-{file}.rec") as writer:
            for row in range(ROWS):
                pixels = rng.integers(0, 256, (5, 4, 3), dtype=np.uint8)
                label = file * ROWS + row
                pixels[0, 0] = label
                png = tf.Session(graph=tf.Graph())
                with png.graph.as_default():
                    encoded = png.run(tf.image.encode_png(pixels))
                writer.write({"image/encoded": encoded, "image/format": "png", "label": label})
    return str(folder / "data-*.rec")


def dataset(pattern: Any, **items: Any) -> Any:
    decoder = slim.tfexample_decoder
    features = {
        "image/encoded": tf.FixedLenFeature((), tf.string, default_value=""),
        "image/format": tf.FixedLenFeature((), tf.string, default_value="png"),
        "label": tf.FixedLenFeature([], tf.int64, default_value=tf.zeros([], dtype=tf.int64)),
    }
    handlers = {"image": decoder.Image(shape=[5, 4, 3]), "label": decoder.Tensor("label"), **items}
    return slim.dataset.Dataset(
        data_sources=pattern,
        reader=tf.TFRecordReader,
        decoder=decoder.TFExampleDecoder(features, handlers),
        num_samples=FILES * ROWS,
        items_to_descriptions={"label": "a number"},
        labels_to_names={0: "zero"},
    )


def test_a_data_set_keeps_what_it_is_given(pattern: str) -> None:
    data = dataset(pattern)
    assert data.num_samples == 60
    assert data.labels_to_names == {0: "zero"}
    with pytest.raises(AttributeError, match="no attribute 'others'"):
        _ = data.others


@pytest.mark.parametrize("readers", [1, 3])
@pytest.mark.parametrize("shuffle", [True, False])
def test_items_of_one_run_are_of_one_record(pattern: str, readers: int, shuffle: bool) -> None:
    provider = slim.dataset_data_provider.DatasetDataProvider(
        dataset(pattern), num_readers=readers, shuffle=shuffle, num_epochs=1, common_queue_min=10
    )
    assert provider.list_items() == ["image", "label", "record_key"]
    assert provider.num_samples() == 60
    fetches = provider.get(["image", "label", "record_key"])
    assert fetches[0].shape.as_list() == [5, 4, 3]
    found = []
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        with slim.queues.QueueRunners(session):
            for _ in range(FILES * ROWS):
                image, label, key = session.run(fetches)
                assert image[0, 0].tolist() == [label] * 3
                assert key.startswith(pattern.split("*")[0].encode())
                found.append((int(label), key))
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(fetches)
    assert sorted(n for n, _ in found) == list(range(60))
    assert len({key for _, key in found}) == 60


def test_batches_of_items(pattern: str) -> None:
    provider = slim.dataset_data_provider.DatasetDataProvider(dataset(pattern), shuffle=False)
    image, label = provider.get(("image", "label"))
    images, labels = tf.train.batch([image, label], batch_size=32)
    with tf.Session() as session, slim.queues.QueueRunners(session):
        pixels, numbers = session.run([images, labels])
    assert pixels.shape == (32, 5, 4, 3)
    assert pixels[:, 0, 0, 0].tolist() == numbers.tolist() == list(range(32))


def test_what_a_provider_refuses(pattern: str) -> None:
    make = slim.dataset_data_provider.DatasetDataProvider
    provider = make(dataset(pattern))
    with pytest.raises(ValueError, match="items must be a list or tuple"):
        provider.get("image")
    with pytest.raises(ValueError, match=r"Item \[x\] is invalid. Valid entries include: \['image"):
        provider.get(["x"])
    taken = slim.tfexample_decoder.Tensor("label")
    with pytest.raises(
        ValueError, match="`record_key` cannot also be used for a dataset item: key"
    ):
        make(dataset(pattern, key=taken), record_key="key")


# Readers.


def test_files_are_named_by_lists_and_sorted_patterns(pattern: str, tmp_path: Path) -> None:
    files = [pattern.replace("*", str(i)) for i in range(FILES)]
    assert slim.parallel_reader.get_data_files(pattern) == files
    assert slim.parallel_reader.get_data_files([files[1], (pattern,)]) == [files[1], *files]
    assert slim.parallel_reader.get_data_files("missing") == ["missing"]
    with pytest.raises(ValueError, match="No data files found in"):
        slim.parallel_reader.get_data_files(str(tmp_path / "*"))


def test_a_single_pass_is_in_order_and_ends(pattern: str) -> None:
    pair = slim.parallel_reader.single_pass_read(pattern, tf.TFRecordReader)
    keys = []
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        with slim.queues.QueueRunners(session):
            for _ in range(FILES * ROWS):
                keys.append(session.run(pair[0]))
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(pair)
    files = [key.rsplit(b":")[0] for key in keys]
    assert files == sorted(files)
    offsets = [int(key.rsplit(b":")[1]) for key in keys[:ROWS]]
    assert offsets == sorted(set(offsets))


@pytest.mark.parametrize("shuffled", [True, False])
@pytest.mark.parametrize("many", [True, False])
def test_parallel_readers_share_a_queue_and_add_up(
    pattern: str, shuffled: bool, many: bool
) -> None:
    types, shapes = [tf.string, tf.string], [tf.TensorShape([])] * 2
    common: Any
    if shuffled:
        common = tf.RandomShuffleQueue(256, 10, types, shapes=shapes)
    else:
        common = tf.FIFOQueue(256, types, shapes=shapes)
    reader = slim.parallel_reader.ParallelReader(tf.TFRecordReader, common, num_readers=2)
    assert (reader.num_readers, reader.common_queue) == (2, common)
    names = slim.parallel_reader.get_data_files(pattern)
    files = tf.train.string_input_producer(names, num_epochs=1)
    keys = reader.read_up_to(files, 7)[0] if many else reader.read(files)[0]
    counts = reader.num_records_produced(), reader.num_work_units_completed()
    found: list[bytes] = []
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        with slim.queues.QueueRunners(session):
            while len(found) < FILES * ROWS:
                found.extend(np.atleast_1d(session.run(keys)).tolist())
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(keys)
            assert session.run(counts) == (60, 3)
    assert len(set(found)) == 60


def test_a_common_queue_holds_two_strings() -> None:
    for types in ([tf.string], [tf.string, tf.int64]):
        with pytest.raises(TypeError, match=r"common_queue.dtypes must be \[tf.string, tf.string"):
            slim.parallel_reader.ParallelReader(tf.TFRecordReader, tf.FIFOQueue(9, types))


# Prefetching.


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("named", [True, False])
def test_batches_are_made_ahead(threads: int, named: bool) -> None:
    number = tf.train.range_input_producer(40, 1, shuffle=False).dequeue()
    batch = tf.train.batch([number, number * 2], 8)
    tensors = dict(zip("ab", batch, strict=True)) if named else batch
    queue = slim.prefetch_queue.prefetch_queue(tensors, num_threads=threads)
    taken = queue.dequeue()
    fetches = [taken["a"], taken["b"]] if named else taken
    found = []
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        with slim.queues.QueueRunners(session):
            for _ in range(5):
                a, b = session.run(fetches)
                np.testing.assert_array_equal(b, a * 2)
                found.extend(a.tolist())
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(fetches)
    assert sorted(found) == list(range(40))


def test_open_dimensions_need_padding_to_be_made_ahead() -> None:
    open_one = tf.placeholder(tf.int32, [None])
    with pytest.raises(ValueError, match="All shapes must be fully defined"):
        slim.prefetch_queue.prefetch_queue([open_one])
    queue = slim.prefetch_queue.prefetch_queue([open_one], dynamic_pad=True)
    assert queue.shapes[0].as_list() == [None]
