# SPDX-License-Identifier: Apache-2.0
"""Odd sources, given to every function and command: a result, or an error with name and remedy."""

from __future__ import annotations

import io
import os
import shutil
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from verbs import assert_one_ascii_line

import fastrec
from fastrec import cli
from fastrec.records import byte_sources

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="names that Windows refuses")

FEATURES = {"a": fastrec.FixedLenFeature((), np.int64)}
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "Reader": lambda source: list(fastrec.Reader(source)),
    "len": lambda source: len(fastrec.Reader(source)),
    "Batcher": lambda source: list(fastrec.Batcher(source, FEATURES, 2)),
    "count": fastrec.count,
    "verify": fastrec.verify,
    "infer_features": fastrec.infer_features,
    "Manifest": fastrec.Manifest.build,
    "Index": fastrec.Index.build,
    "repair": lambda source: fastrec.repair(source, "new.tfrecord", overwrite=True),
    "reshard": lambda source: fastrec.reshard(source, "new.tfrecord", overwrite=True),
    "DatasetIndex": lambda source: fastrec.DatasetIndex.build(
        source, "n.frdataset", overwrite=True
    ),
    "convert": lambda source: fastrec.convert(source, "new.jsonl", overwrite=True, base64=True),
    "arrow.table": lambda source: list(fastrec.arrow.table(source).batches()),
}
ONE_FILE = {"Index", "repair"}  # functions of one path
WORDS = {
    "head": [], "tail": [], "cat": [], "grep": [], "schema": [], "count": [], "stats": [],
    "doctor": [], "verify": [], "repair": ["-o", "out"], "diff": ["good.tfrecord"],
    "index": ["-o", "out"],
    "split": ["-o", "out", "--shard-records", "1"], "merge": ["-o", "out"],
    "reshard": ["-o", "out"],
    "convert": ["-o", "out.jsonl", "--base64"], "view": ["--html", "out"],
    "extract": ["-o", "out", "--feature", "s"],
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with fastrec.Writer("good.tfrecord", fsync=False) as writer:
        writer.write({"a": 1, "s": b"x"})
    for name in ("empty", "d[1]", "named.tfrecord", "notes", "full"):
        os.mkdir(name)
    Path("notes/readme.md").write_text("text " * 9)
    shutil.copy("good.tfrecord", "full/a.tfrecord")
    os.symlink("nowhere", "dangling.tfrecord")
    os.symlink("loop", "loop")
    return tmp_path


def call(function: Callable[[Any], Any], source: Any) -> Exception | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function(source)
        except (OSError, TypeError, ValueError) as error:
            return error
    return None


def run(verb: str, word: str) -> int:
    words = ["x", word] if verb == "grep" else [word]
    try:
        return cli.main([verb, "-q", *WORDS[verb], "--", *words])
    except SystemExit as error:
        return int(error.code or 0)


def needs(name: str) -> None:
    if name in ("convert", "arrow.table"):
        pytest.importorskip("pyarrow")


NO_RECORDS = "no record files in this directory"
NAMES = {
    "empty": NO_RECORDS, "empty/": NO_RECORDS, "d[1]": NO_RECORDS, "named.tfrecord": NO_RECORDS,
    "e*": NO_RECORDS, "named*": NO_RECORDS, "notes": r"which has 'readme.md'; a pattern .*notes/\*",
    "notes/*": "looks like text", "nothing*": "no file matches the pattern",
    "dangling.tfrecord": "a symbolic link to 'nowhere', which does not exist",
    "loop": "symbolic links", "good.tfrecord/": "Not a directory",
    "good.tfrecord/x": "Not a directory", "~/x": "expanduser", "~nobody/x": "expanduser",
    "$HOME/x": "expandvars", "x" * 300: "too long", "x/" * 3000: "too long",
    "nothing": "No such file", "a,b": "No such file", " ": "No such file",
    "../nothing/x": "No such file",
}  # fmt: skip
# Index.build() takes no directories or patterns, and names the function that does.
OF_INDEX = {"~/x", "~nobody/x", "$HOME/x"}


@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name[:20]))
def test_a_name_without_records_is_an_error_that_says_what_is_there(
    folder: Path, name: str, capfd: Any
) -> None:
    text = NAMES[name]
    for label, function in FUNCTIONS.items():
        if label in ("convert", "arrow.table"):
            continue  # pyarrow's readers are tried below
        error = call(function, name)
        assert error is not None, label
        assert_one_ascii_line(error) if len(name) < 500 else None
        if label == "Index":
            continue
        with pytest.raises(type(error), match=text):
            raise error
    for verb in WORDS:
        if verb == "convert":
            continue
        assert run(verb, name) in (1, 2, 74), verb
        out, err = capfd.readouterr()
        lines = err.splitlines()
        assert not out or verb in ("diff", "extract", "verify"), verb  # reports
        assert all(line.startswith("fastrec: error: ") for line in lines), (verb, lines)
        assert lines or "FOREIGN" in out, verb
    assert not os.path.isfile("out")


@pytest.mark.parametrize("name", ["empty", "e*", "dangling.tfrecord", "nothing", "notes/*"])
def test_tables_name_what_is_there(folder: Path, name: str) -> None:
    for label in ("convert", "arrow.table"):
        needs(label)
        error = call(FUNCTIONS[label], name)
        with pytest.raises((OSError, ValueError), match=NAMES[name]):
            raise error or AssertionError(label)


def test_an_index_of_several_files_is_another_function(folder: Path) -> None:
    for name, kind in (("full", IsADirectoryError), ("full*", FileNotFoundError)):
        with pytest.raises(kind, match=r"DatasetIndex.build\(\) takes directories and patterns"):
            fastrec.Index.build(name)


GOOD = [
    "new\nline.tfrecord", "caf\udce9.tfrecord", "-x.tfrecord", "a[1].tfrecord", "a*.tfrecord",
    "~x.tfrecord", "it's \"q\".tfrecord", "100%25.tfrecord", "c:x.tfrecord", "http:x.tfrecord",
    "x@2", "\x1b[31m.tfrecord", "\u202e.tfrecord", "a#b?.tfrecord", "a,b", "{a,b}", "-",
]  # fmt: skip


@pytest.mark.parametrize("name", GOOD, ids=ascii)
def test_a_file_of_any_name_is_read(folder: Path, name: str, capfd: Any) -> None:
    try:
        shutil.copy("good.tfrecord", name)
    except OSError:
        pytest.skip("the file system refuses the name")
    for each in (name, os.fsencode(name), Path(name), [name], (Path(name), "good.tfrecord")):
        records = 2 if isinstance(each, tuple) else 1
        assert fastrec.count(each) == records
        assert len(list(fastrec.Reader(each))) == records
        assert sum(len(batch["a"]) for batch in fastrec.Batcher(each, FEATURES, 9)) == records
    if name == "-":
        return  # standard input
    for verb in WORDS:
        needs(verb)
        assert run(verb, name) in (0, 1 if verb == "grep" else 0), (verb, capfd.readouterr())
        for new in folder.glob("out*"):
            shutil.rmtree(new) if new.is_dir() else new.unlink()
    assert "Traceback" not in capfd.readouterr().err


def test_a_directory_means_the_same_by_its_name_and_by_a_pattern(folder: Path, capfd: Any) -> None:
    shutil.copy("good.tfrecord", "full-2.tfrecord")
    for label, function in FUNCTIONS.items():
        needs(label)
        for name in ("full", "full/", "full?", "f*", "fu[l]l*"):
            if label not in ONE_FILE and name in ("full", "full/"):
                assert call(function, name) is None, (label, name)
    sources: list[Any] = ["f*", "./f*", str(folder / "f*"), os.fsencode("f*"), ["full*"]]
    for source in sources:
        assert fastrec.count(source) == 2
        assert len(fastrec.Reader(source)) == 2
        assert sorted(map(os.fsdecode, fastrec.Reader(source).paths))[1].endswith("full/a.tfrecord")
    for verb in ("count", "verify", "cat", "merge"):
        assert run(verb, "f*") == 0
    assert fastrec.count("out") == 2


VALUES: list[Any] = [
    None, 1, 0, True, 1.5, object(), {}, {"a": 1}, [None], [1], ["good.tfrecord", None],
    [["good.tfrecord"]], [""], "", b"", "\0", "a\0b", b"x\0", range(3), np.array([1]),
    io.StringIO(""), len, bytearray(b"x"), memoryview(b"x"), [io.BytesIO(b"")],
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_what_is_not_a_source_is_an_error_of_its_type(folder: Path, value: Any) -> None:
    for label, function in FUNCTIONS.items():
        needs(label)
        error = call(function, value)
        assert isinstance(error, (TypeError, ValueError)), (label, error)
        assert_one_ascii_line(error)
        assert any(word in str(error) for word in ("source", "path", "file")), (label, error)


@pytest.mark.parametrize(
    "value", [[], (), set(), iter([]), np.array([], str)], ids=lambda value: type(value).__name__
)
def test_a_list_of_no_files_is_an_error(folder: Path, value: Any) -> None:
    for label, function in FUNCTIONS.items():
        needs(label)
        error = call(function, value)
        if label in ONE_FILE or (label == "convert" and isinstance(error, TypeError)):
            assert isinstance(error, TypeError), label
        else:
            with pytest.raises(FileNotFoundError, match="the list of paths is empty"):
                raise error or AssertionError(label)


def test_an_open_file_is_read_or_refused_but_never_taken_for_names(folder: Path) -> None:
    for label, function in FUNCTIONS.items():
        needs(label)
        with open("good.tfrecord", "rb") as file:
            error = call(function, file)
        assert error is None or isinstance(error, (TypeError, ValueError)), (label, error)
        assert (error is None) == (label in ("Reader", "Batcher", "count", "verify",
                                             "infer_features")), (label, error)  # fmt: skip


def test_a_set_of_names_has_the_same_order_in_every_process(folder: Path) -> None:
    names = [f"{number}.tfrecord" for number in range(20)]
    unordered: Any = set(names)
    for number, name in enumerate(names):
        with fastrec.Writer(name, fsync=False) as writer:
            writer.write({"a": number})
    assert [*fastrec.Reader(unordered)] == [*fastrec.Reader(sorted(names))]
    needs("convert")
    fastrec.convert(unordered, "set.jsonl")
    fastrec.convert(sorted(names), "sorted.jsonl")
    assert Path("set.jsonl").read_bytes() == Path("sorted.jsonl").read_bytes()


def test_a_named_pipe_without_a_writer_is_waited_for_with_a_warning(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The warning opens the pipe for writing, so that the wait ends."""
    os.mkfifo("pipe")
    said: list[Any] = []

    def warn(path: Any) -> None:
        said.append(path)
        Path("pipe").write_bytes(Path("good.tfrecord").read_bytes())

    monkeypatch.setattr(byte_sources, "_QUIET_S", 0.01)
    monkeypatch.setattr(byte_sources, "_warn_of_waiting", warn)
    assert fastrec.count("pipe") == 1
    assert said == ["pipe"]


def test_the_warning_about_a_pipe_names_it() -> None:
    with pytest.warns(RuntimeWarning, match="'a/pipe' is a named pipe that no process has opened"):
        byte_sources._warn_of_waiting("a/pipe")
