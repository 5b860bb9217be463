# SPDX-License-Identifier: Apache-2.0
"""Programs of tf.data under TensorFlow and fastrec.compat.v2, in one process, as a table.

    make .venv-oracle/installed && .venv-oracle/bin/python benchmarks/tf_data.py

Each program is run in turns, `ROUNDS` times; what is told is how many times as long TensorFlow
took, by the medians. Programs without chance have to give the same elements.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow

import fastrec
import fastrec.compat.v2 as ours

ROUNDS = 5
IMAGES, ROWS, NUMBERS = 20_000, 50_000, 40
Program = Callable[[Any, Any], Any]


def write_images(path: Path) -> str:
    draw = np.random.default_rng(1)
    with fastrec.Writer(path, overwrite=True) as writer:
        images = draw.integers(0, 256, (IMAGES, 32 * 32 * 3), np.uint8)
        writer.write_batch({"image": images, "label": np.arange(IMAGES) % 10})
    return str(path)


def numbers(path: Path) -> str:
    draw = np.random.default_rng(2)
    with fastrec.Writer(path, overwrite=True) as writer:
        columns = {f"f{i:02}": draw.random(ROWS, np.float32) for i in range(NUMBERS)}
        writer.write_batch(columns)
    return str(path)


def image_parser(tf: Any) -> Callable[[Any], Any]:
    features = {
        "image": tf.io.FixedLenFeature([], tf.string),
        "label": tf.io.FixedLenFeature([], tf.int64),
    }

    def parse(record: Any) -> Any:
        found = tf.io.parse_single_example(record, features)
        return tf.reshape(tf.io.decode_raw(found["image"], tf.uint8), [32, 32, 3]), found["label"]

    return parse


def floats(tf: Any) -> Callable[[Any], Any]:
    parse = image_parser(tf)

    def scaled(record: Any) -> Any:
        image, label = parse(record)
        return tf.cast(image, tf.float32) / 255.0, label

    return scaled


def flipped(tf: Any) -> Callable[[Any], Any]:
    parse = image_parser(tf)

    def distort(record: Any) -> Any:
        image, label = parse(record)
        return tf.image.random_flip_left_right(image), label

    return distort


def distorted(tf: Any) -> Callable[[Any], Any]:
    parse = floats(tf)

    def distort(record: Any) -> Any:
        image, label = parse(record)
        image = tf.image.random_flip_left_right(tf.image.random_crop(image, [24, 24, 3]))
        return tf.image.random_brightness(image, 0.2), label

    return distort


def rows(tf: Any) -> dict[str, Any]:
    return {f"f{i:02}": tf.io.FixedLenFeature([], tf.float32) for i in range(NUMBERS)}


def row(tf: Any) -> Callable[[Any], Any]:
    features = rows(tf)
    return lambda record: tf.io.parse_single_example(record, features)


def batch_of_rows(tf: Any) -> Callable[[Any], Any]:
    features = rows(tf)
    return lambda records: tf.io.parse_example(records, features)


def mapped(data: Any, tf: Any, function: Callable[[Any], Any]) -> Any:
    return data.map(function, num_parallel_calls=tf.data.AUTOTUNE)


PROGRAMS: dict[str, tuple[str, bool, Program]] = {
    "images: `map(parse)`, `batch`": (
        "images", True, lambda tf, data: mapped(data, tf, image_parser(tf)).batch(128),
    ),
    "`shuffle(2000)`, `map(parse)`, `batch`": (
        "images", True,
        lambda tf, data: mapped(data.shuffle(2000, seed=1), tf, image_parser(tf)).batch(128),
    ),
    "`map(parse to float32)`, `shuffle(2000)`, `batch`": (
        "images", True,
        lambda tf, data: mapped(data, tf, floats(tf)).shuffle(2000, seed=1).batch(128),
    ),
    "`map(parse)`, `ignore_errors`, `batch`": (
        "images", True,
        lambda tf, data: mapped(data, tf, image_parser(tf)).ignore_errors().batch(128),
    ),
    "`map(parse, random flip)`, `batch`": (
        "images", False, lambda tf, data: mapped(data, tf, flipped(tf)).batch(128),
    ),
    "`map(parse, random flip, crop and brightness)`, `shuffle(2000)`, `batch`": (
        "images", False,
        lambda tf, data: mapped(data, tf, distorted(tf)).shuffle(2000, seed=1).batch(128),
    ),
    "numbers: `map(parse)`, `batch`": (
        "numbers", True, lambda tf, data: mapped(data, tf, row(tf)).batch(128),
    ),
    "`batch`, `map(parse_example)`": (
        "numbers", True, lambda tf, data: mapped(data.batch(128), tf, batch_of_rows(tf)),
    ),
    "`shuffle(2000)`, `batch`, `map(parse_example)`": (
        "numbers", True,
        lambda tf, data: mapped(data.shuffle(2000, seed=1).batch(128), tf, batch_of_rows(tf)),
    ),
}  # fmt: skip


def dataset(tf: Any, path: str, program: Program) -> Any:
    return program(tf, tf.data.TFRecordDataset(path)).prefetch(tf.data.AUTOTUNE)


def seconds(tf: Any, path: str, program: Program) -> float:
    begin = time.perf_counter()
    for _ in dataset(tf, path, program):
        pass
    return time.perf_counter() - begin


def check_same(path: str, program: Program) -> None:
    """That both make the same elements.

    Raises
    ------
    AssertionError
        When they do not.
    """
    both = [dataset(tf, path, program).as_numpy_iterator() for tf in (tensorflow, ours)]
    for one, other in zip(*both, strict=True):
        if isinstance(one, dict):
            one, other = ([each[key] for key in sorted(each)] for each in (one, other))
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = {
            "images": write_images(Path(folder) / "images.tfrecord"),
            "numbers": numbers(Path(folder) / "numbers.tfrecord"),
        }
        print("| | times as fast as TensorFlow |\n|---|--:|")
        for name, (data, same, program) in PROGRAMS.items():
            path = paths[data]
            if same:
                check_same(path, program)
            taken: dict[Any, list[float]] = {tensorflow: [], ours: []}
            for _ in range(ROUNDS):
                for tf, times in taken.items():
                    times.append(seconds(tf, path, program))
            ratio = statistics.median(taken[tensorflow]) / statistics.median(taken[ours])
            print(f"| {name} | {ratio:.1f} |")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
