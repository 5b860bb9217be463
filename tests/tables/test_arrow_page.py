# SPDX-License-Identifier: Apache-2.0
"""The code of docs/arrow.md runs as it stands."""

from __future__ import annotations

from pathlib import Path

import pytest
from page_code import run_page

import fastrec


def test_the_code_about_arrow_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    monkeypatch.chdir(tmp_path)
    for name in ("train-0.tfrecord", "train.tfrecord"):
        with fastrec.Writer(name) as writer:
            for number in range(10):
                writer.write({"word": f"w{number}", "label": number % 5})
    names = run_page("arrow.md", {"duckdb": duckdb, "polars": polars})
    assert names["reader"] is not None
    assert fastrec.count("train-*.tfrecord") == 10
