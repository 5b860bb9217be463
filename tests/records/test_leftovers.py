# SPDX-License-Identifier: Apache-2.0
"""What killed jobs leave is never read as records, is listed, and is deleted on request."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from verbs import run_python

import fastrec
from fastrec import cli
from fastrec.records.leftovers import find_leftovers

HEX = "0123456789abcdef"
FILES = [
    f".a.tfrecord.{HEX}.tmp",
    f"b.tfrecord.{HEX}.part",
    f".data.{HEX}.tmp/train.tfrecord",
    "c.tfrecord.reshard/state.json",
    "c.tfrecord.reshard/shard-00000",
    f"d.tfrecord.reshard/unit-{HEX}{HEX}",
    f"d.tfrecord.reshard.{HEX}{HEX}/unit-{HEX}{HEX}",
    f"_temporary-{HEX}{HEX}/part-00000.tfrecord",
    f"_unfinished-{HEX}{HEX}/part-00000.tfrecord",
]
TOPS = sorted({name.partition("/")[0] for name in FILES})
DAMAGED = "a.tfrecord.damaged"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A record file, and copies of it under every name that a killed job leaves."""
    monkeypatch.chdir(tmp_path)
    with fastrec.Writer("a.tfrecord") as writer:
        writer.write_many([b"one", b"two"])
    data = Path("a.tfrecord").read_bytes()
    for name in [*FILES, DAMAGED]:
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_bytes(data)
    return tmp_path


@pytest.mark.parametrize(
    "source", [".", "*", "*.tfrecord*", "**", "**/*", "*/*", "**/*.tfrecord", "./**/*-*", "[.a-z]*"]
)
@pytest.mark.parametrize("remote", [False, True])
def test_no_pattern_and_no_directory_yields_leftovers(
    here: Path, source: str, remote: bool
) -> None:
    options: dict[str, Any] = {}
    if remote:
        if source.startswith("./"):
            pytest.skip("a key has no dots")
        filesystem = pytest.importorskip("pyarrow.fs").LocalFileSystem()
        options = {"storage_options": fastrec.StorageOptions(filesystem=filesystem)}
        source = f"{here}/" if source == "." else f"{here}/{source}"
    try:
        files = fastrec.Reader(source, **options).paths
    except FileNotFoundError:  # all matches are leftovers
        files = []
    assert {os.path.basename(os.fsdecode(each)) for each in files} <= {"a.tfrecord"}


def clean(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    assert cli.main(["clean", "--json", *words]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_leftovers_are_listed_and_deleted(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.makedirs("deep/er")
    os.rename(FILES[0], f"deep/er/{FILES[0]}")
    tops = sorted(f"./{name}" for name in [*TOPS[1:], f"deep/er/{FILES[0]}"])
    before = sorted(map(str, here.rglob("*")))
    assert sorted(each["path"] for each in clean(capsys, ".")) == tops
    assert not any(each["deleted"] for each in clean(capsys, "--delete", "."))  # all are recent
    assert not any(each["deleted"] for each in clean(capsys, "--minutes", "0", "."))
    assert sorted(map(str, here.rglob("*"))) == before
    assert all(each["deleted"] for each in clean(capsys, "--minutes", "0", "--delete", "."))
    assert sorted(os.listdir()) == ["a.tfrecord", DAMAGED, "deep"]
    assert clean(capsys, ".") == []
    [kept] = clean(capsys, "--minutes", "0", "--damaged", "--delete", ".")
    assert (kept["path"], kept["kind"], kept["deleted"]) == (f"./{DAMAGED}", "damaged", True)
    assert sorted(os.listdir()) == ["a.tfrecord", "deep"]


def test_files_of_users_are_no_leftovers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("mine.reshard/notes.txt", "a.tmp", ".b.tmp", "c.part", "d.damaged",
                 f"{HEX}.reshard", f"_temporary-{HEX}/x"):  # fmt: skip
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert clean(capsys, "--minutes", "0", "--damaged", "--delete", str(tmp_path)) == []


def test_files_that_a_spark_job_was_about_to_replace_are_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = tmp_path / f"_temporary-{HEX}{HEX}"
    job.mkdir()
    (job / "old-part-00000.tfrecord").write_bytes(b"the only copy")
    [found] = clean(capsys, "--minutes", "0", "--delete", str(tmp_path))
    assert (found["kind"], found["deleted"]) == ("replaced", False)
    assert (job / "old-part-00000.tfrecord").exists()


KILLED = {
    "Writer": "w = fastrec.Writer('o.tfrecord'); w.write(b'x' * (3 << 20)); kill()",
    "shards": "w = fastrec.Writer('o.tfrecord', shards=3); w.write(b'x' * (3 << 20)); kill()",
    "tfds": """
        def examples():
            yield {'x': 1}
            kill()
        fastrec.tfds.write('.', 'numbers', {'train': examples()}, {'x': 'int64'})
    """,
    "reshard": """
        def progress(done, total):
            if done:
                kill()
        fastrec.reshard('a.tfrecord', 'o.tfrecord', shards=2, progress=progress)
    """,
}


@pytest.mark.parametrize("job", KILLED)
def test_a_killed_job_leaves_nothing_that_is_not_found(
    tmp_path: Path, job: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with fastrec.Writer(tmp_path / "a.tfrecord") as writer:
        writer.write_many([b"one", b"two"])
    code = "import os, signal, sys, textwrap, fastrec\nos.chdir(sys.argv[1])\n"
    code += "def kill(): os.kill(os.getpid(), signal.SIGKILL)\nexec(textwrap.dedent(sys.argv[2]))"
    done = run_python(code, tmp_path, KILLED[job], check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(list(find_leftovers(str(tmp_path)))) >= 1
    assert list(fastrec.Reader(tmp_path)) == [b"one", b"two"]
    old = time.time() - 7200
    for path in tmp_path.rglob("*"):
        os.utime(path, (old, old))
    assert cli.main(["clean", "--delete", str(tmp_path)]) == 0
    files = [path.name for path in tmp_path.rglob("*") if path.is_file()]
    assert files == ["a.tfrecord"]
