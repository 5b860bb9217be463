# SPDX-License-Identifier: Apache-2.0
"""Files that are not what they seem, names that are odd, and files that change under the reader."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import reference
from verbs import assert_one_ascii_line, gzipped, number_records, read, run_python, write

import fastrec

RECORDS = number_records(4)


def read_one(source: object) -> bytes:
    return next(iter(fastrec.Reader(source)))  # type: ignore[arg-type]


def len_of(source: object) -> int:
    return len(fastrec.Reader(source))  # type: ignore[arg-type]


USES = [read_one, len_of, fastrec.count, fastrec.verify]

PNG = b"\x89PNG\r\n\x1a\n" + bytes.fromhex("0000000d49484452000000010000000108060000001f15c489")
PARQUET = b"PAR1\x15\x04\x15\x10\x15\x14L\x15\x02\x15\x00\x12\x00\x00"
LZ4 = b"\x04\x22\x4d\x18\x64\x40\xa7\x06\x00\x00\x00hello there"
TEXT = b"This file is nothing but a line of text.\n"


@pytest.mark.parametrize("data", [PNG, PARQUET, LZ4, TEXT], ids=["png", "parquet", "lz4", "text"])
def test_a_file_of_another_kind_is_refused_at_its_start(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "file").write_bytes(data)
    records, error = read(tmp_path / "file")
    assert records == []
    assert isinstance(error, fastrec.CorruptRecordError)
    assert (error.kind, error.record, error.offset) == ("length-crc", 0, 0)
    assert_one_ascii_line(error)


@pytest.mark.parametrize("use", USES)
def test_a_directory_is_an_os_error_that_names_it(tmp_path: Path, use: type) -> None:
    with pytest.raises(IsADirectoryError) as caught:
        use(tmp_path)
    assert caught.value.filename == str(tmp_path)


@pytest.mark.parametrize("use", [*USES, fastrec.Reader, fastrec.Batcher])
def test_a_missing_file_is_an_os_error_that_names_it(tmp_path: Path, use: type) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        use(tmp_path / "absent")
    assert caught.value.filename == str(tmp_path / "absent")


@pytest.mark.parametrize("use", USES)
def test_a_pattern_without_a_match_is_no_empty_data_set(tmp_path: Path, use: type) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        use(str(tmp_path / "*.tfrecord"))
    assert caught.value.filename == str(tmp_path / "*.tfrecord")


def test_one_missing_file_of_many_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        fastrec.Reader([write(tmp_path / "there", RECORDS), tmp_path / "absent"])
    assert caught.value.filename == str(tmp_path / "absent")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_an_os_error(tmp_path: Path) -> None:
    path = write(tmp_path / "secret", RECORDS)
    path.chmod(0)
    with pytest.raises(PermissionError) as caught:
        list(fastrec.Reader(path))
    assert caught.value.filename == str(path)


def test_a_fifo_is_read_to_its_end(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    feeder = threading.Thread(target=write, args=(fifo, RECORDS))
    feeder.start()
    assert read(fifo) == (RECORDS, None)
    feeder.join()


def test_a_device_that_never_ends_is_refused_at_once() -> None:
    records, error = read("/dev/zero")
    assert records == []
    assert isinstance(error, fastrec.CorruptRecordError)
    assert error.kind == "zero-fill"


def test_the_null_device_is_empty() -> None:
    assert read(os.devnull) == ([], None)


# --- names --------------------------------------------------------------------------------------

ODD = ["with space", "per%cent %s %n", "new\nline", "quote'\"", "\N{SNOWMAN}", "a" * 255, "-rf"]
ODD.append(os.fsdecode(b"not utf-8 \xff\xfe"))


@pytest.mark.skipif(sys.platform == "darwin", reason="its file system takes no arbitrary bytes")
@pytest.mark.parametrize("name", ODD, ids=ascii)
def test_any_name_that_the_system_takes_works_and_prints_as_ascii(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    with fastrec.Writer(path) as writer:
        writer.write(b"record")
    assert os.listdir(os.fsencode(tmp_path)) == [os.fsencode(name)]
    with fastrec.Reader(path) as reader:
        assert list(reader) == [b"record"]
        assert os.fspath(reader.path_of(0)) == str(path)
    path.write_bytes(path.read_bytes()[:-1])
    _, error = read(path)
    assert isinstance(error, fastrec.TruncatedFileError)
    assert error.path == str(path)
    assert_one_ascii_line(error)


def test_a_name_with_a_nul_is_refused(tmp_path: Path) -> None:
    for use in (read_one, fastrec.Writer):
        with pytest.raises(ValueError, match=r"null|NUL|embedded"):
            use(str(tmp_path / "a\0b"))


def test_a_name_that_is_too_long_is_an_os_error(tmp_path: Path) -> None:
    for use in (read_one, fastrec.Writer):
        with pytest.raises(OSError, match="too long") as caught:
            use(tmp_path / ("a" * 300))
        assert caught.value.filename == str(tmp_path / ("a" * 300))


def test_names_may_be_bytes(tmp_path: Path) -> None:
    path = os.fsencode(write(tmp_path / "file", RECORDS))
    assert read(path) == (RECORDS, None)


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Starts in a folder with a file; calling it changes to another folder."""
    (tmp_path / "elsewhere").mkdir()
    write(tmp_path / "file", RECORDS)
    monkeypatch.chdir(tmp_path)
    return lambda: monkeypatch.chdir(tmp_path / "elsewhere")


@pytest.mark.parametrize("name", ["file", "./file", "f*e", ["file"]])
def test_a_relative_name_is_read_where_it_was_given(
    elsewhere: Callable[[], None], name: Any
) -> None:
    reader, batcher = fastrec.Reader(name), fastrec.Batcher(name, batch_size=4)
    elsewhere()
    assert [*reader] == reader[:] == [record for batch in batcher for record in batch] == RECORDS


def test_a_relative_name_is_written_where_it_was_given(
    elsewhere: Callable[[], None], tmp_path: Path
) -> None:
    with fastrec.Writer("written") as writer:
        elsewhere()
        writer.write(b"record")
    assert read(tmp_path / "written") == ([b"record"], None)
    assert os.listdir(tmp_path / "elsewhere") == []


# --- files that change --------------------------------------------------------------------------


def test_a_file_that_is_replaced_stays_readable_as_it_was(tmp_path: Path) -> None:
    path = write(tmp_path / "file", RECORDS)
    reader = fastrec.Reader(path)
    iterator, batches = iter(reader), reader.blocks(1)
    assert next(iterator) == reader[0] == next(batches)[0]
    os.replace(write(tmp_path / "new", [b"something", b"else"]), path)
    assert list(iterator) == [batch[0] for batch in batches] == RECORDS[1:]
    assert reader[:] == RECORDS
    assert read(path) == ([b"something", b"else"], None)


def test_a_file_that_is_removed_stays_readable(tmp_path: Path) -> None:
    path = write(tmp_path / "file", RECORDS)
    reader = fastrec.Reader(path)
    iterator, batches = iter(reader), iter(fastrec.Batcher(path, batch_size=1, threads=1))
    assert next(iterator) == reader[0] == next(batches)[0]
    path.unlink()
    assert list(iterator) == [batch[0] for batch in batches] == RECORDS[1:]
    assert reader[:] == RECORDS


# The records are larger than any buffer, so that the cut lies in what has not been read.
SHRINK = """
    import os, sys
    import fastrec

    path, how = sys.argv[1:]
    size = os.path.getsize(path)
    kinds = []
    try:
        if how == "iterate":
            for i, record in enumerate(fastrec.Reader(path)):
                assert record == bytes([i]) * 100_000
                if i == 3:
                    os.truncate(path, size // 2)
        elif how == "batches":
            for i, batch in enumerate(fastrec.Reader(path).blocks(4)):
                assert batch[0] == bytes([4 * i]) * 100_000
                if i == 1:
                    os.truncate(path, size // 2)
        elif how == "index":
            reader = fastrec.Reader(path)
            assert len(reader) == 100
            os.truncate(path, size // 2)
            assert reader[10] == bytes([10]) * 100_000
            reader[90]
        elif how == "batcher":
            batcher = fastrec.Batcher(path, batch_size=2, prefetch=1, threads=1)
            for i, batch in enumerate(batcher):
                assert batch[1] == bytes([2 * i + 1]) * 100_000
                if i == 3:
                    os.truncate(path, size // 2)
    except fastrec.TruncatedFileError as error:
        assert error.kind == "shrunk", error.kind
        assert error.path == path
        assert "\\n" not in str(error)
    else:
        sys.exit("no error")
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["iterate", "batches", "index", "batcher"])
def test_a_file_that_shrinks_is_an_error_and_not_a_crash(tmp_path: Path, how: str) -> None:
    path = write(tmp_path / "file", [bytes([i]) * 100_000 for i in range(100)])
    run_python(SHRINK, path, how)


MEMORY = """
    import resource, sys, time
    import fastrec

    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
    list(fastrec.Reader(sys.argv[2]))  # whatever the first read needs, once
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.monotonic()
    try:
        source = sys.stdin.buffer if sys.argv[1] == "-" else sys.argv[1]
        list(fastrec.Reader(source))
    except (fastrec.TruncatedFileError, fastrec.LimitExceededError) as error:
        assert error.record == 1, error
    else:
        sys.exit("no error")
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(grown, time.monotonic() - begin)
"""


@pytest.mark.unsanitized
@pytest.mark.skipif(sys.platform == "darwin", reason="counts memory in other units")
@pytest.mark.parametrize("length", [2**31 - 1, 2**31, 2**40, 2**62, 2**63, 2**64 - 16])
@pytest.mark.parametrize("how", ["file", "fifo", "gzip"])
def test_a_promise_of_much_takes_no_memory(tmp_path: Path, length: int, how: str) -> None:
    path = tmp_path / "hostile"
    data = reference.frame(b"good") + reference.header(length) + b"not much"
    feeder = threading.Thread(target=path.write_bytes, args=(data,))
    if how == "fifo":
        os.mkfifo(path)
        feeder.start()
    else:
        path.write_bytes(gzipped(data) if how == "gzip" else data)
    done = run_python(MEMORY, path, write(tmp_path / "small", RECORDS))
    grown_kib, seconds = map(float, done.stdout.split())
    assert grown_kib < 16 * 1024
    assert seconds < 10
    if how == "fifo":
        feeder.join()


def test_positions_beyond_four_gibibytes_are_exact(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    size = 2**32 + 5
    with open(path, "wb") as file:
        file.write(reference.header(size))
        file.seek(12 + size + 4)  # a hole: zeros that take no room
        file.write(reference.frame(b"beyond") + reference.frame(b"further"))
    with fastrec.Reader(path) as reader:
        assert reader[1:] == [b"beyond", b"further"]
    os.truncate(path, path.stat().st_size - 1)
    with pytest.raises(fastrec.TruncatedFileError) as caught:
        fastrec.count(path)
    assert (caught.value.record, caught.value.offset) == (2, 16 + size + 22)


def test_a_file_that_cannot_be_opened_is_not_passed_over(tmp_path: Path) -> None:
    paths = [write(tmp_path / name, [name.encode()]) for name in "abc"]
    records = iter(fastrec.Reader(paths))
    assert next(records) == b"a"
    paths[1].rename(tmp_path / "away")
    for _ in range(2):
        with pytest.raises(FileNotFoundError, match="b"):
            next(records)
    (tmp_path / "away").rename(paths[1])
    assert list(records) == [b"b", b"c"]


WINDOW, LONGEST = 256 << 10, 4 << 20  # bytes that are read together; of a record that is not mapped
AROUND = [size + more for size in (WINDOW, LONGEST) for more in (-17, -16, -12, -1, 0, 1)]


@pytest.mark.parametrize("damage", [None, 0, WINDOW - 3, WINDOW + 5, -5])
def test_records_around_the_size_of_a_window_are_those_of_a_stream(
    tmp_path: Path, damage: int | None
) -> None:
    path = str(tmp_path / "a.tfrecord")
    with fastrec.Writer(path, fsync=False) as writer:
        writer.write_many([bytes([65 + i]) * size for i, size in enumerate([1, *AROUND, 0, 7])])
    if damage is not None:
        with open(path, "r+b") as file:
            file.seek(damage, os.SEEK_END if damage < 0 else os.SEEK_SET)
            file.write(b"\xff\xff")
    data = Path(path).read_bytes()
    results = []
    for source in (path, io.BytesIO(data)):
        reader = fastrec.Reader(source, on_error="skip")
        records = [hash(record) for record in reader]
        results.append((records, [(each.begin, each.end, each.kind) for each in reader.skipped]))
    assert results[0] == results[1]
    assert len(results[0][0]) == len(AROUND) + 3 - (damage is not None)
    assert [hash(record) for record in fastrec.Reader(path, on_error="skip").views()] == (
        results[0][0]
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork()")
def test_a_reader_of_a_file_goes_on_in_parent_and_child(tmp_path: Path) -> None:
    path = str(tmp_path / "a.tfrecord")
    with fastrec.Writer(path, fsync=False) as writer:
        writer.write_many([i.to_bytes(2, "little") * 5000 for i in range(200)])
    code = (
        "import fastrec, os, sys\n"
        f"records = iter(fastrec.Reader({path!r}))\n"
        "next(records)\n"
        "child = os.fork()\n"
        "numbers = [int.from_bytes(record[:2], 'little') for record in records]\n"
        "assert numbers == list(range(1, 200))\n"
        "if child: sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork()")
def test_a_lock_that_a_thread_held_during_fork_is_free_in_the_child(tmp_path: Path) -> None:
    """All locks of the package are held while the process forks, and the child uses some."""
    path = str(tmp_path / "a.tfrecord")
    with fastrec.Writer(path, fsync=False) as writer:
        writer.write_many([b"a", b"b"])
    code = (
        "import contextlib, fastrec, gc, os, pickle, sys\n"
        "from fastrec.storage.remote import traffic\n"
        "from fastrec.threads.locks import ProcessLock\n"
        "traffic.add('requests', 3)\n"
        f"reader = fastrec.Reader({path!r})\n"
        "copy = pickle.loads(pickle.dumps(reader))\n"
        "with contextlib.ExitStack() as held:\n"
        "    locks = [each for each in gc.get_objects() if isinstance(each, ProcessLock)]\n"
        "    for lock in locks: held.enter_context(lock.current())\n"
        "    child = os.fork()\n"
        "    if not child:\n"
        "        for lock in locks:\n"
        "            with lock.current(): pass\n"
        "        assert traffic.counts()['requests'] == 0\n"
        "        traffic.add('requests')\n"
        "        assert traffic.counts()['requests'] == 1\n"
        "        assert [reader[1], copy[0]] == [b'b', b'a'] and len(locks) > 2\n"
        "for lock in locks:\n"  # in both processes, after the block that held them at the fork
        "    with lock.current() as held: assert held and not lock.current().acquire(False)\n"
        "    assert lock.current().acquire(False)\n"
        "    lock.current().release()\n"
        "if not child: sys.exit()\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0\n"
        "assert reader[1] == b'b' and traffic.counts()['requests'] == 3\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
