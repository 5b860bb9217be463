# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C, fork, threads and the end of the interpreter, each in a process of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from verbs import number_records, run_python, write, write_examples
from waiting import DEADLINE

import fastrec

pytestmark = pytest.mark.slow

NUMBER = {"i": fastrec.FixedLenFeature((), np.int64)}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("interrupts")
    return write_examples(folder / "file", ({"i": i} for i in range(2000)))


LONG = {
    "batches": "for batch in fastrec.Batcher(path, batch_size=100, epochs=None): pass",
    "records": "for _ in range(10**9):\n    for record in fastrec.Reader(path): pass",
    # Each of these calls would take hours.
    "one verify": "fastrec.verify([sys.argv[2]] * 10**6)",
    "one record": "for _ in range(10**6): fastrec.Reader(sys.argv[2])[0]",
    "a manifest": "fastrec.Manifest.build([sys.argv[2]] * 10**6)",
    "one count": "fastrec.count([path] * 10**7)",
    "a pipe": "r, w = os.pipe()\nlist(fastrec.Reader(open(r, 'rb')))",
    "a fifo": "os.mkfifo(path + '.fifo')\nos.open(path + '.fifo', os.O_RDWR)\n"
    "list(fastrec.Reader(path + '.fifo'))",
}


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty million bytes in small records."""
    path = tmp_path_factory.mktemp("interrupts") / "large"
    path.write_bytes(write(path, [bytes(984)] * 1000).read_bytes() * 60)
    return path


@pytest.mark.parametrize("what", LONG)
def test_ctrl_c_ends_a_long_call(path: Path, large: Path, what: str) -> None:
    code = "import os, sys, fastrec\npath = sys.argv[1]\nprint('ready', flush=True)\n" + LONG[what]
    command = [sys.executable, "-c", code, str(path), str(large)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            time.sleep(0.4)
            assert process.poll() is None, "it was over before it could be interrupted"
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=DEADLINE)
        finally:
            process.kill()
    assert b"KeyboardInterrupt" in errors
    assert process.returncode == -signal.SIGINT


FORK = """
    import os, sys, warnings
    import fastrec

    warnings.simplefilter("ignore", DeprecationWarning)  # fork beside threads is what we test
    path, when = sys.argv[1:]
    batcher = fastrec.Batcher(path, batch_size=10, threads=3, epochs=2)
    iterator = iter(batcher)
    if when == "busy":
        next(iterator)
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            if when == "busy":
                try:
                    while True:
                        next(iterator)
                except (fastrec.FastrecError, RuntimeError, ValueError) as error:
                    assert "process" in str(error) or "fork" in str(error), error
            fresh = [record for batch in batcher for record in batch]
            assert len(fresh) == 4000
            del iterator, batcher
            status = 0
        except BaseException as error:
            print(repr(error), file=sys.stderr)
        finally:
            os._exit(status)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, status
    rest = sum(map(len, iterator))
    assert rest == (3990 if when == "busy" else 4000), rest
"""


@pytest.mark.unsanitized
@pytest.mark.parametrize("when", ["fresh", "busy"])
def test_a_forked_child_gets_an_error_or_batches_of_its_own(path: Path, when: str) -> None:
    for _ in range(5):
        run_python(FORK, path, when)


def test_readers_survive_a_fork(path: Path) -> None:
    code = """
        import os, sys, fastrec
        reader = fastrec.Reader(sys.argv[1])
        iterator = iter(reader)
        records = [next(iterator) for _ in range(10)]
        pid = os.fork()
        rest = list(iterator)
        assert len(rest) == 1990 and reader[5] == records[5]
        if pid == 0:
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
    """
    run_python(code, path)


@pytest.mark.unsanitized
def test_a_child_does_not_wait_for_a_thread_that_was_building_an_index(path: Path) -> None:
    code = """
        import os, sys, threading, time, warnings
        import fastrec
        warnings.simplefilter("ignore", DeprecationWarning)
        reader = fastrec.Reader([sys.argv[1]] * 6000)
        thread = threading.Thread(target=len, args=(reader,))
        thread.start()
        for _ in range(3):
            time.sleep(0.01)
            if (pid := os.fork()) == 0:
                reader._files.places = reader._files.places[:5]
                reader._files.paths = reader.paths[:5]
                os._exit(len(reader) not in (10_000, 12_000_000))
            assert os.waitpid(pid, 0)[1] == 0
        thread.join()
    """
    run_python(code, path, timeout=60)


def test_a_child_does_not_take_the_bytes_of_a_stream_from_its_parent(tmp_path: Path) -> None:
    code = """
        import os, sys, fastrec
        path = sys.argv[1]
        os.mkfifo(path)
        feeder = os.open(path, os.O_RDWR)
        frames = b"".join(fastrec._core.frame(b"record %d" % i) for i in range(500))
        os.write(feeder, frames)
        records = iter(fastrec.Reader(path))
        assert next(records) == b"record 0"
        if (pid := os.fork()) == 0:
            try:
                next(records)
            except ValueError as error:
                os._exit("in the process that opened it" not in str(error))
            os._exit(2)
        assert os.waitpid(pid, 0)[1] == 0
        assert [next(records) for _ in range(499)][-1] == b"record 499"
    """
    run_python(code, tmp_path / "fifo")


@pytest.mark.parametrize("opened", ["open(path, 'rb')", "open(path, 'rb', buffering=0)"])
def test_a_child_does_not_move_the_position_of_a_file_object(path: Path, opened: str) -> None:
    code = f"""
        import os, sys, fastrec
        path = sys.argv[1]
        expected = list(fastrec.Reader(path)) * 500
        copy = path + ".long"
        with fastrec.Writer(copy, overwrite=True) as writer:
            writer.write_many(expected)
        path = copy
        records = iter(fastrec.Reader({opened}))
        assert next(records) == expected[0]
        if (pid := os.fork()) == 0:
            try:
                list(records)
            except ValueError as error:
                os._exit("in the process that opened it" not in str(error))
            os._exit(2)
        assert os.waitpid(pid, 0)[1] == 0
        assert list(records) == expected[1:]
    """
    run_python(code, path)


@pytest.mark.parametrize(
    "code",
    [
        "batches = iter(fastrec.Batcher(path, batch_size=10, epochs=None)); next(batches)",
        "reader = fastrec.Reader(path); records = iter(reader); next(records)",
        "import threading\nbatcher = fastrec.Batcher(path, batch_size=1, epochs=None)\n"
        "t = threading.Thread(target=lambda: [0 for _ in batcher], daemon=True); t.start()\n"
        "import time; time.sleep(0.1)",
        "batch = next(iter(fastrec.Batcher(path, batch_size=10)))\nsys.modules['keep'] = batch",
        "views = fastrec.Reader(path).views(); view = next(views); sys.modules['keep'] = view",
        "blocks = fastrec.Reader(path).blocks(10); sys.modules['keep'] = next(blocks), blocks",
        "import gzip, io, pathlib\nmember = gzip.compress(pathlib.Path(path).read_bytes())\n"
        "records = iter(fastrec.Reader(io.BytesIO(member * 200))); next(records)",
        "import threading\nendless = lambda: [list(fastrec.Reader(path)) for _ in iter(int, 1)]\n"
        "for _ in range(3): threading.Thread(target=endless, daemon=True).start()\n"
        "import time; time.sleep(0.1)",
        "import atexit; reader = fastrec.Reader(path); atexit.register(lambda: len(list(reader)))",
    ],
    ids=[
        *("batcher", "reader", "daemon thread", "array", "views", "blocks", "inflating"),
        *("daemon readers", "at exit"),
    ],
)
def test_the_interpreter_ends_quietly_whatever_is_open(path: Path, code: str) -> None:
    for _ in range(3):
        done = run_python("import sys, fastrec\npath = sys.argv[1]\n" + textwrap.dedent(code), path)
        assert "Traceback" not in done.stderr
        assert "Fatal" not in done.stderr


# --- threads of the caller ----------------------------------------------------------------------


def test_threads_may_share_a_reader(path: Path) -> None:
    reader = fastrec.Reader(path)
    expected = list(reader)

    def read(seed: int) -> bool:
        order = np.random.default_rng(seed).permutation(2000)
        return all(reader[int(i)] == expected[i] for i in order) and list(reader) == expected

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(read, range(6)))


@pytest.mark.parametrize("what", ["reader", "batcher", "reader blocks"])
def test_threads_that_share_an_iterator_get_every_record_once_or_an_error(
    path: Path, what: str
) -> None:
    iterator: Iterator[Any]
    if what == "batcher":
        iterator = iter(fastrec.Batcher(path, batch_size=1, threads=2))
    elif what == "reader blocks":
        iterator = fastrec.Reader(path).blocks(1)
    else:
        iterator = zip(iter(fastrec.Reader(path)), strict=True)
    seen: list[bytes] = []
    refused = []

    def take() -> None:
        try:
            while True:
                seen.extend(next(iterator))
        except StopIteration:
            pass
        except (fastrec.FastrecError, RuntimeError, ValueError) as error:
            refused.append(error)

    threads = [threading.Thread(target=take) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE)
        assert not thread.is_alive()
    expected = list(fastrec.Reader(path))
    assert len(seen) == len(set(seen))
    assert sorted(seen) == sorted(expected) or refused


@pytest.mark.parametrize("how", [iter, fastrec.Reader.views, fastrec.Reader.blocks])
def test_threads_share_an_iterator_over_many_files(tmp_path: Path, how: Any) -> None:
    # One comes to the end of a file while others are on their way to it.
    records = number_records(600)
    for i in range(0, 600, 3):
        write(tmp_path / f"{i:03d}", records[i : i + 3])
    for _ in range(5):
        reader = fastrec.Reader(str(tmp_path / "*"))
        in_blocks = how is fastrec.Reader.blocks
        iterator: Iterator[Any] = how(reader, 2) if in_blocks else how(reader)
        with ThreadPoolExecutor(6) as pool:
            parts: list[list[Any]] = list(pool.map(list, [iterator] * 6))
        found = [each for part in parts for each in part]
        if in_blocks:
            found = [record for block in found for record in block]
        assert sorted(map(bytes, found)) == sorted(records)
        assert next(iterator, None) is None


def test_closing_while_another_thread_waits_ends_the_wait(path: Path) -> None:
    def run(batcher: fastrec.Batcher, begun: threading.Event) -> None:
        with contextlib.suppress(fastrec.FastrecError, RuntimeError, ValueError):
            for _ in batcher:
                begun.set()

    for _ in range(20):
        batcher = fastrec.Batcher(path, batch_size=3, epochs=None, threads=2)
        begun = threading.Event()
        thread = threading.Thread(target=run, args=(batcher, begun), daemon=True)
        thread.start()
        assert begun.wait(DEADLINE)
        batcher.close()
        thread.join(DEADLINE)
        assert not thread.is_alive()


def test_bytes_that_change_while_they_are_written_still_verify(tmp_path: Path) -> None:
    data = bytearray(1 << 16)
    stop = threading.Event()

    def scribble() -> None:
        i = 0
        while not stop.is_set():
            data[i % len(data)] = i % 256
            i += 1

    thread = threading.Thread(target=scribble)
    thread.start()
    try:
        with fastrec.Writer(tmp_path / "file") as writer:
            for _ in range(300):
                writer.write(data)
    finally:
        stop.set()
        thread.join()
    assert fastrec.verify(tmp_path / "file").records == 300


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="counts threads in /proc")
def test_workers_start_with_the_iteration_and_end_with_it(path: Path) -> None:
    code = """
        import os, sys, time, fastrec
        def count():
            return len(os.listdir("/proc/self/task"))
        import numpy
        before = count()
        batcher = fastrec.Batcher(sys.argv[1], batch_size=10, threads=3, epochs=None)
        assert count() == before
        iterator = iter(batcher)
        next(iterator)
        assert count() == before + 3
        batcher.close()
        until = time.monotonic() + 10  # the kernel lists a thread for a moment after its join
        while count() != before and time.monotonic() < until:
            time.sleep(0.01)
        assert count() == before
    """
    run_python(code, path)
