# SPDX-License-Identifier: Apache-2.0
"""Input pipelines as published programs have them, for ``programs.py``.

Each is written once, for TensorFlow and for the drop-in modules, and takes the module to use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from program_files import Files

AUTOTUNE = -1
MEANS = [0.485, 0.456, 0.406]
Program = tuple[str, bool, Callable[[Any, Files], Any]]  # version, whether by chance, program


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


def letterbox(tf: Any, files: Files) -> Any:
    def parse(record: Any) -> Any:
        data, label = classified(tf, record)
        image = tf.cast(tf.image.decode_jpeg(data, 3), tf.float32)
        size = tf.cast(tf.shape(image)[:2], tf.float32)
        size = tf.cast(tf.round(size * (224.0 / tf.reduce_max(size))), tf.int32)
        image = tf.image.resize(image, size) / 255.0
        before = (224 - size) // 2
        after = 224 - size - before
        sides = tf.stack([before, after], 1)
        image = tf.pad(image, tf.concat([sides, [[0, 0]]], 0), constant_values=0.5)
        return tf.ensure_shape(image, [224, 224, 3]), label

    return tf.data.TFRecordDataset(files["photos"]).map(parse, AUTOTUNE).batch(32)


def rays(tf: Any, files: Files) -> Any:
    """NeRF's rays: an origin, a direction and a colour for each pixel of all views."""

    def parse(record: Any) -> Any:
        found = tf.io.parse_single_example(
            record,
            {
                "pose": tf.io.FixedLenFeature([3, 4], tf.float32),
                "image": tf.io.FixedLenFeature([], tf.string),
            },
        )
        pose, focal = found["pose"], 35.0
        steps = tf.range(40, dtype=tf.float32)
        x, y = tf.meshgrid(steps, steps, indexing="xy")
        seen = tf.stack([(x - 20.0) / focal, (20.0 - y) / focal, -tf.ones_like(x)], -1)
        turned = tf.reduce_sum(seen[..., tf.newaxis, :] * pose[:, :3], -1)
        origins = tf.broadcast_to(pose[:, 3], tf.shape(turned))
        pixels = tf.reshape(tf.io.decode_raw(found["image"], tf.uint8), [40, 40, 3])
        colours = tf.image.convert_image_dtype(pixels, tf.float32)
        return tuple(tf.reshape(each, [-1, 3]) for each in (origins, turned, colours))

    def sample(origins: Any, turned: Any, colours: Any) -> Any:
        depths = tf.linspace(2.0, 6.0, 32)
        points = origins[:, tf.newaxis] + turned[:, tf.newaxis] * depths[:, tf.newaxis]
        waves = [tf.sin(2.0**n * points) for n in range(4)]
        waves += [tf.cos(2.0**n * points) for n in range(4)]
        return tf.concat([points, *waves], -1), colours

    dataset = tf.data.TFRecordDataset(files["views"]).map(parse, AUTOTUNE).unbatch()
    return dataset.batch(1024).map(sample, AUTOTUNE)


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


def faded(tf: Any, files: Files) -> Any:
    """Images whose size is in the record, faded into those of half the size, as StyleGAN's."""

    def parse(record: Any) -> Any:
        kinds = {
            "image": tf.io.FixedLenFeature([], tf.string),
            "size": tf.io.FixedLenFeature([], tf.int64),
        }
        found = tf.io.parse_single_example(record, kinds)
        size, half = found["size"], found["size"] // 2
        pixels = tf.io.decode_raw(found["image"], tf.uint8)
        image = tf.cast(tf.reshape(pixels, tf.stack([size, size, 3])), tf.float32) / 127.5 - 1.0
        coarse = tf.reshape(image, tf.stack([half, 2, half, 2, 3]))
        coarse = tf.tile(tf.reduce_mean(coarse, axis=[1, 3], keepdims=True), [1, 2, 1, 2, 1])
        return image + (tf.reshape(coarse, tf.shape(image)) - image) * 0.3

    return tf.data.TFRecordDataset(files["small"]).map(parse, AUTOTUNE).batch(128)


# Text and tables.


def pair(tf: Any, record: Any) -> tuple[Any, Any]:
    kinds = {"inputs": tf.io.VarLenFeature(tf.int64), "targets": tf.io.VarLenFeature(tf.int64)}
    found = tf.io.parse_single_example(record, kinds)
    return tf.sparse.to_dense(found["inputs"]), tf.sparse.to_dense(found["targets"])


def translation(tf: Any, files: Files) -> Any:
    dataset = tf.data.TFRecordDataset(files["texts"]).map(lambda r: pair(tf, r), AUTOTUNE)
    dataset = dataset.filter(lambda x, y: tf.logical_and(tf.size(x) <= 50, tf.size(y) <= 50))
    return dataset.padded_batch(64, ([None], [None]))


def padded_texts(tf: Any, files: Files) -> Any:
    def padded(tokens: Any) -> Any:
        tokens = tf.concat([tokens[:47], [1]], 0)
        count = tf.shape(tokens)[0]
        tokens = tf.ensure_shape(tf.pad(tokens, [[0, 48 - count]]), [48])
        return tokens, tf.cast(tf.not_equal(tokens, 0), tf.float32)

    def change(x: Any, y: Any) -> Any:
        return (*padded(x), *padded(y))

    dataset = tf.data.TFRecordDataset(files["texts"]).map(lambda r: pair(tf, r), AUTOTUNE)
    return dataset.map(change, AUTOTUNE).batch(64)


def schemas(tf: Any, files: Files) -> Any:
    """Mark a name and a pronoun in a text, as T5 does, with a pattern for each text."""
    kinds = {
        **dict.fromkeys(("text", "span1_text", "span2_text"), tf.string),
        **dict.fromkeys(("span1_index", "span2_index", "label"), tf.int64),
    }

    def marked(text: Any, words: Any, place: Any, mark: str) -> Any:
        pattern = tf.strings.regex_replace(
            r"^((?:\S+ ){PLACE})(WORDS)", "PLACE", tf.as_string(place)
        )
        pattern = tf.strings.regex_replace(pattern, "WORDS", words)
        return tf.strings.regex_replace(text, pattern, rf"\1{mark} \2 {mark}")

    def parse(record: Any) -> Any:
        features = {name: tf.io.FixedLenFeature([], kind) for name, kind in kinds.items()}
        found = tf.io.parse_single_example(record, features)
        one, other = found["span1_index"], found["span2_index"]
        text = marked(found["text"], found["span1_text"], one, "*")
        other += 2 * tf.cast(one < other, tf.int64)  # two words were added before it
        text = marked(text, found["span2_text"], other, "#")
        answer = tf.where(tf.equal(found["label"], 1), "True", "False")
        return tf.strings.join(["wsc: ", text]), answer

    return tf.data.TFRecordDataset(files["schemas"]).map(parse, AUTOTUNE).batch(64)


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


def features_of_frames(tf: Any, record: Any) -> tuple[Any, Any]:
    context, lists = tf.io.parse_single_sequence_example(
        record,
        {"labels": tf.io.VarLenFeature(tf.int64)},
        {"rgb": tf.io.FixedLenSequenceFeature([], tf.string)},
    )
    found = tf.cast(tf.io.decode_raw(lists["rgb"], tf.uint8), tf.float32)
    found = tf.reshape(found, [-1, 1024]) * (4.0 / 255.0) + (4.0 / 512.0 - 2.0)
    return found, tf.sparse.to_dense(context["labels"])


def frames(tf: Any, files: Files) -> Any:
    dataset = tf.data.TFRecordDataset(files["videos"])
    dataset = dataset.map(lambda r: features_of_frames(tf, r), AUTOTUNE)
    return dataset.padded_batch(16, ([30, 1024], [None]))


def padded_frames(tf: Any, files: Files) -> Any:
    def parse(record: Any) -> Any:
        found, labels = features_of_frames(tf, record)
        count = tf.minimum(tf.shape(found)[0], 30)
        found = tf.pad(found[:30], [[0, 30 - count], [0, 0]])
        return tf.ensure_shape(found, [30, 1024]), count, tf.reduce_max(labels)

    return tf.data.TFRecordDataset(files["videos"]).map(parse, AUTOTUNE).batch(16)


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
    "photographs, tf.pad": ("2", False, letterbox),
    "NeRF, rays": ("2", False, rays),
    "CIFAR, evaluation": ("2", False, cifar_eval),
    "CIFAR, training": ("2", True, cifar_train),
    "StyleGAN, faded images": ("2", False, faded),
    "translation, padded": ("2", False, translation),
    "translation, tf.pad": ("2", False, padded_texts),
    "Winograd schemas, patterns": ("2", False, schemas),
    "translation, in buckets": ("2", False, bucketed),
    "language model, packed": ("2", False, language_model),
    "BERT, pretraining": ("2", False, pretraining),
    "translation, by windows": ("2", False, windows),
    "YouTube-8M, frames": ("2", False, frames),
    "YouTube-8M, tf.pad": ("2", False, padded_frames),
    "census, lines of text": ("2", False, census),
    "table, one-hot": ("2", False, tabular),
    "generator": ("2", False, generated),
    "graph: tf.data, CIFAR": ("1", False, graph_data),
    "graph: tf.data, photographs": ("1", False, graph_photos),
    "graph: tf.data, boxes": ("1", False, graph_boxes),
    "graph: queues, frames": ("1", False, queue_frames),
    "graph: queues, photographs": ("1", False, queue_photos),
}
