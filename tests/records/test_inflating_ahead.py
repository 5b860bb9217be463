# SPDX-License-Identifier: Apache-2.0
"""Several threads inflate compressed files and spans of one file; the order stays the same."""

from __future__ import annotations

import gzip
import io
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from waiting import DEADLINE, interrupted, is_free

import fastrec
from fastrec.records import checkpoints, inflated, inflated_ahead, inflated_dataset
from fastrec.records.inflate import inflate
from fastrec.records.record_files import RecordFiles

RNG = np.random.default_rng(0)
RECORDS = [RNG.integers(0, 30, i % 700, dtype=np.uint8).tobytes() for i in range(1200)]
FEATURES = {"i": fastrec.FixedLenFeature((), np.int64)}


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints every 20 kB, where deflate blocks are that short, and blocks of 450 kB."""
    monkeypatch.setattr(checkpoints.Marks.__init__, "__defaults__", (20_000,))
    monkeypatch.setattr(checkpoints, "_EVERY", 20_000)
    monkeypatch.setattr(inflated_dataset, "_BLOCK", 450_000)


def write(path: Path, records: list[bytes], *, index: bool = False) -> Path:
    with fastrec.Writer(path, index=index, compression="GZIP", level=1) as writer:
        writer.write_many(records)
    return path


def read_all(source: Any, threads: int, **options: Any) -> tuple[list[bytes], Any]:
    """Return the records of one pass, and what ends it."""
    records: list[bytes] = []
    try:
        files = RecordFiles(source, **options)
        files.threads = threads
        for reader in files.readers(files.policy()):
            records += reader
    except (OSError, fastrec.FastrecError) as error:
        return records, (type(error), str(error))
    return records, [(each.path, each.begin) for each in files.skipped]


# --- several at once ----------------------------------------------------------------------------


def test_two_threads_inflate_two_files_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [write(tmp_path / f"{i}.gz", RECORDS[i * 100 : i * 100 + 100]) for i in range(8)]
    both = threading.Barrier(2, timeout=DEADLINE)
    original = inflated.Inflated.begin

    def begin(self: Any, size: int, pause: Any) -> None:
        both.wait()  # returns when another thread is here, too
        original(self, size, pause)

    monkeypatch.setattr(inflated.Inflated, "begin", begin)
    # The first file is read as it is inflated. A single thread would wait for the other forever.
    paths.append(write(tmp_path / "8.gz", RECORDS[800:900]))
    assert read_all(paths, 2) == (RECORDS[:900], [])


def test_spans_that_are_inflated_in_parts_follow_each_other_in_all_files(tmp_path: Path) -> None:
    records = [bytes(300_000)] * 100  # deflate blocks of several megabytes, and therefore spans
    paths = [tmp_path / f"{i}.gz" for i in range(2)]
    for path in paths:
        with fastrec.Writer(path, index=True, compression="GZIP") as writer:
            writer.write_many(records)
    assert read_all(paths, 2) == (2 * records, [])


@pytest.mark.usefixtures("often")
def test_two_threads_inflate_two_spans_of_one_file_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "x.gz", RECORDS, index=True)
    both = threading.Barrier(2, timeout=DEADLINE)
    original, begun = inflated_dataset.InflatedFile.parts, []

    def parts(self: Any, begin: int, end: int, pause: Any = None) -> Iterator[bytes]:
        begun.append(begin)
        if len(begun) <= 2:
            both.wait()
        return original(self, begin, end, pause)

    monkeypatch.setattr(inflated_dataset.InflatedFile, "parts", parts)
    assert read_all([path], 2) == (RECORDS, [])
    assert len(begun) >= 5


def test_with_one_thread_the_reader_inflates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [write(tmp_path / f"{i}.gz", RECORDS) for i in range(3)]
    before = set(threading.enumerate())
    files = RecordFiles(paths)
    files.threads = 1
    for reader in files.readers():
        next(reader)
        assert set(threading.enumerate()) <= before


def test_ctrl_c_at_any_call_leaves_the_inflated_output_usable() -> None:
    data = RNG.bytes(12 << 20)
    packed = gzip.compress(data, 0)
    after, was_raised = 0, True
    while was_raised:
        stream = inflated.Inflated(io.BytesIO(packed).read, "GZIP", "file")
        found = [stream(1)]
        parts, was_raised = interrupted(lambda: stream(1), after)  # noqa: B023
        assert stream._channel is not None
        assert is_free(stream._channel.lock), f"an interrupt at call {after} leaves the lock"
        found += parts
        found += iter(lambda: stream(1), b"")  # noqa: B023
        output = b"".join(found)
        assert output == data if parts else data.endswith(output[len(found[0]) :])
        after += 1
    assert after > 2


# --- the same results ---------------------------------------------------------------------------

KINDS = ("whole", "indexed", "empty", "plain", "missing", "cut", "damaged", "damaged, indexed")


def make(folder: Path, number: int, kind: str) -> Path:
    path = folder / f"{number}.gz"
    records = RECORDS[number * 50 : number * 50 + 400]
    if kind == "missing":
        return path
    if kind == "plain":
        with fastrec.Writer(path, compression=None) as writer:
            writer.write_many(records)
        return path
    write(path, [] if kind == "empty" else records, index="indexed" in kind)
    if kind == "cut":
        os.truncate(path, path.stat().st_size // 2)
    elif "damaged" in kind:
        stamp, data = path.stat(), bytearray(path.read_bytes())
        data[len(data) // 2] ^= 0x55
        path.write_bytes(data)
        os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # the index is believed
    return path


@pytest.mark.usefixtures("often")
@settings(max_examples=25)
@given(kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=5), skips=st.booleans())
def test_any_number_of_threads_gives_the_same_records_and_errors(
    tmp_path_factory: pytest.TempPathFactory, kinds: list[str], skips: bool
) -> None:
    folder = tmp_path_factory.mktemp("kinds")
    paths = [make(folder, number, kind) for number, kind in enumerate(kinds)]
    options = {"on_error": "skip"} if skips else {}
    alone = read_all(paths, 1, **options)
    assert read_all(paths, 3, **options) == alone
    if not {"missing", "cut", "damaged", "damaged, indexed"} & set(kinds):
        assert len(alone[0]) == 400 * (len(kinds) - kinds.count("empty"))


def test_a_file_longer_than_its_share_of_memory_is_read_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inflated_ahead, "_BEGUN", 1000)
    paths = [write(tmp_path / f"{i}.gz", RECORDS) for i in range(4)]
    assert read_all(paths, 2) == (RECORDS * 4, [])


def test_a_file_that_appears_is_read_when_it_is_tried_again(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{i}.gz", RECORDS[:10]) for i in range(3)]
    content = paths[1].read_bytes()
    files = RecordFiles(paths)
    files.threads = 2
    paths[1].unlink()
    readers = files.readers()
    assert list(next(readers)) == RECORDS[:10]
    with pytest.raises(FileNotFoundError):
        next(readers)
    paths[1].write_bytes(content)
    assert [list(reader) for reader in readers] == [RECORDS[:10]] * 2


# --- shards -------------------------------------------------------------------------------------


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that holds the number of bytes that are inflated from checkpoints."""
    count = [0]

    def counting(*arguments: Any, **options: Any) -> Iterator[bytes]:
        for chunk in inflate(*arguments, **options):
            count[0] += len(chunk)
            yield chunk

    monkeypatch.setattr(inflated_dataset, "inflate", counting)
    return count


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("world", [1, 2, 8])
@pytest.mark.parametrize(
    ("shuffle", "batch"),
    [("blocks", 16), (False, 400), (50, 400)],
    ids=["blocks", "file", "buffer"],
)
def test_a_shard_inflates_its_share(tmp_path: Path, world: int, shuffle: Any, batch: int) -> None:
    rng, paths = np.random.default_rng(0), []
    for number in range(2):
        paths.append(tmp_path / f"{number}.tfrecord.gz")
        with fastrec.Writer(paths[-1], index=True, level=1) as writer:
            for i in range(number * 6400, number * 6400 + 6400):
                writer.write({"i": i, "b": rng.integers(0, 16, 300, np.uint8).tobytes()})
    seen: list[int] = []
    for rank in range(world):
        batcher = fastrec.Batcher(
            paths, FEATURES, batch, shuffle=shuffle, seed=3, shard=(rank, world), threads=1
        )
        with pytest.MonkeyPatch.context() as patch:
            count = counted(patch)
            rows = np.concatenate([batch["i"] for batch in batcher])
        seen += rows.tolist()
        size = batcher._order.dataset.size * len(rows) / 12_800
        if world > 1 or shuffle == "blocks":
            # A run of 400 records is 139 kB, after 56 kB from the checkpoint on, on average.
            assert 0.95 * size <= count[0] <= (1.3 if shuffle == "blocks" else 1.9) * size
    assert sorted(seen) == list(range(12_800))


def test_gzip_of_another_program_is_inflated_ahead_too(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    with fastrec.Writer(plain) as writer:
        writer.write_many(RECORDS)
    paths = [tmp_path / f"{i}.gz" for i in range(3)]
    for path in paths:
        path.write_bytes(gzip.compress(plain.read_bytes()) + bytes(50))
    assert read_all(paths, 2) == (RECORDS * 3, [])
