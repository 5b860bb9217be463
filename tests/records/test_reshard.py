# SPDX-License-Identifier: Apache-2.0
"""Files rewritten as others: each record once, in an order that is known, in bounded memory."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec
from fastrec import _core

MIB = 1 << 20


def make(folder: Path, count: int, size: int = 0, shards: int = 3, **options: Any) -> list[str]:
    folder.mkdir(exist_ok=True)
    draw = random.Random(count)
    with fastrec.Writer(folder / "in.tfrecord", shards=shards, **options, overwrite=True) as writer:
        for number in range(count):
            writer.write(b"%d " % number + draw.randbytes(draw.randrange(size + 1)))
    return list(writer.paths)


def records(source: Any) -> list[bytes]:
    return list(fastrec.Reader(source))


def shuffled(source: Any, seed: int) -> list[bytes]:
    batcher = fastrec.Batcher(source, None, batch_size=1000, shuffle=True, seed=seed)
    return [record for batch in batcher for record in batch]


@pytest.mark.parametrize(
    ("options", "counts"),
    [
        ({}, [1000]),
        ({"shards": 3}, [333, 333, 334]),
        ({"shard_records": 300}, [300, 300, 300, 100]),
        ({"shard_records": 500}, [500, 500]),
    ],
)
@pytest.mark.parametrize("compression", [None, "GZIP"])
def test_files_keep_the_order_and_have_the_sizes(
    tmp_path: Path, options: Any, counts: list[int], compression: Any
) -> None:
    paths = make(tmp_path / "in", 1000, 50, compression=compression)
    done = fastrec.reshard(paths, tmp_path / "out.tfrecord", compression=compression, **options)
    assert done.records == 1000
    assert [len(records(path)) for path in done.paths] == counts
    assert records(done.paths) == records(paths)
    assert sorted(os.listdir(tmp_path)) == ["in", *map(os.path.basename, done.paths)]


def test_files_of_a_size_are_those_that_the_writer_makes(tmp_path: Path) -> None:
    paths = make(tmp_path / "in", 1000, 200)
    done = fastrec.reshard(paths, tmp_path / "a.tfrecord", shard_bytes=20_000)
    with fastrec.Writer(tmp_path / "b.tfrecord", shard_bytes=20_000) as writer:
        writer.write_many(records(paths))
    assert len(done.paths) == len(writer.paths) > 3
    for ours, theirs in zip(done.paths, writer.paths, strict=True):
        assert Path(ours).read_bytes() == Path(theirs).read_bytes()


@pytest.mark.parametrize("compression", [None, "GZIP"])
@pytest.mark.parametrize(("count", "size"), [(0, 0), (1, 0), (1000, 10), (3000, 3000)])
def test_shuffled_is_the_order_of_a_batcher(
    tmp_path: Path, count: int, size: int, compression: Any
) -> None:
    paths = make(tmp_path / "in", count, size)
    wanted = shuffled(paths, 5) if count else []
    packed = make(tmp_path / "in", count, size, compression=compression)
    options: dict[str, Any] = {"shuffle": True, "seed": 5, "shards": 4, "memory": MIB}
    done = fastrec.reshard(packed, tmp_path / "out.tfrecord", **options)
    assert records(done.paths) == wanted
    sizes = [len(records(path)) for path in done.paths]
    assert max(sizes) - min(sizes) <= 1


def test_a_seed_is_drawn_where_none_is_given(tmp_path: Path) -> None:
    paths = make(tmp_path / "in", 100)
    found = [
        records(
            fastrec.reshard(paths, tmp_path / "out.tfrecord", shuffle=True, overwrite=True).paths
        )
        for _ in range(2)
    ]
    assert found[0] != found[1]
    assert sorted(found[0]) == sorted(found[1]) == sorted(records(paths))


def test_a_source_is_never_the_target(tmp_path: Path) -> None:
    (path,) = make(tmp_path, 500, 30, shards=1)
    before = Path(path).read_bytes()
    os.link(path, tmp_path / "twin")
    for target in (path, tmp_path / "twin"):
        with pytest.raises(FileExistsError, match="an input of the same call"):
            fastrec.reshard(path, target, overwrite=True)
        with pytest.raises(FileExistsError, match="overwrite=True"):
            fastrec.reshard(path, target)
    assert Path(path).read_bytes() == before


def test_damage_leaves_nothing_or_is_skipped(tmp_path: Path) -> None:
    paths = make(tmp_path / "in", 300, 20000)
    data = bytearray(Path(paths[1]).read_bytes())
    data[1000] ^= 1
    Path(paths[1]).write_bytes(data)
    every: list[dict[str, Any]] = [
        {},
        {"shuffle": True, "seed": 0},
        {"shuffle": True, "memory": MIB},
    ]
    for options in every:
        with pytest.raises(fastrec.CorruptRecordError, match="in-00001-of-00003"):
            fastrec.reshard(paths, tmp_path / "out.tfrecord", **options)
        assert os.listdir(tmp_path) == ["in"]
        kept = fastrec.reshard(paths, tmp_path / "out.tfrecord", on_error="skip", **options)
        assert kept.records == 299
        assert sorted(records(kept.paths)) == sorted(fastrec.Reader(paths, on_error="skip"))
        os.unlink(tmp_path / "out.tfrecord")


class StopError(Exception):
    """Stops a job from its progress."""


@pytest.mark.parametrize("options", [{}, {"shuffle": True, "seed": 3}, {"shuffle": True}])
@pytest.mark.parametrize("sizes", [{"shards": 5}, {"shard_records": 70}, {"shard_bytes": 600_000}])
def test_a_job_goes_on_where_it_was_stopped(tmp_path: Path, options: Any, sizes: Any) -> None:
    paths = make(tmp_path / "in", 500, 10_000)
    target = tmp_path / "out.tfrecord"
    whole = None
    if options.get("seed") or not options:
        whole = fastrec.reshard(paths, tmp_path / "whole.tfrecord", memory=MIB, **options, **sizes)
    options = {**options, **sizes, "memory": MIB, "resume": True}
    stopped, calls = 0, 0
    seen: list[int] = []

    def stop(done: int, total: int) -> None:
        nonlocal calls
        calls += 1
        seen.append(done)
        if calls % 4 == 0:
            raise StopError

    while True:
        try:
            done = fastrec.reshard(paths, target, progress=stop, **options)
            break
        except StopError:
            stopped += 1
            assert stopped < 100
            assert not list(tmp_path.glob("out-*"))
    assert stopped
    assert sorted(records(done.paths)) == sorted(records(paths))
    if whole is not None:
        pairs = zip(whole.paths, done.paths, strict=True)
        assert all(Path(a).read_bytes() == Path(b).read_bytes() for a, b in pairs)
    assert not list(tmp_path.glob("*.reshard"))


@pytest.mark.slow
def test_a_killed_job_goes_on(tmp_path: Path) -> None:
    paths = make(tmp_path / "in", 2000, 20_000)
    program = (
        "import fastrec, os, signal, sys\n"
        "kill = int(sys.argv[2])\n"
        "def progress(done, total):\n"
        "    if done >= kill: os.kill(os.getpid(), signal.SIGKILL)\n"
        "fastrec.reshard(sys.argv[3:], sys.argv[1], shards=4, shuffle=True, seed=9,\n"
        "    memory=1 << 22, resume=True, progress=progress)\n"
    )
    for kill in (500, 1500, 2500, 3500, 10_000):
        words = [sys.executable, "-c", program, str(tmp_path / "out.tfrecord"), str(kill), *paths]
        code = subprocess.run(words, check=False).returncode
        assert code == (0 if kill == 10_000 else -signal.SIGKILL)
    out = sorted(tmp_path.glob("out-*"))
    assert records(out) == shuffled(paths, 9)


def test_work_of_another_job_is_refused(tmp_path: Path) -> None:
    paths = make(tmp_path / "in", 100)
    target = tmp_path / "out.tfrecord"

    def fail(done: int, total: int) -> None:
        raise StopError

    with pytest.raises(StopError):
        fastrec.reshard(paths, target, resume=True, progress=fail)
    with pytest.raises(FileExistsError, match="resume=True goes on"):
        fastrec.reshard(paths, target)
    with pytest.raises(ValueError, match="other arguments or other files"):
        fastrec.reshard(paths, target, shards=2, resume=True)
    os.utime(paths[0], (1, 1))
    with pytest.raises(ValueError, match="other arguments or other files"):
        fastrec.reshard(paths, target, resume=True)


def stopped(paths: list[str], target: Path, **options: Any) -> dict[str, Any]:
    """The state of a job that was stopped."""

    def fail(done: int, total: int) -> None:
        raise StopError

    with pytest.raises(StopError):
        fastrec.reshard(paths, target, resume=True, progress=fail, **options)
    state: dict[str, Any] = json.loads((Path(f"{target}.reshard") / "state.json").read_text())
    return state


@pytest.mark.parametrize(
    "change",
    [
        {"plan": 1},
        {"plan": {"files": [1]}},
        {"counts": [100]},
        {"counts": "x"},
        {"counts": [-1, 1, 1]},
        {"bytes": 1.5},
        {"bytes": None},
        {"dealt": 10**9},
        {"sizes": [1]},
        {"shards": [10**9]},
        {"shards": {}},
        {"seed": -1},
        {"seed": None},
        {"publishing": True},
    ],
)
def test_a_state_that_cannot_be_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    paths = make(tmp_path / "in", 100)
    target = tmp_path / "out.tfrecord"
    state = stopped(paths, target, shuffle=True)
    place = tmp_path / "out.tfrecord.reshard" / "state.json"
    place.write_text(json.dumps({**state, **change}))
    with pytest.raises(ValueError, match="no valid state"):
        fastrec.reshard(paths, target, shuffle=True, resume=True)
    for text in ("[1]", json.dumps(state)[:-1], "[" * 100_000):
        place.write_text(text)
        with pytest.raises(ValueError, match="no valid state"):
            fastrec.reshard(paths, target, shuffle=True, resume=True)
    place.write_text(json.dumps({**state, "shards": [5]}))
    with pytest.raises(ValueError, match="shard-00000' is missing"):
        fastrec.reshard(paths, target, shuffle=True, resume=True)
    assert sorted(os.listdir(tmp_path)) == ["in", "out.tfrecord.reshard"]


def test_files_that_exist_are_found_before_any_is_put_in_place(tmp_path: Path) -> None:
    paths = make(tmp_path / "in", 100)
    last = tmp_path / "out-00003-of-00004.tfrecord"
    last.write_bytes(b"old")
    for resume in (False, True):
        options: dict[str, Any] = {"overwrite": False, "resume": resume, "shard_records": 25}
        with pytest.raises(FileExistsError):
            fastrec.reshard(paths, tmp_path / "out.tfrecord", **options)
        assert [path.name for path in tmp_path.glob("out-*")] == [last.name]
    last.unlink()
    done = fastrec.reshard(paths, tmp_path / "out.tfrecord", **options)
    assert records(done.paths) == records(paths)


def test_a_job_that_was_publishing_goes_on_with_its_own_arguments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = make(tmp_path, 100)
    wanted, target = records(paths), tmp_path / "out.tfrecord"
    replaced: list[str] = []

    def replace_once(source: str, path: str, replace: bool) -> None:
        if replaced:
            raise StopError
        replaced.append(path)
        os.rename(source, path)

    monkeypatch.setattr(_core, "move", replace_once)
    with pytest.raises(StopError):
        fastrec.reshard(paths, target, shards=3, overwrite=True)
    monkeypatch.undo()
    with pytest.raises(ValueError, match="other arguments"):
        fastrec.reshard(paths, target, shards=2, resume=True)
    done = fastrec.reshard(paths, target, shards=3, resume=True)
    assert records(done.paths) == wanted
    assert not list(tmp_path.glob("*.reshard"))


class Steps:
    """Stop a job before one of its changes to the file system."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = -1
        for place, name in ((_core, "move"), (os, "unlink"), (os, "rmdir")):
            monkeypatch.setattr(place, name, self._stopping(getattr(place, name)))

    def _stopping(self, change: Any) -> Any:
        def stopping(*arguments: Any, **options: Any) -> Any:
            if self.left == 0:
                raise StopError
            self.left -= 1
            return change(*arguments, **options)

        return stopping


@pytest.mark.parametrize("options", [{}, {"shards": 3}, {"shuffle": True, "seed": 1, "shards": 2}])
def test_a_job_that_was_stopped_at_any_change_of_a_name_can_be_called_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    paths = make(tmp_path / "in", 300, 10_000)
    options = {**options, "memory": MIB, "resume": True}
    wanted = fastrec.reshard(paths, tmp_path / "whole.tfrecord", **options)
    steps, complete = Steps(monkeypatch), 0
    for step in range(1000):
        folder = tmp_path / str(step)
        folder.mkdir()
        try:
            steps.left = step
            fastrec.reshard(paths, folder / "out.tfrecord", **options)
            break
        except StopError:
            pass
        steps.left = -1
        state = Path(f"{folder}/out.tfrecord.reshard/state.json")
        if state.exists():
            done = fastrec.reshard(paths, folder / "out.tfrecord", **options)
            assert done.records == wanted.records
        else:  # nothing but the empty directory of the complete job was left
            complete += 1
            with pytest.raises(FileExistsError):
                fastrec.reshard(paths, folder / "out.tfrecord", **options)
        names = [Path(path).name.replace("whole", "out") for path in wanted.paths]
        assert sorted(os.listdir(folder)) == names
        assert records(sorted(folder.iterdir())) == records(wanted.paths)
    assert step >= 2
    assert complete == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": 1}, "seed requires shuffle"),
        ({"shuffle": True, "seed": -1}, "seed must be at least 0"),
        ({"level": 3}, "level requires compression"),
        ({"memory": 5}, "memory must be at least 1048576, got 5"),
        ({"shards": 2, "shard_records": 3}, "mutually exclusive"),
        ({"shards": 0}, "shards must be at least 1, got 0"),
    ],
)
def test_options_that_do_not_go_together(tmp_path: Path, options: Any, message: str) -> None:
    paths = make(tmp_path / "in", 1)
    with pytest.raises(ValueError, match=message):
        fastrec.reshard(paths, tmp_path / "out", **options)
    assert os.listdir(tmp_path) == ["in"]


def test_places_are_the_inverse_of_the_order() -> None:
    for count in (1, 2, 1000, 5000):
        order = fastrec._core.permuted(count, 7, 0, 0, count)
        places = fastrec._core.places_of(count, 7, 0, 0, count)
        assert np.array_equal(order[places], np.arange(count))
    with pytest.raises(ValueError, match="out of range"):
        fastrec._core.places_of(3, 7, 0, 2, 4)
