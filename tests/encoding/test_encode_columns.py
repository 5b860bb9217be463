# SPDX-License-Identifier: Apache-2.0
"""Columns of every origin, specifications, sequences: what is written, and what is refused."""

from __future__ import annotations

import array
import enum
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastrec
from fastrec import (
    FixedLenFeature,
    RaggedFeature,
    RawFeature,
    encode_example,
    encode_examples,
    encode_sequence_example,
    parse_example,
    train,
)

DTYPES = [np.dtype(c) for c in "?bBhHiIqQefd"]


def feature_of(value: Any, feature: Any) -> Any:
    data = encode_example({"a": value}, {"a": feature})
    return train.Example.FromString(data).features.feature["a"]


# What a specification specs.


@pytest.mark.parametrize("dtype", [*DTYPES, np.dtype("F"), np.dtype("D")], ids=str)
@pytest.mark.parametrize("little", [True, False])
def test_a_raw_feature_stores_any_dtype_as_bytes(dtype: np.dtype, little: bool) -> None:
    values = np.arange(6).reshape(2, 3).astype(dtype)
    features = {"a": RawFeature((2, 3), dtype, little)}
    data = encode_example({"a": values}, features)
    stored = values.astype(dtype.newbyteorder("<" if little else ">")).tobytes()
    assert train.Example.FromString(data).features.feature["a"].bytes_list.value == [stored]
    columns = encode_examples({"a": np.stack([values, values])}, features)
    assert columns.to_list() == [data, data]
    np.testing.assert_array_equal(parse_example([data], features)["a"][0], values)


@pytest.mark.parametrize(
    ("feature", "value"),
    [
        (FixedLenFeature((), np.int64, 1), 5),
        (FixedLenFeature((3,), np.int64, 1), [1, 2, 3]),
        (FixedLenFeature((2, 2), np.float32, 1), [[1, 2], [3, 4]]),
        (FixedLenFeature((2, 2), np.uint8, 1), np.ones((2, 2), np.uint8)),
        (FixedLenFeature((2, 1), bytes, b"x"), [["a"], ["b"]]),
        (FixedLenFeature((), bytes, b"x"), "a"),
        (RaggedFeature(bytes), ["a"]),
    ],
)
def test_a_list_of_rows_is_what_its_rows_are(feature: Any, value: Any) -> None:
    specs = {"a": feature}
    for rows in ([value, value], [None, value], [value, None], [None, None]):
        expected = [encode_example({"a": row}, specs) for row in rows]
        assert encode_examples({"a": rows}, specs).to_list() == expected


def test_a_list_of_uint8_scalars_in_arrays_is_of_integers() -> None:
    rows = [np.array(7, np.uint8), np.array(8, np.uint8)]
    assert encode_examples({"a": rows})[1] == encode_example({"a": 8})


@pytest.mark.parametrize("value", [65520.0, np.float32(1e6), 2**17, 1e300])
def test_a_number_that_would_become_infinite_is_not_stored_raw(value: Any) -> None:
    with pytest.raises(OverflowError, match=r"'a': .* does not fit float16"):
        encode_example({"a": value}, {"a": RawFeature((), np.float16)})
    assert feature_of(np.inf, RawFeature((), np.float16)).bytes_list.value == [b"\x00\x7c"]


def test_a_raw_feature_takes_lists_and_bytes_as_well() -> None:
    feature = RawFeature((3,), np.int16)
    expected = np.array([1, 2, 300], np.int16).tobytes()
    assert feature_of([1, 2, 300], feature).bytes_list.value == [expected]
    assert feature_of(expected, feature).bytes_list.value == [expected]
    assert feature_of(np.array([1, 2, 300]), feature).bytes_list.value == [expected]


@pytest.mark.parametrize(
    ("value", "feature", "says"),
    [
        ([1, 2, 70000], RawFeature((3,), np.int16), "70000 does not fit int16"),
        ([1, 2], RawFeature((3,), np.int16), r"must have shape \(3,\).*got \(2,\)"),
        (b"12345", RawFeature((3,), np.int16), "5 bytes"),
        ([1.5, 2, 3], RawFeature((3,), np.int16), "float64"),
        ("text", RawFeature((3,), np.int16), "4 bytes"),
        (3.5, FixedLenFeature((), np.int64), "int64 of shape"),
        ("x", FixedLenFeature((), np.int64), "int64 of shape"),
        ([1, 2], FixedLenFeature((), np.int64), r"got \(2,\)"),
        ([[1, 2]], FixedLenFeature((2,), np.int64), r"got \(1, 2\)"),
        (300, FixedLenFeature((), np.int8), "300 does not fit int8"),
        (-1, FixedLenFeature((), np.uint32), "-1 does not fit uint32"),
        (2, FixedLenFeature((), np.bool_), "2 does not fit bool"),
        (1, FixedLenFeature((), bytes), "bytes of shape"),
        (["a", "b"], FixedLenFeature((), bytes), r"got \(2,\)"),
        (np.zeros(3), RaggedFeature(np.int64), "int64"),
        ("x", RaggedFeature(np.float32), "float32"),
        (None, FixedLenFeature((), np.int64), "None requires a default_value"),
        ([], FixedLenFeature((), np.int64), r"\(0,\)"),
    ],
)
def test_what_a_specification_does_not_allow_is_refused(
    value: Any, feature: Any, says: str
) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError), match=says) as caught:
        encode_example({"key": value}, {"key": feature})
    assert "'key'" in str(caught.value)


def test_a_specification_decides_the_kind() -> None:
    assert feature_of(3, FixedLenFeature((), np.float32)).float_list.value == [3.0]
    assert feature_of([1, 2], RaggedFeature(np.float32)).float_list.value == [1.0, 2.0]
    image = np.arange(4, dtype=np.uint8).reshape(2, 2)
    assert feature_of(image, FixedLenFeature((2, 2), np.int64)).int64_list.value == [0, 1, 2, 3]
    assert feature_of(image, FixedLenFeature((), bytes)).bytes_list.value == [image.tobytes()]
    assert feature_of([], RaggedFeature(np.int64)).WhichOneof("kind") == "int64_list"
    assert feature_of([], RaggedFeature(bytes)).WhichOneof("kind") == "bytes_list"
    assert feature_of(None, RaggedFeature(np.int64)).WhichOneof("kind") is None


def test_columns_follow_a_specification_as_rows_do() -> None:
    features = {
        "list": FixedLenFeature((2,), np.int64),
        "text": FixedLenFeature((), bytes),
        "any": RaggedFeature(np.float32),
        "small": FixedLenFeature((), np.int8),
    }
    rows: list[dict[str, Any]] = [
        {"list": [1, 2], "text": "a", "any": [1, 2.5], "small": -3},
        {"list": [3, 4], "text": b"b", "any": [7], "small": 4},
    ]
    columns: dict[str, Any] = {key: [row[key] for row in rows] for key in features}
    columns["list"] = np.array(columns["list"], np.uint8)
    columns["small"] = np.array(columns["small"])
    expected = [encode_example(row, features) for row in rows]
    assert encode_examples(columns, features).to_list() == expected
    parsed = parse_example(expected, features)
    assert parsed["list"].tolist() == [[1, 2], [3, 4]]
    assert parsed["small"].tolist() == [-3, 4]


def test_a_column_that_breaks_its_specification_names_the_row() -> None:
    with pytest.raises(OverflowError, match="'a': row 2: 200 does not fit int8"):
        encode_examples({"a": [1, 2, 200]}, {"a": FixedLenFeature((), np.int8)})
    with pytest.raises(ValueError, match="'a': row 1 has 3 values"):
        encode_examples({"a": [[1, 2], [1, 2, 3]]}, {"a": FixedLenFeature((2,), np.int64)})


def test_the_names_of_a_specification_are_those_of_the_rows() -> None:
    features = {"a": FixedLenFeature((), np.int64), "b": FixedLenFeature((), np.int64, 7)}
    assert encode_example({"a": 1}, features) == encode_example({"a": 1})
    with pytest.raises(ValueError, match="'a' of the specification is missing"):
        encode_example({"b": 1}, features)
    with pytest.raises(ValueError, match="'c' is not in the specification"):
        encode_examples({"a": [1], "c": [2]}, features)


def test_a_shape_goes_beside_the_bytes_when_it_is_asked_for() -> None:
    images = [np.zeros((2, 3, 3), np.uint8), np.ones((4, 1, 3), np.uint8)]
    asked = [encode_example({"image": p}, shapes={"image": "shape"}) for p in images]
    assert asked == [encode_example({"image": p, "shape": list(p.shape)}) for p in images]
    assert encode_examples({"image": images}, shapes={"image": "shape"}).to_list() == asked
    features = {"image": RawFeature("shape", np.uint8)}
    assert [encode_example({"image": p}, features) for p in images] == asked
    parsed = parse_example(asked, features)["image"]
    for found, image in zip(parsed, images, strict=True):
        np.testing.assert_array_equal(found, image)
    stacked = np.stack([images[0], images[0]])
    assert encode_examples({"image": stacked}, features).to_list() == [asked[0]] * 2


def test_a_writer_holds_its_rows_to_its_specification(tmp_path: Path) -> None:
    features = {"a": FixedLenFeature((), np.int8), "b": RawFeature((2,), np.float32)}
    with fastrec.Writer(tmp_path / "file", features=features) as writer:
        writer.write({"a": 3, "b": [1, 2]})
        for bad in ({"a": 300, "b": [1, 2]}, {"a": 3, "b": [1, 2, 3]}, {"a": 3}):
            with pytest.raises((ValueError, OverflowError)):
                writer.write(bad)
        with pytest.raises(OverflowError):
            writer.write_batch({"a": [1, 200], "b": np.zeros((2, 2))})
        writer.write_batch({"a": [1, 2], "b": np.zeros((2, 2))})
        assert writer.count == 3
    parsed = parse_example(list(iter(fastrec.Reader(tmp_path / "file"))), features)
    assert parsed["a"].tolist() == [3, 1, 2]


# Where columns come from.


class Dlpack:
    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.values.__dlpack_device__()


class ArrayProtocol:
    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.values


@pytest.mark.parametrize("wrap", [Dlpack, ArrayProtocol, memoryview])
def test_columns_come_from_whatever_offers_an_array(wrap: Any) -> None:
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert encode_examples({"a": wrap(values)}) == encode_examples({"a": values})
    if wrap is not memoryview:
        assert encode_example({"a": wrap(values)}) == encode_example({"a": values})


def test_columns_come_from_the_array_module() -> None:
    numbers = array.array("i", [1, 2, 3])
    assert encode_examples({"a": numbers}) == encode_examples({"a": [1, 2, 3]})
    assert encode_example({"a": numbers}) == encode_example({"a": [1, 2, 3]})


def test_an_array_that_cannot_be_had_is_refused_by_name() -> None:
    class Refuses:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            raise RuntimeError("it requires grad;\ncall detach()")

    for encode in (encode_example, encode_examples):
        with pytest.raises(TypeError, match=r"'a': Refuses cannot be converted.*detach"):
            encode({"a": Refuses()})


def test_paths_are_refused_and_what_to_do_is_said(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"'a': PosixPath is a path: pass str\(path\)"):
        encode_example({"a": tmp_path})
    with pytest.raises(TypeError, match="is a path"):
        encode_example({"a": [tmp_path]})
    with pytest.raises(TypeError, match="row 1"):
        encode_examples({"a": ["x", tmp_path]})


def test_rows_without_a_value_are_features_of_no_kind() -> None:
    for column in ([1, None, 3], ["a", None, "b"], [[1, 2], None, [3]]):
        rows = encode_examples({"a": column}).to_list()
        assert rows == [encode_example({"a": value}) for value in column]


def test_images_of_different_sizes_are_one_bytes_value_each() -> None:
    images = [np.full((n, 2, 3), n, np.uint8) for n in (1, 4, 2)]
    assert encode_examples({"a": images}).to_list() == [
        encode_example({"a": image}) for image in images
    ]


class Color(enum.IntEnum):
    RED = 3


def test_members_of_an_enum_are_their_numbers() -> None:
    records = encode_examples({"a": [Color.RED, None], "b": [[Color.RED], [1, Color.RED]]})
    assert list(records) == [
        encode_example({"a": Color.RED, "b": [3]}),
        encode_example({"a": None, "b": [1, 3]}),
    ]


def test_a_bad_value_in_a_list_names_its_row_and_type() -> None:
    with pytest.raises(TypeError, match="'a': row 2: int beside bytes or str"):
        encode_examples({"a": ["x", "y", 3]})
    with pytest.raises(TypeError, match="'a': row 1: set cannot be stored"):
        encode_examples({"a": [[1], {2}]})


# The same bytes for any number of threads, and for anybody who changes values meanwhile.


@pytest.mark.parametrize(
    ("column", "row"),
    [([1, "x"], 0), (["a", "b", 3], 2), ([["a"], [2]], 1), ([[b"a"], [], None, [4]], 3)],
)
def test_numbers_among_strings_are_refused_by_row(column: list[Any], row: int) -> None:
    with pytest.raises(TypeError, match=f"^feature 'k': row {row}: .* beside bytes or str"):
        fastrec.encode_examples({"k": column})


def test_masked_values_are_refused_and_a_mask_of_nothing_is_none() -> None:
    masked = np.ma.masked_array([1, 2], [False, True])
    for encode in (fastrec.encode_example, fastrec.encode_examples):
        with pytest.raises(ValueError, match=r"^feature 'k': .*masked"):
            encode({"k": masked})
    with pytest.raises(ValueError, match=r"^feature 'k': row 1: .*masked"):
        fastrec.encode_examples({"k": [np.array([1, 2]), masked]})
    whole = np.ma.masked_array([1, 2], False)
    assert fastrec.encode_example({"k": whole}) == fastrec.encode_example({"k": [1, 2]})


def test_the_bytes_are_the_same_for_any_number_of_threads(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    columns = {
        "i": rng.integers(-(2**62), 2**62, (5000, 40)),
        "f": rng.standard_normal((5000, 100)),
        "b": rng.integers(0, 256, (5000, 300), np.uint8),
        "s": [b"x" * int(n) for n in rng.integers(0, 50, 5000)],
    }
    expected = encode_examples(columns, threads=1)
    for threads in (2, 3, 7):
        assert encode_examples(columns, threads=threads) == expected
        path = tmp_path / str(threads)
        with fastrec.Writer(path, threads=threads, shards=None) as writer:
            writer.write_batch(columns)
        assert list(iter(fastrec.Reader(path))) == expected.to_list()


def test_shards_take_the_rows_of_a_batch_in_turn(tmp_path: Path) -> None:
    columns = {"a": np.arange(1000)}
    with fastrec.Writer(tmp_path / "x.tfrecord", shards=3) as writer:
        writer.write({"a": -1})
        writer.write_batch(columns)
    parts = [list(iter(fastrec.Reader(path))) for path in writer.paths]
    values = [encode_example({"a": n - 1}) for n in range(1001)]
    assert parts == [values[0::3], values[1::3], values[2::3]]


def test_values_that_change_meanwhile_never_make_an_unsound_record(tmp_path: Path) -> None:
    values = np.zeros((2000, 500), np.int64)
    offsets = np.arange(0, 2001 * 8, 8, dtype=np.int64)
    strings = fastrec.Bytes(np.zeros(16000, np.uint8), offsets)
    stop = threading.Event()

    def change() -> None:
        step = 0
        while not stop.is_set():
            step += 1
            values[:, step % 500] = 1 << (step % 62)
            offsets[1 + step % 1999] ^= 1 << (step % 63)

    thread = threading.Thread(target=change)
    thread.start()
    written = 0
    try:
        for number in range(30):
            path = tmp_path / str(number)
            try:
                with fastrec.Writer(path, fsync=False, threads=2) as writer:
                    writer.write_batch({"a": values, "b": strings})
            except ValueError:
                assert not path.exists()
                continue
            written += 1
            assert fastrec.verify(path).records == 2000
    finally:
        stop.set()
        thread.join()


# Sequences.


def sequence_of(context: dict[str, Any], lists: dict[str, Any]) -> train.SequenceExample:
    message = train.SequenceExample()
    if context:
        message.context.ParseFromString(
            train.Example.FromString(encode_example(context)).features.SerializeToString()
        )
    for name, steps in lists.items():
        features = message.feature_lists.feature_list[name]
        for step in steps:
            example = train.Example.FromString(encode_example({"x": step}))
            features.feature.append(example.features.feature["x"])
    return message


STEPS = st.one_of(
    st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=3), max_size=4),
    st.lists(st.binary(max_size=5), max_size=4),
    st.lists(st.floats(width=32), max_size=4),
)


@given(
    st.dictionaries(st.text("abc", min_size=1, max_size=1), st.integers(0, 9), max_size=3),
    st.dictionaries(st.text("abc", min_size=1, max_size=1), STEPS, max_size=3),
)
def test_a_sequence_is_what_protobuf_makes_of_it(
    context: dict[str, Any], lists: dict[str, Any]
) -> None:
    data = encode_sequence_example(context, lists)
    assert data == sequence_of(context, lists).SerializeToString(deterministic=True)


def test_a_sequence_may_lack_either_half() -> None:
    assert encode_sequence_example(None, None) == b""
    assert encode_sequence_example({"a": 1}, {}) == encode_example({"a": 1})
    with pytest.raises(TypeError, match="context must be a mapping, got list"):
        encode_sequence_example([1], {})  # type: ignore[arg-type]
    with pytest.raises(OverflowError, match="'a'"):
        encode_sequence_example({}, {"a": [1.0, 1e300]})


def test_a_sequence_is_parsed_as_it_was_written() -> None:
    data = encode_sequence_example({"id": 7}, {"t": [[1, 2], [3]], "w": ["a", "b", "c"]})
    context, lists = fastrec.parse_single_sequence_example(
        data,
        {"id": FixedLenFeature((), np.int64)},
        {"t": RaggedFeature(np.int64), "w": fastrec.FixedLenSequenceFeature((), bytes)},
    )[:2]
    assert int(context["id"]) == 7
    assert lists["t"].to_list() == [[1, 2], [3]]
    assert lists["w"].to_list() == [b"a", b"b", b"c"]


ITEMS = {
    "int": st.integers(-(2**64), 2**64) | st.integers(-9, 9),
    "float": st.floats(width=32),
    "bytes": st.binary(max_size=4),
    "any": st.one_of(st.integers(0, 5), st.floats(0, 1), st.booleans(), st.binary(max_size=2)),
    "list": st.lists(st.integers(0, 5), max_size=2),
}


@given(st.sampled_from(sorted(ITEMS)).flatmap(lambda kind: st.lists(st.lists(ITEMS[kind]))))
def test_rows_that_are_lists_are_encoded_as_the_same_rows_in_tuples(rows: list[list[Any]]) -> None:
    """Lists of one plain type are joined natively, and tuples take the general path."""

    def outcome(rows: Any) -> Any:
        try:
            return list(fastrec.encode_examples({"x": rows}))
        except (TypeError, ValueError, OverflowError) as error:
            return type(error), str(error).replace("tuple", "list")

    assert outcome(rows) == outcome([tuple(row) for row in rows])
