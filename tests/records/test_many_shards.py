# SPDX-License-Identifier: Apache-2.0
"""More files than a process may map at a time: which are mapped must not be seen."""

from __future__ import annotations

import collections
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec
from fastrec import _core

SHARDS = 40
PER_SHARD = 30
COUNT = SHARDS * PER_SHARD
MAPS = 6
FEATURES = {"id": fastrec.FixedLenFeature((), np.int64)}


@pytest.fixture(scope="module", params=[False, True], ids=["scanned", "indexed"])
def paths(request: Any, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("shards")
    with fastrec.Writer(folder / "a.tfrecord", shards=SHARDS, index=request.param) as writer:
        writer.write_batch({"id": np.arange(COUNT)})
    return writer.paths


_DATASET = _core.Dataset


class _FewMaps(type):
    def __call__(cls, *args: Any, **options: Any) -> _core.Dataset:
        return _DATASET(*args, **{"mapped": MAPS, **options})

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _DATASET)


class FewMaps(metaclass=_FewMaps):
    """A Dataset of which some files only are mapped."""


@pytest.fixture
def few_maps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_core, "Dataset", FewMaps)


def maps_of(paths: list[str]) -> int:
    """Files among `paths` that this process has mapped."""
    folder = os.path.dirname(paths[0])
    with open("/proc/self/maps") as lines:
        return sum(folder in line for line in lines)


def batches(paths: list[str], **options: Any) -> list[list[int]]:
    batcher = fastrec.Batcher(paths, FEATURES, 16, **options)
    return [batch["id"].tolist() for batch in batcher]


ORDERS: list[dict[str, Any]] = [
    {},
    {"shuffle": True, "seed": 3},
    {"shuffle": "blocks", "seed": 3},
    {"shuffle": 100, "seed": 3},
    {"interleave": 7},
    {"shuffle": True, "seed": 3, "threads": 4, "shard": (1, 3)},
]


@pytest.mark.parametrize("options", ORDERS, ids=str)
def test_the_order_is_that_of_files_that_are_all_mapped(
    paths: list[str], options: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    expected = batches(paths, **options)
    request.getfixturevalue("few_maps")
    assert batches(paths, **options) == expected


@pytest.mark.usefixtures("few_maps")
def test_records_are_read_one_by_one_and_many_at_once(paths: list[str]) -> None:
    reader = fastrec.Reader(paths)
    numbers = np.random.default_rng(0).permutation(COUNT)
    expected = list(reader)
    assert reader.read_many(numbers) == [expected[number] for number in numbers]
    assert [reader[int(number)] for number in numbers[:100]] == [
        expected[number] for number in numbers[:100]
    ]
    everything = fastrec.Batcher(paths, None, COUNT, shuffle=True, seed=3)
    (taken,) = everything
    assert sorted(taken) == sorted(expected)


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="needs /proc")
@pytest.mark.usefixtures("few_maps")
def test_no_more_files_are_mapped_than_may_be(paths: list[str]) -> None:
    reader = fastrec.Reader(paths)
    assert len(reader) == COUNT
    for number in range(0, COUNT, 7):
        assert reader[number]
        assert maps_of(paths) <= MAPS + 1
    reader.close()
    del reader
    assert maps_of(paths) == 0


@pytest.mark.usefixtures("few_maps")
def test_views_keep_their_file(paths: list[str]) -> None:
    views = list(fastrec.Reader(paths).views())
    assert list(map(bytes, views)) == list(fastrec.Reader(paths))


@pytest.fixture
def own(paths: list[str], tmp_path: Path) -> list[str]:
    """Copies that a test may damage."""
    copies = []
    for path in paths:
        for name in (path, path + ".frindex"):
            if os.path.exists(name):
                copy = tmp_path / os.path.basename(name)
                copy.write_bytes(Path(name).read_bytes())
                status = os.stat(name)
                os.utime(copy, ns=(status.st_atime_ns, status.st_mtime_ns))
        copies.append(str(tmp_path / os.path.basename(path)))
    return copies


def dropped(paths: list[str]) -> fastrec.Reader:
    """A reader that had the first file mapped, and has it no more."""
    reader = fastrec.Reader(paths)
    for number in range(0, COUNT, PER_SHARD // 2):
        assert reader[number]
    return reader


@pytest.mark.usefixtures("few_maps")
def test_a_file_that_vanished_is_named(own: list[str]) -> None:
    reader = dropped(own)
    os.unlink(own[0])
    assert reader[COUNT - 1]
    with pytest.raises(FileNotFoundError) as caught:
        reader[3]
    assert caught.value.filename == own[0]
    with pytest.raises(FileNotFoundError) as caught:
        batches(own)
    assert caught.value.filename == own[0]


@pytest.mark.usefixtures("few_maps")
def test_a_file_that_shrank_is_named(own: list[str]) -> None:
    reader = dropped(own)
    os.truncate(own[0], 200)
    with pytest.raises(fastrec.TruncatedFileError, match="shrank") as caught:
        reader[3]
    assert (caught.value.path, caught.value.kind, caught.value.record) == (own[0], "shrunk", 3)


@pytest.mark.usefixtures("few_maps")
def test_a_file_that_was_replaced_is_named(own: list[str]) -> None:
    reader = dropped(own)
    with fastrec.Writer(own[0], overwrite=True) as writer:
        writer.write_batch({"id": np.arange(5000, 5000 + PER_SHARD)})
    with pytest.raises(fastrec.CorruptRecordError, match="replaced") as caught:
        reader.read_many([3])
    assert (caught.value.path, caught.value.kind) == (own[0], "changed")
    assert reader[COUNT - 1]


@pytest.mark.usefixtures("few_maps")
def test_a_file_that_vanishes_while_batches_are_made_ends_them_with_its_name(
    own: list[str],
) -> None:
    batcher = fastrec.Batcher(own, FEATURES, 16, shuffle=True, seed=0, epochs=None, threads=2)
    iterator = iter(batcher)
    next(iterator)
    os.unlink(own[11])
    with pytest.raises(FileNotFoundError) as caught:
        collections.deque(iterator, maxlen=0)
    assert caught.value.filename == own[11]


LIMITED = """
import sys, numpy as np, fastrec
batcher = fastrec.Batcher(
    sys.argv[1], {"id": fastrec.FixedLenFeature((), np.int64)}, 64, shuffle=True, seed=1
)
ids = np.concatenate([batch["id"] for batch in batcher])
assert sorted(ids.tolist()) == list(range(len(ids)))
print(len(ids))
"""


@pytest.mark.slow
def test_thousands_of_files_need_few_descriptors(tmp_path: Path) -> None:
    with fastrec.Writer(tmp_path / "a.tfrecord", shards=3000, fsync=False) as writer:
        writer.write_batch({"id": np.arange(6000)})
    result = subprocess.run(
        ["/bin/sh", "-c", f'ulimit -n 40; exec "{sys.executable}" -c "$0" "$1"', LIMITED,
         str(tmp_path / "*.tfrecord")],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (result.returncode, result.stdout) == (0, "6000\n"), result.stderr
