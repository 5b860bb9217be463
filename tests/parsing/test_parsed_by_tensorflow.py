# SPDX-License-Identifier: Apache-2.0
"""Records of every kind of feature, compared with TensorFlow's results in a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from parsing_cases import parsed, parsed_sequence

CASES = json.loads((Path(__file__).parents[1] / "data" / "parsed_by_tensorflow.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_records_become_what_tensorflow_made_of_them(case: Any) -> None:
    kind, schemas, records, expected = case
    parse = parsed if kind == "example" else parsed_sequence
    assert parse([bytes.fromhex(record) for record in records], *schemas) == expected


def test_the_kept_cases_have_every_kind_of_feature_and_outcome() -> None:
    kinds = {d["feature"] for _, schemas, _, _ in CASES for s in schemas for d in s.values()}
    assert kinds == {
        "FixedLenFeature",
        "FixedLenSequenceFeature",
        "RaggedFeature",
        "SparseFeature",
        "VarLenFeature",
    }
    assert {expected is None for _, _, _, expected in CASES} == {True, False}
    assert {kind for kind, _, _, _ in CASES} == {"example", "sequence"}
