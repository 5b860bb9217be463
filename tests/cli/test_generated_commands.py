# SPDX-License-Identifier: Apache-2.0
"""Commands generated from the parsers: none changes a file that it was not told to replace.

New verbs and options are covered without a change here. What a command may replace is the rule in
:func:`may_change`, which a new verb or option must obey.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import shutil
import tempfile
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pets import png

import fastrec
from fastrec import cli
from fastrec.bench import suite
from fastrec.bench.data import DataFailed
from fastrec.cli.grammar import VERBS, verb_parser
from fastrec.demo import samples, stages
from fastrec.records.output_rules import shard_pattern
from fastrec.viewer.server import Server

RECORDS = ["train-00000-of-00002.tfrecord", "train-00001-of-00002.tfrecord", "part-0.tfrecord",
           "packed.tfrecord.gz", "torn.tfrecord", "twin.tfrecord", "link.tfrecord"]  # fmt: skip
OTHERS = ["notes.txt", "rows.jsonl", "part-0.tfrecord.frindex", "set.json", "images/cat/1.png"]
SEVERAL = ["train.tfrecord@2", "train-*", "*.tfrecord", ".", "images", "train.tfrecord"]
WORDS = ["label", "text", "label == 1", "none", "zstd", "new.tfrecord", "new.parquet", "new"]
# Values of options that check their values: each takes those that its parser accepts.
VALUES = ["1", "2", "0", "0:2", "label", "label,text", "64", "1MB", "label=2", "nan"]
WRITERS_OF_RECORDS = {"merge", "split", "reshard", "convert", "repair", "images", "demo"}
OUTPUTS = {("images", "output"), ("man", "directory")}  # positional arguments that name outputs


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("originals")
    rows = [{"label": number, "text": b"word"} for number in range(6)]
    with fastrec.Writer(folder / "train.tfrecord", shards=2, fsync=False) as writer:
        for row in rows:
            writer.write(row)
    for name in ("part-0.tfrecord", "packed.tfrecord.gz"):
        with fastrec.Writer(folder / name, fsync=False) as single:
            single.write(rows[1])
    sound = (folder / "part-0.tfrecord").read_bytes()
    (folder / "torn.tfrecord").write_bytes(sound + sound[:-1])
    (folder / "notes.txt").write_text("notes\n")
    (folder / "packed.tfrecord.gz.frindex").write_text("no index\n")
    fastrec.Index.build(folder / "part-0.tfrecord").save()
    fastrec.Manifest.build([folder / "part-0.tfrecord"]).save(folder / "set.json")
    (folder / "rows.jsonl").write_text('{"label": 1, "text": "word"}\n')
    (folder / "images" / "cat").mkdir(parents=True)
    (folder / "images" / "cat" / "1.png").write_bytes(png(2, 2, 3))
    return folder


def fill(folder: Path, originals: Path) -> None:
    shutil.copytree(originals, folder, dirs_exist_ok=True)
    os.link("part-0.tfrecord", "twin.tfrecord")
    os.symlink("part-0.tfrecord", "link.tfrecord")


def contents(folder: Path) -> dict[str, tuple[int, str]]:
    """The inode and the digest of each file."""
    return {
        str(path.relative_to(folder)): (
            path.stat().st_ino,
            hashlib.sha256(path.read_bytes()).hexdigest(),
        )
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def accepts(action: argparse.Action, value: str) -> bool:
    try:
        action.type(value)  # type: ignore[misc, operator]
    except (ValueError, TypeError, argparse.ArgumentTypeError):
        return False
    return True


def values_of(action: argparse.Action, inputs: list[str]) -> st.SearchStrategy[str]:
    """Words that an argument takes: existing files, wherever its parser does not rule them out."""
    if action.choices is not None:
        return st.sampled_from(list(map(str, action.choices)))
    if action.type is not None and not accepts(action, RECORDS[0]):
        return st.sampled_from([value for value in VALUES if accepts(action, value)])
    files = st.sampled_from(RECORDS) | st.sampled_from(OTHERS)
    if inputs:
        files |= st.sampled_from(inputs)
    return files | files | st.sampled_from(SEVERAL) | st.sampled_from(WORDS)


Words = tuple[list[str], dict[str, list[str]], list[str]]


@st.composite
def commands(draw: Any, verb: str) -> Words:
    """Return the words of a command, the values of its options, and its positional values."""
    actions = [each for each in verb_parser(verb)._actions if each.dest != "help"]
    options = [each for each in actions if each.option_strings]
    chosen = draw(st.lists(st.sampled_from(options), max_size=3, unique_by=id))
    chosen += [each for each in options if each.required and each not in chosen]
    if draw(st.booleans()):
        chosen += [each for each in options if each.dest == "overwrite" and each not in chosen]
    named: dict[str, list[str]] = {}
    positional: list[str] = []
    outputs: list[str] = []
    for action in actions:
        if not action.option_strings:
            count = 1 if action.nargs is None else draw(st.integers(1, 3))
            values = [draw(values_of(action, positional)) for _ in range(count)]
            if (verb, action.dest) in OUTPUTS:
                named[action.dest] = values
                outputs += values
            else:
                positional += values
    words: list[str] = []
    for action in chosen:
        words.append(draw(st.sampled_from(action.option_strings)))
        if action.nargs is None:
            named.setdefault(action.dest, []).append(draw(values_of(action, positional)))
            words.append(named[action.dest][-1])
        else:
            assert action.nargs == 0, "an option with several values needs a case here"
            named[action.dest] = []
    words = draw(st.sampled_from([[*positional, *words], [*words, *positional]]))
    return [verb, *words, *outputs], named, positional


def may_change(name: str, verb: str, named: dict[str, list[str]], inputs: list[str]) -> bool:
    """Return whether a command may replace an existing file.

    Only `repair --in-place` changes an input. Otherwise ``--overwrite`` is required, and the file,
    or the set that it belongs to, is the value of an option. Records are only replaced by records.
    """
    if verb == "index" and name.endswith(".frindex") and "output" not in named:
        is_older_index = name == "part-0.tfrecord.frindex" and "text" not in named
        return is_older_index or "overwrite" in named  # `index` writes beside its inputs
    if "in_place" in named:
        return verb == "repair" and name == "torn.tfrecord"
    if name == "link.tfrecord":  # shows what part-0.tfrecord holds
        return may_change("part-0.tfrecord", verb, named, inputs)
    outputs = [value for values in named.values() for value in values]
    if "link.tfrecord" in map(os.path.normpath, outputs):  # writing through a link
        outputs.append("part-0.tfrecord")
    of_output = any(
        os.path.normpath(value) == name or shard_pattern(os.path.normpath(value)).fullmatch(name)
        or (verb, value) == ("man", os.path.dirname(name)) for value in outputs
    )  # fmt: skip
    is_side_file = name.endswith(".frindex") and may_change(name[:-8], verb, named, inputs)
    is_records = name in RECORDS and verb not in WRITERS_OF_RECORDS
    same = {"part-0.tfrecord", "twin.tfrecord", "link.tfrecord"}
    is_input = name in inputs or (name in same and bool(same & {*inputs}))
    return "overwrite" in named and (
        (of_output and not is_records and not is_input) or is_side_file
    )


@contextlib.contextmanager
def directory(originals: Path) -> Iterator[Path]:
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        try:
            os.chdir(folder)
            fill(Path(folder), originals)
            yield Path(folder)
        finally:
            os.chdir(before)


def stop(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


def fail(*_: Any, **__: Any) -> None:
    raise DataFailed("nothing is measured")


@pytest.mark.parametrize("verb", VERBS)
@settings(max_examples=settings().max_examples // 6)  # for each of 25 verbs
@given(data=st.data())
def test_no_command_changes_a_file_that_it_may_not_replace(
    verb: str, originals: Path, capfd: Any, data: Any
) -> None:
    words, named, inputs = data.draw(commands(verb))
    with directory(originals) as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Server, "serve_forever", stop)  # `view` serves until Ctrl-C
        patch.setattr(webbrowser, "open", stop)
        patch.setattr(suite, "run", fail)  # `bench` measures for minutes
        patch.setattr(fastrec, "headroom", fail)
        patch.setattr(samples, "digits", fail)
        patch.setattr(stages, "verify", fail)  # `demo` has written its files, and trains
        before = contents(folder)
        with contextlib.suppress(SystemExit, DataFailed):
            cli.main(words)
        after = contents(folder)
        changed = {name for name in before if after.get(name) != before[name]}
        assert all(may_change(name, verb, named, inputs) for name in changed), (words, changed)


def test_a_command_that_changes_its_input_is_noticed() -> None:
    cases: list[tuple[str, dict[str, list[str]], list[str]]] = [
        ("view", {"html": ["part-0.tfrecord"], "overwrite": []}, ["notes.txt"]),
        ("merge", {"output": ["part-0.tfrecord"], "overwrite": []}, ["twin.tfrecord"]),
        ("merge", {"output": ["part-0.tfrecord"]}, ["packed.tfrecord.gz"]),
        ("repair", {"in_place": []}, ["part-0.tfrecord"]),
    ]
    for verb, named, inputs in cases:
        assert not may_change("part-0.tfrecord", verb, named, inputs)
    named = {"output": ["train.tfrecord"], "overwrite": []}
    assert may_change("train-00001-of-00002.tfrecord", "split", named, ["part-0.tfrecord"])
