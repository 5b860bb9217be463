# SPDX-License-Identifier: Apache-2.0
"""Commands on pages are such, and print what the pages say."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from pets import write_pets

from fastrec.cli.grammar import VERBS, verb_parser

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "command-line.md"
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
# What a command says after a second, which few machines need for these.
PROGRESS = re.compile(r".+: \d+ of \d+ \(\d+%\)")
# With this in the environment the page is written anew.
UPDATE = "FASTREC_UPDATE_PAGE"


def run(block: str, directory: Path) -> str:
    """The block, with the output that its commands have now."""
    commands = [line[2:] for line in block.splitlines() if line.startswith("$ ")]
    found = []
    for command in commands:
        shell = f'fastrec() {{ "{sys.executable}" -m fastrec "$@"; }}\n{command}'
        done = subprocess.run(
            ["bash", "-c", shell], cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=120, check=False, env={**os.environ, "COLUMNS": "100"},
        )  # fmt: skip
        lines = done.stdout.splitlines()
        found += [f"$ {command}", *[line for line in lines if not PROGRESS.fullmatch(line)]]
    return "\n".join(found) + "\n"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["command-line.md", "data-engineers.md"])
def test_every_command_prints_what_the_page_says(tmp_path: Path, name: str) -> None:
    for package in ("PIL", "pyarrow"):
        pytest.importorskip(package)
    write_pets(tmp_path)
    page = DOCS / name
    text = page.read_text()
    if os.environ.get(UPDATE):
        page.write_text(BLOCK.sub(lambda found: f"```console\n{run(found[1], tmp_path)}```", text))
        return
    for block in BLOCK.findall(text):
        assert run(block, tmp_path) == block


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_on_the_page(verb: str) -> None:
    assert f"fastrec {verb}" in PAGE.read_text()


def typed() -> list[str]:
    """The commands in the text of all pages, as code or as indented lines."""
    pages = [DOCS.parent / "README.md", *DOCS.glob("*.md")]
    found = set()
    for page in pages:
        text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        spans = re.findall(r"`(fastrec [^`]*)`", text.replace("\n", " "))
        lines = re.findall(r"^    (?:[^`\n]*&& )?(fastrec [^\n]*)$", text, re.MULTILINE)
        found |= {re.sub(r"\s+(# .*)?$", "", each) for each in [*spans, *lines]}
    # A verb, with an option, is named; with a file it is a command.
    return sorted(each for each in found if len(each.split()) > 2 and "VERB" not in each)


@pytest.mark.parametrize("command", typed())
def test_a_command_in_the_text_is_one(command: str) -> None:
    verb, *words = shlex.split(command.replace("...", ""))[1:]
    if verb == "completion":
        words = words[0].split("|")[:1]
    if all(word.startswith("-") for word in words):
        assert set(words) <= set(verb_parser(verb)._option_string_actions)
        return
    verb_parser(verb).parse_intermixed_args(words)
