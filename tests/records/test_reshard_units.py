# SPDX-License-Identifier: Apache-2.0
"""Resharding by units, run here in any order and twice, against resharding in one process."""

from __future__ import annotations

import os
import pickle
import random
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import fastrec
from fastrec.records.reshard_units import reshard_by

MIB = 1 << 20


Report = Callable[[int], object]


def run(
    function: Callable[[Any, Any], Any], shared: Any, items: Sequence[Any], report: Report
) -> list[Any]:
    """Units as a cluster has them: pickled, in any order, some of them twice."""
    done: dict[int, Any] = {}
    draw = random.Random(len(items))
    order = list(range(len(items))) * 2
    draw.shuffle(order)
    for number in order[: len(items)] + list(range(len(items))):
        words = pickle.loads(pickle.dumps((function, shared, items[number])))
        if number not in done:
            report(number)
        done[number] = pickle.loads(pickle.dumps(words[0](*words[1:])))
    return [done[number] for number in range(len(items))]


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """4 MB in three plain files, one of which is empty, and a compressed one."""
    folder = tmp_path_factory.mktemp("in")
    draw = random.Random(0)
    found = []
    for number, count in enumerate([3000, 0, 1, 1500]):
        path = folder / f"{number}.tfrecord"
        with fastrec.Writer(path, compression="GZIP" if number == 3 else None) as writer:
            for i in range(count):
                writer.write(b"%d %d " % (number, i) + draw.randbytes(draw.randrange(1800)))
        found.append(str(path))
    return found


def contents(paths: Sequence[str]) -> list[bytes]:
    return [Path(path).read_bytes() for path in paths]


@pytest.mark.parametrize(
    "files", [{}, {"shards": 3}, {"shard_records": 1000}, {"shard_bytes": 700_000}]
)
@pytest.mark.parametrize("order", [{}, {"shuffle": True, "seed": 7}])
@pytest.mark.parametrize("compression", [None, "GZIP"])
def test_files_are_those_of_one_process_byte_for_byte(
    paths: list[str], tmp_path: Path, files: Any, order: Any, compression: str | None
) -> None:
    for name in ("units", "one"):
        (tmp_path / name).mkdir()
    options = {**files, **order, "compression": compression, "memory": MIB}
    there = reshard_by(run, paths, tmp_path / "units" / "x.tfrecord", **options, overwrite=True)
    here = fastrec.reshard(paths, tmp_path / "one" / "x.tfrecord", **options)
    assert there.records == here.records == 4501
    assert list(map(os.path.basename, there.paths)) == list(map(os.path.basename, here.paths))
    if compression is None:
        assert contents(there.paths) == contents(here.paths)
    for a, b in zip(there.paths, here.paths, strict=True):
        assert list(fastrec.Reader(a)) == list(fastrec.Reader(b))
    assert sorted(os.listdir(tmp_path / "units")) == sorted(os.listdir(tmp_path / "one"))


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("most", [1, 20_000, 100_000, 1 << 40])
def test_files_of_a_size_have_the_records_that_they_have_in_one_process(
    paths: list[str], tmp_path: Path, most: int, shuffle: bool
) -> None:
    options: dict[str, Any] = {"shard_bytes": most, "shuffle": shuffle, "memory": MIB}
    options["seed"] = 3 if shuffle else None
    source = paths if most > 20_000 else paths[2:]
    if most == 1:
        with fastrec.Writer(tmp_path / "few") as writer:
            writer.write_many([b"", b"x", b"yy" * 500])
        source = [str(tmp_path / "few")]
    there = reshard_by(run, source, tmp_path / "there", **options, overwrite=True)
    here = fastrec.reshard(source, tmp_path / "here", **options)
    assert contents(there.paths) == contents(here.paths)
    assert [os.path.basename(p).replace("there", "here") for p in there.paths] == [
        os.path.basename(p) for p in here.paths
    ]


@pytest.mark.parametrize("order", [{}, {"shuffle": True, "seed": 9}])
@pytest.mark.parametrize("files", [{"shards": 3}, {"shard_bytes": 300_000}])
def test_damage_is_skipped_as_in_one_process(
    paths: list[str], tmp_path: Path, order: Any, files: Any
) -> None:
    data = bytearray(Path(paths[0]).read_bytes())
    for at in range(1, 6):
        data[len(data) * at // 6] ^= 1
    (tmp_path / "bad.tfrecord").write_bytes(data[:-5])
    source = [str(tmp_path / "bad.tfrecord"), *paths[1:]]
    options = {**order, **files, "on_error": "skip", "memory": MIB}
    there = reshard_by(run, source, tmp_path / "there", **options)
    here = fastrec.reshard(source, tmp_path / "here", **options)
    assert there.records == here.records
    assert 4480 < there.records < 4501
    assert contents(there.paths) == contents(here.paths)


@pytest.mark.parametrize("order", [{}, {"shuffle": True}])
def test_progress_is_told_in_records(paths: list[str], tmp_path: Path, order: Any) -> None:
    told: list[tuple[int, int]] = []
    reshard_by(
        run,
        paths,
        tmp_path / "x",
        shards=4,
        memory=MIB,
        progress=lambda done, total: told.append((done, total)),
        **order,
    )
    total = 4501 * (2 if order else 1)
    assert {each for _, each in told} == {total}
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1][0] == total
    assert len(told) >= 4


def test_what_has_no_records_makes_the_files_that_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a.tfrecord").touch()
    for shuffle in (False, True):
        done = reshard_by(
            run, tmp_path / "a.tfrecord", tmp_path / "b", shards=2, shuffle=shuffle, overwrite=True
        )
        assert done.records == 0
        assert [os.path.getsize(path) for path in done.paths] == [0, 0]
        done = reshard_by(
            run, tmp_path / "a.tfrecord", tmp_path / "c", shard_bytes=9, overwrite=True
        )
        options: dict[str, Any] = {"shard_bytes": 9, "overwrite": True}
        here = fastrec.reshard(tmp_path / "a.tfrecord", tmp_path / "d", **options)
        assert [os.path.getsize(path) for path in done.paths] == [0] * len(here.paths) == [0]


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("round_of", ["_sort", "_write"])
def test_a_source_that_changes_between_rounds_is_refused(
    tmp_path: Path, shuffle: bool, round_of: str
) -> None:
    path = tmp_path / "a.tfrecord"

    def write(count: int) -> None:
        with fastrec.Writer(path, compression="GZIP", overwrite=True) as writer:
            writer.write_many([b"%d" % i for i in range(count)])

    def changing(
        function: Callable[[Any, Any], Any], shared: Any, items: Any, report: Report
    ) -> list[Any]:
        if function.__name__ == round_of:
            write(99)
        return run(function, shared, items, report)

    write(100)
    if shuffle and round_of == "_write":  # reads what was written in the round before
        assert reshard_by(changing, path, tmp_path / "b.tfrecord", shuffle=True).records == 100
        return
    if not shuffle and round_of == "_sort":
        return  # there is no such round
    with pytest.raises(fastrec.FastrecError, match=r"a.tfrecord' has changed: .* had 100 records"):
        reshard_by(changing, path, tmp_path / "b.tfrecord", shuffle=shuffle)
    assert os.listdir(tmp_path) == ["a.tfrecord"]


def test_damage_and_failures_leave_nothing(paths: list[str], tmp_path: Path) -> None:
    data = bytearray(Path(paths[0]).read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "bad.tfrecord").write_bytes(data)
    for shuffle in (False, True):
        with pytest.raises(fastrec.CorruptRecordError, match=r"bad\.tfrecord"):
            reshard_by(
                run, tmp_path / "bad.tfrecord", tmp_path / "b.tfrecord", shards=2, shuffle=shuffle
            )
    (tmp_path / "c.tfrecord").touch()
    (tmp_path / "c-00002-of-00005.tfrecord").touch()
    sizes: list[dict[str, Any]] = [{"shards": None}, {"shards": 5}, {"shard_records": 1000}]
    for size in sizes:
        with pytest.raises(FileExistsError, match="the file exists"):
            reshard_by(run, paths, tmp_path / "c.tfrecord", overwrite=False, **size)
    assert not (tmp_path / "c.tfrecord.reshard").exists()
    (tmp_path / "d.tfrecord.reshard").mkdir()
    with pytest.raises(FileExistsError, match="work of another call"):
        reshard_by(run, paths, tmp_path / "d.tfrecord")
    with pytest.raises(ValueError, match="work is a directory that all nodes see"):
        reshard_by(run, paths, "s3://bucket/x.tfrecord")
    assert not (tmp_path / "d.tfrecord").exists()
    assert not (tmp_path / "b.tfrecord.reshard").exists()


def test_a_task_holds_what_memory_says(paths: list[str], tmp_path: Path) -> None:
    held: list[int] = []

    def watched(
        function: Callable[[Any, Any], Any], shared: Any, items: Any, report: Report
    ) -> list[Any]:
        found = [function(shared, item) for item in items]
        if function.__name__ == "_sort":
            held.extend(os.path.getsize(each.path) for runs in found for each in runs)
        return found

    reshard_by(watched, paths, tmp_path / "b.tfrecord", shuffle=True, seed=1, memory=MIB)
    assert len(held) > 6
    assert max(held) <= MIB


def test_units_that_still_run_after_a_failure_leave_nothing(
    paths: list[str], tmp_path: Path
) -> None:
    late: list[Callable[[], Any]] = []

    def failing(
        function: Callable[[Any, Any], Any], shared: Any, items: Any, report: Report
    ) -> list[Any]:
        if function.__name__ == "_write":
            late.extend(partial(function, shared, item) for item in items)
            raise KeyboardInterrupt
        return [function(shared, item) for item in items]

    with pytest.raises(KeyboardInterrupt):
        reshard_by(failing, paths, tmp_path / "b.tfrecord", shards=3, shuffle=True)
    assert len(late) == 3
    for unit in late:
        with pytest.raises(FileNotFoundError):
            unit()
    assert os.listdir(tmp_path) == []
