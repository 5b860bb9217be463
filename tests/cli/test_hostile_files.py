# SPDX-License-Identifier: Apache-2.0
"""Files that try what they can, through every verb."""

from __future__ import annotations

import json
import os
import shutil
import stat
import struct
import time
from pathlib import Path
from typing import Any

import pytest
from commands import Captured
from pets import png, write_pets
from verbs import gzipped, promise, skip_without_package_of, write, write_examples

import fastrec
from fastrec import cli
from fastrec.cli.grammar import VERBS

# These read no record files.
WITHOUT_FILES = {"clean", "demo", "bench", "completion", "man", "sql"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Files by what is wrong with them."""
    directory = tmp_path_factory.mktemp("hostile")
    write_pets(directory)
    sound = (directory / "pets.tfrecord").read_bytes()
    offsets = fastrec.Index.build(directory / "pets.tfrecord").offsets.tolist()
    data, length = bytearray(sound), bytearray(sound)
    data[offsets[1] + 50] ^= 8
    length[offsets[1] + 3] ^= 64
    contents = {
        "data": bytes(data),
        "length": bytes(length),
        "cut": sound[: offsets[2] + 99],
        "giant": sound[: offsets[1]] + promise(2**62, b"few"),
        "packed-cut": gzipped(sound)[:-200],
        "zeros": bytes(5000),
        "text": b"no records, but \x1b]0;text\x07\r\n" * 99,
        "empty": b"",
    }
    found = {name: directory / f"{name}.tfrecord" for name in contents}
    for name, content in contents.items():
        found[name].write_bytes(content)
    found["names"] = write(directory / "names.tfrecord", _names())
    found["counts"] = write_examples(directory / "counts.tfrecord", _counts())
    found["images"] = write_examples(directory / "images.tfrecord", _images())
    found["bomb"] = directory / "bomb.tfrecord"
    with fastrec.Writer(found["bomb"], compression="GZIP") as writer:
        writer.write({"x": bytes(1 << 22)})
    return found


def _names() -> list[bytes]:
    names = ["\x1b[31mred\x07", "../up", "<script>", "`", "a" * 5000, "", "\u202e", "\udcff"]
    rows: list[Any] = [{name: [1]} if name != "\udcff" else {b"\xff": [1]} for name in names]
    texts = {"t": ["\x1b]0;title\x07", "\r\nforged: 1", "\u202ereversed", "\x9b31m", b"\xff\xfe"]}
    records = [fastrec.encode_example(row) for row in [*rows, texts]]
    others = [b"\x0a\xff\xff\xff\xff\x7f", b"\x12" * 99, b"\x0a" * 500, bytes(range(256)) * 4]
    return [*records, *others]


def _counts() -> list[dict[str, Any]]:
    """Very many values, features, and kinds of one feature."""
    return [
        {"x": [b""] * 50_000},
        {f"feature {number}": 1 for number in range(9000)},
        *({"x": [b"", 1, 1.0][number % 3]} for number in range(99)),
    ]


def _images() -> list[dict[str, Any]]:
    """Images that are not as large as they say, and sounds."""
    wide = png(2, 2, 0)
    wide = wide[:16] + struct.pack(">II", 2**31 - 1, 2**31 - 1) + wide[24:]
    jpeg = b"\xff\xd8\xff\xe0" + b"\xff\xe1\x00\x02" * 2000
    sound = b"RIFF\xff\xff\xff\xffWAVEfmt \xff\xff\xff\xff"
    return [{"image": each} for each in (wide, wide[:20], jpeg, b"GIF89a", b"BM" * 40, sound)]


# The status of each verb for these files, in this order.
FILES = ["data", "length", "cut", "giant", "packed-cut", "zeros", "text", "empty", "names",
         "counts", "images", "bomb"]  # fmt: skip
STATUSES = {
    "head": "1 1 1 1 0 1 1 0 0 0 0 0",
    "head -n 1": "0 0 0 0 0 1 1 0 0 0 0 0",
    "tail": "0 1 1 1 1 1 1 0 0 0 0 0",
    "cat --record 2": "0 1 1 1 1 1 1 1 0 0 0 1",
    "cat --table": "1 1 1 1 1 1 1 0 0 0 0 0",
    "cat --json": "1 1 1 1 1 1 1 0 0 0 0 0",
    "cat --skip-damage": "1 1 1 1 1 1 1 0 0 0 0 0",
    "cat --where id==2 --skip-damage": "1 1 1 1 1 1 1 0 0 0 0 0",
    "cat --sample 60": "1 1 1 1 1 1 1 0 0 0 0 0",
    "grep a --skip-damage": "1 1 1 1 1 1 1 1 0 1 0 1",
    "schema": "1 1 1 1 1 1 1 1 1 1 0 0",
    "schema --json": "1 1 1 1 1 1 1 1 1 1 0 0",
    "count": "0 1 1 1 1 1 1 0 0 0 0 0",
    "stats": "1 1 1 1 1 1 1 1 0 0 0 0",
    "stats --json --skip-damage": "1 1 1 1 1 1 1 0 0 0 0 0",
    "doctor": "1 1 1 1 1 1 1 0 1 0 1 0",
    "doctor --json --skip-damage": "1 1 1 1 1 1 1 0 1 0 1 0",
    "verify": "1 1 1 1 1 1 1 0 0 0 0 0",
    "verify --json": "1 1 1 1 1 1 1 0 0 0 0 0",
    "repair": "0 0 0 0 0 1 1 0 0 0 0 0",
    "index": "0 1 1 1 1 1 1 0 0 0 0 0",
    "index --text": "0 1 1 1 1 1 1 0 0 0 0 2",
    "diff pets.tfrecord": "1 1 1 1 1 1 1 1 1 1 1 1",
    "diff --key id pets.tfrecord": "1 1 1 1 1 1 1 1 2 2 2 2",
    "split --shard-records 9 -o out.tfrecord": "1 1 1 1 1 1 1 0 0 0 0 0",
    "split --shards 3 -o out.tfrecord": "1 1 1 1 1 1 1 2 0 0 0 2",
    "merge -o out.tfrecord": "1 1 1 1 1 1 1 0 0 0 0 0",
    "reshard --shards 2 -o out.tfrecord": "1 1 1 1 1 1 1 0 0 0 0 0",
    "reshard --shuffle --seed 1 --skip-damage -o out.tfrecord": "1 1 1 1 1 1 1 0 0 0 0 0",
    "convert -o out.jsonl --to jsonl": "1 1 1 1 1 1 1 2 1 1 2 0",
    "convert --from jsonl -o out.tfrecord": "2 2 2 2 2 2 2 0 2 2 2 2",
    "extract -o out": "1 1 1 1 1 1 1 1 2 2 0 2",
    "view --html out.html": "1 1 1 1 1 1 1 0 0 0 0 0",
    "images --labels none": "1 1 1 1 1 1 1 1 1 1 1 1",
}
CPU_SECONDS = 20


def test_every_verb_is_here() -> None:
    assert {command.split()[0] for command in STATUSES} == set(VERBS) - WITHOUT_FILES


def run(command: str, path: Path) -> int:
    words = [*command.split(), path.name]
    if words[0] == "images":
        folder = path.parent / "folder"
        folder.mkdir()
        shutil.copy(path, folder / "a.png")
        words[-1:] = [folder.name, "out.tfrecord"]
    try:
        return cli.main(words)
    except SystemExit as ended:
        return int(ended.code or 0)


@pytest.mark.parametrize("command", STATUSES)
def test_a_hostile_file_has_its_status_and_moves_no_cursor(
    command: str, files: dict[str, Path], capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    skip_without_package_of(command.split()[0])
    directory = files["data"].parent
    monkeypatch.chdir(directory)
    found = {}
    for name in FILES:
        before = set(directory.iterdir())
        began = time.process_time()
        found[name] = run(command, files[name])
        assert time.process_time() - began < CPU_SECONDS, name
        captured = capsys.readouterr()
        text = captured.out + captured.err
        assert text.replace("\n", "").isprintable(), name
        assert "Traceback" not in text
        assert found[name] == 0 or text or command.startswith("grep"), name
        if "--json" in command:
            for line in captured.out.splitlines():
                json.loads(line)
        for made in set(directory.iterdir()) - before:
            shutil.rmtree(made) if made.is_dir() else made.unlink()
    assert found == dict(zip(FILES, map(int, STATUSES[command].split()), strict=True))


def outcome(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Run a command, and return its status and what it says about errors."""
    try:
        status = cli.main(words)
    except SystemExit as error:
        status = int(str(error.code))
    return status, capsys.readouterr().err


EMPTY = [
    "count", "verify SRC --write-manifest", "view SRC --html", "index SRC -o", "merge SRC -o",
    "cat SRC --where", "reshard SRC --shards 1 --output=", "convert SRC -o", "clean",
    "extract SRC --feature x -o",
]  # fmt: skip


@pytest.mark.parametrize("words", EMPTY)
def test_an_empty_word_is_refused(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As ``"$FILE"`` is where the variable is not set."""
    monkeypatch.chdir(tmp_path)
    write_examples(tmp_path / "a.tfrecord", [{"x": 1}])
    given = words.replace("SRC", "a.tfrecord").split() + ([] if words.endswith("=") else [""])
    status, said = outcome(given, capsys)
    assert status == 2
    assert "an argument must not be empty" in said
    assert [path.name for path in tmp_path.iterdir()] == ["a.tfrecord"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="requires named pipes")
@pytest.mark.parametrize("place", ["DEVICE", "file://DEVICE", "PIPE"])
@pytest.mark.parametrize(
    "words", ["index -o", "verify --write-manifest", "view --html", "merge -o"]
)
def test_a_device_as_output_is_one_line(
    words: str,
    place: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    write_examples(tmp_path / "a.tfrecord", [{"x": 1}])
    os.mkfifo(tmp_path / "PIPE")
    device = device_in(tmp_path)
    verb, option = words.split()
    output = place.replace("DEVICE", device)
    status, said = outcome([verb, "a.tfrecord", option, output, "--overwrite"], capsys)
    assert status != 0
    assert len(said.splitlines()) == 1
    assert "regular file" in said
    assert stat.S_ISCHR(os.stat(device).st_mode)


def device_in(folder: Path) -> str:
    """Return a device that no failing test can replace: a new node, or one that only root owns."""
    if os.geteuid() != 0:
        return "/dev/null"
    try:
        os.mknod(folder / "DEVICE", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("root may not make devices here")
    return str(folder / "DEVICE")
