# SPDX-License-Identifier: Apache-2.0
"""Features of a file are inferred from its records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference
import strategies as make
from hypothesis import given
from hypothesis import strategies as st
from verbs import gzipped, number_records, write, write_examples

import fastrec
from fastrec import FixedLenFeature, RaggedFeature, RawFeature, infer_features


def test_values_of_one_size_have_a_fixed_length(tmp_path: Path) -> None:
    rows = [{"i": i, "f": 0.5, "v": [1.0, 2.0, 3.0], "s": "x" * i} for i in range(5)]
    features = infer_features(write_examples(tmp_path / "file", rows))
    assert features == {
        "f": FixedLenFeature((), np.float32),
        "i": FixedLenFeature((), np.int64),
        "s": FixedLenFeature((), bytes),
        "v": FixedLenFeature((3,), np.float32),
    }


def test_values_of_differing_sizes_are_ragged(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"i": [1] * n, "s": [b"x"] * (2 - n)} for n in (1, 2)]
    features = infer_features(write_examples(tmp_path / "file", rows))
    assert features == {"i": RaggedFeature(np.int64), "s": RaggedFeature(bytes)}


def test_a_feature_that_some_records_lack_can_still_be_read(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"a": 1, "b": 2}, {"a": 1}, {"a": 3, "b": None}]
    path = write_examples(tmp_path / "file", rows)
    columns = fastrec.parse_example(list(fastrec.Reader(path)), infer_features(path))
    assert np.ravel(columns["a"]).tolist() == [1, 1, 3]
    assert "b" in columns


def test_images_with_a_shape_become_arrays(tmp_path: Path) -> None:
    images = np.arange(5 * 4 * 3 * 3, dtype=np.uint8).reshape(5, 4, 3, 3)
    rows = [{"image": image, "shape": [4, 3, 3], "label": 1} for image in images]
    path = write_examples(tmp_path / "file", rows)
    features = infer_features(path)
    assert features["image"] == RawFeature((4, 3, 3), np.uint8)
    found = fastrec.parse_example(list(fastrec.Reader(path)), features)
    np.testing.assert_array_equal(found["image"], images)


def test_a_first_key_that_is_empty_and_occurs_twice_is_one_feature(tmp_path: Path) -> None:
    record = b"\x0a\x04\x0a\x00\x0a\x00"  # two entries without a key and a value
    path = write(tmp_path / "file", [record, record])
    assert list(infer_features(path)) == [""]


def test_a_shape_that_does_not_fit_is_not_believed(tmp_path: Path) -> None:
    rows = [{"image": b"12345", "shape": [2, 2]}, {"image": b"123", "shape": [2, 2]}]
    path = write_examples(tmp_path / "file", rows)
    features = infer_features(path)
    assert features["image"] == FixedLenFeature((), bytes)
    rows = [{"image": b"1234", "shape": [2**33, 2**33]}, {"image": b"1", "shape": [-1, -1]}]
    path = write_examples(tmp_path / "hostile", rows)
    fastrec.parse_example(list(fastrec.Reader(path)), infer_features(path))


@given(st.lists(make.plain_examples, max_size=5))
def test_whatever_is_inferred_reads_the_file(tmp_path: Path, records: list[bytes]) -> None:
    path = write(tmp_path / "file", records)
    kinds: dict[str, set[str]] = {}
    for record in records:
        for name in make.NAMES:
            for feature in reference.find_features(record, [name]).values():
                kinds.setdefault(name, set()).add(str(feature.WhichOneof("kind")))
    if any(len(found) > 1 for found in kinds.values()):
        return  # No single schema reads these.
    features = infer_features(path)
    assert set(kinds) <= set(features)
    if features:
        columns = fastrec.parse_example(records, features)
        assert all(len(column) == len(records) for column in columns.values())
        assert sum(map(len, fastrec.Batcher(path, batch_size=3))) == len(records)


def test_a_feature_of_two_kinds_is_told(tmp_path: Path) -> None:
    path = write_examples(tmp_path / "file", [{"a": 1}, {"a": 2.5}])
    with pytest.raises(fastrec.ExampleParseError, match=r"'a'.*float_list and int64_list"):
        infer_features(path)


def test_only_the_first_records_are_looked_at(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"a": 1}] * 10 + [{"b": 1}]
    path = write_examples(tmp_path / "file", rows)
    assert set(infer_features(path, limit=10)) == {"a"}
    assert set(infer_features(path, limit=11)) == {"a", "b"}
    assert set(infer_features(path)) == {"a", "b"}


def test_compressed_files_can_be_looked_at(tmp_path: Path) -> None:
    data = reference.write_frames([reference.encode({"a": 1})] * 3)
    (tmp_path / "file").write_bytes(gzipped(data))
    assert infer_features(tmp_path / "file") == {"a": FixedLenFeature((), np.int64)}


def test_records_that_are_no_examples_are_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "file", number_records(3))
    with pytest.raises(fastrec.ExampleParseError) as caught:
        infer_features(path)
    assert caught.value.record == 0


def test_damage_is_an_error_here_too(tmp_path: Path) -> None:
    path = write_examples(tmp_path / "file", [{"a": 1}] * 3)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(fastrec.TruncatedFileError):
        infer_features(path)


def test_an_empty_file_has_no_features(tmp_path: Path) -> None:
    assert infer_features(write(tmp_path / "file", [])) == {}


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        infer_features(tmp_path / "absent")


@pytest.mark.parametrize("kind", ["example", "shapes", "sequence", "many names"])
@pytest.mark.parametrize("limit", [1, 17, None])
def test_records_that_are_no_examples_are_left_out_and_listed(
    tmp_path: Path, kind: str, limit: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fastrec.parsing.infer._MOST_CELLS", 100)

    def row(number: int) -> bytes:
        if kind == "sequence":
            return fastrec.encode_sequence_example({"i": number}, {"frames": [[number]]})
        extra: dict[str, Any] = {}
        if kind == "shapes":
            extra = {"image": b"123456", "image/shape": [2, 3]}
        if kind == "many names":
            extra = {f"{number // 2} {k}": 1 for k in range(3)}
        return fastrec.encode_example({"i": number, **extra})

    sound = [row(number) for number in range(1100 if kind == "example" else 60)]
    bad = [3, 4, 20, len(sound) - 1] if limit != 1 else [3, 20]
    files = [write(tmp_path / "sound", sound), tmp_path / "first", tmp_path / "second"]
    listed = [b"no message" if n in bad else record for n, record in enumerate(sound)]
    write(files[1], listed[:10])
    write(files[2], listed[10:])
    told: list[Any] = []
    for on_error in ("skip", told.append):
        features = infer_features(files[1:], limit, on_error=on_error)
        expected = infer_features(files[0], limit)
        seen = len(sound) if limit is None else limit
        within = [n for n in bad if n < seen]
        assert [(Path(lost.path), lost.record, lost.kind) for lost in features.skipped] == [
            (files[1] if n < 10 else files[2], n % 10 if n < 10 else n - 10, "malformed")
            for n in within
        ]
        assert features.records == seen - len(within)
        if kind != "many names":
            assert list(features) == list(expected)
            assert [features[name] for name in features] == [expected[name] for name in expected]
    assert [error.record for error in told] == [n if n < 10 else n - 10 for n in within]
    if within:
        with pytest.raises(fastrec.ExampleParseError, match=r"record 3 in .*first"):
            infer_features(files[1:], limit)


def test_a_source_without_any_example_cannot_be_inferred(tmp_path: Path) -> None:
    path = write(tmp_path / "file", [b"no message"] * 5)
    with pytest.raises(
        fastrec.ExampleParseError, match="no record can be used: all of the first 5 were left"
    ):
        infer_features(path, on_error="skip")
