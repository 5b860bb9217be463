# SPDX-License-Identifier: Apache-2.0
"""JsonFeature: columns of the values in JSON documents; anything else is an error with a reason."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cost import check_proportion

import fastrec
from fastrec import JsonFeature

DOCUMENT = {
    "label": 3,
    "size": [640, 480],
    "caption": "blå",
    "boxes": [[1, 2, 3, 4], [5, 6, 7, 8.5]],
    "tags": ["a", "b"],
    "names": [["a", "b", "c"]],
    "good": True,
    "none": None,
    "inner": {"a.b": {"m": 1.5}},
}


def parse(feature: JsonFeature, *documents: Any, key: str = "json") -> Any:
    texts = [each if isinstance(each, bytes) else json.dumps(each) for each in documents]
    records = [fastrec.encode_example({key: text}) for text in texts]
    return fastrec.parse_example(records, {"x": feature})["x"]


@pytest.mark.parametrize(
    ("path", "shape", "dtype", "wanted"),
    [
        ("label", (), np.int64, 3),
        (["label"], (), np.uint8, 3),
        ("label", (), np.float32, 3.0),
        (("size", 1), (), np.int32, 480),
        ("size", 2, np.float64, [640.0, 480.0]),
        ("size", None, np.int16, [640, 480]),
        ("caption", (), bytes, "blå".encode()),
        ("boxes", (2, 4), np.float32, [[1, 2, 3, 4], [5, 6, 7, 8.5]]),
        (("boxes", 1), (4,), np.float64, [5, 6, 7, 8.5]),
        ("tags", None, bytes, [b"a", b"b"]),
        ("tags", (2,), bytes, [b"a", b"b"]),
        ("names", (1, 3), bytes, [[b"a", b"b", b"c"]]),
        ("good", (), bool, True),
        (("inner", "a.b", "m"), (), np.float32, 1.5),
    ],
)
def test_values_become_columns(path: Any, shape: Any, dtype: Any, wanted: Any) -> None:
    column = parse(JsonFeature(path, shape, dtype), DOCUMENT, DOCUMENT)
    rows = column.tolist() if isinstance(column, np.ndarray) else column.to_list()
    assert rows == [wanted, wanted]
    if isinstance(column, np.ndarray):
        assert column.dtype == dtype
    assert type(column) is (
        fastrec.Ragged if shape is None else fastrec.Bytes if dtype is bytes else np.ndarray
    )


def test_a_whole_document_and_another_feature_of_the_record() -> None:
    assert parse(JsonFeature((), (2,), np.int64), [1, 2]).tolist() == [[1, 2]]
    feature = JsonFeature("a", (), np.int64, value_key="meta")
    assert parse(feature, {"a": 5}, key="meta").tolist() == [5]


@pytest.mark.parametrize(
    ("shape", "dtype", "default", "wanted"),
    [
        ((), np.int32, -1, -1),
        ((2,), np.float32, [0.5, 1], [0.5, 1]),
        ((2,), np.int64, 7, [7, 7]),
        (None, np.int64, [], []),
        ((), bytes, "no", b"no"),
        ((), bytes, b"", b""),
        ((), bool, False, False),
    ],
)
def test_what_is_absent_or_null_becomes_the_default(
    shape: Any, dtype: Any, default: Any, wanted: Any
) -> None:
    for path in ("absent", "none", ("none", "deeper"), ("size", 9), ("inner", "a.b", "x", "y")):
        column = parse(JsonFeature(path, shape, dtype, default), DOCUMENT)
        assert (column.tolist() if isinstance(column, np.ndarray) else column.to_list()) == [wanted]
    feature = JsonFeature("absent", shape, dtype, default)
    column = fastrec.parse_example([fastrec.encode_example({"other": 1})], {"x": feature})["x"]
    assert (column.tolist() if isinstance(column, np.ndarray) else column.to_list()) == [wanted]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"", "it is not JSON: Expecting value"),
        (b"{", "it is not JSON: "),
        (b'{"x": 1}x', "it is not JSON: Extra data"),
        (b"\xff{}", "it is not JSON: 'utf-8' codec can't decode byte 0xff"),
        (b'{"x": NaN}', "it is not JSON: NaN is not a number of JSON"),
        (b'{"y": -Infinity}', "it is not JSON: -Infinity is not a number of JSON"),
        (b'{"x": 1, "y": {"z": 1, "z": 2}}', "the name 'z' is there twice in one object"),
        (b"[" * 200_000, "it is JSON whose objects or lists are nested too deeply"),
        (b'{"a":' * 200_000, "it is JSON whose objects or lists are nested too deeply"),
        (b'{"x": ' + b"9" * 5000 + b"}", "a number has 5000 digits, more than 400"),
        (b'"' + b" " * (1 << 24) + b'"', "must have at most 16 MiB, got 16777218 bytes"),
        (b"{}", "the JSON value ['x'] is absent; default_value= stands for it"),
        (b'{"x": null}', "the JSON value ['x'] is null; default_value= stands for it"),
        (b"[1]", "the JSON value ['x'] has a list where 'x' requires an object"),
        (b'{"x": 1.0}', "the JSON value ['x'] must be an integer, got the number 1.0"),
        (b'{"x": true}', "the JSON value ['x'] must be an integer, got a bool"),
        (b'{"x": "1"}', "the JSON value ['x'] must be an integer, got a string"),
        (b'{"x": [1]}', "the JSON value ['x'] must be an integer, got a list"),
        (b'{"x": {}}', "the JSON value ['x'] must be an integer, got an object"),
        (b'{"x": 9223372036854775808}', "must fit int64, got 9223372036854775808"),
    ],
)
def test_hostile_documents(text: bytes, says: str) -> None:
    with pytest.raises(fastrec.ExampleParseError) as caught:
        parse(JsonFeature("x", (), np.int64), {"x": 1}, text)
    error = caught.value
    assert str(error).startswith("record 1: feature 'json': ")
    assert says in str(error)
    assert len(str(error)) < 400
    assert (error.record, error.feature) == (1, "json")


@pytest.mark.parametrize(
    ("shape", "dtype", "text", "says"),
    [
        ((), np.uint8, "-1", "must fit uint8, got -1"),
        ((), np.float32, "1e39", "must fit float32, got 1e+39"),
        ((), np.float64, "1e999", "must fit float64, got inf"),
        ((), np.float64, "9" * 400, "must fit float64, got 999"),
        ((), np.float32, '"a"', "must be a number, got a string"),
        ((), np.float32, "false", "must be a number, got a bool"),
        ((), bool, "1", "must be true or false, got the number 1"),
        ((), bytes, "1", "must be a string, got the number 1"),
        ((), bytes, r'"\ud800"', "has half of a surrogate pair, which UTF-8 cannot encode"),
        (None, np.int64, "3", "must be a list, got the number 3"),
        (None, np.int64, "[[1]]", "must be an integer, got a list"),
        ((2,), np.int64, "[1]", "must be lists of shape (2,), got 1 elements for 2"),
        ((2, 2), np.int64, "[[1, 2], 3]", "must be lists of shape (2, 2), got the number 3 for 2"),
    ],
)
def test_values_of_other_types(shape: Any, dtype: Any, text: str, says: str) -> None:
    good = {"O": '"a"', "b": "true"}.get(np.dtype(dtype).kind if dtype is not bytes else "O", "1")
    lists = "[]" if shape is None else good
    for dim in reversed(shape or ()):
        lists = f"[{', '.join([lists] * dim)}]"
    with pytest.raises(fastrec.ExampleParseError) as caught:
        parse(JsonFeature((), shape, dtype), lists.encode(), text.encode())
    assert f"record 1: feature 'json': the JSON document {says}" in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((b"a", (), np.int64), "path must be a name, or a list of names and positions, got b'a'"),
        ((("a", -1), (), np.int64), "path must have only names and positions, got -1 in it"),
        ((True, (), np.int64), "path must have only names and positions, got True in it"),
        (("a", (), str), "dtype must be bytes for text, got str"),
        (("a", (), "c8"), "dtype must be bytes, a bool, an integer or a float"),
        (("a", None, np.int64, 3), r"default_value must be \[\] with shape=None, got 3"),
        (("a", (2,), np.int64, [1]), "default_value has 1 values"),
        (("a", (), np.uint8, 300), "default_value 300 does not fit uint8"),
    ],
)
def test_mistakes_in_arguments(arguments: Any, says: str) -> None:
    with pytest.raises((TypeError, ValueError), match=says):
        JsonFeature(*arguments)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """An archive as WebDataset writes it, in which the sample 7 has a wrong label."""
    path = tmp_path / "train.tar"
    with tarfile.open(path, "w") as tar:
        for number in range(10):
            label: Any = "seven" if number == 7 else number
            for extension, content in (
                ("txt", b"text"),
                ("json", json.dumps({"label": label, "words": ["w"] * number}).encode()),
            ):
                member = tarfile.TarInfo(f"{number:04d}.{extension}")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    return path


def test_json_files_of_an_archive(archive: Path) -> None:
    features = {
        "__key__": fastrec.FixedLenFeature((), bytes),
        "words": JsonFeature("words", None, bytes),
    }
    batcher = fastrec.Batcher(archive, features, 4, shuffle=True, seed=1)
    seen = []
    for batch in batcher:
        for key, words in zip(batch["__key__"], batch["words"].to_list(), strict=True):
            seen.append(int(key))
            assert words == [b"w"] * int(key)
    assert sorted(seen) == list(range(10))
    assert seen != sorted(seen)


def test_an_error_names_the_archive_and_the_sample(archive: Path) -> None:
    features = {"label": JsonFeature("label", (), np.int64)}
    with pytest.raises(fastrec.ExampleParseError) as caught:
        list(fastrec.Batcher(archive, features, 4))
    text = str(caught.value)
    assert "record 7" in text
    assert "train.tar" in text
    assert "feature 'json': the JSON value ['label'] must be an integer, got a string" in text
    batcher = fastrec.Batcher(archive, features, 4, on_error="skip")
    labels = [int(label) for batch in batcher for label in batch["label"]]
    assert labels == [*range(7), 8, 9]
    [skipped] = batcher.skipped
    assert skipped.record == 7
    assert "['label'] must be an integer" in str(skipped)


def test_a_name_that_is_there_twice_is_found_in_linear_time() -> None:
    def refuses(count: int) -> Callable[[], None]:
        names = [*range(count), count - 1]
        document = "{" + ",".join(f'"{name}":1' for name in names) + "}"
        record = fastrec.encode_example({"json": document})

        def parse() -> None:
            with pytest.raises(fastrec.ExampleParseError, match="is there twice in one object"):
                fastrec.parse_example([record], {"x": JsonFeature("x", (), np.int64)})

        return parse

    check_proportion(refuses, 80_000)
