# SPDX-License-Identifier: Apache-2.0
"""The thread that inflates, and how it ends: never by leaving its reader to wait."""

from __future__ import annotations

import errno
import gzip
import io
import os
import threading
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cost import processor_seconds
from verbs import gzipped, number_records, open_descriptors, zlibbed

import fastrec
from fastrec import _core
from fastrec.records import byte_sources, inflated

RECORDS = [bytes([i % 251]) * 50_000 for i in range(60)]  # enough for a thread
FRAMES = b"".join(map(_core.frame, RECORDS))


@pytest.fixture(params=[("GZIP", gzipped), ("ZLIB", zlibbed)], ids=lambda kind: kind[0])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    file = tmp_path / "file"
    pack: Callable[[bytes], bytes] = request.param[1]
    noise = b"".join(map(_core.frame, [os.urandom(100_000) for _ in range(20)]))
    file.write_bytes(pack(FRAMES + noise))
    return file


def within_seconds(action: Callable[[], Any], seconds: float = 10) -> Any:
    """The result or the error of an action; an endless wait is a failure."""
    outcome: list[Any] = []

    def act() -> None:
        try:
            outcome.append(action())
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    thread.join(seconds)
    assert outcome, "it waits"
    return outcome[0]


JOBS: dict[str, Callable[[Path], Any]] = {
    "iterate": lambda path: len(list(fastrec.Reader(path))),
    "blocks": lambda path: sum(map(len, fastrec.Reader(path).blocks(7))),
    "verify": lambda path: fastrec.verify(path).records,
    "count": fastrec.count,
    "shuffle": lambda path: sum(
        len(batch) for batch in fastrec.Batcher(path, batch_size=8, shuffle=50, seed=1)
    ),
}


@pytest.fixture(params=[errno.EIO, errno.ESTALE, errno.ENOSPC])
def failing_close(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Files that are closed, and the system says that it went wrong."""
    closed: list[int] = []

    class Failing(io.FileIO):
        def close(self) -> None:
            if not self.closed:
                closed.append(self.fileno())
                super().close()
                raise OSError(request.param, os.strerror(request.param))

    monkeypatch.setattr(
        byte_sources, "open", lambda path, mode, buffering: Failing(path, "r"), raising=False
    )
    return closed


@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_a_close_that_fails_is_no_wait(
    path: Path, job: Callable[[Path], Any], failing_close: list[int]
) -> None:
    # The file was only read, and all that was in it was checked: there is nothing to report.
    assert within_seconds(lambda: job(path)) == 80
    assert failing_close


def test_a_close_that_fails_leaves_the_error_before_it(
    path: Path, failing_close: list[int]
) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    assert isinstance(
        within_seconds(lambda: list(fastrec.Reader(path))), fastrec.TruncatedFileError
    )
    path.write_bytes(whole[:40])
    assert isinstance(
        within_seconds(lambda: list(fastrec.Reader(path))), fastrec.TruncatedFileError
    )


def test_without_a_thread_to_be_had_all_comes_without_one(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    before = open_descriptors()
    inflating = fastrec.Reader(path)
    with monkeypatch.context() as patched:
        patched.setattr(inflated.threading.Thread, "start", start)  # type: ignore[attr-defined]
        assert [len(record) for record in inflating] == [50_000] * 60 + [100_000] * 20
        assert fastrec.verify(path).records == 80
        half = iter(inflating)
        next(half)
        del half
    assert open_descriptors() == before


def test_a_thread_that_ends_without_a_word_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def pump(*_: Any) -> None:
        pass

    monkeypatch.setattr(inflated, "_pump", pump)
    packed = zlib.compress(os.urandom(2 << 20))
    read = inflated.Inflated(io.BytesIO(packed).read, "ZLIB", "path")

    def all_of_it() -> None:
        while read(1 << 20):
            pass

    error = within_seconds(all_of_it)
    assert isinstance(error, RuntimeError)
    assert "ended without a result" in str(error)


@pytest.mark.parametrize("at", [0, 1, 2, 3])
def test_a_read_that_fails_is_the_systems_error_with_the_files_name(
    path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    real = io.FileIO.read
    turn = iter(range(1000))

    class Failing(io.FileIO):
        def read(self, size: int = -1) -> bytes | None:  # type: ignore[override]
            if next(turn) == at:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return real(self, size)

    monkeypatch.setattr(
        byte_sources, "open", lambda path, mode, buffering: Failing(path, "r"), raising=False
    )
    error = within_seconds(lambda: list(fastrec.Reader(path)))
    assert isinstance(error, OSError)
    assert (error.errno, error.filename) == (errno.EIO, str(path))
    assert not isinstance(error, fastrec.FastrecError)


# -- Members -----------------------------------------------------------------------------------


def members(count: int, size: int = 20) -> Iterator[bytes]:
    for i in range(count):
        yield gzip.compress(_core.frame(b"%0*d" % (size, i)), 6, mtime=0)


def test_small_members_take_no_longer_than_gzip_takes(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"".join(members(3000)))

    def inflate_it() -> None:
        read = inflated.Inflated(io.BytesIO(path.read_bytes()).read, "GZIP", path)
        while read(1 << 20):
            pass

    def gunzip_it() -> None:
        with gzip.open(path) as file:
            file.read()

    pairs = [(processor_seconds(inflate_it), processor_seconds(gunzip_it)) for _ in range(5)]
    assert min(a for a, _ in pairs) < 3 * min(b for _, b in pairs), pairs


@pytest.mark.parametrize("sizes", [[0, 1, 700_000, 3, 2_000_000, 5, 0], [10] * 500, [70_000] * 40])
@pytest.mark.parametrize("piece", [1, 7, 1000, 1 << 20])
def test_members_of_any_size_come_in_any_pieces(sizes: list[int], piece: int) -> None:
    if piece < 1000:
        sizes = [size // (1000 // piece) for size in sizes]
    plain = [os.urandom(size // 2) + bytes(size - size // 2) for size in sizes]
    packed = b"".join(gzip.compress(part) + bytes(i % 3) for i, part in enumerate(plain))
    file = io.BytesIO(packed)
    read = inflated.Inflated(lambda size: file.read(min(size, piece)), "GZIP", "path")
    chunks = []
    while chunk := read(1 << 20):
        chunks.append(chunk)
    assert b"".join(chunks) == b"".join(plain)


@pytest.mark.parametrize("cut", [1, 5, 9, 12, 20, 33])
def test_members_before_the_damage_are_given(cut: int) -> None:
    whole = list(members(200))
    for damaged in (whole[-1][:cut], b"\1" + whole[-1][1:], whole[-1][:-8] + bytes(8)):
        packed = b"".join(whole[:-1]) + damaged
        reader = fastrec.Reader(io.BytesIO(packed), compression="GZIP")
        found = []
        with pytest.raises(fastrec.CorruptRecordError):  # noqa: PT012
            for record in reader:
                found.append(record)
        assert found[:199] == [b"%020d" % i for i in range(199)]
        assert len(found) <= 200


def test_members_are_given_before_the_next_ones_are_waited_for() -> None:
    # A pipe that another process writes members to, now and then.
    ends = os.pipe()
    begun = list(members(3, size=300_000))
    with open(ends[0], "rb", buffering=0) as source, open(ends[1], "wb", buffering=0) as sink:
        feeder = threading.Thread(target=lambda: [sink.write(part) for part in begun])
        feeder.start()
        records = iter(fastrec.Reader(source, compression="GZIP"))
        assert within_seconds(lambda: next(records)) == b"%0300000d" % 0
        assert within_seconds(lambda: next(records)) == b"%0300000d" % 1
        feeder.join()
        sink.close()
        assert within_seconds(lambda: next(records)) == b"%0300000d" % 2
        assert within_seconds(lambda: list(records)) == []


def test_number_records_are_read_from_members(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"".join(gzip.compress(_core.frame(r)) for r in number_records(1000)))
    assert list(fastrec.Reader(path)) == number_records(1000)
