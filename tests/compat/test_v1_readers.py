# SPDX-License-Identifier: Apache-2.0
"""Readers: records, keys, counters, state, and what happens at the end and at damage."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from waiting import Started, until

import fastrec
import fastrec.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def names(*paths: Any) -> tf.FIFOQueue:
    """A queue that will hold the names of files, and then be closed."""
    queue = tf.FIFOQueue(99, tf.string, [[]])
    tf.get_default_graph().add_to_collection(
        "fill", queue.enqueue_many([[str(path) for path in paths]])
    )
    tf.get_default_graph().add_to_collection("fill", queue.close())
    return queue


def filled() -> tf.Session:
    session = tf.Session()
    for op in tf.get_default_graph().get_collection("fill"):
        session.run(op)
    return session


def read_all(reader: Any, queue: Any) -> list[tuple[bytes, bytes]]:
    pair, found = reader.read(queue), []
    with filled() as session:
        while True:
            try:
                found.append(tuple(session.run(pair)))
            except tf.errors.OutOfRangeError:
                return found


def write_records(path: Path, *records: bytes, **how: Any) -> Path:
    with fastrec.Writer(path, **how) as writer:
        for record in records:
            writer.write(record)
    return path


def keyed(path: Path, numbers: Any, values: Any) -> list[tuple[bytes, bytes]]:
    return [(f"{path}:{n}".encode(), v) for n, v in zip(numbers, values, strict=True)]


# TFRecords.


def test_keys_of_records_are_offsets(tmp_path: Path) -> None:
    a = write_records(tmp_path / "a", b"abc", b"", b"de")
    b = write_records(tmp_path / "b", b"x")
    found = read_all(tf.TFRecordReader(), names(a, b))
    assert found == keyed(a, (0, 19, 35), (b"abc", b"", b"de")) + keyed(b, (0,), (b"x",))


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB"])
def test_offsets_of_compressed_records_are_those_of_what_is_inside(
    tmp_path: Path, kind: str
) -> None:
    a = write_records(tmp_path / "a", b"abc", b"de", compression=kind)
    code = getattr(tf.python_io.TFRecordCompressionType, kind) if hasattr(tf, "python_io") else kind
    reader = tf.TFRecordReader(options=code)
    assert read_all(reader, names(a)) == keyed(a, (0, 19), (b"abc", b"de"))


def test_many_records_come_one_by_one_in_blocks_and_mixed(tmp_path: Path) -> None:
    values = [b"%d" % i * (i % 7) for i in range(1500)]
    path = write_records(tmp_path / "a", *values)
    queue, reader = names(path), tf.TFRecordReader()
    one, some = reader.read(queue), reader.read_up_to(queue, 301)
    found: list[bytes] = []
    with filled() as session:
        while len(found) < len(values):
            found.append(session.run(one).value)
            found.extend(session.run(some).values if len(found) < len(values) else ())
    assert found == values


def test_read_up_to_ends_with_the_file(tmp_path: Path) -> None:
    a = write_records(tmp_path / "a", b"1", b"2", b"3")
    b = write_records(tmp_path / "b", b"4")
    queue, reader = names(a, b), tf.TFRecordReader()
    some, none = reader.read_up_to(queue, 2), reader.read_up_to(queue, 0)
    produced, completed = reader.num_records_produced(), reader.num_work_units_completed()
    with filled() as session:
        assert session.run(none).values.shape == (0,)
        assert [session.run(some).values.tolist() for _ in range(3)] == [
            [b"1", b"2"],
            [b"3"],
            [b"4"],
        ]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(some)
        assert session.run([produced, completed]) == [4, 2]


def test_counters_see_the_end_of_a_file_with_the_read_after_it(tmp_path: Path) -> None:
    a, b = (write_records(tmp_path / name, b"1", b"2") for name in "ab")
    queue, reader = names(a, b), tf.TFRecordReader()
    pair = reader.read(queue)
    counts = reader.num_records_produced(), reader.num_work_units_completed()
    with filled() as session:
        found = [session.run(counts)]
        for _ in range(3):
            session.run(pair)
            found.append(session.run(counts))
    assert found == [(0, 0), (1, 0), (2, 0), (3, 1)]


def test_a_missing_file_is_reported_once_and_left_out(tmp_path: Path) -> None:
    b = write_records(tmp_path / "b", b"x")
    queue, reader = names(tmp_path / "a", b, tmp_path), tf.TFRecordReader()
    pair = reader.read(queue)
    with filled() as session:
        with pytest.raises(tf.errors.NotFoundError, match="a; No such file or directory"):
            session.run(pair)
        assert session.run(pair).value == b"x"
        with pytest.raises(tf.errors.FailedPreconditionError, match="Is a directory"):
            session.run(pair)


def test_damage_is_reported_at_its_place_until_the_reader_is_reset(tmp_path: Path) -> None:
    a = write_records(tmp_path / "a", b"one", b"two", b"three")
    data = bytearray(a.read_bytes())
    data[19 + 12] ^= 1
    a.write_bytes(data)
    b = write_records(tmp_path / "b", b"x")
    queue, reader = names(a, b), tf.TFRecordReader()
    pair, reset, made = reader.read(queue), reader.reset(), reader.num_records_produced()
    with filled() as session:
        assert session.run(pair).value == b"one"
        for _ in range(3):
            with pytest.raises(tf.errors.DataLossError, match=r"^corrupted record at 31") as error:
                session.run(pair)
            assert isinstance(error.value, fastrec.CorruptRecordError)
            assert error.value.message.count("{{node") == 1
        session.run(reset)
        assert session.run(made) == 0
        assert session.run(pair).value == b"x"


def test_a_torn_header_is_said_where_tensorflow_takes_it_for_the_end(tmp_path: Path) -> None:
    a = write_records(tmp_path / "a", b"one")
    with a.open("ab") as file:
        file.write(b"\x03\0\0\0\0")
    pair = tf.TFRecordReader().read(names(a))
    with filled() as session:
        assert session.run(pair).value == b"one"
        with pytest.raises(tf.errors.DataLossError, match="truncated record at 19'"):
            session.run(pair)


# Lines.


def test_lines_lose_their_ends_and_have_numbers_from_one(tmp_path: Path) -> None:
    a, b, c = (tmp_path / name for name in "abc")
    a.write_bytes(b"one\ntwo\r\n\nb\rb")
    b.write_bytes(b"")
    c.write_bytes(b"last\r\n\r")
    found = read_all(tf.TextLineReader(), names(a, b, c))
    assert found == keyed(a, (1, 2, 3, 4), (b"one", b"two", b"", b"b\rb")) + keyed(
        c, (1,), (b"last",)
    )


def test_header_lines_are_left_out_but_counted(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    a.write_bytes(b"x\ny\nz\n")
    b.write_bytes(b"x\n")
    found = read_all(tf.TextLineReader(skip_header_lines=2), names(a, b))
    assert found == keyed(a, (3,), (b"z",))


def test_a_negative_header_is_refused(tmp_path: Path) -> None:
    reader = tf.TextLineReader(skip_header_lines=-1)
    with (
        pytest.raises(
            tf.errors.InvalidArgumentError, match="skip_header_lines must be >= 0 not -1"
        ),
    ):
        read_all(reader, names(tmp_path / "a"))


# Records of one length.

PACK: dict[str | None, Callable[[bytes], bytes]] = {
    None: bytes,
    "GZIP": gzip.compress,
    "ZLIB": zlib.compress,
}


@pytest.mark.parametrize("encoding", list(PACK))
@pytest.mark.parametrize(
    ("hop", "expected"),
    [
        (None, [b"012", b"345", b"678"]),
        (2, [b"012", b"234", b"456", b"678"]),
        (5, [b"012", b"567"]),
        (7, [b"012", b"789"]),
        (900, [b"012"]),
    ],
)
def test_records_of_one_length_hop(
    tmp_path: Path, encoding: str | None, hop: int | None, expected: list[bytes]
) -> None:
    path = tmp_path / "a"
    path.write_bytes(PACK[encoding](b"HH0123456789FFF"))
    reader = tf.FixedLengthRecordReader(
        3, header_bytes=2, footer_bytes=3, hop_bytes=hop, encoding=encoding
    )
    assert read_all(reader, names(path)) == keyed(path, range(len(expected)), expected)


def test_what_is_left_over_is_no_record(tmp_path: Path) -> None:
    sizes = {name: tmp_path / name for name in ("0", "1", "2", "3", "4")}
    for name, path in sizes.items():
        path.write_bytes(b"x" * int(name))
    found = read_all(tf.FixedLengthRecordReader(2), names(*sizes.values()))
    assert [key.rsplit(b"/")[-1] for key, _ in found] == [b"2:0", b"3:0", b"4:0", b"4:1"]


def test_a_file_shorter_than_its_header_is_said_where_tensorflow_ends_in_silence(
    tmp_path: Path,
) -> None:
    # There, it is the error of an exhausted queue: runners stop, the other files are never read.
    short, whole = tmp_path / "short", tmp_path / "whole"
    short.write_bytes(b"123")
    whole.write_bytes(b"12345ab")
    queue, reader = names(short, whole), tf.FixedLengthRecordReader(2, header_bytes=5)
    pair = reader.read(queue)
    with filled() as session:
        with pytest.raises(tf.errors.DataLossError, match="short is shorter than its header: 3 of"):
            session.run(pair)
        assert session.run(pair).value == b"ab"


def test_larger_files_of_fixed_records_come_whole(tmp_path: Path) -> None:
    data = np.random.default_rng(5).bytes(3073 * 700 + 5)
    path = tmp_path / "a"
    path.write_bytes(data)
    found = read_all(tf.FixedLengthRecordReader(3073, header_bytes=5), names(path))
    assert b"".join(value for _, value in found) == data[5:]


# Whole files and work items.


def test_a_whole_file_is_a_record(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    a.write_bytes(b"some\nlines\n")
    b.write_bytes(b"")
    expected = [(str(a).encode(), b"some\nlines\n"), (str(b).encode(), b"")]
    assert read_all(tf.WholeFileReader(), names(a, b)) == expected


def test_a_work_item_can_be_a_record_itself() -> None:
    queue, reader = names("A", "B"), tf.IdentityReader()
    pair, units = reader.read(queue), reader.num_work_units_completed()
    with filled() as session:
        assert session.run(units) == 0
        assert tuple(session.run(pair)) == (b"A", b"A")
        assert session.run(units) == 1


def test_state_is_saved_and_taken_back() -> None:
    queue, reader = names(*"ABCD"), tf.IdentityReader()
    assert reader.supports_serialize
    pair, state = reader.read(queue), reader.serialize_state()
    given = tf.placeholder(tf.string, [])
    restore, made = reader.restore_state(given), reader.num_records_produced()
    with filled() as session:
        assert session.run(state) == b""
        session.run(pair)
        saved = session.run(state)
        assert saved == b"\x08\x01\x10\x01\x18\x01\x22\x01A"
        session.run(pair)
        session.run(restore, {given: saved})
        assert session.run(made) == 1
        assert session.run(pair).key == b"C"
        session.run(restore, {given: b""})
        assert session.run(made) == 0


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (b"\xff", r"Could not parse state for WholeFileReader 'WholeFileReaderV2': \\377"),
        (b"a\n", r"Could not parse state for WholeFileReader 'WholeFileReaderV2': a\\n"),
        (b"\x22\x7fx", "Could not parse state"),
        (b"\x08" + b"\xff" * 9 + b"\x01", "Unexpected negative value when restoring in Whole"),
        (b"\x08\x05", "Inconsistent work started vs. finished when restoring in WholeFile"),
    ],
)
def test_a_bad_state_is_refused_and_resets_the_reader(
    tmp_path: Path, state: bytes, text: str
) -> None:
    (tmp_path / "a").write_bytes(b"1")
    queue, reader = names(tmp_path / "a"), tf.WholeFileReader()
    pair, restore = reader.read(queue), reader.restore_state(tf.constant(state))
    made = reader.num_records_produced()
    with filled() as session:
        session.run(pair)
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            session.run(restore)
        assert session.run(made) == 0


@pytest.mark.parametrize(
    "make", [tf.TFRecordReader, tf.TextLineReader, lambda: tf.FixedLengthRecordReader(1)]
)
def test_readers_inside_files_have_no_state_to_save(make: Callable[[], Any]) -> None:
    reader = make()
    assert not reader.supports_serialize
    state, restore = reader.serialize_state(), reader.restore_state("")
    with tf.Session() as session:
        with pytest.raises(tf.errors.UnimplementedError, match="Reader SerializeState"):
            session.run(state)
        with pytest.raises(tf.errors.UnimplementedError, match="Reader RestoreState"):
            session.run(restore)


# The queue, sessions, and readers of one's own.


@pytest.mark.parametrize(
    ("types", "element", "text"),
    [
        ([tf.string, tf.int32], ["a", 1], "Expected single component queue"),
        (tf.int32, 1, "Expected queue with single string component"),
        (tf.string, [["a", "b"]], "Expected to dequeue a one-element string tensor"),
    ],
)
def test_work_comes_from_queues_of_single_strings(types: Any, element: Any, text: str) -> None:
    queue = tf.FIFOQueue(3, types)
    put, pair = queue.enqueue(element), tf.TFRecordReader().read(queue)
    with tf.Session() as session:
        session.run(put)
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            session.run(pair)


def test_each_session_reads_for_itself() -> None:
    queue, reader = names("A", "B"), tf.IdentityReader()
    pair = reader.read(queue)
    with filled() as first, filled() as second:
        assert [first.run(pair).key, second.run(pair).key, first.run(pair).key] == [
            b"A",
            b"A",
            b"B",
        ]


def test_a_reader_that_waits_for_work_does_not_keep_others_from_giving_it() -> None:
    queue = tf.FIFOQueue(9, tf.string, [[]])
    put, pair = queue.enqueue("A"), tf.IdentityReader().read(queue)
    with tf.Session() as session:
        waiting = [Started(lambda: session.run(pair).key) for _ in range(2)]
        state = session.run(queue.queue_ref)
        until(lambda: state.dequeues)
        session.run(put)
        session.run(put)
        assert [each.result() for each in waiting] == [b"A", b"A"]


def test_closing_the_session_ends_a_read() -> None:
    queue = tf.FIFOQueue(9, tf.string, [[]])
    pair = tf.IdentityReader().read(queue)
    session = tf.Session()
    state = session.run(queue.queue_ref)
    waiting = Started(lambda: session.run(pair))
    until(lambda: state.dequeues)
    session.close()
    with pytest.raises(tf.errors.CancelledError, match="Dequeue operation was cancelled"):
        waiting.result()


class Words(tf.ReaderBase):
    """A reader of one's own."""

    def records(self, work: str) -> Iterator[tuple[str, str]]:
        for number, word in enumerate(Path(work).read_text().split()):
            yield f"{work}:{number}", word


def test_a_reader_of_ones_own_gives_what_it_yields(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    a.write_text("to be or")
    b.write_text("not")
    found = read_all(Words(), names(a, b))
    assert found == keyed(a, range(3), (b"to", b"be", b"or")) + keyed(b, (0,), (b"not",))
