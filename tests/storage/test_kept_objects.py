# SPDX-License-Identifier: Apache-2.0
"""Records in random order, by many calls: a few requests for each object, or a warning."""

from __future__ import annotations

import pickle
import random
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from object_server import Objects, ObjectServer

import fastrec
from fastrec import _core
from fastrec.records import remote_dataset
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
    monkeypatch.setattr(remote_dataset, "_MANY_REQUESTS", 50)
    reader = opened(server, window_bytes=1 << 20)
    order = np.random.default_rng(0).permutation(len(RECORDS)).tolist()
    with pytest.warns(RuntimeWarning, match=r"random order; a Batcher, .*cache=.* window_bytes"):
        found = [reader[number] for number in order[:60]]
    assert found == [RECORDS[number] for number in order[:60]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert reader[order[61]] == RECORDS[order[61]]
