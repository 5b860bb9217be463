# SPDX-License-Identifier: Apache-2.0
"""One expression under ``tensorflow.compat.v1`` and under ``fastrec.compat.v1``: one result.

Values are held against each other with their types and shapes, errors with their classes and, for
those of a run, the first line of their texts.
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import fastrec.compat.v1 as ours

PIXELS = np.random.RandomState(0).randint(0, 256, (5, 7, 3), np.uint8)
SMOOTH = np.kron(PIXELS[:4, :4], np.ones((8, 8, 1), np.uint8))


def saved(pixels: Any, kind: str, **settings: Any) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind, **settings)
    return file.getvalue()


def example(tf: Any, **values: tuple[str, list[Any]]) -> bytes:
    kinds = {
        "i": ("int64_list", tf.train.Int64List),
        "f": ("float_list", tf.train.FloatList),
        "b": ("bytes_list", tf.train.BytesList),
    }
    features = {}
    for key, (kind, value) in values.items():
        field, made = kinds[kind]
        features[key] = tf.train.Feature(**{field: made(value=value)})
    return bytes(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())


NAMES: dict[str, Any] = {
    "np": np,
    "example": example,
    "pixels": PIXELS,
    "png": saved(PIXELS, "PNG"),
    "grey": saved(PIXELS[:, :, 0], "PNG"),
    "alpha": saved(np.dstack([PIXELS, PIXELS[:, :, :1]]), "PNG"),
    "deep": saved(PIXELS[:, :, 0].astype(np.uint16) * 200, "PNG"),
    "jpeg": saved(SMOOTH, "JPEG", quality=90),
    "gif": saved(PIXELS[:, :, 0], "GIF"),
    "bmp": saved(PIXELS, "BMP"),
}


def outcome(tf: Any, text: str, seed: int | None = None) -> Any:
    """The value of an expression in a session, or the error."""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(seed)
        names = dict(NAMES, tf=tf)
        names["x"] = tf.reshape(tf.range(24), [2, 3, 4])
        names["d"] = tf.placeholder_with_default(names["x"], None)
        names["f"] = tf.constant([[1.5, -2.5], [0.25, 8.0]])
        names["img"] = tf.constant(PIXELS)
        names["r"] = tf.ragged.constant([[1, 2], [], [3]])
        names["s"] = tf.SparseTensor([[0, 1], [2, 0]], [5, 6], [3, 2])
        names["late"] = tf.placeholder_with_default(PIXELS, [None, None, 3])
        try:
            made = eval(text, names)
            return session.run(made), session.run(made)
        except Exception as error:
            return error


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


def said(error: Exception) -> str:
    """The line of a message that says what is wrong."""
    lines = [line for line in str(getattr(error, "message", error)).splitlines() if line]
    skipped = ("Graph execution error", "Detected at node", "    File", "Node:", "\t [[")
    text = next((line for line in lines if not line.startswith(skipped)), "")
    return re.sub(r"pyfunc_\d+", "pyfunc", text)  # which are numbered


def sections() -> dict[str, list[str]]:
    """The expressions of ``v1_expressions.txt``, by section."""
    found: dict[str, list[str]] = {}
    for line in (Path(__file__).parent / "v1_expressions.txt").read_text().splitlines()[2:]:
        if line.startswith("# "):
            rows = found[line[2:]] = []
        elif line:
            rows.append(line)
    return found


SECTIONS = sections()
# The last bits of these depend on the order of sums, or on a library of functions.
_ROUNDED = ("normal", "light", "measures of images", "powers and functions of numbers")
LOOSE = [text for name in _ROUNDED for text in SECTIONS[name]]
EXACT = [text for rows in SECTIONS.values() for text in rows if text not in LOOSE]
TRANSCENDENT = ("tf.sqrt", "f **", "2.0 **", "@", "matmul")
# What both raise while the graph is made may be said in other words.
GRAPH_ERRORS = (ValueError, TypeError, IndexError)


@pytest.mark.parametrize("text", [*EXACT, *LOOSE])
def test_an_expression_gives_what_it_gives_in_tensorflow(tf: Any, text: str) -> None:
    theirs, mine = outcome(tf.compat.v1, text), outcome(ours, text)
    if not isinstance(theirs, Exception):
        if isinstance(mine, Exception):
            raise mine
        same(mine, theirs, text in LOOSE or text.startswith(TRANSCENDENT) or " ** " in text)
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
    theirs, mine = (outcome(library, text, seed) for library in (tf.compat.v1, ours))
    same(mine, theirs, loose=False)


def test_most_expressions_have_a_result() -> None:
    found = [outcome(ours, text) for text in EXACT]
    assert sum(isinstance(result, Exception) for result in found) < len(found) / 2
