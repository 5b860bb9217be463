# SPDX-License-Identifier: Apache-2.0
"""An argument of a wrong type is named, with what it must be and what it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastrec

RECORD = fastrec.encode_example({"a": 1})
FEATURES = {"a": fastrec.FixedLenFeature((), np.int64)}
CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], str]] = {
    "parse_example": (fastrec.parse_example, ([RECORD], FEATURES), "records threads on_error"),
    "parse_sequence_example": (
        fastrec.parse_sequence_example,
        ([RECORD], FEATURES),
        "records on_error",
    ),
    "infer_features": (
        fastrec.infer_features,
        ("a.tfrecord",),
        "limit on_error storage_options compression shards",
    ),
    "count": (fastrec.count, ("a.tfrecord",), "storage_options"),
    "pad": (fastrec.pad, (fastrec.Ragged(np.arange(3), np.array([0, 1, 3])),), "ragged"),
    "ImageFeature": (
        fastrec.ImageFeature,
        (),
        "shape channels fit dtype ragged",
    ),
    "RawFeature": (fastrec.RawFeature, ((2,), np.int64), "shape dtype encoding"),
}


class Odd:
    def __repr__(self) -> str:
        return "<Odd>"


@pytest.mark.parametrize(
    ("name", "argument"),
    [(name, argument) for name, (_, _, given) in CALLS.items() for argument in given.split()],
)
def test_an_argument_of_a_wrong_type_is_named(
    name: str, argument: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with fastrec.Writer("a.tfrecord") as writer:
        writer.write(RECORD)
    function, arguments, _ = CALLS[name]
    names = list(__import__("inspect").signature(function).parameters)
    call = dict(zip(names, arguments, strict=False))
    with pytest.raises((TypeError, ValueError)) as caught:
        function(**{**call, argument: Odd()})
    text = str(caught.value)
    assert argument in text
    assert "Odd" in text
    assert " must be " in text or " must " in text
    with pytest.raises(TypeError, match=f"{argument}s"):
        function(**{**call, f"{argument}s": 1})
