# SPDX-License-Identifier: Apache-2.0
"""Numbers that texts spell: in columns as one by one, and the nearest that the type has."""

from __future__ import annotations

import decimal
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from cost import check_proportion
from spelt import TYPES, texts_of

import fastrec.compat.v2 as tf
from fastrec import Bytes, _tensor
from fastrec.compat._tf.kernels.csv import Field, NotANumber, column_of_texts, number_of, numbers_of

TEXTS = texts_of(1, 3000)


def alone(text: bytes, dtype: str) -> bytes | None:
    try:
        return np.asarray(number_of(text, np.dtype(dtype)), dtype).tobytes()
    except NotANumber:
        return None


@pytest.mark.parametrize("dtype", TYPES)
def test_many_texts_spell_what_each_of_them_does(dtype: str) -> None:
    texts = Bytes.from_list(TEXTS)
    expected = [alone(text, dtype) for text in TEXTS]
    numbers, left = _tensor.read_numbers(texts.data, texts.offsets, np.dtype(dtype))
    waiting = set(left.tolist())
    assert len(waiting) < len(TEXTS)
    few = Bytes.from_list([b" %d " % n for n in range(99)])
    assert not _tensor.read_numbers(few.data, few.offsets, np.dtype(dtype))[1].size
    for place, number in enumerate(numbers):
        if place not in waiting:
            assert number.tobytes() == expected[place], TEXTS[place]
    right = [text for text, number in zip(TEXTS, expected, strict=True) if number is not None]
    whole = numbers_of(Bytes.from_list(right), np.dtype(dtype))
    assert whole.tobytes() == b"".join(filter(None, expected))
    for text in right[::50]:
        column = tf.strings.to_number(tf.constant([text] * 3), dtype).numpy()
        assert column.tobytes() == 3 * (alone(text, dtype) or b"")


def test_a_float32_is_the_nearest_to_the_text() -> None:
    found = 0
    for text in TEXTS:
        try:
            spelt = decimal.Decimal(text.decode())
        except decimal.InvalidOperation:
            continue
        if not spelt.is_finite() or abs(spelt.adjusted()) > 60:
            continue
        exact = Fraction(spelt)
        number = alone(text, "float32")
        if number is None or not np.isfinite(nearest := np.frombuffer(number, np.float32)[0]):
            continue
        off = abs(Fraction(float(nearest)) - exact)
        for side in (-np.inf, np.inf):
            other = np.nextafter(nearest, np.float32(side))
            assert not np.isfinite(other) or off <= abs(Fraction(float(other)) - exact), text
        found += 1
    assert found > len(TEXTS) / 3


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_texts_of_any_length_take_time_by_their_length(dtype: str) -> None:
    def converts(size: int) -> Callable[[], None]:
        def convert() -> None:
            assert tf.strings.to_number(b"0" * size + b"7", dtype).numpy() == 7
            for text in (b"1" * size + b"x", b"1." + b"1" * size + b"x", b" " * size + b"x"):
                with pytest.raises(
                    tf.errors.InvalidArgumentError, match="could not correctly convert"
                ):
                    tf.strings.to_number([text, b"1"], dtype)

        return convert

    check_proportion(converts, 300_000)


def test_columns_of_lines_have_defaults_in_the_places_of_empty_fields() -> None:
    for missing in (b"", b"NA", b"-1", b"nan"):
        for dtype in ("float32", "int64"):
            texts = [b"5", b"", b"-1", missing, b" 7 "]
            field = Field(np.dtype(dtype), 9)
            expected = [5, 9, 9 if missing == b"-1" else -1, 9, 7]
            assert column_of_texts(texts, field, missing).tolist() == expected


def test_strings_that_are_read_lie_within_the_data() -> None:
    data, offsets = np.frombuffer(b"1234", np.uint8), np.array([0, 2, 4])
    for kind, wanted in (("float32", np.float32), ("uint64", np.uint64)):
        numbers, left = _tensor.read_numbers(data, offsets, np.dtype(kind), 1, 2)
        assert numbers.dtype == wanted
        assert numbers.tolist() == [34]
        assert not left.size
    assert _tensor.read_numbers(data, offsets, np.dtype(">i4"))[0].dtype == np.int32
    assert not _tensor.read_numbers(data, offsets, np.dtype("int32"), 5)[0].size
    for wrong in ([0, 5], [2, 0], [-1, 2], []):
        with pytest.raises(ValueError, match="offsets must"):
            _tensor.read_numbers(data, np.array(wrong, np.int64), np.dtype("int32"))
    with pytest.raises(ValueError, match="step must be"):
        _tensor.read_numbers(data, offsets, np.dtype("int32"), 0, 0)
