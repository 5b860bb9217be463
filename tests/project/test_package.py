# SPDX-License-Identifier: Apache-2.0
"""The package's name, the links of its page, and the error when it is not built."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SUFFIXES = {".py", ".pyx", ".pxi", ".md", ".toml", ".yml"}
HOME = "https://example.org/project"


def extras() -> list[str]:
    text = (ROOT / "pyproject.toml").read_text()
    table = text.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    return re.findall(r"^(\w+) = ", table, re.MULTILINE)


def test_every_hint_names_this_package_and_an_extra_that_there_is() -> None:
    hints = 0
    for folder in ("fastrec", "docs", "examples", "benchmarks"):
        for file in (ROOT / folder).rglob("*"):
            if file.suffix not in SUFFIXES:
                continue
            text = file.read_text()
            assert not re.search(r"pip install '?fastrec(?!-io)", text), file
            for names in re.findall(r"fastrec-io\[([\w,]+)\]", text):
                hints += 1
                assert set(names.split(",")) <= set(extras()), f"{file}: {names}"
    assert hints > 3


def described(home: str) -> str:
    pytest.importorskip("setuptools", minversion="77")  # which understands the licence
    if not (ROOT / "setup.py").exists():
        pytest.skip("no sources here")
    command = [sys.executable, "-W", "ignore", "setup.py", "--quiet", "--long-description"]
    environment = {**os.environ, "FASTREC_HOME": home}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_links_of_the_page_lead_to_files_that_there_are() -> None:
    links = re.findall(r"\]\(([^)]+)\)|(?:src|srcset)=\"([^\"]+)\"", described(HOME))
    links = [target or source for target, source in links]
    ours = [link for link in links if link.startswith(HOME)]
    assert len(ours) > 10
    assert {f"{HOME}/raw/HEAD/docs/speed-{theme}.svg" for theme in ("light", "dark")} <= set(ours)
    for link in links:
        assert re.match(r"https?://|#", link), link
    for link in ours:
        path = re.sub(r"/(raw|blob)/HEAD/", "", link.removeprefix(HOME)).partition("#")[0]
        assert (ROOT / path).exists(), link


def test_without_a_home_the_page_is_the_readme() -> None:
    assert described("").strip() == (ROOT / "README.md").read_text().strip()


def test_a_checkout_that_is_not_built_says_what_to_do(tmp_path: Path) -> None:
    shutil.copytree(
        ROOT / "fastrec", tmp_path / "fastrec", ignore=shutil.ignore_patterns("*.so", "*.c")
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", "import fastrec"],  # -S: without an editable install
        cwd=tmp_path,
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: the extension of fastrec is not built for this Python in")
    assert "run `pip install -e .` there" in last
