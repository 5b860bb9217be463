# SPDX-License-Identifier: Apache-2.0
"""What a source names: one meaning for every function, every command and every compression."""

from __future__ import annotations

import http.server
import io
import os
import re
import subprocess
import sys
import threading
import urllib.request
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shard_files import VERBS, make_shards, run, shard
from verbs import gzipped, skip_without_package_of, write, write_examples

import fastrec
from fastrec import cli
from fastrec.errors import MissingRecordsError
from fastrec.records.paths import expand
from fastrec.records.patterns import brace_words

FEATURES = {"i": fastrec.FixedLenFeature((), np.int64)}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [str, os.fsencode])
@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("t@3.tfrecord", "abc"),
        ("t.tfrecord@3", "abc"),
        ("t.tfrecord@*", "abc"),
        ("u.tfrecord@2", "de"),
        ("u.tfrecord@*", "de"),
        ("./t.tfrecord@3", "abc"),
        ("t-0000{0..2}-of-00003.tfrecord", "abc"),
        ("{t,u}*", "abcde"),
        ("t-*.tfrecord,u.tfrecord-*", "abcde"),
        ("t-00000-of-00003.tfrecord, u.tfrecord-00001-of-00002", "ae"),
        ("t-00001-of-00003.tfrecord", "b"),
        ("t-0000[0-2]*", "abc"),
    ],
)
def test_a_name_that_does_not_exist_may_stand_for_others(
    folder: Path, source: str, names: str, kind: Any
) -> None:
    files = [*make_shards(folder, 3), *make_shards(folder, 2, "u.tfrecord", "")]
    wanted = [files["abcde".index(each)] for each in names]
    found = [os.path.normpath(os.fsdecode(path)) for path in expand(kind(source))]
    assert found == wanted
    assert all(type(path) is type(kind(source)) for path in expand(kind(source)))


@pytest.mark.parametrize(
    "name", ["x@3", "x@*", "{a,b}.tfrecord", "a,b.tfrecord", "$HOME", "~x", "[a].tfrecord", "*a*b"]
)
def test_a_name_that_exists_is_taken_as_it_is(folder: Path, name: str) -> None:
    write(folder / name, [b"1"])
    write(folder / "a.tfrecord", [b"2"])
    assert expand(name) == [name]


@pytest.mark.parametrize("name", ["*", "t-*", "t-0000?-of-00003.tfrecord", "t@3", "t@*.tfrecord"])
def test_a_warning_names_a_file_that_is_not_read_because_another_has_its_pattern_as_a_name(
    folder: Path, name: str
) -> None:
    write(folder / name, [b"1"])
    assert fastrec.count(name) == 1
    first = make_shards(folder, 3)[0]
    with pytest.warns(RuntimeWarning, match=re.escape(f"{name!r} is a file, ")) as caught:
        assert fastrec.count(name) == 1
    assert name[0] == "*" or f"such as {first!r}" in str(caught[0].message)
    assert fastrec.count("t-0*") == 3 + (name == "t-0000?-of-00003.tfrecord")


def test_a_file_whose_name_has_braces_is_opened_without_expanding_them(folder: Path) -> None:
    name = "x{1..2000000}"
    write(folder / name, [b"1"])
    assert fastrec.count(name) == 1


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("t.tfrecord", r"3 shards of it are there: 't-\*-of-\*.tfrecord'"),
        ("u.tfrecord", r"2 shards of it are there: 'u.tfrecord-\*-of-\*'"),
        ("~/t.tfrecord", "expanduser"),
        ("$HOME/t.tfrecord", "expandvars"),
        ("${HOME}/t", "expandvars"),
        ("none@7", "no shard named 'none-00000-of-00007'"),
        ("t.tfrecord@4", "no shard named 't.tfrecord-00000-of-00004'"),
        ("t-00000-of-00003.tfrecord,none", "none"),
        ("t-0000{2..4}-of-00003.tfrecord", "t-00003-of-00003"),
        ("none-*", "no file matches the pattern"),
    ],
)
def test_a_missing_name_has_a_hint_at_what_may_help(
    folder: Path, source: str, message: str
) -> None:
    make_shards(folder, 3)
    make_shards(folder, 2, "u.tfrecord", "")
    with pytest.raises(FileNotFoundError, match=message):
        expand(source)


def test_braces_mean_what_they_mean_to_a_shell() -> None:
    for text in ("a{1,2}b", "{00..11}", "{3..1}", "x{a,b}{8..10}", "{a}", "{", "}{", "{,x}y", "a"):
        command = f"printf '%s\\n' {text.replace('}{', chr(92) + '}{') if text == '}{' else text}"
        shell = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
        assert brace_words(text) == shell.stdout.split("\n")[:-1], text
    with pytest.raises(ValueError, match="at most 1000000 names"):
        brace_words("{0..99999999}")
    with pytest.raises(ValueError, match="at most 1000000 names"):
        brace_words("{0..9999}" * 30)


@pytest.mark.parametrize(
    "name",
    ["x.tfrecord", "train00-511.tfrec", "test-0.tfr", "pets.record", "b.records", "part-r-00000",
     "part-00000-of-00001", "A.TFRECORD", "a.TFREC.GZ", "part-00000.gz",
     "x.tfrecord-00000-of-00001",
     "part-00000-8f.c000.tfrecord"],
)  # fmt: skip
def test_a_directory_stands_for_its_record_files(folder: Path, name: str) -> None:
    os.mkdir("d")
    write(folder / "d" / name, [b"x"] * 3)
    for other in ("part-0.parquet", "notes.txt", "a.tfrecord.frindex", "x.json", "_SUCCESS",
                  ".x.tfrecord.tmp", "a.tfrecord.damaged", "a.tfrecord.0f.part"):  # fmt: skip
        (folder / "d" / other).write_bytes(b"no record")
    assert fastrec.count("d") == 3


def test_a_directory_without_record_files_says_which_pattern_helps(folder: Path) -> None:
    os.mkdir("d")
    with pytest.raises(IsADirectoryError, match=r"no record files in this directory: 'd'$"):
        expand("d")
    for number in range(5):
        write(folder / "d" / f"data{number}.bin", [b"x"])
    with pytest.raises(IsADirectoryError, match=r"'data0.bin', .* and 2 more; .* such as 'd/\*'"):
        expand("d")
    assert len(expand("d/*")) == 5
    os.makedirs("e/sub")
    write(folder / "e" / "sub" / "x.tfrecord", [b"x"])
    with pytest.raises(IsADirectoryError, match=r"'sub/'; .* such as 'e/\*\*/\*.tfrecord\*'"):
        expand("e")
    assert fastrec.count("e/**/*.tfrecord*") == 1


# --- commands ------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in ("grep", "extract")])
def test_side_files_that_a_shell_names_are_left_out(
    folder: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    skip_without_package_of(verb)
    make_shards(folder, 2)
    for name in make_shards(folder, 2):
        fastrec.Index.build(name).save()
        fastrec.Index.build(name).write_text(f"{name}.idx")
    (folder / "t-images.json").write_text("{}")
    (folder / "t-labels.txt").write_text("cat\n")
    (folder / f"{shard(0, 2)}.damaged").write_bytes(b"no record")
    (folder / f"{shard(0, 2)}.00ff.part").write_bytes(b"no record")
    names = sorted(os.listdir())
    for words in (["t*"], ["."], names):
        assert run(verb, *words) == 0, (words, capsys.readouterr().err)
        for name in os.listdir():
            if name.startswith(("o.", "o-")):
                os.remove(name)
    for verb in ("repair", "index"):
        assert cli.main([verb, *names]) == 0


def test_a_side_file_that_is_named_alone_is_an_error(folder: Path) -> None:
    [name] = make_shards(folder, 1)
    (folder / "x.gz").write_bytes(gzipped((folder / name).read_bytes()))
    for path in (name, "x.gz"):
        index = fastrec.Index.build(path).save()
        with pytest.raises(fastrec.CorruptRecordError, match="a fastrec index"):
            list(fastrec.Reader(index))
        assert cli.main(["count", index]) == 1
    with pytest.raises(FileNotFoundError, match="no file matches the pattern"):
        expand("*.frindex")


# --- other inputs --------------------------------------------------------------------------------

RECORDS = [b"record %d" % number * (number % 7) for number in range(500)]


def test_what_is_not_a_source_is_refused_with_a_remedy(folder: Path) -> None:
    data = write(folder / "x.tfrecord", RECORDS).read_bytes()
    for source, says in (
        (bytearray(data), r"io.BytesIO\(source\) is a file"),
        (memoryview(data), r"io.BytesIO\(source\) is a file"),
        (io.StringIO("x"), "open it with mode 'rb'"),
        (open("y", "wb"), "open it with mode 'rb'"),  # noqa: SIM115
    ):
        functions: list[Any] = [fastrec.Reader, fastrec.count, fastrec.verify]
        for function in functions:
            with pytest.raises((TypeError, ValueError), match=says):
                function(source)
        getattr(source, "close", bool)()


def test_a_server_without_ranges_is_read_in_sequence(folder: Path) -> None:
    pytest.importorskip("obstore")
    write(folder / "x.tfrecord", RECORDS)

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/x.tfrecord"
        assert list(fastrec.Reader(url)) == RECORDS
        with urllib.request.urlopen(url) as stream:
            assert list(fastrec.Reader(stream)) == RECORDS
        server.shutdown()


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB", "gzip", None, "auto"])
def test_a_batcher_takes_a_compression(folder: Path, kind: Any) -> None:
    data = write(folder / "plain", RECORDS).read_bytes()
    packers: dict[str | None, Any] = {None: bytes, "ZLIB": zlib.compress}
    pack = packers.get(kind, gzipped)
    (folder / "x").write_bytes(pack(data))
    found = [each for batch in fastrec.Batcher("x", None, 64, compression=kind) for each in batch]
    assert found == RECORDS
    with pytest.raises(ValueError, match="compression must be"):
        fastrec.Batcher("x", None, 64, compression="lz4")  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "extract"])
@pytest.mark.parametrize("pack", [bytes, gzipped])
def test_every_command_reads_standard_input(
    folder: Path, verb: str, pack: Callable[[bytes], bytes]
) -> None:
    skip_without_package_of(verb)
    data = pack(write_examples(folder / "x", [{"i": number, "s": "x"} for number in range(9)])
                .read_bytes())  # fmt: skip
    extra = VERBS[verb]
    words = [sys.executable, "-m", "fastrec", verb, *(extra if verb == "grep" else []), "-",
             *(extra if verb != "grep" else [])]  # fmt: skip
    done = subprocess.run(words, input=data, capture_output=True, cwd=folder)
    assert done.returncode == 0, done.stderr.decode()


def test_objects_of_a_file_system_are_named_in_the_same_ways(folder: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    storage = fastrec.StorageOptions(filesystem=memory)
    names = make_shards(folder, 3)
    for name in names:
        memory.pipe(f"/sources/{name}", (folder / name).read_bytes())
        memory.pipe(f"/sources/{name}.frindex", b"no record")
    memory.pipe("/sources/t-labels.txt", b"cat")
    memory.pipe(f"/sources/{names[0]}.00ff.part", (folder / names[0]).read_bytes())
    count = partial(fastrec.count, storage_options=storage)
    for source in (
        "sources/t-*",
        "sources",
        "sources/",
        "sources/t@3.tfrecord",
        "sources/t.tfrecord@*",
        "sources/t-0000{0..2}-of-00003.tfrecord",
        ",".join(f"sources/{name}" for name in names),
        [f"sources/{name}" for name in names],
    ):
        assert count(source) == 3, source
    with pytest.raises(FileNotFoundError):
        count("sources/t@4.tfrecord")
    memory.rm(f"/sources/{names[1]}")
    for source in ("sources/t-*", "sources", "sources/t@3.tfrecord"):
        with pytest.raises(MissingRecordsError, match=r"t-00001-of-00003.tfrecord' is missing"):
            count(source)
        assert count(source, shards="any") == 2
    assert count(f"sources/{names[0]}") == 1
    assert count([f"sources/{names[0]}", f"sources/{names[2]}"]) == 2
