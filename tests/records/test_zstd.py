# SPDX-License-Identifier: Apache-2.0
"""Files compressed with zstd: their frames, and their own ways of being damaged."""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import json
import os
import struct
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from verbs import flip, gzipped, number_records, promise, read

import fastrec
from fastrec import cli
from fastrec.records import inflated_dataset, zstd

try:
    LIBRARY = zstd.library()
except ModuleNotFoundError as error:
    pytest.skip(str(error), allow_module_level=True)

RECORDS = number_records(5)
FRAMES = reference.write_frames(RECORDS)
FRAME_SIZE = 1 << 19
COMPRESS = LIBRARY.compressor(1)
MAGIC = b"\x28\xb5\x2f\xfd"
SKIPPABLE = b"\x50\x2a\x4d\x18"


def libraries() -> Iterator[zstd.Library]:
    """Yield each library that is installed."""
    for name, of in (
        ("compression.zstd", "_of_python"),
        ("backports.zstd", "_of_python"),  # the module of Python 3.14 for earlier versions
        ("zstandard", "_of_package"),
    ):
        with contextlib.suppress(ImportError):
            yield getattr(zstd, of)(importlib.import_module(name))._replace(name=name)


@pytest.fixture(params=[*libraries()], ids=lambda library: library.name)
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    from fastrec.records import zstd_stream

    monkeypatch.setattr(zstd, "library", lambda: request.param)
    monkeypatch.setattr(zstd_stream, "library", lambda: request.param)
    return request.param


def put(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def skippable(content: bytes, kind: int = 0) -> bytes:
    return bytes([0x50 + kind]) + SKIPPABLE[1:] + len(content).to_bytes(4, "little") + content


def block(content: bytes, last: bool = False, kind: int = 0, size: int | None = None) -> bytes:
    """Return a block: raw (kind 0), or one repeated byte (kind 1)."""
    size = len(content) if size is None else size
    return (size << 3 | kind << 1 | last).to_bytes(3, "little") + content


def frame(*blocks: bytes, header: bytes = b"\x00\x58") -> bytes:
    """Return a frame of blocks; by default its window is 2 MiB, and its size is unknown."""
    return MAGIC + header + b"".join(blocks)


def table_of(data: bytes) -> list[tuple[int, int]]:
    """Return the sizes in the frame table at the end of a file."""
    count, flags, magic = struct.unpack("<IBI", data[-9:])
    assert (flags, magic) == (0, 0x8F92EAB1)
    start = len(data) - 9 - 8 * count
    head, size = data[start - 8 : start - 4], data[start - 4 : start]
    assert (head, int.from_bytes(size, "little")) == (b"\x5e\x2a\x4d\x18", 8 * count + 9)
    return [*struct.iter_unpack("<II", data[start:-9])]


def contents(data: bytes) -> bytes:
    """Decompress each frame that the table names, on its own."""
    found, at = b"", 0
    for size, content in table_of(data):
        if content:
            found += LIBRARY.decompress(data[at : at + size], content)
        at += size
    assert at + 8 + 8 * len(table_of(data)) + 9 == len(data)
    return found


# -- Writing ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [None, -5, 19])
def test_a_file_is_frames_of_half_a_mebibyte_and_a_table(
    tmp_path: Path, library: Any, level: int | None
) -> None:
    records = number_records(3000)
    path = tmp_path / "a.tfrecord.zst"
    with fastrec.Writer(path, compression="ZSTD", level=level) as writer:
        writer.write_many(records)
        writer.write(bytes(2 * FRAME_SIZE))
    data = path.read_bytes()
    records.append(bytes(2 * FRAME_SIZE))
    assert contents(data) == reference.write_frames(records)
    sizes = [content for _, content in table_of(data)]
    assert set(sizes[:-1]) == {FRAME_SIZE}
    assert 0 < sizes[-1] <= FRAME_SIZE
    assert read(path) == (records, None)


def test_the_name_of_a_file_chooses_its_compression(tmp_path: Path) -> None:
    path = tmp_path / "A.TFRECORD.ZST"
    for compression, begin in (("auto", MAGIC), (None, FRAMES[:4]), ("gzip", b"\x1f\x8b\x08")):
        with fastrec.Writer(path, compression=compression, overwrite=True) as writer:  # type: ignore[arg-type]
            writer.write_many(RECORDS)
        assert path.read_bytes().startswith(begin)
        assert read(path) == (RECORDS, None)


def test_a_file_of_no_records_has_one_empty_frame(tmp_path: Path) -> None:
    with fastrec.Writer(tmp_path / "a.zst", index=True):
        pass
    assert len(table_of((tmp_path / "a.zst").read_bytes())) == 1
    assert read(tmp_path / "a.zst") == ([], None)
    assert len(fastrec.Reader(tmp_path / "a.zst")) == 0


@pytest.mark.parametrize("level", [23, -131073, 1.5])
def test_a_level_out_of_range_is_refused_before_a_file_exists(tmp_path: Path, level: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="level"):
        fastrec.Writer(tmp_path / "a.zst", level=level)
    assert not any(tmp_path.iterdir())


def test_a_stream_is_written_and_read(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with fastrec.Writer(stream, compression="zstd") as writer:
        writer.write_many(RECORDS)
    stream.seek(0)
    assert list(fastrec.Reader(stream)) == RECORDS


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    with fastrec.Writer(tmp_path / "a.zst", verify_after_write=True) as writer:
        writer.write_many(number_records(30_000))
    assert fastrec.verify(tmp_path / "a.zst").records == 30_000


def test_appending_continues_the_table(tmp_path: Path) -> None:
    path = tmp_path / "a.zst"
    for start in (0, 5, 10):
        with fastrec.Writer(path, append=True) as writer:
            writer.write_many(number_records(5, start))
    assert read(path) == (number_records(15), None)
    data = path.read_bytes()
    assert contents(data) == reference.write_frames(number_records(15))
    assert [content > 0 for _, content in table_of(data)] == [True, False, True, False, True]


@pytest.mark.parametrize("tail", [b"", skippable(b"other"), skippable(bytes(21), 14)])
def test_appending_to_a_file_without_a_table_writes_none(tmp_path: Path, tail: bytes) -> None:
    path = put(tmp_path / "a.zst", COMPRESS(FRAMES) + tail)
    with fastrec.Writer(path, append=True) as writer:
        writer.write_many(RECORDS)
    assert read(path) == (2 * RECORDS, None)
    assert path.read_bytes() == COMPRESS(FRAMES) + tail + LIBRARY.compressor(3)(FRAMES)


def test_appending_does_not_trust_a_table(tmp_path: Path) -> None:
    body = struct.pack("<IIIBI", 7, 7, 0xFFFFFFFF, 0, 0x8F92EAB1)
    path = put(tmp_path / "a.zst", COMPRESS(FRAMES) + skippable(body, 14))
    with fastrec.Writer(path, append=True) as writer:
        writer.write_many(RECORDS)
    assert read(path) == (2 * RECORDS, None)


def test_an_append_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a.zst"
    with fastrec.Writer(path) as writer:
        writer.write_many(RECORDS)
    before = path.read_bytes()

    def records() -> Iterator[bytes]:
        yield from number_records(100_000)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), fastrec.Writer(path, append=True) as writer:
        writer.write_many(records())
    assert path.read_bytes() == before


# -- Reading ---------------------------------------------------------------------------------------


@given(data=st.data())
def test_frames_of_every_kind_in_every_order_are_one_stream(data: Any) -> None:
    records = data.draw(st.lists(st.binary(max_size=300), max_size=20))
    stream = reference.write_frames(records)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    stored = b""
    for begin, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        part = stream[begin:end]
        kind = data.draw(st.sampled_from(["compressed", "raw", "blocks", "skippable"]))
        if kind == "skippable":
            stored += skippable(data.draw(st.binary(max_size=30)), data.draw(st.integers(0, 15)))
        if kind == "raw":
            stored += frame(block(part, last=True))
        elif kind == "blocks":
            parts = (part[at : at + 7] for at in range(0, len(part), 7))
            stored += frame(*map(block, parts), block(b"", last=True))
        else:
            stored += COMPRESS(part)
    assert list(fastrec.Reader(io.BytesIO(stored))) == records


@pytest.mark.parametrize("count", [5, 60_000])
def test_an_ordinary_frame_is_read_and_has_random_access(tmp_path: Path, count: int) -> None:
    content = reference.write_frames(number_records(count))
    path = put(tmp_path / "a.zst", COMPRESS(content))
    expected = [*fastrec.Reader(io.BytesIO(content))]
    reader = fastrec.Reader(path)
    assert list(reader) == expected
    assert [reader[i] for i in (0, -1, 3)] == [expected[i] for i in (0, -1, 3)]


def test_the_distance_in_a_frame_that_random_access_decompresses_is_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inflated_dataset, "_WHOLE", 500)
    monkeypatch.setattr(inflated_dataset, "_MOST_FRAME", 1000)
    path = put(tmp_path / "a.zst", COMPRESS(reference.write_frames(number_records(2000))))
    assert len(fastrec.Reader(path)) == 2000
    with pytest.raises(fastrec.RandomAccessError, match=r"fastrec reshard .*record 1999") as caught:
        fastrec.Reader(path)[1999]
    assert caught.value.record == 1999
    new = tmp_path / "new.zst"
    fastrec.reshard(path, new)
    monkeypatch.setattr(inflated_dataset, "_MOST_FRAME", FRAME_SIZE)
    assert fastrec.Reader(new)[1999] == number_records(2000)[1999]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Examples that fill several frames, with an index beside them."""
    path = tmp_path_factory.mktemp("zstd") / "a.tfrecord.zst"
    random = np.random.default_rng(0)
    with fastrec.Writer(path, index=True) as writer:
        writer.write_batch({"x": np.arange(3000), "noise": random.integers(0, 99, (3000, 400))})
    return path


@pytest.mark.parametrize("index", [True, False])
@pytest.mark.parametrize("shuffle", [False, "blocks", True])
@pytest.mark.parametrize("shards", [1, 3])
def test_a_batcher_reads_each_record_once_in_any_order(
    large: Path, tmp_path: Path, index: bool, shuffle: Any, shards: int
) -> None:
    source = large if index else put(tmp_path / "copy.zst", large.read_bytes())
    found = []
    for shard in range(shards):
        batcher = fastrec.Batcher(
            source, {"x": fastrec.FixedLenFeature((), np.int64)}, 64, shuffle=shuffle, seed=1,
            shard=(shard, shards),
        )  # fmt: skip
        found += [int(x) for batch in batcher for x in batch["x"]]
    assert sorted(found) == list(range(3000))


def test_a_pass_resumes_exactly(large: Path) -> None:
    def batches() -> Any:
        features = {"x": fastrec.FixedLenFeature((), np.int64)}
        return fastrec.Batcher(large, features, 64, shuffle=True, seed=0)

    first = iter(batches())
    for _ in range(7):
        next(first)
    state = json.loads(json.dumps(first.state_dict()))
    resumed = batches()
    resumed.load_state_dict(state)
    rest = [batch["x"].tolist() for batch in first]
    assert len(rest) == 40
    assert [batch["x"].tolist() for batch in resumed] == rest


def test_a_checkpoint_has_no_window(large: Path) -> None:
    index = fastrec.Index.load(large)
    assert index == fastrec.Index.build(large)
    assert index.checkpoints is not None
    assert len(index.checkpoints) == -(-int(index.offsets[-1]) // FRAME_SIZE)
    assert os.path.getsize(f"{large}.frindex") < 10_000


def test_a_dataset_index_knows_the_compression(large: Path) -> None:
    target = large.with_name("all.frdataset")
    fastrec.DatasetIndex.build(large, target)
    assert fastrec.Reader(target)[2999] == fastrec.Reader(large)[2999]


def test_a_pipe_delivers_each_block_that_has_arrived(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    arrived, go_on = threading.Event(), list[bool]()
    records = number_records(25_000)
    content = reference.write_frames(records)
    parts = [block(content[at : at + 100_000]) for at in range(0, len(content), 100_000)]
    parts.append(block(b"", last=True))

    def fill() -> None:
        with open(pipe, "wb", buffering=0) as file:
            file.write(frame(*parts[:4]))
            go_on.append(arrived.wait(60))
            file.write(b"".join(parts[4:]))

    thread = threading.Thread(target=fill)
    thread.start()
    reader = iter(fastrec.Reader(pipe))
    assert next(reader) == records[0]
    arrived.set()
    assert list(reader) == records[1:]
    thread.join(60)
    assert go_on == [True]


def test_the_commands_read_and_write_it(
    tmp_path: Path, large: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")  # reads and writes JSON lines

    def run(*words: object) -> str:
        assert cli.main([str(word) for word in words]) == 0
        return capsys.readouterr().out

    assert "3000" in run("count", large)
    assert json.loads(run("head", large, "-n", "1", "--json"))
    run("verify", large)
    run("merge", large, "-o", tmp_path / "merged", "--compression", "zstd")
    run("reshard", tmp_path / "merged", "-o", tmp_path / "b.tfrecord.zst", "--shards", 2)
    run("convert", f"{tmp_path}/b-*.zst", "-o", tmp_path / "c.jsonl")
    run("convert", tmp_path / "c.jsonl", "-o", tmp_path / "d.tfrecord.zst")
    for name in ("merged", "b-00000-of-00002.tfrecord.zst", "d.tfrecord.zst"):
        assert (tmp_path / name).read_bytes().startswith(MAGIC)
    features = {"x": fastrec.FixedLenFeature((), np.int64)}
    parsed = fastrec.parse_example(list(fastrec.Reader(tmp_path / "d.tfrecord.zst")), features)
    assert sorted(parsed["x"].tolist()) == list(range(3000))


def test_repair_saves_the_records_before_damage(tmp_path: Path) -> None:
    data = COMPRESS(FRAMES) + flip(COMPRESS(FRAMES), 8 * 30)
    path = put(tmp_path / "a.zst", data)
    fastrec.repair(path, tmp_path / "good.tfrecord")
    found, error = read(tmp_path / "good.tfrecord")
    assert (found[:5], error) == (RECORDS, None)


# -- Damage ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("stored", ["compressed", "blocks", "table"])
def test_a_file_cut_anywhere_is_an_error_after_a_prefix(
    tmp_path: Path, library: Any, stored: str
) -> None:
    parts = [FRAMES[at : at + 20] for at in range(0, len(FRAMES), 20)]
    whole = COMPRESS(FRAMES)
    if stored == "blocks":
        whole = frame(*map(block, parts), block(b"", last=True))
    end = len(whole)
    if stored == "table":
        whole += skippable(b"some table", 14)
    for size in range(1, len(whole)):
        if size == end:
            continue
        records, error = read(put(tmp_path / "a", whole[:size]), compression="ZSTD")
        assert isinstance(error, fastrec.TruncatedFileError), size
        assert records == RECORDS[: len(records)]
        if stored == "blocks":
            complete = (size - 6) // 23 * 20
            assert len(records) >= sum(FRAMES.find(r) + len(r) + 4 <= complete for r in RECORDS) - 1


def test_a_flipped_bit_never_gives_a_wrong_record(tmp_path: Path, library: Any) -> None:
    whole = COMPRESS(FRAMES)
    for bit in range(0, 8 * len(whole), 7):
        records, error = read(put(tmp_path / "a", flip(whole, bit)), compression="ZSTD")
        assert records == RECORDS[: len(records)]
        assert isinstance(error, fastrec.FastrecError) or records == RECORDS


@pytest.mark.parametrize("size", [1, 16, 64, 300, 65_536, FRAME_SIZE])
def test_a_stated_size_of_zero_never_hides_content(tmp_path: Path, library: Any, size: int) -> None:
    frames = reference.write_frames([b"x" * (size - 16)] if size >= 16 else [])
    whole = COMPRESS(frames or b"x")
    content_bytes = {0x20: 1, 0x60: 2, 0xA0: 4}[whole[4] & 0xE0]
    lie = whole[:5] + bytes(content_bytes) + whole[5 + content_bytes :]
    records, error = read(put(tmp_path / "a", lie), compression="ZSTD")
    assert records == []
    assert isinstance(error, fastrec.CorruptRecordError)
    with pytest.raises(fastrec.CorruptRecordError):
        fastrec.verify(tmp_path / "a", compression="ZSTD")


def test_a_wrong_checksum_of_a_frame_is_an_error_after_its_records(
    tmp_path: Path, library: Any
) -> None:
    whole = COMPRESS(FRAMES)
    records, error = read(put(tmp_path / "a", flip(whole, 8 * len(whole) - 1)))
    assert records == RECORDS
    assert isinstance(error, fastrec.CorruptRecordError)


@pytest.mark.parametrize("garbage", [b"x", b"garbage", bytes(64), gzipped(b"more")])
def test_garbage_after_a_frame_is_never_passed_over(tmp_path: Path, garbage: bytes) -> None:
    records, error = read(put(tmp_path / "a", COMPRESS(FRAMES) + garbage))
    assert records == RECORDS
    assert isinstance(error, fastrec.CorruptRecordError)


def test_damage_in_a_block_leaves_the_blocks_before_it(tmp_path: Path) -> None:
    bad = frame(block(FRAMES), block(b"\xff" * 50, kind=2), block(b"", last=True))
    records, error = read(put(tmp_path / "a", bad))
    assert records == RECORDS
    assert isinstance(error, fastrec.CorruptRecordError)
    assert error.kind == "compression"


@pytest.mark.parametrize(
    ("stored", "kind", "text"),
    [
        (frame(header=b"\x00\x88"), fastrec.LimitExceededError, "window of 134217728|window of 1"),
        (frame(header=b"\xe0" + (1 << 40).to_bytes(8, "little")),
         fastrec.LimitExceededError, "1099511627776 bytes, more than the limit of 134217728"),
        (frame(header=b"\x00\xff"), fastrec.LimitExceededError, "zstd -d --long=31"),
        (frame(header=b"\x03\x58\x2a\0\0\0"), fastrec.CorruptRecordError, "dictionary 42"),
        (frame(header=b"\x08\x58"), fastrec.CorruptRecordError, "reserved"),
        (frame(block(b"", kind=3), header=b"\x00\x58"), fastrec.CorruptRecordError, "block"),
        (frame(block(b"", size=1 << 20)), fastrec.CorruptRecordError, "block"),
        (frame(block(b"ab", last=True), header=b"\x20\x05"), fastrec.CorruptRecordError, ""),
        (frame(block(b"a" * 9, last=True), header=b"\x20\x05"), fastrec.CorruptRecordError, ""),
        (skippable(b"")[:4] + b"\xff" * 4, fastrec.TruncatedFileError, "truncated ZSTD"),
        (SKIPPABLE[:2], fastrec.TruncatedFileError, ""),
    ],
)  # fmt: skip
def test_each_hostile_header_is_refused_by_name(
    tmp_path: Path, stored: bytes, kind: Any, text: str
) -> None:
    if "limit" in text or stored[4:6] == b"\x00\x88":
        stored = stored.replace(b"\x00\x88", b"\x00\x89")  # the least window beyond the limit
    path = put(tmp_path / "a", COMPRESS(FRAMES) + stored)
    records, error = read(path)
    assert records == RECORDS
    assert isinstance(error, kind)
    assert error.path == str(path)
    if text:
        with pytest.raises(kind, match=text):
            raise error


def test_the_largest_window_of_the_program_is_read(tmp_path: Path, library: Any) -> None:
    path = put(tmp_path / "a", frame(block(FRAMES, last=True), header=b"\x00\x88"))
    assert read(path) == (RECORDS, None)


@pytest.mark.parametrize(
    ("limits", "text"),
    [({"max_ratio": 1000}, "max_ratio"), ({"max_output_bytes": 1 << 22}, "max_output_bytes")],
)
def test_a_bomb_is_stopped_by_the_limits(tmp_path: Path, limits: Any, text: str) -> None:
    # One record of a terabyte: 128 KiB from every four bytes.
    start = block(promise(1 << 40))
    bomb = frame(start, block(b"a", kind=1, size=1 << 17) * 1000)
    _, error = read(put(tmp_path / "a", bomb), max_record_bytes=1 << 41, **limits)
    assert isinstance(error, fastrec.LimitExceededError)
    assert text in str(error)


def test_a_bomb_that_lies_about_its_size_takes_the_memory_that_it_states(tmp_path: Path) -> None:
    bomb = frame(block(b"a", kind=1, size=1 << 17) * 5000, header=b"\x60\x00\x00")
    _, error = read(put(tmp_path / "a", bomb), compression="ZSTD", max_ratio=1000)
    assert isinstance(error, fastrec.FastrecError)


def test_other_contents_are_named(tmp_path: Path) -> None:
    for content, text in ((b"a,b\n1,2\n" * 9, "CSV"), (COMPRESS(FRAMES), "Zstandard"),
                          (gzipped(FRAMES), "GZIP")):  # fmt: skip
        _, error = read(put(tmp_path / "a", COMPRESS(content)))
        assert isinstance(error, fastrec.CorruptRecordError)
        assert text in str(error)
    _, error = read(put(tmp_path / "a", FRAMES), compression="ZSTD")
    assert "the file is not compressed: compression='auto' reads it" in str(error)


def test_a_table_does_not_replace_compressed_records(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = put(tmp_path / "a.csv", COMPRESS(FRAMES))
    source = tmp_path / "b.tfrecord"
    with fastrec.Writer(source) as writer:
        writer.write({"x": 1})
    with pytest.raises(FileExistsError, match="record file"):
        fastrec.convert(source, path, overwrite=True)


def test_a_record_length_that_looks_like_a_frame_is_a_record_length() -> None:
    data = promise(int.from_bytes(MAGIC, "little"))
    with pytest.raises(fastrec.TruncatedFileError, match="4247762216"):
        list(fastrec.Reader(io.BytesIO(data), max_record_bytes=1 << 33))


# -- Libraries -------------------------------------------------------------------------------------


@pytest.fixture
def no_library(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("compression", "compression.zstd", "zstandard"):
        monkeypatch.setitem(sys.modules, name, None)
    zstd.library.cache_clear()
    yield
    zstd.library.cache_clear()


@pytest.mark.usefixtures("no_library")
def test_a_missing_library_is_an_error_with_the_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = put(tmp_path / "a.zst", COMPRESS(FRAMES))
    features = {"x": fastrec.FixedLenFeature((), np.int64)}
    uses: list[Any] = [
        lambda: list(fastrec.Reader(path)),
        lambda: list(fastrec.Reader([path, path])),
        lambda: fastrec.Reader(path)[0],
        lambda: next(iter(fastrec.Batcher(path, features, 1, shuffle=True))),
        lambda: fastrec.verify(path),
        lambda: fastrec.Index.build(path),
        lambda: fastrec.Writer(tmp_path / "new.zst"),
    ]
    for use in uses:
        with pytest.raises(ModuleNotFoundError, match=r"pip install 'fastrec-io\[zstd\]'"):
            use()
    assert cli.main(["count", str(path)]) == 2
    assert "pip install 'fastrec-io[zstd]'" in capsys.readouterr().err
    assert [each.name for each in tmp_path.iterdir()] == ["a.zst"]


@pytest.mark.usefixtures("no_library")
def test_without_a_library_a_file_is_not_replaced_by_a_table(tmp_path: Path) -> None:
    path = put(tmp_path / "a.zst", COMPRESS(FRAMES))
    with pytest.raises(FileExistsError):
        fastrec.Manifest.build(put(tmp_path / "b", FRAMES)).save(path, overwrite=True)


@pytest.mark.parametrize(
    ("begin", "name", "remedy"),
    [
        (b"\xff\x06\0\0sNaPpY", "snappy", "python -m snappy"),
        (b"\x04\x22\x4d\x18", "LZ4", "lz4 -d"),
        (b"BZh91AY&SY", "bzip2", "bzip2 -d"),
        (b"\xfd7zXZ\0", "xz", "xz -d"),
    ],
)
@pytest.mark.parametrize("shuffle", [False, True])
def test_compressions_that_are_not_read_are_named_with_a_remedy(
    tmp_path: Path, begin: bytes, name: str, remedy: str, shuffle: bool
) -> None:
    path = put(tmp_path / "a.tfrecord", begin + bytes(range(200)))
    features = {"x": fastrec.FixedLenFeature((), np.int64)}
    use = functools.partial(fastrec.Batcher, path, features, 1, shuffle=shuffle)
    with pytest.raises(fastrec.CorruptRecordError, match=name) as caught:
        next(iter(use()))
    assert remedy in str(caught.value)
