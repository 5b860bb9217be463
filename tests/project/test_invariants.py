# SPDX-License-Identifier: Apache-2.0
"""docs/records.md names a test for each thing that it promises, and there are such tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.sources
TESTS = Path(__file__).parent.parent
PAGE = TESTS.parent / "docs" / "records.md"

if not PAGE.exists():
    pytest.skip("the documentation is not here", allow_module_level=True)

TABLE = PAGE.read_text().split("## Invariants, and the tests that hold them")[1]
ROWS = [line for line in TABLE.splitlines() if line.startswith("| ")][1:]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[2:40])
def test_a_promise_has_its_tests(row: str) -> None:
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", row)
    assert named
    for file, function in named:
        assert f"def {function}(" in (TESTS / file).read_text(), f"{file}::{function}"
