# SPDX-License-Identifier: Apache-2.0
"""Every kind of input, with every compression, gives every record or an error."""

from __future__ import annotations

import contextlib
import io
import os
import socket
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from verbs import gzipped, offsets_of, write
from waiting import DEADLINE

import fastrec


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


PACK: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "GZIP": gzipped,
    "ZLIB": zlib.compress,
    "two members": lambda data: gzipped(data[:10]) + gzipped(data[10:]),
}
RECORDS = [b"record %d" % number * (number % 7) for number in range(500)]


@pytest.fixture(params=list(PACK))
def packed(request: pytest.FixtureRequest, folder: Path) -> bytes:
    data = write(folder / "plain", RECORDS).read_bytes()
    packed = PACK[request.param](data)
    (folder / "x.tfrecord").write_bytes(packed)
    return packed


def _feed(path: str | int, data: bytes) -> threading.Thread:
    def write_all() -> None:
        with open(path, "wb") as file:
            file.write(data)

    thread = threading.Thread(target=write_all, daemon=True)
    thread.start()
    return thread


@contextlib.contextmanager
def _pipe_in_a_folder(data: bytes) -> Iterator[str]:
    os.mkfifo("pipe")
    thread = _feed("pipe", data)
    try:
        yield "pipe"
    finally:
        os.remove("pipe")
        thread.join(DEADLINE)


@contextlib.contextmanager
def _descriptor(data: bytes) -> Iterator[str]:
    reading, writing = os.pipe()
    thread = _feed(writing, data)
    try:
        yield f"/dev/fd/{reading}"
    finally:
        os.close(reading)
        thread.join(DEADLINE)


@contextlib.contextmanager
def _socket(data: bytes) -> Iterator[socket.socket]:
    ours, theirs = socket.socketpair()
    thread = threading.Thread(target=_send, args=(theirs, data), daemon=True)
    thread.start()
    with ours:
        yield ours
    thread.join(DEADLINE)


@contextlib.contextmanager
def _file_of_a_socket(data: bytes) -> Iterator[Any]:
    with _socket(data) as ours, ours.makefile("rb") as stream:
        yield stream


def _named(source: Any) -> Callable[[bytes], Any]:
    return lambda _: contextlib.nullcontext(source)


# Each input, for the content of the file x.tfrecord in the current directory.
INPUTS: dict[str, Callable[[bytes], Any]] = {
    "path": _named("x.tfrecord"),
    "bytes": _named(b"x.tfrecord"),
    "Path": _named(Path("x.tfrecord")),
    "pattern": _named("x*"),
    "directory": _named("."),
    "URL": lambda _: contextlib.nullcontext(Path("x.tfrecord").absolute().as_uri()),
    "list": _named(["x.tfrecord"]),
    "file": lambda _: open("x.tfrecord", "rb"),  # noqa: SIM115
    "raw file": lambda _: open("x.tfrecord", "rb", buffering=0),  # noqa: SIM115
    "memory": lambda data: contextlib.nullcontext(io.BytesIO(data)),
    "FIFO": _pipe_in_a_folder,
    "/dev/fd": _descriptor,
    "socket": _socket,
    "file of a socket": _file_of_a_socket,
}
WAYS: dict[str, Callable[[Any], list[Any]]] = {
    "iterate": lambda source: [*fastrec.Reader(source)],
    "views": lambda source: [bytes(each) for each in fastrec.Reader(source).views()],
    "blocks": lambda source: [each for part in fastrec.Reader(source).blocks(7) for each in part],
    "batches": lambda source: [each for part in fastrec.Batcher(source, None, 64) for each in part],
    "count": lambda source: [None] * fastrec.count(source),
    "verify": lambda source: [None] * fastrec.verify(source).records,
}


def _send(peer: socket.socket, data: bytes) -> None:
    with peer:
        peer.sendall(data)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in its file system")
def test_every_input_of_every_compression_gives_the_records(packed: bytes) -> None:
    for way, read in WAYS.items():
        for name, opened in INPUTS.items():
            with opened(packed) as source:
                found = read(source)
            assert found == RECORDS or found == [None] * len(RECORDS), (way, name)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in its file system")
@given(
    records=st.lists(st.binary(max_size=40), max_size=6),
    packing=st.sampled_from(list(PACK)),
    name=st.sampled_from(list(INPUTS)),
    way=st.sampled_from(list(WAYS)),
    cut=st.none() | st.integers(0, 200),
)
def test_any_input_gives_all_records_or_an_error(
    folder: Path, records: list[bytes], packing: str, name: str, way: str, cut: int | None
) -> None:
    plain = write(folder / "plain", records).read_bytes()
    (folder / "plain").unlink()
    data = PACK[packing](plain)[:cut]
    (folder / "x.tfrecord").write_bytes(data)
    is_whole = cut is None or data == PACK[packing](plain)
    offsets = offsets_of(records)
    if not is_whole and packing == "plain" and len(data) in offsets:
        records, is_whole = records[: offsets.index(len(data))], True  # a file of fewer records
    if not data:
        records, is_whole = [], True  # an empty file, compressed or not
    with INPUTS[name](data) as source:
        try:
            found = WAYS[way](source)
        except fastrec.FastrecError:
            assert not is_whole
        else:
            assert is_whole
            assert found == records or found == [None] * len(records)
