# SPDX-License-Identifier: Apache-2.0
"""Arrays that records hold as TensorProto messages or as .npy files."""

from __future__ import annotations

import contextlib
import io
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastrec
from fastrec.records.content import value_content
from fastrec.records.content.arrays import array_header, decode_array

TYPES = {
    "float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "complex64": 8,
    "int64": 9, "bool": 10, "uint16": 17, "complex128": 18, "float16": 19, "uint32": 22,
    "uint64": 23,
}  # fmt: skip


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def sized(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def head(type_number: int, shape: tuple[int, ...]) -> bytes:
    dims = b"".join(sized(2, b"\x08" + varint(size) if size else b"") for size in shape)
    return b"\x08" + varint(type_number) + sized(2, dims)


def tensor(array: np.ndarray[Any, Any]) -> bytes:
    """The bytes of ``tf.io.serialize_tensor``."""
    content = array.astype(array.dtype.newbyteorder("<")).tobytes()
    return head(TYPES[array.dtype.name], array.shape) + (sized(4, content) if content else b"")


def npy(array: np.ndarray[Any, Any]) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


ENCODERS: dict[str, Callable[[Any], bytes]] = {"tensor": tensor, "npy": npy}


def parse(values: list[bytes], feature: fastrec.RawFeature, **options: Any) -> Any:
    records = [fastrec.encode_example({"x": value}) for value in values]
    return fastrec.parse_example(records, {"x": feature}, **options)["x"]


@pytest.mark.parametrize("encoding", ENCODERS)
@pytest.mark.parametrize("name", TYPES)
@given(
    shapes=st.lists(st.tuples(*[st.integers(0, 4)] * 2), max_size=5),
    order=st.sampled_from("<>"),
    seed=st.integers(0, 2**32 - 1),
)
def test_arrays_of_every_type_come_back_as_they_were(
    encoding: Any, name: str, shapes: list[tuple[int, int]], order: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    size = np.dtype(name).itemsize
    arrays = []
    for number, shape in enumerate(shapes):
        bits = rng.integers(0, 2 if name == "bool" else 128, (*shape, size), np.uint8)
        array = bits.view(name).reshape(shape) if bits.size else np.zeros(shape, name)
        stored = array.astype(np.dtype(name).newbyteorder(cast(Any, order)))
        arrays.append(np.asfortranarray(stored) if number % 2 else stored)
    values = [ENCODERS[encoding](array) for array in arrays]
    column = parse(values, fastrec.RawFeature(None, name, encoding=encoding))
    assert column.values.dtype == np.dtype(name)
    assert len(column) == len(arrays)
    for found, expected in zip(column, arrays, strict=True):
        np.testing.assert_array_equal(found, expected)
    if shapes and set(shapes) == {shapes[0]}:
        column = parse(values, fastrec.RawFeature(shapes[0], name, encoding=encoding))
        np.testing.assert_array_equal(column, np.array(arrays))
        assert column.dtype == np.dtype(name)


@pytest.mark.parametrize("encoding", ENCODERS)
def test_another_type_shape_or_content_is_an_error_with_its_record(encoding: Any) -> None:
    encode = ENCODERS[encoding]
    good, other = encode(np.zeros((2, 3), "f4")), encode(np.zeros((3, 2), "f4"))
    feature = fastrec.RawFeature((2, 3), np.float32, encoding=encoding)
    for value, says in (
        (other, "must be float32 (2, 3), got float32 (3, 2)"),
        (encode(np.zeros((2, 3), "f8")), "must be float32 (2, 3), got float64 (2, 3)"),
        (bytes(24), f"is not encoded as '{encoding}': it is 24 bytes"),
        (b"", "it is an empty value"),
        (good[:-1], f"is not encoded as '{encoding}'" if encoding == "tensor" else "requires 24"),
    ):
        with pytest.raises(fastrec.ExampleParseError) as caught:
            parse([good, value], feature)
        assert str(caught.value).startswith("record 1: feature 'x': ")
        assert says in str(caught.value)
    with pytest.warns(RuntimeWarning, match="left out 1 of 2"):
        assert parse([other, good], feature, on_error="skip").shape == (1, 2, 3)
    with pytest.raises(fastrec.ExampleParseError, match=r"record 1: .*must have 2 dimensions"):
        parse([good, encode(np.zeros(3, "f4"))], fastrec.RawFeature(None, "f4", encoding=encoding))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (head(1, (3,)) + sized(5, struct.pack("<2f", 1, 2)), np.array([1, 2, 2], "f4")),
        (head(1, ()) + b"\x2d" + struct.pack("<f", 5), np.array(5, "f4")),
        (head(3, (2,)) + b"\x38\x05" + b"\x38" + varint(2**64 - 1), np.array([5, -1], "i4")),
        (head(9, (2, 2)) + sized(10, b"\x07"), np.full((2, 2), 7, "i8")),
        (head(10, (2,)) + sized(11, b"\x01\x00"), np.array([True, False])),
        (head(19, (1,)) + sized(13, varint(0x3C00)), np.array([1], "f2")),
        (head(18, (1,)) + sized(12, struct.pack("<2d", 1, 2)), np.array([1 + 2j])),
        (head(7, (3,)) + sized(8, b"a") + sized(8, b""), np.array([b"a", b"", b""], object)),
        (head(7, (2,)) + sized(4, b"\x01\x02abb"), np.array([b"a", b"bb"], object)),
        (sized(4, b"\x01\x02") + head(4, (2,)), np.array([1, 2], "u1")),
        (head(3, (3,)) + b"\x38\x01" + sized(7, b"\x02\xac\x02"), np.array([1, 2, 300], "i4")),
    ],
)
def test_a_tensor_whose_elements_are_a_list_is_decoded(value: bytes, expected: Any) -> None:
    found = decode_array("tensor", value)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_a_few_bytes_do_not_stand_for_a_huge_array() -> None:
    value = head(1, (1 << 20, 1 << 20)) + sized(5, struct.pack("<f", 1))
    with pytest.raises(ValueError, match="cannot stand for"):
        decode_array("tensor", value)
    with pytest.raises(fastrec.ExampleParseError, match="cannot stand for"):
        parse([value], fastrec.RawFeature(None, "f4", encoding="tensor"))


@given(st.binary(max_size=60), st.sampled_from(["tensor", "npy"]))
def test_any_bytes_are_an_array_or_a_value_error(data: bytes, encoding: Any) -> None:
    prefix = {"tensor": b"\x08\x01\x12", "npy": b"\x93NUMPY\x01\x00"}[encoding]
    for value in (data, prefix + data):
        array_header(encoding, value)
        value_content(value)
        with contextlib.suppress(ValueError):
            decode_array(encoding, value)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (tensor(np.zeros(3, "f4")), 'it looks like a TensorProto: encoding="tensor" reads it'),
        (npy(np.zeros(3, "f4")), 'it is a .npy file: encoding="npy" reads it'),
        (b"\xff\xd8\xff" + bytes(20), "it is an image: ImageFeature decodes it"),
    ],
)
def test_a_raw_feature_names_a_value_that_is_more_than_elements(value: bytes, says: str) -> None:
    with pytest.raises(fastrec.ExampleParseError) as caught:
        parse([value], fastrec.RawFeature((3, 4), "f4"))
    assert says in str(caught.value)


@pytest.mark.parametrize("encoding", ENCODERS)
def test_inference_reads_encoded_arrays_of_one_or_several_shapes(
    encoding: Any, tmp_path: Path
) -> None:
    encode = ENCODERS[encoding]
    path = tmp_path / "a.tfrecord"
    with fastrec.Writer(path) as writer:
        for size in (2, 3):
            same, several = np.ones((2, 3), "f4"), np.full((size, 2), size, "i2")
            mixed = np.zeros(size, "f4" if size == 2 else "f8")
            row = {"same": same, "several": several, "mixed": mixed}
            writer.write({name: encode(array) for name, array in row.items()})
    features = fastrec.infer_features(path)
    assert features["same"] == fastrec.RawFeature((2, 3), np.float32, encoding=encoding)
    assert features["several"] == fastrec.RawFeature(None, np.int16, encoding=encoding)
    assert features["mixed"] == fastrec.FixedLenFeature((), bytes)
    assert f'RawFeature((2, 3), float32, encoding="{encoding}")' in str(features)
    batch = next(iter(fastrec.Batcher(path, features, 2)))
    assert batch["same"].shape == (2, 2, 3)
    assert [array.shape for array in batch["several"]] == [(2, 2), (3, 2)]
    content = value_content(encode(np.ones((2, 3), "f4")))
    wanted = f'read it with fastrec.RawFeature((2, 3), np.float32, encoding="{encoding}")'
    assert content.remedy == wanted


@pytest.mark.parametrize("name", ["bfloat16", "float8_e5m2", "float8_e4m3fn"])
def test_types_of_ml_dtypes_are_read_raw_and_from_tensors(name: str) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.arange(6).reshape(2, 3).astype(getattr(ml_dtypes, name))
    number = {"bfloat16": 14, "float8_e5m2": 24, "float8_e4m3fn": 25}[name]
    raw, swapped = array.tobytes(), array.byteswap().tobytes()
    value = head(number, array.shape) + sized(4, raw)
    record = fastrec.encode_example({"raw": raw, "swapped": swapped, "x": value, "shape": [2, 3]})
    for dtype in (name, array.dtype, array.dtype.type):
        columns = fastrec.parse_example(
            [record],
            {
                "raw": fastrec.RawFeature((2, 3), dtype),
                "x": fastrec.RawFeature((2, 3), dtype, encoding="tensor"),
            },
        )
        for column in columns.values():
            assert column.dtype == array.dtype
            assert column[0].tobytes() == raw
    flat = fastrec.parse_example([record], {"raw": fastrec.RawFeature(None, name)})["raw"]
    assert flat[0].tobytes() == raw
    big = fastrec.RawFeature((2, 3), name, little_endian=False)
    assert fastrec.parse_example([record], {"swapped": big})["swapped"][0].tobytes() == raw
    shaped = fastrec.parse_example([record], {"raw": fastrec.RawFeature("shape", name)})["raw"]
    assert shaped[0].shape == (2, 3)
    assert shaped[0].tobytes() == raw


def test_impossible_encodings_are_refused() -> None:
    for arguments in ({"encoding": "Tensor"}, {"encoding": "npy", "little_endian": False}):
        with pytest.raises(ValueError, match="encoding"):
            fastrec.RawFeature((2,), "f4", **arguments)
    with pytest.raises(ValueError, match="shape that names features"):
        fastrec.RawFeature("shape", "f4", encoding="tensor")
