# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec
from fastrec import cli
from fastrec.cli import count, report, schema
from fastrec.cli.files import expand


def write(path: Path, records: int = 5) -> Path:
    with fastrec.Writer(path) as writer:
        for number in range(records):
            writer.write({"number": number, "half": number / 2, "name": f"record {number}"})
    return path


def flip(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 0x10
    path.write_bytes(content)


def fastrec_command(*words: str, **how: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fastrec", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **how)


@pytest.mark.parametrize("words", [["--help"], ["demo", "--help"], ["verify", "-h"]])
def test_help_is_there(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(words)
    assert caught.value.code == 0
    assert "fastrec" in capsys.readouterr().out


def test_no_word_at_all_shows_what_there_is_and_exits_with_2(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main([]) == 2
    assert "verify" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [["fly"], ["verify"], ["demo", "--epochs", "0"], ["demo", "--shards", "x"]]
)
def test_words_that_mean_nothing_exit_with_2(words: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(words)
    assert caught.value.code == 2


def test_verify_says_ok_for_each_sound_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [write(tmp_path / "a.tfrecord"), write(tmp_path / "b.tfrecord", 7)]
    assert cli.main(["verify", *map(str, paths)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"ok       {paths[0]}: 5 records")
    assert lines[1].startswith(f"ok       {paths[1]}: 7 records")
    assert lines[2].startswith("total    2 files, 0 damaged; sound: 12 records")


def test_verify_names_the_record_the_offset_and_the_kind_of_damage_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flipped, cut, sound = (write(tmp_path / f"{name}.tfrecord") for name in "abc")
    record_size = flipped.stat().st_size // 5
    flip(flipped, 2 * record_size + 20)
    cut.write_bytes(cut.read_bytes()[: 3 * record_size + 17])
    assert cli.main(["verify", str(tmp_path)]) == 1
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    where = f"{flipped}: record 2 at offset {2 * record_size}: data-crc: data checksum mismatch: "
    assert lines[0].startswith(f"DAMAGED  {where}")
    where = f"{cut}: record 3 at offset {3 * record_size}: torn-data: the header promises "
    assert lines[1].startswith(f"DAMAGED  {where}")
    assert lines[2].startswith(f"ok       {sound}: 5 records")
    assert "3 files, 2 damaged" in lines[3]
    assert captured.err == "fastrec: error: 2 of 3 files damaged\n"


@pytest.mark.parametrize("command", ["verify", "count"])
def test_a_missing_file_is_named_and_the_others_are_done(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sound, missing = write(tmp_path / "a.tfrecord"), tmp_path / "missing.tfrecord"
    status = cli.main([command, str(missing), str(sound)])
    captured = capsys.readouterr()
    assert status == 74
    assert captured.err == f"fastrec: error: {missing}: No such file or directory\n"
    assert str(sound) in captured.out


def test_count_prints_a_count_a_file_and_their_total(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [write(tmp_path / "a.tfrecord", 1200), write(tmp_path / "b.tfrecord", 0)]
    assert cli.main(["count", *map(str, paths)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"1200  {paths[0]}", f"0  {paths[1]} (empty file)", "1200  total"]


def test_verify_says_that_a_file_is_empty(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["verify", str(write(tmp_path / "a.tfrecord", 0))]) == 0
    assert capsys.readouterr().out.endswith("a.tfrecord: 0 records, 0 B of data (empty file)\n")


def test_a_number_of_shards_that_is_none_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        cli.main(["images", str(tmp_path), "out", "--shards", "x"])
    assert "argument --shards: must be a whole number, got 'x'" in capsys.readouterr().err


def test_count_of_a_damaged_file_exits_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "a.tfrecord")
    flip(path, 3)
    assert cli.main(["count", str(path)]) == 1
    error = capsys.readouterr().err
    assert error.startswith("fastrec: error: ")
    assert error.count("\n") == 1
    assert "a.tfrecord" in error


def test_names_are_files_then_directories_then_patterns(tmp_path: Path) -> None:
    odd = write(tmp_path / "a[1].tfrecord")
    other = write(tmp_path / "b.tfrecord.gz")
    (tmp_path / "notes.txt").touch()
    (tmp_path / "empty").mkdir()
    assert expand([str(odd)]) == ([str(odd)], [])
    assert expand([str(tmp_path), str(odd)]) == ([str(odd), str(other)], [])
    assert expand([str(tmp_path / "*.gz")]) == ([str(other)], [])
    files, missing = expand([str(tmp_path / "*.nothing"), str(tmp_path / "empty")])
    assert files == []
    assert [getattr(error, "filename", None) for error in missing] == [
        str(tmp_path / "*.nothing"),
        str(tmp_path / "empty"),
    ]


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "a1.tfrecord", 3)
    odd = write(tmp_path / "a[1].tfrecord", 4)
    assert cli.main(["count", str(odd)]) == 0
    assert capsys.readouterr().out.split() == ["4", str(odd)]


def test_schema_shows_the_features_and_code_that_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "a.tfrecord")
    assert cli.main(["schema", str(path)]) == 0
    table, code = capsys.readouterr().out.split("\n\n", 1)
    rows = [line.split(maxsplit=3) for line in table.splitlines()]
    assert rows[0][:3] == ["name", "kind", "values"]
    assert [row[0] for row in rows[2:]] == ["half", "name", "number"]
    assert "0 to 2   FixedLenFeature((), float32)" in table
    assert "8 bytes  FixedLenFeature((), bytes)" in table
    names: dict[str, object] = {}
    exec(code, names)  # the code to paste is the output under test
    batch = names["batch"]
    assert isinstance(batch, dict)
    assert sorted(batch["number"].tolist()) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("feature", "code"),
    [
        (fastrec.FixedLenFeature((), np.int64), "fastrec.FixedLenFeature((), np.int64)"),
        (
            fastrec.FixedLenFeature((2,), np.float32, [0.5, 1.5]),
            "fastrec.FixedLenFeature((2,), np.float32, default_value=[0.5, 1.5])",
        ),
        (fastrec.RaggedFeature(bytes), "fastrec.RaggedFeature(bytes)"),
        (fastrec.RawFeature(None, np.uint8), "fastrec.RawFeature(None, np.uint8)"),
        (
            fastrec.RawFeature((8, 8), ">u2", little_endian=False),
            "fastrec.RawFeature((8, 8), np.uint16, little_endian=False)",
        ),
    ],
)
def test_a_feature_becomes_the_code_that_makes_it(feature: object, code: str) -> None:
    assert schema.feature_code(feature) == code
    again = eval(code, {"fastrec": fastrec, "np": np})
    assert schema.feature_code(again) == code


def test_schema_of_something_else_is_one_line_on_stderr(tmp_path: Path) -> None:
    text = tmp_path / "text.tfrecord"
    text.write_text("no records in here, only words\n" * 9)
    for path in (text, tmp_path / "missing.tfrecord", tmp_path / "*.nothing"):
        ended = fastrec_command("schema", str(path))
        assert ended.returncode == (1 if path == text else 74)
        assert ended.stdout == ""
        assert ended.stderr.startswith("fastrec: error: ")
        assert ended.stderr.count("\n") == 1


def test_schema_of_a_compressed_file_or_a_directory_gives_code_that_works(tmp_path: Path) -> None:
    with fastrec.Writer(tmp_path / "a.tfrecord.gz", compression="GZIP") as writer:
        writer.write({"number": [1, 2]})
    for path in (tmp_path / "a.tfrecord.gz", tmp_path):
        code = fastrec_command("schema", str(path)).stdout.split("\n\n", 1)[1]
        command = [sys.executable, "-c", code + "print(batch['number'].tolist())"]
        assert subprocess.check_output(command, text=True, timeout=60) == "[[1, 2]]\n"


@pytest.mark.skipif(sys.platform == "darwin", reason="its file names are always UTF-8")
def test_a_name_that_the_terminal_cannot_show_is_escaped(tmp_path: Path) -> None:
    path = os.path.join(os.fsencode(tmp_path), b"\xff\x1b[31m\xe9.tfrecord")
    with fastrec.Writer(os.fsdecode(path)) as writer:
        writer.write(b"one")
    for command in ("count", "verify"):
        ended = fastrec_command(
            command, os.fsdecode(path), env={**os.environ, "PYTHONIOENCODING": "ascii"}
        )
        assert (ended.returncode, ended.stderr) == (0, "")
        assert r"\xff\x1b[31m\xe9.tfrecord" in ended.stdout


def test_ctrl_c_is_one_line_and_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(count, "run", interrupted)
    assert cli.main(["count", "x"]) == 130
    assert capsys.readouterr().err == "fastrec: interrupted\n"


@pytest.mark.parametrize(
    ("error", "line", "status"),
    [
        (OSError(28, "No space left on device", "a/b"), "a/b: No space left on device", 74),
        (OSError(5, "Input/output error"), "Input/output error", 74),
        (MemoryError(), "out of memory", 74),
        (ImportError("pip install it"), "pip install it", 2),
        (fastrec.FastrecError("no good"), "no good", 1),
    ],
)
def test_what_goes_wrong_is_one_line_and_a_status(
    error: Exception,
    line: str,
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def failing(*_: object) -> int:
        raise error

    monkeypatch.setattr(count, "run", failing)
    assert cli.main(["count", "x"]) == status
    assert capsys.readouterr().err == f"fastrec: error: {line}\n"


def test_a_reader_that_leaves_ends_the_command_quietly(tmp_path: Path) -> None:
    write(tmp_path / "a.tfrecord", 1)
    names = [f"{tmp_path}/{'./' * number}a.tfrecord" for number in range(400)]
    command = [sys.executable, "-m", "fastrec", "count", *names]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().split() == ["1", names[0]]
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(timeout=60) == 141


def test_a_plain_table_is_aligned() -> None:
    lines = report.plain_table(("name", "size"), [("a", "1,000"), ("longer", "7")], right=(1,))
    assert lines == ["name     size", "------  -----", "a       1,000", "longer      7"]


@pytest.mark.parametrize("rich", [True, False])
def test_the_same_cells_are_there_with_rich_and_without(rich: bool) -> None:
    out = io.StringIO()
    report.Report(out, io.StringIO(), rich=rich).table(("a", "b"), [("[red]x", "17")])
    assert "[red]x" in out.getvalue()
    assert "17" in out.getvalue()


def test_without_rich_the_words_are_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    out = io.StringIO()
    some = report.Report(out, io.StringIO(), rich=True)
    some.line("hello", style="bold")
    some.table(("a",), [("b",)])
    assert out.getvalue() == "hello\n   a\n   -\n   b\n"


@pytest.mark.parametrize("rich", [True, False])
def test_progress_shows_only_after_a_while(rich: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def shown() -> tuple[str, str]:
        out, err = io.StringIO(), io.StringIO()
        some = report.Report(out, err, rich=rich)
        with some.progress("working", 1000) as advance:
            advance(500)
            some.complain("by the way")
            advance(500)
        return out.getvalue(), err.getvalue()

    assert shown() == ("", "fastrec: by the way\n")
    monkeypatch.setattr(report, "_PATIENCE_S", -1.0)
    out, err = shown()
    assert out == ""
    assert "working" in err
    assert "fastrec: by the way\n" in err


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (999_600, "1 MB"), (1_640_000, "1.64 MB")],
)
def test_sizes_have_decimal_units(size: int, text: str) -> None:
    assert report.bytes_text(size) == text


def test_the_version_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"fastrec {fastrec.__version__}\n"


def test_words_after_two_dashes_are_no_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("-x.tfrecord"), 2)
    assert cli.main(["count", "-q", "--", "-x.tfrecord"]) == 0
    assert capsys.readouterr().out.split()[0] == "2"
    assert cli.main(["grep", "-c", "--", "-1", "-x.tfrecord"]) == 1  # a pattern with a dash
    assert cli.main(["head", "--", "--", "-x.tfrecord"]) == 74  # "--" is a name here
    assert capsys.readouterr().err.startswith("fastrec: error: --: No such file")
