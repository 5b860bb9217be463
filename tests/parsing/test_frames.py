# SPDX-License-Identifier: Apache-2.0
"""Frames of SequenceExamples have the same values however they are written."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import wire
from hypothesis import given
from hypothesis import strategies as st

import fastrec
from fastrec import FixedLenSequenceFeature, RaggedFeature, VarLenFeature

INT64 = st.one_of(st.integers(0, 200), st.integers(-(2**63), 2**63 - 1))
FLOAT32 = st.floats(width=32, allow_nan=False)
STRINGS = st.one_of(st.binary(max_size=9), st.binary(min_size=120, max_size=140))


def packed(values: list[Any], kind: int) -> bytes:
    if kind == wire.INT64:
        return b"".join(wire.varint(value) for value in values)
    return struct.pack(f"<{len(values)}f", *values)


def listed(values: list[Any], kind: int, form: str) -> bytes:
    """The fields of a list in one of the forms that protobuf reads as the same."""
    if kind == wire.BYTES:
        return b"".join(wire.sized(1, value) for value in values)
    if form == "unpacked" and kind == wire.INT64:
        return b"".join(wire.number(1, value) for value in values)
    if form == "unpacked":
        return b"".join(wire.fixed32(1, struct.pack("<f", value)) for value in values)
    if form == "two runs":
        half = len(values) // 2
        parts = values[:half], values[half:]
        return b"".join(wire.sized(1, packed(part, kind)) for part in parts)
    return wire.sized(1, packed(values, kind))


def frame(values: list[Any], kind: int, form: str) -> bytes:
    if not values and form != "usual":
        return b"" if form == "unpacked" else wire.sized(kind, b"")
    if form == "two lists":
        half = len(values) // 2
        parts = values[:half], values[half:]
        return b"".join(wire.sized(kind, listed(part, kind, "usual")) for part in parts)
    field = wire.sized(kind, listed(values, kind, form))
    return field + wire.number(9, 1) if form == "unknown field" else field


def record(frames: list[list[Any]], kind: int, forms: list[str]) -> bytes:
    """A SequenceExample whose list ``x`` has these frames, in these forms by turns."""
    features = b"".join(
        wire.sized(1, frame(values, kind, forms[i % len(forms)])) for i, values in enumerate(frames)
    )
    entry = wire.sized(1, b"x") + wire.sized(2, features)
    return wire.sized(2, wire.sized(1, entry))


FORMS = st.lists(
    st.sampled_from(["usual"] * 3 + ["unpacked", "two runs", "two lists", "unknown field"]),
    min_size=1, max_size=4,
)  # fmt: skip
KINDS = {
    wire.INT64: (INT64, [np.int64]),
    wire.FLOAT: (FLOAT32, [np.float32, np.float64]),
    wire.BYTES: (STRINGS, [bytes]),
}


def parsed(records: list[bytes], feature: Any) -> Any:
    return fastrec.parse_sequence_example(records, None, {"x": feature})[1]["x"]


def values_of(column: Any) -> Any:
    return column.to_list() if hasattr(column, "to_list") else column.tolist()


@pytest.mark.parametrize("kind", KINDS)
@given(st.data())
def test_ragged_and_sparse_frames_have_the_values_that_were_written(
    kind: int, data: st.DataObject
) -> None:
    values: Any
    dtypes: Any
    values, dtypes = KINDS[kind]
    batch = data.draw(st.lists(st.lists(st.lists(values, max_size=5), max_size=6), max_size=4))
    records = [record(frames, kind, data.draw(FORMS)) for frames in batch]
    for dtype in dtypes:
        assert parsed(records, RaggedFeature(dtype)).to_list() == batch
        sparse = parsed(records, VarLenFeature(dtype))
        places = {
            (i, j, k): value
            for i, frames in enumerate(batch)
            for j, row in enumerate(frames)
            for k, value in enumerate(row)
        }
        assert sparse.indices.tolist() == [list(place) for place in places]
        assert list(sparse.values) == list(places.values())


@pytest.mark.parametrize("kind", KINDS)
@given(st.data())
def test_padded_frames_have_the_values_that_were_written(kind: int, data: st.DataObject) -> None:
    values: Any
    dtypes: Any
    values, dtypes = KINDS[kind]
    width = data.draw(st.integers(1, 4))
    rows = st.lists(values, min_size=width, max_size=width)
    batch = data.draw(st.lists(st.lists(rows, max_size=6), min_size=1, max_size=4))
    records = [record(frames, kind, data.draw(FORMS)) for frames in batch]
    longest = max(map(len, batch))
    empty = [b"" if kind == wire.BYTES else 0] * width
    for dtype in dtypes:
        column = parsed(records, FixedLenSequenceFeature((width,), dtype))
        assert column.shape == (len(batch), longest, width)
        padded = [frames + [empty] * (longest - len(frames)) for frames in batch]
        assert values_of(column) == padded


@pytest.mark.parametrize("size", [1, 31, 32, 33, 127, 128, 129, 130, 500, 5000])
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.float32, np.float16, bytes])
def test_frames_of_every_size_follow_each_other(size: int, dtype: Any) -> None:
    frames: list[list[Any]] = [[i % 100] * size for i in range(7)] + [[3]] + [[4] * size]
    kind = wire.INT64
    if dtype is bytes:
        frames, kind = [[bytes(row)] for row in frames], wire.BYTES
    elif np.dtype(dtype).kind == "f":
        kind = wire.FLOAT
    records = [record(frames, kind, ["usual"])] * 3
    assert parsed(records, RaggedFeature(dtype)).to_list() == [frames] * 3


@given(st.lists(st.integers(-300, 300), min_size=1, max_size=40), FORMS)
def test_an_integer_that_does_not_fit_its_dtype_names_the_first_frame_with_one(
    values: list[int], forms: list[str]
) -> None:
    records = [record([[value] for value in values], wire.INT64, forms)]
    bad = [i for i, value in enumerate(values) if not 0 <= value <= 255]
    if not bad:
        assert parsed(records, RaggedFeature(np.uint8)).to_list() == [[[v] for v in values]]
        return
    with pytest.raises(fastrec.ExampleParseError, match=f"frame {bad[0]}: feature 'x': "):
        parsed(records, RaggedFeature(np.uint8))


def growth(call: Callable[[], Any]) -> int:
    """Page faults of 50 calls, after some that fill the caches."""
    resource = pytest.importorskip("resource")
    for _ in range(20):
        call()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(50):
        call()
    after = int(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
    return after - int(before)


@pytest.mark.unsanitized  # ASAN keeps freed memory in quarantine
def test_functions_that_a_loop_calls_keep_their_memory() -> None:
    frames = [[float(i)] * 16 for i in range(60)]
    sequences = [record(frames[: 30 + i % 30], wire.FLOAT, ["usual"]) for i in range(300)]
    examples = [fastrec.encode_example({"x": list(range(i % 90))}) for i in range(2000)]
    strings, small = [bytes(3000)] * 500, [bytes(16)] * 20_000
    calls: list[Callable[[], Any]] = [
        lambda: parsed(sequences, FixedLenSequenceFeature((16,), np.float32)),
        lambda: parsed(sequences, RaggedFeature(np.float32)),
        lambda: parsed(sequences, VarLenFeature(np.float32)),
        lambda: fastrec.parse_example(examples, {"x": VarLenFeature(np.int64)}),
        lambda: fastrec.parse_example(examples, {"x": RaggedFeature(np.int64)}),
        lambda: fastrec.parse_example(
            examples, {"x": FixedLenSequenceFeature((), np.int64, allow_missing=True)}
        ),
        lambda: fastrec.decode_raw(strings, np.uint8),
        lambda: fastrec.decode_raw(small, ">i4", little_endian=False),
        lambda: fastrec.decode_raw(small, np.bool_, fixed_length=24),
        lambda: fastrec.Bytes.from_list(strings),
    ]
    # Memory that goes back to the kernel costs a fault a page: hundreds each call.
    assert [number for number, call in enumerate(calls) if growth(call) > 500] == []
