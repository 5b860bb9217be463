# SPDX-License-Identifier: Apache-2.0
"""Writers among threads, forks and callbacks, and where descriptors are few."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from verbs import number_records, read, run_python

import fastrec

RECORDS = number_records(3000)

WAYS: list[dict[str, Any]] = [
    {},
    {"compression": "GZIP", "level": 1},
    {"shards": 3},
    {"shard_records": 500},
    {"shard_bytes": 9000, "compression": "ZLIB", "level": 1},
]


@pytest.mark.parametrize("options", WAYS, ids=str)
def test_threads_may_share_a_writer(tmp_path: Path, options: dict[str, Any]) -> None:
    with (
        fastrec.Writer(tmp_path / "file", fsync=False, **options) as writer,
        ThreadPoolExecutor(4) as pool,
    ):
        futures = [pool.submit(writer.write_many, RECORDS[i : i + 30]) for i in range(0, 2000, 30)]
        futures += [pool.submit(writer.write, record) for record in RECORDS[2010:]]
        futures += [pool.submit(writer.write_batch, {"i": [i] * 50}) for i in range(20)]
        for future in futures:
            future.result()
    assert writer.count == 4000
    found = [record for path in writer.paths for record in fastrec.Reader(path)]
    examples = [record for i in range(20) for record in [fastrec.encode_example({"i": i})] * 50]
    assert sorted(found) == sorted(RECORDS + examples)
    if "shards" in options:
        assert max(map(fastrec.count, writer.paths)) - min(map(fastrec.count, writer.paths)) <= 1
    if "shard_records" in options:
        assert all(fastrec.count(path) >= 500 for path in writer.paths[:-1])


@pytest.mark.parametrize("options", WAYS, ids=str)
def test_closing_while_others_write_keeps_what_they_were_told_is_written(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    for turn in range(5):
        writer = fastrec.Writer(tmp_path / f"file{turn}", fsync=False, **options)
        begun = threading.Barrier(4)

        def write(number: int, writer: Any = writer, begun: Any = begun) -> list[bytes]:
            done = []
            begun.wait()
            with contextlib.suppress(ValueError):
                for i in range(100_000):
                    record = b"%d %d" % (number, i)
                    writer.write(record)
                    done.append(record)
            return done

        with ThreadPoolExecutor(3) as pool:
            parts = [pool.submit(write, number) for number in range(3)]
            begun.wait()
            writer.close()
            written = [record for part in parts for record in part.result()]
        assert len(written) < 300_000
        assert sorted(r for path in writer.paths for r in fastrec.Reader(path)) == sorted(written)
        assert writer.count == len(written)


@pytest.mark.parametrize("options", WAYS, ids=str)
@pytest.mark.parametrize("how", ["close", "abort"])
def test_a_record_whose_reading_closes_the_writer_is_refused(
    tmp_path: Path, options: dict[str, Any], how: str
) -> None:
    writer = fastrec.Writer(tmp_path / "file", fsync=False, **options)
    writer.write(b"first")

    def some() -> Any:
        yield b"second"
        getattr(writer, how)()
        yield b"third"

    with pytest.raises(ValueError, match="writer is"):
        writer.write_many(some())
    with pytest.raises(ValueError, match="writer is"):
        writer.write(b"more")
    if how == "abort":
        assert os.listdir(tmp_path) == []
    else:
        found = [record for path in writer.paths for record in fastrec.Reader(path)]
        assert found in ([b"first"], [b"first", b"second"])


def test_a_row_may_write_and_close_while_it_is_read(tmp_path: Path) -> None:
    writer = fastrec.Writer(tmp_path / "file")

    class Meddling(Mapping[str, Any]):
        def __len__(self) -> int:
            return 1

        def __iter__(self) -> Iterator[str]:
            return iter("a")

        def __getitem__(self, key: str) -> int:
            writer.write({"b": 2})
            writer.close()
            return 1

    with pytest.raises(ValueError, match="writer is"):
        writer.write(Meddling())
    assert read(tmp_path / "file") == ([fastrec.encode_example({"b": 2})], None)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="classes cannot be buffers there")
def test_a_buffer_that_closes_the_writer_is_refused(tmp_path: Path) -> None:
    writer = fastrec.Writer(tmp_path / "file")

    class Buffer:
        def __buffer__(self, flags: int) -> memoryview:
            writer.close()
            return memoryview(b"abc")

    ways: list[Any] = [writer.write, lambda buffer: writer.write_many([buffer])]
    for write in ways:
        with pytest.raises(ValueError, match="writer is"):
            write(Buffer())
    assert read(tmp_path / "file") == ([], None)


FORK = """
    import os, sys, threading, time, warnings
    import fastrec

    warnings.simplefilter("ignore", DeprecationWarning)
    path, how = sys.argv[1:]
    options = {"compression": "GZIP"} if how == "gzip" else {"append": how == "append"}
    writer = fastrec.Writer(path, fsync=False, **options)
    big = [bytes(1 << 20)] * 8
    stop = threading.Event()

    def keep_writing():
        while not stop.is_set():
            writer.write_many(big)

    thread = threading.Thread(target=keep_writing)
    thread.start()
    for _ in range(12):
        time.sleep(0.01)
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                uses = [lambda: writer.write(b"x"), lambda: writer.write_many(big), writer.flush]
                for use in uses:
                    try:
                        use()
                    except ValueError:
                        pass
                    else:
                        break
                else:
                    writer.abort()
                    del writer, use, uses
                    status = 0
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    stop.set()
    thread.join()
    count = writer.count
    writer.close()
    assert fastrec.verify(path).records == count
"""


@pytest.mark.unsanitized
@pytest.mark.parametrize("how", ["plain", "append", "gzip"])
def test_a_forked_child_cannot_write_and_waits_for_nobody(tmp_path: Path, how: str) -> None:
    run_python(FORK, tmp_path / "file", how)


def test_the_lock_of_an_appending_writer_goes_with_it_and_not_with_its_children(
    tmp_path: Path,
) -> None:
    code = """
        import os, sys, fastrec
        writer = fastrec.Writer(sys.argv[1], append=True)
        ready, done = os.pipe(), os.pipe()
        if (pid := os.fork()) == 0:
            os.write(ready[1], b"x")
            os.read(done[0], 1)
            os._exit(0)
        os.read(ready[0], 1)
        writer.write(b"a")
        writer.close()
        with fastrec.Writer(sys.argv[1], append=True) as again:
            again.write(b"b")
        os.write(done[1], b"x")
        os.waitpid(pid, 0)
        assert list(fastrec.Reader(sys.argv[1])) == [b"a", b"b"]
    """
    run_python(code, tmp_path / "file")


# --- few descriptors ----------------------------------------------------------------------------

FEW = """
    import os, resource, subprocess, sys
    import numpy as np
    import fastrec

    folder = sys.argv[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
    with fastrec.Writer(folder + "/rolling", shard_records=1, fsync=False) as writer:
        writer.write_many([b"%d" % i for i in range(300)])
    before = sorted(os.listdir(folder))
    assert len(before) == len(writer.paths) == 300

    reader = fastrec.Reader(folder + "/rolling*")
    assert len(reader) == len(list(reader)) == 300 and reader[299] == b"299"
    assert fastrec.verify(reader.paths).files == 300
    batches = fastrec.Batcher(folder + "/rolling*", batch_size=7, shuffle=True, seed=1)
    assert sorted(r for batch in batches for r in batch) == sorted(reader)

    try:
        fastrec.Writer(folder + "/many", shards=100)
    except OSError as error:
        assert error.errno == 24 and "many-000" in error.filename, error
    else:
        sys.exit("a hundred files were open")
    assert sorted(os.listdir(folder)) == before

    # What is open is not open in programs that are run.
    writer = fastrec.Writer(folder + "/open")
    iterator = iter(reader)
    next(iterator)
    code = "import os, glob; print(list(map(os.path.realpath, glob.glob('/proc/self/fd/*'))))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          check=True, close_fds=False)
    assert folder not in done.stdout, done.stdout
    writer.abort()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_few_descriptors_are_enough_for_many_files(tmp_path: Path) -> None:
    run_python(FEW, tmp_path)


def test_arrays_are_written_as_the_bytes_they_are(tmp_path: Path) -> None:
    with fastrec.Writer(tmp_path / "file") as writer:
        records: list[Any] = [np.arange(3, dtype=np.uint8), bytearray(b"abc"), memoryview(b"xyz")]
        writer.write_many(records)
    assert read(tmp_path / "file") == ([b"\0\1\2", b"abc", b"xyz"], None)
