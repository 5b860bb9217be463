# SPDX-License-Identifier: Apache-2.0
"""The code in README.md and in the pages of docs/ runs as it stands."""

from __future__ import annotations

import builtins
import inspect
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

import fastrec
import fastrec.train

COMMANDS = {"fastrec head", "stats", "verify", "diff"}
README = (Path(__file__).parents[2] / "README.md").read_text()
OVERVIEW = (Path(__file__).parents[2] / "docs" / "api.md").read_text()


def test_the_code_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert blocks
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for code in blocks:  # one after the other, as somebody who tries them all would
        exec(compile(code, "README.md", "exec"), names)
    batch = names["batch"]
    assert isinstance(batch, dict)
    assert batch["image"].shape[1:] == (32, 32, 3)
    assert batch["image"].dtype == "uint8"
    assert (tmp_path / "train.tfrecord").stat().st_size > 1000 * 32 * 32 * 3
    assert len(fastrec.Reader("train.tfrecord")) == 1000


def test_the_code_about_records_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (Path(__file__).parents[2] / "docs" / "records.md").read_text()
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, "records.md", "exec"), names)
    assert (tmp_path / "words.repaired.tfrecord").exists()


def test_the_code_about_scale_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (Path(__file__).parents[2] / "docs" / "scale.md").read_text()
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, "scale.md", "exec"), names)
    assert len(list(tmp_path.glob("train-*.frindex"))) == 40


GUIDES = ["tokens.md", "tabular.md", "sequences.md", "many-machines.md", "damage.md",
          "shuffling.md", "resuming.md", "writing.md", "fast-loading.md", "elastic.md",
          "selecting.md"]  # fmt: skip


@pytest.mark.parametrize("page", ["start.md", *GUIDES])
def test_the_code_of_a_page_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (Path(__file__).parents[2] / "docs" / page).read_text()
    if page == "selecting.md":
        pytest.importorskip("pyarrow")  # for Index.table()
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, page, "exec"), names)
    assert len(names) > 4


def test_every_name_in_the_overview_exists() -> None:
    tables = OVERVIEW.split("## Names")[1]
    cells = [row.split(" | ")[0] for row in tables.splitlines() if row.startswith("| `")]
    names = {name for cell in cells for name in re.findall(r"`([\w. ]+)(?:\([^`]*\))?`", cell)}
    assert {"Writer", "parse_example", "fastrec.train", "OSError"} <= names
    for name in names - COMMANDS:
        name = name.removeprefix("fastrec.")
        if name in fastrec._FRAMEWORKS:  # importing it requires the framework
            assert find_spec(f"fastrec.{name}") is not None
            continue
        assert hasattr(fastrec, name) or hasattr(builtins, name), name


def test_every_page_is_linked_to_and_every_link_leads_somewhere() -> None:
    root = Path(__file__).parents[2]
    pages = [root / "README.md", *root.glob("docs/*.md"), root / "CONTRIBUTING.md"]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)[#)]", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
    for page in root.glob("docs/*.md"):
        assert f"(docs/{page.name})" in README, page.name


def test_every_file_that_a_page_names_is_there() -> None:
    root = Path(__file__).parents[2]
    pages = [*root.glob("*.md"), *root.glob("docs/*.md"), root / "benchmarks" / "README.md"]
    for page in pages:
        for named in re.findall(
            r"`((?:tests|csrc|benchmarks|docs|examples|fastrec|\.ci)/[\w./-]+?)(?:::\w+)?`",
            page.read_text(),
        ):
            assert (root / named).exists(), f"{page.name}: {named}"


def test_the_message_in_the_overview_has_the_form_of_the_librarys(tmp_path: Path) -> None:
    (shown,) = re.findall(r"^    (corrupted record .*)$", OVERVIEW, re.MULTILINE)
    path = tmp_path / "x.tfrecord"
    with fastrec.Writer(path) as writer:
        for _ in range(3):
            writer.write(bytes(120))
    damaged = bytearray(path.read_bytes())
    damaged[272 + 12] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(fastrec.CorruptRecordError) as caught:
        fastrec.verify(path)
    form = re.sub(r"0x[0-9a-f]{8}", "CRC", shown)
    said = re.sub(r"0x[0-9a-f]{8}", "CRC", str(caught.value)).replace(str(path), "x.tfrecord")
    assert said == form


@pytest.mark.parametrize("name", fastrec.__all__)
def test_every_public_name_has_an_example(name: str) -> None:
    found = getattr(fastrec, name)
    own = vars(found).values() if inspect.isclass(found) else ()
    texts = [inspect.getdoc(each) or "" for each in (found, *own)]
    assert inspect.ismodule(found) or any(">>> " in text for text in texts)
