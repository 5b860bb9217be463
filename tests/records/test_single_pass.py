# SPDX-License-Identifier: Apache-2.0
"""Pipes and open files are read once: what would read them again is an error, not an empty set."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from verbs import gzipped, write_examples

import fastrec
from fastrec import cli

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes")

COUNT = 20
FEATURES = {"i": fastrec.FixedLenFeature((), int)}


@pytest.fixture(params=["plain", "GZIP"])
def data(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    monkeypatch.chdir(tmp_path)
    data = write_examples(tmp_path / "a.tfrecord", [{"i": i} for i in range(COUNT)]).read_bytes()
    return gzipped(data) if request.param == "GZIP" else data


def feed(data: bytes, path: str | int) -> None:
    def write() -> None:
        with contextlib.suppress(BrokenPipeError), open(path, "wb") as file:
            file.write(data)

    threading.Thread(target=write, daemon=True).start()


def sources(data: bytes) -> Iterator[Any]:
    """Yield sources that can be read once."""
    reading, writing = os.pipe()
    feed(data, writing)
    yield f"/dev/fd/{reading}"
    os.close(reading)
    os.mkfifo("fifo")
    feed(data, "fifo")
    yield "fifo"
    os.remove("fifo")
    yield io.BytesIO(data)
    with open("a.tfrecord", "rb") as file:
        yield file


def twice(source: Any) -> Any:
    reader = fastrec.Reader(source)
    assert len([*reader]) == COUNT
    return [*reader]


def epochs(source: Any) -> Any:
    return list(fastrec.Batcher(source, FEATURES, 4, epochs=2))


def passes(source: Any) -> Any:
    batcher = fastrec.Batcher(source, FEATURES, 4)
    assert sum(len(batch["i"]) for batch in batcher) == COUNT
    return list(batcher)


@pytest.mark.parametrize("read", [twice, epochs, passes])
def test_a_second_pass_is_an_error(data: bytes, read: Callable[[Any], Any]) -> None:
    for source in sources(data):
        with pytest.raises(fastrec.FastrecError, match=r"read (only )?once"):
            read(source)


def test_a_file_that_was_rewound_is_read_again(data: bytes) -> None:
    file = io.BytesIO(data)
    reader = fastrec.Reader(file)
    for _ in range(2):
        assert sum(1 for _ in reader) == COUNT
        file.seek(0)


def test_functions_that_look_first_refuse_what_they_cannot_read_again(data: bytes) -> None:
    pytest.importorskip("pyarrow")
    from fastrec import arrow

    of_paths: list[Callable[[Any], Any]] = [
        lambda source: fastrec.convert(source, "a.jsonl"),
        lambda source: fastrec.reshard(source, "b.tfrecord"),
    ]
    of_files: list[Callable[[Any], Any]] = [
        lambda source: list(arrow.table(source).batches()),
        lambda source: list(fastrec.tables.scan(source).batches(None)),
    ]
    for function in of_paths + of_files:
        for source in sources(data):
            if isinstance(source, str) or function in of_files:
                with pytest.raises(fastrec.RandomAccessError, match="can be read only once"):
                    function(source)
            if source == "fifo":
                Path(source).read_bytes()  # its writer waits for a reader
    for source in sources(data):
        if isinstance(source, str):
            assert (
                fastrec.convert(source, f"{source[-2:]}.jsonl", features=FEATURES).records == COUNT
            )
    assert not {"a.jsonl", "b.tfrecord"} & set(os.listdir())


@pytest.mark.parametrize(
    "command",
    ["convert -o a.jsonl", "reshard -o b.tfrecord", "reshard --shuffle --seed 1 -o b.tfrecord",
     "split --shard-records 5 -o b.tfrecord", "merge -o b.tfrecord"],
)  # fmt: skip
def test_commands_read_a_pipe_once(data: bytes, command: str) -> None:
    if command.startswith("convert"):
        pytest.importorskip("pyarrow")
    verb, *options = command.split()
    os.mkfifo("fifo")
    feed(data, "fifo")
    assert cli.main([verb, "fifo", *options]) == 0
    if verb == "convert":
        assert len(Path("a.jsonl").read_text().splitlines()) == COUNT
    else:
        assert fastrec.count("b*") == COUNT


def test_a_command_that_counts_first_copies_a_pipe(data: bytes) -> None:
    os.mkfifo("fifo")
    feed(data, "fifo")
    assert cli.main(["split", "fifo", "--shards", "2", "-o", "b.tfrecord"]) == 0
    assert fastrec.count("b*") == COUNT


def test_columns_of_ranges_in_a_file_system_are_inferred(tmp_path: Path) -> None:
    fs = pytest.importorskip("pyarrow.fs")
    with fastrec.Writer(tmp_path / "a.tfrecord") as writer:
        writer.write({"x": 1})
        writer.write({"x": 2})
    home = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    ranges = fastrec.file_ranges("a.tfrecord", 1 << 20, filesystem=home)
    table = pytest.importorskip("pyarrow").table(fastrec.arrow.table(ranges))
    assert table["x"].to_pylist() == [1, 2]
