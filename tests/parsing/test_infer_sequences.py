# SPDX-License-Identifier: Apache-2.0
"""Feature lists are inferred, read and converted like any feature."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cost import check_proportion

import fastrec
from fastrec import RaggedFeature, infer_features
from fastrec.cli import main
from fastrec.parsing.infer import InferredSequence

ROWS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"id": 1, "none": None}, {"x": [[0.5, 1.5], [2.5, np.inf]], "word": [["a"], [], ["b", "c"]]}),
    ({"id": 2}, {"x": [[3.5, np.nan]]}),
    ({"id": 3}, {"word": [], "void": [[], []]}),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with fastrec.Writer(tmp_path / "s.tfrecord") as writer:
        for context, lists in ROWS:
            writer.write(fastrec.encode_sequence_example(context, lists))
    return tmp_path / "s.tfrecord"


def test_feature_lists_are_inferred(path: Path) -> None:
    features = infer_features(path)
    assert isinstance(features, InferredSequence)
    assert features.sequence == {
        "void": RaggedFeature(np.int64),
        "word": RaggedFeature(bytes),
        "x": RaggedFeature(np.float32),
    }
    assert set(dict(features)) == {"id", "none", "void", "word", "x"}
    text = str(features)
    assert "1 to 2 frames of 2" in text
    assert "1 NaN, 1 inf" in text


def test_inferred_feature_lists_are_batched(path: Path) -> None:
    context, lists, _ = next(iter(fastrec.Batcher(path, infer_features(path), 3)))
    assert context["id"].tolist() == [1, 2, 3]
    assert lists["word"].to_list() == [[[b"a"], [], [b"b", b"c"]], [], []]
    assert [len(row) for row in lists["x"]] == [2, 1, 0]


def test_the_printed_code_reads_the_feature_lists(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with contextlib.suppress(SystemExit):
        main(["schema", str(path)])
    code = capsys.readouterr().out
    code = code[code.index("import numpy") :].replace("    ...", "    found = batch")
    scope: dict[str, Any] = {}
    exec(code, scope)
    assert sorted(scope["found"][1]) == ["void", "word", "x"]


def test_the_schema_as_json_has_the_feature_lists(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["schema", "--json", str(path)])
    found = json.loads(capsys.readouterr().out)
    assert sorted(found["feature_lists"]) == ["void", "word", "x"]
    assert found["feature_lists"]["x"]["nan"] == 1


def test_an_unknown_second_field_is_no_feature_list(tmp_path: Path) -> None:
    with fastrec.Writer(tmp_path / "a.tfrecord") as writer:
        writer.write(fastrec.encode_example({"a": 1}) + b"\x12\x03abc")
    features = infer_features(tmp_path / "a.tfrecord")
    assert features == {"a": fastrec.FixedLenFeature((), np.int64)}


def test_kinds_that_differ_name_the_records(tmp_path: Path) -> None:
    with fastrec.Writer(tmp_path / "a.tfrecord") as writer:
        for value in [1, 2, None, 2.5, 3]:
            writer.write({"a": value})
    with pytest.raises(fastrec.ExampleParseError, match=r"int64_list in record 0.* record 3") as e:
        infer_features(tmp_path / "a.tfrecord")
    assert e.value.record == 3
    assert e.value.path == str(tmp_path / "a.tfrecord")


def test_many_names_take_linear_time(tmp_path: Path) -> None:
    def infers(names: int) -> Callable[[], None]:
        path = tmp_path / f"{names}.tfrecord"
        with fastrec.Writer(path) as writer:
            for begin in range(0, names, 20):
                writer.write({f"name_{begin + i}": 1.0 for i in range(20)})

        def infer() -> None:
            assert len(infer_features(path, None)) == names

        return infer

    check_proportion(infers, 12_000)


def test_tables_have_the_feature_lists(path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    rows = arrow.table(fastrec.arrow.table(path)).to_pylist()
    assert [row["word"] for row in rows] == [[[b"a"], [], [b"b", b"c"]], None, []]
    assert [row["none"] for row in rows] == [None, None, None]
    assert rows[0]["x"] == [[0.5, 1.5], [2.5, np.inf]]


@pytest.mark.parametrize("kind", ["parquet", "arrow", "jsonl"])
@pytest.mark.parametrize("frames", ["x", "word", "void"])
def test_feature_lists_survive_a_round_trip(path: Path, kind: str, frames: str) -> None:
    pytest.importorskip("pyarrow")
    table, again = path.with_suffix(f".{kind}"), path.with_name("again.tfrecord")
    fastrec.convert(path, table, features=["id", frames])
    fastrec.convert(table, again)
    specification = {frames: infer_features(path)[frames]}
    both = [
        fastrec.parse_sequence_example(
            fastrec.Reader(each), {"id": fastrec.FixedLenFeature((), np.int64)}, specification
        )
        for each in (path, again)
    ]
    assert both[0][0]["id"].tolist() == both[1][0]["id"].tolist()
    assert str(both[0][1][frames].to_list()) == str(both[1][1][frames].to_list())


def test_csv_refuses_feature_lists(path: Path) -> None:
    pytest.importorskip("pyarrow")
    with pytest.raises(TypeError, match="lists, which CSV has not"):
        fastrec.convert(path, path.with_suffix(".csv"))
    assert not path.with_suffix(".csv").exists()


def test_a_standard_stream_is_inferred_like_a_file(path: Path) -> None:
    stream = io.BytesIO(path.read_bytes())
    assert dict(infer_features(stream)) == dict(infer_features(path))


def test_functions_of_examples_name_those_of_sequences(tmp_path: Path) -> None:
    with fastrec.Writer(tmp_path / "a.tfrecord") as writer:
        writer.write(fastrec.encode_sequence_example({"id": 1}, {"f": [[1]]}))
    features: Any = fastrec.infer_features(tmp_path / "a.tfrecord")
    reader = fastrec.Reader(tmp_path / "a.tfrecord")
    remedy = "parse_sequence_example and Batcher read"
    with pytest.raises(TypeError, match=remedy):
        fastrec.parse_example(reader, features)
    with pytest.raises(TypeError, match=remedy):
        fastrec.parse_many(reader, [0], features)
    with pytest.raises(TypeError, match=remedy):
        fastrec.parse_single_example(reader[0], features)
