# SPDX-License-Identifier: Apache-2.0
"""Patterns and directories as sources: what glob finds, and an error where nobody may look."""

from __future__ import annotations

import errno
import glob
import os
from pathlib import Path
from typing import Any

import pytest
from verbs import number_records, run_python, write

import fastrec
from fastrec.records.paths import expand, shard_paths
from fastrec.records.shard_sets import check_shards

NAMES = [
    "a/x.rec",
    "a/b/x.rec",
    "a/b/.h.rec",
    "a/.hid/x.rec",
    "a/b/c/d/y.rec",
    "a/b/c/xx.rec",
    "z.rec",
    "[s].rec",
]
PATTERNS = [
    "*.rec",
    "a/*/x.rec",
    "a/**/x.rec",
    "**/x.rec",
    "a/**/*.rec",
    "./a/*/x.rec",
    "a/../a/*.rec",
    "a/?/*.rec",
    "a/b/.*",
    "a/.*/x.rec",
    "[[]s].rec",
    "a/**/c/**/y.rec",
    "a/[!b]*",
]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in NAMES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        write(tmp_path / name, number_records(1))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_mean_what_they_mean_to_glob(tree: Path, pattern: str) -> None:
    os.symlink("nowhere", "a/dangling.rec")
    os.symlink("self", "a/self")
    for each in (pattern, f"{tree}/{pattern}"):
        found = sorted(glob.glob(each, recursive=True))
        assert expand(each) == found
        assert expand(os.fsencode(each)) == [os.fsencode(name) for name in found]


@pytest.mark.parametrize("pattern", ["a/*", "**/c/*"])
def test_a_directory_that_a_pattern_matches_stands_for_its_record_files(
    tree: Path, pattern: str
) -> None:
    folder = {"a/*": "a/b", "**/c/*": "a/b/c/d"}[pattern]
    with pytest.raises(IsADirectoryError, match=r"no record files .*, such as .*/\*'") as caught:
        expand(pattern)
    assert caught.value.filename == folder
    write(tree / folder / "y.tfrecord", number_records(1))
    files = {name for name in glob.glob(pattern, recursive=True) if os.path.isfile(name)}
    assert expand(pattern) == sorted(files | {f"{folder}/y.tfrecord"})


@pytest.mark.parametrize("pattern", ["no*", "a/x.rec/*", "no/*", "no/**/x", "a/*/no", "a/no?/*"])
def test_a_pattern_of_nothing_is_an_error(tree: Path, pattern: str) -> None:
    with pytest.raises(FileNotFoundError, match="no file matches the pattern") as caught:
        expand(pattern)
    assert caught.value.filename == pattern


def test_a_link_back_does_not_give_files_again(tree: Path) -> None:
    os.symlink("..", "a/b/up")
    os.symlink(".", "a/here")
    assert expand("a/**/x.rec") == ["a/b/x.rec", "a/x.rec"]
    os.symlink(tree / "a/b/c", "a/also")  # another way, not a way back
    assert expand("a/**/y.rec") == ["a/also/d/y.rec", "a/b/c/d/y.rec"]


@pytest.mark.parametrize("code", [errno.EACCES, errno.EIO, errno.ESTALE])
@pytest.mark.parametrize("pattern", ["a/*/x.rec", "a/**/x.rec", "[a]/b/*.rec", "a/b"])
def test_a_directory_that_cannot_be_listed_is_an_error(
    tree: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, code: int
) -> None:
    whole = os.scandir

    def scandir(path: Any) -> Any:
        if os.path.basename(path) == "b":
            raise OSError(code, os.strerror(code), path)
        return whole(path)

    if pattern == "a/*/x.rec":  # leads into b only to ask for one name
        monkeypatch.setattr(os, "lstat", lambda path: scandir(os.path.dirname(path)))
    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(OSError, match=r"b'$") as caught:
        expand(pattern)
    assert (caught.value.errno, caught.value.filename) == (code, "a/b")


def test_a_user_without_permission_is_told(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "x.tfrecord", number_records(10))
    code = """
import os, sys, fastrec
folder = sys.argv[1]
functions = {f: {} for f in (fastrec.Reader, fastrec.verify, fastrec.count)}
functions[fastrec.Batcher] = {"batch_size": 2}
for function, options in functions.items():
    function(folder + "/a/*", **options)  # which imports all that there is to import
os.chmod(folder + "/b", 0)
if os.getuid() == 0:
    os.chmod(folder, 0o755)
    path = folder
    while path != "/":
        path = os.path.dirname(path)
        os.chmod(path, os.stat(path).st_mode | 0o055)
    os.seteuid(65534)
try:
    for pattern in ("/*/*.tfrecord", "/**/*.tfrecord", "/b/*", "/*/x.tfrecord"):
        for function, options in functions.items():
            try:
                function(folder + pattern, **options)
            except PermissionError as error:
                assert error.filename.startswith(folder + "/b"), error
            else:
                raise SystemExit(f"{function} of {pattern} passed over a directory")
    assert fastrec.count(folder + "/[ac]/*.tfrecord") == 20
finally:
    os.seteuid(os.getuid())
    os.chmod(folder + "/b", 0o755)
"""
    run_python(code, tmp_path)


def test_a_file_of_a_directory_that_cannot_be_looked_at_is_not_left_out(tree: Path) -> None:
    for name in ("1.tfrecord", "2.tfrecord"):
        write(tree / "a" / name, number_records(2))
    os.mkdir("a/3.tfrecord")
    assert fastrec.count("a") == 4
    # Tools such as git-annex replace a file that is elsewhere by a link to nothing.
    os.symlink("nowhere", "a/4.tfrecord")
    with pytest.raises(FileNotFoundError, match=r"a.4\.tfrecord'"):
        fastrec.count("a")
    os.remove("a/4.tfrecord")
    os.symlink("loop.tfrecord", "a/loop.tfrecord")
    with pytest.raises(OSError, match=r"loop\.tfrecord"):
        fastrec.count("a")


@pytest.mark.parametrize("name", ["a.tfrecord", "a-00000-of-00001.tfrecord", "part-00000"])
@pytest.mark.parametrize(
    "copied",
    ["{}.gz", "{}.zst", "{}.bak", "{}.old", "{}~", "{} (1)", "{} copy", "{} copy 2", "{} - Copy",
     "{} - Copy (2)"],
)  # fmt: skip
def test_a_pattern_does_not_read_a_file_and_a_copy_of_it(name: str, copied: str) -> None:
    root, dot, suffix = name.partition(".")
    name = f"a/{name}"
    other = copied.format(name) if copied[2] != " " else f"a/{copied.format(root)}{dot}{suffix}"
    with pytest.raises(fastrec.MissingRecordsError) as caught:
        check_shards([name, other])
    assert f"{name!r} and {other!r} are a file and a copy of it" in str(caught.value)
    check_shards([name, other], [name, other])  # both are named exactly
    check_shards([other])


def test_a_set_of_names_has_one_order_in_every_process(tree: Path) -> None:
    names = [f"{number}.tfrecord" for number in range(20)]
    for number, name in enumerate(names):
        write(tree / name, [b"%d" % number])
    assert [*fastrec.Reader(set(names))] == [*fastrec.Reader(sorted(names))]
    assert [*fastrec.Reader(dict.fromkeys(names).keys())] == [*fastrec.Reader(names)]


def test_files_of_similar_names_are_no_copies() -> None:
    check_shards(["a.tfrecord", "a.tfrecord.1", "b.tfrecord", "b2.tfrecord", "copy.tfrecord"])


@pytest.mark.parametrize(
    ("name", "shard"),
    [
        ("a.tfrecord", "a-00001-of-00002.tfrecord"),
        ("a.tfrecord.gz", "a-00001-of-00002.tfrecord.gz"),
        ("a.CSV.GZ", "a-00001-of-00002.CSV.GZ"),
        ("a.gz", "a-00001-of-00002.gz"),
        ("v1.5.gz", "v1.5-00001-of-00002.gz"),
        ("b.c/a", "b.c/a-00001-of-00002"),
        ("b.c/.gz", "b.c/.gz-00001-of-00002"),
    ],
)
def test_shards_keep_the_suffixes_of_the_name(name: str, shard: str) -> None:
    assert shard_paths(name, 2)[1] == shard
    assert shard_paths(name, 1, 1) == [shard.replace("-of-00002", "")]
