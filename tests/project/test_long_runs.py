# SPDX-License-Identifier: Apache-2.0
"""A few seconds of what ``make races`` and ``make verdicts`` do for an hour."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import fastrec

pytestmark = pytest.mark.slow
TOOLS = Path(__file__).parent.parent / "tools"


def run(*arguments: object, **environment: str) -> str:
    home = str(Path(fastrec.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": home, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.mark.unsanitized
def test_threads_and_processes_on_the_same_files_meet_sound_records_only() -> None:
    assert run(TOOLS / "races.py", 4).count("operations: {") == 4


def test_parsing_has_the_verdicts_and_values_of_protobuf() -> None:
    said = run(TOOLS / "fuzz_verdicts.py", 120, 7, 3000)
    assert "3000 messages" in said
    assert "0 problems" in said
