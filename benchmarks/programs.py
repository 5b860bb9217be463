# SPDX-License-Identifier: Apache-2.0
"""Input pipelines as published programs have them, under TensorFlow and the drop-in modules.

    make .venv-oracle/installed && .venv-oracle/bin/python benchmarks/programs.py [NAME...]

Each is written once and run with ``tensorflow``, ``tensorflow.compat.v1`` or the module of fastrec
in its place, in turns; what is told is how many times as long TensorFlow took, by the least of
`ROUNDS` times `RUNS`, and by how much the first elements differ where nothing is drawn by chance.
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow
from PIL import Image

import fastrec
import fastrec.compat.v1 as ours1
import fastrec.compat.v2 as ours2

ROUNDS, RUNS = 4, 2
PHOTOS, SMALL, TEXTS, ROWS, VIDEOS = 160, 4000, 4000, 20_000, 400
AUTOTUNE = -1
MEANS = [0.485, 0.456, 0.406]
Files = dict[str, list[str]]
Program = tuple[str, bool, Callable[[Any, Files], Any]]  # version, whether by chance, program


def photo(draw: np.random.Generator, height: int, width: int) -> bytes:
    coarse = draw.integers(0, 256, (12, 16, 3), np.uint8)
    image = Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)
    data = io.BytesIO()
    image.save(data, "JPEG", quality=90)
    return data.getvalue()


def written(folder: Path, name: str, rows: Iterator[dict[str, Any]], shards: int = 2) -> list[str]:
    paths = [str(folder / f"{name}-{number:05}.tfrecord") for number in range(shards)]
    kept = list(rows)
    for number, path in enumerate(paths):
        with fastrec.Writer(path, overwrite=True) as writer:
            for row in kept[number::shards]:
                writer.write(row)
    return paths


def make_videos(folder: Path, draw: np.random.Generator) -> list[str]:
    """Frames of quantized features, as YouTube-8M's."""
    train = ours2.train
    path = str(folder / "videos.tfrecord")
    with fastrec.Writer(path, overwrite=True) as writer:
        for number in range(VIDEOS):
            frames = [draw.integers(0, 256, 1024, np.uint8).tobytes() for _ in range(number % 30)]
            each = [train.Feature(bytes_list=train.BytesList(value=[frame])) for frame in frames]
            labels = train.Feature(int64_list=train.Int64List(value=[number % 50, 60]))
            features = train.Features(feature={"labels": labels})
            lists = train.FeatureLists(feature_list={"rgb": train.FeatureList(feature=each)})
            example = train.SequenceExample(context=features, feature_lists=lists)
            writer.write(example.SerializeToString())
    return [path]


def make_table(folder: Path) -> list[str]:
    path = folder / "census.csv"
    lines = (
        f"{n % 70 + 17},kind{n % 8},{n * 37},degree{n % 16},{n % 60},{n % 2}" for n in range(ROWS)
    )
    path.write_text("\n".join(lines) + "\n")
    return [str(path)]


def raw_photo(draw: np.random.Generator, number: int) -> dict[str, Any]:
    """A raw image of any size, as PASCAL VOC's."""
    height, width = 300 + number % 60, 500 - number % 70
    pixels = draw.integers(0, 256, (height, width, 3), np.uint8)
    return {"height": [height], "width": [width], "image": pixels.tobytes()}


def pair_of_texts(draw: np.random.Generator, number: int) -> dict[str, Any]:
    sizes = {"inputs": number % 60 + 4, "targets": number % 50 + 4}
    return {name: draw.integers(2, 9000, size) for name, size in sizes.items()}


def sentences(draw: np.random.Generator, number: int) -> dict[str, Any]:
    ids = {"input_ids": draw.integers(0, 30000, 128), "masked_lm_ids": draw.integers(0, 30000, 20)}
    masks = {"input_mask": np.ones(128, int), "segment_ids": np.zeros(128, int)}
    weights = np.ones(20, np.float32)
    return {**ids, **masks, "masked_lm_weights": weights, "next_sentence_labels": [number % 2]}


def make_files(folder: Path) -> Files:
    draw = np.random.default_rng(3)
    photos = [photo(draw, 240 + 8 * (n % 7), 320 - 8 * (n % 5)) for n in range(PHOTOS)]

    def detection(number: int) -> dict[str, Any]:
        count = number % 4 + 1
        low = draw.random((2, count), np.float32) * 0.4
        high = low + 0.3
        return {
            "image/encoded": photos[number],
            "image/format": b"jpeg",
            "image/class/label": [number % 1000],
            "image/class/text": b"thing",
            "image/object/bbox/ymin": low[0],
            "image/object/bbox/xmin": low[1],
            "image/object/bbox/ymax": high[0],
            "image/object/bbox/xmax": high[1],
            "image/object/class/label": np.arange(count),
            "image/object/class/text": [b"thing"] * count,
        }

    return {
        "photos": written(folder, "photos", map(detection, range(PHOTOS))),
        "small": written(
            folder,
            "small",
            (
                {"image": draw.integers(0, 256, 3072, np.uint8).tobytes(), "label": [n % 10]}
                for n in range(SMALL)
            ),
        ),
        "texts": written(folder, "texts", (pair_of_texts(draw, n) for n in range(TEXTS))),
        "tokens": written(folder, "tokens", (sentences(draw, n) for n in range(TEXTS))),
        "videos": make_videos(folder, draw),
        "raw": written(folder, "raw", (raw_photo(draw, number) for number in range(PHOTOS))),
        "census": make_table(folder),
        "rows": written(
            folder,
            "rows",
            (
                {"x": draw.random(28, np.float32), "y": [float(n % 2)], "c": b"%d" % (n % 9)}
                for n in range(ROWS)
            ),
        ),
    }


# Photographs, as image classifiers read them.


def classified(tf: Any, record: Any) -> tuple[Any, Any]:
    found = tf.io.parse_single_example(
        record,
        {
            "image/encoded": tf.io.FixedLenFeature([], tf.string),
            "image/class/label": tf.io.FixedLenFeature([], tf.int64),
        },
    )
    return found["image/encoded"], tf.cast(found["image/class/label"], tf.int32) - 1


def keras_recipe(tf: Any, files: Files) -> Any:
    def parse(record: Any) -> Any:
        data, label = classified(tf, record)
        image = tf.cast(tf.image.decode_jpeg(data, channels=3), tf.float32)
        return tf.image.resize(image, [180, 180]) / 255.0, label

    dataset = tf.data.TFRecordDataset(files["photos"], num_parallel_reads=AUTOTUNE)
    return dataset.map(parse, num_parallel_calls=AUTOTUNE).batch(32).prefetch(AUTOTUNE)


def imagenet_eval(tf: Any, files: Files) -> Any:
    def parse(record: Any) -> Any:
        data, label = classified(tf, record)
        image = tf.image.decode_jpeg(data, channels=3, dct_method="INTEGER_FAST")
        image = tf.image.convert_image_dtype(image, tf.float32)
        image = tf.image.central_crop(image, 0.875)
        image = tf.image.resize(image, [224, 224], "bicubic")
        return (image - tf.constant(MEANS)) / 0.225, label

    return tf.data.TFRecordDataset(files["photos"]).map(parse, AUTOTUNE).batch(32)


def imagenet_train(tf: Any, files: Files) -> Any:
    def parse(record: Any) -> Any:
        data, label = classified(tf, record)
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            tf.io.extract_jpeg_shape(data),
            tf.zeros([1, 0, 4]),
            seed=1,
            min_object_covered=0.1,
            area_range=(0.08, 1.0),
            use_image_if_no_bounding_boxes=True,
        )
        window = tf.stack([begin[0], begin[1], size[0], size[1]])
        image = tf.image.decode_and_crop_jpeg(data, window, channels=3)
        image = tf.image.resize(tf.cast(image, tf.float32), [224, 224])
        return tf.image.random_flip_left_right(image, seed=2) / 255.0, label

    return tf.data.TFRecordDataset(files["photos"]).map(parse, AUTOTUNE).batch(32)


def contrastive(tf: Any, files: Files) -> Any:
    def parse(record: Any) -> Any:
        data, label = classified(tf, record)
        image = tf.image.convert_image_dtype(tf.image.decode_jpeg(data, 3), tf.float32)
        image = tf.image.resize(image, [160, 160])

        def view(seed: int) -> Any:
            x = tf.image.random_crop(image, [128, 128, 3], seed=seed)
            x = tf.image.random_brightness(x, 0.8, seed=seed)
            x = tf.image.random_contrast(x, 0.2, 1.8, seed=seed)
            x = tf.image.random_saturation(x, 0.2, 1.8, seed=seed)
            x = tf.image.random_hue(x, 0.2, seed=seed)
            return tf.clip_by_value(x, 0.0, 1.0)

        return tf.concat([view(1), view(2)], -1), label

    return tf.data.TFRecordDataset(files["photos"]).map(parse, AUTOTUNE).batch(16)


def detection(tf: Any, files: Files) -> Any:
    boxes = ["ymin", "xmin", "ymax", "xmax"]
    features = {
        "image/encoded": tf.io.FixedLenFeature([], tf.string, ""),
        "image/object/class/label": tf.io.VarLenFeature(tf.int64),
        **{f"image/object/bbox/{side}": tf.io.VarLenFeature(tf.float32) for side in boxes},
    }

    def parse(record: Any) -> Any:
        found = tf.io.parse_single_example(record, features)
        sides = [tf.sparse.to_dense(found[f"image/object/bbox/{side}"]) for side in boxes]
        image = tf.io.decode_image(found["image/encoded"], 3, expand_animations=False)
        image.set_shape([None, None, 3])
        image = tf.image.resize(tf.cast(image, tf.float32), [256, 256])
        labels = tf.sparse.to_dense(found["image/object/class/label"])
        return image, tf.stack(sides, 1), labels

    dataset = tf.data.TFRecordDataset(files["photos"]).map(parse, AUTOTUNE)
    return dataset.padded_batch(16, ([256, 256, 3], [None, 4], [None]))


def grey_statistics(tf: Any, files: Files) -> Any:
    def parse(record: Any) -> Any:
        data, _label = classified(tf, record)
        image = tf.image.convert_image_dtype(tf.image.decode_jpeg(data, 3), tf.float32)
        grey = tf.image.rgb_to_grayscale(tf.image.flip_up_down(image))
        return tf.image.resize_with_crop_or_pad(grey, 224, 224), tf.reduce_mean(image, [0, 1])

    return tf.data.TFRecordDataset(files["photos"]).map(parse, AUTOTUNE).batch(32)


def segmentation(tf: Any, files: Files) -> Any:
    kinds = {"height": tf.int64, "width": tf.int64, "image": tf.string}

    def parse(record: Any) -> tuple[Any, Any]:
        features = {name: tf.io.FixedLenFeature([], kind) for name, kind in kinds.items()}
        found = tf.io.parse_single_example(record, features)
        height, width = (tf.cast(found[name], tf.int32) for name in ("height", "width"))
        flat = tf.io.decode_raw(found["image"], tf.uint8)
        image = tf.reshape(flat, tf.stack([height, width, 3]))
        return tf.image.resize_with_crop_or_pad(image, 224, 224), height

    return tf.data.TFRecordDataset(files["raw"]).map(parse, AUTOTUNE).batch(8)


# Small images, as CIFAR's.


def raw_image(tf: Any, record: Any) -> tuple[Any, Any]:
    found = tf.io.parse_single_example(
        record,
        {
            "image": tf.io.FixedLenFeature([], tf.string),
            "label": tf.io.FixedLenFeature([], tf.int64),
        },
    )
    image = tf.reshape(tf.io.decode_raw(found["image"], tf.uint8), [32, 32, 3])
    return tf.cast(image, tf.float32), found["label"]


def cifar_eval(tf: Any, files: Files) -> Any:
    dataset = tf.data.TFRecordDataset(files["small"]).map(lambda r: raw_image(tf, r), AUTOTUNE)
    return dataset.map(lambda x, y: (tf.image.per_image_standardization(x), y)).batch(128)


def cifar_train(tf: Any, files: Files) -> Any:
    def change(image: Any, label: Any) -> Any:
        image = tf.image.resize_with_crop_or_pad(image, 40, 40)
        image = tf.image.random_crop(image, [32, 32, 3], seed=1)
        image = tf.image.random_flip_left_right(image, seed=2)
        return tf.image.per_image_standardization(image), label

    dataset = tf.data.TFRecordDataset(files["small"]).map(lambda r: raw_image(tf, r), AUTOTUNE)
    return dataset.shuffle(1000, seed=3).map(change, AUTOTUNE).batch(128, drop_remainder=True)


# Text and tables.


def pair(tf: Any, record: Any) -> tuple[Any, Any]:
    kinds = {"inputs": tf.io.VarLenFeature(tf.int64), "targets": tf.io.VarLenFeature(tf.int64)}
    found = tf.io.parse_single_example(record, kinds)
    return tf.sparse.to_dense(found["inputs"]), tf.sparse.to_dense(found["targets"])


def translation(tf: Any, files: Files) -> Any:
    dataset = tf.data.TFRecordDataset(files["texts"]).map(lambda r: pair(tf, r), AUTOTUNE)
    dataset = dataset.filter(lambda x, y: tf.logical_and(tf.size(x) <= 50, tf.size(y) <= 50))
    return dataset.padded_batch(64, ([None], [None]))


def bucketed(tf: Any, files: Files) -> Any:
    dataset = tf.data.TFRecordDataset(files["texts"]).map(lambda r: pair(tf, r), AUTOTUNE)
    return dataset.bucket_by_sequence_length(
        lambda x, y: tf.size(x), [16, 32, 48], [64, 64, 32, 32], padded_shapes=([None], [None])
    )


def language_model(tf: Any, files: Files) -> Any:
    kinds = {"inputs": tf.io.RaggedFeature(tf.int64)}
    dataset = tf.data.TFRecordDataset(files["texts"])
    dataset = dataset.map(lambda r: tf.io.parse_single_example(r, kinds)["inputs"], AUTOTUNE)
    dataset = dataset.unbatch().batch(129, drop_remainder=True)
    return dataset.map(lambda row: (row[:-1], row[1:])).batch(16)


def pretraining(tf: Any, files: Files) -> Any:
    kinds = {
        "input_ids": tf.io.FixedLenFeature([128], tf.int64),
        "input_mask": tf.io.FixedLenFeature([128], tf.int64),
        "segment_ids": tf.io.FixedLenFeature([128], tf.int64),
        "masked_lm_ids": tf.io.FixedLenFeature([20], tf.int64),
        "masked_lm_weights": tf.io.FixedLenFeature([20], tf.float32),
        "next_sentence_labels": tf.io.FixedLenFeature([1], tf.int64),
    }

    def decode(record: Any) -> Any:
        found = tf.io.parse_single_example(record, kinds)
        for name, value in list(found.items()):
            found[name] = tf.cast(value, tf.int32) if value.dtype == tf.int64 else value
        return tuple(found[name] for name in sorted(found))

    dataset = tf.data.Dataset.from_tensor_slices(files["tokens"])
    dataset = dataset.interleave(tf.data.TFRecordDataset, cycle_length=2)
    return dataset.map(decode, AUTOTUNE).batch(32, drop_remainder=True).prefetch(AUTOTUNE)


def windows(tf: Any, files: Files) -> Any:
    def key(x: Any, y: Any) -> Any:
        return tf.cast(tf.maximum(tf.size(x), tf.size(y)) // 8, tf.int64)

    dataset = tf.data.TFRecordDataset(files["texts"]).map(lambda r: pair(tf, r), AUTOTUNE)
    return dataset.group_by_window(
        key, lambda _, window: window.padded_batch(32, ([None], [None])), window_size=32
    )


def frames(tf: Any, files: Files) -> Any:
    def parse(record: Any) -> Any:
        context, lists = tf.io.parse_single_sequence_example(
            record,
            {"labels": tf.io.VarLenFeature(tf.int64)},
            {"rgb": tf.io.FixedLenSequenceFeature([], tf.string)},
        )
        found = tf.cast(tf.io.decode_raw(lists["rgb"], tf.uint8), tf.float32)
        found = tf.reshape(found, [-1, 1024]) * (4.0 / 255.0) + (4.0 / 512.0 - 2.0)
        return found, tf.sparse.to_dense(context["labels"])

    dataset = tf.data.TFRecordDataset(files["videos"]).map(parse, AUTOTUNE)
    return dataset.padded_batch(16, ([30, 1024], [None]))


def census(tf: Any, files: Files) -> Any:
    defaults = [[0], [""], [0], [""], [0], [0]]

    def parse(line: Any) -> Any:
        age, kind, weight, degree, hours, label = tf.io.decode_csv(line, defaults)
        return age, kind, weight, degree, hours, tf.equal(label, 1)

    return tf.data.TextLineDataset(files["census"]).map(parse, AUTOTUNE).batch(40)


def tabular(tf: Any, files: Files) -> Any:
    kinds = {
        "x": tf.io.FixedLenFeature([28], tf.float32),
        "y": tf.io.FixedLenFeature([], tf.float32),
        "c": tf.io.FixedLenFeature([], tf.string),
    }

    def parse(records: Any) -> Any:
        found = tf.io.parse_example(records, kinds)
        codes = tf.strings.to_number(found["c"], tf.int32)
        return tf.concat([found["x"], tf.one_hot(codes, 9)], 1), found["y"]

    return tf.data.TFRecordDataset(files["rows"]).batch(256).map(parse, AUTOTUNE)


def generated(tf: Any, files: Files) -> Any:
    def rows() -> Iterator[Any]:
        for number in range(3000):
            yield np.full(8, number, np.float32), number % 3

    kinds = (tf.TensorSpec([8], tf.float32), tf.TensorSpec([], tf.int32))
    dataset = tf.data.Dataset.from_generator(rows, output_signature=kinds)
    return dataset.map(lambda x, y: (x * 2.0 + 1.0, tf.one_hot(y, 3))).batch(50)


# Graphs of version 1.


def graph_data(tf: Any, files: Files) -> Any:
    def parse(record: Any) -> Any:
        found = tf.parse_single_example(
            record,
            {
                "image": tf.FixedLenFeature([], tf.string),
                "label": tf.FixedLenFeature([], tf.int64),
            },
        )
        image = tf.reshape(tf.decode_raw(found["image"], tf.uint8), [32, 32, 3])
        return tf.image.per_image_standardization(tf.cast(image, tf.float32)), found["label"]

    dataset = tf.data.Dataset.from_tensor_slices(files["small"])
    dataset = dataset.flat_map(tf.data.TFRecordDataset).map(parse, 2).batch(128)
    return dataset.make_one_shot_iterator().get_next()


def graph_photos(tf: Any, files: Files) -> Any:
    def parse(record: Any) -> Any:
        found = tf.parse_single_example(
            record,
            {
                "image/encoded": tf.FixedLenFeature([], tf.string, ""),
                "image/class/label": tf.FixedLenFeature([], tf.int64, -1),
            },
        )
        image = tf.image.decode_jpeg(found["image/encoded"], channels=3)
        image = tf.image.convert_image_dtype(image, tf.float32)
        image = tf.image.central_crop(image, 0.875)
        image = tf.image.resize_images(tf.expand_dims(image, 0), [299, 299])
        image = tf.squeeze(image, [0])
        return tf.multiply(tf.subtract(image, 0.5), 2.0), found["image/class/label"]

    dataset = tf.data.TFRecordDataset(files["photos"]).map(parse, num_parallel_calls=2)
    return dataset.batch(16).prefetch(1).make_one_shot_iterator().get_next()


def queue_frames(tf: Any, files: Files) -> Any:
    names = tf.train.string_input_producer(files["videos"], num_epochs=1, shuffle=False)
    _, record = tf.TFRecordReader().read(names)
    context, lists = tf.parse_single_sequence_example(
        record,
        context_features={"labels": tf.VarLenFeature(tf.int64)},
        sequence_features={"rgb": tf.FixedLenSequenceFeature([], tf.string)},
    )
    found = tf.cast(tf.decode_raw(lists["rgb"], tf.uint8), tf.float32)
    found = tf.reshape(found, [-1, 1024]) * (4.0 / 255.0) + (4.0 / 512.0 - 2.0)
    count = tf.minimum(tf.shape(found)[0], 30)
    found = tf.pad(found[:30], [[0, 30 - count], [0, 0]])
    found.set_shape([30, 1024])
    labels = tf.sparse_tensor_to_dense(context["labels"], validate_indices=False)
    return tf.train.batch([found, count, labels], 16, dynamic_pad=True, num_threads=1)


def graph_boxes(tf: Any, files: Files) -> Any:
    sides = ["ymin", "xmin", "ymax", "xmax"]
    features = {
        "image/encoded": tf.FixedLenFeature([], tf.string, ""),
        "image/object/class/label": tf.VarLenFeature(tf.int64),
        "image/object/class/text": tf.VarLenFeature(tf.string),
        **{f"image/object/bbox/{side}": tf.VarLenFeature(tf.float32) for side in sides},
    }

    def parse(record: Any) -> Any:
        found = tf.parse_single_example(record, features)
        boxes = [tf.sparse_tensor_to_dense(found[f"image/object/bbox/{side}"]) for side in sides]
        labels = tf.sparse_tensor_to_dense(found["image/object/class/label"])
        texts = tf.sparse_tensor_to_dense(found["image/object/class/text"], default_value="")
        return tf.stack(boxes, 1), labels, texts, tf.shape(labels)[0]

    dataset = tf.data.TFRecordDataset(files["photos"] * 10).map(parse, num_parallel_calls=2)
    dataset = dataset.padded_batch(16, ([None, 4], [None], [None], []))
    return dataset.make_one_shot_iterator().get_next()


def queue_photos(tf: Any, files: Files) -> Any:
    names = tf.train.string_input_producer(files["photos"], num_epochs=1, shuffle=False)
    _, record = tf.TFRecordReader().read(names)
    found = tf.parse_single_example(
        record,
        {
            "image/encoded": tf.FixedLenFeature([], tf.string),
            "image/class/label": tf.FixedLenFeature([], tf.int64),
        },
    )
    image = tf.cast(tf.image.decode_jpeg(found["image/encoded"], channels=3), tf.float32)
    image = tf.image.resize_images(image, [256, 256])
    image.set_shape([256, 256, 3])
    return tf.train.batch([image, found["image/class/label"]], 16, num_threads=1)


PROGRAMS: dict[str, Program] = {
    "keras recipe: decode, resize": ("2", False, keras_recipe),
    "ImageNet, evaluation": ("2", False, imagenet_eval),
    "ImageNet, training": ("2", True, imagenet_train),
    "contrastive colours and crops": ("2", True, contrastive),
    "detection, padded boxes": ("2", False, detection),
    "greys, flips and means": ("2", False, grey_statistics),
    "segmentation, raw images": ("2", False, segmentation),
    "CIFAR, evaluation": ("2", False, cifar_eval),
    "CIFAR, training": ("2", True, cifar_train),
    "translation, padded": ("2", False, translation),
    "translation, in buckets": ("2", False, bucketed),
    "language model, packed": ("2", False, language_model),
    "BERT, pretraining": ("2", False, pretraining),
    "translation, by windows": ("2", False, windows),
    "YouTube-8M, frames": ("2", False, frames),
    "census, lines of text": ("2", False, census),
    "table, one-hot": ("2", False, tabular),
    "generator": ("2", False, generated),
    "graph: tf.data, CIFAR": ("1", False, graph_data),
    "graph: tf.data, photographs": ("1", False, graph_photos),
    "graph: tf.data, boxes": ("1", False, graph_boxes),
    "graph: queues, frames": ("1", False, queue_frames),
    "graph: queues, photographs": ("1", False, queue_photos),
}


def at_once(tf: Any, program: Callable[..., Any], files: Files) -> tuple[float, list[Any]]:
    begin = time.perf_counter()
    dataset, first = program(tf, files), []
    for number, element in enumerate(dataset):
        if number < 2:
            first.append([np.asarray(part) for part in element])
    return time.perf_counter() - begin, first


def in_a_graph(tf: Any, program: Callable[..., Any], files: Files) -> tuple[float, list[Any]]:
    begin, first = time.perf_counter(), []
    with tf.Graph().as_default():
        following = program(tf, files)
        start = [tf.global_variables_initializer(), tf.local_variables_initializer()]
        with tf.Session() as session:
            session.run(start)
            coordinator = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coordinator)
            try:
                while True:
                    found = session.run(following)
                    if len(first) < 2:
                        first.append(list(found))
            except tf.errors.OutOfRangeError:
                coordinator.request_stop()
            coordinator.join(threads)
    return time.perf_counter() - begin, first


def apart(one: list[Any], other: list[Any]) -> float:
    """The largest difference, of elements that have to be of one shape."""
    worst = 0.0
    for ours, theirs in zip(one, other, strict=True):
        for a, b in zip(ours, theirs, strict=True):
            assert a.shape == b.shape, f"{a.shape} and {b.shape}"
            if a.dtype == object:
                assert a.tolist() == b.tolist()
            elif a.size:
                worst = max(worst, float(np.abs(a.astype(float) - b.astype(float)).max()))
    return worst


def main() -> None:
    modules = {"1": (tensorflow.compat.v1, ours1), "2": (tensorflow, ours2)}
    words = sys.argv[1:] or [""]
    chosen = [name for name in PROGRAMS if any(word in name for word in words)]
    found: dict[str, list[list[Any]]] = {name: [[], []] for name in chosen}
    best = {name: [float("inf")] * 2 for name in chosen}
    with tempfile.TemporaryDirectory() as folder:
        files = make_files(Path(folder))
        # Rounds of all, for a machine that is busy for a while then slows none in each; several
        # runs of one, for the first maps the memory that others gave back.
        for name in chosen * ROUNDS:
            version, _, program = PROGRAMS[name]
            run = at_once if version == "2" else in_a_graph
            for side, tf in list(enumerate(modules[version])) * RUNS:
                seconds, found[name][side] = run(tf, program, files)
                best[name][side] = min(best[name][side], seconds)
    ratios = [theirs / ours for theirs, ours in best.values()]
    for name, ratio in zip(chosen, ratios, strict=True):
        chance = PROGRAMS[name][1]
        difference = "by chance" if chance else f"{apart(*found[name]):.1e}"
        print(f"{name:34} {ratio:6.2f}  {difference}")
    print(f"{'median':34} {float(np.median(ratios)):6.2f}")


if __name__ == "__main__":
    main()
