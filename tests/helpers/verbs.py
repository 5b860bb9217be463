# SPDX-License-Identifier: Apache-2.0
"""Actions on files, bytes and processes, named so that tests read as sentences."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import subprocess
import sys
import textwrap
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference
from waiting import DEADLINE

import fastrec

# What commands need that a platform may not have.
_PACKAGES = {"convert": "pyarrow", "images": "PIL", "demo": "sklearn"}


def skip_without_package_of(verb: str) -> None:
    """Skip the test if the package that a command needs is not installed."""
    if verb in _PACKAGES:
        pytest.importorskip(_PACKAGES[verb])


@contextlib.contextmanager
def files_limited_to(size: int) -> Iterator[None]:
    """Limit the size of files in bytes; skip the test on platforms without such a limit."""
    resource = pytest.importorskip("resource")
    before, cached = resource.getrlimit(resource.RLIMIT_FSIZE), sys.dont_write_bytecode
    sys.dont_write_bytecode = True  # Python would keep bytecode that the limit cuts off
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        sys.dont_write_bytecode = cached


# --- files and bytes ----------------------------------------------------------------------------


def write(path: Path, records: Iterable[bytes]) -> Path:
    """A record file, made without fastrec."""
    path.write_bytes(reference.write_frames(records))
    return path


def write_examples(path: Path, mappings: Iterable[dict[str, Any]]) -> Path:
    return write(path, map(reference.encode, mappings))


def number_records(count: int, start: int = 0) -> list[bytes]:
    """Different records of different sizes that say their number."""
    return [b"record %d " % i * (i % 5 + 1) for i in range(start, start + count)]


def flip(data: bytes, bit: int) -> bytes:
    flipped = bytearray(data)
    flipped[bit // 8] ^= 1 << bit % 8
    return bytes(flipped)


def promise(length: int, data: bytes = b"") -> bytes:
    """A header whose length has a valid CRC, and less, or other, data than it says."""
    return reference.header(length % 2**64) + data


def gzipped(data: bytes) -> bytes:
    return gzip.compress(data, compresslevel=1, mtime=0)


def zlibbed(data: bytes) -> bytes:
    return zlib.compress(data, 1)


def offsets_of(records: Iterable[bytes]) -> list[int]:
    """Offset of each record, then the end of the last one."""
    offsets = [0]
    for record in records:
        offsets.append(offsets[-1] + len(record) + 16)
    return offsets


# --- reading ------------------------------------------------------------------------------------


def read(source: Any, **options: Any) -> tuple[list[bytes], Exception | None]:
    """The records that iteration gives, and the data error that ended it, if one did."""
    records: list[bytes] = []
    try:
        with fastrec.Reader(source, **options) as reader:
            for record in reader:  # keeps what came before an error
                records.append(record)
    except fastrec.FastrecError as error:
        return records, error
    return records, None


def outcome(action: Callable[[], Any]) -> Any:
    """Return the result of the call, or the class of its exception."""
    try:
        return action()
    except Exception as error:
        return type(error)


# --- columns ------------------------------------------------------------------------------------


def assert_same_array(found: Any, expected: Any) -> None:
    """Dtype, shape and every bit; of narrowed or widened NaNs only that they are NaNs."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    if found.dtype.kind in "fc" and found.dtype != np.float32:
        np.testing.assert_array_equal(found, expected)
    else:
        assert found.tobytes() == expected.tobytes()


def assert_column(column: Any, rows: Sequence[Any]) -> None:
    """A column holds what `reference.parse` gave for each row."""
    assert len(column) == len(rows)
    if isinstance(column, np.ndarray):
        assert_same_array(column, np.stack(rows) if rows else column)
    elif isinstance(column, fastrec.Bytes):
        assert np.reshape(column.to_numpy(), column.shape).tolist() == list(rows)
    else:
        assert isinstance(column, fastrec.Ragged)
        for i, row in enumerate(rows):
            if isinstance(row, np.ndarray):
                assert_same_array(column[i], row)
        assert column.to_list() == [list(row) for row in rows] or any(
            isinstance(row, np.ndarray) and row.dtype.kind in "fc" and np.isnan(row).any()
            for row in rows
        )


def assert_columns(columns: dict[str, Any], rows: Sequence[dict[str, Any]]) -> None:
    for name, column in columns.items():
        assert_column(column, [row[name] for row in rows])


# --- errors -------------------------------------------------------------------------------------


def assert_one_ascii_line(error: BaseException) -> None:
    text = str(error)
    assert text, "an error says something"
    assert text.isascii(), ascii(text)
    assert text.isprintable(), ascii(text)
    assert len(text) < 1000


# --- processes ----------------------------------------------------------------------------------


def run_python(
    code: str, *arguments: object, timeout: float = DEADLINE, check: bool = True
) -> subprocess.CompletedProcess[str]:
    """Runs code in an interpreter of its own; a crash or a hang there is a failure here."""
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(code), *map(str, arguments)]
    done = subprocess.run(command, check=False, timeout=timeout, capture_output=True, text=True)
    if check:
        assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}{done.stderr}"
    return done


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


def thread_ids() -> set[str]:
    """Threads of this process, once those that are ending have ended; none without a /proc."""
    if not os.path.isdir("/proc/self/task"):
        return set()
    seen: list[set[str]] = []
    while len(seen) < 5 or (any(each != seen[-1] for each in seen[-5:]) and len(seen) < 200):
        seen.append(set(os.listdir("/proc/self/task")))
        time.sleep(0.01)
    return seen[-1]


def native_threads() -> int:
    """Number of :func:`thread_ids`."""
    return len(thread_ids())


def feed(descriptor: int, data: bytes) -> threading.Thread:
    """Writes `data` to a pipe, and closes it, from another thread."""

    def run() -> None:
        # The reader may have had enough before the end.
        with contextlib.suppress(BrokenPipeError), open(descriptor, "wb") as pipe:
            pipe.write(data)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    """Replace standard input by these bytes."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
