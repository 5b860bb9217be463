# SPDX-License-Identifier: Apache-2.0
"""Expressions that TensorFlow and fastrec.compat evaluate, and their results as JSON."""

from __future__ import annotations

import base64
import builtins
import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from v2_programs import plain

ORACLE = Path(__file__).parent.parent / "oracle"
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


def graph_outcome(
    tf: Any, text: str, seed: int | None = None, images: Mapping[str, Any] = NAMES
) -> Any:
    """Return the values of two runs of a version 1 expression, or its error."""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(seed)
        names = dict(images, tf=tf)
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


def said(error: Exception) -> str:
    """Return the line of a message that states the fault."""
    lines = [line for line in str(getattr(error, "message", error)).splitlines() if line]
    skipped = ("Graph execution error", "Detected at node", "    File", "Node:", "\t [[")
    text = next((line for line in lines if not line.startswith(skipped)), "")
    return re.sub(r"pyfunc_\d+", "pyfunc", text)  # which are numbered


def sections() -> dict[str, list[str]]:
    """Return the expressions of ``v1_expressions.txt`` by section."""
    found: dict[str, list[str]] = {}
    for line in (ORACLE / "v1_expressions.txt").read_text().splitlines()[2:]:
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


def is_loose(text: str) -> bool:
    """Return whether the last bits of an expression's result may differ from TensorFlow's."""
    return text in LOOSE or text.startswith(TRANSCENDENT) or " ** " in text


def edges() -> list[str]:
    """Return the expressions of ``v2_expressions.txt``."""
    lines = (ORACLE / "v2_expressions.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def eager_outcome(tf: Any, errors: Any, expression: str) -> Any:
    """Return the value of a version 2 expression, or its error's first class in `errors`."""
    try:
        rows = tf.ragged.constant([[1, 2], [], [3]])
        sparse = tf.SparseTensor([[0, 1], [2, 0]], [5, 6], [3, 2])
        return plain(eval(expression, {"tf": tf, "np": np, "r": rows, "s": sparse}))
    except Exception as error:
        names = [kind.__name__ for kind in type(error).__mro__]
        return next(n for n in names if hasattr(errors, n) or hasattr(builtins, n))


def encoded(value: Any) -> Any:
    """Return a result of :func:`graph_outcome` as JSON, with all bits of its numbers."""
    if isinstance(value, Exception):
        return {"error": [kind.__name__ for kind in type(value).__mro__], "text": said(value)}
    if hasattr(value, "_fields") or isinstance(value, (list, tuple)):
        return {"list": [encoded(part) for part in value]}
    if isinstance(value, dict):
        return {"dict": {key: encoded(part) for key, part in sorted(value.items())}}
    if hasattr(value, "row_splits"):
        return {"list": [encoded(value.values), encoded(value.row_splits)]}
    if isinstance(value, (np.ndarray, np.generic)):
        kind = "array" if isinstance(value, np.ndarray) else "number"
        if value.dtype == object:
            parts = [encoded(part) for part in np.asarray(value).reshape(-1).tolist()]
            return {kind: "object", "shape": list(value.shape), "parts": parts}
        data = base64.b64encode(value.tobytes()).decode()
        return {kind: str(value.dtype), "shape": list(value.shape), "data": data}
    if isinstance(value, bytes):
        return {"bytes": value.decode("latin-1")}
    return {"value": repr(value)}


def assert_alike(one: Any, other: Any, loose: bool) -> None:
    """Raise AssertionError if two results of :func:`encoded` differ."""
    if isinstance(one, dict) and isinstance(other, dict) and "data" in one and "data" in other:
        for key in ("array", "number", "shape"):
            assert one.get(key) == other.get(key)
        first, second = (
            np.frombuffer(base64.b64decode(each["data"]), each.get("array") or each.get("number"))
            for each in (one, other)
        )
        if loose:
            np.testing.assert_allclose(first, second, rtol=2e-6, atol=1e-6)
        else:
            np.testing.assert_array_equal(first, second)
    elif isinstance(one, dict) and isinstance(other, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_alike(one[key], other[key], loose)
    elif isinstance(one, list) and isinstance(other, list):
        assert len(one) == len(other)
        for pair in zip(one, other, strict=True):
            assert_alike(*pair, loose)
    else:
        assert one == other
