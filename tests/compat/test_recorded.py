# SPDX-License-Identifier: Apache-2.0
"""Expressions have the results that ``tests/oracle/record.py`` recorded under TensorFlow."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import fastrec.compat.v1 as v1
import fastrec.compat.v2 as v2

pytest.importorskip("PIL")
from compat_expressions import (
    EXACT,
    GRAPH_ERRORS,
    LOOSE,
    NAMES,
    assert_alike,
    eager_outcome,
    edges,
    encoded,
    graph_outcome,
    is_loose,
)

DATA = Path(__file__).parent.parent / "data"


def recording(name: str) -> dict[str, Any]:
    return dict(json.loads(gzip.decompress((DATA / name).read_bytes())))


V1 = recording("tensorflow_v1.json.gz")
V2 = recording("tensorflow_v2.json.gz")
IMAGES = {**NAMES, **{name: text.encode("latin-1") for name, text in V1["images"].items()}}


def test_every_expression_is_recorded() -> None:
    assert set(V1["results"]) == {*EXACT, *LOOSE}
    assert set(V2["results"]) == set(edges())


def check_graph(text: str) -> None:
    theirs, mine = V1["results"][text], encoded(graph_outcome(v1, text, images=IMAGES))
    if "error" not in theirs:
        assert_alike(mine, theirs, is_loose(text))
        return
    assert "error" in mine, f"TensorFlow raises {theirs}"
    kinds = {kind.__name__ for kind in GRAPH_ERRORS}.intersection(theirs["error"])
    if kinds:  # messages of errors at graph construction may differ
        assert (kinds | {"OpError"}) & set(mine["error"])
    else:
        assert theirs["error"][0] in mine["error"]
        assert mine["text"] == theirs["text"]


def check_eager(text: str) -> None:
    if "bfloat16" in text and find_spec("ml_dtypes") is None:
        return
    mine, theirs = str(eager_outcome(v2, v2.errors, text)), V2["results"][text]
    assert mine == theirs, f"{mine} and {theirs}"


def failures(check: Callable[[str], None], texts: Iterable[str]) -> list[str]:
    found = []
    for text in texts:
        try:
            check(text)
        except AssertionError as error:
            found.append(f"{text}: {error}")
    return found


def test_a_graph_has_the_recorded_results() -> None:
    assert not failures(check_graph, V1["results"])


@pytest.mark.filterwarnings("ignore")
def test_eager_code_has_the_recorded_results() -> None:
    assert not failures(check_eager, V2["results"])
