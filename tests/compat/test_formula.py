# SPDX-License-Identifier: Apache-2.0
"""Formulas give what NumPy gives one operation after the other, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fastrec import _tensor

RNG = np.random.default_rng(7)
KINDS = ["float32", "float32", "uint8", "bool"]
STEPS = [
    ("multiply", 0, 1, 4),
    ("add", 4, 2, 5),
    ("less", 5, 1, 6),
    ("and", 6, 3, 7),
    ("select", 7, 5, 1, 8),
    ("maximum", 8, 0, 9),
    ("number", 6, 10),
]


def expected(a: Any, b: Any, c: Any, d: Any) -> list[Any]:
    total = a * b + c.astype(np.float32)
    less = total < b
    return [np.maximum(np.where(less & d, total, b), a), less, less.astype(np.float32)]


def given(shapes: list[tuple[int, ...]]) -> list[Any]:
    floats = [RNG.standard_normal(shape).astype(np.float32) for shape in shapes[:2]]
    return [
        *floats,
        RNG.integers(0, 3, shapes[2], np.uint8),
        RNG.integers(0, 2, shapes[3]).astype(bool),
    ]


@pytest.mark.parametrize(
    "shapes",
    [
        [(3, 4)] * 4,
        [()] * 4,
        [(600,), (600,), (600,), (600,)],
        [(1000, 8), (8,), (1000, 1), ()],
        [(7, 300, 5), (7, 300, 5), (5,), (300, 1)],
        [(2, 30, 30, 3), (2, 30, 30, 3), (2, 1, 1, 1), (30, 1, 1)],
        [(40, 7), (1, 7), (1, 1), (40, 1)],
        [(3, 2, 3, 2, 3), (3, 2, 3, 2, 3), (2, 1, 2, 1), (3, 1, 3, 1, 3)],
    ],
)
def test_numbers_are_numpys(shapes: list[tuple[int, ...]]) -> None:
    formula = _tensor.Formula(KINDS, STEPS, [(9, False), (6, True), (10, False)])
    arrays = given(shapes)
    arrays[0] = np.add(arrays[0], arrays[1])  # of the whole shape
    found = formula(arrays)
    assert found is not None
    for result, wanted in zip(found, expected(*arrays), strict=True):
        assert result.dtype == wanted.dtype
        assert np.array_equal(result, wanted)


def test_arrays_may_lie_anyhow() -> None:
    formula = _tensor.Formula(["float32", "float32"], [("subtract", 0, 1, 2)], [(2, False)])
    x = RNG.standard_normal((30, 40)).astype(np.float32)
    odd = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(x.shape)
    for one, other in ((x.T, x[0, :30]), (x[::-2, ::3], x[3, 2:16]), (odd, x)):
        found = formula([one, other])
        assert found is not None
        assert np.array_equal(found[0], one - other)


def test_steps_of_several_shapes_are_none() -> None:
    steps = [("add", 0, 1, 3), ("multiply", 3, 2, 4)]
    formula = _tensor.Formula(["float32"] * 3, steps, [(4, False)])
    line, square = np.zeros(3, np.float32), np.zeros((3, 3), np.float32)
    assert formula([line, line, line]) is not None
    assert formula([line, line, square]) is None  # whose first step is of a line
    assert formula([line, line[:2], line]) is None
    assert formula([line[:0]] * 3) is None


def test_what_is_no_formula_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no 'power' of 2 numbers"):
        _tensor.Formula(["float32"] * 2, [("power", 0, 1, 2)], [])
    with pytest.raises(ValueError, match="register 3 cannot be read"):
        _tensor.Formula(["float32"] * 2, [("add", 0, 3, 2)], [])
    with pytest.raises(ValueError, match="register 0 cannot be a result"):
        _tensor.Formula(["float32"] * 2, [("add", 0, 1, 2)], [(0, False)])
    formula = _tensor.Formula(["float32"] * 2, [("add", 0, 1, 2)], [(2, False)])
    with pytest.raises(ValueError, match="1 arrays, for 2"):
        formula([np.zeros(3, np.float32)])
    with pytest.raises(TypeError, match="array must be float32, got float64"):
        formula([np.zeros(3), np.zeros(3)])
