# SPDX-License-Identifier: Apache-2.0
"""Fast paths of parsing give the results of the slow ones; and hints in errors."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import fastrec
from fastrec import FixedLenFeature, RaggedFeature, RawFeature

FEATURES: dict[str, Any] = {
    "id": FixedLenFeature((), np.int64),
    "x": FixedLenFeature((), np.float32, 0.5),
    "small": FixedLenFeature((), np.int16, -1),
    "pair": FixedLenFeature((2,), np.int64, [1, 2]),
    "name": FixedLenFeature((), bytes, b"none"),
    "tokens": RaggedFeature(np.int64),
    "words": RaggedFeature(bytes),
    "image": RawFeature((3, 100), np.uint8),
}


def make_records(count: int) -> list[bytes]:
    r = random.Random(count)
    records = []
    for i in range(count):
        values: dict[str, Any] = {
            "id": r.choice([i, -i, 2**63 - 1, -(2**63), r.getrandbits(62)]),
            "x": r.random(),
            "small": r.randrange(-(2**15), 2**15),
            "pair": [r.getrandbits(40), -i],
            "name": r.randbytes(r.randrange(30)),
            "tokens": [r.getrandbits(r.randrange(1, 63)) for _ in range(r.randrange(90))],
            "words": [r.randbytes(r.randrange(20)) for _ in range(r.randrange(4))],
            "image": np.frombuffer(r.randbytes(300), np.uint8),
        }
        for name in ("x", "small", "pair", "name", "tokens", "words"):
            if r.random() < 0.1:
                del values[name]
        records.append(fastrec.encode_example(values))
    return records


def as_lists(columns: dict[str, Any]) -> dict[str, Any]:
    return {
        name: c.tolist() if isinstance(c, np.ndarray) else c.to_list()
        for name, c in columns.items()
    }


def test_any_number_of_threads_gives_the_same_batch() -> None:
    records = make_records(6000)
    assert sum(map(len, records)) > 2 << 20
    expected = as_lists(fastrec.parse_example(records, FEATURES, threads=1))
    for threads in (2, 3, 16, 1000, None):
        found = fastrec.parse_example(records, FEATURES, threads=threads)
        assert as_lists(found) == expected
    with pytest.raises(ValueError, match="threads"):
        fastrec.parse_example(records, FEATURES, threads=0)


def test_the_first_of_several_errors_is_told_for_any_number_of_threads() -> None:
    records = make_records(6000)
    for at in (5500, 2100, 900):
        records[at] = b"\xff" * 40
        for threads in (1, 2, 4):
            with pytest.raises(fastrec.ExampleParseError) as caught:
                fastrec.parse_example(records, FEATURES, threads=threads)
            assert caught.value.record == at


def test_a_batch_is_what_its_records_are_one_by_one() -> None:
    records = make_records(300)
    whole = as_lists(fastrec.parse_example(records, FEATURES))
    for i, record in enumerate(records):
        one = as_lists(fastrec.parse_example([record], FEATURES))
        assert {name: column[i] for name, column in whole.items()} == {
            name: column[0] for name, column in one.items()
        }


@pytest.mark.parametrize("tier", ["avx512", "bmi2", "sw", "no such"])
def test_every_implementation_of_varints_gives_the_same(tier: str) -> None:
    code = (
        "import test_parse_speedups as t, fastrec, hashlib\n"
        "columns = t.as_lists(fastrec.parse_example(t.make_records(400), t.FEATURES))\n"
        "print(hashlib.sha256(repr(columns).encode()).hexdigest())"
    )

    def run(**environment: str) -> str:
        path = os.pathsep.join([os.path.dirname(__file__), *sys.path])
        return subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": path, **environment},
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    assert run(FASTREC_VARINT=tier) == run()


def test_defaults_that_are_equal_but_not_the_same_are_told_apart() -> None:
    records = [fastrec.encode_example({})]
    for default in (0.0, -0.0, 0.0):
        feature = FixedLenFeature((), np.float32, default)
        found = fastrec.parse_example(records, {"x": feature})["x"]
        assert np.signbit(found[0]) == np.signbit(default)


RECORD = fastrec.encode_example({"label": 1, "image": b"x"})
HINTS = [
    (RECORD, "lable", "is it 'label'?"),
    (RECORD, "Image", "is it 'image'?"),
    (RECORD, "something else", "the record has 2 other features: 'image', 'label'"),
    (
        fastrec.encode_example(dict.fromkeys("abcdefghi", 1)),
        "other",
        "features: 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', ...",
    ),
    (b"", "label", "the record has no features"),
    (b"hello, world\n", "label", "it looks like text"),
    (b"\x89PNG\r\n\x1a\n\0\0", "label", "it looks like a PNG image"),
    (b"\x1f\x8b\x08\0\0\0", "label", "it looks like gzip data"),
    (b"\xff\xd8\xff\xe0\0\x10JFIF", "label", "it looks like a JPEG image"),
]


@pytest.mark.parametrize(("record", "key", "hint"), HINTS)
def test_an_error_helps(record: bytes, key: str, hint: str) -> None:
    with pytest.raises(fastrec.ExampleParseError) as caught:
        fastrec.parse_example([record], {key: FixedLenFeature((), np.int64)})
    assert hint in str(caught.value)


def test_a_sequence_example_and_a_framed_record_are_recognised() -> None:
    lists = fastrec.train.FeatureLists(feature_list={"x": fastrec.train.FeatureList()})
    sequence = fastrec.train.SequenceExample(feature_lists=lists).SerializeToString()
    wanted = {"label": FixedLenFeature((), np.int64)}
    with pytest.raises(fastrec.ExampleParseError, match="is this a SequenceExample"):
        fastrec.parse_example([sequence], wanted)
    with pytest.raises(fastrec.ExampleParseError, match="with its TFRecord frame"):
        fastrec.parse_example([fastrec._core.frame(RECORD)], wanted)


def test_a_wrong_kind_says_what_to_ask_for() -> None:
    record = fastrec.encode_example({"label": [1.5]})
    with pytest.raises(fastrec.ExampleParseError, match=r"found float_list \(ask for float32\)"):
        fastrec.parse_example([record], {"label": FixedLenFeature((), np.int64)})


INT_TYPES = [np.bool_, *(f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64))]


def extremes(dtype: np.dtype[Any]) -> list[int]:
    if dtype == np.bool_:
        return [0, 1]
    info = np.iinfo(dtype)
    return [int(info.min), int(info.min) + 1, 0, 1, min(int(info.max), 2**63 - 1)]


@pytest.mark.parametrize("dtype", INT_TYPES)
def test_a_scalar_of_any_integer_type_is_read_in_place_to_its_extremes(dtype: Any) -> None:
    dtype = np.dtype(dtype)
    values = extremes(dtype) * 3
    # With something behind it, for the quick way reads a few bytes further than the value.
    records = [fastrec.encode_example({"n": v, "z": b"behind the value"}) for v in values]
    found = fastrec.parse_example(records, {"n": FixedLenFeature((), dtype)})["n"]
    assert found.dtype == dtype
    assert found.tolist() == values
    for beyond in (extremes(dtype)[0] - 1, extremes(dtype)[-1] + 1):
        if not -(2**63) <= beyond < 2**63:
            continue
        worse = [*records, fastrec.encode_example({"n": beyond, "z": b"behind the value"})]
        with pytest.raises(fastrec.ExampleParseError) as caught:
            fastrec.parse_example(worse, {"n": FixedLenFeature((), dtype)})
        assert f"value {beyond} does not fit {dtype.name}" in str(caught.value)
        assert caught.value.record == len(records)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_scalar_of_any_float_type_is_read_in_place(dtype: Any) -> None:
    values = [0.0, -0.0, 1.5, -65504.0, 1e-8, 3e38, float("inf"), float("-inf"), 1 / 3] * 2
    records = [fastrec.encode_example({"x": v, "z": b"behind the value"}) for v in values]
    found = fastrec.parse_example(records, {"x": FixedLenFeature((), dtype)})["x"]
    with np.errstate(over="ignore"):
        expected = np.array(values, np.float32).astype(dtype)
    assert found.dtype == dtype
    assert found.tobytes() == expected.tobytes()
