# SPDX-License-Identifier: Apache-2.0
"""Operations that have a fast way give what the plain one gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastrec.compat.v2 as tf

FIELDS = ["-1", "0", "-0", "0.0", "1", "nan", "inf", "", "00", "7", "-999", "1e0"]


def decoded(fields: list[str], default: Any, missing: str) -> Any:
    """The first column of CSV lines with these fields, or the class of the error."""
    lines = [f"{field},x" for field in fields]
    try:
        return tf.io.decode_csv(lines, [default, [""]], na_value=missing)[0].numpy()
    except tf.errors.InvalidArgumentError:
        return tf.errors.InvalidArgumentError


@given(
    st.lists(st.sampled_from(FIELDS), min_size=1, max_size=20),
    st.sampled_from([f for f in FIELDS if f]),
    st.sampled_from([np.int32(5), np.int64(5), np.float32(5), np.float64(5)]),
)
def test_a_missing_value_that_spells_a_number_replaces_only_that_text(
    fields: list[str], missing: str, default: Any
) -> None:
    found = decoded(fields, [default], missing)
    expected = decoded(["" if field == missing else field for field in fields], [default], "")
    np.testing.assert_array_equal(found, expected)


@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.sampled_from([np.int32, np.int64]))
def test_gather_nd_takes_what_indexing_takes(seed: int, depth: int, kind: Any) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 99, rng.integers(1, 5, 3))
    limits = np.array(values.shape[:depth])
    places = rng.integers(0, limits, (*rng.integers(0, 4, 2), depth)).astype(kind)
    found = tf.gather_nd(values, places).numpy()
    np.testing.assert_array_equal(found, values[tuple(np.moveaxis(places, -1, 0))])
    texts = tf.gather_nd(values.astype("S"), places).numpy()
    np.testing.assert_array_equal(texts, found.astype("S").astype(object))
    if places.size:
        places[0, 0, 0] = limits[0]
        with pytest.raises(tf.errors.InvalidArgumentError, match="does not index into param"):
            tf.gather_nd(values, places)


@pytest.mark.parametrize(
    ("rows", "inner", "columns"), [(3, 3, 65536), (2, 40, 9000), (1, 700, 500), (300, 500, 300)]
)
def test_a_product_in_parts_is_the_whole_product(rows: int, inner: int, columns: int) -> None:
    rng = np.random.default_rng(0)
    left = rng.integers(-9, 9, (rows, inner)).astype(np.float32)  # sums of which are exact
    right = rng.integers(-9, 9, (inner, columns)).astype(np.float32)
    np.testing.assert_array_equal(tf.matmul(left, right).numpy(), left @ right)
    stacked = tf.matmul(np.stack([left, -left]), right).numpy()
    np.testing.assert_array_equal(stacked, np.stack([left @ right, -left @ right]))
