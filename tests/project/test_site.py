# SPDX-License-Identifier: Apache-2.0
"""What is generated from the pages: notebooks, the chart of the front page, and llms.txt."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
import chart  # noqa: E402
import llms  # noqa: E402
import notebooks  # noqa: E402

RUN = """
import json, sys
cells = json.load(open(sys.argv[1]))["cells"]
names = {"__name__": "__main__"}
for cell in cells:
    if cell["cell_type"] == "code":
        exec(compile("".join(cell["source"]), sys.argv[1], "exec"), names)
"""


@pytest.mark.parametrize("name", notebooks.PAGES)
def test_a_notebook_runs_from_its_first_cell_to_its_last(tmp_path: Path, name: str) -> None:
    if name in notebooks.SETUP:
        pytest.importorskip("PIL")
    [path] = [each for each in notebooks.write(tmp_path / "notebooks") if each.stem == name]
    content = json.loads(path.read_text())
    assert (content["nbformat"], content["nbformat_minor"]) == (4, 5)
    assert {cell["cell_type"] for cell in content["cells"]} == {"code", "markdown"}
    assert len({cell["id"] for cell in content["cells"]}) == len(content["cells"])
    (tmp_path / "run").mkdir()
    run = subprocess.run(
        [sys.executable, "-c", RUN, str(path)],
        cwd=tmp_path / "run", capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("theme", chart.COLORS)
def test_the_chart_shows_the_measured_factors(theme: str) -> None:
    values = chart.factors((ROOT / "README.md").read_text())
    assert len(values) == 6
    assert (ROOT / "docs" / f"speed-{theme}.svg").read_text() == chart.drawing(values, theme)


def test_llms_txt_links_the_markdown_of_every_page(tmp_path: Path) -> None:
    pages = {path.name: path.read_text() for path in sorted((ROOT / "docs").glob("*.md"))}
    llms.write(tmp_path, pages)
    text = (tmp_path / "llms.txt").read_text()
    assert text.startswith("# fastrec\n\n> ")
    for name, markdown in pages.items():
        assert f"]({name})" in text
        assert (tmp_path / name).read_text() == markdown
