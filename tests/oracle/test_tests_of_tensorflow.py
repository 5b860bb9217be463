# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's own tests of its input pipelines, where their files are beside the checkout.

A harness that comes with the files lands their imports on the modules. The cases that fail are
listed in ``tensorflow_failures.txt``, each with the reason; any other failure is one of this test.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fastrec

PACKAGE = Path(fastrec.__file__).parents[1]
TESTS = Path(__file__).parents[3] / "shared" / "tools" / "tf_tests"
LISTED = Path(__file__).with_name("tensorflow_failures.txt")
LISTS = {"v2": ("list_data.txt", "list_exp.txt"), "v1": ("list_v1.txt",)}


def known_failures() -> dict[str, list[str]]:
    """For each version and file the names, without their parameters, of cases that fail."""
    found: dict[str, list[str]] = {}
    for line in LISTED.read_text().splitlines():
        if line and not line.startswith("#"):
            where, _, case = line.partition(" ")
            found.setdefault(where, []).append(case)
    return found


def files() -> list[tuple[str, str]]:
    if not TESTS.is_dir():
        return []
    return [
        (version, name)
        for version, lists in LISTS.items()
        for each in lists
        for name in (TESTS / each).read_text().split()
        if Path(name).stem != "decode_jpeg_op_test"  # which has benchmarks alone
    ]


@pytest.mark.slow
@pytest.mark.skipif(not TESTS.is_dir(), reason=f"TensorFlow's test files are not in {TESTS}")
@pytest.mark.parametrize(("version", "name"), files() or [("", "")])
def test_only_what_is_listed_fails(version: str, name: str, tmp_path: Path) -> None:
    command = [sys.executable, "harness/run_tf_tests.py", "--impl", version, "--out", str(tmp_path)]
    path = os.pathsep.join([str(PACKAGE), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "CASE_LIMIT": "40"}
    subprocess.run([*command, name], cwd=TESTS, env=environment, check=True, timeout=900)
    (results,) = tmp_path.glob("*.jsonl")
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    assert rows
    listed = known_failures().get(f"{version}/{Path(name).stem}", [])
    failed = [
        f"{row['id']}: {row['text']}"
        for row in rows
        if row["status"] not in ("ok", "na")
        and re.split("_test_|_mode_| ", row["id"])[0] not in listed
    ]
    assert not failed, "\n".join(failed)
