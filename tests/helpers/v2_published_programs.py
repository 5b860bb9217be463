# SPDX-License-Identifier: Apache-2.0
"""Input programs of texts, sounds and tables in the style of published ones."""

from __future__ import annotations

import functools
import json
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from v2_programs import Program


def feature(tf: Any, value: Any) -> Any:
    if isinstance(value, (bytes, str)):
        value = [value]
    if not isinstance(value, list):
        value = np.ravel(value).tolist()
    items = [v.encode() if isinstance(v, str) else v for v in value]
    if items and isinstance(items[0], bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=items))
    if items and isinstance(items[0], float):
        return tf.train.Feature(float_list=tf.train.FloatList(value=items))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=items))


def written(tf: Any, path: str, name: str, rows: Iterable[dict[str, Any]], **how: Any) -> str:
    """A file of Examples, which the library under test has written."""
    file = str(Path(path).with_name(f"{tf.__name__}-{name}.tfrecord"))
    with tf.io.TFRecordWriter(file, **how) as writer:
        for row in rows:
            made = {key: feature(tf, value) for key, value in row.items()}
            example = tf.train.Example(features=tf.train.Features(feature=made))
            writer.write(example.SerializeToString())
    return file


def photos_of(count: int = 6, seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(12, 30, (count, 2))
    return [rng.integers(0, 256, (h, w, 3), dtype=np.uint8) for h, w in sizes]


def pngs_of(tf: Any, count: int = 6) -> list[bytes]:
    return [tf.io.encode_png(photo).numpy() for photo in photos_of(count)]


def masked_language_model(tf: Any, path: str) -> Any:
    """Features of BERT's pretraining, all of a fixed length, with the types that TPUs have."""
    rng = np.random.default_rng(1)
    rows = [
        {
            "input_ids": rng.integers(1, 99, 16),
            "input_mask": [1] * 12 + [0] * 4,
            "segment_ids": [0] * 8 + [1] * 8,
            "masked_lm_positions": rng.integers(0, 12, 3),
            "masked_lm_ids": rng.integers(1, 99, 3),
            "masked_lm_weights": [1.0, 1.0, 0.0],
            "next_sentence_labels": [i % 2],
        }
        for i in range(10)
    ]
    files = [written(tf, path, f"mlm{n}", rows[n::2]) for n in range(2)]
    ints = functools.partial(tf.io.FixedLenFeature, dtype=tf.int64)
    features = {
        "input_ids": ints([16]),
        "input_mask": ints([16]),
        "segment_ids": ints([16]),
        "masked_lm_positions": ints([3]),
        "masked_lm_ids": ints([3]),
        "masked_lm_weights": tf.io.FixedLenFeature([3], tf.float32),
        "next_sentence_labels": ints([1]),
    }

    def decode(record: Any) -> Any:
        example = tf.io.parse_single_example(record, features)
        for name in list(example):
            if example[name].dtype == tf.int64:
                example[name] = tf.cast(example[name], tf.int32)
        return example

    d = tf.data.Dataset.from_tensor_slices(tf.constant(files))
    d = d.interleave(tf.data.TFRecordDataset, cycle_length=2, num_parallel_calls=2)
    d = d.shuffle(buffer_size=5, seed=2)
    return d.map(decode, num_parallel_calls=2).batch(4, drop_remainder=True).repeat(2)


def dynamic_masking(tf: Any, path: str) -> Any:
    """ELECTRA's and RoBERTa's masking, with draws for each sequence."""
    ids = np.random.default_rng(2).integers(5, 90, (7, 12)).astype(np.int32)

    def mask(tokens: Any) -> Any:
        special = tf.reduce_any(tf.equal(tokens[:, None], tf.constant([5, 6])[None, :]), axis=1)
        drawn = tf.where(special, 1.0, tf.random.uniform([12], seed=3))
        chosen = tf.argsort(drawn)[:3]
        hidden = tf.tensor_scatter_nd_update(tokens, chosen[:, None], tf.fill([3], 103))
        weights = tf.scatter_nd(chosen[:, None], tf.ones([3]), [12])
        return {"tokens": hidden, "at": tf.sort(chosen), "weights": weights}

    return tf.data.Dataset.from_tensor_slices(ids).map(mask).batch(3)


def packed_and_shifted(tf: Any, path: str) -> Any:
    """Texts of a language model: split, looked up, joined into windows, and shifted by one."""
    texts = ["the cat sat", "on the mat the cat", "sat", "a dog on a mat sat down"]
    words = ["the", "cat", "sat", "on", "mat", "a"]
    keys = tf.lookup.KeyValueTensorInitializer(words, list(range(6)), tf.string, tf.int64)
    table = tf.lookup.StaticVocabularyTable(keys, num_oov_buckets=3)
    d = tf.data.Dataset.from_tensor_slices(texts)
    d = d.map(lambda s: table.lookup(tf.strings.split(tf.strings.lower(s))))
    d = d.map(lambda ids: tf.concat([ids, [9]], 0)).unbatch().batch(6, drop_remainder=True)
    return d.map(lambda x: (x[:-1], x[1:]), num_parallel_calls=tf.data.AUTOTUNE).batch(2)


def span_corruption(tf: Any, path: str) -> Any:
    """T5's preprocessors: keys renamed, chunks of random begin, noise with seeds of their own."""
    d = tf.data.Dataset.range(1, 9).map(lambda n: {"text": tf.range(n * 3), "id": n})
    d = d.map(lambda x: {"targets": tf.cast(x["text"], tf.int32), "id": x["id"]})

    def cut(x: Any) -> Any:
        tokens = x["targets"]
        seeds = tf.random.experimental.stateless_split((x["id"], 7), 2)
        most = tf.maximum(tf.size(tokens) - 5, 1)
        begin = tf.random.stateless_uniform([], seeds[0], maxval=most, dtype=tf.int32, minval=0)
        part = tokens[begin : begin + 5]
        noise = tf.random.stateless_uniform([tf.size(part)], seeds[1]) < 0.3
        return {
            "inputs": tf.where(noise, 99, part),
            "targets": tf.boolean_mask(part, noise),
            "begin": begin,
        }

    return d.map(cut, num_parallel_calls=2).padded_batch(
        4, padded_shapes={"inputs": [6], "targets": [None], "begin": []}
    )


def reading_comprehension(tf: Any, path: str) -> Any:
    """Answers of SQuAD: ragged features, the first of them, and texts as they are."""
    rows = [
        {"q": f"question {i}", "answers": [f"a{k}" for k in range(1 + i % 3)], "begins": range(i)}
        for i in range(7)
    ]
    file = written(tf, path, "squad", rows)
    features = {
        "q": tf.io.FixedLenFeature([], tf.string),
        "answers": tf.io.RaggedFeature(tf.string),
        "begins": tf.io.RaggedFeature(tf.int64),
    }
    d = tf.data.TFRecordDataset(file).batch(3)
    d = d.map(lambda r: tf.io.parse_example(r, features))
    return d.map(
        lambda x: (
            x["q"],
            x["answers"].to_tensor(""),
            x["begins"].row_lengths(),
            tf.reduce_sum(x["begins"], axis=1),
        )
    )


def sentence_pairs(tf: Any, path: str) -> Any:
    """Translation: lines of two files, cleaned by patterns, in buckets of like lengths."""
    folder = Path(path).parent
    left = [f"Hello, world number {'x ' * (i % 5)}{i}!" for i in range(12)]
    right = [f"¡Hola, número {i} del mundo! {'y ' * (i % 3)}" for i in range(12)]
    for name, lines in (("l.txt", left), ("r.txt", right)):
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")

    def clean(text: Any) -> Any:
        text = tf.strings.lower(text, encoding="utf-8")
        text = tf.strings.regex_replace(text, r"[^ \p{Ll}\d.?!,¿]", "")
        text = tf.strings.regex_replace(text, r"[.?!,¿]", r" \0 ")
        return tf.strings.join(["[START]", tf.strings.strip(text), "[END]"], separator=" ")

    sides = [tf.data.TextLineDataset(str(folder / name)).map(clean) for name in ("l.txt", "r.txt")]
    d = tf.data.Dataset.zip(tuple(sides))
    d = d.map(lambda a, b: (tf.strings.split(a), tf.strings.split(b)))
    d = d.filter(lambda a, b: tf.logical_and(tf.size(a) <= 12, tf.size(b) <= 12))
    return d.bucket_by_sequence_length(
        lambda a, b: tf.maximum(tf.shape(a)[0], tf.shape(b)[0]),
        bucket_boundaries=[8, 10],
        bucket_batch_sizes=[4, 2, 2],
        padded_shapes=([None], [None]),
    )


def sound_windows(tf: Any, path: str) -> Any:
    """WaveNet's and keras's: samples of 16 bits, cut into windows, with a power of each."""
    rng = np.random.default_rng(5)
    rows = [
        {"audio": rng.integers(-999, 999, 50 + 7 * i).astype(np.int16).tobytes(), "speaker": [i]}
        for i in range(4)
    ]
    file = written(tf, path, "sound", rows, options="GZIP")
    features = {
        "audio": tf.io.FixedLenFeature([], tf.string),
        "speaker": tf.io.FixedLenFeature([], tf.int64),
    }

    def windows(record: Any) -> Any:
        x = tf.io.parse_single_example(record, features)
        audio = tf.cast(tf.io.decode_raw(x["audio"], tf.int16), tf.float32) / 32768
        count = (tf.shape(audio)[0] - 16) // 8 + 1
        at = tf.range(count)[:, None] * 8 + tf.range(16)[None, :]
        frames = tf.gather(audio, at)
        power = tf.sqrt(tf.reduce_mean(tf.square(frames), axis=1, keepdims=True))
        return tf.data.Dataset.from_tensor_slices(
            (frames * 100, power * 100, tf.repeat(x["speaker"], count))
        )

    d = tf.data.TFRecordDataset(file, compression_type="GZIP")
    return d.interleave(windows, cycle_length=2, block_length=3).batch(5)


def video_frames(tf: Any, path: str) -> Any:
    """YouTube-8M's frames and robots' episodes: lists of features, a fixed number of frames."""
    rng = np.random.default_rng(6)
    file = str(Path(path).with_name(f"{tf.__name__}-video.tfrecord"))
    with tf.io.TFRecordWriter(file) as writer:
        for i in range(5):
            frames = [rng.integers(0, 256, 6, dtype=np.uint8).tobytes() for _ in range(3 + i)]
            lists = {"rgb": tf.train.FeatureList(feature=[feature(tf, f) for f in frames])}
            context = {
                "id": feature(tf, f"v{i}"),
                "labels": feature(tf, list(range(i % 3)) or []),
            }
            message = tf.train.SequenceExample(
                context=tf.train.Features(feature=context),
                feature_lists=tf.train.FeatureLists(feature_list=lists),
            )
            writer.write(message.SerializeToString())

    def parse(record: Any) -> Any:
        context, lists = tf.io.parse_single_sequence_example(
            record,
            context_features={
                "id": tf.io.FixedLenFeature([], tf.string),
                "labels": tf.io.VarLenFeature(tf.int64),
            },
            sequence_features={"rgb": tf.io.FixedLenSequenceFeature([], tf.string)},
        )
        frames = tf.reshape(tf.cast(tf.io.decode_raw(lists["rgb"], tf.uint8), tf.float32), [-1, 6])
        count = tf.minimum(tf.shape(frames)[0], 5)
        frames = tf.pad(frames[:5], [[0, 5 - count], [0, 0]])
        labels = tf.sparse.to_dense(context["labels"])
        marks = tf.reduce_sum(tf.one_hot(labels, 3), axis=0)
        return context["id"], frames * (4.0 / 255) - 2.0, marks, count

    return tf.data.TFRecordDataset(file).map(parse).batch(2)


def frames_of_a_number(tf: Any, path: str) -> Any:
    """Quantized frames, of which so many are kept or added; large enough to be made in place."""
    rng = np.random.default_rng(3)
    videos = [[rng.bytes(n * width) for width in (1024, 128)] for n in (7, 60, 90)]

    def fitted(frames: Any, most: int = 60) -> Any:
        n, width = tf.unstack(tf.shape(frames))
        kept = tf.slice(frames, [0, 0], [tf.minimum(n, most), width])
        added = tf.fill(tf.stack([tf.maximum(most - n, 0), width]), tf.cast(0, frames.dtype))
        whole = tf.concat([kept, added], 0)
        whole.set_shape([most, frames.shape[1]])
        return whole

    def one(video: Any) -> Any:
        parts = []
        for number, width in enumerate((1024, 128)):
            frames = tf.cast(tf.io.decode_raw(video[number], tf.uint8), tf.float32)
            frames = tf.reshape(frames, [-1, width])
            parts.append(fitted(frames * (4.0 / 255.0) + (4.0 / 512.0 - 2.0)))
        return tf.concat(parts, 1), tf.minimum(tf.shape(frames)[0], 60)

    return tf.data.Dataset.from_tensor_slices(videos).map(one).batch(2)


def points_of_a_scene(tf: Any, path: str) -> Any:
    """Waymo's and AlphaFold's: tensors as messages, compressed bytes, points by segment."""
    rng = np.random.default_rng(7)
    rows = []
    for i in range(4):
        points = rng.random((5 + i, 3)).astype(np.float32)
        rows.append(
            {
                "points": tf.io.serialize_tensor(points).numpy(),
                "range": zlib.compress(rng.integers(0, 9, 12, dtype=np.int32).tobytes()),
                "box": np.sort(rng.integers(0, 3, 5 + i)),
            }
        )
    file = written(tf, path, "scene", rows)
    features = {
        "points": tf.io.FixedLenFeature([], tf.string),
        "range": tf.io.FixedLenFeature([], tf.string),
        "box": tf.io.VarLenFeature(tf.int64),
    }

    def parse(record: Any) -> Any:
        x = tf.io.parse_single_example(record, features)
        points = tf.ensure_shape(tf.io.parse_tensor(x["points"], tf.float32), [None, 3])
        distances = tf.io.decode_raw(tf.io.decode_compressed(x["range"], "ZLIB"), tf.int32)
        box = tf.sparse.to_dense(x["box"])
        sums = tf.math.unsorted_segment_sum(points, box, 3)
        length = tf.norm(points - tf.reduce_mean(points, 0), axis=1)
        far = tf.argsort(length, direction="DESCENDING")[:2]
        return tf.gather(points, far), tf.reshape(distances, [3, 4]), sums, tf.reduce_max(length)

    return tf.data.TFRecordDataset(file).map(parse).batch(2)


def tables_with_hashes(tf: Any, path: str) -> Any:
    """Wide and deep: lines of commas, hashed and crossed columns, numbers in classes."""
    lines = [f"{20 + i},{'ab'[i % 2]}x,{i * 1.5},{'' if i % 3 else i}" for i in range(9)]

    def parse(line: Any) -> Any:
        age, work, hours, rest = tf.io.decode_csv(line, [[0], [""], [0.0], [7]])
        crossed = tf.strings.join([work, tf.strings.as_string(age)], "_X_")
        return {
            "age": tf.searchsorted([22, 25, 27], tf.reshape(age, [-1])),
            "work": tf.strings.to_hash_bucket_fast(work, 10),
            "cross": tf.strings.to_hash_bucket_fast(crossed, 1000),
            "hours": tf.math.log1p(hours),
        }, tf.equal(rest, 7)

    d = tf.data.Dataset.from_tensor_slices(lines).batch(4).map(parse)
    return d.map(lambda x, y: (x, tf.cast(y, tf.float32)))


def series(tf: Any, path: str) -> Any:
    """Windows of a series, normalized by what came before, with the future as the label."""
    values = np.sin(np.arange(30, dtype=np.float32)).reshape(15, 2) * 10
    d = tf.data.Dataset.from_tensor_slices(values)
    d = d.window(6, shift=3, drop_remainder=True)
    d = d.flat_map(lambda w: w.batch(6, drop_remainder=True))

    def label(window: Any) -> Any:
        past, future = window[:4], window[4:, 0]
        mean, deviation = tf.reduce_mean(past, 0), tf.math.reduce_std(past, 0)
        return (past - mean) / (deviation + 1e-3), (future - mean[0]) / 10

    return d.map(label).shuffle(3, seed=9).batch(2)


def members_of_archives(tf: Any, path: str) -> Any:
    """What a WebDataset has: pairs by a generator, JSON beside images, batches of each key."""
    pngs = pngs_of(tf)

    def samples() -> Any:
        for i, data in enumerate(pngs):
            yield {"__key__": f"s{i}", "png": data, "json": json.dumps({"label": i}).encode()}

    signature = {
        "__key__": tf.TensorSpec([], tf.string),
        "png": tf.TensorSpec([], tf.string),
        "json": tf.TensorSpec([], tf.string),
    }

    def decode(x: Any) -> Any:
        image = tf.image.resize_with_pad(tf.io.decode_png(x["png"], 3), 10, 10)
        number = tf.strings.regex_replace(x["json"], r".*: (\d+)\}", r"\1")
        return x["__key__"], image, tf.strings.to_number(number, tf.int32)

    d = tf.data.Dataset.from_generator(samples, output_signature=signature)
    return d.map(decode).shard(2, 1).batch(2)


def weighted_mixture(tf: Any, path: str) -> Any:
    """Several corpora by weight, labels in balance, and a bound on what a host reads."""
    parts = [tf.data.Dataset.range(10 * i, 10 * i + 6).repeat() for i in range(3)]
    mixed = tf.data.Dataset.sample_from_datasets(parts, [0.5, 0.3, 0.2], seed=11).take(20)
    picked = tf.data.Dataset.choose_from_datasets(
        [part.take(5) for part in parts],
        tf.data.Dataset.from_tensor_slices(np.array([0, 2, 1, 0, 1], np.int64)),
    )
    d = mixed.concatenate(picked).enumerate()
    return d.map(lambda i, x: {"step": i, "x": x, "chance": tf.random.uniform([], seed=3)}).batch(8)


PROGRAMS: dict[str, Program] = {
    function.__name__.replace("_", " "): function
    for function in (
        masked_language_model,
        dynamic_masking,
        packed_and_shifted,
        span_corruption,
        reading_comprehension,
        sentence_pairs,
        sound_windows,
        video_frames,
        frames_of_a_number,
        points_of_a_scene,
        tables_with_hashes,
        series,
        members_of_archives,
        weighted_mixture,
    )
}
