# SPDX-License-Identifier: Apache-2.0
"""Record files become tables and come back: the same values, whole files, bounded memory."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from misfits import FAULTS, USABLE, write_misfits
from reference import write_frames

import fastrec
from fastrec import arrow

pytest.importorskip("pyarrow")
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from fastrec.tables import json_lines

TABLES = ("parquet", "arrow", "jsonl")


def examples(path: Any) -> list[dict[str, Any]]:
    """What records hold: by feature the kind and the values, without features of no kind."""
    found = []
    for record in fastrec.Reader(path):
        message = fastrec.train.Example.FromString(record)
        features = message.features.feature
        kinds = {name: each.WhichOneof("kind") for name, each in features.items()}
        found.append(
            {
                name: (kind, [repr(v) for v in getattr(features[name], kind).value])
                for name, kind in kinds.items()
                if kind is not None
            }
        )
    return found


def put(path: Path, rows: list[Any]) -> Path:
    with fastrec.Writer(path, overwrite=True) as writer:
        for row in rows:
            writer.write(row)
    return path


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    rows: list[dict[str, Any]] = []
    for i in range(1000):
        row: dict[str, Any] = {"id": i - 5, "word": f"wörd {i}", "f": np.float32(i) / 7}
        row |= {"vec": np.arange(4, dtype=np.float32) / 3, "list": list(range(1 + i % 3))}
        row["names"] = [f"n{j}" for j in range(1 + i % 2)]
        if i % 3:
            row["some"] = [float("nan"), float("inf"), -float("inf"), i * 0.1][i % 4]
        if i % 2:
            row["text"] = f"t{i}" if i % 5 else ""
        rows.append(row)
    return put(tmp_path / "mixed.tfrecord", rows)


@pytest.mark.parametrize("kind", TABLES)
def test_values_come_back_as_they_were(mixed: Path, tmp_path: Path, kind: str) -> None:
    target = tmp_path / f"table.{kind}"
    calls: list[Any] = []
    done = fastrec.convert(mixed, target, progress=lambda *at: calls.append(at))
    assert done[:2] == (1000, [str(target)])
    assert done.text == ([] if kind == "jsonl" else ["names", "text", "word"])
    assert calls[-1] == (1000, 1000)
    back = tmp_path / "back.tfrecord"
    features = fastrec.infer_features(mixed, None) if kind == "jsonl" else None
    assert fastrec.convert(target, back, features=features) == (1000, [str(back)], [], [])
    assert examples(back) == examples(mixed)


def test_csv_has_scalars_and_tells_missing_from_empty(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"n": 1, "x": 0.5, "s": 'a,"b"\nc'},
        {"x": float("nan"), "s": ""},
        {"n": -(2**63), "x": 1e-30},
        {"n": 3, "x": float("inf"), "s": "2024-01-01"},
    ]
    source = put(tmp_path / "a.tfrecord", rows)
    target = tmp_path / "a.csv"
    fastrec.convert(source, target)
    assert pyarrow.csv.read_csv(target).num_rows == 4
    back = tmp_path / "back.tfrecord"
    fastrec.convert(target, back)
    assert examples(back) == examples(source)


def test_numbers_in_csv_lose_no_digit(tmp_path: Path) -> None:
    columns = {
        "zip": ["00123", "45"],
        "big": ["12345678901234567890", "1"],
        "edge": ["9223372036854775807", "-9223372036854775808"],
        "half": ["1.50", "2"],
        "plus": ["+1", "2"],
        "phone": ["+14155550123", "+14155550124"],
        "mixed": ["123456789", "0.5"],
        "round": ["123456790", "0.5"],
        "huge": ["1e39", "0.5"],
        "more": ["-1e400", "0.5"],
        "named": ["-inf", "Infinity"],
        "flag": ["true", "false"],
        "some": ["", "7"],
        "none": ["", ""],
    }
    lines = [",".join(columns), *map(",".join, zip(*columns.values(), strict=True))]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    fastrec.convert(tmp_path / "a.csv", tmp_path / "a.tfrecord")
    first, second = examples(tmp_path / "a.tfrecord")
    assert first["zip"] == ("bytes_list", ["b'00123'"])
    assert first["big"] == ("bytes_list", ["b'12345678901234567890'"])
    assert first["edge"] == ("int64_list", ["9223372036854775807"])
    assert first["half"] == ("float_list", ["1.5"])
    assert first["plus"] == ("float_list", ["1.0"])
    assert first["phone"] == ("bytes_list", ["b'+14155550123'"])
    assert first["mixed"] == ("bytes_list", ["b'123456789'"])
    assert first["round"] == ("float_list", ["123456792.0"])  # float32 prints it as 123456790
    assert first["huge"] == ("bytes_list", ["b'1e39'"])
    assert first["more"] == ("bytes_list", ["b'-1e400'"])
    assert first["named"] == ("float_list", ["-inf"])
    assert first["flag"] == ("int64_list", ["1"])
    assert second["some"] == ("int64_list", ["7"])
    assert "some" not in first
    assert "none" not in first


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_files_of_other_columns_are_refused(tmp_path: Path, kind: str) -> None:
    for number, name in enumerate("ab"):
        source = put(tmp_path / "x.tfrecord", [{name: 1}])
        fastrec.convert(source, tmp_path / f"{number}.{kind}")
    with pytest.raises(ValueError, match=rf"1\.{kind}' has other columns"):
        fastrec.convert(tmp_path / f"*.{kind}", tmp_path / "y.tfrecord")
    assert not (tmp_path / "y.tfrecord").exists()


def test_errors_name_the_file_and_the_place_in_it(tmp_path: Path) -> None:
    put(tmp_path / "a.tfrecord", [{"b": "fine"}])
    put(tmp_path / "b.tfrecord", [{"b": "fine"}, {"b": b"\xff"}])
    with pytest.raises(ValueError, match=r"b\.tfrecord': records 0 to 1: .*row 1"):
        fastrec.convert(tmp_path / "*.tfrecord", tmp_path / "a.csv")
    (tmp_path / "a.csv").write_text("n,m\n1,2\n3\n")
    with pytest.raises(ValueError, match=r"a\.csv'.*Expected 2 columns, got 1"):
        fastrec.convert(tmp_path / "a.csv", tmp_path / "y.tfrecord")
    pq.write_table(pa.table({"t": pa.array([1], pa.timestamp("s"))}), tmp_path / "t.parquet")
    with pytest.raises(TypeError, match=r"t\.parquet': rows 0 to 0: .*'t'.*times"):
        fastrec.convert(tmp_path / "t.parquet", tmp_path / "y.tfrecord")


@pytest.mark.parametrize(
    ("name", "compression", "message"),
    [
        ("a.csv.gz", "zstd", "must be compressed as gzip, got 'zstd'"),
        ("a.parquet.gz", None, "parquet is compressed inside"),
    ],
)
def test_names_and_compressions_that_differ_are_refused(
    tmp_path: Path, name: str, compression: Any, message: str
) -> None:
    source = put(tmp_path / "a.tfrecord", [{"n": 1}])
    with pytest.raises(ValueError, match=message):
        fastrec.convert(source, tmp_path / name, compression=compression)


def test_dates_in_csv_are_text(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("day,n\n2024-01-01,1\n2024-01-02,2\n")
    fastrec.convert(tmp_path / "a.csv", tmp_path / "a.tfrecord")
    assert [each["day"][1] for each in examples(tmp_path / "a.tfrecord")] == [
        ["b'2024-01-01'"],
        ["b'2024-01-02'"],
    ]


@pytest.mark.parametrize("kind", ["parquet", "arrow", "jsonl"])
@given(records=st.lists(st.binary(max_size=50), max_size=20))
def test_raw_keeps_every_byte(
    tmp_path_factory: pytest.TempPathFactory, kind: str, records: list[bytes]
) -> None:
    folder = tmp_path_factory.mktemp("raw")
    source = folder / "a.tfrecord"
    source.write_bytes(write_frames(records))
    options: dict[str, Any] = {"raw": True, "source_format": "tfrecord"}
    fastrec.convert(source, folder / f"a.{kind}", **options)
    options["source_format"] = None
    fastrec.convert(folder / f"a.{kind}", folder / "b.tfrecord", **options)
    assert (folder / "b.tfrecord").read_bytes() == source.read_bytes()


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_bytes_that_are_no_text_are_refused_or_base64(tmp_path: Path, kind: str) -> None:
    source = put(tmp_path / "a.tfrecord", [{"b": "fine"}, {"b": b"\xff\x00"}])
    target = tmp_path / f"a.{kind}"
    with pytest.raises(ValueError, match=r"records 0 to 1: .*'b'.*row 1.*UTF-8"):
        fastrec.convert(source, target)
    assert os.listdir(tmp_path) == ["a.tfrecord"]
    fastrec.convert(source, target, base64=True)
    fastrec.convert(target, tmp_path / "b.tfrecord", base64=True)
    assert examples(tmp_path / "b.tfrecord") == examples(source)


def test_text_schema_row_groups_and_compression(mixed: Path, tmp_path: Path) -> None:
    target = tmp_path / "a.parquet"
    features = {"word": fastrec.FixedLenFeature((), bytes), "id": arrow.Optional("int64")}
    options: dict[str, Any] = {"features": features, "compression": "zstd", "level": 3}
    fastrec.convert(mixed, target, text=["word"], row_group_size=300, **options)
    file = pq.ParquetFile(target)
    assert [file.metadata.row_group(i).num_rows for i in range(4)] == [300, 300, 300, 100]
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"
    assert file.schema_arrow.types == [pa.large_string(), pa.int64()]
    schema = pa.schema([("word", pa.string()), ("id", pa.int16())])
    fastrec.convert(mixed, target, text=True, schema=schema, **options, overwrite=True)
    assert pq.read_schema(target).equals(schema)
    narrow = pa.schema([("word", pa.string()), ("id", pa.int8())])
    with pytest.raises(ValueError, match=r"records 0 to 999: .*not in range"):
        fastrec.convert(mixed, target, text=True, schema=narrow, **options, overwrite=True)
    assert pq.read_schema(target).equals(schema)


def test_many_files_and_compressed_text(mixed: Path, tmp_path: Path) -> None:
    done = fastrec.convert(mixed, tmp_path / "x.parquet", shard_records=400)
    names = [f"x-{i:05d}-of-00003.parquet" for i in range(3)]
    assert [os.path.basename(path) for path in done.paths] == names
    back = fastrec.convert(tmp_path / "x-*.parquet", tmp_path / "y.tfrecord", shards=2)
    assert back.records == 1000
    assert len(back.paths) == 2
    back = fastrec.convert(done.paths, tmp_path / "w.tfrecord", shard_records=300)
    assert [fastrec.count(path) for path in back.paths] == [300, 300, 300, 100]
    target = tmp_path / "a.jsonl.gz"
    fastrec.convert(mixed, target)
    assert target.read_bytes()[:2] == b"\x1f\x8b"
    features = fastrec.infer_features(mixed, None)
    fastrec.convert(target, tmp_path / "z.tfrecord", features=features, compression="GZIP")
    assert examples(tmp_path / "z.tfrecord") == examples(mixed)


@pytest.mark.parametrize("name", ["x.csv.gz", "x.jsonl.zst"])
def test_shards_of_compressed_text_keep_the_suffixes_that_tell_the_format(
    mixed: Path, tmp_path: Path, name: str
) -> None:
    features = {"id": fastrec.FixedLenFeature((), np.int64)}
    done = fastrec.convert(mixed, tmp_path / name, features=features, shard_records=400)
    inner = name.removeprefix("x")
    names = [f"x-{i:05d}-of-00003{inner}" for i in range(3)]
    assert [os.path.basename(path) for path in done.paths] == names
    back = fastrec.convert(tmp_path, tmp_path / "back.tfrecord")  # all of a directory
    assert back.records == 1000
    found = fastrec.arrow.table(tmp_path / "back.tfrecord", features)
    assert (
        pa.table(found)["id"].to_pylist()
        == pa.table(fastrec.arrow.table(mixed, features))["id"].to_pylist()
    )


def test_sequence_examples_become_lists_of_lists(tmp_path: Path) -> None:
    source = tmp_path / "a.tfrecord"
    with fastrec.Writer(source) as writer:
        for i in range(3):
            frames = {"tokens": [[i, 1], [2]][: i + 1]}
            writer.write(fastrec.encode_sequence_example({"id": i}, frames))
    features = fastrec.SequenceFeatures(
        {"id": fastrec.FixedLenFeature((), np.int64)}, {"tokens": fastrec.RaggedFeature(np.int64)}
    )
    fastrec.convert(source, tmp_path / "a.parquet", features=features)
    assert pq.read_table(tmp_path / "a.parquet").to_pylist()[1] == {
        "id": 1,
        "tokens": [[1, 1], [2]],
    }
    fastrec.convert(tmp_path / "a.parquet", tmp_path / "b.tfrecord")
    assert list(fastrec.Reader(tmp_path / "b.tfrecord")) == list(fastrec.Reader(source))


def test_damage_publishes_nothing_or_is_skipped(mixed: Path, tmp_path: Path) -> None:
    data = bytearray(mixed.read_bytes())
    data[5000] ^= 1
    mixed.write_bytes(data)
    target = tmp_path / "a.parquet"
    target.write_bytes(b"old")
    features = {"id": fastrec.FixedLenFeature((), np.int64)}
    with pytest.raises(fastrec.CorruptRecordError, match=r"mixed\.tfrecord"):
        fastrec.convert(mixed, target, features=features, overwrite=True)
    assert target.read_bytes() == b"old"
    assert sorted(os.listdir(tmp_path)) == ["a.parquet", "mixed.tfrecord"]
    assert (
        fastrec.convert(mixed, target, features=features, on_error="skip", overwrite=True).records
        == 999
    )
    assert fastrec.convert(mixed, target, on_error="skip", overwrite=True).records == 999


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1}\n{"a": "x"}\n', "line 2: feature 'a' is text here and an integer before"),
        ('{"a": 1}\n{"a"\n', "line 2: Expecting"),
        ("[1]\n", "line 1: must be an object, got list"),
        ('{"a": [[[1]]]}\n', "line 1: feature 'a': a list of lists of lists cannot be stored"),
        ('{"a": [[1], 2]}\n', "line 1: feature 'a': a list and 2 are in one list"),
        ('{"a": {"b": 1}}\n', "line 1: feature 'a': an object cannot be stored"),
        ('{"a": [null]}\n', "line 1: feature 'a': null in a list"),
        ('{"a": 9999999999999999999}\n', "line 1: .*'a'"),
        ('{"a": 1, "b": 2, "a": 3}\n', "line 1: name 'a' occurs twice in an object"),
        ('{"a": 1.5}\n{"a": [16777217]}\n', "line 2: feature 'a' is .* does not hold 16777217"),
        ('{"a": 1.5}\n{"a": ' + "9" * 400 + "}\n", "line 2: feature 'a' is .* does not hold 999"),
        ('{"a": 1e999}\n', "line 1: feature 'a': a number is beyond float32"),
        ('{"a": [-Infinity, -1e999]}\n', "line 1: feature 'a': a number is beyond float32"),
        ('{"a\\ud800": 1}\n', "line 1: .*surrogates not allowed"),
        (
            '{"a": "NaN"}\n{"a": 1.5}\n',
            "line 1: feature 'a' begins with 'NaN', which is a float or",
        ),
        ('{"b": ["-Infinity"]}\n', "line 1: feature 'b' begins with '-Infinity'"),
    ],
)
def test_json_that_cannot_be_stored_is_refused_by_line(
    tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "a.jsonl").write_text(text)
    with pytest.raises((ValueError, OverflowError), match=message):
        fastrec.convert(tmp_path / "a.jsonl", tmp_path / "a.tfrecord")
    assert os.listdir(tmp_path) == ["a.jsonl"]


def test_a_name_that_occurs_twice_is_found_in_one_walk_over_an_object() -> None:
    class Name(str):
        comparisons = 0

        def __eq__(self, other: object) -> bool:
            Name.comparisons += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    names = [Name(number) for number in range(2000)]
    with pytest.raises(ValueError, match="name '1999' occurs twice in an object"):
        json_lines._object([(name, 0) for name in [*names, Name("1999")]])
    assert Name.comparisons < 10 * len(names)


def refusal(numbers: list[int | float]) -> str:
    """The error about the first line whose number does not fit the kind of the first line."""
    for line, number in enumerate(numbers, 1):
        if isinstance(numbers[0], int) and isinstance(number, float):
            return f"line {line}: feature 'a' is a float here and an integer before"
        is_mixed = isinstance(numbers[0], float) and isinstance(number, int)
        if is_mixed and abs(number) > 2**24 and float(str(np.float32(number))) != number:
            return f"line {line}: feature 'a' is .* float32 does not hold {number}"
    return ""


@given(
    numbers=st.lists(
        st.integers(-(2**63), 2**63 - 1) | st.integers(-(2**26), 2**26) | st.floats(width=32),
        min_size=1,
        max_size=4,
    ),
    kind=st.sampled_from(["csv", "jsonl"]),
)
def test_no_number_of_a_text_loses_its_digits(
    tmp_path_factory: pytest.TempPathFactory, numbers: list[int | float], kind: str
) -> None:
    folder = tmp_path_factory.mktemp("numbers")
    source, target = folder / f"a.{kind}", folder / "a.tfrecord"
    names = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    texts = [names.get(str(each), str(each)) for each in numbers]
    lines = texts if kind == "csv" else [f'{{"a": {text}}}' for text in texts]
    source.write_text("\n".join(["a"] * (kind == "csv") + lines))
    if kind == "jsonl" and (message := refusal(numbers)):
        with pytest.raises(ValueError, match=message):
            fastrec.convert(source, target)
        return
    fastrec.convert(source, target)
    for text, number, row in zip(texts, numbers, examples(target), strict=True):
        stored, [value] = row["a"]
        if stored == "float_list":
            printed = float(str(np.float32(value)))
            assert number in (printed, float(value)) or (math.isnan(printed) and math.isnan(number))
        else:
            assert value == (text if stored == "int64_list" else repr(text.encode()))


@pytest.mark.parametrize(
    ("kind", "compression", "level", "message"),
    [
        ("parquet", "gzip", 99, "level must be 1 to 9 for gzip, got 99"),
        ("parquet", "snappy", 1, "compression 'snappy' has no levels"),
        ("arrow", "zstd", 23, "level must be -131072 to 22 for zstd, got 23"),
    ],
)
def test_a_level_that_a_compression_lacks_is_refused(
    tmp_path: Path, kind: str, compression: Any, level: int, message: str
) -> None:
    source = put(tmp_path / "a.tfrecord", [{"n": 1}])
    with pytest.raises(ValueError, match=message):
        fastrec.convert(source, tmp_path / f"a.{kind}", compression=compression, level=level)
    assert os.listdir(tmp_path) == ["a.tfrecord"]


def test_json_of_others_is_read(tmp_path: Path) -> None:
    lines = [{"a": 1.5, "b": True, "s": "é", "n": None}, {"a": 2, "b": False, "l": ["x", "y"]}]
    (tmp_path / "a.ndjson").write_text("\n\n".join(map(json.dumps, lines)))
    fastrec.convert(tmp_path / "a.ndjson", tmp_path / "a.tfrecord")
    assert examples(tmp_path / "a.tfrecord")[1] == {
        "a": ("float_list", ["2.0"]),
        "b": ("int64_list", ["0"]),
        "l": ("bytes_list", ["b'x'", "b'y'"]),
    }


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (("a.tfrecord", "b.tfrecord"), {}, ValueError, "fastrec.reshard"),
        (("a.parquet", "b.csv"), {}, ValueError, "must be a record file, got two tables: "),
        (
            ("a.tfrecord", "b.xls"),
            {"target_format": "xls"},
            ValueError,
            "target_format must be 'tfrecord', 'parquet'",
        ),
        (("a.tfrecord", "b.parquet"), {"shards": 2}, TypeError, "shards requires a target"),
        (("a.tfrecord", "b.csv"), {"raw": True}, ValueError, "mutually exclusive"),
        (("a.tfrecord", "b.csv"), {}, TypeError, "column 'v' has lists, which CSV has not"),
        (("a.tfrecord", "b.arrow"), {"text": ["w"]}, ValueError, "'w' is not a column"),
        (("a.tfrecord", "b.parquet"), {"base64": True}, ValueError, "base64 requires"),
        (("a.tfrecord", "b.parquet"), {"level": 3}, ValueError, "level requires compression"),
        (("a.tfrecord", "b.parquet"), {"shard_records": 0}, ValueError, "at least 1, got 0"),
        (("a.parquet", "b.tfrecord"), {"text": True}, ValueError, "require a target that is a"),
        (("none.parquet", "b.tfrecord"), {}, FileNotFoundError, "none"),
    ],
)
def test_what_cannot_be_converted_is_said(
    tmp_path: Path, arguments: tuple[str, str], options: Any, error: type, message: str
) -> None:
    put(tmp_path / "a.tfrecord", [{"v": [1, 2]}])
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    with pytest.raises(error, match=message):
        fastrec.convert(*(tmp_path / name for name in arguments), **options)
    assert sorted(os.listdir(tmp_path)) == ["a.parquet", "a.tfrecord"]


def test_no_features_and_no_records(tmp_path: Path) -> None:
    (tmp_path / "a.tfrecord").write_bytes(b"")
    with pytest.raises(ValueError, match="has no features"):
        fastrec.convert(tmp_path / "a.tfrecord", tmp_path / "a.parquet")
    features = {"a": arrow.Optional("int64")}
    for kind in (*TABLES, "csv"):
        fastrec.convert(tmp_path / "a.tfrecord", tmp_path / f"a.{kind}", features=features)
        back = fastrec.convert(tmp_path / f"a.{kind}", tmp_path / "b.tfrecord", overwrite=True)
        assert back.records == 0


@pytest.mark.slow
@pytest.mark.unsanitized
def test_memory_does_not_grow_with_the_files(tmp_path: Path) -> None:
    block = os.urandom(200_000)
    with fastrec.Writer(tmp_path / "a.tfrecord") as writer:
        for i in range(1500):
            writer.write({"image": block, "label": i})
    program = (
        "import fastrec, resource, sys\n"
        "fastrec.convert(sys.argv[1], sys.argv[2])\n"
        "fastrec.convert(sys.argv[2], sys.argv[3])\n"
        "for line in open('/proc/self/status'):\n"
        "    if line.startswith('VmHWM'): print(line.split()[1])\n"
    )
    paths = [str(tmp_path / name) for name in ("a.tfrecord", "a.parquet", "b.tfrecord")]
    run = subprocess.run(
        [sys.executable, "-c", program, *paths], capture_output=True, text=True, check=True
    )
    peak = int(run.stdout) << 10
    assert peak < (500 << 20), f"{peak >> 20} MiB"


@pytest.mark.parametrize("target", ["a.parquet", "a.jsonl"])
@pytest.mark.parametrize("fault", FAULTS)
def test_files_may_be_left_out_but_not_all(tmp_path: Path, fault: str, target: str) -> None:
    def convert(*unusable: bool) -> int:
        folder = tmp_path / "-".join(map(str, unusable))
        folder.mkdir()
        paths = write_misfits(folder, fault, unusable)
        features = {"id": fastrec.FixedLenFeature((), np.int64)}
        done = fastrec.convert(paths, folder / target, features=features, on_error="skip")
        return done.records

    assert convert(True, False, True) == len(USABLE)
    with pytest.raises(ValueError, match="no record can be used: all of the first"):
        convert(True, True)
    assert not (tmp_path / "True-True" / target).exists()
