# SPDX-License-Identifier: Apache-2.0
"""The programs of ``examples/`` for compat.v2 and compat.tfrecord run and say what they should."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import fastrec

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name: str, directory: Path) -> str:
    if not EXAMPLES.is_dir():
        pytest.skip("the examples are not here")
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), str(directory)]
    where = {"PYTHONPATH": str(Path(fastrec.__file__).parents[1])}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, env={**os.environ, **where}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_pipeline_of_tf_data(tmp_path: Path) -> None:
    said = run("tf_data.py", tmp_path)
    # The order is that of TensorFlow 2.21.
    assert "first labels: [4, 0, 7, 8, 9, 7, 7, 5, 7, 7]\n" in said
    assert "images seen: 1200\n" in said
    assert "TensorSpec(shape=(None, 8, 8, 3), dtype=tf.float32, name=None)" in said


def test_the_page_of_the_tfrecord_package(tmp_path: Path) -> None:
    said = run("tfrecord_package.py", tmp_path)
    assert "records of two shards: [50, 50]" in said
