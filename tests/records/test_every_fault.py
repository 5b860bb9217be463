# SPDX-License-Identifier: Apache-2.0
"""Some of the faults of ``make faults``: the first calls of every kind, in every job."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fastrec

TESTS = Path(__file__).parent.parent
COMPILER = shutil.which(os.environ.get("CC") or "cc")
PARTS = 4

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="calls are not preloaded here"),
    pytest.mark.skipif(COMPILER is None, reason="there is no C compiler"),
    pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="something else is preloaded"),
]


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("shim") / "shim.so"
    assert COMPILER is not None
    options = ("-std=gnu11", "-O1", "-shared", "-fPIC", "-o")
    subprocess.run([COMPILER, *options, library, TESTS / "c" / "shim.c", "-ldl"], check=True)
    return library


@pytest.mark.parametrize("part", range(1, PARTS + 1))
def test_no_fault_of_the_system_does_worse_than_an_oserror(
    shim: Path, tmp_path: Path, part: int
) -> None:
    environment = {
        **os.environ,
        "LD_PRELOAD": str(shim),
        "PYTHONPATH": str(Path(fastrec.__file__).parent.parent),
        "SHIM_UNDER": str(tmp_path),
    }
    program = [sys.executable, TESTS / "tools" / "faults.py", tmp_path, "--most", "3"]
    done = subprocess.run(
        [*map(str, program), "--part", f"{part}/{PARTS}"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1500:]
    assert "faults, 0 problems" in done.stdout
