# SPDX-License-Identifier: Apache-2.0
"""The code of docs/huggingface.md runs as it stands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from page_code import run_page

import fastrec

datasets = pytest.importorskip("datasets")


def test_the_code_about_hugging_face_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    with fastrec.Writer("train-0.tfrecord") as writer:
        writer.write_batch({"label": np.arange(30)})
    names = run_page("huggingface.md", {})
    assert names["train"]["label"][:] == list(range(30))
    assert [row["label"] for row in names["stream"]] == list(range(30))
