# SPDX-License-Identifier: Apache-2.0
"""After its source is closed, an iterator delivers the rest or raises: it never just ends."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec

COUNT = 500
NUMBER = {"i": fastrec.FixedLenFeature((), np.int64)}
LISTS = {"i": fastrec.RaggedFeature(np.int64)}
Opened = tuple[Any, Any]  # an iterator, and what is closed


@pytest.fixture
def path(tmp_path: Path) -> str:
    path = str(tmp_path / "a.tfrecord")
    with fastrec.Writer(path) as writer:
        writer.write_batch({"i": np.arange(COUNT)})
    Path(f"{path}.gz").write_bytes(gzip.compress(Path(path).read_bytes()))
    return path


def of_reader(ask: Callable[[Any], Any], suffix: str = "", **options: Any) -> Any:
    def opened(path: str) -> Opened:
        reader = fastrec.Reader(path + suffix, **options)
        return ask(reader), reader

    return opened


def of_batcher(features: Any = NUMBER, suffix: str = "", **options: Any) -> Any:
    def opened(path: str) -> Opened:
        batches = iter(fastrec.Batcher(path + suffix, features, 1, **options))
        return batches, batches

    return opened


def of_owner(path: str) -> Opened:
    batcher = fastrec.Batcher(path, NUMBER, 1)
    return iter(batcher), batcher


def of_stream(path: str) -> Opened:
    reader = fastrec.Reader(io.BytesIO(Path(path).read_bytes()))
    return iter(reader), reader


KINDS: dict[str, Callable[[str], Opened]] = {
    "reader": of_reader(iter),
    "views": of_reader(lambda reader: reader.views()),
    "blocks": of_reader(lambda reader: reader.blocks(1)),
    "compressed": of_reader(iter, ".gz"),
    "skipping": of_reader(iter, on_error="skip"),
    "by number": of_reader(lambda reader: iter([reader[n] for n in range(len(reader))])),
    "stream": of_stream,
    "batches": of_batcher(),
    "owner": of_owner,
    "compressed batches": of_batcher(suffix=".gz"),
    "transformed": of_batcher(transform=dict),
    "shuffled": of_batcher(shuffle=True, seed=0),
    "buffer": of_batcher(shuffle=10, seed=0),
    "blocks of batches": of_batcher(shuffle="blocks", seed=0),
    "padded": of_batcher(LISTS, buckets=fastrec.Buckets("i")),
    "planned": of_batcher(LISTS, buckets=fastrec.Buckets("i", planned=True), uneven="drop"),
    "packed": of_batcher(LISTS, packing=fastrec.Packing("i", length=1)),
    "selected": of_batcher(where="i >= 0"),
    "skipping batches": of_batcher(on_error="skip"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_an_iterator_never_ends_because_it_was_closed(kind: str, path: str) -> None:
    iterator, owner = KINDS[kind](path)
    taken = 0
    for _ in range(3):
        next(iterator)
        taken += 1
    owner.close()
    try:
        for _ in iterator:
            taken += 1
    except ValueError:
        for _ in range(2):  # and goes on saying so
            with pytest.raises(ValueError, match="closed"):
                next(iterator)
    else:
        assert taken == COUNT


@pytest.mark.parametrize("kind", KINDS)
def test_an_iterator_that_has_ended_stays_at_its_end(kind: str, path: str) -> None:
    iterator, owner = KINDS[kind](path)
    assert sum(1 for _ in iterator) == COUNT
    owner.close()
    assert list(iterator) == []


def test_a_closed_reader_begins_nothing_new(path: str) -> None:
    reader = fastrec.Reader(path)
    reader.close()
    requests: list[Callable[[Any], Any]] = [
        lambda r: next(iter(r)),
        lambda r: next(r.views()),
        lambda r: next(r.blocks(2)),
        lambda r: r[0],
        len,
    ]
    for request in requests:
        with pytest.raises(ValueError, match="closed"):
            request(reader)
