# SPDX-License-Identifier: Apache-2.0
"""``-`` as standard input and standard output, in every verb."""

from __future__ import annotations

import errno
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from pets import write_pets
from verbs import skip_without_package_of, stdin

import fastrec
from fastrec import _core, cli

COUNT = 60


@pytest.fixture
def pets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    write_pets(tmp_path)
    monkeypatch.chdir(tmp_path)
    return (tmp_path / "pets.tfrecord").read_bytes()


def ids(data: bytes) -> list[int]:
    batch = fastrec.parse_example(list(fastrec.Reader(io.BytesIO(data))), fastrec.infer_features(
        io.BytesIO(data)))  # fmt: skip
    return [int(each) for each in batch["id"]]


def frames_of(data: bytes) -> list[bytes]:
    return [_core.frame(record) for record in fastrec.Reader(io.BytesIO(data))]


def test_text_that_was_read_from_standard_input_is_an_error(
    pets: bytes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = io.TextIOWrapper(io.BytesIO(b"header\n" + pets))
    monkeypatch.setattr("sys.stdin", text)
    assert text.buffer.readline() == b"header\n"
    assert cli.main(["count", "-"]) == 0
    assert f"{COUNT}" in capsys.readouterr().out
    text = io.TextIOWrapper(io.BytesIO(b"header\n" + pets), "latin-1")
    monkeypatch.setattr("sys.stdin", text)
    assert text.readline() == "header\n"
    assert cli.main(["count", "-"]) == 2
    assert "call sys.stdin.buffer.readline()" in capsys.readouterr().err
    assert text.read(4) == pets[:4].decode("latin-1"), "the text that was read ahead remains"


READING = {
    "head": ["-", "--json"],
    "tail": ["-", "--json"],
    "cat": ["-", "--json"],
    "grep": ["a", "-", "--json"],
    "schema": ["-", "--json"],
    "count": ["-", "--json"],
    "stats": ["-", "--json"],
    "doctor": ["-", "--json"],
    "verify": ["-", "--json"],
    "diff": ["-", "pets.tfrecord", "--json"],
    "view": ["-", "--html", "page.html"],
    "split": ["-", "--shards", "3", "-o", "x.tfrecord"],
    "merge": ["-", "-o", "x.tfrecord"],
    "reshard": ["-", "--shards", "3", "-o", "x.tfrecord"],
    "convert": ["-", "--features", "id", "-o", "x.jsonl"],
    "extract": ["-", "-o", "photos"],
}


@pytest.mark.parametrize("verb", READING)
def test_every_verb_reads_standard_input(
    pets: bytes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    skip_without_package_of(verb)
    stdin(monkeypatch, pets)
    assert cli.main([verb, *READING[verb]]) == 0
    out, err = capsys.readouterr()
    assert "error" not in err
    if "--json" in READING[verb]:
        assert all(isinstance(json.loads(line), dict) for line in out.splitlines())
    if "x.tfrecord" in READING[verb]:
        assert fastrec.count("x*.tfrecord") == COUNT


class Stalled(io.RawIOBase):
    """A non-blocking pipe: some bytes, and then none for now."""

    name = "<stdin>"

    def __init__(self, data: bytes) -> None:
        self._data: bytes | None = data

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes | None:
        data, self._data = self._data, None
        return data


@pytest.mark.parametrize("verb", [*(each for each in READING if each != "head"), "repair"])
def test_a_pipe_without_bytes_for_now_is_an_error_and_not_the_end(
    pets: bytes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    skip_without_package_of(verb)
    whole = len(pets) - len(frames_of(pets)[-1])  # the pipe stalls after a whole record
    pipe: Any = Stalled(pets[:whole])
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(pipe)))
    before = sorted(os.listdir("."))
    assert cli.main([verb, *READING.get(verb, ["-", "-o", "x.tfrecord"])]) == 74
    assert "<stdin>: the stream has no bytes now" in capsys.readouterr().err
    assert verb == "extract" or sorted(os.listdir(".")) == before  # it writes file by file


@pytest.mark.parametrize(
    ("verb", "options"),
    [
        ("merge", []),
        ("reshard", []),
        ("reshard", ["--shuffle", "--seed", "1"]),
        ("repair", []),
        ("convert", ["--raw", "--to", "jsonl", "--base64"]),
    ],
)
def test_every_verb_that_writes_one_file_writes_standard_output(
    pets: bytes,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
    verb: str,
    options: list[str],
) -> None:
    skip_without_package_of(verb)
    stdin(monkeypatch, pets)
    before = sorted(os.listdir("."))
    assert cli.main([verb, "-", *options, "-o", "-"]) == 0
    written = capsysbinary.readouterr().out
    if verb == "convert":
        stdin(monkeypatch, written)
        assert cli.main(["convert", "-", "--from", "jsonl", "-o", "-", "--raw", "--base64"]) == 0
        written = capsysbinary.readouterr().out
    assert sorted(ids(written)) == list(range(COUNT))
    assert (written == pets) == ("--shuffle" not in options)
    assert sorted(os.listdir(".")) == before


def test_repair_passes_the_sound_records_of_a_pipe_on(
    pets: bytes, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    stdin(monkeypatch, Path("damaged.tfrecord").read_bytes())
    assert cli.main(["repair", "-", "-o", "-"]) == 0
    out, err = capsysbinary.readouterr()
    assert ids(out) == [*range(7), *range(8, 40)][:39]
    assert err.count(b"damage: <stdin>: ") == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["repair", "-"], "standard input requires --output"),
        (["index", "-"], "index requires files"),
        (["index", "pets.tfrecord", "-o", "-"], "index requires files"),
        (["split", "pets.tfrecord", "--shards", "2", "-o", "-"], "must be a file name"),
        (["reshard", "pets.tfrecord", "--shards", "2", "-o", "-"], "several shards"),
        (["extract", "pets.tfrecord", "-o", "-"], "must be a directory"),
        (["images", "photos", "-"], "requires a directory"),
    ],
)
def test_a_verb_that_cannot_use_a_stream_says_so(
    pets: bytes, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    before = sorted(os.listdir("."))
    assert cli.main(words) == 2
    assert message in capsys.readouterr().err
    assert sorted(os.listdir(".")) == before


@pytest.mark.skipif(os.name == "nt", reason="pipes of POSIX")
@pytest.mark.parametrize("verb", ["count", "verify", "cat", "schema", "merge"])
def test_bytes_that_the_caller_read_ahead_are_read_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    records = [b"%d" % number * 1000 for number in range(20)]
    output = ["-o", str(tmp_path / "out")] if verb == "merge" else []
    read, written = os.pipe()
    os.write(written, b"a line of the caller\n" + b"".join(map(_core.frame, records)))
    os.close(written)
    with os.fdopen(read, "r") as file:
        monkeypatch.setattr("sys.stdin", file)
        buffer: Any = file.buffer
        assert buffer.readline() == b"a line of the caller\n"
        assert cli.main([verb, "-", *output]) == (verb == "schema")  # no features
    out = capsys.readouterr().out
    if verb == "count":
        assert out.startswith("20")
    if verb == "cat":
        assert len(out.splitlines()) == 20
    if verb == "merge":
        assert [*fastrec.Reader(tmp_path / "out")] == records


def test_a_full_disk_is_standard_output_only_while_it_is_written(
    pets: bytes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Full(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    full = os.strerror(errno.ENOSPC)
    commands = [
        ["count", "pets.tfrecord"], ["cat", "pets.tfrecord"], ["cat", "pets.tfrecord", "--json"],
        ["merge", "pets.tfrecord", "-o", "-"], ["stats", "pets.tfrecord"],
        ["--version"], ["--help"], ["count", "--help"], ["man", "--help"],
    ]  # fmt: skip
    for words in commands:
        with monkeypatch.context() as patch:
            sink: Any = Full()
            patch.setattr("sys.stdout", io.TextIOWrapper(io.BufferedWriter(sink, 1)))
            assert cli.main(words) == 74
            patch.setattr(sink, "write", len, raising=False)  # the rest is dropped
            assert capsys.readouterr().err.endswith(f"error: standard output: {full}\n"), words
    monkeypatch.setattr("fastrec.cli.count.expand", lambda *_, **__: Full().write(b""))
    assert cli.main(["count", "pets.tfrecord"]) == 74
    err = capsys.readouterr().err
    assert "standard output" not in err
    assert full in err
