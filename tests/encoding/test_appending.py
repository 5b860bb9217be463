# SPDX-License-Identifier: Apache-2.0
"""Writing behind what is there, in shards of a size, with an index; and reading what is written."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference
from verbs import number_records, read, run_python, write
from waiting import until

import fastrec
from fastrec import _core
from fastrec.storage.options import StorageOptions

RECORDS = number_records(12)


def test_appended_records_come_after_those_there(tmp_path: Path) -> None:
    path = write(tmp_path / "file", RECORDS[:5])
    for record in RECORDS[5:8]:
        with fastrec.Writer(path, append=True) as writer:
            writer.write(record)
    with fastrec.Writer(path, append=True) as writer:
        writer.write_many(RECORDS[8:])
    assert path.read_bytes() == reference.write_frames(RECORDS)
    assert os.listdir(tmp_path) == ["file"]


def test_appending_to_no_file_makes_one(tmp_path: Path) -> None:
    with fastrec.Writer(tmp_path / "file", append=True) as writer:
        writer.write(b"first")
    assert read(tmp_path / "file") == ([b"first"], None)
    other = tmp_path / "other"
    with pytest.raises(LookupError), fastrec.Writer(other, append=True) as writer:  # noqa: PT012
        writer.write(b"record")
        raise LookupError
    assert os.listdir(tmp_path) == ["file"]


def test_what_was_appended_is_taken_back(tmp_path: Path) -> None:
    path = write(tmp_path / "file", RECORDS)
    with pytest.raises(LookupError), fastrec.Writer(path, append=True) as writer:  # noqa: PT012
        writer.write(b"x" * 3_000_000)
        writer.flush()
        assert path.stat().st_size > 3_000_000
        raise LookupError
    assert read(path) == (RECORDS, None)


def test_a_torn_tail_is_not_appended_to(tmp_path: Path) -> None:
    path = write(tmp_path / "file", RECORDS)
    os.truncate(path, path.stat().st_size - 3)
    torn = path.read_bytes()
    with pytest.raises(fastrec.TruncatedFileError, match="repair"):
        fastrec.Writer(path, append=True)
    assert path.read_bytes() == torn
    fastrec.repair(path, in_place=True)
    with fastrec.Writer(path, append=True) as writer:
        writer.write(b"last")
    assert read(path) == ([*RECORDS[:-1], b"last"], None)


def test_two_writers_do_not_append_at_once(tmp_path: Path) -> None:
    path = write(tmp_path / "file", RECORDS)
    with fastrec.Writer(path, append=True) as writer:
        with pytest.raises(BlockingIOError):
            fastrec.Writer(path, append=True)
        writer.write(b"last")
    assert read(path) == ([*RECORDS, b"last"], None)


def test_gzip_files_get_another_member(tmp_path: Path) -> None:
    for part in (RECORDS[:5], RECORDS[5:]):
        with fastrec.Writer(tmp_path / "file", append=True, compression="GZIP") as writer:
            writer.write_many(part)
    assert read(tmp_path / "file") == (RECORDS, None)
    with pytest.raises(ValueError, match="ZLIB"):
        fastrec.Writer(tmp_path / "file", append=True, compression="ZLIB")


KILLED = """
    import sys, fastrec

    writer = fastrec.Writer(sys.argv[1], append=True)
    for i in range(10**9):
        writer.write(b"%d" % i * 50)
        if i % 10 == 9:
            writer.flush()
            print(i + 1, flush=True)
"""


def test_a_killed_writer_leaves_all_that_it_flushed(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("\n".join(line[4:] for line in KILLED.splitlines()))
    for trial in range(6):
        path = tmp_path / f"file{trial}"
        with subprocess.Popen([sys.executable, script, path], stdout=subprocess.PIPE) as killed:
            assert killed.stdout is not None
            time.sleep(0.01 * trial)
            killed.stdout.readline()
            killed.send_signal(signal.SIGKILL)
            flushed = int([b"10", *killed.stdout.read().split()][-1])
        records, error = read(path, on_error="tolerate_tail")
        assert error is None
        assert len(records) >= flushed
        assert records == [b"%d" % i * 50 for i in range(len(records))]


@pytest.mark.parametrize("options", [{"shard_records": 5}, {"shard_bytes": 200}])
@pytest.mark.parametrize("compression", [None, "GZIP"])
def test_shards_are_as_long_as_asked(tmp_path: Path, options: Any, compression: Any) -> None:
    with fastrec.Writer(tmp_path / "t.rec", compression=compression, **options) as writer:
        writer.write(RECORDS[0])
        writer.write_many(RECORDS[1:])
        writer.flush()
        assert not [name for name in os.listdir(tmp_path) if name[0] != "."]
    names = [f"t-{i:05d}-of-{len(writer.paths):05d}.rec" for i in range(len(writer.paths))]
    assert sorted(os.listdir(tmp_path)) == names
    assert list(fastrec.Reader(writer.paths)) == RECORDS
    sizes = [list(fastrec.Reader(path)) for path in writer.paths]
    if "shard_records" in options:
        assert list(map(len, sizes)) == [5, 5, 2]
    for shard in sizes[:-1]:
        assert "shard_records" in options or sum(len(r) + 16 for r in shard) >= 200
        assert sum(len(r) + 16 for r in shard[:-1]) < 200


def test_shards_of_a_size_are_published_together_or_not_at_all(tmp_path: Path) -> None:
    with (  # noqa: PT012
        pytest.raises(LookupError),
        fastrec.Writer(tmp_path / "t.rec", shard_records=2) as writer,
    ):
        writer.write_many(RECORDS)
        raise LookupError
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("compression", [None, "GZIP"])
@pytest.mark.parametrize("rows", [1, 2, 7, 90])
@pytest.mark.parametrize("options", [{"shard_records": 3}, {"shard_bytes": 500}])
def test_columns_are_divided_among_shards_as_records_are(
    tmp_path: Path, options: dict[str, Any], rows: int, compression: Any
) -> None:
    options = {**options, "compression": compression, "fsync": False}
    total = 2 * rows + 1
    values: dict[str, Any] = {"x": np.arange(total), "s": [b"s" * (i % 50) for i in range(total)]}
    records = fastrec.encode_examples(values)
    with fastrec.Writer(tmp_path / "r.rec", **options) as expected:
        expected.write_many(records)
    with fastrec.Writer(tmp_path / "t.rec", **options) as writer:
        writer.write(records[0])
        for start in (1, 1 + rows):
            batch = {name: column[start : start + rows] for name, column in values.items()}
            writer.write_batch(batch)
    assert writer.count == total
    assert len(writer.paths) == len(expected.paths)
    for path, other in zip(writer.paths, expected.paths, strict=True):
        assert list(fastrec.Reader(path)) == list(fastrec.Reader(other))


@pytest.mark.parametrize(
    "options",
    [{"shards": 2, "append": True}, {"shard_bytes": 1, "shard_records": 1}, {"shard_bytes": 0}],
)
def test_options_that_cannot_be_are_refused(tmp_path: Path, options: Any) -> None:
    with pytest.raises(ValueError, match="shard"):
        fastrec.Writer(tmp_path / "file", **options)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("options", [{}, {"shards": 2}, {"shard_records": 5}, {"append": True}])
def test_a_writer_leaves_an_index(tmp_path: Path, options: Any) -> None:
    with fastrec.Writer(tmp_path / "t.rec", index=True, **options) as writer:
        writer.write_many(RECORDS)
    reader = fastrec.Reader(writer.paths, index=True)
    assert sorted(reader[:]) == sorted(RECORDS)
    assert len(list(tmp_path.glob("*.frindex"))) == len(writer.paths)


@pytest.mark.parametrize("make", [list, tuple, fastrec.Bytes.from_list, iter])
@pytest.mark.parametrize("compression", [None, "ZLIB"])
def test_many_records_are_written_as_one_by_one(
    tmp_path: Path, make: Any, compression: Any
) -> None:
    with fastrec.Writer(tmp_path / "file", compression=compression) as writer:
        writer.write_many(make(number_records(3000)))
        assert writer.count == 3000
    assert read(tmp_path / "file") == (number_records(3000), None)


def test_a_block_whose_offsets_lie_is_refused(tmp_path: Path) -> None:
    for offsets in ([0, 5], [-1, 2], [2, 1]):
        block = fastrec.Bytes(np.zeros(3, np.uint8), np.array(offsets))
        with (
            fastrec.Writer(tmp_path / "file", overwrite=True) as writer,
            pytest.raises(ValueError, match="range"),
        ):
            writer.write_many(block)


# --- following ------------------------------------------------------------------------------------


def test_a_file_is_followed_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "live"
    path.write_bytes(b"")
    frames = reference.write_frames(RECORDS)

    def trickle() -> None:
        with open(path, "ab", buffering=0) as file:
            for at in range(0, len(frames), 37):
                file.write(frames[at : at + 37])
                time.sleep(0.002)

    feeder = threading.Thread(target=trickle)
    feeder.start()
    reader = fastrec.Reader(path, follow=True)
    iterator = iter(reader)
    assert [next(iterator) for _ in RECORDS] == RECORDS
    feeder.join()
    reader.close()
    assert list(iterator) == []


def test_following_ends_when_nothing_comes_and_never_in_a_record(tmp_path: Path) -> None:
    path = write(tmp_path / "live", RECORDS)
    os.truncate(path, path.stat().st_size - 3)
    begun = time.monotonic()
    assert list(iter(fastrec.Reader(path, follow=0.2))) == RECORDS[:-1]
    assert time.monotonic() - begun >= 0.2


def test_a_followed_file_that_shrinks_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "live", RECORDS)
    iterator = iter(fastrec.Reader(path, follow=5))
    assert [next(iterator) for _ in RECORDS] == RECORDS
    os.truncate(path, 20)
    with pytest.raises(fastrec.TruncatedFileError) as caught:
        next(iterator)
    assert caught.value.kind == "shrunk"


def test_a_followed_file_has_no_length(tmp_path: Path) -> None:
    with pytest.raises(fastrec.RandomAccessError):
        len(fastrec.Reader(write(tmp_path / "live", RECORDS), follow=True))


# --- limits on compressed files, and life ---------------------------------------------------------


def test_a_stream_that_inflates_too_far_is_refused(tmp_path: Path) -> None:
    with fastrec.Writer(tmp_path / "bomb", compression="GZIP") as writer:
        for _ in range(20):
            writer.write(bytes(1_000_000))
    assert read(tmp_path / "bomb")[1] is None
    for limit in ({"max_output_bytes": 5_000_000}, {"max_ratio": 100}):
        records, error = read(tmp_path / "bomb", **limit)
        assert isinstance(error, fastrec.LimitExceededError)
        assert next(iter(limit)) in str(error)
        assert len(records) < 10


def test_a_compressed_file_of_many_chunks_is_read_ahead_and_left_early(tmp_path: Path) -> None:
    records = [os.urandom(50_000) for _ in range(200)]
    with fastrec.Writer(tmp_path / "file", compression="GZIP", level=1) as writer:
        writer.write_many(records)
    assert list(fastrec.Reader(tmp_path / "file")) == records
    threads = set(threading.enumerate())
    for _ in range(10):
        assert next(iter(fastrec.Reader(tmp_path / "file"))) == records[0]
    until(lambda: set(threading.enumerate()) <= threads)


def test_readers_can_be_pickled(tmp_path: Path) -> None:
    path = write(tmp_path / "file", RECORDS)
    reader = fastrec.Reader(path, on_error="skip", max_bad=3)
    assert len(reader) == 12
    copy = pickle.loads(pickle.dumps(reader))
    assert copy[:] == list(copy) == RECORDS
    with open(path, "rb") as file, pytest.raises(TypeError, match="pickled"):
        pickle.dumps(fastrec.Reader(file))


SPAWNED = """
    import multiprocessing, sys
    import fastrec

    if __name__ == "__main__":
        reader = fastrec.Reader(sys.argv[1])
        assert reader[3] == reader.__getitems__([3])[0]
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            assert pool.map(reader.__getitem__, range(len(reader))) == list(reader)
"""


def test_readers_go_to_spawned_processes(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("\n".join(line[4:] for line in SPAWNED.splitlines()))
    path = write(tmp_path / "file", RECORDS)
    done = subprocess.run([sys.executable, script, path], capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr


SUBINTERPRETER = """
    import sys
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters
    import fastrec

    code = "try:\\n import fastrec\\nexcept ImportError:\\n pass"
    for _ in range(3):
        one = interpreters.create()
        interpreters.run_string(one, code)
        interpreters.destroy(one)
    assert fastrec.crc32c(b"123456789") == 0xE3069283
"""


@pytest.mark.skipif(sys.version_info < (3, 11), reason="NumPy there warns of every interpreter")
def test_a_subinterpreter_gets_the_package_or_an_import_error() -> None:
    run_python(SUBINTERPRETER)


def test_a_file_replaced_by_one_with_the_same_inode_is_replaced_again(tmp_path: Path) -> None:
    # A file system may give the inode of a removed file to the next one.
    path = tmp_path / "log.tfrecord"
    for before in ([b"old"], [b"old" * 3000, b""]):
        with fastrec.Writer(path, overwrite=True) as writer:
            writer.write_many(before)
        inode = os.stat(path).st_ino
        replacing = fastrec.Writer(path, overwrite=True)
        replacing.write(b"last")
        path.write_bytes(b"".join(map(_core.frame, [b"other" * 3000, b"longer"])))
        assert os.stat(path).st_ino == inode
        replacing.close()
        assert list(fastrec.Reader(path)) == [b"last"]


def test_a_saved_index_with_the_same_inode_is_replaced_again(tmp_path: Path) -> None:
    path = write(tmp_path / "file", RECORDS)
    saved = Path(fastrec.Index.build(path).save())
    long = fastrec.Index.build(write(tmp_path / "long", RECORDS * 50))
    replacing = fastrec.Index.build(path)._writer(None, False, StorageOptions())
    saved.write_bytes(bytes(long._saved()))
    replacing.close()
    assert len(fastrec.Index.load(path)) == len(RECORDS)


def test_records_appended_while_a_file_is_rewritten_are_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "log.tfrecord"
    with fastrec.Writer(path) as writer:
        writer.write(b"old")
    replacing = fastrec.Writer(path, overwrite=True)
    replacing.write(b"new")
    with fastrec.Writer(path, append=True) as writer:
        writer.write(b"appended")
    with pytest.raises(OSError, match="another writer appended to the file") as caught:
        replacing.close()
    assert caught.value.filename == str(path)
    assert list(fastrec.Reader(path)) == [b"old", b"appended"]
    assert os.listdir(tmp_path) == ["log.tfrecord"]
