# SPDX-License-Identifier: Apache-2.0
"""Every name that docs/compat-v1.md lists is covered."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import pytest

import fastrec.compat.v1 as tf

PAGE = Path(__file__).parent.parent.parent / "docs" / "compat-v1.md"


@pytest.mark.skipif(not PAGE.exists(), reason="the documents are not installed")
def test_every_name_on_the_page_is_covered() -> None:
    covered = PAGE.read_text().split("## What is covered")[1].split("## How it runs")[0]
    names = re.findall(r"`tf\.([\w.]+)`", covered)
    assert len(names) > 150
    root: Any = tf
    for name in names:
        functools.reduce(getattr, name.split("."), root)
