# SPDX-License-Identifier: Apache-2.0
"""``python -OO`` removes docstrings and assertions: everything works without them."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest
from verbs import number_records, write

import fastrec
from fastrec.cli.grammar import VERBS

PACKAGE = Path(fastrec.__file__).parent


def optimized(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-OO", "-c", program, *arguments],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


HELP = """
import contextlib, io, sys
from fastrec.cli import main
for words in ([], *([verb] for verb in sys.argv[1:])):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            status = main([*words, "--help"])
        except SystemExit as end:
            status = end.code
    text = out.getvalue()
    if status or "usage: fastrec" not in text:
        raise RuntimeError(f"{words}: {status}, {text}")
"""


def test_the_program_and_every_verb_have_help() -> None:
    run = optimized(HELP, *VERBS)
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize("verb", VERBS)
def test_a_summary_is_the_first_line_of_the_module(verb: str) -> None:
    text = importlib.import_module(VERBS[verb].module).__doc__
    if not sys.flags.optimize:
        assert text is not None
        assert text.splitlines()[0] == VERBS[verb].summary


EVERY_MODULE = """
import importlib, pkgutil, sys
import fastrec
for module in pkgutil.walk_packages(fastrec.__path__, "fastrec.", onerror=lambda name: None):
    if module.name.endswith("__main__") or ".bench.peers" in module.name:
        continue
    try:
        importlib.import_module(module.name)
    except ImportError as error:
        if (error.name or "").startswith("fastrec"):
            raise
"""


@pytest.mark.slow
def test_every_module_can_be_imported() -> None:
    run = optimized(EVERY_MODULE)
    assert run.returncode == 0, run.stderr


def test_commands_do_their_work(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tfrecord", number_records(20))
    for command in ("count", "verify"):
        run = subprocess.run(
            [sys.executable, "-OO", "-m", "fastrec", command, str(path)],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert run.returncode == 0, run.stderr
        assert "20" in run.stdout


USE = """
import sys
import numpy as np
import fastrec
path = sys.argv[1]
with fastrec.Writer(path) as writer:
    writer.write_batch({"x": np.arange(100), "text": ["a"] * 100})
features = {"x": fastrec.FixedLenFeature((), np.int64)}
total = sum(int(b["x"].sum()) for b in fastrec.Batcher(path, features, 8, shuffle=True, seed=0))
names = set(fastrec.infer_features(path))
if total != 4950 or fastrec.count(path) != 100 or names != {"x", "text"}:
    raise RuntimeError(total)
with fastrec.Writer(path + ".gz", compression="GZIP") as writer:
    writer.write_many(fastrec.Reader(path))
if list(fastrec.Reader(path + ".gz")) != list(fastrec.Reader(path)):
    raise RuntimeError("GZIP")
"""


def test_records_are_written_read_and_shuffled(tmp_path: Path) -> None:
    run = optimized(USE, str(tmp_path / "a.tfrecord"))
    assert run.returncode == 0, run.stderr


@pytest.mark.slow
def test_no_assertion_does_work_that_the_program_needs() -> None:
    """``-O`` removes assertions with all that they call."""
    harmless = {
        "get_default_graph",
        "isinstance",
        "len",
        "all",
        "any",
        "type",
        "issubclass",
        "callable",
    }
    working = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if "bench" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Assert):
                continue
            for part in ast.walk(node.test):
                called = getattr(getattr(part, "func", None), "id", None)
                if isinstance(part, ast.NamedExpr) or (
                    isinstance(part, ast.Call) and called not in harmless
                ):
                    working.append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    assert working == []
