# SPDX-License-Identifier: Apache-2.0
"""Programs of images and of chance, for TensorFlow and ``fastrec.compat.v2``, which is `tf`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from v2_programs import Program

IMAGES = np.random.default_rng(0).integers(0, 256, (6, 8, 9, 3), dtype=np.uint8)


def images(tf: Any, dtype: Any = np.float32) -> Any:
    given = IMAGES if dtype == np.uint8 else (IMAGES / 255).astype(dtype)
    return tf.data.Dataset.from_tensor_slices(given)


def each(change: Callable[[Any, Any], Any], dtype: Any = np.float32) -> Program:
    """Results of a function of an image, one by one and in batches."""

    def program(tf: Any, _: str) -> Any:
        return images(tf, dtype).map(lambda image: change(tf, image)).batch(4)

    return program


def twice(tf: Any, image: Any) -> Any:
    """Several draws of one function, some of them with seeds."""
    image = tf.image.random_flip_left_right(image)
    image = tf.image.random_flip_up_down(image, seed=4)
    image = tf.image.random_brightness(image, 0.3)
    image = tf.image.random_contrast(image, 0.5, 1.5)
    return tf.image.random_crop(image, [4, 5, 3], seed=9)


def numbers(tf: Any, i: Any) -> Any:
    return (
        tf.random.uniform([]),
        tf.random.uniform([2, 3], 1.0, 4.0, seed=3),
        tf.random.uniform([2], 0, 100, tf.int32),
        tf.random.uniform([], -5, 5, tf.int64, seed=3),
        tf.random.normal([3], 10.0, 2.0),
        tf.random.truncated_normal([2], seed=8),
        tf.cast(i, tf.float32) + tf.random.uniform([], maxval=0.5, seed=11),
    )


RANDOM: dict[str, Program] = {
    "numbers": lambda tf, _: tf.data.Dataset.range(70).map(lambda i: numbers(tf, i)),
    "numbers in batches": lambda tf, _: (
        tf.data.Dataset.range(70).map(lambda i: numbers(tf, i)).batch(16)
    ),
    "numbers, shuffled": lambda tf, _: (
        tf.data.Dataset.range(30).map(lambda i: numbers(tf, i)).shuffle(9, seed=2).batch(7)
    ),
    "numbers, repeated": lambda tf, _: (
        tf.data.Dataset.range(5).map(lambda i: (i, tf.random.uniform([], seed=2))).repeat(3)
    ),
    "several changes": each(twice),
    "one after the other": lambda tf, _: (
        images(tf).map(tf.image.random_flip_left_right).map(lambda p: twice(tf, p)).batch(2)
    ),
    "flips of batches": lambda tf, _: (
        images(tf).batch(3, drop_remainder=True).map(tf.image.random_flip_left_right)
    ),
    "hue": each(lambda tf, p: tf.image.random_hue(p, 0.4)),
    "saturation": each(lambda tf, p: tf.image.random_saturation(p, 0.3, 2.5, seed=1)),
    "whole pixels": each(lambda tf, p: tf.image.random_brightness(p, 0.4), np.uint8),
    "turns": each(
        lambda tf, p: tf.image.rot90(p[:8, :8], tf.random.uniform([], 0, 4, tf.int32, seed=6))
    ),
    "without a state": lambda tf, _: tf.data.Dataset.zip(
        (images(tf), tf.data.Dataset.counter())
    ).map(lambda p, i: stateless(tf, p, tf.stack([i, i + 1]))),
    "counted": lambda tf, _: tf.data.Dataset.zip(
        (tf.data.Dataset.range(3), tf.data.Dataset.counter(5, 2), tf.data.Dataset.random(seed=4))
    ),
}


def stateless(tf: Any, image: Any, seed: Any) -> Any:
    ops = tf.image
    changed = ops.stateless_random_flip_left_right(image, seed)
    changed = ops.stateless_random_brightness(changed, 0.3, seed)
    changed = ops.stateless_random_contrast(changed, 0.5, 1.5, seed)
    changed = ops.stateless_random_crop(changed, [4, 4, 3], seed)
    return changed, tf.random.stateless_uniform([3], seed, 0, 50, tf.int32)


def resized(size: tuple[int, int], dtype: Any = np.float32, **how: Any) -> Program:
    return each(lambda tf, image: tf.image.resize(image, size, **how), dtype)


SIZES: dict[str, Program] = {
    f"{method}{' antialiased' * antialias} to {size}": resized(
        size, method=method, antialias=antialias
    )
    for method in (
        "bilinear",
        "nearest",
        "bicubic",
        "area",
        "lanczos3",
        "lanczos5",
        "gaussian",
        "mitchellcubic",
    )
    for antialias in (False, True)
    for size in ((3, 4), (13, 20), (8, 9))
}
SIZES |= {
    "whole pixels": resized((5, 5), np.uint8),
    "whole pixels, nearest": resized((5, 5), np.uint8, method="nearest"),
    "the same form": resized((6, 6), preserve_aspect_ratio=True),
    "the same form, larger": resized((30, 20), preserve_aspect_ratio=True),
    "with zeros around": each(lambda tf, p: tf.image.resize_with_pad(p, 5, 11)),
    "with zeros beside": each(
        lambda tf, p: tf.image.resize_with_pad(p, 20, 12, method="nearest"), np.uint8
    ),
    "central crop": each(lambda tf, p: tf.image.central_crop(p, 0.5)),
}

COLOURS: dict[str, Program] = {
    "hue": each(lambda tf, p: tf.image.adjust_hue(p, 0.2)),
    "saturation": each(lambda tf, p: tf.image.adjust_saturation(p, 1.7)),
    "whole saturation": each(lambda tf, p: tf.image.adjust_saturation(p, 0.4), np.uint8),
    "gamma": each(lambda tf, p: tf.image.adjust_gamma(p, 0.5, 0.9)),
    "hsv and back": each(lambda tf, p: tf.image.hsv_to_rgb(tf.image.rgb_to_hsv(p))),
    "hsv": each(lambda tf, p: tf.image.rgb_to_hsv(p)),
}

PROGRAMS = {
    f"{kind}: {name}": program
    for kind, programs in (("random", RANDOM), ("resize", SIZES), ("colour", COLOURS))
    for name, program in programs.items()
}
