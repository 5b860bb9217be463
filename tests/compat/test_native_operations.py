# SPDX-License-Identifier: Apache-2.0
"""Operations with native kernels give what plain NumPy and Python give, for any input."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastrec
import fastrec.compat.v2 as tf
from fastrec import _tensor

KINDS: dict[str, Any] = {
    "sum": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}
TYPES = ("float32", "float64", "int32", "int64", "uint8", "int16")


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_segments_are_combined_as_numpy_combines_rows(data: Any) -> None:
    ids = np.array(data.draw(st.lists(st.integers(-1, 5), max_size=30)), np.int32)
    dtype = data.draw(st.sampled_from(TYPES))
    width = data.draw(st.sampled_from([(), (3,), (2, 2)]))
    rows = np.random.default_rng(len(ids)).integers(0, 4, (len(ids), *width)).astype(dtype)
    kept, count = ids >= 0, 6
    info: Any = np.finfo(dtype) if np.dtype(dtype).kind == "f" else np.iinfo(dtype)
    neutral = {"sum": 0, "prod": 1, "max": info.min, "min": info.max}
    for kind, function in KINDS.items():
        expected = np.full((count, *width), neutral[kind], dtype)
        function.at(expected, ids[kept], rows[kept])
        result = getattr(tf.math, f"unsorted_segment_{kind}")(rows, ids, count).numpy()
        assert result.dtype == expected.dtype
        assert np.array_equal(result, expected)
        ordered = np.sort(ids[kept])
        segments = getattr(tf.math, f"segment_{kind}")(rows[kept], ordered).numpy()
        assert len(segments) == (ordered[-1] + 1 if len(ordered) else 0)
    parts = tf.dynamic_partition(rows, np.where(kept, ids, 0).astype(np.int32), count)
    for number, part in enumerate(parts):
        assert np.array_equal(part.numpy(), rows[np.where(kept, ids, 0) == number])


def test_a_segment_that_is_out_of_range_is_named() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"segment_ids\[2\] = 7"):
        tf.math.unsorted_segment_sum([1.0, 2.0, 3.0], [0, 1, 7], 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"partitions\[1\] = -1"):
        tf.dynamic_partition([1.0, 2.0], [0, -1], 2)


def kept_boxes(boxes: Any, scores: Any, most: int, limit: float) -> list[int]:
    low, high = np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])
    areas = (high - low).prod(axis=1)
    kept: list[int] = []
    for number in np.argsort(-scores, kind="stable").tolist():
        sides = np.minimum(high[number], high[kept]) - np.maximum(low[number], low[kept])
        shared = np.maximum(sides, 0).prod(axis=1)
        union = areas[number] + areas[kept] - shared
        shares = np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)
        if len(kept) < most and not (shares > limit).any():
            kept.append(number)
    return kept


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 80), st.integers(0, 20), st.sampled_from([0.0, 0.3, 0.7, 1.0]), st.integers())
def test_boxes_are_suppressed_as_pairs_say(count: int, most: int, limit: float, seed: int) -> None:
    draw = np.random.default_rng(abs(seed))
    boxes = draw.integers(0, 12, (count, 4)).astype(np.float32)
    scores = draw.integers(0, 9, count).astype(np.float32)
    expected = kept_boxes(boxes, scores, most, limit)
    assert tf.image.non_max_suppression(boxes, scores, most, limit).numpy().tolist() == expected
    hard = tf.image.non_max_suppression_with_scores(boxes, scores, most, limit)[0]
    assert hard.numpy().tolist() == expected
    soft, marks = tf.image.non_max_suppression_with_scores(
        boxes, scores, most, 1.0, soft_nms_sigma=0.5
    )
    assert len(set(soft.numpy().tolist())) == len(soft.numpy())
    assert (np.diff(marks.numpy()) <= 0).all()


EQUATIONS = (
    "hwc,cd->hwd",
    "ij,kj->ik",
    "bij,bjk->bik",
    "ij,j->i",
    "i,j->ij",
    "ij,ij->",
    "abc,cbd->dab",
    "ab,ab->ab",
    "ab,bc->c",
    "aab,b->a",
    "ab,cd->abcd",
    "ab,bc",
)


@pytest.mark.parametrize("equation", EQUATIONS)
@pytest.mark.parametrize("sizes", [(2, 3, 4, 5), (1, 1, 1, 1), (3, 0, 2, 1)])
def test_einsum_is_numpys(equation: str, sizes: tuple[int, ...]) -> None:
    letters = sorted({*equation} - {*",->"})
    size_of = dict(zip(letters, sizes, strict=False))
    draw = np.random.default_rng(0)
    operands = [
        draw.random([size_of[letter] for letter in labels]).astype(np.float32)
        for labels in equation.split("->")[0].split(",")
    ]
    result, expected = tf.einsum(equation, *operands).numpy(), np.einsum(equation, *operands)
    assert result.shape == expected.shape
    assert np.allclose(result, expected, rtol=1e-5)


@pytest.mark.parametrize("batch_dims", [0, 1, 2])
@pytest.mark.parametrize("inner", [(), (3,), (2, 2)])
def test_gather_takes_from_each_batch(batch_dims: int, inner: tuple[int, ...]) -> None:
    draw = np.random.default_rng(1)
    values = draw.random((2, 3, 4, 5))
    for axis in range(batch_dims, 4):
        shape = (*values.shape[:batch_dims], *inner)
        places = draw.integers(0, values.shape[axis], shape)
        expected = np.empty((*values.shape[:axis], *inner, *values.shape[axis + 1 :]), values.dtype)
        for batch in np.ndindex(*values.shape[:batch_dims]):
            expected[batch] = np.take(values[batch], places[batch], axis - batch_dims)
        result = tf.gather(values, places, axis=axis, batch_dims=batch_dims).numpy()
        assert np.array_equal(result, expected)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.sampled_from([0.0, 1, 2, np.nan, -1, np.inf]), min_size=5, max_size=5)))
def test_the_largest_of_rows_are_those_of_a_stable_sort(rows: list[list[float]]) -> None:
    x = np.array(rows, np.float32).reshape(-1, 5)
    order = np.array(
        [
            sorted(range(5), key=lambda i: (row[i] == row[i], -np.nan_to_num(row[i], posinf=9)))
            for row in x
        ]
    )
    for count in range(1, 6):
        values, places = _tensor.largest(x, count)
        expected = order.reshape(-1, 5)[:, :count].astype(int)
        assert np.array_equal(places, expected)
        assert np.array_equal(values, np.take_along_axis(x, expected, 1), equal_nan=True)


TEXTS = st.lists(
    st.one_of(st.binary(max_size=9), st.text(max_size=9).map(str.encode)), min_size=16, max_size=18
)


@settings(max_examples=25, deadline=None)
@given(TEXTS, st.integers(-4, 4), st.integers(-1, 5))
def test_columns_of_strings_give_what_single_strings_give(
    texts: list[bytes], start: int, size: int
) -> None:
    functions: dict[str, Any] = {
        "lower": tf.strings.lower,
        "strip": tf.strings.strip,
        "length": tf.strings.length,
        "characters": lambda x: tf.strings.length(x, unit="UTF8_CHAR"),
        "substr": lambda x: tf.strings.substr(x, start, size),
        "encode": tf.io.encode_base64,
        "pad": lambda x: tf.io.encode_base64(x, pad=True),
        "decode": tf.io.decode_base64,
        "join": lambda x: tf.strings.join([x, "-", x], "/"),
        "points": lambda x: tf.strings.unicode_decode(x, "UTF-8"),
        "split": lambda x: tf.strings.unicode_split(x, "UTF-8"),
        "bytes": tf.strings.bytes_split,
        "transcode": lambda x: tf.strings.unicode_transcode(x, "UTF-8", "UTF-16-BE"),
    }
    column = tf.constant(np.array(texts, object))
    for name, function in functions.items():
        expected: list[Any] = []
        error = None
        for text in texts:
            try:
                expected.append(function(tf.constant(text)).numpy())
            except tf.errors.InvalidArgumentError as wrong:
                error = wrong
        if error is not None:
            with pytest.raises(tf.errors.InvalidArgumentError):
                function(column)
            continue
        result = function(column)
        rows = result.to_list() if hasattr(result, "to_list") else result.numpy().tolist()
        assert rows == [e if isinstance(e, bytes) else e.tolist() for e in expected], name


@settings(max_examples=30, deadline=None)
@given(TEXTS)
def test_base64_is_read_back(texts: list[bytes]) -> None:
    column = fastrec.Bytes.from_list(texts)
    for pad in (False, True):
        encoded = _tensor.encode_base64(column, pad=pad)
        expected = [base64.urlsafe_b64encode(text) for text in texts]
        assert encoded.to_list() == [e if pad else e.rstrip(b"=") for e in expected]
        assert _tensor.decode_base64(encoded).to_list() == texts


def test_strings_are_numbered_as_a_dict_numbers_them() -> None:
    draw = np.random.default_rng(0)
    texts = [b"x" * int(n % 7) + str(n % 50).encode() for n in draw.integers(0, 1000, 2000)]
    numbers, firsts = _tensor.number_texts(fastrec.Bytes.from_list(texts))
    seen: dict[bytes, int] = {}
    assert numbers.tolist() == [seen.setdefault(text, len(seen)) for text in texts]
    assert [texts[place] for place in firsts] == list(seen)


def test_activations_are_those_of_double_precision() -> None:
    x = np.linspace(-8, 8, 4001)
    single, double = (tf.constant(x.astype(kind)) for kind in (np.float32, np.float64))
    for name in ("elu", "selu", "silu", "softplus", "softsign", "gelu", "leaky_relu", "relu"):
        function = getattr(tf.nn, name)
        assert np.allclose(function(single), function(double), rtol=4e-6, atol=2e-6), name
    for name in ("erf", "erfc", "log_sigmoid", "sigmoid"):
        function = getattr(tf.math, name)
        assert np.allclose(function(single), function(double), rtol=4e-6, atol=1e-12), name
    parts = np.linspace(0.001, 0.999, 997)
    for name in ("erfinv", "erfcinv", "ndtri"):
        function = getattr(tf.math, name)
        near, exact = function(parts.astype(np.float32)), function(parts)
        assert np.allclose(near, exact, rtol=2e-5, atol=2e-6), name


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(("size", "stride"), [(2, 2), (3, 1), (3, 2), (1, 3)])
def test_the_largest_of_windows_are_those_of_other_types(
    padding: str, size: int, stride: int
) -> None:
    images = np.random.default_rng(0).normal(size=(2, 7, 9, 3))
    images[0, 3, 4, 1] = np.nan
    single = tf.nn.max_pool2d(images.astype(np.float32), size, stride, padding)
    double = tf.nn.max_pool2d(images, size, stride, padding)
    assert np.array_equal(single.numpy(), double.numpy().astype(np.float32))
