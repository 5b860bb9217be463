# SPDX-License-Identifier: Apache-2.0
"""The code of docs/jax-grain.md runs as it stands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from page_code import run_page

import fastrec

jax = pytest.importorskip("jax")
pytest.importorskip("grain")


def test_the_code_about_jax_and_grain_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with fastrec.Writer("train-0.tfrecord") as writer:
        writer.write_batch({"label": np.arange(300)})
    names = run_page(
        "jax-grain.md",
        {
            "fastrec": fastrec,
            "features": {"label": fastrec.FixedLenFeature((), np.int64)},
            "jax": jax,
            "sharding": jax.sharding.SingleDeviceSharding(jax.devices()[0]),
            "augment": lambda batch: batch,
        },
    )
    assert names["batch"]["label"].shape == (128,)
    assert len(next(names["iterator"])["label"]) == 128
