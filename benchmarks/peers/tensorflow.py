# SPDX-License-Identifier: Apache-2.0
"""TensorFlow: whole batches parsed by one vectorised operation, autotuned, prefetched."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import tensorflow as tf

from .. import cases, digest, photos
from ..cases import Case, Column, Field
from ..worker import Start, Task, Trial
from . import dataset_program, isolated, queue_pipeline

__all__ = ["JOBS", "dataset", "versions"]

if _threads := int(os.environ.get("FASTREC_BENCH_THREADS") or 0):
    tf.config.threading.set_inter_op_parallelism_threads(_threads)
    tf.config.threading.set_intra_op_parallelism_threads(_threads)

_BUFFER = 8 << 20
_KINDS = {"int64": tf.int64, "float": tf.float32, "bytes": tf.string, "raw": tf.string}


def versions() -> dict[str, str]:
    return {"tensorflow": tf.__version__}


def _features(case: Case) -> dict[str, Any]:
    return {
        field.name: tf.io.RaggedFeature(_KINDS[field.kind])
        if field.shape is None
        else tf.io.FixedLenFeature(() if field.kind == "raw" else field.shape, _KINDS[field.kind])
        for field in case.fields
    }


def _images(case: Case) -> dict[str, tuple[int, ...]]:
    """Shapes of the features that are raw arrays."""
    return {field.name: field.shape or () for field in case.fields if field.kind == "raw"}


def _parser(case: Case) -> Callable[[Any], dict[str, Any]]:
    features = _features(case)
    images = _images(case)

    def parse(serialized: Any) -> dict[str, Any]:
        batch: dict[str, Any] = tf.io.parse_example(serialized, features)
        for name, shape in images.items():
            batch[name] = tf.reshape(tf.io.decode_raw(batch[name], tf.uint8), (-1, *shape))
        return batch

    return parse


def dataset(task: Task, shuffle: int = 0, compression: str = "") -> Any:
    records = tf.data.TFRecordDataset(task.path, compression, buffer_size=_BUFFER)
    if shuffle:
        records = records.shuffle(shuffle, seed=1)
    batches = records.batch(task.case.batch)
    parsed = batches.map(_parser(task.case), num_parallel_calls=tf.data.AUTOTUNE)
    options = tf.data.Options()
    options.threading.private_threadpool_size = task.threads
    return parsed.prefetch(tf.data.AUTOTUNE).with_options(options)


def _column(tensor: Any) -> Column:
    if isinstance(tensor, tf.RaggedTensor):
        values: Any = _column(tensor.values)
        return cases.Ragged(values, tensor.row_splits.numpy().astype(np.int64))
    array: np.ndarray[Any, Any] = tensor.numpy()
    return cases.Strings.of(array.ravel().tolist()) if array.dtype == object else array


def _exhausted(batches: Any) -> Trial:
    def once() -> None:
        for _ in batches:
            pass

    def digested() -> dict[str, int]:
        made = digest.Digest()
        for batch in batches:
            made.add({name: _column(tensor) for name, tensor in batch.items()})
        return made.result()

    return Trial(once, digested)


def _parse(task: Task) -> Trial:
    return _exhausted(dataset(task))


def _gzip(task: Task) -> Trial:
    return _exhausted(dataset(task, compression="GZIP"))


def _few(rows: int) -> Start:
    def start(task: Task) -> Trial:
        batches = dataset(replace(task, case=replace(task.case, batch=rows)))

        def once() -> None:
            for _ in batches.as_numpy_iterator():
                pass

        return Trial(once, _exhausted(batches).digest)

    return start


def _shuffle_some(task: Task) -> Trial:
    return _exhausted(dataset(task, shuffle=2000))


def _shuffle_all(task: Task) -> Trial:
    return _exhausted(dataset(task, shuffle=task.case.records))


def _distorted(task: Task) -> Any:
    """An image at a time, as tf.image works, with everything that tf.data does to hurry it."""
    features = _features(task.case)
    shape = _images(task.case)["image"]

    def distort(serialized: Any) -> Any:
        row = tf.io.parse_single_example(serialized, features)
        image = tf.reshape(tf.io.decode_raw(row.pop("image"), tf.uint8), shape)
        image = tf.image.random_crop(tf.cast(image, tf.float32), (24, 24, 3))
        image = tf.image.random_flip_left_right(image)
        image = tf.image.random_brightness(image, 63)
        image = tf.image.random_contrast(image, 0.2, 1.8)
        return {"image": tf.image.per_image_standardization(image), **row}

    records = tf.data.TFRecordDataset(task.path, buffer_size=_BUFFER).shuffle(2000, seed=1)
    images = records.map(distort, num_parallel_calls=tf.data.AUTOTUNE, deterministic=False)
    options = tf.data.Options()
    options.threading.private_threadpool_size = task.threads
    return images.batch(task.case.batch).prefetch(tf.data.AUTOTUNE).with_options(options)


def _distort(task: Task) -> Trial:
    return Trial(_exhausted(_distorted(task)).once)


def _train_images(method: str) -> Start:
    """The standard input program of ImageNet: only the crop is decoded."""

    def start(task: Task) -> Trial:
        features = _features(task.case)
        mean = tf.constant([255 * each for each in photos.MEAN])
        std = tf.constant([255 * each for each in photos.STD])

        def parse(serialized: Any) -> Any:
            row = tf.io.parse_single_example(serialized, features)
            data = row["image/encoded"]
            begin, size, _ = tf.image.sample_distorted_bounding_box(
                tf.io.extract_jpeg_shape(data),
                tf.constant([[[0.0, 0.0, 1.0, 1.0]]]),
                min_object_covered=0.1,
                aspect_ratio_range=(3 / 4, 4 / 3),
                area_range=(0.08, 1.0),
                max_attempts=100,
                use_image_if_no_bounding_boxes=True,
            )
            window = tf.stack([begin[0], begin[1], size[0], size[1]])
            image = tf.io.decode_and_crop_jpeg(data, window, channels=3, dct_method=method)
            image = tf.image.resize(image, (photos.SIZE, photos.SIZE))
            image = (tf.image.random_flip_left_right(image) - mean) / std
            return image, row["image/class/label"]

        records = tf.data.TFRecordDataset(task.path, buffer_size=_BUFFER)
        records = records.shuffle(task.case.records, seed=1)
        parsed = records.map(parse, num_parallel_calls=tf.data.AUTOTUNE, deterministic=False)
        options = tf.data.Options()
        options.threading.private_threadpool_size = task.threads
        batches = parsed.batch(task.case.batch).prefetch(tf.data.AUTOTUNE).with_options(options)

        def once() -> None:
            for _ in batches:
                pass

        return Trial(once)

    return start


def _iterator(path: str) -> Any:
    return tf.compat.v1.io.tf_record_iterator(path)


def _iterate(task: Task) -> Trial:
    def once() -> None:
        for _ in _iterator(task.path):
            pass

    return Trial(once, lambda: digest.of_records(_iterator(task.path)))


def _feature_makers(case: Case) -> dict[str, Callable[[Any], Any]]:
    """The functions that make a Feature. Lists take a half to a quarter of the time of arrays."""
    train = tf.train

    def int64(value: Any) -> Any:
        return train.Feature(int64_list=train.Int64List(value=value))

    def floats(value: Any) -> Any:
        return train.Feature(float_list=train.FloatList(value=value))

    def strings(value: Any) -> Any:
        return train.Feature(bytes_list=train.BytesList(value=value))

    def maker(field: Field) -> Callable[[Any], Any]:
        make = {"int64": int64, "float": floats}.get(field.kind, strings)
        if field.kind == "raw":
            return lambda value: strings([value.tobytes()])
        if field.shape == ():
            return lambda value: make([value])
        return make if field.kind == "bytes" else lambda value: make(value.ravel().tolist())

    return {field.name: maker(field) for field in case.fields}


def _example(makers: dict[str, Callable[[Any], Any]], row: dict[str, Any]) -> bytes:
    feature = {name: make(row[name]) for name, make in makers.items()}
    features = tf.train.Features(feature=feature)
    serialized: bytes = tf.train.Example(features=features).SerializeToString()
    return serialized


def _write(task: Task) -> Trial:
    columns = cases.columns_of(task.case, task.seed, task.saved)
    rows = list(cases.rows(columns, task.case.write_records))
    makers = _feature_makers(task.case)

    def once() -> None:
        with tf.io.TFRecordWriter(task.out) as writer:
            for row in rows:
                writer.write(_example(makers, row))

    return Trial(once, records=len(rows))


def _make(task: Task) -> Trial:
    makers = _feature_makers(task.case)

    def once() -> None:
        with tf.io.TFRecordWriter(task.out) as writer:
            if not task.case.fields:
                for record in cases.raw_records(task.case, task.seed).to_list():
                    writer.write(record)
                return
            columns = cases.columns_of(task.case, task.seed)
            for row in cases.rows(columns, task.case.records):
                writer.write(_example(makers, row))

    return Trial(once)


def _count(task: Task) -> Trial:
    """With its iterator, which is fifty times as fast as reducing a dataset."""

    def once() -> None:
        assert sum(1 for _ in _iterator(task.path)) == task.case.records

    return Trial(once)


def _first_batch(task: Task) -> Trial:
    return Trial(lambda: next(iter(dataset(task))), records=task.case.batch)


def _dataset_program(task: Task) -> Trial:
    return dataset_program.trial(tf, task)


def _queue(task: Task) -> Trial:
    return queue_pipeline.trial(tf.compat.v1, task)


def _distort_in_queues(task: Task) -> Trial:
    return queue_pipeline.trial(tf.compat.v1, task, distort=True)


_MEMORY = """
from fastrec_bench.peers.tensorflow import dataset
batches = dataset(task, shuffle=2000)
watch = Watch()
for _ in batches:
    watch.look()
"""

JOBS: dict[str, dict[str, Start]] = {
    "make": {"": _make},
    "iterate": {"": _iterate},
    "parse": {"": _parse},
    "shuffle": {"buffer 2000": _shuffle_some, "whole dataset": _shuffle_all},
    "dataset": {"": _dataset_program},
    "distort": {"": _distort, "queues": _distort_in_queues},
    "train images": {
        "INTEGER_FAST": _train_images("INTEGER_FAST"),
        "INTEGER_ACCURATE": _train_images("INTEGER_ACCURATE"),
    },
    "write": {"": _write},
    "gzip": {"": _gzip},
    "small batches": {f"rows {rows}": _few(rows) for rows in cases.SMALL_BATCHES},
    "count": {"": _count},
    "first batch": {"": _first_batch},
    "import": {"": isolated.importing("tensorflow")},
    "memory": {"": isolated.memory(_MEMORY)},
    "queue": {"": _queue},
}
