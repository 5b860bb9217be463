# SPDX-License-Identifier: Apache-2.0
"""Input programs of images in the style of published ones; `tf` is either library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from v2_programs import Program
from v2_published_programs import photos_of, pngs_of, written


def augmented_by_a_generator(tf: Any, path: str) -> Any:
    """The tutorial of data augmentation: seeds of a generator, and of a counter."""
    images = np.stack([photo[:12, :12] for photo in photos_of(5)])
    rng = tf.random.Generator.from_seed(123, alg="philox")

    def prepared(image: Any, label: Any) -> Any:
        return tf.image.resize(tf.cast(image, tf.float32), [10, 10]) / 255.0, label

    def augment(pair: Any, seed: Any) -> Any:
        image, label = pair
        image, label = prepared(image, label)
        image = tf.image.resize_with_crop_or_pad(image, 14, 14)
        new = tf.random.split(seed, num=1)[0, :]
        image = tf.image.stateless_random_crop(image, size=[10, 10, 3], seed=seed)
        image = tf.image.stateless_random_brightness(image, max_delta=0.5, seed=new)
        return tf.clip_by_value(image, 0, 1), label

    d = tf.data.Dataset.from_tensor_slices((images, np.arange(5)))
    counted = tf.data.Dataset.zip((d, tf.data.Dataset.zip((tf.data.Dataset.counter(),) * 2)))
    first = counted.map(lambda pair, seed: augment(pair, seed))

    def by_generator(image: Any, label: Any) -> Any:
        seed = rng.make_seeds(1)[:, 0]
        drawn = tf.random.stateless_uniform([], seed)  # of which a pass takes others
        return prepared(image, label)[0] + 0 * drawn, label

    return first.concatenate(d.map(by_generator)).batch(4)


def mixup_and_cutmix(tf: Any, path: str) -> Any:
    """Two datasets zipped, mixed by a beta-like draw, and a box of one in the other."""
    images = np.stack([photo[:12, :12] for photo in photos_of(8)]).astype(np.float32) / 255
    labels = np.eye(8, dtype=np.float32)
    d = tf.data.Dataset.from_tensor_slices((images, labels))
    both = tf.data.Dataset.zip((d.shuffle(8, seed=1), d.shuffle(8, seed=2)))

    def mix(one: Any, other: Any) -> Any:
        (a, p), (b, q) = one, other
        share = tf.random.uniform([], 0.2, 0.8, seed=5)
        x0 = tf.random.uniform([], 0, 8, tf.int32, seed=6)
        columns = tf.range(12)
        inside = tf.logical_and(columns >= x0, columns < x0 + 4)
        box = tf.cast(tf.logical_and(inside[:, None], inside[None, :]), tf.float32)[..., None]
        pasted = a * (1 - box) + b * box
        return share * pasted + (1 - share) * b, share * p + (1 - share) * q

    return both.map(mix).batch(3, drop_remainder=True)


def cutmix_with_an_if(tf: Any, path: str) -> Any:
    """keras's CutMix: a box of one image in the other, at least one pixel wide."""
    images = np.stack([photo[:12, :12] for photo in photos_of(12)]).astype(np.float32) / 255
    d = tf.data.Dataset.from_tensor_slices((images, np.eye(12, dtype=np.float32)))
    both = tf.data.Dataset.zip((d.shuffle(12, seed=1), d.shuffle(12, seed=2))).shuffle(5, seed=3)

    def mix(one: Any, other: Any) -> Any:
        (a, p), (b, q) = one, other
        gammas = [tf.random.gamma([1], [0.25], seed=seed) for seed in (7, 8)]
        share = (gammas[0] / (gammas[0] + gammas[1]))[0][0]
        cut = tf.cast(12 * tf.sqrt(1.0 - share), tf.int32)
        x, y = (tf.random.uniform((1,), 0, 12, tf.int32, seed=seed)[0] for seed in (5, 6))
        left, right = (tf.clip_by_value(x + cut // 2 * sign, 0, 12) for sign in (-1, 1))
        top, bottom = (tf.clip_by_value(y + cut // 2 * sign, 0, 12) for sign in (-1, 1))
        width, height = right - left, bottom - top
        if height == 0:
            height += 1
        if width == 0:
            width += 1
        left, top = tf.minimum(left, 11), tf.minimum(top, 11)
        box, hole = (
            tf.image.pad_to_bounding_box(
                tf.image.crop_to_bounding_box(image, top, left, height, width), top, left, 12, 12
            )
            for image in (b, a)
        )
        share = 1 - tf.cast(width * height, tf.float32) / 144
        return a - hole + box, share * p + (1 - share) * q

    return both.map(mix).batch(4)


def petals_on_tpu(tf: Any, path: str) -> Any:
    """Kaggle's notebooks: names with counts, options, labelled and not, unbatched for a look."""
    photos = [photo[:16, :16] for photo in photos_of(6)]
    photos = [np.pad(p, [(0, 16 - p.shape[0]), (0, 16 - p.shape[1]), (0, 0)]) for p in photos]
    rows = [
        {"image": tf.io.encode_jpeg(p, quality=95).numpy(), "class": [i], "id": f"id{i}"}
        for i, p in enumerate(photos)
    ]
    file = written(tf, path, "petals-6", rows)
    options = tf.data.Options()
    options.experimental_deterministic = True

    def decode(data: Any) -> Any:
        image = tf.image.decode_jpeg(data, channels=3)
        return tf.reshape(tf.cast(image, tf.float32) / 255.0, [16, 16, 3])

    def labelled(example: Any) -> Any:
        wanted = {
            "image": tf.io.FixedLenFeature([], tf.string),
            "class": tf.io.FixedLenFeature([], tf.int64),
        }
        found = tf.io.parse_single_example(example, wanted)
        return decode(found["image"]), tf.cast(found["class"], tf.int32)

    d = tf.data.TFRecordDataset([file], num_parallel_reads=1).with_options(options)
    d = d.map(labelled, num_parallel_calls=tf.data.AUTOTUNE)
    d = d.map(lambda image, label: (tf.image.random_flip_left_right(image, seed=1), label))
    d = d.repeat(2).shuffle(64, seed=3).batch(4).prefetch(tf.data.AUTOTUNE)
    return d.unbatch().map(lambda image, label: (tf.reduce_mean(image, [0, 1]), label)).batch(5)


def detection(tf: Any, path: str) -> Any:
    """YOLO's and RetinaNet's: boxes of one image padded to a number, and targets on a grid."""
    rng = np.random.default_rng(3)
    rows = []
    for data in pngs_of(tf):
        count = int(rng.integers(1, 4))
        low = rng.random((count, 2)) * 0.5
        high = low + 0.2 + rng.random((count, 2)) * 0.2
        rows.append(
            {
                "image/encoded": data,
                **{
                    f"image/object/bbox/{side}": box
                    for side, box in zip(
                        ("xmin", "ymin", "xmax", "ymax"), (*low.T, *high.T), strict=True
                    )
                },
                "image/object/class/text": [b"dog", b"cat", b"dog"][:count],
            }
        )
    file = written(tf, path, "detection", rows)
    keys = tf.lookup.KeyValueTensorInitializer(["cat", "dog"], [0, 1])
    table = tf.lookup.StaticHashTable(keys, -1)
    spans = tf.io.VarLenFeature(tf.float32)
    features = {
        "image/encoded": tf.io.FixedLenFeature([], tf.string),
        "image/object/class/text": tf.io.VarLenFeature(tf.string),
        **{f"image/object/bbox/{side}": spans for side in ("xmin", "ymin", "xmax", "ymax")},
    }

    def parse(record: Any) -> Any:
        x = tf.io.parse_single_example(record, features)
        image = tf.image.resize(tf.image.decode_png(x["image/encoded"], channels=3), (16, 16))
        names = tf.sparse.to_dense(x["image/object/class/text"], default_value="")
        labels = tf.cast(table.lookup(names), tf.float32)
        sides = [
            tf.sparse.to_dense(x[f"image/object/bbox/{side}"])
            for side in ("xmin", "ymin", "xmax", "ymax")
        ]
        boxes = tf.stack([*sides, labels], axis=1)
        return image, tf.pad(boxes, [[0, 5 - tf.shape(boxes)[0]], [0, 0]])

    def on_a_grid(image: Any, boxes: Any) -> Any:
        centre = (boxes[:, 0:2] + boxes[:, 2:4]) / 2
        cell = tf.cast(centre * 4, tf.int32)
        real = tf.cast(boxes[:, 2] > 0, tf.float32)
        target = tf.tensor_scatter_nd_add(tf.zeros([4, 4]), cell[:, ::-1], real)
        return image / 255, boxes, target

    return tf.data.TFRecordDataset(file).map(parse).map(on_a_grid).batch(3)


def anchors_and_boxes(tf: Any, path: str) -> Any:
    """RetinaNet's and Mask R-CNN's targets: how much each of many anchors has of each box."""
    draw = np.random.default_rng(2)
    low, boxes = (draw.random((count, 2), np.float32) * 0.8 for count in (12_000, 5 * 6))
    anchors = np.concatenate([low, low + draw.random(low.shape, np.float32) * 0.2], 1)
    rows = np.concatenate([boxes, boxes + 0.1], 1).reshape(5, 6, 4)
    rows[3, 2] = np.nan

    def targets(boxes: Any) -> Any:
        all_anchors = tf.constant(anchors)
        top, left, bottom, right = tf.split(all_anchors, 4, axis=1)
        tops, lefts, bottoms, rights = tf.unstack(tf.transpose(boxes))
        height = tf.maximum(0.0, tf.minimum(bottom, bottoms) - tf.maximum(top, tops))
        width = tf.maximum(0.0, tf.minimum(right, rights) - tf.maximum(left, lefts))
        both = height * width
        sizes = (bottom - top) * (right - left) + (bottoms - tops) * (rights - lefts)
        shared = tf.where(both > 0.0, both / (sizes - both), tf.zeros_like(both))
        best = tf.argmax(shared, axis=1, output_type=tf.int32)
        most = tf.reduce_max(shared, axis=1)
        found = tf.gather(boxes, best)
        return {
            "class": tf.where(most > 0.3, best, -tf.ones_like(best)),
            "offsets": tf.stack([found[:, i] - all_anchors[:, i] for i in range(4)], axis=1),
            "anchor": tf.argmax(shared, axis=0),
            "least": tf.reduce_min(shared, axis=0, keepdims=True),
            "any": tf.reduce_any(shared > 0.3, axis=1),
            "all": tf.reduce_all(shared > 0.3, axis=[0, 1]),
        }

    d = tf.data.Dataset.from_tensor_slices(rows)
    return d.map(targets, num_parallel_calls=2).batch(2)


def segmentation(tf: Any, path: str) -> Any:
    """DeepLab's: image and mask scaled, padded and cropped together by one draw."""
    masks = [(photo[:, :, :1] // 64).astype(np.uint8) for photo in photos_of()]
    rows = [
        {"image": data, "mask": tf.io.encode_png(mask).numpy(), "name": f"n{i}"}
        for i, (data, mask) in enumerate(zip(pngs_of(tf), masks, strict=True))
    ]
    file = written(tf, path, "voc", rows)
    features = {key: tf.io.FixedLenFeature([], tf.string) for key in ("image", "mask", "name")}

    def parse(record: Any) -> Any:
        x = tf.io.parse_single_example(record, features)
        image = tf.cast(tf.io.decode_png(x["image"], channels=3), tf.float32)
        label = tf.cast(tf.io.decode_png(x["mask"], channels=1), tf.int32)
        return image, label, x["name"]

    def scaled(image: Any, label: Any, name: Any) -> Any:
        scale = tf.random.uniform([], 0.5, 1.5, seed=4)
        size = tf.cast(tf.cast(tf.shape(image)[:2], tf.float32) * scale, tf.int32)
        image = tf.image.resize(image, size)
        label = tf.image.resize(label, size, method="nearest")
        missing = tf.maximum(20 - size, 0)
        edges = [[0, missing[0]], [0, missing[1]], [0, 0]]
        image = tf.pad(image - 127.5, edges) + 127.5
        label = tf.pad(label - 255, edges) + 255
        both = tf.concat([image, tf.cast(label, tf.float32)], 2)
        both = tf.image.random_crop(both, [20, 20, 4], seed=5)
        return both[..., :3], tf.cast(both[..., 3:], tf.int32), name

    return tf.data.TFRecordDataset(file).map(parse).map(scaled).batch(2)


def stylegan_pyramid(tf: Any, path: str) -> Any:
    """Images as raw bytes with their shapes, one file for each size, labels beside them."""
    rng = np.random.default_rng(4)
    images = rng.integers(0, 256, (5, 3, 8, 8), dtype=np.uint8)
    options = tf.io.TFRecordOptions(compression_type="")
    files = {}
    for level in (2, 3):
        step = 2 ** (3 - level)
        small = images[:, :, ::step, ::step]
        rows = [{"shape": x.shape, "data": x.tobytes()} for x in small]
        files[level] = written(tf, path, f"r{level:02d}", rows, options=options)

    def parse(record: Any) -> Any:
        features = {
            "shape": tf.io.FixedLenFeature([3], tf.int64),
            "data": tf.io.FixedLenFeature([], tf.string),
        }
        x = tf.io.parse_single_example(record, features)
        return tf.reshape(tf.io.decode_raw(x["data"], tf.uint8), x["shape"])

    def with_label(level: int) -> Any:
        d = tf.data.TFRecordDataset(files[level], compression_type="", buffer_size=1 << 16)
        d = d.map(parse, num_parallel_calls=2)
        labels = tf.data.Dataset.from_tensor_slices(np.eye(5, dtype=np.float32))
        d = tf.data.Dataset.zip((d, labels)).take(4).shuffle(3, seed=level).repeat(2)
        return d.prefetch(2).map(lambda x, y: (tf.cast(x, tf.float32) / 127.5 - 1, y))

    d = with_label(2).map(lambda x, y: (tf.repeat(tf.repeat(x, 2, axis=1), 2, axis=2), y))
    return d.concatenate(with_label(3)).batch(3)


def self_supervised_views(tf: Any, path: str) -> Any:
    """SimCLR's two views: a crop by a random box, colours in a random order, a random grey."""
    rows = [{"image": data} for data in pngs_of(tf)]
    file = written(tf, path, "views", rows)

    def view(image: Any) -> Any:
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            tf.shape(image),
            tf.zeros([1, 0, 4]),
            seed=8,
            area_range=[0.3, 1.0],
            max_attempts=20,
            use_image_if_no_bounding_boxes=True,
        )
        image = tf.image.resize(tf.slice(image, begin, size), [12, 12], "bicubic") / 255
        image = tf.image.random_brightness(image, 0.2, seed=1)
        image = tf.image.random_contrast(image, 0.8, 1.2, seed=2)
        grey = tf.tile(tf.image.rgb_to_grayscale(image), [1, 1, 3])
        return tf.where(tf.random.uniform([], seed=3) < 0.3, grey, image)

    def two(record: Any) -> Any:
        x = tf.io.parse_single_example(record, {"image": tf.io.FixedLenFeature([], tf.string)})
        image = tf.cast(tf.io.decode_image(x["image"], 3, expand_animations=False), tf.float32)
        image = tf.ensure_shape(image, [None, None, 3])
        return tf.concat([view(image), view(image)], axis=-1)

    return tf.data.TFRecordDataset(file).map(two).batch(4)


def from_folders(tf: Any, path: str) -> Any:
    """Files in folders of classes: names listed, cut into labels, read and decoded."""
    root = Path(path).parent / f"{tf.__name__}-folders"
    for i, data in enumerate(pngs_of(tf)):
        folder = root / f"class{i % 3}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{i}.png").write_bytes(data)
    names = np.array(sorted(each.name for each in root.iterdir()))

    def process(file: Any) -> Any:
        parts = tf.strings.split(file, "/")
        label = tf.argmax(parts[-2] == names)
        image = tf.io.decode_png(tf.io.read_file(file), channels=3)
        image = tf.image.convert_image_dtype(image, tf.float32)
        return tf.image.resize(image, [9, 11]), label, parts[-1]

    d = tf.data.Dataset.list_files(str(root / "*/*.png"), shuffle=False)
    held = d.take(2)
    return held.concatenate(d.skip(2).shuffle(10, seed=5)).map(process).cache().batch(3)


PROGRAMS: dict[str, Program] = {
    function.__name__.replace("_", " "): function
    for function in (
        augmented_by_a_generator,
        mixup_and_cutmix,
        cutmix_with_an_if,
        petals_on_tpu,
        detection,
        anchors_and_boxes,
        segmentation,
        stylegan_pyramid,
        self_supervised_views,
        from_folders,
    )
}
