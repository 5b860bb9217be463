# SPDX-License-Identifier: Apache-2.0
"""Descriptions that cannot work are refused when they are made."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from fastrec import FixedLenFeature, RaggedFeature, RawFeature

BOTH = [FixedLenFeature, RawFeature]


@pytest.mark.parametrize("make", BOTH)
@pytest.mark.parametrize("shape", [(2**33, 2**33), (2**64,), (2**62, 4), (2**31, 2**31, 2**31)])
def test_a_shape_that_overflows_is_refused(make: Any, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="shape"):
        make(shape, np.uint8)


@pytest.mark.parametrize("make", BOTH)
@pytest.mark.parametrize("shape", [(-1,), (2, -3), -1])
def test_a_negative_dimension_is_refused(make: Any, shape: Any) -> None:
    with pytest.raises(ValueError, match="shape"):
        make(shape, np.uint8)


@pytest.mark.parametrize("make", BOTH)
@pytest.mark.parametrize("shape", [(None,), (2.0,), (True,), 1.5])
def test_a_dimension_that_is_no_known_integer_is_refused(make: Any, shape: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"shape|dimension"):
        make(shape, np.uint8)


@pytest.mark.parametrize("make", BOTH)
def test_a_shape_may_be_an_int_a_list_or_numpy_integers(make: Any) -> None:
    assert make(2, np.uint8) == make([2], np.uint8) == make((np.int32(2),), np.uint8)
    assert make((2, 3), np.uint8).shape == (2, 3)
    assert make((), np.uint8).shape == ()


@pytest.mark.parametrize("dtype", [None, complex, "M8[s]", "V4", [("x", "i4")], "no such", 5])
def test_a_dtype_that_no_list_holds_is_refused(dtype: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        FixedLenFeature((), dtype)
    with pytest.raises((TypeError, ValueError)):
        RaggedFeature(dtype)


@pytest.mark.parametrize("dtype", [None, bytes, str, object, "M8[s]", "V4", "S4"])
def test_a_dtype_that_bytes_cannot_be_is_refused(dtype: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        RawFeature((2,), dtype)


@pytest.mark.parametrize(
    ("shape", "dtype", "default"),
    [
        ((), np.int64, 1.5),
        ((), np.int64, "1"),
        ((), np.int64, 2**63),
        ((), np.int8, 128),
        ((), np.uint8, -1),
        ((), np.bool_, 2),
        ((), np.float32, "x"),
        ((), bytes, 3),
        ((2,), np.int64, [1, 2, 3]),
        ((2,), np.int64, []),
        ((2, 2), np.float32, [1.0, 2.0]),
    ],
)
def test_a_default_that_does_not_fit_is_refused(shape: Any, dtype: Any, default: Any) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError)):
        FixedLenFeature(shape, dtype, default)


@pytest.mark.parametrize(
    "feature",
    [FixedLenFeature((2,), np.int64, 3), RaggedFeature(bytes), RawFeature((2, 3), np.uint8)],
)
def test_features_are_values(feature: Any) -> None:
    assert pickle.loads(pickle.dumps(feature)) == feature == copy.deepcopy(feature)
    assert type(feature).__name__ in repr(feature)
    with pytest.raises(AttributeError):
        feature.dtype = np.int8
