# SPDX-License-Identifier: Apache-2.0
"""The query of docs/data-engineers.md gives what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pets import write_pets

pytest.importorskip("duckdb")

PAGE = Path(__file__).parents[2] / "docs" / "data-engineers.md"


def test_the_query_gives_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = re.search(r"## Query.*?```python\n(.*?)```\n\n```\n(.*?)```", PAGE.read_text(), re.S)
    assert found is not None
    write_pets(tmp_path)
    monkeypatch.chdir(tmp_path)
    exec(found.group(1), {})
    assert capsys.readouterr().out == found.group(2)
