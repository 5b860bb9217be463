# SPDX-License-Identifier: Apache-2.0
"""Words of a command that are repeated are an error or a warning, never dropped silently."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from verbs import write

from fastrec import _core, cli
from fastrec.cli.grammar import VERBS, verb_parser


def single_options() -> list[tuple[str, str, str]]:
    """Each option with one value: its verb, its name, and a value that is allowed."""
    found = []
    for verb in VERBS:
        for action in verb_parser(verb)._actions:
            takes_one = action.option_strings and action.nargs in (None, "?")
            if not takes_one or type(action) is argparse._AppendAction:
                continue
            choices = [*action.choices] if action.choices else ["1", "1M", "1:2", "a", "none"]
            for value in map(str, choices):
                try:
                    action.type(value) if callable(action.type) else value
                except (argparse.ArgumentTypeError, ValueError):
                    continue
                found.append((verb, action.option_strings[-1], value))
                break
    return found


OPTIONS = single_options()


def test_the_options_of_all_verbs_are_tried() -> None:
    assert len(OPTIONS) > 80
    assert ("cat", "--where", "1") in OPTIONS


@pytest.mark.parametrize(("verb", "option", "value"), OPTIONS)
def test_an_option_with_two_values_is_an_error(
    verb: str, option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [option, value] * 2
    with pytest.raises(SystemExit) as caught:
        cli.main([verb, *words, "x", "y"])
    assert caught.value.code == 2
    assert "may be given only once" in capsys.readouterr().err


def test_options_for_the_same_thing_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["cat", "--record", "1", "--records", "2:3", "x"])
    assert caught.value.code == 2
    assert "--record and --records are mutually exclusive" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["count", "cat", "merge", "split", "reshard"])
def test_a_file_that_is_named_twice_is_read_once_with_a_warning(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a", [b"1", b"2"])
    output = [] if verb in ("count", "cat") else ["-o", "out"]
    shards = ["--shards", "1"] if verb == "split" else []
    assert cli.main([verb, "a", "a", "a", *output, *shards]) == 0
    shown = capsys.readouterr()
    assert shown.err == "fastrec: warning: 'a' is named 3 times, and is read once\n"
    assert "2" in shown.out


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGTERM")
def test_a_command_that_is_terminated_removes_its_unfinished_file(tmp_path: Path) -> None:
    write(tmp_path / "a.tfrecord", [b"old"])
    command = [sys.executable, "-m", "fastrec", "merge", "-", "-o", "a.tfrecord", "--overwrite"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, text=False
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(_core.frame(b"new") * 100_000)
        process.stdin.flush()
        give_up = time.monotonic() + 100  # a busy machine starts a process slowly
        while len(os.listdir(tmp_path)) < 2 and time.monotonic() < give_up:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        assert process.stderr.read() == b"fastrec: terminated\n"
        assert process.wait(timeout=100) == 143
    assert os.listdir(tmp_path) == ["a.tfrecord"]
    assert (tmp_path / "a.tfrecord").read_bytes() == _core.frame(b"old")


def test_a_handler_of_the_caller_for_sigterm_stays(tmp_path: Path) -> None:
    write(tmp_path / "a", [b"1"])
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        assert cli.main(["count", str(tmp_path / "a")]) == 0
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        assert cli.main(["count", str(tmp_path / "a")]) == 0
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)
