# SPDX-License-Identifier: Apache-2.0
"""An expression gives the same under both versions, which have one registry of operations."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec.compat.v1 as v1
import fastrec.compat.v2 as v2

pytest.importorskip("PIL")
from PIL import Image

ORACLE = Path(__file__).parent.parent / "oracle"
PIXELS = np.random.RandomState(0).randint(0, 256, (5, 7, 3), np.uint8)


def saved(pixels: Any, kind: str) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind)
    return file.getvalue()


NAMES: dict[str, Any] = {
    "np": np,
    "png": saved(PIXELS, "PNG"),
    "grey": saved(PIXELS[:, :, 0], "PNG"),
    "alpha": saved(np.dstack([PIXELS, PIXELS[:, :, :1]]), "PNG"),
    "deep": saved(PIXELS[:, :, 0].astype(np.uint16) * 200, "PNG"),
    "jpeg": saved(PIXELS, "JPEG"),
    "gif": saved(PIXELS[:, :, 0], "GIF"),
    "bmp": saved(PIXELS, "BMP"),
    "pixels": PIXELS,
}
# Arguments that have another place or another meaning in one of the versions.
OTHERWISE = {
    "tf.where([True, False], f, -f)",
    "tf.constant([1, 2], shape=[4])",
    "tf.constant([], shape=[2])",
    "tf.constant([], tf.string, shape=[2])",
    "tf.constant([np.uint8(1), np.uint8(2)])",
    "tf.constant([np.float64(2), 1.0])",
    "tf.constant([np.uint64(2**63)])",
    "tf.constant([True, 1])",
    "tf.stack('a')",
    'tf.io.decode_raw(b"a", tf.bool, fixed_length=1)',
    "bool(tf.constant([], tf.float32))",
    "tf.constant([1, 2]) == tf.constant([1, 2, 3])",
    "tf.constant([1, 2]) != tf.constant([1, 2, 3])",
    "(tf.constant([1]) == None, tf.constant([1]) != None)",
    "tf.constant(x)",
    "tf.cond(d[0, 0, 0] < 1, lambda: [1], lambda: [2], strict=True)",
    "tf.TensorArray(tf.int32, 0).stack()",
    'tf.strings.lower(tf.ragged.constant([["A"], ["B", "C"]]))',
    "tf.strings.join([tf.ragged.constant([['a'],['b','c']]),'x'])",
    "tf.cond(d[0, 0, 0] < 1, lambda: (1, 2), lambda: (3, 4))",
    "tf.cond(d[0, 0, 0] < 1, lambda: {'a': 1, 'b': 2}, lambda: {'a': 3, 'b': 4})",
}
# What tests of its own compare; what is sparse, or of Python's numbers, in one version only.
ELSEWHERE = ("random", "example(", "tf.strings.split(", "stateless")
# What one of the versions refuses, with an error of its own, while it makes a graph.
REFUSED = {
    "tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, tf.concat([x, [i]], 0)), "
    "[0, tf.zeros([0], tf.int32)])",
    "tf.fill(3, 1)",
    "tf.fill([2], [9])",
    "tf.range([3])",
    "tf.unstack(x, num=0)",
    "tf.reduce_sum(x, [[0]])",
}


def rows(name: str) -> list[str]:
    lines = (ORACLE / name).read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


EXPRESSIONS = [
    text
    for text in dict.fromkeys(rows("v1_expressions.txt") + rows("v2_expressions.txt"))
    if not any(part in text for part in ELSEWHERE)
]


def names(tf: Any, placeholder: Any) -> dict[str, Any]:
    x = tf.reshape(tf.range(24), [2, 3, 4])
    return {
        **NAMES,
        "tf": tf,
        "x": x,
        "d": placeholder(x),
        "f": tf.constant([[1.5, -2.5], [0.25, 8.0]]),
        "img": tf.constant(PIXELS),
        "r": tf.ragged.constant([[1, 2], [], [3]]),
        "s": tf.SparseTensor([[0, 1], [2, 0]], [5, 6], [3, 2]),
        "late": placeholder(tf.constant(PIXELS)),
    }


def of_first(text: str) -> Any:
    with v1.Graph().as_default(), v1.Session() as session:
        made = eval(text, names(v1, lambda x: v1.placeholder_with_default(x, None)))
        return session.run(made)


def plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if hasattr(value, "row_splits"):
        return [plain(value.values), plain(value.row_splits)]
    if hasattr(value, "dense_shape"):
        return [plain(value.indices), plain(value.values), plain(value.dense_shape)]
    return value.numpy() if hasattr(value, "numpy") else value


def same(one: Any, other: Any) -> None:
    if isinstance(one, list):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            same(a, b)
        return
    assert np.asarray(one).dtype == np.asarray(other).dtype
    np.testing.assert_array_equal(one, other)


def outcome(call: Any) -> Any:
    try:
        return plain(call())
    except Exception as error:
        return error


def compare(text: str) -> None:
    if text in OTHERWISE:  # means something else in one of the versions
        return
    first = outcome(lambda: of_first(text))
    second = outcome(lambda: eval(text, names(v2, lambda x: x)))
    missing = [e for e in (first, second) if isinstance(e, (AttributeError, NotImplementedError))]
    if missing or any("unexpected keyword" in str(e) for e in (first, second)):
        return  # of one version only
    if "Argument `fetch`" in str(first):
        return  # gives no tensors
    if text in REFUSED:
        assert isinstance(first, ValueError)
        return
    if isinstance(first, Exception) or isinstance(second, Exception):
        assert isinstance(first, Exception), f"version 2 says {second!r}"
        assert isinstance(second, Exception), f"version 1 says {first!r}"
        return
    same(first, second)


@pytest.mark.slow
def test_expressions_give_the_same_under_both_versions() -> None:
    wrong = []
    for text in EXPRESSIONS:
        try:
            compare(text)
        except AssertionError as error:
            wrong.append(f"{text}: {error}")
    assert not wrong, "\n".join(wrong)


def test_most_expressions_are_of_both_versions() -> None:
    second = [outcome(lambda text=text: eval(text, names(v2, lambda x: x))) for text in EXPRESSIONS]
    found = [not isinstance(each, AttributeError) for each in second]
    assert sum(found) > len(found) * 2 // 3


def listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


@pytest.mark.parametrize("text", [text for text in EXPRESSIONS if re.search(r"\b[rs]\b", text)])
def test_functions_of_data_sets_know_what_sparse_and_ragged_tensors_become(text: str) -> None:
    try:
        made = listed(eval(text, names(v2, lambda x: x)))
    except Exception:
        pytest.skip("is an error")
    if not all(hasattr(each, "dtype") for each in made):
        pytest.skip("gives no tensors")
    rows = v2.ragged.constant([[1, 2], [], [3]])
    sparse = v2.SparseTensor([[0, 1], [2, 0]], [5, 6], [3, 2])
    known = v2.data.Dataset.from_tensors((rows, sparse))
    specs = v2.RaggedTensorSpec([None, None], v2.int32), v2.SparseTensorSpec([None] * 2, v2.int32)
    unknown = v2.data.Dataset.from_generator(lambda: [(rows, sparse)], output_signature=specs)

    def function(r: Any, s: Any) -> Any:
        return tuple(listed(eval(text, {**names(v2, lambda x: x), "r": r, "s": s})))

    for dataset in (known, unknown):
        mapped = dataset.map(function)
        (found,) = mapped
        same(plain(found), plain(made))
        for spec, value in zip(mapped.element_spec, found, strict=True):
            assert spec.is_compatible_with(value)
            assert getattr(spec, "ragged_rank", 0) == getattr(value, "ragged_rank", 0)
