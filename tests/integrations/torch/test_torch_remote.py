# SPDX-License-Identifier: Apache-2.0
"""Requests that a map-style dataset makes of an object store, epoch by epoch."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from object_server import Objects, ObjectServer

import fastrec

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("obstore", reason="obstore is not installed")

from torch.utils.data import DataLoader

import fastrec.torch
from fastrec.storage.options import StorageOptions

OBJECTS, ROWS = 4, 300
ALL = list(range(OBJECTS * ROWS))
FEATURES = {"id": fastrec.FixedLenFeature((), np.int64)}


@pytest.fixture(autouse=True)
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectServer]:
    """A server of objects with their indexes, 2.5 MB in all."""
    folder = tmp_path_factory.mktemp("objects")
    for number in range(OBJECTS):
        with fastrec.Writer(folder / f"{number}.tfrecord", index=True) as writer:
            ids = np.arange(ROWS) + number * ROWS
            writer.write_batch({"id": ids, "x": np.zeros((ROWS, 512), np.float32)})
    objects = {p.name: p.read_bytes() for p in folder.iterdir()}
    with ObjectServer(Objects(objects)) as server:
        yield server


def dataset_of(server: ObjectServer, **options: Any) -> fastrec.torch.Dataset:
    urls = [f"{server.url}/{number}.tfrecord" for number in range(OBJECTS)]
    reader = fastrec.Reader(urls, storage_options=StorageOptions(**options))
    dataset = fastrec.torch.Dataset(reader, FEATURES)
    assert len(dataset) == len(ALL)
    return dataset


def most_requests_of_an_epoch(server: ObjectServer, loader: Any) -> int:
    """Take every record once; return the requests for the object that had most."""
    server.requests.clear()
    assert sorted(int(i) for batch in loader for i in batch["id"]) == ALL
    return max(Counter(request.path for request in server.requests).values(), default=0)


def test_objects_that_fit_the_window_take_two_requests_at_most(server: ObjectServer) -> None:
    loader = DataLoader(dataset_of(server), 32, shuffle=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        counts = [most_requests_of_an_epoch(server, loader) for _ in range(3)]
    assert counts[0] <= 2
    assert counts[1:] == [0, 0]


def test_objects_that_do_not_fit_the_window_cause_a_warning(server: ObjectServer) -> None:
    loader = DataLoader(dataset_of(server, window_bytes=1 << 20), 8, shuffle=True)
    with pytest.warns(RuntimeWarning, match="requests were made for records of 4 objects"):
        assert most_requests_of_an_epoch(server, loader) > 2


@pytest.mark.parametrize("batch_size", [1, 8])
def test_small_batches_take_two_requests_at_most(batch_size: int, server: ObjectServer) -> None:
    loader = DataLoader(dataset_of(server), batch_size, shuffle=True)
    counts = [most_requests_of_an_epoch(server, loader) for _ in range(2)]
    assert counts[0] <= 2
    assert counts[1] == 0


@pytest.mark.parametrize(
    ("cached", "method"),
    [
        pytest.param(False, "spawn", id="shared"),
        pytest.param(False, "forkserver", id="shared, forkserver", marks=pytest.mark.slow),
        pytest.param(True, "spawn", id="cached", marks=pytest.mark.slow),
    ],
)
def test_spawned_workers_fetch_an_object_once(
    cached: bool, method: str, server: ObjectServer, tmp_path: Path
) -> None:
    dataset = dataset_of(server, **({"cache": tmp_path / "cache"} if cached else {}))
    loader = DataLoader(
        dataset, 32, shuffle=True, num_workers=2, multiprocessing_context=method
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        counts = [most_requests_of_an_epoch(server, loader) for _ in range(2)]
    assert counts[0] <= (2 * 2 if cached else 1)
    assert counts[1] == 0


def test_forked_workers_that_fetch_for_themselves_warn(server: ObjectServer) -> None:
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
    files = fsspec.filesystem("memory")
    assert isinstance(server.backend, Objects)
    for name in server.backend.names():
        files.pipe(f"/objects/{name}", server.backend.get(name))
    reader = fastrec.Reader(
        [f"objects/{number}.tfrecord" for number in range(OBJECTS)],
        storage_options=StorageOptions(filesystem=files),
    )
    loader = DataLoader(
        fastrec.torch.Dataset(reader, FEATURES), 32, num_workers=2, multiprocessing_context="fork"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="each of the 2 DataLoader workers"):
            list(loader)
        warnings.simplefilter("ignore")
        assert sorted(int(i) for batch in loader for i in batch["id"]) == ALL
