# SPDX-License-Identifier: Apache-2.0
"""Loops have the results that ``tests/oracle/record.py`` recorded under TensorFlow."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from loop_cases import VERSION_1, WAYS, loops, outcomes

import fastrec.compat.v1 as v1
import fastrec.compat.v2 as v2
from fastrec.compat._tf.data.pipeline import set_lowering

DATA = Path(__file__).parent.parent / "data" / "tensorflow_loops.json.gz"
RESULTS = json.loads(gzip.decompress(DATA.read_bytes()))["results"]


@pytest.mark.parametrize("lowered", [True, False])
@pytest.mark.parametrize("way", WAYS)
def test_loops_have_the_recorded_results_with_and_without_columns(way: str, lowered: bool) -> None:
    tf = v1 if way in VERSION_1 else v2
    cases = loops(tf)
    assert set(cases) == set(RESULTS[way])
    before = set_lowering(lowered)
    try:
        for name, loop in cases.items():
            assert outcomes(tf, way, loop) == RESULTS[way][name], name
    finally:
        set_lowering(before)
