# SPDX-License-Identifier: Apache-2.0
"""Functions of each number of an image, against NumPy in double precision.

They are compared with TensorFlow's own numbers in ``tests/oracle``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fastrec import _tensor

RNG = np.random.default_rng(7)
# And how many floats the approximations may be beside the nearest.
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "exp": (np.exp, 1),
    "log": (np.log, 3),
    "log1p": (np.log1p, 4),
    "tanh": (np.tanh, 6),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), 6),
    "sin": (np.sin, 2),
    "cos": (np.cos, 2),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 3),
    "acos": (np.arccos, 4),
    "asin": (np.arcsin, 4),
    "atan": (np.arctan, 4),
    "atanh": (np.arctanh, 4),
    "acosh": (np.arccosh, 2),
    "asinh": (np.arcsinh, 2),
    "cosh": (np.cosh, 2),
    "sinh": (np.sinh, 2),
    "tan": (np.tan, 2),
    "sign": (np.sign, 0),
}
EDGES = np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-37, 3e38, -3e38, 1e6], np.float32)


def numbers(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    return (RNG.standard_normal(shape) * 8).astype(np.float32)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("x", [numbers((33, 7, 3)), numbers((0, 3)), numbers(()), EDGES])
@np.errstate(all="ignore")
def test_functions_are_near_the_exact_ones(name: str, x: np.ndarray[Any, Any]) -> None:
    found = _tensor.elementwise(name, x)
    function, most = FUNCTIONS[name]
    expected = function(x.astype(np.float64)).astype(np.float32)
    assert found.dtype == np.float32
    np.testing.assert_array_max_ulp(found, np.asarray(expected), most)


@pytest.mark.parametrize("name", FUNCTIONS)
@np.errstate(all="ignore")
def test_rows_are_those_of_one_by_one(name: str) -> None:
    x = numbers((12, 13))
    found = [_tensor.elementwise(name, row) for row in x]
    assert np.array_equal(_tensor.elementwise(name, x, 13), found, equal_nan=True)


def test_arrays_may_have_gaps() -> None:
    x = numbers((20, 32, 3))
    assert np.array_equal(
        _tensor.elementwise("exp", x[::2, ::-1]), _tensor.elementwise("exp", x)[::2, ::-1]
    )
    assert np.array_equal(_tensor.to_halves(x[..., 0]), x[..., 0].astype(np.float16))


@np.errstate(all="ignore")
def test_powers_are_rounded_once() -> None:
    x = numbers((40, 50))
    x[::3] = np.abs(x[::3])
    x.reshape(-1)[: EDGES.size] = EDGES
    for powers in (numbers((40, 50)), np.rint(numbers((40, 50))), *map(np.float32, (0.8, -2, 3))):
        found = _tensor.power(x, np.asarray(powers))
        expected = np.power(x.astype(np.float64), powers).astype(np.float32)
        np.testing.assert_array_max_ulp(found, expected, 1)


@np.errstate(all="ignore")
def test_halves_are_those_of_numpy() -> None:
    x = RNG.integers(0, 1 << 32, 20_000, np.uint32).view(np.float32)
    x[::2] = numbers((10_000,)) * np.float32(2.0) ** RNG.integers(-20, 12, 10_000)
    found, expected = _tensor.to_halves(x), x.astype(np.float16)
    np.testing.assert_array_equal(found, expected)
    assert np.array_equal(np.signbit(found), np.signbit(expected))


def test_every_half_is_converted() -> None:
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    for each in (x, x[3:8], x[:1].reshape(()), x[:0], x[::3]):
        found, expected = _tensor.from_halves(each), each.astype(np.float32)
        np.testing.assert_array_equal(found, expected)
        assert np.array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize("dtype", ["uint8", "bool", "float16", "float32", "int64"])
def test_numbers_are_selected(dtype: str) -> None:
    conditions = RNG.integers(0, 2, (19, 31)).astype(bool)
    x, y = (RNG.integers(0, 100, (19, 31)).astype(dtype) for _ in range(2))
    for one in (x, x[:1, :1], x.T.copy().T, x[0, 0].reshape(())):
        for other in (y, y[0, 1].reshape(())):
            found = _tensor.select(conditions, one, other)
            assert found.dtype == dtype
            assert np.array_equal(found, np.where(conditions, one, other))
    assert _tensor.select(conditions[:0], x[:0], y[:0]).shape == (0, 31)
    with pytest.raises(TypeError, match="select of complex128 and complex128 by bool"):
        _tensor.select(conditions, x.astype(complex), y.astype(complex))
    with pytest.raises(ValueError, match="do not fit"):
        _tensor.select(conditions, x[:3], y)


@pytest.mark.parametrize("dtype", ["uint8", "bool", "int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("shape", [(40, 9), (3, 70, 5), (1, 300), (700, 20), (2, 5, 33)])
def test_extremes_are_numpys(dtype: str, shape: tuple[int, ...]) -> None:
    x = RNG.integers(0, 2 if dtype == "bool" else 12, shape).astype(dtype)
    for axis in range(x.ndim):
        for greatest, values, places in ((True, np.max, np.argmax), (False, np.min, np.argmin)):
            found = _tensor.extremes(x, axis, axis + 1, greatest=greatest)
            assert found.dtype == dtype
            assert np.array_equal(found, values(x, axis))
            where = _tensor.extremes(x, axis, axis + 1, greatest=greatest, places=True)
            assert where.dtype == np.int64
            assert np.array_equal(where, places(x, axis))
            assert np.array_equal(
                _tensor.extremes(x.T.copy().T, axis, x.ndim, greatest=greatest),
                values(x, tuple(range(axis, x.ndim))),
            )


def test_extremes_that_cannot_be_are_refused() -> None:
    x = np.zeros((3, 0, 2))
    with pytest.raises(ValueError, match="extremes of 0 numbers"):
        _tensor.extremes(x, 1, 2, greatest=True)
    with pytest.raises(ValueError, match=r"dimensions 1 to 4 are out of range \(0 to 3\)"):
        _tensor.extremes(x, 1, 4, greatest=True)
    with pytest.raises(TypeError, match="extremes of complex128"):
        _tensor.extremes(x.astype(complex), 0, 1, greatest=True)
    assert _tensor.extremes(x, 0, 1, greatest=True).shape == (0, 2)


def test_other_arrays_are_refused() -> None:
    double = np.zeros(3)
    with pytest.raises(TypeError, match="must be float32, got float64"):
        _tensor.elementwise("exp", double)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must be float32, got float64"):
        _tensor.to_halves(double)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must be float16, got float64"):
        _tensor.from_halves(double)  # type: ignore[arg-type]
    single = np.zeros((2, 3), np.float32)
    with pytest.raises(ValueError, match=r"one or of shape \(2, 3\), got shape \(3,\)"):
        _tensor.power(single, single[0])
    with pytest.raises(TypeError, match="must be float32"):
        _tensor.power(single, double)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="row must divide the 6 numbers, got 4"):
        _tensor.elementwise("exp", single, 4)
    with pytest.raises(ValueError, match="not in tuple"):
        _tensor.elementwise("cotangent", single)
