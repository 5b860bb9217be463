# SPDX-License-Identifier: Apache-2.0
"""The verbs that look at records, and those that write them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import Captured, objects, printed
from pets import pet, png
from verbs import flip, gzipped, stdin, write, write_examples

import fastrec
from fastrec import cli, train
from fastrec.cli import select
from fastrec.cli.report import Report

# --- head and cat --------------------------------------------------------------------------------


def test_json_has_all_that_was_written(pets: Path, capsys: Captured) -> None:
    found = objects(capsys, "cat", "--json", "pets.tfrecord")
    assert len(found) == 60
    for number, each in enumerate(found):
        wanted = pet(number)
        assert each["id"] == [wanted["id"]]
        assert each["name"] == [wanted["name"]]
        assert each["weight"] == [wanted["weight"]]
        assert each["embedding"] == wanted["embedding"]
        assert each.get("tags", []) == wanted.get("tags", [])
        assert [set(image) for image in each["image"]] == [{"base64"}]


def test_floats_are_the_shortest_and_what_json_has_not_is_a_string(
    tmp_path: Path, capsys: Captured
) -> None:
    values = [0.1, 1e-30, -0.0, float("nan"), float("inf"), float("-inf")]
    path = write_examples(tmp_path / "a.tfrecord", [{"x": np.array(values, np.float32)}])
    [found] = objects(capsys, "cat", "--json", path)
    assert found["x"] == [0.1, 1e-30, -0.0, "NaN", "Infinity", "-Infinity"]


def test_head_prints_ten_or_so_many(pets: Path, capsys: Captured) -> None:
    assert len(printed(capsys, "head", "pets.tfrecord")) == 10
    assert len(printed(capsys, "head", "-n", 3, "train-*")) == 3
    assert printed(capsys, "head", "-n", 0, "pets.tfrecord") == []


def test_files_directories_patterns_and_standard_input(
    pets: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = printed(capsys, "cat", "pets.tfrecord")
    assert printed(capsys, "cat", "train-*") == whole
    (pets / "some").mkdir()
    for path in pets.glob("train-*"):
        (pets / "some" / path.name).write_bytes(path.read_bytes())
    assert printed(capsys, "cat", "some") == whole
    data = (pets / "pets.tfrecord").read_bytes()
    for content in (data, gzipped(data)):
        stdin(monkeypatch, content)
        assert printed(capsys, "cat", "-") == whole
    stdin(monkeypatch, data)
    numbered = objects(capsys, "cat", "-", "--number", "--json", "--features", "id")
    assert numbered[7] == {"path": "<stdin>", "record": 7, "features": {"id": [7]}}


@pytest.mark.parametrize("compressed", [False, True])
def test_records_are_selected_by_number(pets: Path, capsys: Captured, compressed: bool) -> None:
    path = pets / "pets.tfrecord"
    if compressed:
        path = pets / "z.tfrecord.gz"
        path.write_bytes(gzipped((pets / "pets.tfrecord").read_bytes()))

    def ids(*words: object, status: int = 0) -> list[int]:
        lines = printed(capsys, *words, "--json", "--features", "id", path, status=status)
        return [json.loads(line)["id"][0] for line in lines]

    assert ids("cat", "--record", 12) == [12]
    assert ids("cat", "--records", "8:11") == [8, 9, 10]
    assert ids("cat", "--records", ":2") == [0, 1]
    assert ids("cat", "--records", "57:") == ids("cat", "--records", "57:100") == [57, 58, 59]
    assert ids("head", "--records", "3:40") == [*range(3, 40)]
    assert ids("cat", "--records", "3:40", "-n", 2) == [3, 4]
    assert ids("cat", "--records", "0:9", "--where", "id > 6") == [7, 8]
    assert ids("tail", "-n", 2) == [58, 59]
    assert ids("tail", "-n", 2, "--where", "id < 30") == [28, 29]
    assert ids("tail", "--records", ":30", "-n", 2) == [28, 29]
    assert len(ids("tail")) == 10
    assert ids("cat", "--record", 60, status=1) == []


@pytest.mark.parametrize("chosen", [{"last": True, "limit": 7}, {"span": range(3, 10)}])
def test_the_last_records_and_a_span_are_read_in_blocks_of_few_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: dict[str, Any]
) -> None:
    monkeypatch.setattr(select, "_BLOCK_BYTES", 100)
    records = [b"%d" % number * 60 for number in range(10)]
    path = write(tmp_path / "a.tfrecord", records)
    blocks = [*select.Selector(Report(), **chosen).blocks([str(path)])]
    assert [len(block.records) for block in blocks] == [2, 2, 2, 1]
    assert [number for block in blocks for number in block.numbers] == [*range(3, 10)]
    assert [record for block in blocks for record in block.records] == records[3:]


def test_damage_in_a_later_block_of_the_last_records_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(select, "_BLOCK_BYTES", 100)
    path = write(tmp_path / "a.tfrecord", [b"%d" % number * 60 for number in range(10)])
    data = path.read_bytes()
    path.write_bytes(flip(data, 8 * (len(data) - 20)))
    assert cli.main(["tail", "-n", "7", str(path)]) == 1
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 6
    assert "record 9" in err


def test_record_numbers_count_in_each_file(pets: Path, capsys: Captured) -> None:
    lines = printed(capsys, "cat", "--record", 2, "--number", "--features", "id", "train-*")
    assert lines == [
        'train-00000-of-00002.tfrecord:2: {"id": 2}',
        'train-00001-of-00002.tfrecord:2: {"id": 32}',
    ]
    assert cli.main(["cat", "--record", "60", "pets.tfrecord"]) == 1
    error = "record 60 is out of range: pets.tfrecord has 60 records, counted from 0"
    assert error in capsys.readouterr().err
    for text in ("5", "7:3", "a:b"):
        with pytest.raises(SystemExit):
            cli.main(["cat", "--records", text, "pets.tfrecord"])
        assert "--records" in capsys.readouterr().err


def test_the_record_that_an_error_names_can_be_printed_beyond_damage(
    pets: Path, capsys: Captured
) -> None:
    flipped = bytearray((pets / "pets.tfrecord").read_bytes())
    flipped[fastrec.Index.build(pets / "pets.tfrecord").offsets[7] + 50] ^= 8
    (pets / "flipped.tfrecord").write_bytes(flipped)
    words = ["cat", "--features", "id", "flipped.tfrecord", "--record"]
    assert printed(capsys, *words, 8) == ['{"id": 8}']
    assert printed(capsys, *words, 7, status=1) == []


def test_a_table_has_a_column_for_each_feature(pets: Path, capsys: Captured) -> None:
    lines = printed(capsys, "head", "-n", 3, "--table", "--features", "id,name,tags", "train-*")
    assert lines == [
        "   id  name  tags",
        "   --  ----  ----------------",
        "    0  Ada",
        "    1  Pina  tame",
        '    2  Milo  ["tame", "loud"]',
    ]
    assert cli.main(["head", "--table", "--json", "pets.tfrecord"]) == 2
    assert "--table and --json are mutually exclusive" in capsys.readouterr().err


def test_json_has_one_shape_for_any_number_of_values(tmp_path: Path, capsys: Captured) -> None:
    rows: list[dict[str, Any]] = [{"x": [1, 2]}, {"x": 1}, {"x": "text"}]
    path = write_examples(tmp_path / "a.tfrecord", rows)
    assert [each["x"] for each in objects(capsys, "cat", "--json", path)] == [[1, 2], [1], ["text"]]


def test_feature_lists_are_shown(tmp_path: Path, capsys: Captured) -> None:
    frames = [train.Feature(int64_list=train.Int64List(value=[i] * i)) for i in range(3)]
    record = train.SequenceExample(
        context=train.Features(
            feature={"id": train.Feature(bytes_list=train.BytesList(value=[b"one"]))}
        ),
        feature_lists=train.FeatureLists(feature_list={"x": train.FeatureList(feature=frames)}),
    ).SerializeToString()
    path = write(tmp_path / "a.tfrecord", [record, fastrec.encode_example({"x": 1})])
    assert objects(capsys, "cat", "--json", path) == [
        {"id": ["one"], "x": [[], [1], [2, 2]]},
        {"x": [1]},
    ]


def test_records_of_other_kinds_and_mixed_ones_are_shown(tmp_path: Path, capsys: Captured) -> None:
    records = [
        b"no message",
        fastrec.encode_example({"x": 1}),
        fastrec.encode_example({"x": "text"}),
        b"",
        b"\xff\xfe",
    ]
    path = write(tmp_path / "a.tfrecord", records)
    assert objects(capsys, "cat", "--json", path) == [
        {"record": "no message"},
        {"x": [1]},
        {"x": ["text"]},
        {},
        {"record": {"base64": "//4="}},
    ]


def test_a_sample_is_of_that_many_and_the_same_for_a_seed(pets: Path, capsys: Captured) -> None:
    def ids(*words: object) -> list[int]:
        lines = objects(capsys, "cat", "--json", "--features", "id", *words)
        return [each["id"][0] for each in lines]

    first = ids("--sample", 9, "train-*")
    assert len(set(first)) == 9
    assert first == sorted(first) == ids("--sample", 9, "train-*")
    assert ids("--sample", 9, "--seed", 1, "train-*") != first
    assert len(ids("--sample", 99, "pets.tfrecord")) == 60
    chosen = ids("--sample", 5, "--where", "label == 1", "pets.tfrecord")
    assert len(chosen) == 5
    assert all(each * 7 % 3 == 1 for each in chosen)
    (pets / "z.tfrecord.gz").write_bytes(gzipped((pets / "pets.tfrecord").read_bytes()))
    assert len(set(ids("--sample", 9, "z.tfrecord.gz"))) == 9


def test_a_sample_is_uniform(tmp_path: Path, capsys: Captured) -> None:
    path = write_examples(tmp_path / "a.tfrecord", [{"id": i} for i in range(8)])
    (tmp_path / "a.tfrecord.gz").write_bytes(gzipped(path.read_bytes()))
    for each in (path, f"{path}.gz"):
        counts = np.zeros(8)
        for seed in range(200):
            for found in objects(capsys, "cat", "--json", "--sample", 2, "--seed", seed, each):
                counts[found["id"][0]] += 1
        assert counts.sum() == 400
        assert ((counts - 50) ** 2 / 50).sum() < 30  # 7 degrees of freedom: p < 0.0001


def test_reading_goes_on_after_damage_where_that_is_asked_for(pets: Path, capsys: Captured) -> None:
    assert len(printed(capsys, "cat", "damaged.tfrecord", status=1)) == 7
    assert cli.main(["cat", "damaged.tfrecord", "--skip-damage"]) == 1
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == 39
    assert captured.err.count("fastrec: damage: damaged.tfrecord: ") == 2
    lines = printed(capsys, "cat", "damaged.tfrecord", "missing", "pets.tfrecord", status=74)
    assert len(lines) == 67


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (
            ["head", "--features", "nmae"],
            "none of these records has a feature 'nmae' (did you mean",
        ),
        (["cat", "--features", "id,nmae"], "no record has a feature 'nmae' (did you mean 'name'?)"),
        (["cat", "--features", "wings"], "no record has a feature 'wings'\n"),
        (["extract", "-o", "out", "--feature", "imgae"], "'imgae' (did you mean 'image'?)"),
        (["cat", "--where", "name == Ada"], "texts are in quotes"),
        (["head", "-n", "1", "--features", "id,tags"], ""),  # which others have
        (["cat", "--where", "id == 0", "--features", "id,tags"], ""),
    ],
)
def test_a_feature_that_is_mistyped_is_named(
    words: list[str], hint: str, pets: Path, capsys: Captured
) -> None:
    cli.main([*words, "pets.tfrecord"])
    error = capsys.readouterr().err
    assert hint in error if hint else error == ""


# --- grep ----------------------------------------------------------------------------------------


def test_grep_finds_texts_in_files_and_says_when_there_is_none(
    pets: Path, capsys: Captured
) -> None:
    lines = printed(capsys, "grep", "^ki", "-i", "--features", "id,name", "train-*")
    assert len(lines) == 6
    assert lines[0] == 'train-00000-of-00002.tfrecord:6: {"id": 6, "name": "Kira"}'
    assert printed(capsys, "grep", "-c", "-F", "a.a", "pets.tfrecord", status=1) == ["0"]
    assert printed(capsys, "grep", "-c", "-v", "Kira", "pets.tfrecord") == ["54"]
    assert printed(capsys, "grep", "-c", "IHDR", "pets.tfrecord", status=1) == ["0"]
    words = ["--features", "image", "pets.tfrecord"]
    assert printed(capsys, "grep", "-c", "IHDR", *words) == ["60"]
    assert cli.main(["grep", "(", "pets.tfrecord"]) == 2
    assert "is not a valid regular expression" in capsys.readouterr().err


# --- index, split, merge, extract, repair --------------------------------------------------------


def test_an_index_is_written_in_both_forms(pets: Path, capsys: Captured) -> None:
    assert printed(capsys, "index", "train-*") == [
        f"train-0000{i}-of-00002.tfrecord.frindex: 30 records" for i in range(2)
    ]
    assert len(fastrec.Reader("train-00000-of-00002.tfrecord", index=True)) == 30
    printed(capsys, "index", "--text", "pets.tfrecord", "-o", "some.idx")
    assert fastrec.Index.read_text("pets.tfrecord", "some.idx") == fastrec.Index.build(
        "pets.tfrecord"
    )
    (pets / "a.tfrecord.gz").write_bytes(gzipped((pets / "pets.tfrecord").read_bytes()))
    assert printed(capsys, "index", "a.tfrecord.gz") == ["a.tfrecord.gz.frindex: 60 records"]
    assert len(fastrec.Reader("a.tfrecord.gz", index=True)) == 60


def test_split_and_merge_keep_all_records_in_order(pets: Path, capsys: Captured) -> None:
    whole = list(fastrec.Reader("pets.tfrecord"))
    for words in (["--shards", "7"], ["--shard-records", "11"], ["--size", "30k"]):
        printed(capsys, "split", "train-*", *words, "-o", "part.tfrecord", "--overwrite")
        files = sorted(pets.glob("part-*"))
        assert len(files) > 1
        assert [record for path in files for record in fastrec.Reader(path)] == whole
        printed(capsys, "merge", *files, "-o", "all.tfrecord", "--overwrite")
        assert list(fastrec.Reader("all.tfrecord")) == whole
        for path in files:
            path.unlink()
    counts = []
    printed(capsys, "split", "pets.tfrecord", "--shards", 7, "-o", "part.tfrecord")
    counts = [fastrec.count(path) for path in sorted(pets.glob("part-*"))]
    assert sorted(counts) == [8] * 3 + [9] * 4
    printed(capsys, "split", "pets.tfrecord", "--shards", 61, "-o", "p.tfrecord", status=2)
    printed(capsys, "split", "pets.tfrecord", "--shards", 16, "-n", 40, "-o", "p.tfrecord")
    files = sorted(pets.glob("p-*"))
    assert len(files) == 16
    assert [record for path in files for record in fastrec.Reader(path)] == whole[:40]
    both = ["split", "pets.tfrecord", "--shards", 2, "-n", 5, "--sample", 10, "-o", "q.tfrecord"]
    printed(capsys, *both, status=2)


def test_merge_writes_nothing_when_a_file_is_damaged(pets: Path, capsys: Captured) -> None:
    printed(capsys, "merge", "pets.tfrecord", "damaged.tfrecord", "-o", "all.tfrecord", status=1)
    printed(capsys, "merge", "pets.tfrecord", "nothing", "-o", "all.tfrecord", status=74)
    assert not (pets / "all.tfrecord").exists()
    words = ["merge", "damaged.tfrecord", "--skip-damage", "-o", "all.tfrecord"]
    printed(capsys, *words, status=1)
    assert fastrec.count("all.tfrecord") == 39
    printed(capsys, *words, status=74)  # it exists


def test_merge_writes_to_standard_output(pets: Path) -> None:
    command = [sys.executable, "-m", "fastrec", "merge", "train-*", "-o", "-"]
    assert subprocess.check_output(command) == (pets / "pets.tfrecord").read_bytes()


def test_extract_names_files_after_records_only_within_the_directory(
    tmp_path: Path, capsys: Captured
) -> None:
    rows = [
        {"image": png(2, 2, 1), "name": "../../../etc/x.jpg", "by": "..", "raw": b"\0\1"},
        {"image": [png(2, 2, 2), b"none"], "name": "/abs\0olute", "by": "a/b", "raw": b"x"},
        {"image": png(2, 2, 3), "name": "." * 300, "by": ".hidden", "raw": b"y"},
    ]
    path = write_examples(tmp_path / "a.tfrecord", rows)
    out = tmp_path / "out"
    printed(capsys, "extract", path, "--name", "name", "--by", "by", "-o", out)
    found = sorted(str(each.relative_to(out)) for each in out.rglob("*") if each.is_file())
    assert found == ["00000000-x.png", "b/00000001-abs_olute-0.png", "b/00000001-abs_olute-1.bin",
                     "hidden/00000002.png"]  # fmt: skip
    assert {each.name for each in tmp_path.iterdir()} == {"a.tfrecord", "out"}
    assert (out / "00000000-x.png").read_bytes() == rows[0]["image"]
    printed(capsys, "extract", path, "--name", "name", "--by", "by", "-o", out, status=74)
    printed(capsys, "extract", path, "--feature", "raw", "-o", tmp_path / "raw")
    assert (tmp_path / "raw" / "00000000.bin").read_bytes() == b"\0\1"
    printed(capsys, "extract", path, "--feature", "none", "-o", tmp_path / "none", status=1)


def test_repair_does_not_copy_what_is_sound_or_has_no_record(pets: Path, capsys: Captured) -> None:
    before = set(pets.iterdir())
    assert printed(capsys, "repair", "pets.tfrecord") == [
        "sound    pets.tfrecord: 60 records; not copied"
    ]
    (pets / "text.tfrecord").write_text("nothing but words in here, line after line\n" * 9)
    printed(capsys, "repair", "text.tfrecord", status=1)
    assert set(pets.iterdir()) - before == {pets / "text.tfrecord"}
    printed(capsys, "repair", "damaged.tfrecord")
    assert fastrec.count("damaged.repaired.tfrecord") == 39
    printed(capsys, "repair", "damaged.tfrecord", status=74)  # it exists
    printed(capsys, "repair", "damaged.tfrecord", "-o", "damaged.tfrecord", status=2)
    printed(capsys, "repair", "damaged.tfrecord", "--in-place")
    assert fastrec.verify("damaged.tfrecord").records == 39
    assert (pets / "damaged.tfrecord.damaged").exists()


def test_images_without_labels_stop_at_once_and_say_so(tmp_path: Path, capsys: Captured) -> None:
    for number in range(3):
        (tmp_path / f"{number}.png").write_bytes(png(2, 2, number))
    assert cli.main(["images", str(tmp_path), str(tmp_path / "out.tfrecord")]) == 2
    assert "--labels none" in capsys.readouterr().err
    assert not (tmp_path / "out.tfrecord").exists()
