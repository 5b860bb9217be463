# SPDX-License-Identifier: Apache-2.0
"""Functions that take many records or values accept every kind of iterable alike."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jpegs
import numpy as np
import pytest

import fastrec
from fastrec.columns import Bytes
from fastrec.parsing.infer import kinds_of

ROWS = [{"x": [i] * (i % 3), "name": f"n{i}"} for i in range(7)]
RECORDS = [fastrec.encode_example(row) for row in ROWS]
SEQUENCES = [
    fastrec.encode_sequence_example({"x": [i] * (i % 3)}, {"s": [[i]] * i}) for i in range(7)
]
FEATURES = {"x": fastrec.RaggedFeature(np.int64)}


def _objects(records: list[bytes]) -> Any:
    array = np.empty(len(records), object)
    array[:] = records
    return array


def _arrow(records: list[bytes]) -> Any:
    return pytest.importorskip("pyarrow").array(records)


def _chunked(records: list[bytes]) -> Any:
    arrow = pytest.importorskip("pyarrow")
    return arrow.chunked_array([records[:2], records[2:]], arrow.large_binary())


KINDS: dict[str, Callable[[list[bytes]], Any]] = {
    "list": list,
    "tuple": tuple,
    "generator": lambda records: (record for record in records),
    "map": lambda records: map(bytes, records),
    "chain": lambda records: itertools.chain(records[:3], records[3:]),
    "iterator": iter,
    "dict values": lambda records: dict(enumerate(records)).values(),
    "Bytes": Bytes.from_list,
    "slice of Bytes": lambda records: Bytes.from_list([b"other", *records])[1:],
    "blocks": lambda records: iter([Bytes.from_list(records[:4]), Bytes.from_list(records[4:])]),
    "list of blocks": lambda records: [Bytes.from_list(records[:4]), *records[4:]],
    "views": lambda records: map(memoryview, records),
    "bytearrays": lambda records: [bytearray(record) for record in records],
    "objects": _objects,
    "arrow": _arrow,
    "arrow chunks": _chunked,
}


def _written(tmp_path: Path, records: Any, **options: Any) -> list[bytes]:
    with fastrec.Writer(tmp_path / "out.tfrecord", overwrite=True, **options) as writer:
        writer.write_many(records)
    return list(fastrec.Reader(writer.paths))


def _parsed_on_threads(count: int, records: Any, _: Path) -> Any:
    return fastrec.parse_example(records, FEATURES, threads=count)


FUNCTIONS: dict[str, tuple[list[bytes], Callable[[Any, Path], Any]]] = {
    "parse_example": (RECORDS, lambda records, _: fastrec.parse_example(records, FEATURES)),
    **{
        f"parse_example, {count} threads": (
            RECORDS,
            functools.partial(_parsed_on_threads, count),
        )
        for count in (1, 2, 8)
    },
    "parse_sequence_example": (
        SEQUENCES,
        lambda records, _: fastrec.parse_sequence_example(
            records, FEATURES, {"s": fastrec.RaggedFeature(np.int64)}
        ),
    ),
    "kinds_of": (RECORDS, lambda records, _: kinds_of(records)),
    "Writer.write_many": (RECORDS, lambda records, path: _written(path, records)),
    "Writer.write_many, 2 shards": (
        RECORDS,
        lambda records, path: _written(path, records, shards=2),
    ),
    "Writer.write_many, 2 records a shard": (
        RECORDS,
        lambda records, path: _written(path, records, shard_records=2),
    ),
    "Writer.write_many, GZIP": (
        RECORDS,
        lambda records, path: _written(path, records, compression="GZIP"),
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_iterable_of_records_gives_the_result_of_a_list(
    tmp_path: Path, name: str, kind: str
) -> None:
    records, function = FUNCTIONS[name]
    assert function(KINDS[kind](records), tmp_path) == function(records, tmp_path)


@pytest.mark.parametrize("threads", [None, 1, 2, 8])
def test_readers_are_parsed_as_the_records_that_they_yield(
    tmp_path: Path, threads: int | None
) -> None:
    with fastrec.Writer(tmp_path / "a.tfrecord") as writer:
        writer.write_many(RECORDS * 1000)
    reader = fastrec.Reader(tmp_path / "a.tfrecord")
    expected = fastrec.parse_example(RECORDS * 1000, FEATURES)
    found: list[Any] = [reader, iter(reader), reader.views(), reader.blocks(3)]
    for records in found:
        assert fastrec.parse_example(records, FEATURES, threads=threads) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_values_of_every_iterable_are_decoded_alike(kind: str) -> None:
    values = [b"ab", b"cd", b"\0\0"]
    if "block" not in kind:  # a nested sequence there
        found = fastrec.decode_raw(KINDS[kind](values), np.uint8)
        np.testing.assert_array_equal(found, [[97, 98], [99, 100], [0, 0]])


@pytest.mark.parametrize("kind", KINDS)
def test_images_of_every_iterable_are_decoded_alike(kind: str) -> None:
    pytest.importorskip("PIL")
    images = [jpegs.encode(np.full((2, 3, 3), i, np.uint8), "PNG") for i in range(3)]
    found = fastrec.ImageFeature((2, 3)).decode(KINDS[kind](images))
    assert np.asarray(found)[:, 0, 0, 0].tolist() == [0, 1, 2]


REFUSED: dict[str, Any] = {
    "a name": "a.tfrecord",
    "a path": Path("a.tfrecord"),
    "a record": RECORDS[0],
    "a view of a record": memoryview(RECORDS[0]),
    "texts": ["text"],
    "a null": [RECORDS[0], None],
    "mappings": [{"x": 1}],
    "a number": 5,
    "None": None,
    "an array of strings of one size": np.array([b"fixed", b"size"]),
    "Bytes of two dimensions": Bytes(np.zeros(4, np.uint8), np.arange(5), (2, 2)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_iterable_of_records_is_refused(name: str) -> None:
    with pytest.raises(TypeError):
        fastrec.parse_example(REFUSED[name], FEATURES)
    with pytest.raises(TypeError):
        fastrec.parse_sequence_example(REFUSED[name], FEATURES)


def test_an_endless_iterator_is_written_while_it_yields(tmp_path: Path) -> None:
    def records() -> Iterator[bytes]:
        for _ in range(5000):
            yield b"record"
        assert writer.count > 0
        raise InterruptedError

    with pytest.raises(InterruptedError), fastrec.Writer(tmp_path / "a.tfrecord") as writer:
        writer.write_many(records())
    assert not (tmp_path / "a.tfrecord").exists()


@pytest.mark.parametrize("size", [1, 1 << 20])
def test_records_in_any_kind_of_memory_are_parsed(size: int) -> None:
    record = fastrec.encode_example({"x": bytes(size)})
    spread = memoryview(np.frombuffer(record, np.uint8).repeat(2).tobytes())[::2]
    records: list[Any] = [record, bytearray(record), memoryview(record), spread]
    columns = fastrec.parse_example(records, {"x": fastrec.FixedLenFeature((), bytes)})
    assert columns["x"].to_list() == [bytes(size)] * 4
