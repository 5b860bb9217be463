# SPDX-License-Identifier: Apache-2.0
"""Queue runners that work on blocks give what those give that work record by record."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from queue_programs import until_the_end

import fastrec
import fastrec.compat.v1 as tf
from fastrec.compat._tf.tracing.trace import Trace
from fastrec.compat.v1 import lowering

COUNT = 700
Build = Callable[[Any], Any]


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Images of one size, texts of many, and numbers."""
    path = tmp_path_factory.mktemp("lowering") / "a.tfrecord"
    rng = np.random.default_rng(3)
    with fastrec.Writer(path) as writer:
        for i in range(COUNT):
            writer.write(
                {
                    "image": rng.integers(0, 256, (4, 6, 3), dtype=np.uint8),
                    "shape": np.array([4, 6, 3], np.int32).tobytes(),
                    "label": i,
                    "size": float(i) / 7,
                    "text": b"x" * (i % 5),
                    "pair": [i, -i],
                    "some": list(range(i % 3)),
                }
            )
    return path


def feature(shape: Any, dtype: Any, **how: Any) -> Any:
    return tf.FixedLenFeature(shape, dtype, **how)


PARSED = {
    "image": feature([], tf.string),
    "shape": feature([], tf.string),
    "label": feature([], tf.int64),
    "size": feature([], tf.float32),
    "text": feature([], tf.string),
    "pair": feature([2], tf.int64),
    "absent": feature([], tf.string, default_value="none"),
}


def parsed(serialized: Any, *names: str) -> Any:
    found = tf.parse_single_example(serialized, {name: PARSED[name] for name in names})
    return found[names[0]] if len(names) == 1 else [found[name] for name in names]


def some(serialized: Any) -> Any:
    return tf.parse_single_example(serialized, {"some": tf.VarLenFeature(tf.int64)})["some"]


def image(serialized: Any) -> Any:
    return tf.reshape(tf.decode_raw(parsed(serialized, "image"), tf.uint8), [4, 6, 3])


def shaped_by_itself(pair: Any) -> Any:
    flat, shape = parsed(pair[1], "image", "shape")
    image = tf.reshape(tf.decode_raw(flat, tf.uint8), tf.decode_raw(shape, tf.int32))
    image.set_shape([4, 6, 3])
    return [image]


def varying(pair: Any) -> Any:
    label = parsed(pair[1], "label")
    return [tf.fill([tf.cast(label % 4, tf.int32), 2], label), label]


def fitted(pair: Any) -> Any:
    label = tf.cast(parsed(pair[1], "label"), tf.int32)
    sizes = tf.stack([1 + label % 4, 4 - label % 3, 2])
    image = tf.cast(tf.fill(sizes, label % 250 + 1), tf.uint8)
    return [tf.image.resize_image_with_crop_or_pad(image, 3, 3), label]


def either(pair: Any) -> Any:
    """Draws within a branch, which is itself drawn."""
    label = tf.cast(parsed(pair[1], "label"), tf.float32)
    chance = tf.random_uniform([], seed=1) < 0.3
    return [
        tf.cond(
            chance,
            lambda: label + tf.random_uniform([2], seed=2),
            lambda: tf.stack([label, tf.random_normal([], seed=3)]),
        )
    ]


def where_an_image_decides(pair: Any) -> Any:
    image = tf.cast(fitted(pair)[0].op.inputs[0], tf.float32)
    bright = tf.reduce_mean(image) > 100
    return [tf.cond(bright, lambda: tf.random_uniform([], seed=1), lambda: 2.0)]


def merged(pair: Any) -> Any:
    chosen = tf.random_uniform([], maxval=3, dtype=tf.int32, seed=2)
    made = []
    for number in range(3):
        here = tf.equal(chosen, number)
        side = tf.raw_ops.Switch(data=tf.cast(image(pair[1]), tf.float32), pred=here)[1]
        drawn = tf.random_uniform([], maxval=tf.reduce_max(side) + 1.0, seed=number)
        made.append(side * number + drawn)
    return [tf.raw_ops.Merge(inputs=made)[0], chosen]


def padded(pair: Any) -> Any:
    """Texts of all sizes, and images at several places, padded to one size."""
    flat = tf.decode_raw(parsed(pair[1], "text"), tf.uint8)
    row = tf.pad(flat, [[0, 5 - tf.shape(flat)[0]]])
    row.set_shape([5])
    above = tf.cast(parsed(pair[1], "label") % 3, tf.int32)
    around = tf.stack([[above, 2 - above], [0, 0], [1, 0]])
    whole = tf.pad(tf.cast(image(pair[1]), tf.float32), around, constant_values=7.5)
    whole.set_shape([6, 6, 4])
    return [row, whole]


def boxed(pair: Any) -> Any:
    boxes = tf.constant([[[0.1, 0.2, 0.7, 0.9]]])
    start, size, _ = tf.image.sample_distorted_bounding_box([4, 6, 3], boxes, seed=8)
    part = tf.slice(image(pair[1]), start, size)
    return [tf.image.resize_images(part, [3, 3]), start]


def counted(pair: Any) -> Any:
    label = parsed(pair[1], "label")
    start = tf.constant(0, tf.int64)
    body = lambda i, n: (i + 1, n * 2 + i)  # noqa: E731
    return list(tf.while_loop(lambda i, n: i < label % 5, body, [start, label]))


WAYS: dict[str, Build] = {
    "records as they are": lambda pair: [pair[0], pair[1]],
    "every kind of feature": lambda pair: parsed(pair[1], *PARSED),
    "an image": lambda pair: [image(pair[1])],
    "an image that says its shape": shaped_by_itself,
    "casts and sums": lambda pair: [tf.cast(image(pair[1]), tf.float32) * (1 / 255) - 0.5],
    "planes first": lambda pair: [tf.transpose(image(pair[1]), [2, 0, 1])],
    "the other way round": lambda pair: [tf.transpose(image(pair[1]))],
    "a part": lambda pair: [image(pair[1])[1:3, ::2, 0]],
    "a scaled image": lambda pair: [tf.cast(image(pair[1]), tf.float32) * parsed(pair[1], "size")],
    "rows and columns": lambda pair: [
        image(pair[1])[:, :, 0] + tf.cast(tf.range(6), tf.uint8),
        tf.add(tf.cast(parsed(pair[1], "pair"), tf.float32), [[1.0], [2.0]]),
    ],
    "a stack": lambda pair: [tf.stack([parsed(pair[1], "label"), tf.constant(7, tf.int64)])],
    "a crop at random": lambda pair: [
        tf.random_crop(image(pair[1]), [2, 2, 3], seed=5),
        parsed(pair[1], "label"),
    ],
    "sparse": lambda p: [tf.reduce_sum(some(p[1]).values), tf.serialize_sparse(some(p[1]))],
    "shapes that vary": varying,
    "bytes of all sizes": lambda pair: [tf.decode_raw(parsed(pair[1], "text"), tf.uint8)],
    "images of all sizes": fitted,
    "a branch by chance": either,
    "a branch of an image": where_an_image_decides,
    "a box by chance": boxed,
    "one of several by chance": merged,
    "padded to one size": padded,
    "a loop as long as the record says": counted,
    "a function of each row": lambda pair: [
        tf.map_fn(
            lambda row: tf.cast(row[0], tf.float32) + tf.random_uniform([], seed=4), image(pair[1])
        )
    ],
    "rows in random order": lambda pair: [tf.random_shuffle(image(pair[1]), seed=6)],
    "classes by chance": lambda pair: [
        tf.multinomial([[0.1, 0.7, 0.2]], 4, seed=7),
        parsed(pair[1], "label"),
    ],
    "text that is said to be a scalar": lambda pair: [tf.reshape(parsed(pair[1], "text"), [])],
}


def all_batches(records: Path, build: Build, lowered: bool, shuffled: bool = False) -> list[Any]:
    """Every batch of one epoch."""
    before = lowering.set_lowering(lowered)
    try:
        with tf.Graph().as_default():
            files = tf.train.string_input_producer([str(records)], 2, shuffle=False)
            tensors = list(build(tf.TFRecordReader().read(files)))
            how: dict[str, Any] = {"allow_smaller_final_batch": True}
            if shuffled:
                # All that there is, before anything is drawn.
                fetches = tf.train.shuffle_batch(tensors, 64, 9999, 9998, seed=7, **how)
            else:
                fetches = tf.train.batch(tensors, 64, dynamic_pad=True, **how)
            return until_the_end(tf, fetches)
    finally:
        lowering.set_lowering(before)


def same(first: Any, second: Any) -> None:
    flat = [first] if isinstance(first, np.ndarray) else first
    other = [second] if isinstance(second, np.ndarray) else second
    for a, b in zip(flat, other, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


@pytest.fixture
def blocks(monkeypatch: pytest.MonkeyPatch, records_are_quick: None) -> list[int]:
    """Number of records in each block."""
    sizes: list[int] = []
    real = lowering.BlockPlan._columns

    def counted(self: Any, step: Any, count: int) -> Any:
        sizes.append(count)
        return real(self, step, count)

    monkeypatch.setattr(lowering.BlockPlan, "_columns", counted)
    return sizes


@pytest.mark.parametrize("way", list(WAYS))
def test_blocks_give_what_single_records_give(records: Path, way: str, blocks: list[int]) -> None:
    slow = all_batches(records, WAYS[way], lowered=False)
    assert blocks == []
    fast = all_batches(records, WAYS[way], lowered=True)
    assert sum(blocks) == 2 * COUNT
    assert max(blocks) > 1
    assert len(slow) == len(fast) == -(-2 * COUNT // 64)
    for a, b in zip(slow, fast, strict=True):
        same(a, b)


@pytest.mark.parametrize("way", list(WAYS))
def test_few_records_give_what_single_records_give(
    records: Path, way: str, blocks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = all_batches(records, WAYS[way], lowered=False)
    monkeypatch.setattr("fastrec.compat._tf.width._MOST", 3)
    columns: list[int] = []
    real = Trace.run_block

    def run_block(self: Trace, count: int, *how: Any) -> Any:
        columns.append(count)
        return real(self, count, *how)

    monkeypatch.setattr(Trace, "run_block", run_block)
    fast = all_batches(records, WAYS[way], lowered=True)
    assert blocks[0] == 16
    assert 3 in blocks[1:]
    assert len(columns) < 10
    for a, b in zip(slow, fast, strict=True):
        same(a, b)


def test_shuffled_batches_are_drawn_alike(records: Path) -> None:
    slow = all_batches(records, WAYS["an image"], lowered=False, shuffled=True)
    fast = all_batches(records, WAYS["an image"], lowered=True, shuffled=True)
    for a, b in zip(slow, fast, strict=True):
        same(a, b)


@pytest.mark.parametrize("lowered", [False, True])
@pytest.mark.parametrize("bad", ["missing feature", "odd length", "not an example", "damage"])
def test_an_error_comes_after_the_rows_before_it_and_as_it_would(
    tmp_path: Path, lowered: bool, bad: str
) -> None:
    path = tmp_path / "a"
    with fastrec.Writer(path) as writer:
        for i in range(60):
            row: Any = {"label": i, "data": b"abcd"}
            if i == 40 and bad == "missing feature":
                row = {"label": i}
            if i == 40 and bad == "odd length":
                row = {"label": i, "data": b"abc"}
            writer.write(b"\xff" if i == 40 and bad == "not an example" else row)
    if bad == "damage":
        content = bytearray(path.read_bytes())
        offset = sum(len(r) + 16 for r in list(fastrec.Reader(path))[:40])
        content[offset + 12] ^= 1
        path.write_bytes(content)
    texts = {
        "missing feature": r"Feature: data \(data type: string\) is required but could not be fou",
        "odd length": "Input to DecodeRaw has length 3 that is not a multiple of 2",
        "not an example": "Could not parse example input",
        "damage": r"corrupted record at \d+",
    }

    def build(pair: Any) -> Any:
        features = {"label": feature([], tf.int64), "data": feature([], tf.string)}
        found = tf.parse_single_example(pair[1], features)
        data = tf.decode_raw(found["data"], tf.int16)
        data.set_shape([2])
        return [found["label"], data]

    before = lowering.set_lowering(lowered)
    try:
        with tf.Graph().as_default():
            files = tf.train.string_input_producer([str(path)], 1, shuffle=False)
            label, _ = tf.train.batch(build(tf.TFRecordReader().read(files)), 1, capacity=100)
            with tf.Session() as session:
                session.run(tf.local_variables_initializer())
                coord = tf.train.Coordinator()
                threads = tf.train.start_queue_runners(session, coord)
                for thread in threads:
                    thread.join()
                assert [int(session.run(label)[0]) for _ in range(40)] == list(range(40))
                with pytest.raises(tf.errors.OutOfRangeError) as end:
                    session.run(label)
                assert end.value.__cause__ is coord.cause
                with pytest.raises(tf.errors.OpError, match=texts[bad]):
                    coord.join(threads)
    finally:
        lowering.set_lowering(before)


@pytest.mark.parametrize("bad", [2, 40])
def test_a_failed_block_draws_again(tmp_path: Path, blocks: list[int], bad: int) -> None:
    path = tmp_path / "a"
    with fastrec.Writer(path) as writer:
        for i in range(60):
            writer.write({} if i == bad else {"label": i})

    def drawn(lowered: bool) -> list[Any]:
        before = lowering.set_lowering(lowered)
        try:
            with tf.Graph().as_default():
                files = tf.train.string_input_producer([str(path)], 1, shuffle=False)
                value = tf.TFRecordReader().read(files)[1]
                label = tf.parse_single_example(value, {"label": feature([], tf.int64)})["label"]
                draws = lambda: tf.random_uniform([], seed=1), lambda: tf.random_normal([], seed=2)
                chosen = tf.cond(label % 3 > 0, *draws)
                taken = tf.train.batch([chosen, label], 1, capacity=100)
                with tf.Session() as session:
                    session.run(tf.local_variables_initializer())
                    coord = tf.train.Coordinator()
                    for thread in tf.train.start_queue_runners(session, coord):
                        thread.join()
                    return [session.run(taken) for _ in range(bad)]
        finally:
            lowering.set_lowering(before)

    for slow, fast in zip(drawn(False), drawn(True), strict=True):
        same(slow, fast)
    assert max(blocks) > 1


def test_what_keeps_a_runner_from_blocks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FASTREC_COMPAT_EXPLAIN", "1")
    path = tmp_path / "a"
    path.write_text("line\n")  # which a thread may read before it is to stop
    with tf.Graph().as_default():
        files = tf.train.string_input_producer([str(path)], shuffle=False)
        value = tf.TextLineReader().read(files)[1]
        seen = tf.py_func(lambda text: text, [value], tf.string)  # the line that is named
        tf.train.batch([tf.reshape(seen, [])], 1)
        with tf.Session() as session:
            coord = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coord)
            coord.request_stop()
            coord.join(threads)
    told = capsys.readouterr().err
    assert told.count("runs once for each record") == 1
    assert "# the line that is named" in told


def test_after_an_error_the_records_behind_it_are_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    with fastrec.Writer(path) as writer:
        for i in range(20):
            writer.write({} if i == 7 else {"label": i})
    monkeypatch.setattr("threading.excepthook", lambda args: None)
    with tf.Graph().as_default():
        files = tf.FIFOQueue(9, tf.string, [[]])
        fill, close = files.enqueue(str(path)), files.close()
        value = tf.TFRecordReader().read(files)[1]
        queue = tf.FIFOQueue(99, tf.int64, [[]])
        label = tf.parse_single_example(value, {"label": feature([], tf.int64)})["label"]
        runner = tf.train.QueueRunner(queue, [queue.enqueue(label)])
        taken = queue.dequeue_many(19)
        with tf.Session() as session:
            session.run([fill])
            session.run([close])
            for _ in range(2):  # the first ends with the error, the second with the records
                for thread in runner.create_threads(session, start=True):
                    thread.join()
            assert session.run(taken).tolist() == [i for i in range(20) if i != 7]


def provided(records: Path, lowered: bool, bad: int | None = None) -> Any:
    """Labels and images that come by way of a queue of serialized examples."""
    before = lowering.set_lowering(lowered)
    try:
        with tf.Graph().as_default():
            values = list(fastrec.Reader(records))
            if bad is not None:
                values[bad] = b"\xff"
            common = tf.FIFOQueue(9999, [tf.string, tf.string])
            given = tf.placeholder(tf.string, [None])
            put, close = common.enqueue_many([given, given]), common.close()
            label, flat = parsed(common.dequeue()[1], "label", "image")
            queue = tf.FIFOQueue(9999, [tf.int64, tf.uint8], [[], [72]])
            image = tf.reshape(tf.decode_raw(flat, tf.uint8), [72])
            runner = tf.train.QueueRunner(queue, [queue.enqueue([label, image])])
            size, left = queue.size(), common.size()
            with tf.Session() as session:
                session.run(put, {given: values})
                session.run(close)
                for thread in runner.create_threads(session, start=True):
                    thread.join()
                found = session.run(queue.dequeue_many(session.run(size)))
                return found, session.run(left), [type(e) for e in runner.exceptions_raised]
    finally:
        lowering.set_lowering(before)


@pytest.mark.parametrize("bad", [None, 0, 333])
def test_examples_out_of_another_queue_are_lowered_too(
    records: Path, bad: int | None, blocks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("threading.excepthook", lambda args: None)
    slow = provided(records, False, bad)
    assert not blocks
    fast = provided(records, True, bad)
    assert sum(blocks) > (COUNT - 1 if bad is None else bad)
    same(slow[0], fast[0])
    assert slow[1:] == fast[1:]


def test_lines_and_records_of_one_length_are_lowered_too(tmp_path: Path, blocks: list[int]) -> None:
    lines, pack = tmp_path / "lines", tmp_path / "pack"
    texts = ["{i},{i}.5,word", '{i},,"a, ""b"""', "{i},nan,", " {i} ,-{i}e-3,  x "]
    lines.write_text("".join(texts[i % 4].format(i=i) + "\n" for i in range(100)))
    pack.write_bytes(np.arange(600, dtype=np.uint8).astype(np.uint8).tobytes())

    def run(reader: Callable[[], Any], path: Path, build: Build, lowered: bool) -> list[Any]:
        before = lowering.set_lowering(lowered)
        try:
            with tf.Graph().as_default():
                files = tf.train.string_input_producer([str(path)], 1)
                fetch = tf.train.batch(build(reader().read(files)), 10, capacity=100)
                with tf.Session() as session:
                    session.run(tf.local_variables_initializer())
                    coord = tf.train.Coordinator()
                    threads = tf.train.start_queue_runners(session, coord)
                    found = [session.run(fetch) for _ in range(10)]
                    coord.request_stop()
                    coord.join(threads)
                    return found
        finally:
            lowering.set_lowering(before)

    cases: list[tuple[Callable[[], Any], Path, Build]] = [
        (
            tf.TextLineReader,
            lines,
            lambda pair: [pair[0], *tf.decode_csv(pair[1], [[0], [7.0], ["none"]])],
        ),
        (
            lambda: tf.FixedLengthRecordReader(6),
            pack,
            lambda pair: [pair[0], tf.reshape(tf.decode_raw(pair[1], tf.uint8), [2, 3])[1]],
        ),
    ]
    for reader, path, build in cases:
        slow, fast = run(reader, path, build, False), run(reader, path, build, True)
        for a, b in zip(slow, fast, strict=True):
            same(a, b)
    assert sum(blocks) >= 200


@pytest.mark.parametrize("why", ["one reader twice", "a variable", "another reader", "itself"])
def test_what_is_not_recognised_runs_record_by_record(why: str, blocks: list[int]) -> None:
    with tf.Graph().as_default():
        files = tf.train.string_input_producer(["a", "b"], shuffle=False)
        reader = tf.IdentityReader()
        first = reader.read(files)[1]
        queue = tf.FIFOQueue(9, tf.string, [[]])
        if why == "one reader twice":
            first = tf.string_join([first, reader.read(files)[1]])
        elif why == "a variable":
            variable = tf.Variable(["x", "y"])
            first = tf.gather(variable, 0)
        puts = [queue.enqueue(first)]
        if why == "itself":
            puts += [queue.enqueue(queue.dequeue())]
        taken = queue.dequeue()
        tf.train.add_queue_runner(tf.train.QueueRunner(queue, puts))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            coord = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coord)
            assert session.run(taken)
            coord.request_stop()
            coord.join(threads)
    assert blocks == []


def of_files(paths: list[str], lowered: bool, build: Build) -> Any:
    """What a queue holds at the end, and what has ended its runner."""
    before = lowering.set_lowering(lowered)
    try:
        with tf.Graph().as_default():
            names, other = tf.FIFOQueue(99, tf.string, [[]]), tf.FIFOQueue(99, tf.int32, [[2]])
            puts = [names.enqueue_many([paths]), other.enqueue_many([[[i, -i] for i in range(9)]])]
            closes = [names.close(), other.close()]
            queue, put = build((names, other))
            runner, size = tf.train.QueueRunner(queue, [put]), queue.size()
            left = [names.size(), other.size()]
            with tf.Session() as session:
                session.run(puts)
                session.run(closes)
                found = []
                for _ in range(2):  # an error ends the first threads
                    for thread in runner.create_threads(session, start=True):
                        thread.join()
                    found.append([type(error) for error in runner.exceptions_raised])
                taken = queue.dequeue()
                each = taken if isinstance(taken, list) else [taken]
                count = session.run(size)
                rows = [[np.asarray(v) for v in session.run(each)] for _ in range(count)]
                return rows, found, session.run(left)
    finally:
        lowering.set_lowering(before)


def whole_files(queues: Any) -> Any:
    key, value = tf.WholeFileReader().read(queues[0])
    queue = tf.FIFOQueue(99, [tf.string, tf.string, tf.uint8])
    return queue, queue.enqueue([key, value, tf.decode_raw(value, tf.uint8)])


def files_beside_numbers(queues: Any) -> Any:
    _, value = tf.WholeFileReader().read(queues[0])
    queue = tf.FIFOQueue(99, [tf.string, tf.int32])
    return queue, queue.enqueue([value, queues[1].dequeue() * 2])


def named_by_elements(queues: Any) -> Any:
    queue = tf.FIFOQueue(99, [tf.string, tf.int32], [[], [2]])
    pair = tf.stack([tf.read_file(queues[0].dequeue()), "x"])
    numbers = tf.add(tf.reshape(queues[1].dequeue(), [1, 2]), [[0], [1]])
    return queue, queue.enqueue_many([pair, numbers])


def as_many_as_it_says(queues: Any) -> Any:
    queue = tf.FIFOQueue(99, tf.int32, [[]])
    number = queues[1].dequeue()[0]
    return queue, queue.enqueue_many([tf.fill([number % 3], number)])


def differing_sizes(queues: Any) -> Any:
    queue = tf.FIFOQueue(99, [tf.int32, tf.int32], [[], []])
    number = queues[1].dequeue()[0]
    return queue, queue.enqueue_many([tf.fill([number % 5], number), tf.range(number)])


@pytest.mark.parametrize(
    "build",
    [whole_files, files_beside_numbers, named_by_elements, as_many_as_it_says, differing_sizes],
)
@pytest.mark.parametrize("missing", [None, 0, 5])
def test_elements_of_queues_and_whole_files_are_taken_ahead(
    tmp_path: Path,
    build: Build,
    missing: int | None,
    blocks: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("threading.excepthook", lambda args: None)
    paths = [tmp_path / str(i) for i in range(7)]
    for number, path in enumerate(paths):
        if number != missing:
            path.write_bytes(b"%d" % number * number)
    slow = of_files([str(path) for path in paths], False, build)
    assert not blocks
    fast = of_files([str(path) for path in paths], True, build)
    assert max(blocks) > 1
    assert slow[1] == fast[1]
    if build is files_beside_numbers and missing is not None:  # one by one, a number may be lost
        assert len(fast[0]) == 6
        return
    for a, b in zip(slow[0], fast[0], strict=True):
        same(a, b)
    if build not in (files_beside_numbers, named_by_elements):  # where the end may cost an element
        assert slow[2] == fast[2]
