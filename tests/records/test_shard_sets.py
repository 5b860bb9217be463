# SPDX-License-Identifier: Apache-2.0
"""A set of shards is read as a whole, or an error names the files that do not fit."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shard_files import VERBS, make_shards, run, shard
from verbs import skip_without_package_of, write_examples

import fastrec
from fastrec.errors import MissingRecordsError
from fastrec.records.shard_sets import check_shards

FEATURES = {"i": fastrec.FixedLenFeature((), np.int64)}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make_missing(folder: Path) -> str:
    make_shards(folder, 4)
    os.remove(shard(2, 4))
    return shard(2, 4)


def make_generations(folder: Path) -> str:
    make_shards(folder, 4)
    make_shards(folder, 2)
    return shard(0, 2)


def make_repaired(folder: Path) -> str:
    for name in ("t.tfrecord", "t.repaired.tfrecord"):
        write_examples(folder / name, [{"i": 1}])
    return "t.repaired.tfrecord"


def make_copied(folder: Path) -> str:
    for name in ("t.tfrecord", "t.tfrecord.bak"):
        write_examples(folder / name, [{"i": 1}])
    return "t.tfrecord.bak"


def make_unsharded(folder: Path) -> str:
    make_shards(folder, 2)
    write_examples(folder / "t.tfrecord", [{"i": 1}])
    return "t.tfrecord"


FAULTS = [make_missing, make_generations, make_repaired, make_copied, make_unsharded]
Read = Callable[..., object]


def _in_batches(source: Any, **options: Any) -> object:
    return list(fastrec.Batcher(source, FEATURES, 2, **options))


def _in_mixture(source: Any, **options: Any) -> object:
    mixture = fastrec.Mixture([source], weights=[1])
    return next(iter(fastrec.Batcher(mixture, FEATURES, 1, seed=0, **options)))


def _by_reshard(source: Any, shards: Any = "complete") -> object:
    return fastrec.reshard(source, "out.tfr", source_shards=shards, overwrite=True)


def _by_convert(source: Any, shards: Any = "complete") -> object:
    pytest.importorskip("pyarrow")
    return fastrec.convert(source, "out.jsonl", source_shards=shards, overwrite=True)


def _as_table(source: Any, **options: Any) -> object:
    pytest.importorskip("pyarrow")
    from fastrec import arrow

    return list(arrow.table(source, **options).batches())


READS: dict[str, Read] = {
    "Reader": lambda source, **options: list(fastrec.Reader(source, **options)),
    "Batcher": _in_batches,
    "Mixture": _in_mixture,
    "count": fastrec.count,
    "verify": fastrec.verify,
    "Manifest.build": fastrec.Manifest.build,
    "file_ranges": fastrec.file_ranges,
    "infer_features": fastrec.infer_features,
    "reshard": _by_reshard,
    "convert": _by_convert,
    "arrow.table": _as_table,
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("read", READS.values(), ids=READS.keys())
def test_no_function_reads_a_set_of_shards_that_is_not_whole(
    folder: Path, read: Read, fault: Callable[[Path], str]
) -> None:
    os.mkdir("d")
    os.chdir("d")
    name = fault(folder / "d")
    os.chdir(folder)
    for source in ("d", "d/t*", Path("d"), ["d/*"]):
        with pytest.raises(MissingRecordsError, match=rf"{name}.*shards='any' reads") as caught:
            read(source)
        assert os.path.dirname(caught.value.path or "") == "d"
        read(source, shards="any")
        for left in ("out.tfr", "out.jsonl"):
            if os.path.exists(left):
                os.remove(left)
    for path in sorted(os.listdir("d")):
        read(f"d/{path}")  # a file that is named is the one that is meant
        read([f"d/{path}"])
        for left in ("out.tfr", "out.jsonl"):
            if os.path.exists(left):
                os.remove(left)


def test_a_list_may_be_a_part_of_a_set_but_not_a_mixture(folder: Path) -> None:
    names = make_shards(folder, 4)
    assert fastrec.count(names[1:3]) == 2
    make_shards(folder, 2)
    with pytest.raises(MissingRecordsError, match="two generations"):
        fastrec.count(sorted(os.listdir(".")))
    assert fastrec.count(sorted(os.listdir(".")), shards="any") == 6
    os.mkdir("other")
    make_shards(folder / "other", 2)
    assert fastrec.count([*names, "other"]) == 6  # another directory, another set


def test_a_specification_names_the_shards_that_are_missing(folder: Path) -> None:
    make_missing(folder)
    for source in ("t.tfrecord@4", "t.tfrecord@*", "t@4.tfrecord"):
        with pytest.raises(MissingRecordsError, match=r"'t-00002-of-00004.tfrecord' is missing"):
            fastrec.Reader(source)
        assert fastrec.count(source, shards="any") == 3


def test_one_of_two_generations_can_be_named(folder: Path) -> None:
    make_generations(folder)
    assert fastrec.count("t@2.tfrecord") == 2
    assert fastrec.count("t-*-of-00004.tfrecord") == 4


def test_a_manifest_says_what_belongs_to_a_set(folder: Path) -> None:
    make_missing(folder)
    manifest = fastrec.Manifest.build("t-*", shards="any")
    assert len(list(fastrec.Reader("t-*", manifest=manifest))) == 3
    assert fastrec.verify("t-*", manifest=manifest).files == 3
    [batch] = fastrec.Batcher("t-*", FEATURES, 4, manifest=manifest)
    assert batch["i"].tolist() == [0, 1, 3]


def test_an_option_that_is_no_word_is_refused(folder: Path) -> None:
    make_shards(folder, 2)
    for read in READS.values():
        with pytest.raises(ValueError, match="must be 'complete' or 'any', got 4"):
            read("t-*", shards=4)


@settings(deadline=None, max_examples=5 * settings().max_examples)
@given(
    count=st.integers(1, 12),
    first=st.integers(0, 1),
    width=st.integers(1, 6),
    suffix=st.sampled_from(["", ".tfrecord", ".tfrecord.gz"]),
    data=st.data(),
)
def test_a_set_is_whole_when_all_its_numbers_are_there(
    count: int, first: int, width: int, suffix: str, data: Any
) -> None:
    numbers = range(first, first + count)
    names = [f"d/x-{n:0{width}d}-of-{count:0{width}d}{suffix}" for n in numbers]
    check_shards(names)
    kept = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    repaired = [
        name.replace(".tfrecord", ".repaired.tfrecord") if data.draw(st.booleans()) else name
        for name in kept
    ]
    check_shards(kept, kept)
    lost = sorted({*names} - {*kept})
    if not lost:
        check_shards(repaired)
        return
    # Without its first and its last number, a set may be one that is numbered from 0.
    with pytest.raises(MissingRecordsError) as caught:
        check_shards(repaired)
    assert caught.value.path is not None
    assert caught.value.path not in kept
    assert caught.value.path.startswith("d/x-")


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("verb", VERBS)
def test_no_command_takes_a_set_of_shards_that_is_not_whole_for_all_is_well(
    folder: Path, capsys: pytest.CaptureFixture[str], verb: str, fault: Callable[[Path], str]
) -> None:
    fault(folder)
    names = sorted(os.listdir())
    for words in (["t*"], ["."], names):  # quoted, a directory, and as a shell expands it
        assert run(verb, *words) == 1, words
        error = capsys.readouterr().err
        assert "; --any-shards reads the files as they are" in error
        assert not any(each.startswith("o.") for each in os.listdir())
    run(verb, names[0])
    assert "--any-shards" not in capsys.readouterr().err


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in ("grep", "extract")])
def test_any_shards_has_a_command_read_them(
    folder: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    skip_without_package_of(verb)
    make_generations(folder)
    assert run(verb, "t*", "--any-shards") == 0, capsys.readouterr().err
