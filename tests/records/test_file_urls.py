# SPDX-License-Identifier: Apache-2.0
"""A ``file://`` URL names a local file wherever a path does, for reading and for writing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import fastrec
from fastrec import Index, Manifest
from fastrec.storage.urls import local_path

RECORDS = [fastrec.encode_example({"a": number}) for number in range(4)]
Job = Callable[[str, str], object]


def write(source: str, target: str) -> None:
    with fastrec.Writer(target, shards=2, index=True) as writer:
        writer.write_many(RECORDS)


def append(source: str, target: str) -> None:
    with fastrec.Writer(target, append=True) as writer:
        writer.write_many(RECORDS)


def cache(source: str, target: str) -> None:
    options = fastrec.StorageOptions(cache=target)
    assert options.cache is not None
    Path(options.cache).mkdir()
    (Path(options.cache) / "x").touch()


JOBS: dict[str, tuple[Job, tuple[str, ...]]] = {
    "Writer": (write, ("t -00000-of-00002.tfrecord", "t -00001-of-00002.tfrecord")),
    "append": (append, ("t .tfrecord",)),
    "reshard": (lambda s, t: fastrec.reshard(s, t, shards=1), ("t -00000-of-00001.tfrecord",)),
    "repair": (lambda s, t: fastrec.repair(s, t), ()),
    "Index.save": (lambda s, t: Index.build(s).save(t), ("t .tfrecord",)),
    "Index.write_text": (lambda s, t: Index.build(s).write_text(t), ("t .tfrecord",)),
    "Manifest.save": (lambda s, t: Manifest.build(s).save(t), ("t .tfrecord",)),
    "cache": (cache, ("t .tfrecord/x",)),
    "file_ranges": (lambda s, t: list(fastrec.Reader(fastrec.file_ranges(s))), ()),
    "verify": (lambda s, t: fastrec.verify(s), ()),
    "tfds": (
        lambda s, t: fastrec.tfds.write(t, "d", {"train": [{"a": 1}]}, {"a": int}),
        ("t .tfrecord/d/1.0.0/d-train.tfrecord-00000-of-00001",),
    ),
}


@pytest.mark.parametrize("job", JOBS)
def test_a_file_url_is_read_and_written(
    job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "wörk"
    work.mkdir()
    monkeypatch.chdir(work)
    with fastrec.Writer(work / "a.tfrecord") as writer:
        writer.write_many(RECORDS)
    function, names = JOBS[job]
    url = work.as_uri()  # with %C3%B6
    function(f"{url}/a.tfrecord", f"{url}/t%20.tfrecord")
    assert not (work / "file:").exists()
    for name in names:
        assert (work / name).exists(), sorted(work.rglob("*"))


@pytest.mark.parametrize(
    "words",
    ["reshard SRC -o DST --shards 1", "merge SRC -o DST", "index SRC", "clean DIR",
     "repair SRC --output=DST", "schema SRC", "convert SRC -o DST.jsonl",
     "split SRC -o DST --shard-records 2"],
)  # fmt: skip
def test_commands_take_file_urls(words: str, tmp_path: Path) -> None:
    if words.startswith("convert"):
        pytest.importorskip("pyarrow")
    with fastrec.Writer(tmp_path / "a.tfrecord") as writer:
        writer.write_many(RECORDS)
    url = tmp_path.as_uri()
    words = words.replace("SRC", f"{url}/a.tfrecord").replace("DST", f"{url}/b")
    command = [sys.executable, "-m", "fastrec", *words.replace("DIR", url).split()]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "file:").exists()


@pytest.mark.parametrize("url", ["file://host/a.tfrecord", "file://a.tfrecord", "file:///a%00b"])
def test_a_file_url_of_another_host_is_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="file:// URL must"):
        list(fastrec.Reader(url))
    with pytest.raises(ValueError, match="file:// URL must"):
        fastrec.Writer(url)
    command = [sys.executable, "-m", "fastrec", "count", url]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert "file:// URL must" in done.stderr
    assert "Traceback" not in done.stderr


def test_names_that_are_no_urls_stay_as_they_are() -> None:
    for name in ("file:", "file:/x", "xfile:///x", "FILE:///x", "", "a file:///x"):
        assert local_path(name) == name
    assert local_path(b"file:///%C3%BF\xff") == b"/\xc3\xbf\xff"
    assert local_path(Path("x")) == Path("x")
