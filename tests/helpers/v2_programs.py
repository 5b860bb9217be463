# SPDX-License-Identifier: Apache-2.0
"""Programs for TensorFlow and ``fastrec.compat.v2``, which is `tf` in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import fastrec

Program = Callable[[Any, str], Any]
ROWS = 37


def write(path: Path) -> str:
    """Records of many kinds of features."""
    rng = np.random.default_rng(0)
    with fastrec.Writer(path) as writer:
        for i in range(ROWS):
            writer.write(
                {
                    "image": rng.integers(0, 256, (4, 5, 3), dtype=np.uint8),
                    "height": 4,
                    "width": 5,
                    "label": i,
                    "x": rng.random(3, dtype=np.float32),
                    "tags": [b"t%d" % k for k in range(i % 4)],
                    "ids": list(range(i % 3)) or np.zeros(0, int),
                    "lengths": [1, 0, 2],
                    "many": [i, i + 1, i + 2],
                    "at": [2, 0],
                    "value": [0.5, 1.5],
                    "name": f"row {i}",
                }
            )
    return str(path)


def plain(value: Any) -> Any:
    """Something that can be compared, of a tensor of either."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if hasattr(value, "dense_shape"):
        return [plain(value.indices), plain(value.values), plain(value.dense_shape)]
    if hasattr(value, "row_splits"):
        return [value.to_list(), str(value.shape)]
    if hasattr(value, "numpy"):
        value = value.numpy()
    if isinstance(value, np.ndarray) and value.dtype == object and value.ndim:
        return [plain(each) for each in value]  # also of rows that differ in length
    if isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.kind == "f":
            return [str(value.dtype), np.round(value.astype(float), 3).tolist()]
        return [str(value.dtype), value.tolist()]
    return value


def alike(one: Any, other: Any) -> bool:
    """Whether results are the same, but for how their floating-point numbers were rounded."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= 2e-3 * max(1.0, abs(other))
    return bool(one == other)


def described(spec: Any) -> Any:
    if isinstance(spec, dict):
        return {key: described(each) for key, each in spec.items()}
    if isinstance(spec, tuple):
        return [described(each) for each in spec]
    if not hasattr(spec, "dtype"):
        return type(spec).__name__
    return [type(spec).__name__, str(spec.shape), spec.dtype.name]


def features(tf: Any) -> dict[str, Any]:
    return {
        "image": tf.io.FixedLenFeature([], tf.string),
        "label": tf.io.FixedLenFeature([], tf.int64),
        "x": tf.io.FixedLenFeature([3], tf.float32),
        "other": tf.io.FixedLenFeature([], tf.int64, default_value=-1),
    }


def varied(tf: Any) -> dict[str, Any]:
    return {
        "label": tf.io.FixedLenFeature([], tf.int64),
        "tags": tf.io.VarLenFeature(tf.string),
        "ids": tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True),
        "sparse": tf.io.SparseFeature("at", "value", tf.float32, size=4),
    }


def parsed(tf: Any, path: str) -> Any:
    def parse(record: Any) -> Any:
        found = tf.io.parse_single_example(record, features(tf))
        image = tf.reshape(tf.io.decode_raw(found["image"], tf.uint8), [4, 5, 3])
        return tf.cast(image, tf.float32) / 255.0, found["label"], found["other"], found["x"] * 2

    return tf.data.TFRecordDataset(path).map(parse, num_parallel_calls=tf.data.AUTOTUNE)


def sized(tf: Any, path: str) -> Any:
    def parse(record: Any) -> Any:
        found = tf.io.parse_single_example(
            record,
            {
                **features(tf),
                "height": tf.io.FixedLenFeature([], tf.int64),
                "width": tf.io.FixedLenFeature([], tf.int64),
            },
        )
        pixels = tf.io.decode_raw(found["image"], tf.uint8)
        image = tf.reshape(pixels, tf.stack([found["height"], found["width"], 3]))
        return {"image": image, "one": tf.one_hot(found["label"] % 3, 3)}

    return tf.data.TFRecordDataset([path]).map(parse)


def conditional(tf: Any, path: str) -> Any:
    def change(i: Any) -> Any:
        return tf.where(i % 2 == 0, i * 10, -i), tf.reduce_sum(tf.range(4)), tf.shape(i)

    return tf.data.Dataset.range(9).map(change)


def decided(tf: Any, i: Any) -> Any:
    if i % 3 == 0:
        found = i * 10
    elif i > 5:
        found = -i
    else:
        found = i + tf.constant(1, tf.int64)
    while found > 50:
        found = found - 20
    return found, tf.random.uniform([], seed=2)


def numbers(tf: Any, count: int = 12) -> Any:
    return tf.data.Dataset.range(count)


def sliced(tf: Any) -> Any:
    columns = {"a": np.arange(7, dtype=np.int32), "b": [b"x%d" % i for i in range(7)]}
    return tf.data.Dataset.from_tensor_slices((columns, np.arange(14.0).reshape(7, 2)))


def uneven(tf: Any) -> Any:
    return numbers(tf, 6).map(lambda i: tf.range(i)).padded_batch(4)


def vectors(tf: Any, path: str) -> Any:
    """Vectors that differ in length, as programs for text have them."""
    kinds = {
        "ids": tf.io.VarLenFeature(tf.int64),
        "tags": tf.io.VarLenFeature(tf.string),
        "label": tf.io.FixedLenFeature([], tf.int64),
    }

    def parse(record: Any) -> Any:
        found = tf.io.parse_single_example(record, kinds)
        ids, tags = tf.sparse.to_dense(found["ids"]), tf.sparse.to_dense(found["tags"])
        digits = tf.strings.to_number(tf.strings.as_string(found["label"]), tf.int32)
        return ids * 2 + 1, tags, digits, tf.size(ids) + tf.shape(tags)[0], ids[1:], tags[:2]

    return tf.data.TFRecordDataset(path).map(parse)


def by_length(tf: Any, path: str) -> Any:
    dataset = vectors(tf, path).map(lambda ids, tags, label, size, *_: (ids, tags, size))
    return dataset.bucket_by_sequence_length(lambda ids, tags, size: size, [2, 4], [5, 4, 3])


def by_key(tf: Any, path: str) -> Any:
    dataset = vectors(tf, path).map(lambda ids, tags, label, *_: (label, ids))
    return dataset.group_by_window(
        lambda label, ids: tf.cast(label % 3, tf.int64),
        lambda key, group: group.padded_batch(4),
        4,
    )


def generated(tf: Any, path: str) -> Any:
    def rows() -> Any:
        for number in range(11):
            yield np.full(3, number, np.float32), number

    kinds = (tf.TensorSpec([3], tf.float32), tf.TensorSpec([], tf.int32))
    dataset = tf.data.Dataset.from_generator(rows, output_signature=kinds)
    return dataset.map(lambda x, y: (x / 4.0, tf.one_hot(y, 3))).map(lambda x, y: (x, y, x[1:]))


def whole(tf: Any, path: str) -> Any:
    return (
        tf.data.TFRecordDataset(path)
        .batch(8)
        .map(lambda records: tf.io.parse_example(records, varied(tf)))
    )


PROGRAMS: dict[str, Program] = {
    "parsed": lambda tf, p: parsed(tf, p),
    "parsed and batched": lambda tf, p: parsed(tf, p).batch(8),
    "parsed, shuffled, batched": lambda tf, p: (
        parsed(tf, p).shuffle(11, seed=5).batch(8).prefetch(2)
    ),
    "shuffled, repeated": lambda tf, p: (
        parsed(tf, p).shuffle(11, 3).repeat(2).batch(8, drop_remainder=True)
    ),
    "repeated, shuffled": lambda tf, p: parsed(tf, p).repeat(2).shuffle(50, seed=9).batch(5),
    "sizes in the record": lambda tf, p: sized(tf, p).batch(4),
    "varied": lambda tf, p: tf.data.TFRecordDataset(p).map(
        lambda r: tf.io.parse_single_example(r, varied(tf))
    ),
    "batched, then parsed": whole,
    "sparse batches": lambda tf, p: (
        tf.data.TFRecordDataset(p)
        .map(lambda r: tf.io.parse_single_example(r, {"tags": tf.io.VarLenFeature(tf.string)}))
        .batch(5)
    ),
    "to dense": lambda tf, p: (
        tf.data.TFRecordDataset(p)
        .map(
            lambda r: tf.sparse.to_dense(
                tf.io.parse_single_example(r, {"tags": tf.io.VarLenFeature(tf.string)})["tags"]
            )
        )
        .padded_batch(5)
    ),
    "ragged rows": lambda tf, p: (
        tf.data.TFRecordDataset(p)
        .batch(6)
        .map(
            lambda r: tf.io.parse_example(
                r,
                {
                    "ids": tf.io.RaggedFeature(tf.int64),
                    "cut": tf.io.RaggedFeature(
                        tf.int64, "many", [tf.io.RaggedFeature.RowLengths("lengths")]
                    ),
                },
            )
        )
    ),
    "ragged to tensor": lambda tf, p: (
        tf.data.TFRecordDataset(p)
        .batch(6)
        .map(
            lambda r: tf.io.parse_example(r, {"ids": tf.io.RaggedFeature(tf.int64)})[
                "ids"
            ].to_tensor(-1)
        )
    ),
    "ragged batches": lambda tf, p: numbers(tf).map(lambda i: tf.range(i % 4)).ragged_batch(5),
    "reads in turns": lambda tf, p: tf.data.TFRecordDataset([p, p, p], num_parallel_reads=2).map(
        tf.strings.length
    ),
    "conditions": conditional,
    "decisions": lambda tf, p: numbers(tf).map(lambda i: decided(tf, i)).batch(5),
    "shard, skip, take": lambda tf, p: numbers(tf).shard(3, 1).skip(1).take(2),
    "take all": lambda tf, p: numbers(tf).take(-1).skip(20),
    "filter": lambda tf, p: numbers(tf).filter(lambda i: i % 3 == 1).map(lambda i: i * 2).batch(3),
    "filter records": lambda tf, p: (
        parsed(tf, p).filter(lambda image, label, *_: label % 5 == 0).batch(3)
    ),
    "enumerate": lambda tf, p: sliced(tf).enumerate(start=5).batch(2),
    "slices": lambda tf, p: sliced(tf).shuffle(4, seed=8).batch(3),
    "slices one by one": lambda tf, p: sliced(tf),
    "zip": lambda tf, p: tf.data.Dataset.zip((numbers(tf, 3), {"s": sliced(tf)})),
    "concatenate": lambda tf, p: numbers(tf, 3).concatenate(numbers(tf, 2)).repeat(2),
    "cache": lambda tf, p: parsed(tf, p).cache().repeat(2).batch(16),
    "padded": lambda tf, p: uneven(tf),
    "padded to a shape": lambda tf, p: (
        numbers(tf, 6)
        .map(lambda i: (tf.range(i), i))
        .padded_batch(4, ([7], []), (np.int64(-1), np.int64(0)))
    ),
    "unbatch": lambda tf, p: parsed(tf, p).batch(8).unbatch().take(10),
    "interleave": lambda tf, p: numbers(tf, 5).interleave(
        lambda i: tf.data.Dataset.range(i), cycle_length=3, block_length=2
    ),
    "interleave files": lambda tf, p: (
        tf.data.Dataset.from_tensor_slices([p, p, p])
        .interleave(tf.data.TFRecordDataset, cycle_length=2, num_parallel_calls=2)
        .map(tf.strings.length)
    ),
    "flat map": lambda tf, p: numbers(tf, 4).flat_map(
        lambda i: tf.data.Dataset.from_tensors(i).repeat(3)
    ),
    "window": lambda tf, p: (
        numbers(tf, 10).window(4, shift=3, drop_remainder=True).flat_map(lambda w: w.batch(4))
    ),
    "window stride": lambda tf, p: (
        numbers(tf, 10)
        .window(3, shift=1, stride=2, drop_remainder=True)
        .flat_map(lambda w: w.batch(3))
    ),
    "generator": lambda tf, p: tf.data.Dataset.from_generator(
        lambda: ((i, [i] * i) for i in range(4)),
        output_signature=(tf.TensorSpec((), tf.int64), tf.TensorSpec([None], tf.float32)),
    ),
    "lists": lambda tf, p: numbers(tf, 4).map(lambda i: [i, tf.range(i)]),
    "buckets": lambda tf, p: (
        numbers(tf, 30)
        .map(lambda i: (tf.range(i % 9), i))
        .bucket_by_sequence_length(lambda row, i: tf.shape(row)[0], [3, 5], [4, 2, 3])
    ),
    "buckets to their boundaries": lambda tf, p: (
        numbers(tf, 30)
        .map(lambda i: tf.range(i % 5))
        .bucket_by_sequence_length(
            lambda row: tf.shape(row)[0],
            [3, 6],
            [4, 2, 3],
            padding_values=np.int64(-1),
            pad_to_bucket_boundary=True,
            drop_remainder=True,
        )
    ),
    "groups": lambda tf, p: numbers(tf, 25).group_by_window(
        lambda i: i % 3, lambda key, group: group.map(lambda i: (key, i * 2)).batch(2), 4
    ),
    "unique": lambda tf, p: numbers(tf, 9).map(lambda i: i % 4).unique(),
    "mixed": lambda tf, p: tf.data.Dataset.sample_from_datasets(
        [numbers(tf, 40), numbers(tf, 40).map(lambda i: -i)], [0.7, 0.3], seed=5
    ),
    "mixed evenly": lambda tf, p: tf.data.Dataset.sample_from_datasets(
        [numbers(tf, 9), numbers(tf, 5)], seed=5, stop_on_empty_dataset=True
    ),
    "vectors, padded": lambda tf, p: vectors(tf, p).padded_batch(5),
    "vectors, some of them, padded to sizes": lambda tf, p: (
        vectors(tf, p)
        .filter(lambda ids, tags, label, size, *_: size != 2)
        .padded_batch(
            4,
            ([3], [None], [], [], [2], [3]),
            (np.int64(-1), b"-", np.int32(0), np.int32(0), np.int64(7), b""),
            drop_remainder=True,
        )
    ),
    "vectors by length": by_length,
    "vectors by key": by_key,
    "generated, in batches": lambda tf, p: generated(tf, p).batch(4),
    "generated, in padded batches": lambda tf, p: generated(tf, p).padded_batch(4),
    "nothing in elements": lambda tf, p: (
        numbers(tf, 7).map(lambda i: (i, None, {"a": i * 2, "b": None})).batch(3)
    ),
    "datasets in a dataset": lambda tf, p: tf.data.Dataset.from_tensor_slices(
        [numbers(tf, 3), numbers(tf, 5)]
    ).flat_map(lambda inner: inner.map(lambda i: i + 1)),
    "datasets in a batch": lambda tf, p: (
        numbers(tf, 5).map(tf.data.Dataset.range).batch(2).unbatch().flat_map(lambda inner: inner)
    ),
    "another size": lambda tf, p: parsed(tf, p).batch(8).rebatch(5),
    "other sizes": lambda tf, p: numbers(tf, 11).batch(4).rebatch([3, 0, 2]),
    "another distribution": lambda tf, p: numbers(tf, 300).rejection_resample(
        lambda i: tf.cast(i % 3, tf.int32), [0.7, 0.2, 0.1], [1 / 3, 1 / 3, 1 / 3], seed=4
    ),
    "another distribution of what is counted": lambda tf, p: numbers(tf, 300).rejection_resample(
        lambda i: tf.cast(i % 3, tf.int32), [0.5, 0.4, 0.1], seed=4
    ),
    "reduced by key": lambda tf, p: numbers(tf, 20).apply(
        tf.data.experimental.group_by_reducer(
            lambda i: i % 3,
            tf.data.experimental.Reducer(
                lambda key: (key, np.float32(0)),
                lambda state, i: (state[0] + i, state[1] + 0.5),
                lambda total, half: {"total": total, "half": half},
            ),
        )
    ),
    "as many as wanted": lambda tf, p: tf.data.Dataset.from_tensor_slices(
        {"a": [1, 2, 3], "b": (["x", "y", "z"], np.ones((3, 2)))}
    ).apply(tf.data.experimental.pad_to_cardinality(5)),
    "take while": lambda tf, p: numbers(tf).take_while(lambda i: i < 5),
    "text": lambda tf, p: tf.data.TFRecordDataset(p).map(
        lambda r: tf.strings.join(
            [
                tf.io.parse_single_example(r, {"name": tf.io.FixedLenFeature([], tf.string)})[
                    "name"
                ],
                "!",
            ]
        )
    ),
    "py function": lambda tf, p: numbers(tf, 5).map(
        lambda i: tf.py_function(lambda x: x.numpy() * 2, [i], tf.int64)
    ),
    "batch of batches": lambda tf, p: numbers(tf).batch(2).batch(3),
    "lines": lambda tf, p: tf.data.TextLineDataset(__file__).skip(1).take(5),
    "fixed length": lambda tf, p: tf.data.FixedLengthRecordDataset(
        p, 7, header_bytes=1, footer_bytes=_left(p)
    ),
    "make batches": lambda tf, p: tf.data.experimental.make_batched_features_dataset(
        p, 6, features(tf), label_key="label", num_epochs=2, shuffle=True, shuffle_seed=4
    ),
    "make batches in order": lambda tf, p: tf.data.experimental.make_batched_features_dataset(
        p, 6, features(tf), num_epochs=1, shuffle=False
    ),
}


def _left(path: str) -> int:
    return (Path(path).stat().st_size - 1) % 7


def results(tf: Any, program: Program, path: str) -> Any:
    tf.random.set_seed(1)
    dataset = program(tf, path)
    return [
        described(dataset.element_spec),
        int(dataset.cardinality()),
        [plain(element) for element in dataset],
        [plain(element) for element in dataset],  # shuffled anew
        as_numpy(dataset),
    ]


def as_numpy(dataset: Any) -> Any:
    if any(hasattr(part, "dense_shape") for element in dataset for part in parts(element)):
        return None  # TensorFlow cannot, of strings
    return [plain(element) for element in dataset.as_numpy_iterator()]


def parts(element: Any) -> list[Any]:
    if isinstance(element, dict):
        element = tuple(element.values())
    return list(element) if isinstance(element, tuple) else [element]
