# SPDX-License-Identifier: Apache-2.0
"""Batches under hard conditions: much data, little disk, sudden death, Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from verbs import run_python

import fastrec

ROWS = """
import numpy as np, fastrec
def columns(rows):
    rng = np.random.default_rng(0)
    return {
        "ids": rng.integers(0, 50000, (rows, 20)),
        "values": rng.standard_normal((rows, 10)),
        "image": np.zeros((rows, 64), np.uint8),
    }
"""


def test_a_million_rows_are_written_in_flat_memory(tmp_path: Path) -> None:
    code = (
        ROWS
        + """
import resource, sys
data = columns(100_000)
with fastrec.Writer(sys.argv[1], fsync=False, overwrite=True) as writer:
    writer.write_batch(data)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(9):
        writer.write_batch(data)
    assert writer.count == 1_000_000
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(grown if sys.platform != "darwin" else grown // 1024)
"""
    )
    grown = int(run_python(code, tmp_path / "file", timeout=120).stdout)
    assert grown < 8 << 10, f"{grown} KiB more for nine times the rows"
    assert fastrec.count(tmp_path / "file") == 1_000_000


def test_a_batch_takes_blocks_of_memory_and_not_all_of_its_bytes(tmp_path: Path) -> None:
    code = (
        ROWS
        + """
import resource, sys
data = {"image": np.zeros((1, 1 << 16), np.uint8).repeat(2000, 0)}
with fastrec.Writer(sys.argv[1], fsync=False, overwrite=True) as writer:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    writer.write_batch(data)
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(grown if sys.platform != "darwin" else grown // 1024)
"""
    )
    grown = int(run_python(code, tmp_path / "file").stdout)
    assert grown < 16 << 10, f"{grown} KiB for 128 MiB of records"


@pytest.mark.parametrize("there", [False, True])
def test_a_disk_that_fills_up_within_a_batch_publishes_nothing(tmp_path: Path, there: bool) -> None:
    path = tmp_path / "file"
    if there:
        path.write_bytes(b"old")
    code = (
        ROWS
        + """
import errno, resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
sys.dont_write_bytecode = True  # the limit would cut it off
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
try:
    with fastrec.Writer(sys.argv[1], overwrite=True) as writer:
        try:
            writer.write_batch(columns(50_000))
        except OSError as error:
            assert error.errno == errno.EFBIG and error.filename == sys.argv[1], error
        else:
            raise SystemExit("no error")
        writer.write_batch(columns(10))
except OSError as error:
    assert error.errno == errno.EFBIG
else:
    raise SystemExit("it closed")
"""
    )
    run_python(code, path)
    assert os.listdir(tmp_path) == (["file"] if there else [])
    assert not there or path.read_bytes() == b"old"


def test_a_process_killed_within_a_batch_leaves_the_old_file_or_the_new_one(
    tmp_path: Path,
) -> None:
    path = tmp_path / "file"
    code = (
        ROWS
        + """
import sys
data = columns(30_000)
print("go", flush=True)
with fastrec.Writer(sys.argv[1], fsync=False, overwrite=True) as writer:
    for _ in range(3):
        writer.write_batch(data)
print("done", flush=True)
"""
    )
    command = [sys.executable, "-c", textwrap.dedent(code), str(path)]
    whole = None
    for trial in range(8):
        child = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert child.stdout is not None
        with child:
            child.stdout.readline()
            time.sleep(0.004 * (trial + 1) if trial < 7 else 0)
            if trial < 7:
                child.send_signal(signal.SIGKILL)
            child.wait(60)
        if path.exists():
            assert fastrec.verify(path).records == 90_000
            whole = path.read_bytes() if whole is None else whole
            assert path.read_bytes() == whole
    assert whole is not None


def test_ctrl_c_within_a_batch_ends_it_at_once_and_publishes_nothing(tmp_path: Path) -> None:
    code = (
        ROWS
        + """
import os, signal, sys, threading, time
data = columns(400_000)
def interrupt():
    time.sleep(0.05)
    interrupt.at = time.process_time()
    os.kill(os.getpid(), signal.SIGINT)
thread = threading.Thread(target=interrupt)
try:
    with fastrec.Writer(sys.argv[1], fsync=False, overwrite=True) as writer:
        thread.start()
        while True:
            writer.write_batch(data)
except KeyboardInterrupt:
    took = time.process_time() - interrupt.at
    print(took)
"""
    )
    took = float(run_python(code, tmp_path / "file", check=False).stdout)
    assert took < 2, "a block is done in milliseconds"
    assert os.listdir(tmp_path) == []


def test_a_bad_value_in_the_last_row_leaves_the_writer_as_it_was(tmp_path: Path) -> None:
    values = np.zeros((100_000, 4))
    values[-1, -1] = 1e300
    with fastrec.Writer(tmp_path / "file") as writer:
        writer.write({"a": 1})
        with pytest.raises(OverflowError, match=r"row 99999: feature 'b': 1e\+300"):
            writer.write_batch({"a": np.zeros(100_000, np.int8), "b": values})
        writer.write_batch({"a": [2], "b": [0.5]})
        assert writer.count == 2
    assert fastrec.verify(tmp_path / "file").records == 2


def test_threads_that_share_the_functions_do_not_share_rows() -> None:
    import threading

    mappings = [{"n": n, "v": [n] * 20, "s": f"row {n}", "f": n / 2} for n in range(300)]
    expected = [fastrec.encode_example(mapping) for mapping in mappings]
    wrong: list[int] = []

    def encode() -> None:
        for _ in range(10):
            for number, mapping in enumerate(mappings):
                if fastrec.encode_example(mapping) != expected[number]:
                    wrong.append(number)

    threads = [threading.Thread(target=encode) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_value_may_encode_examples_while_it_is_asked_for_its_array() -> None:
    class Inner:
        def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
            return np.frombuffer(fastrec.encode_example({"x": 1, "y": [2, 3]}), np.uint8)

    inner = fastrec.encode_example({"x": 1, "y": [2, 3]})
    data = fastrec.encode_example({"a": [1, 2], "b": Inner(), "c": ["x"], "d": 5})
    example = fastrec.train.Example.FromString(data).features.feature
    assert example["b"].bytes_list.value == [inner]
    assert list(example["a"].int64_list.value) == [1, 2]
    assert example["c"].bytes_list.value == [b"x"]
