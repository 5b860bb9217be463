# SPDX-License-Identifier: Apache-2.0
"""Records in random order, by many calls: a few requests for each object, or a warning."""

from __future__ import annotations

import errno
import os
import pickle
import random
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import context
from typing import Any

import numpy as np
import pytest
from object_server import Objects, ObjectServer

import fastrec
from fastrec import _core
from fastrec.records import kept_objects
from fastrec.storage.options import StorageOptions

OBJECTS = 6
RECORDS = [random.Random(n).randbytes(n * 37 % 9000 + 500) for n in range(600)]  # 3 MB


@pytest.fixture
def server() -> Iterator[ObjectServer]:
    parts = {
        f"{number}": b"".join(map(_core.frame, RECORDS[number * 100 : number * 100 + 100]))
        for number in range(OBJECTS)
    }
    with ObjectServer(Objects(parts)) as made:
        yield made


def opened(server: ObjectServer, **options: Any) -> fastrec.Reader:
    urls = [f"{server.url}/{number}" for number in range(OBJECTS)]
    reader = fastrec.Reader(urls, storage_options=StorageOptions(**options))
    assert len(reader) == len(RECORDS)
    server.requests.clear()
    return reader


def test_an_object_is_requested_at_most_twice_in_all_epochs(server: ObjectServer) -> None:
    reader = opened(server)
    for epoch in range(3):
        order = np.random.default_rng(epoch).permutation(len(RECORDS))
        for at in range(0, len(order), 16):
            batch = order[at : at + 16].tolist()
            assert reader.__getitems__(batch) == [RECORDS[n] for n in batch]
    assert len(server.requests) <= 2 * OBJECTS


def test_one_record_does_not_fetch_an_object(server: ObjectServer) -> None:
    reader = opened(server)
    assert reader[250] == RECORDS[250]
    [request] = server.requests
    assert request.range is not None
    assert request.range[1] - request.range[0] < 2 * len(RECORDS[250]) + 100


def test_threads_share_what_is_kept(server: ObjectServer) -> None:
    reader = opened(server)
    order = np.random.default_rng(0).permutation(len(RECORDS)).tolist()
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(reader.__getitem__, order)) == [RECORDS[n] for n in order]
    assert len(server.requests) <= OBJECTS * (5 + 8)  # as many threads may be too early


def test_a_reader_that_keeps_objects_can_be_pickled(server: ObjectServer) -> None:
    reader = opened(server)
    reader.__getitems__([5, 300])
    reader.__getitems__([7, 301])
    assert pickle.loads(pickle.dumps(reader))[5] == RECORDS[5]


def test_objects_beyond_the_window_are_warned_of_once(
    server: ObjectServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_objects, "_SOME_REQUESTS", 50)
    reader = opened(server, window_bytes=1 << 20)
    order = np.random.default_rng(0).permutation(len(RECORDS)).tolist()
    with pytest.warns(RuntimeWarning, match=r"random order; a Batcher, .*cache=.* window_bytes"):
        found = [reader[number] for number in order[:60]]
    assert found == [RECORDS[number] for number in order[:60]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert reader[order[61]] == RECORDS[order[61]]


# -- Processes that share what is kept -----------------------------------------------------------


def spawned(reader: fastrec.Reader) -> fastrec.Reader:
    """A copy as multiprocessing makes it for a process that it spawns, in this process."""

    class Popen:
        @staticmethod
        def duplicate_for_child(number: int) -> int:
            return os.dup(number)

        @staticmethod
        def DupFd(number: int) -> Inherited:
            return Inherited(number)

    context.set_spawning_popen(Popen)  # type: ignore[arg-type]
    try:
        data = pickle.dumps(reader)
    finally:
        context.set_spawning_popen(None)
    copy: fastrec.Reader = pickle.loads(data)
    return copy


class Inherited:
    """A descriptor that a process inherits."""

    def __init__(self, number: int) -> None:
        self.number = number

    def detach(self) -> int:
        return self.number


def test_spawned_processes_request_an_object_once(server: ObjectServer) -> None:
    reader = opened(server)
    copies = [spawned(reader) for _ in range(3)]
    for epoch in range(2):
        order = np.random.default_rng(epoch).permutation(len(RECORDS)).tolist()
        assert [copies[n % 3][n] for n in order] == [RECORDS[n] for n in order]
    assert len(server.requests) == OBJECTS
    late = spawned(reader)
    assert late.__getitems__([5, 300, 599]) == [RECORDS[5], RECORDS[300], RECORDS[599]]
    assert len(server.requests) == OBJECTS


def test_a_copy_for_another_machine_shares_nothing(server: ObjectServer) -> None:
    copy = pickle.loads(pickle.dumps(opened(server)))
    assert copy._files._dataset is None
    assert copy[5] == RECORDS[5]


def test_objects_that_do_not_fit_are_not_shared(server: ObjectServer) -> None:
    copy = spawned(opened(server, window_bytes=1 << 20))
    assert copy._files._dataset is None
    assert copy[5] == RECORDS[5]


def test_without_space_for_copies_each_process_keeps_its_own(
    server: ObjectServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = spawned(opened(server))

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    for _ in range(2):
        assert copy.__getitems__([5, 300]) == [RECORDS[5], RECORDS[300]]
    assert len(server.requests) == 2


def test_a_process_waits_for_an_object_that_another_fetches(
    server: ObjectServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    fcntl = pytest.importorskip("fcntl")
    copy = spawned(opened(server))
    is_locked = threading.Event()
    locked = fcntl.lockf

    def lockf(number: int, kind: int, *place: int) -> None:
        if kind == fcntl.LOCK_UN or is_locked.is_set():
            locked(number, kind, *place)
            return
        is_locked.set()  # another process has the lock at the first attempt
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(fcntl, "lockf", lockf)
    assert copy[5] == RECORDS[5]
    assert is_locked.is_set()


def test_an_object_of_a_stalled_process_is_fetched_again(
    server: ObjectServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    fcntl = pytest.importorskip("fcntl")
    copy = spawned(opened(server))

    def lockf(*_: object) -> None:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(fcntl, "lockf", lockf)
    monkeypatch.setattr(kept_objects, "_STALLED_S", 0.1)
    assert copy[5] == RECORDS[5]
    assert len(server.requests) == 1
