# SPDX-License-Identifier: Apache-2.0
"""The verbs that look at records, and those that write them."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pets import pet, png, write_pets
from verbs import gzipped, write, write_examples

import fastrec
from fastrec import cli, train
from fastrec.cli import diff, stats
from fastrec.cli.grammar import VERBS
from fastrec.cli.parallel import in_order
from fastrec.cli.values import image_size

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def pets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_pets(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def printed(capsys: Captured, *words: object, status: int = 0) -> list[str]:
    assert cli.main(list(map(str, words))) == status
    return capsys.readouterr().out.splitlines()


def objects(capsys: Captured, *words: object, status: int = 0) -> list[Any]:
    return [json.loads(line) for line in printed(capsys, *words, status=status)]


def stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


# --- head and cat --------------------------------------------------------------------------------


def test_json_has_all_that_was_written(pets: Path, capsys: Captured) -> None:
    found = objects(capsys, "cat", "--json", "pets.tfrecord")
    assert len(found) == 60
    for number, each in enumerate(found):
        wanted = pet(number)
        assert each["id"] == wanted["id"]
        assert each["name"] == wanted["name"]
        assert each["weight"] == wanted["weight"]
        assert each["embedding"] == wanted["embedding"]
        assert np.atleast_1d(each.get("tags", [])).tolist() == wanted.get("tags", [])
        assert set(each["image"]) == {"base64"}


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
    assert numbered[7] == {"path": "<stdin>", "record": 7, "features": {"id": 7}}


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
        {"id": "one", "x": [[], [1], [2, 2]]},
        {"x": 1},
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
        {"x": 1},
        {"x": "text"},
        {},
        {"record": {"base64": "//4="}},
    ]


def test_a_sample_is_of_that_many_and_the_same_for_a_seed(pets: Path, capsys: Captured) -> None:
    def ids(*words: object) -> list[int]:
        lines = objects(capsys, "cat", "--json", "--features", "id", *words)
        return [each["id"] for each in lines]

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
                counts[found["id"]] += 1
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


# --- grep ----------------------------------------------------------------------------------------


def test_grep_finds_texts_in_files_and_says_when_there_is_none(
    pets: Path, capsys: Captured
) -> None:
    lines = printed(capsys, "grep", "^ki", "-i", "--features", "id,name", "train-*")
    assert len(lines) == 6
    assert lines[0] == 'train-00000-of-00002.tfrecord:6: {"id": 6, "name": "Kira"}'
    assert printed(capsys, "grep", "-c", "-F", "a.a", "pets.tfrecord", status=1) == ["0"]
    assert printed(capsys, "grep", "-c", "-v", "Kira", "pets.tfrecord") == ["54"]
    assert cli.main(["grep", "(", "pets.tfrecord"]) == 2
    assert "is not a valid regular expression" in capsys.readouterr().err


# --- stats ---------------------------------------------------------------------------------------


def test_statistics_are_those_of_numpy(tmp_path: Path, capsys: Captured) -> None:
    draw = np.random.default_rng(0)
    rows = []
    for number in range(3000):
        row: dict[str, Any] = {"x": draw.normal(3, 2, number % 3).astype(np.float32)}
        row["label"] = int(draw.integers(5))
        row["text"] = f"word {int(draw.integers(40))}"
        rows.append(row)
    path = write_examples(tmp_path / "a.tfrecord", rows)
    [found] = objects(capsys, "stats", "--json", "-j", 3, path)
    assert found["records"] == 3000
    features = {each["name"]: each for each in found["features"]}
    x = np.concatenate([row["x"] for row in rows]).astype(np.float64)
    values = features["x"]["values"]
    assert values["count"] == len(x) == 3000
    assert (values["min"], values["max"]) == (x.min(), x.max())
    assert values["mean"] == pytest.approx(x.mean())
    assert values["deviation"] == pytest.approx(x.std())
    assert values["quantiles"]["0.5"] == pytest.approx(np.median(x))
    assert sum(values["histogram"]["counts"]) == 3000
    assert features["x"]["lengths"]["count"] == 2000
    assert features["x"]["distinct"] == pytest.approx(len(set(x)), rel=0.1)
    assert not features["x"]["distinct_is_exact"]
    labels = np.array([row["label"] for row in rows])
    assert features["label"]["distinct"] == 5
    top = {each["value"]: each["count"] for each in features["label"]["top"]}
    assert top == dict(
        zip(*map(np.ndarray.tolist, np.unique(labels, return_counts=True)), strict=True)
    )
    assert features["text"]["distinct"] == 40
    texts = [row["text"] for row in rows]
    assert features["text"]["top"][0]["count"] == max(map(texts.count, texts))


def test_statistics_do_not_depend_on_threads(tmp_path: Path, capsys: Captured) -> None:
    draw = np.random.default_rng(1)
    rows = [{"x": draw.random(40), "n": int(draw.integers(2**62))} for _ in range(5000)]
    path = write_examples(tmp_path / "a.tfrecord", rows)
    found = [printed(capsys, "stats", "--json", "-j", threads, path) for threads in (1, 4)]
    assert found[0] == found[1]
    [each] = [json.loads(line) for line in found[0]]
    quantiles = {item["name"]: item for item in each["features"]}["x"]["values"]["quantiles"]
    for share, value in quantiles.items():  # of a sample, of uniform numbers
        assert value == pytest.approx(float(share), abs=0.02)


def test_statistics_of_not_a_number_and_of_none(tmp_path: Path, capsys: Captured) -> None:
    rows: list[dict[str, Any]] = [
        {"x": np.array([np.nan, np.inf, 0, 2], np.float32)},
        {"y": np.array([], np.int64)},
    ]
    path = write_examples(tmp_path / "a.tfrecord", rows)
    [found] = objects(capsys, "stats", "--json", path)
    values = found["features"][0]["values"]
    assert [values[name] for name in ("count", "nan", "infinite", "zeros", "mean")] == [
        4,
        1,
        1,
        1,
        1,
    ]
    assert printed(capsys, "stats", path)[0].startswith("2 records in 1 file")
    empty = write(tmp_path / "empty.tfrecord", [])
    assert cli.main(["stats", str(empty)]) == 1
    assert capsys.readouterr().err == "fastrec: error: no records\n"


def test_the_table_of_statistics_fits_the_terminal(pets: Path) -> None:
    from fastrec.cli.report import Report
    from fastrec.cli.select import Selector

    class Narrow(Report):
        width = 60

    out = io.StringIO()
    narrow = Narrow(out, io.StringIO(), rich=False)
    found = stats.survey(Selector(narrow), ["pets.tfrecord"], 1)
    stats._print_table(found, narrow)
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= 60
    assert lines[0].split()[:3] == ["feature", "kind", "present"]


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (png(24, 16, 0), (24, 16)),
        (b"GIF89a\3\0\2\0", (3, 2)),
        (b"BM is a text that begins so", None),
        (b"RIFF\0\0\0\0WAVEfmt and some more data", None),
        (
            b"\xff\xd8\xff\xe0\0\4ab\xff\xc4\0\2\xff\xff\xc0\0\x0b\x08\x01\x02\x03\x04",
            (0x304, 0x102),
        ),
        (b"\xff\xd8\xff" + b"\xff" * 100, None),
        (b"\xff\xd8\xff\xe0\0\0" * 50, None),
    ],
)
def test_the_size_of_an_image_is_that_of_its_header(
    data: bytes, size: tuple[int, int] | None
) -> None:
    assert image_size(data) == size


# --- diff ----------------------------------------------------------------------------------------


def test_diff_of_the_same_records_is_0(pets: Path, capsys: Captured) -> None:
    assert printed(capsys, "diff", "pets.tfrecord", "train-*") == [
        "60 records the same; 0 different, 0 only in A, 0 only in B"
    ]


def test_diff_names_the_features_that_differ(pets: Path, capsys: Captured) -> None:
    found = objects(capsys, "diff", "--json", "--key", "id", "pets.tfrecord", "changed.tfrecord",
                    status=1)  # fmt: skip
    assert found[:2] == [
        {
            "a": ["pets.tfrecord", 20],
            "b": ["changed.tfrecord", 37],
            "features": {"name": ["Ada", "Kiro"]},
        },
        {"a": ["pets.tfrecord", 3], "b": ["changed.tfrecord", 54], "features": {"label": [0, 2]}},
    ]
    assert found[-1] == {"same": 56, "same_values": 0, "only_a": 2, "only_b": 0, "different": 2}
    [last] = objects(capsys, "diff", "--json", "-n", 0, "--unordered", "pets.tfrecord",
                     "changed.tfrecord", status=1)  # fmt: skip
    assert (last["same"], last["only_a"], last["only_b"]) == (56, 4, 2)
    lines = printed(capsys, "diff", "pets.tfrecord", "changed.tfrecord", status=1)
    assert lines[-1].startswith("0 records the same; 58 different, 2 only in A")


def test_another_encoding_of_the_same_values_is_no_difference(
    tmp_path: Path, capsys: Captured
) -> None:
    one = fastrec.encode_example({"a": 1, "b": 2})
    entries = [fastrec.encode_example({name: value})[2:] for name, value in (("b", 2), ("a", 1))]
    body = b"".join(entries)
    other = b"\x0a" + bytes([len(body)]) + body
    assert one != other
    a, b = (write(tmp_path / name, [record]) for name, record in (("a", one), ("b", other)))
    assert "1 with the same values in another encoding" in printed(capsys, "diff", a, b)[0]
    assert printed(capsys, "diff", "--bytes", a, b, status=1)[0].endswith(
        "the same values, other bytes"
    )


def test_a_key_that_is_missing_or_there_twice_is_an_error(pets: Path, capsys: Captured) -> None:
    for key, text in (("tags", "has no feature 'tags'"), ("label", "two records of A have")):
        assert cli.main(["diff", "--key", key, "pets.tfrecord", "pets.tfrecord"]) == 2
        assert text in capsys.readouterr().err


def test_values_that_look_the_same_in_brief_say_where_they_differ() -> None:
    from fastrec.cli.select import Found

    a, b = np.zeros(100, np.float32), np.zeros(100, np.float32)
    b[50] = 1
    one, other = (Found("x", 0, b"", {"v": each}) for each in (a, b))
    assert diff._first_difference(one, other, "v") == " (from value 50 on)"


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
    printed(capsys, "index", "a.tfrecord.gz", status=2)


def test_split_and_merge_keep_all_records_in_order(pets: Path, capsys: Captured) -> None:
    whole = list(fastrec.Reader("pets.tfrecord"))
    for words in (["--shards", "7"], ["--records", "11"], ["--size", "30k"]):
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


# --- The shell -----------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_has_every_verb_and_is_a_script(shell: str, capsys: Captured) -> None:
    text = "\n".join(printed(capsys, "completion", shell))
    assert all(verb in text for verb in VERBS)
    assert "manifest" in text
    ended = subprocess.run(["bash", "-c", f"command -v {shell}"], check=False, capture_output=True)
    if ended.returncode:
        pytest.skip(f"no {shell} here")
    subprocess.run([shell, "-n"], input=text, text=True, check=True)


def test_bash_completes_verbs_and_options() -> None:
    script = 'eval "$("$0" -m fastrec completion bash)"\n' \
        'COMP_WORDS=(fastrec "$@"); COMP_CWORD=$#; _fastrec; echo "${COMPREPLY[@]}"'  # fmt: skip
    for words, wanted in ((["ver"], "verify"), (["verify", "--man"], "--manifest")):
        command = ["bash", "-c", script, sys.executable, *words]
        assert subprocess.check_output(command, text=True).split() == [wanted]


def test_manual_pages_have_every_option(tmp_path: Path, capsys: Captured) -> None:
    printed(capsys, "man", tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "fastrec.1",
        *(f"fastrec-{verb}.1" for verb in VERBS),
    }
    text = (tmp_path / "fastrec-verify.1").read_text()
    assert r"\-\-write\-manifest FILE" in text
    assert "74" in text


def test_a_word_that_is_nearly_right_is_suggested(capsys: Captured) -> None:
    for words, hint in (
        (["verfy"], "'verify'"),
        (["count", "x", "--thread=1", "--jsn"], "'--json'"),
    ):
        with pytest.raises(SystemExit) as caught:
            cli.main(words)
        assert caught.value.code == 2
        assert f"did you mean {hint}?" in capsys.readouterr().err


def test_help_of_a_verb_has_the_exit_statuses(capsys: Captured) -> None:
    for words in (["help", "verify"], ["verify", "--help"], ["help"]):
        with pytest.raises(SystemExit) as caught:
            cli.main(words)
        assert caught.value.code == 0
        assert "74" in capsys.readouterr().out


@pytest.mark.skipif(sys.platform != "linux", reason="as Linux has terminals")
@pytest.mark.parametrize("columns", [40, 60, 200])
def test_tables_fit_a_terminal(pets: Path, columns: int) -> None:
    status, output = on_a_terminal("stats", "-q", "pets.tfrecord", columns=columns)
    assert status == 0
    assert "\x1b[3" not in output  # no colours
    lines = re.sub(r"\x1b\[\d*m", "", output).splitlines()
    assert "embedding" in output
    assert max(map(len, lines[2:11])) <= columns


# --- Hostile files -------------------------------------------------------------------------------


def hostile(directory: Path) -> dict[str, Path]:
    """Files that try what they can, by what is wrong with them."""
    sound = bytearray((directory / "pets.tfrecord").read_bytes())
    offsets = fastrec.Index.build(directory / "pets.tfrecord").offsets.tolist()
    data, length = bytearray(sound), bytearray(sound)
    data[offsets[1] + 50] ^= 8
    length[offsets[1] + 3] ^= 64
    names = ["\x1b[31mred\x07", "../up", "<script>", "`", "a" * 5000, "", "\u202e", "\udcff"]
    rows: list[Any] = [{name: [1]} if name != "\udcff" else {b"\xff": [1]} for name in names]
    texts = {"t": ["\x1b]0;title\x07", "\r\nforged: 1", "\u202ereversed", "\x9b31m"]}
    records = [fastrec.encode_example(row) for row in [*rows, texts]]
    records += [b"\x0a\xff\xff\xff\xff\x7f", b"\x12" * 99, b"\x0a" * 500, bytes(range(256)) * 4]
    found = {name: directory / f"{name}.tfrecord" for name in ("data", "length", "names")}
    found["data"].write_bytes(data)
    found["length"].write_bytes(length)
    write(found["names"], records)
    return found


# The status of each verb for a flipped bit in data, for one in a length, and for hostile names.
STATUSES = {
    "head": (1, 1, 0),
    "head -n 1": (0, 0, 0),
    "cat --json": (1, 1, 0),
    "cat --skip-damage": (1, 1, 0),
    "cat --where id==2 --skip-damage": (1, 1, 0),
    "cat --sample 60": (1, 1, 0),
    "grep a --skip-damage": (1, 1, 0),
    "schema": (1, 1, 1),
    "schema --json": (1, 1, 1),
    "count": (0, 1, 0),
    "stats": (1, 1, 0),
    "stats --json --skip-damage": (1, 1, 0),
    "verify": (1, 1, 0),
    "verify --json": (1, 1, 0),
    "repair": (0, 0, 0),
    "index": (0, 1, 0),
    "index --text": (0, 1, 0),
    "diff pets.tfrecord": (1, 1, 1),
    "diff --key id pets.tfrecord": (1, 1, 2),
    "split --records 9 -o out.tfrecord": (1, 1, 0),
    "split --shards 3 -o out.tfrecord": (1, 1, 0),
    "merge -o out.tfrecord": (1, 1, 0),
    "extract -o out": (1, 1, 2),
    "view --html out.html": (0, 0, 0),
}


@pytest.mark.parametrize("command", STATUSES)
def test_a_hostile_file_has_its_status_and_moves_no_cursor(
    command: str, pets: Path, capsys: Captured
) -> None:
    for path, status in zip(hostile(pets).values(), STATUSES[command], strict=True):
        before = set(pets.iterdir())
        assert cli.main([*command.split(), path.name]) == status, path.name
        captured = capsys.readouterr()
        text = captured.out + captured.err
        assert all(c == "\n" or c.isprintable() for c in text)
        assert "Traceback" not in text
        if "--json" in command:
            for line in captured.out.splitlines():
                json.loads(line)
        for made in set(pets.iterdir()) - before:
            shutil.rmtree(made) if made.is_dir() else made.unlink()


def on_a_terminal(*words: str, columns: int = 80) -> tuple[int, str]:
    """Status and output of a command that has a terminal, as long as it is quick."""
    import fcntl
    import pty
    import struct
    import termios

    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    code = "import sys; from fastrec.cli import main, report; report._PATIENCE_S = -1.0; " \
        "sys.exit(main(sys.argv[1:]))"  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words], stdout=child, stderr=child,
        stdin=subprocess.DEVNULL, env={**os.environ, "NO_COLOR": "1", "TERM": "xterm"},
    )  # fmt: skip
    os.close(child)
    output = b""
    while True:
        try:
            more = os.read(parent, 1 << 16)
        except OSError:
            break
        if not more:
            break
        output += more
    os.close(parent)
    return process.wait(timeout=60), output.decode(errors="replace")


@pytest.mark.skipif(sys.platform != "linux", reason="as Linux has terminals")
@pytest.mark.parametrize(
    "words",
    [
        "head pets.tfrecord", "cat train-*", "grep -c a train-*", "schema pets.tfrecord",
        "count train-*", "stats train-*", "verify train-*", "diff pets.tfrecord train-*",
        "diff --key id pets.tfrecord train-*", "diff --unordered pets.tfrecord train-*",
        "index train-*",
        "merge train-* -o out.tfrecord", "split train-* --shards 3 -o out.tfrecord",
        "extract train-* -o out",
    ],
)  # fmt: skip
def test_every_verb_works_on_a_terminal_with_progress(words: str, pets: Path) -> None:
    pytest.importorskip("rich")
    status, output = on_a_terminal(*words.split())
    assert status == 0, output
    assert "Traceback" not in output


# --- What a review found --------------------------------------------------------------------------


def test_shards_of_one_set_and_files_of_one_name_do_not_collide(
    pets: Path, capsys: Captured
) -> None:
    for number in range(2):
        (pets / f"train.tfrecord-0000{number}-of-00002").write_bytes(
            (pets / f"train-0000{number}-of-00002.tfrecord").read_bytes()
        )
    assert "wrote    60 files" in printed(capsys, "extract", "train.tfrecord-*", "-o", "a")[0]
    for name in ("x", "y"):
        (pets / name).mkdir()
        shutil.copy("pets.tfrecord", pets / name)
    assert "wrote    120 files" in printed(capsys, "extract", "x", "y", "-o", "b")[0]


def test_names_are_cut_by_their_bytes(tmp_path: Path, capsys: Captured) -> None:
    rows = [{"image": png(2, 2, 0), "name": "\u00e4\u4e16" * 100, "by": "\u4e16" * 100}]
    path = write_examples(tmp_path / ("\u4e16" * 70 + ".tfrecord"), rows)
    other = write_examples(tmp_path / "b.tfrecord", rows)
    words = ["extract", path, other, "--name", "name", "--by", "by", "-o", tmp_path / "out"]
    assert "wrote    2 files" in printed(capsys, *words)[0]


def test_statistics_of_extreme_numbers_are_numbers(tmp_path: Path, capsys: Captured) -> None:
    rows = [
        {"i": [2**62] * 9, "j": [2**53, 2**53 + 1], "k": [-(2**63), 2**63 - 1],
         "f": np.array([3e38, -3e38, 1e-45], np.float32), "c": 7}
    ]  # fmt: skip
    path = write_examples(tmp_path / "a.tfrecord", rows)
    printed(capsys, "stats", path)
    [found] = objects(capsys, "stats", "--json", path)
    features = {each["name"]: each["values"] for each in found["features"]}
    assert features["i"]["histogram"] == {"counts": [9], "edges": [2.0**62, 2.0**62]}
    assert sum(features["j"]["histogram"]["counts"]) == 2
    assert features["f"]["deviation"] == pytest.approx(np.std([3e38, -3e38, 0]))


def test_features_beyond_a_limit_are_left_out_and_cost_no_quadratic_time(
    tmp_path: Path, capsys: Captured
) -> None:
    rows = [{f"{number}-{i}": 1 for i in range(8)} for number in range(1000)]
    path = write_examples(tmp_path / "a.tfrecord", rows)
    began = time.monotonic()
    [found] = objects(capsys, "stats", "--json", path)
    assert len(found["features"]) == 4096
    assert found["features_left_out"]
    assert len(printed(capsys, "cat", path)) == 1000
    assert time.monotonic() - began < 30


def test_what_is_not_parsed_is_compared_as_bytes(tmp_path: Path, capsys: Captured) -> None:
    one = fastrec.encode_example({"a": 1})
    lists = train.SequenceExample(
        feature_lists=train.FeatureLists(feature_list={"x": train.FeatureList()})
    ).SerializeToString()
    for number, (a, b) in enumerate([
        (one + b"\x1a\x01a", one + b"\x1a\x01b"),  # an unknown field
        (one + b"\x12\x03abc", one + b"\x12\x03abd"),  # malformed feature lists
        (one + lists, one + lists + lists[:-1] + b"y"),
    ]):  # fmt: skip
        paths = [write(tmp_path / f"{number}{side}", [each]) for side, each in (("a", a), ("b", b))]
        assert "1 different" in printed(capsys, "diff", *paths, status=1)[-1]


def test_one_file_that_cannot_be_read_stops_no_other(
    pets: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = pets / "refused.tfrecord"
    refused.write_bytes(b"x" * 20)
    from fastrec.records import byte_sources

    head_of = byte_sources.head_of

    def refusing(path: Any) -> bytes:
        if os.fsdecode(path).endswith("refused.tfrecord"):
            raise PermissionError(13, "Permission denied", path)
        return head_of(path)

    monkeypatch.setattr("fastrec.records.record_files.head_of", refusing)
    for verb in ("cat", "count", "verify", "stats"):
        assert cli.main([verb, "refused.tfrecord", "pets.tfrecord"]) == 74
        captured = capsys.readouterr()
        assert "Permission denied" in captured.err
        assert captured.out


def test_a_condition_that_does_not_fit_names_the_record(tmp_path: Path, capsys: Captured) -> None:
    path = write_examples(tmp_path / "a.tfrecord", [{"x": 1}, {"x": 2}, {"x": "text"}])
    assert cli.main(["cat", "--where", "x > 0", str(path)]) == 1
    assert f"{path}:2: feature 'x' holds bytes" in capsys.readouterr().err
    other = write_examples(tmp_path / "b.tfrecord", [{"x": 1.0}])
    big = "1" + "0" * 400
    assert printed(capsys, "cat", "--where", f"x < {big} and x > -{big}", other) == ['{"x": 1.0}']


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("verb", ["verify", "count"])
def test_ctrl_c_ends_a_verb_that_waits_for_its_input(verb: str) -> None:
    import signal

    with subprocess.Popen(
        [sys.executable, "-m", "fastrec", verb, "-"], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(fastrec.encode_example({}))
        process.stdin.flush()
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) == 130


def test_work_that_is_not_wanted_any_more_ends() -> None:
    started, ended = threading.Event(), threading.Event()

    def work(path: str, check: Any) -> int:
        if path == "first":
            return 1
        started.set()
        try:
            while True:
                check()
                time.sleep(0.001)
        finally:
            ended.set()

    results = in_order(work, ["first", "second"], 2)
    assert next(results) == ("first", 1)
    assert started.wait(10)
    results.close()  # type: ignore[attr-defined]
    assert ended.is_set()


def test_a_verb_that_takes_long_says_so_on_standard_error(
    pets: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fastrec.cli import report

    monkeypatch.setattr(report, "_PATIENCE_S", -1.0)
    for words in (["verify"], ["count"], ["cat"], ["stats"], ["index"]):
        assert cli.main([*words, "pets.tfrecord"]) == 0
        captured = capsys.readouterr()
        assert "%)" in captured.err
        assert "%)" not in captured.out
        assert cli.main([*words, "-q", "pets.tfrecord"]) == 0
        assert capsys.readouterr().err == ""
