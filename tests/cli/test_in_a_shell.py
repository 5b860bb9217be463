# SPDX-License-Identifier: Apache-2.0
"""Completion, terminals and signals, through every verb."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import Captured, objects, printed
from cost import check_proportion
from pets import png
from verbs import write, write_examples
from waiting import DEADLINE

import fastrec
from fastrec import cli, train
from fastrec.cli.examples import EXAMPLES
from fastrec.cli.files import size_of
from fastrec.cli.grammar import VERBS, verb_parser
from fastrec.cli.parallel import in_order

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


def test_fish_completes_verbs_and_options() -> None:
    for typed, wanted in (("fastrec ver", "verify"), ("fastrec verify --man", "--manifest")):
        assert f"{wanted}\t" in in_shell(
            "fish", f'fastrec completion fish | source\ncomplete -C "{typed}"'
        )


def test_zsh_completes_verbs_and_options() -> None:
    # What zsh would choose from, in place of its menu.
    script = """
        autoload -U compinit && compinit -u -D && eval "$(fastrec completion zsh)"
        _describe() { print -rl -- ${(P)2}; }
        words=(%s) CURRENT=%d; _fastrec
    """
    assert "verify:check" in in_shell("zsh", script % ("fastrec ver", 2)).lower()
    assert "--manifest:" in in_shell("zsh", script % ("fastrec verify --man", 3))


def in_shell(shell: str, script: str) -> str:
    """What a script prints, in which `fastrec` is this program."""
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    define = {
        "fish": f"function fastrec; {sys.executable} -m fastrec $argv; end\n",
        "zsh": f'fastrec() {{ {sys.executable} -m fastrec "$@" }}\n',
    }
    return subprocess.check_output([shell, "-c", define[shell] + script], text=True)


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
        (["Head", "x"], "'head'"),
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


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_examples_that_it_accepts(verb: str, capsys: Captured) -> None:
    with pytest.raises(SystemExit):
        cli.main([verb, "--help"])
    text = capsys.readouterr().out
    for purpose, command in EXAMPLES[verb]:
        assert f"  # {purpose}\n  {command}\n" in text
        if command.startswith("fastrec "):
            name, *words = shlex.split(command)[1:]
            assert name == verb
            verb_parser(verb).parse_intermixed_args(words)


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["convert", "--to", "par"], ["parquet"]),
        (["completion", "f"], ["fish"]),
        (["cat", "--rec"], ["--record", "--records"]),
        (["cat", "pets.tfrecord", "--features", "na"], ["name"]),
    ],
)
def test_bash_completes_choices_options_and_features(
    pets: Path, words: list[str], expected: list[str]
) -> None:
    python = shlex.quote(sys.executable)
    script = (
        f'fastrec() {{ {python} -m fastrec "$@"; }}; eval "$(fastrec completion bash)"; '
        f"COMP_WORDS=(fastrec {shlex.join(words)}); COMP_CWORD={len(words)}; _fastrec; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    run = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, timeout=300, check=False
    )
    assert (run.stdout.split(), run.stderr) == (expected, "")


@pytest.mark.skipif(sys.platform != "linux", reason="as Linux has terminals")
@pytest.mark.parametrize("columns", [40, 60, 200])
def test_tables_fit_a_terminal(pets: Path, columns: int) -> None:
    status, output = on_a_terminal("stats", "-q", "pets.tfrecord", columns=columns)
    assert status == 0
    assert "\x1b[3" not in output  # no colours
    lines = re.sub(r"\x1b\[\d*m", "", output).splitlines()
    assert "embedding" in output
    assert max(map(len, lines[2:11])) <= columns
    hidden = " ".join(output.split()).partition(f"(not shown at {columns} columns: ")[2]
    shown = lines[2].split()
    for name in ("histogram", "median", "mean", "distinct", "values", "max", "min"):
        assert (name in shown) != (name in hidden.partition(")")[0])
    _, output = on_a_terminal("schema", "-q", "pets.tfrecord", columns=columns)
    table, _, code = re.sub(r"\x1b\[\d*m|\r", "", output).partition("import numpy")
    assert max(map(len, table.splitlines())) <= columns
    header = table.splitlines()[0]
    assert ("read as" in header) == (columns == 200)  # the code says it, too
    assert "FixedLenFeature" in code


@pytest.mark.skipif(sys.platform != "linux", reason="as Linux has terminals")
@pytest.mark.parametrize("columns", [20, 40, 60, 200])
def test_a_narrow_table_of_records_leaves_out_its_widest_columns(pets: Path, columns: int) -> None:
    _, output = on_a_terminal("head", "-q", "--table", "--number", "pets.tfrecord", columns=columns)
    lines = re.sub(r"\x1b\[\d*m|\r", "", output).splitlines()
    header, *rows = lines[:12]
    assert rows[1].split()[0].startswith("pets")  # the number that --number requests stays
    if columns > 20:
        assert max(map(len, lines)) <= columns
        assert "id" in header.split()
    hidden = " ".join(output.split()).partition(f"(not shown at {columns} columns: ")[2]
    for name in ("embedding", "image", "id", "label", "name", "tags", "weight"):
        assert (name in header.split()) != (name in re.split(r"\W+", hidden))
    assert ("embedding" in header) == (columns == 200)


def test_the_list_of_commands_has_each_command_once(capsys: Captured) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    text = capsys.readouterr().out
    assert [line.split()[0] for line in text.splitlines() if re.match(r"  [a-z]", line)] == [*VERBS]
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.skipif(os.name != "posix", reason="locales of POSIX")
def test_a_terminal_without_block_characters_gets_plain_histograms(pets: Path) -> None:
    ascii_only = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    text = subprocess.run(
        [sys.executable, "-m", "fastrec", "stats", "pets.tfrecord"],
        env={**os.environ, **ascii_only}, capture_output=True, check=True,
    ).stdout.decode("ascii")  # fmt: skip
    assert "\\u" not in text
    assert "@@@@@@@@@@\n" in text  # the ids are uniform


@pytest.mark.skipif(os.name != "posix", reason="shells of POSIX")
@pytest.mark.parametrize(
    ("words", "stream"),
    [("head pets.tfrecord >&-", "output"), ("count - <&-", "input"), ("cat - <&-", "input")],
)
def test_an_error_of_a_standard_stream_names_it(pets: Path, words: str, stream: str) -> None:
    script = f'"$0" -m fastrec {words}'
    done = subprocess.run(
        ["bash", "-c", script, sys.executable], capture_output=True, text=True, check=False
    )
    assert done.returncode == 74
    assert done.stderr.endswith(f"standard {stream}: Bad file descriptor\n")


# --- Terminals ------------------------------------------------------------------------------------


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
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")}
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words], stdout=child, stderr=child,
        stdin=subprocess.DEVNULL, env={**environment, "NO_COLOR": "1", "TERM": "xterm"},
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
    def counts(records: int) -> Callable[[], None]:
        rows = ({f"{number}-{i}": 1 for i in range(32)} for number in range(records))
        path = write_examples(tmp_path / f"{records}.tfrecord", rows)

        def count() -> None:
            [found] = objects(capsys, "stats", "--json", path)
            assert len(found["features"]) == min(32 * records, 4096)
            assert found["features_left_out"] == (32 * records > 4096)
            assert len(printed(capsys, "cat", path)) == records

        return count

    check_proportion(counts, 160)


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
    (pets / "looped.tfrecord").symlink_to("looped.tfrecord")
    for verb in ("cat", "count", "verify", "stats"):
        assert cli.main([verb, "*ed.tfrecord", "pets.tfrecord"]) == 74
        captured = capsys.readouterr()
        assert "looped.tfrecord: Too many levels" in captured.err
        assert captured.out

    def refusing(path: str) -> Any:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("fastrec.cli.files.reader_of", refusing)
    assert size_of(["pets.tfrecord"]) == 0


def test_a_condition_that_does_not_fit_names_the_record(tmp_path: Path, capsys: Captured) -> None:
    path = write_examples(tmp_path / "a.tfrecord", [{"x": 1}, {"x": 2}, {"x": "text"}])
    assert cli.main(["cat", "--where", "x > 0", str(path)]) == 1
    assert f"{path}:2: feature 'x' holds bytes" in capsys.readouterr().err
    other = write_examples(tmp_path / "b.tfrecord", [{"x": 1.0}])
    big = "1" + "0" * 400
    assert printed(capsys, "cat", "--where", f"x < {big} and x > -{big}", other) == ['{"x": 1.0}']


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("verb", ["verify", "count"])
def test_ctrl_c_ends_a_verb_that_waits_for_its_input(tmp_path: Path, verb: str) -> None:
    import signal

    records = write_examples(tmp_path / "records", [{"x": bytes(1000)}] * 1000).read_bytes()
    with subprocess.Popen(
        [sys.executable, "-m", "fastrec", verb, "-"], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(records)  # more than a pipe holds, so the verb has begun to read
        process.stdin.flush()
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=DEADLINE) == 130


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
    assert started.wait(DEADLINE)
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
