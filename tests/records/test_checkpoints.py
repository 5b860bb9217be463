# SPDX-License-Identifier: Apache-2.0
"""Random access into compressed files: blocks, checkpoints, and indexes that lie."""

from __future__ import annotations

import gzip
import os
import pickle
import random
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import fastrec
from fastrec import _core
from fastrec.records import checkpoints, compression, inflate, inflated_dataset

RNG = np.random.default_rng(0)
RECORDS = [
    RNG.integers(0, 30, size, dtype=np.uint8).tobytes() for size in RNG.integers(0, 3000, 4000)
]
FRAMES = b"".join(map(_core.frame, RECORDS))
TEXT = b"".join(b"%d, hello %d\n" % (i, i * i % 977) for i in range(60_000))


def deflate(data: bytes, level: int, strategy: int = 0, bits: int = -15) -> bytes:
    packer = zlib.compressobj(level, 8, bits, 8, strategy)
    return packer.compress(data) + packer.flush()


def in_members(data: bytes, size: int) -> bytes:
    pieces = (data[begin : begin + size] for begin in range(0, len(data), size))
    return b"".join(gzip.compress(piece, 1) for piece in pieces)


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, 6),
    "zlib": lambda data: zlib.compress(data, 1),
    "fixed codes": lambda data: deflate(data, 6, zlib.Z_FIXED, 31),
    "stored": lambda data: deflate(data, 0, 0, 31),
    "small members": lambda data: in_members(data, 5000),
    "members of some blocks": lambda data: in_members(data, 1_500_000),
    "padded": lambda data: gzip.compress(data[:99_999]) + bytes(100) + gzip.compress(data[99_999:]),
}


@pytest.fixture(params=PACKED)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    target = tmp_path / "x.tfrecord.gz"
    target.write_bytes(PACKED[request.param](FRAMES))
    return target


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints that are close to each other."""
    monkeypatch.setattr(checkpoints.Marks.__init__, "__defaults__", (50_000,))


# --- where blocks begin -------------------------------------------------------------------------


def walk(stream: bytes, step: int, every: int = 1000) -> tuple[int, list[tuple[int, int]]]:
    walker, found = _core.DeflateWalk(every, every), []
    for begin in range(0, max(len(stream), 1), step):
        found += walker.feed(stream[begin : begin + step], begin + step >= len(stream))
    return walker.output, found


@pytest.mark.parametrize("strategy", [zlib.Z_DEFAULT_STRATEGY, zlib.Z_HUFFMAN_ONLY, zlib.Z_FIXED])
@pytest.mark.parametrize("level", [0, 1, 6, 9])
def test_inflating_can_begin_where_a_block_does(level: int, strategy: int) -> None:
    stream = deflate(TEXT, level, strategy)
    size, found = walk(stream, len(stream))
    assert size == len(TEXT)
    assert found or strategy == zlib.Z_FIXED
    for step in (977, 65_536):
        assert walk(stream, step) == (size, found)
    for bits, output in found:
        window = TEXT[max(output - 32768, 0) : output]
        for library in {zlib, compression.inflater_library()}:
            inflater = library.decompressobj(-15, zdict=window)
            byte, shift = divmod(bits, 8)
            if shift:
                first = inflate.Resume(shift, window).first(stream[byte])
                assert inflater.decompress(first) == b""
                byte += 1
            assert inflater.decompress(stream[byte:]) == TEXT[output:]


def test_damaged_streams_are_refused_as_zlib_does() -> None:
    draw = random.Random(1)
    refused = 0
    for _ in range(3000):
        text = TEXT[: draw.randrange(1, 3000)]
        stream = bytearray(deflate(text, draw.randrange(10), draw.choice([0, 2, 3, 4])))
        for _ in range(draw.randrange(1, 4)):
            stream[draw.randrange(len(stream))] ^= 1 << draw.randrange(8)
        damaged = bytes(
            stream[: draw.randrange(1, len(stream) + 1)] if draw.random() < 0.2 else stream
        )
        inflater = zlib.decompressobj(-15)
        try:
            expected = len(inflater.decompress(damaged))
            sound = inflater.eof
        except zlib.error:
            sound = False
        refused += not sound
        for step in (len(damaged), 13):
            if sound:
                assert walk(damaged, step)[0] == expected
            else:
                with pytest.raises(fastrec.CorruptRecordError, match="deflate"):
                    walk(damaged, step)
    assert 1000 < refused < 3000


# --- records by number --------------------------------------------------------------------------


@pytest.mark.usefixtures("often")
def test_records_are_found_by_number(path: Path) -> None:
    reader = fastrec.Reader(path)
    assert len(reader) == len(RECORDS)
    numbers = RNG.permutation(len(RECORDS))[:500]
    assert list(reader.read_many(numbers)) == [RECORDS[number] for number in numbers]
    assert [reader[number] for number in (0, -1, 1234)] == [RECORDS[0], RECORDS[-1], RECORDS[1234]]
    assert list(reader) == RECORDS


@pytest.mark.usefixtures("often")
def test_an_index_beside_the_file_saves_inflating_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = fastrec.Index.build(path)
    assert index.save() == f"{path}.frindex"
    assert fastrec.Index.load(path) == pickle.loads(pickle.dumps(index)) == index
    assert (index.data_size, index.mtime_ns) == (path.stat().st_size, path.stat().st_mtime_ns)
    assert index.offsets[-1] == len(FRAMES)
    monkeypatch.setattr(fastrec.Index, "_inflated", None)
    for option in ("auto", True, f"{path}.frindex", index):
        reader = fastrec.Reader(path, index=option)
        assert (len(reader), reader[77]) == (len(RECORDS), RECORDS[77])
        assert list(reader) == list(reader.views()) == RECORDS


def test_lists_are_made_in_one_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(FRAMES))
    with monkeypatch.context() as patch:
        patch.setattr(fastrec.Index, "_inflated", None)
        assert list(fastrec.Reader(path)) == RECORDS
    reader = fastrec.Reader(path)
    records = iter(reader)
    with pytest.raises(fastrec.RandomAccessError, match=r"before iter\(\)"):
        len(reader)
    assert next(records) == RECORDS[0]
    assert len(reader) == len(RECORDS)
    assert len(list(reader)) == len(RECORDS)


def test_a_writer_leaves_it(tmp_path: Path) -> None:
    with fastrec.Writer(tmp_path / "x.gz", compression="GZIP", shards=3, index=True) as writer:
        writer.write_many(RECORDS)
    for each in writer.paths:
        assert fastrec.Index.load(each) == fastrec.Index.build(each)
    found = fastrec.Reader(writer.paths, index=True)
    assert sorted(found[:]) == sorted(RECORDS)


def test_an_empty_stream_has_an_index(tmp_path: Path) -> None:
    for name, data in (("a", gzip.compress(b"")), ("b", b"")):
        (tmp_path / name).write_bytes(data)
        reader = fastrec.Reader(tmp_path / name, compression="GZIP")
        assert len(reader) == 0
        assert reader[:] == []


def test_checkpoints_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints.Marks.__init__, "__defaults__", (20_000,))
    monkeypatch.setattr(checkpoints, "_MOST", 8)
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(FRAMES))
    index = fastrec.Index.build(path)
    assert index.checkpoints is not None
    assert 4 <= len(index.checkpoints) <= 8
    index.save()
    assert list(fastrec.Reader(path)) == fastrec.Reader(path)[:] == RECORDS


def test_a_long_span_is_read_in_pieces(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inflated_dataset, "_WHOLE", 100_000)
    reader = fastrec.Reader(path)
    numbers = [3999, 0, 2000, 2001]
    assert list(reader.read_many(numbers)) == [RECORDS[number] for number in numbers]


# --- damage and lies ----------------------------------------------------------------------------


@pytest.mark.usefixtures("often")
def test_a_file_that_changed_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    packed = gzip.compress(FRAMES)
    for meanwhile, error, kind in (
        (packed[: len(packed) // 2], fastrec.TruncatedFileError, "shrunk"),
        (packed + b"\0", fastrec.CorruptRecordError, "changed"),
    ):
        path.write_bytes(packed)
        reader = fastrec.Reader(path)
        assert reader[0] == RECORDS[0]
        path.write_bytes(meanwhile)
        with pytest.raises(error, match=r"x\.gz.*record 3990") as caught:
            reader[3990]
        assert (caught.value.path, caught.value.record) == (str(path), 3990)
        assert (caught.value.kind, caught.value.offset is not None) == (kind, True)
    os.unlink(path)
    with pytest.raises(FileNotFoundError, match=r"x\.gz"):
        reader[100]


def given(reader: fastrec.Reader) -> tuple[list[bytes], fastrec.FastrecError]:
    """The records before the damage, and the error."""
    found: list[bytes] = []
    try:
        found.extend(reader)
    except fastrec.CorruptRecordError as error:
        return found, error
    raise AssertionError("it is sound")


@pytest.mark.usefixtures("often")
def test_damage_is_found_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    packed = bytearray(gzip.compress(FRAMES))
    path.write_bytes(packed)
    fastrec.Index.build(path).save()
    stamp = path.stat().st_mtime_ns
    packed[len(packed) // 2] ^= 0x55
    path.write_bytes(packed)
    os.utime(path, ns=(stamp, stamp))
    reader = fastrec.Reader(path)
    assert reader[10] == RECORDS[10]
    assert reader[-1] == RECORDS[-1]
    with pytest.raises(fastrec.FastrecError, match=r"x\.gz"):
        reader.read_many(range(len(RECORDS)))
    found, error = given(reader)
    assert found == RECORDS[: len(found)]
    assert 1000 < len(found) < 3000
    assert error.record == len(found)
    assert str(path) in str(error)
    assert given(fastrec.Reader(path, index=False))[0] == found


def test_truncated_and_corrupt_streams_have_no_index(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    packed = gzip.compress(FRAMES)
    path.write_bytes(packed[:-1000])
    with pytest.raises(fastrec.TruncatedFileError, match=r"x\.gz"):
        len(fastrec.Reader(path))
    assert 3000 < len(fastrec.Reader(path, on_error="skip")) < 4000
    wrong = bytearray(packed)
    wrong[-8] ^= 1
    path.write_bytes(wrong)
    with pytest.raises(fastrec.CorruptRecordError, match="CRC check failed"):
        len(fastrec.Reader(path))
    path.write_bytes(gzip.compress(FRAMES[:-5]))
    with pytest.raises(fastrec.TruncatedFileError) as caught:
        len(fastrec.Reader(path))
    assert caught.value.record == len(RECORDS) - 1


@pytest.mark.usefixtures("often")
def test_what_is_skipped_has_no_number(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    frames = bytearray(FRAMES)
    offset = sum(len(record) + 16 for record in RECORDS[:2000])
    frames[offset + 14] ^= 1  # of its data
    frames[100_000 + 5] ^= 1
    path.write_bytes(gzip.compress(frames))
    expected = list(fastrec.Reader(path, on_error="skip"))
    assert len(RECORDS) - 4 < len(expected) < len(RECORDS)
    reader = fastrec.Reader(path, on_error="skip")
    assert len(reader) == len(expected)
    assert list(reader.read_many(range(len(reader)))) == expected
    assert [reader[number] for number in range(0, len(reader), 97)] == expected[::97]
    batches = fastrec.Batcher(path, batch_size=50, shuffle=True, seed=0, on_error="skip")
    assert sorted(record for batch in batches for record in batch) == sorted(expected)


def test_limits_hold_for_an_index_too(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(FRAMES))
    fastrec.Index.build(path).save()
    with pytest.raises(fastrec.LimitExceededError):
        len(fastrec.Reader(path, max_output_bytes=1_000_000))


def test_an_index_that_lies_is_refused_or_found_out(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(FRAMES))
    index = fastrec.Index.build(path)
    saved = bytes(index._saved())
    beside = Path(index.save())
    draw = random.Random(0)
    for _ in range(300):
        wrong = bytearray(saved)
        wrong[draw.randrange(len(wrong))] ^= 1 << draw.randrange(8)
        beside.write_bytes(wrong[: draw.randrange(len(wrong))] if draw.random() < 0.3 else wrong)
        with pytest.raises(fastrec.IndexMismatchError, match=r"x\.gz"):
            fastrec.Index.load(path)
    with pytest.warns(RuntimeWarning, match="refused"):
        assert fastrec.Reader(path)[5] == RECORDS[5]
    # Sound, and of another file with the stamp of this one.
    true = index.checkpoints
    assert true is not None
    places = true.places.copy()
    places[1:, 0] += 3
    lying = checkpoints.Checkpoints("GZIP", true.stamp, places, true._windows)
    beside.write_bytes(lying.save(index._core.save()))
    reader = fastrec.Reader(path)
    assert list(reader) == RECORDS
    with pytest.raises(fastrec.FastrecError, match=r"x\.gz") as caught:
        reader[-1]
    assert caught.value.record is not None
    plain = tmp_path / "x"
    plain.write_bytes(FRAMES)
    beside.write_bytes(bytes(memoryview(fastrec.Index.build(plain)._core.save())))
    with pytest.raises(
        fastrec.IndexMismatchError, match=r"made from a file of \d+ bytes, the file has \d+"
    ):
        len(fastrec.Reader(path, index=True))


@pytest.mark.usefixtures("often")
def test_checkpoints_beside_blocks_are_found_out(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(FRAMES))
    index = fastrec.Index.build(path)
    true, beside = index.checkpoints, Path(index.save())
    assert true is not None
    outcomes: set[object] = set()
    for column, step in ((0, 1), (1, 40)):
        for off in range(-8, 9):
            places = true.places.copy()
            places[5:20, column] += np.uint64(off * step % 2**64)
            lying = checkpoints.Checkpoints("GZIP", true.stamp, places, true._windows)
            beside.write_bytes(lying.save(index._core.save()))
            reader = fastrec.Reader(path)
            numbers = range(0, len(RECORDS), 50)
            try:
                assert list(reader.read_many(numbers)) == RECORDS[::50]
                outcomes.add("read")
            except fastrec.FastrecError as error:
                outcomes.add((error.path, error.record is not None))
    assert outcomes == {"read", (str(path), True)}


def test_text_indexes_are_of_plain_files(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(FRAMES))
    with pytest.raises(fastrec.RandomAccessError, match="uncompressed"):
        fastrec.Index.build(path).write_text(tmp_path / "x.idx")
