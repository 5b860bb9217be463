# SPDX-License-Identifier: Apache-2.0
"""Data sets of ``fastrec.compat.v2``: many elements at once give what one after the other gives.

tests/oracle holds the same programs against TensorFlow.
"""

from __future__ import annotations

import pytest
from v2_programs import PROGRAMS, results, write

import fastrec.compat.v2 as tf


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(tmp_path_factory.mktemp("v2") / "rows.tfrecord")


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_fast_way_gives_what_the_slow_way_gives(name: str, path: str) -> None:
    found = []
    for fast in (True, False):
        before = tf.data.set_lowering(fast)
        try:
            found.append(results(tf, PROGRAMS[name], path))
        finally:
            tf.data.set_lowering(before)
    assert found[0] == found[1]
