# SPDX-License-Identifier: Apache-2.0
"""Each test begins as a program does."""

from __future__ import annotations

import pytest

from fastrec.compat._tf.seeds import set_seed


@pytest.fixture(autouse=True)
def nothing_is_seeded() -> None:
    """A test does not draw by the seed that another has left."""
    set_seed(None)
