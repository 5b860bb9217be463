# SPDX-License-Identifier: Apache-2.0
"""One expression under ``tensorflow.compat.v1`` and under ``fastrec.compat.v1``: one result.

Values are held against each other with their types and shapes, errors with their classes and, for
those of a run, the first line of their texts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compat_expressions import EXACT, GRAPH_ERRORS, LOOSE, graph_outcome, is_loose, said

import fastrec.compat.v1 as ours


def same(mine: Any, theirs: Any, loose: bool) -> None:
    if hasattr(theirs, "_fields") or isinstance(theirs, (list, tuple)):
        assert len(mine) == len(theirs)
        for a, b in zip(mine, theirs, strict=True):
            same(a, b, loose)
    elif isinstance(theirs, dict):
        assert sorted(mine) == sorted(theirs)
        for key in theirs:
            same(mine[key], theirs[key], loose)
    elif hasattr(theirs, "row_splits"):
        same(mine.values, theirs.values, loose)
        same(mine.row_splits, theirs.row_splits, loose)
    else:
        assert type(mine) is type(theirs)
        if isinstance(theirs, (np.ndarray, np.generic)):
            assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
            if loose:
                np.testing.assert_allclose(mine, theirs, rtol=2e-6, atol=1e-6)
                return
            np.testing.assert_array_equal(mine, theirs)
        else:
            assert mine == theirs


@pytest.mark.parametrize("text", [*EXACT, *LOOSE])
def test_an_expression_gives_what_it_gives_in_tensorflow(tf: Any, text: str) -> None:
    theirs, mine = graph_outcome(tf.compat.v1, text), graph_outcome(ours, text)
    if not isinstance(theirs, Exception):
        if isinstance(mine, Exception):
            raise mine
        same(mine, theirs, is_loose(text))
        return
    assert isinstance(mine, Exception), f"TensorFlow says {theirs!r}"
    if isinstance(theirs, GRAPH_ERRORS):
        kinds = [kind for kind in GRAPH_ERRORS if isinstance(theirs, kind)]
        assert isinstance(mine, (*kinds, ours.errors.OpError))
        return
    names = [kind.__name__ for kind in type(mine).__mro__]
    assert type(theirs).__name__ in names
    assert said(mine) == said(theirs)


@pytest.mark.parametrize(
    "text",
    [
        "[tf.random_uniform([2]), tf.random_uniform([2], seed=1), tf.random_uniform([2], 1, 5)]",
        "[tf.random_uniform([2], 0, 10, tf.int32), tf.random_shuffle(tf.range(9))]",
        "[tf.random_crop(x, [1, 2, 3]), tf.image.random_flip_left_right(img)]",
        "[tf.image.random_brightness(img, 0.5), tf.image.random_contrast(img, 0.5, 1.5)]",
        "[tf.image.random_flip_up_down(late), tf.random_crop(d, [1, 1, 1])]",
    ],
)
@pytest.mark.parametrize("seed", [0, 42, 2**31 - 1, -3])
def test_the_seed_of_a_graph_draws_what_it_draws_in_tensorflow(
    tf: Any, text: str, seed: int
) -> None:
    theirs, mine = (graph_outcome(library, text, seed) for library in (tf.compat.v1, ours))
    same(mine, theirs, loose=False)


def test_most_expressions_have_a_result() -> None:
    found = [graph_outcome(ours, text) for text in EXACT]
    assert sum(isinstance(result, Exception) for result in found) < len(found) / 2
