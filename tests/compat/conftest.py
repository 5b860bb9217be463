# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of compat: a test begins as a program does, whatever the machine's load."""

from __future__ import annotations

import math

import pytest

from fastrec.compat._tf.seeds import set_seed


@pytest.fixture(autouse=True)
def nothing_is_seeded() -> None:
    """A test does not draw by the seed that another has left."""
    set_seed(None)


@pytest.fixture
def records_are_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make queue runners take every record for a quick one, as a busy machine does not."""
    monkeypatch.setattr("fastrec.compat._tf.width._SLOW", math.inf)
    monkeypatch.setattr("fastrec.compat._tf.width._SLOW_FEW", math.inf)
