# SPDX-License-Identifier: Apache-2.0
"""Record files of pets, in the working directory of a test."""

from __future__ import annotations

from pathlib import Path

import pytest
from pets import write_pets


@pytest.fixture
def pets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_pets(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path
