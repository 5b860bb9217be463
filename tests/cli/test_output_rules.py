# SPDX-License-Identifier: Apache-2.0
"""Nothing that exists is replaced unless it was named for that."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec
from fastrec import cli
from fastrec.bench import suite
from fastrec.bench.data import DataFailed
from fastrec.cli.grammar import VERBS, verb_parser
from fastrec.demo.contact_sheet import Tile, contact_sheet
from fastrec.viewer.server import Server

SHARDS = [f"train-{number:05d}-of-00002.tfrecord" for number in range(2)]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with fastrec.Writer("train.tfrecord", shards=2) as writer:
        for number in range(6):
            writer.write({"label": number, "text": b"word"})
    for name in ("part-0.tfrecord", "packed.tfrecord.gz"):
        with fastrec.Writer(name) as single:
            single.write({"label": 1, "text": b"word"})
    Path("notes.txt").write_text("notes\n")
    Path("torn.tfrecord").write_bytes(Path("part-0.tfrecord").read_bytes()[:-1])
    os.link("part-0.tfrecord", "twin.tfrecord")
    os.symlink("part-0.tfrecord", "link.tfrecord")
    return tmp_path


def contents(folder: Path) -> dict[str, tuple[int, str]]:
    """The inode and the digest of each file."""
    return {
        str(path): (path.stat().st_ino, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def options_of(verb: str) -> list[str]:
    """Every option of a command that takes a word, and so may take a path."""
    return [
        action.option_strings[-1]
        for action in verb_parser(verb)._actions
        if action.option_strings and action.nargs is None and action.choices is None
        and not isinstance(action, argparse._HelpAction)
    ]  # fmt: skip


CASES = [(verb, option) for verb in VERBS for option in [None, *options_of(verb)]]


def run(*words: str) -> None:
    with contextlib.suppress(SystemExit):
        cli.main(list(words))


def interrupted(server: Server) -> None:
    raise KeyboardInterrupt


def unmeasured(request: Any, say: Any) -> None:
    raise DataFailed("nothing is measured")


@pytest.mark.parametrize(("verb", "option"), CASES, ids=lambda each: str(each))
@pytest.mark.parametrize("files", [SHARDS, ["part-0.tfrecord", "twin.tfrecord"]], ids=len)
def test_no_command_that_is_given_existing_files_changes_one(
    here: Path,
    verb: str,
    option: str | None,
    files: list[str],
    capfd: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Server, "serve_forever", interrupted)  # `view` serves until Ctrl-C
    monkeypatch.setattr(suite, "run", unmeasured)  # `bench` measures for minutes
    before = contents(here)
    named = verb in ("merge", "reshard", "shuffle") and option == "--output"
    for overwrite in ([], ["--overwrite"]):
        if option is None:
            run(verb, *files, *overwrite)
            continue
        run(verb, files[0], option, files[0], *overwrite)
        if overwrite and named:
            continue  # other record files are named to be replaced
        run(verb, option, *files, *overwrite)
        run(verb, files[0], option, "link.tfrecord", *overwrite)
    after = contents(here)
    assert {path: after.get(path) for path in before} == before


@pytest.mark.parametrize("option", ["--html", "--output", "--write-manifest"])
def test_a_record_file_is_never_replaced_by_another_kind_of_file(
    here: Path, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    verb = {"--html": "view", "--output": "index", "--write-manifest": "verify"}[option]
    before = contents(here)
    for target in ("packed.tfrecord.gz", "link.tfrecord", SHARDS[1]):
        assert cli.main(
            [verb, SHARDS[0], "--any-shards", option, target, "--overwrite"]
            if verb != "index"
            else [verb, SHARDS[0], option, target, "--overwrite"]
        )
        assert "cannot be replaced" in capsys.readouterr().err
    assert contents(here) == before


def convert(target: Any, **options: Any) -> Any:
    pytest.importorskip("pyarrow")
    return fastrec.convert("part-0.tfrecord", target, target_format="jsonl", **options)


def sheet(target: Any, **options: Any) -> Any:
    pytest.importorskip("PIL")
    tile = Tile(np.zeros((2, 2, 3), np.uint8), "black")
    if os.path.exists(target) and os.path.samefile(target, "part-0.tfrecord"):
        target = "packed.tfrecord.gz"  # it reads no file that could be an input
    return contact_sheet(target, [tile], **options)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "Writer": lambda target, **options: fastrec.Writer(target, **options).abort(),
    "reshard": lambda target, **options: fastrec.reshard("part-0.tfrecord", target, **options),
    "convert": convert,
    "Index.save": lambda target, **options: fastrec.Index.build("part-0.tfrecord").save(
        target, **options
    ),
    "Index.write_text": lambda target, **options: fastrec.Index.build("part-0.tfrecord").write_text(
        target, **options
    ),
    "Manifest.save": lambda target, **options: fastrec.Manifest.build("part-0.tfrecord").save(
        target, **options
    ),
    "repair": lambda target, **options: fastrec.repair("torn.tfrecord", target, **options),
    "contact_sheet": sheet,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_refuses_a_file_that_exists(here: Path, name: str) -> None:
    before = contents(here)
    for target in ("notes.txt", "part-0.tfrecord", "packed.tfrecord.gz"):
        with pytest.raises(FileExistsError, match="overwrite=True"):
            FUNCTIONS[name](target)
    assert contents(here) == before


@pytest.mark.parametrize("name", [each for each in FUNCTIONS if each not in ("Writer", "repair")])
def test_no_function_replaces_its_input_or_records_by_another_kind(here: Path, name: str) -> None:
    before = contents(here)
    targets = ["part-0.tfrecord", "twin.tfrecord", "link.tfrecord", "./part-0.tfrecord"]
    for target in targets + (["packed.tfrecord.gz"] if name != "reshard" else []):
        with pytest.raises(FileExistsError, match="cannot be replaced"):
            FUNCTIONS[name](target, overwrite=True)
    assert contents(here) == before


@pytest.mark.parametrize("name", [each for each in FUNCTIONS if each != "Index.save"])
def test_only_an_index_replaces_an_index_or_has_the_name_of_one(here: Path, name: str) -> None:
    fastrec.Index.build("packed.tfrecord.gz").save("old.bin")
    before = contents(here)
    with pytest.raises(FileExistsError, match="an index cannot be replaced"):
        FUNCTIONS[name]("old.bin", overwrite=True)
    for suffix in ("frindex", "frcolumns", "frdataset"):
        with pytest.raises(ValueError, match=f"must not end in '.{suffix}', got 'new.{suffix}'"):
            FUNCTIONS[name](f"new.{suffix}")
    assert contents(here) == before
    FUNCTIONS["Index.save"]("old.bin", overwrite=True)


@pytest.mark.parametrize(
    "words",
    [
        ["merge", "part-0.tfrecord", "-o"],
        ["repair", "torn.tfrecord", "-o"],
        ["convert", "part-0.tfrecord", "-o"],
        ["reshard", "part-0.tfrecord", "--shards", "1", "-o"],
        ["view", "part-0.tfrecord", "--html"],
        ["verify", "part-0.tfrecord", "--write-manifest"],
        ["index", "part-0.tfrecord", "-o"],
        ["extract", "part-0.tfrecord", "-o"],
    ],
    ids=lambda words: words[0],
)
def test_a_side_file_among_the_words_of_a_pattern_is_an_input(
    here: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("set.json").write_text("{}")  # a shell expands `*` to this name, too
    before = contents(here)
    assert cli.main([*words, "set.json", "./set.json", "--overwrite"])
    assert "an input of the same call cannot be replaced" in capsys.readouterr().err
    assert contents(here) == before


def test_a_directory_of_images_and_a_set_of_tfds_replace_nothing(here: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    os.makedirs("images/cat")
    image.fromarray(np.zeros((2, 2, 3), np.uint8)).save("images/cat/1.png")
    for name in ("pets-labels.txt", "pets-images.json", "dogs-00000-of-00003.tfrecord"):
        Path(name).write_text("other\n")
    before = contents(here)
    for target in ("train.tfrecord", "pets.tfrecord", "dogs.tfrecord"):
        with pytest.raises(FileExistsError, match="overwrite=True"):
            fastrec.image.write_directory("images", target, shards=2)
    for number in range(2):
        if number:
            before = contents(here)
        with contextlib.suppress(FileExistsError):
            fastrec.tfds.write(".", "train", {"train": [{"x": number}]}, {"x": "int64"})
    assert contents(here) == before
    assert {each.name for each in here.glob("*.json")} == {"pets-images.json"}


def test_a_set_is_replaced_as_a_whole(here: Path) -> None:
    for sizes in ({"shards": 3}, {"shard_records": 1}, {"shard_bytes": 10}):
        with pytest.raises(FileExistsError, match="train-00000-of-00002"):
            fastrec.Writer("train.tfrecord", **sizes)  # type: ignore[arg-type]
    fastrec.Index.build(SHARDS[1]).save()
    with fastrec.Writer("train.tfrecord", shards=1, overwrite=True) as writer:
        writer.write(b"new")
    assert sorted(each.name for each in here.glob("train*")) == ["train-00000-of-00001.tfrecord"]
    assert list(fastrec.Reader("train*")) == [b"new"]


def test_a_name_that_ends_in_gz_is_written_as_gzip(here: Path) -> None:
    pytest.importorskip("pyarrow")
    fastrec.reshard("part-0.tfrecord", "a.tfrecord.gz")
    assert cli.main(["merge", "part-0.tfrecord", "-o", "b.tfrecord.gz"]) == 0
    assert (
        cli.main(["split", "part-0.tfrecord", "--shard-records", "1", "-o", "c.tfrecord.gz"]) == 0
    )
    fastrec.convert("part-0.tfrecord", "a.jsonl")
    fastrec.convert("a.jsonl", "d.tfrecord.gz")
    for name in ("packed.tfrecord.gz", "a.tfrecord.gz", "b.tfrecord.gz", "d.tfrecord.gz",
                 "c-00000-of-00001.tfrecord.gz"):  # fmt: skip
        assert Path(name).read_bytes()[:2] == b"\x1f\x8b", name
    with fastrec.Writer("plain.gz", compression=None) as writer:
        writer.write(b"plain")
    assert cli.main(["merge", "part-0.tfrecord", "-o", "e.gz", "--compression", "none"]) == 0
    for name in ("plain.gz", "e.gz"):
        assert Path(name).read_bytes()[:2] != b"\x1f\x8b", name


def test_an_append_and_a_replacement_do_not_both_succeed(here: Path) -> None:
    writer = fastrec.Writer("part-0.tfrecord", append=True)
    writer.write(b"appended")
    with fastrec.Writer("part-0.tfrecord", overwrite=True) as other:
        other.write(b"new")
    with pytest.raises(OSError, match="replaced or removed while a writer appended") as caught:
        writer.close()
    assert caught.value.filename == "part-0.tfrecord"
    assert list(fastrec.Reader("part-0.tfrecord")) == [b"new"]


def test_a_second_append_names_the_lock(here: Path) -> None:
    with fastrec.Writer("part-0.tfrecord", append=True), pytest.raises(OSError, match="lock"):
        fastrec.Writer("part-0.tfrecord", append=True)


def test_a_page_goes_to_standard_output(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["view", "part-0.tfrecord", "--html", "-"]) == 0
    assert capsys.readouterr().out.startswith("<!")
    assert not Path("-").exists()


def test_a_repair_in_place_that_was_killed_runs_again(here: Path) -> None:
    with fastrec.Writer("a.tfrecord") as writer:
        writer.write_many([b"one", b"two"])
    os.truncate("a.tfrecord", 30)
    os.link("a.tfrecord", "a.tfrecord.damaged")  # what a killed repair leaves
    assert fastrec.repair("a.tfrecord", in_place=True).records == 1
    os.truncate("a.tfrecord", 10)
    with pytest.raises(FileExistsError) as caught:
        fastrec.repair("a.tfrecord", in_place=True)
    assert str(caught.value.filename).endswith("a.tfrecord.damaged")
    before = contents(here)
    with pytest.raises(ValueError, match="output must not be the damaged file"):
        fastrec.repair("torn.tfrecord", "./torn.tfrecord", overwrite=True)
    sound = fastrec.repair("part-0.tfrecord")
    assert sound.path == "part-0.tfrecord"
    assert contents(here) == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="requires named pipes")
@pytest.mark.parametrize("place", ["pipe", "folder", "dangling"])
def test_only_regular_files_are_replaced(place: str, tmp_path: Path) -> None:
    """As root, ``reshard(source, "/dev/null", overwrite=True)`` would replace the device."""
    source, target = tmp_path / "a.tfrecord", tmp_path / place
    with fastrec.Writer(source) as writer:
        writer.write(b"x")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "dangling").symlink_to("nowhere/x")
    before = {path.name: path.lstat().st_mode for path in tmp_path.iterdir()}
    for overwrite in (False, True) if place != "dangling" else (False,):
        with pytest.raises(OSError, match=re.escape(place)) as caught:
            fastrec.reshard(source, target, overwrite=overwrite)
        assert caught.value.filename == str(target)
    assert {path.name: path.lstat().st_mode for path in tmp_path.iterdir()} == before
