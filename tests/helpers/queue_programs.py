# SPDX-License-Identifier: Apache-2.0
"""Programs of TensorFlow 1's days, each of which says what it got: for either library as `tf`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Program = Callable[[Any, Path], Any]
PROGRAMS: dict[str, Program] = {}


def program(function: Program) -> Program:
    """One of the programs."""
    PROGRAMS[function.__name__.replace("_", " ")] = function
    return function


def outcome(tf: Any, session: Any, fetch: Any, feed: Any = None) -> Any:
    """Value of a run, or the class of its error and the first line of its message."""
    try:
        value = session.run(fetch, feed)
    except tf.errors.OpError as error:
        lines = [line.strip() for line in error.message.splitlines()]
        noise = ("Graph execution error", "Detected at", "Node:", "File ", "[[", "Original stack")
        said = [line for line in lines if line and not line.startswith(noise)]
        said = [line for line in said if "{{node" not in line and "root error" not in line]
        text = re.sub(r"'_\d+_", "'_N_", said[0] if said else "")
        kind = next(k for k in type(error).__mro__ if hasattr(tf.errors, k.__name__))
        return kind.__name__ + ": " + re.sub(r"^[(]\d+[)] [A-Z_a-z ]+: ", "", text)
    return value


def drained(tf: Any, fetch: Any, most: int = 10**6) -> tuple[list[Any], Exception | None]:
    """All that a pipeline gives, and the error of its runners after which there is no more."""
    found: list[Any] = []
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        try:
            while len(found) < most:
                found.append(session.run(fetch))
        except tf.errors.OutOfRangeError:
            pass
        coord.request_stop()
        try:
            coord.join(threads)
        except tf.errors.OpError as error:
            return found, error
    return found, None


def until_the_end(tf: Any, fetch: Any, most: int = 10**6) -> list[Any]:
    """All that a pipeline gives, which no error ends."""
    found, error = drained(tf, fetch, most)
    if error is not None:
        raise error
    return found


@program
def four_runners_of_one_queue(tf: Any, folder: Path) -> Any:
    data = np.arange(4000, dtype=np.float64).reshape(1000, 4)
    target = np.arange(1000) % 2
    queue = tf.FIFOQueue(capacity=50, dtypes=[tf.float32, tf.int32], shapes=[[4], []])
    enqueue = queue.enqueue_many([data, target])
    sample = queue.dequeue()
    runner = tf.train.QueueRunner(queue, [enqueue] * 4)
    with tf.Session() as session:
        coord = tf.train.Coordinator()
        threads = runner.create_threads(session, coord=coord, start=True)
        rows = [session.run(sample) for _ in range(100)]
        coord.request_stop()
        coord.join(threads)
    return [bool(row[0] // 4 % 2 == label) for row, label in rows], rows[0][0].dtype.name


def _closing(tf: Any, queue: Any, session: Any, row: Any) -> list[Any]:
    steps = [
        *(queue.size(), queue.enqueue(row), queue.enqueue(row), queue.enqueue(row)),
        *(queue.size(), queue.is_closed(), queue.dequeue(), queue.dequeue_many(0)),
        *(queue.dequeue_up_to(0), queue.close(), queue.is_closed(), queue.close()),
        *(queue.enqueue(row), queue.dequeue_many(5), queue.size(), queue.dequeue_up_to(5)),
        *(queue.dequeue(), queue.dequeue_many(1), queue.dequeue_up_to(1)),
        *(queue.close(cancel_pending_enqueues=True), queue.size()),
    ]
    return [outcome(tf, session, step) for step in steps]


@program
def a_queue_is_filled_closed_and_emptied(tf: Any, folder: Path) -> Any:
    queues = [
        (tf.FIFOQueue(9, tf.int32, [[]]), 1),
        (tf.RandomShuffleQueue(9, 0, tf.int32, [[]], seed=4), 1),
        (tf.PaddingFIFOQueue(9, tf.string, [[None]]), [["a", "b"]]),
    ]
    with tf.Session() as session:
        return [_closing(tf, queue, session, row) for queue, row in queues]


@program
def a_queue_by_priority(tf: Any, folder: Path) -> Any:
    queue = tf.PriorityQueue(99, [tf.string], [[]])
    names = [str(i) for i in range(40)]
    put = queue.enqueue_many([[(7 * i) % 5 for i in range(40)], names])
    more = queue.enqueue_many([[2] * 10, names[:10]])
    fetches = [queue.dequeue(), queue.dequeue_many(7), queue.dequeue_many(20)]
    with tf.Session() as session:
        session.run(put)
        found = [session.run(fetch) for fetch in fetches]
        session.run(more)
        return [*found, session.run(queue.dequeue_many(22))]


@program
def seeded_shuffles_of_what_was_put_in(tf: Any, folder: Path) -> Any:
    found = []
    for graph_seed, seed, shared in [
        *((None, 7, None), (None, 0, None), (5, 7, None), (5, None, "name"), (-3, 2**40, None)),
        *((0, 0, None), (5, -7, "other")),
    ]:
        with tf.Graph().as_default(), tf.Session() as session:
            if graph_seed is not None:
                tf.set_random_seed(graph_seed)
            queue = tf.RandomShuffleQueue(99, 3, tf.int32, [[]], seed=seed, shared_name=shared)
            put, more = queue.enqueue_many([list(range(50))]), queue.enqueue_many([[50, 51, 52]])
            one, many = queue.dequeue(), queue.dequeue_many(9)
            session.run(put)
            found += [session.run(one), session.run(many), session.run(one)]
            session.run(more)
            found.append(session.run(queue.dequeue_many(39)))
            session.run(queue.close())
            found.append(session.run(queue.dequeue_up_to(9)))
    return found


@program
def seeded_epochs_of_strings_and_numbers(tf: Any, folder: Path) -> Any:
    found = []
    for seed in (3, 11):
        with tf.Graph().as_default():
            names = [f"file-{i}" for i in range(13)]
            files = tf.train.string_input_producer(names, num_epochs=3, seed=seed, capacity=4)
            found.append(until_the_end(tf, files.dequeue()))
        with tf.Graph().as_default():
            numbers = tf.train.range_input_producer(17, num_epochs=2, seed=seed)
            found.append(until_the_end(tf, numbers.dequeue()))
        with tf.Graph().as_default():
            rows = [np.arange(12).reshape(6, 2), list("abcdef")]
            found.append(until_the_end(tf, tf.train.slice_input_producer(rows, 2, seed=seed)))
    return found


def _example(tf: Any, i: int) -> bytes:
    def feature(**kinds: Any) -> Any:
        return tf.train.Feature(**kinds)

    image = (np.arange(60) * (i + 3) % 251).astype(np.uint8)
    features = {
        "label": feature(int64_list=tf.train.Int64List(value=[i])),
        "image": feature(bytes_list=tf.train.BytesList(value=[image.tobytes()])),
        "words": feature(bytes_list=tf.train.BytesList(value=[b"w%d" % j for j in range(i % 4)])),
    }
    example = tf.train.Example(features=tf.train.Features(feature=features))
    return example.SerializeToString()  # type: ignore[no-any-return]


def _records(tf: Any, folder: Path, count: int = 150) -> list[str]:
    paths = [str(folder / f"{part}.tfrecord") for part in "ab"]
    for part, path in enumerate(paths):
        with tf.python_io.TFRecordWriter(path) as writer:
            for i in range(part, count, 2):
                writer.write(_example(tf, i))
    return paths


def _parsed(tf: Any, serialized: Any) -> tuple[Any, Any]:
    found = tf.parse_single_example(
        serialized,
        features={
            "label": tf.FixedLenFeature([], tf.int64),
            "image": tf.FixedLenFeature([], tf.string),
        },
    )
    image = tf.reshape(tf.decode_raw(found["image"], tf.uint8), [4, 5, 3])
    return found["label"], image


@program
def records_with_their_keys(tf: Any, folder: Path) -> Any:
    files = tf.train.string_input_producer(_records(tf, folder), num_epochs=1, shuffle=False)
    pairs = until_the_end(tf, tf.TFRecordReader().read(files))
    return [(Path(key.decode()).name, value) for key, value in pairs]


@program
def records_some_at_once(tf: Any, folder: Path) -> Any:
    files = tf.train.string_input_producer(_records(tf, folder), num_epochs=1, shuffle=False)
    reader = tf.TFRecordReader()
    some = reader.read_up_to(files, 40)
    counts = [reader.num_records_produced(), reader.num_work_units_completed()]
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        found = []
        for _ in range(5):
            found.append((outcome(tf, session, some), session.run(counts)))
        coord.request_stop()
        coord.join(threads)
    return [
        (len(values[1]) if isinstance(values, tuple) else values, numbers)
        for values, numbers in found
    ]


@program
def images_in_batches(tf: Any, folder: Path) -> Any:
    files = tf.train.string_input_producer(_records(tf, folder), num_epochs=2, shuffle=False)
    label, image = _parsed(tf, tf.TFRecordReader().read(files)[1])
    scaled = tf.cast(image, tf.float32) * (1.0 / 255) - 0.5
    return until_the_end(tf, tf.train.batch([label, image, scaled], 32))


@program
def images_shuffled_when_all_are_there(tf: Any, folder: Path) -> Any:
    files = tf.train.string_input_producer(_records(tf, folder), num_epochs=1, shuffle=False)
    label, image = _parsed(tf, tf.TFRecordReader().read(files)[1])
    batch = tf.train.shuffle_batch(
        [label, image], 16, 1000, 999, seed=9, allow_smaller_final_batch=True
    )
    return until_the_end(tf, batch)


@program
def images_distorted_by_seeded_chance(tf: Any, folder: Path) -> Any:
    files = tf.train.string_input_producer(_records(tf, folder), num_epochs=1, shuffle=False)
    label, image = _parsed(tf, tf.TFRecordReader().read(files)[1])
    part = tf.random_crop(tf.cast(image, tf.float32), [3, 4, 3], seed=1)
    part = tf.image.random_flip_left_right(part, seed=2)
    part = tf.image.random_brightness(part, max_delta=63, seed=3)
    part = tf.image.random_contrast(part, lower=0.2, upper=1.8, seed=4)
    whole = tf.image.per_image_standardization(part)
    whole.set_shape([3, 4, 3])
    return until_the_end(tf, tf.train.batch([label, whole], 10))


@program
def words_of_all_lengths(tf: Any, folder: Path) -> Any:
    found = []
    for sparse in (True, False):
        with tf.Graph().as_default():
            paths = _records(tf, folder)
            files = tf.train.string_input_producer(paths, num_epochs=1, shuffle=False)
            value = tf.TFRecordReader().read(files)[1]
            words = tf.parse_single_example(value, {"words": tf.VarLenFeature(tf.string)})["words"]
            if sparse:
                batches = until_the_end(tf, tf.train.batch({"words": words}, 13)["words"])
                found.append([list(batch) for batch in batches])
            else:
                batch = tf.train.batch([words.values], 7, dynamic_pad=True)
                found.append(until_the_end(tf, batch))
    return found


@program
def batches_of_rows_that_are_kept(tf: Any, folder: Path) -> Any:
    number = tf.train.range_input_producer(30, num_epochs=1, shuffle=False).dequeue()
    pairs = tf.stack([number * 2, number * 2 + 1])
    kept = tf.train.maybe_batch([pairs], tf.equal(pairs % 3, 0), 4, enqueue_many=True)
    return until_the_end(tf, kept)


@program
def lines_and_fields(tf: Any, folder: Path) -> Any:
    first, second = folder / "a.csv", folder / "b.csv"
    first.write_bytes(b"id,size\r\n" + b"".join(b"%d,%.2f\n" % (i, i / 8) for i in range(40)))
    second.write_bytes(b"id,size\n7,\n8,1.5\r\n\r")
    names = [str(first), str(second)]
    files = tf.train.string_input_producer(names, num_epochs=1, shuffle=False)
    key, line = tf.TextLineReader(skip_header_lines=1).read(files)
    number, size = tf.decode_csv(line, record_defaults=[[0], [-1.0]])
    found = until_the_end(tf, [key, line, number, size])
    return [(Path(key.decode()).name, *rest) for key, *rest in found]


@program
def records_of_one_length(tf: Any, folder: Path) -> Any:
    found: list[Any] = []
    for size, header, footer, hop in itertools.product((3, 5), (0, 2), (0, 4), (0, 2, 7)):
        with tf.Graph().as_default():
            paths = []
            for length in (9, 30, 41):
                path = folder / f"{length}.bin"
                path.write_bytes(bytes(range(length)))
                paths.append(str(path))
            files = tf.train.string_input_producer(paths, num_epochs=1, shuffle=False)
            reader = tf.FixedLengthRecordReader(
                size, header_bytes=header, footer_bytes=footer, hop_bytes=hop
            )
            pairs = until_the_end(tf, reader.read(files))
            found.append([(Path(key.decode()).name, value) for key, value in pairs])
    return found


@program
def whole_files_and_their_state(tf: Any, folder: Path) -> Any:
    paths = []
    for name in "abc":
        (folder / name).write_bytes(name.encode() * 3)
        paths.append(str(folder / name))
    files = tf.train.string_input_producer(paths, num_epochs=2, shuffle=False)
    reader = tf.WholeFileReader()
    pair, given = reader.read(files), tf.placeholder(tf.string)
    counts = [reader.num_records_produced(), reader.num_work_units_completed()]
    state, restore, reset = reader.serialize_state(), reader.restore_state(given), reader.reset()
    found: list[Any] = []
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        for _ in range(2):
            found += [session.run(pair)[1], session.run(counts)]
        saved = session.run(state)
        found += [saved.replace(str(folder).encode(), b""), session.run(pair)[1]]
        for text in (saved, b"\xff", b"\x08\x05", b""):
            found += [outcome(tf, session, restore, {given: text}), session.run(counts)]
        found = [re.split(": (work_started|goo.gle)", str(each))[0] for each in found]
        session.run(reset)
        found += [session.run(counts), session.run(pair)[1]]
        coord.request_stop()
        coord.join(threads)
    return found


@program
def what_is_refused(tf: Any, folder: Path) -> Any:
    integer = tf.FIFOQueue(9, tf.int32)
    pair = tf.FIFOQueue(9, [tf.int32, tf.int32], [[], [2]])
    given = tf.placeholder(tf.int32)
    fetches = [
        (integer.dequeue_many(1), None),
        (pair.enqueue([1, given]), {given: [1, 2, 3]}),
        (pair.enqueue_many([[1, 2], given]), {given: [[1, 2]]}),
        (pair.enqueue_many([[1, 2], given]), {given: [[1], [2]]}),
        (tf.RandomShuffleQueue(3, 3, tf.int32).size(), None),
        (tf.RandomShuffleQueue(3, -1, tf.int32).size(), None),
        (tf.QueueBase.from_list(given, [integer, integer]).size(), {given: 2}),
    ]
    mine: list[Any] = [tf.FIFOQueue(3, tf.int32, shared_name="it")]
    for other in (
        tf.FIFOQueue(4, tf.int32, shared_name="it"),
        tf.FIFOQueue(3, tf.float32, shared_name="it"),
        tf.FIFOQueue(3, tf.int32, [[2]], shared_name="it"),
        tf.RandomShuffleQueue(3, 1, tf.int32, shared_name="it"),
        tf.PaddingFIFOQueue(3, tf.int32, [[None]], shared_name="it"),
    ):
        fetches.append((other.size(), None))
    with tf.Session() as session:
        session.run(mine[0].size())
        return [outcome(tf, session, fetch, feed) for fetch, feed in fetches]
