# SPDX-License-Identifier: Apache-2.0
"""fastrec.spark on a local Spark: the types, options and modes that spark-tfrecord has."""

from __future__ import annotations

import decimal
import itertools
import json
import os
import pickle
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from misfits import FAULTS, USABLE, write_misfits
from object_server import Objects, ObjectServer
from pets import write_pets

import fastrec
from fastrec import _core

pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
JAVA = shutil.which("java") or os.environ.get("JAVA_HOME")

import pyarrow as pa  # noqa: E402
from pyspark.sql import SparkSession, types  # noqa: E402

from fastrec.spark import TFRecordSource  # noqa: E402

pytestmark = [
    # Each test is skipped, for pytest fails where it finds none.
    pytest.mark.skipif(not JAVA, reason="Spark needs Java, which is not installed"),
    pytest.mark.filterwarnings("ignore"),  # of Spark, and of what it imports
]


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    home = str(Path(fastrec.__file__).parents[1])
    os.environ["PYTHONPATH"] = os.pathsep.join([home, os.environ.get("PYTHONPATH", "")])
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.memory", "1g")
        # Short jobs: compiling them well costs more than they do.
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def rows(frame: Any, by: str = "id") -> list[dict[str, Any]]:
    return sorted((row.asDict(recursive=True) for row in frame.collect()), key=lambda row: row[by])


def names(folder: Path) -> list[str]:
    """Files of a directory and those below, but those of Spark's file system."""
    found = (str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    return sorted(found)


# The types of spark-tfrecord's TFRecordIOSuite.
TYPES = types.StructType(
    [
        types.StructField("id", types.IntegerType()),
        types.StructField("IntegerCol", types.IntegerType()),
        types.StructField("LongCol", types.LongType()),
        types.StructField("FloatCol", types.FloatType()),
        types.StructField("DoubleCol", types.DoubleType()),
        types.StructField("DecimalCol", types.DecimalType(10, 2)),
        types.StructField("StrCol", types.StringType()),
        types.StructField("BinaryCol", types.BinaryType()),
        types.StructField("IntListCol", types.ArrayType(types.IntegerType())),
        types.StructField("LongListCol", types.ArrayType(types.LongType())),
        types.StructField("FloatListCol", types.ArrayType(types.FloatType())),
        types.StructField("DoubleListCol", types.ArrayType(types.DoubleType())),
        types.StructField("StrListCol", types.ArrayType(types.StringType())),
        types.StructField("BinaryListCol", types.ArrayType(types.BinaryType())),
    ]
)


def full_row(i: int) -> tuple[Any, ...]:
    numbers = [i, -i, 2]
    floats = [0.5 * i, -1.25]
    texts = [f"r{i}", "", "é"]
    blobs = [bytes([i, 255]), b""]
    return (
        i, i + 1, i << 40, 2.5 * i, -0.125 * i, decimal.Decimal(i) / 4, f"r{i}", bytes([i, 254]),
        numbers, [n << 33 for n in numbers], floats, floats, texts, blobs,
    )  # fmt: skip


def test_every_type_is_written_and_read_again(spark: Any, tmp_path: Path) -> None:
    wanted = [full_row(i) for i in range(20)]
    frame = spark.createDataFrame(wanted, TYPES).repartition(3)
    frame.write.format("fastrec").mode("append").save(str(tmp_path / "out"))
    back = spark.read.format("fastrec").schema(TYPES).load(str(tmp_path / "out"))
    assert back.schema == TYPES
    assert [tuple(row.values()) for row in rows(back)] == wanted
    assert "_SUCCESS" in names(tmp_path / "out")
    fastrec.verify([str(path) for path in (tmp_path / "out").glob("part-*")])


def test_the_schema_is_inferred_as_spark_tfrecord_does(spark: Any, tmp_path: Path) -> None:
    with fastrec.Writer(tmp_path / "a.tfrecord") as writer:
        writer.write({"id": 1, "f": 0.5, "s": "x", "l": [1, 2], "b": b"\xff", "some": [1.0]})
        writer.write({"id": 2, "f": 1.5, "s": "é", "l": [3], "b": b"ok"})
    frame = spark.read.format("fastrec").load(str(tmp_path))
    found = {field.name: field.dataType.simpleString() for field in frame.schema}
    assert found == {
        "b": "binary",
        "f": "float",
        "id": "bigint",
        "l": "array<bigint>",
        "s": "string",
        "some": "float",
    }
    assert rows(frame)[1] == {
        "id": 2, "f": 1.5, "s": "é", "l": [3], "b": b"ok", "some": None
    }  # fmt: skip
    assert frame.where("f > 1").select("id").collect()[0].id == 2


def test_missing_values_are_null_and_never_those_of_the_row_before(
    spark: Any, tmp_path: Path
) -> None:
    schema = "id long, a long, s string, l array<float>"
    given = [(0, 1, "x", [1.0]), (1, None, None, None), (2, 3, "", [])]
    frame = spark.createDataFrame(given, schema).coalesce(1)
    frame.write.format("fastrec").mode("append").save(str(tmp_path / "out"))
    found = rows(spark.read.format("fastrec").schema(schema).load(str(tmp_path / "out")))
    assert [row["a"] for row in found] == [1, None, 3]
    assert [row["s"] for row in found] == ["x", None, ""]
    assert [row["l"] for row in found] == [[1.0], None, []]
    strict = types.StructType([types.StructField("a", types.LongType(), nullable=False)])
    with pytest.raises(Exception, match=r"record 1.*'a'.*missing"):
        spark.read.format("fastrec").schema(strict).load(str(tmp_path / "out")).collect()


@pytest.mark.slow
def test_sequence_examples(spark: Any, tmp_path: Path) -> None:
    schema = "id long, name string, frames array<array<long>>, words array<array<string>>"
    given = [(i, f"n{i}", [[j] * (j + 1) for j in range(i)], [["a", "b"], []]) for i in range(5)]
    frame = spark.createDataFrame(given, schema)
    options = {"recordType": "SequenceExample"}
    target = str(tmp_path / "out")
    frame.write.format("fastrec").options(**options).mode("append").save(target)
    reader = spark.read.format("fastrec").options(**options)
    assert [tuple(row.values()) for row in rows(reader.schema(schema).load(target))] == given
    inferred = reader.load(target)
    assert inferred.schema["frames"].dataType.simpleString() == "array<array<bigint>>"
    assert inferred.schema["name"].dataType.simpleString() == "string"
    assert len(rows(inferred)) == 5
    with pytest.raises(Exception, match="require SequenceExample"):
        spark.read.format("fastrec").schema(schema).load(target).collect()


@pytest.mark.parametrize("codec", ["", "gzip", "org.apache.hadoop.io.compress.DefaultCodec"])
def test_byte_arrays_and_codecs(spark: Any, tmp_path: Path, codec: str) -> None:
    given = [(bytes([i]) * i,) for i in range(10)]
    frame = spark.createDataFrame(given, "byteArray binary").coalesce(1)
    options = {"recordType": "ByteArray", "codec": codec}
    target = tmp_path / "out"
    frame.write.format("fastrec").options(**options).mode("append").save(str(target))
    (path,) = target.glob("part-*")
    assert fastrec.Reader(path).is_compressed(str(path)) == bool(codec)
    assert list(fastrec.Reader(path)) == [record for (record,) in given]
    back = spark.read.format("fastrec").option("recordType", "ByteArray").load(str(target))
    assert sorted(bytes(row.byteArray) for row in back.collect()) == sorted(r for (r,) in given)


@pytest.mark.slow
def test_partitions_become_directories_and_columns_again(spark: Any, tmp_path: Path) -> None:
    given = [(i, i % 3, ["a b", "é/=", None][i % 3]) for i in range(12)]
    frame = spark.createDataFrame(given, "id long, k long, s string")
    target = tmp_path / "out"
    options = {"partitionBy": "k, s"}
    frame.write.format("fastrec").options(**options).mode("append").save(str(target))
    folders = sorted(str(p.relative_to(target)) for p in target.glob("k=*/*") if p.is_dir())
    assert folders == ["k=0/s=a b", "k=1/s=%C3%A9%2F%3D", "k=2/s=__HIVE_DEFAULT_PARTITION__"]
    back = spark.read.format("fastrec").load(str(target))
    assert dict(back.dtypes) == {"id": "bigint", "k": "bigint", "s": "string"}
    assert [tuple(row[n] for n in ("id", "k", "s")) for row in rows(back)] == given


@pytest.mark.slow
def test_one_file_is_read_by_many_tasks(spark: Any, tmp_path: Path) -> None:
    with fastrec.Writer(tmp_path / "a.tfrecord") as writer:
        writer.write_batch({"id": np.arange(20_000)})
    reader = spark.read.format("fastrec").option("partitionBytes", "100000")
    frame = reader.load(str(tmp_path / "a.tfrecord"))
    assert frame.rdd.getNumPartitions() > 5
    assert frame.selectExpr("count(*)", "count(distinct id)", "sum(id)").collect()[0] == (
        20_000,
        20_000,
        20_000 * 19_999 // 2,
    )
    several = reader.load([str(tmp_path / "a.tfrecord"), "file://" + str(tmp_path)])
    assert several.count() == 40_000


@pytest.mark.slow
def test_append_adds_and_overwrite_replaces(spark: Any, tmp_path: Path) -> None:
    target = str(tmp_path / "out")
    frame = spark.range(10).coalesce(1)
    for mode, count in (("append", 10), ("append", 20), ("overwrite", 10)):
        frame.write.format("fastrec").mode(mode).save(target)
        assert spark.read.format("fastrec").load(target).count() == count
    assert len(list((tmp_path / "out").glob("part-*"))) == 1


@pytest.mark.slow
def test_a_job_that_fails_leaves_what_was_there(spark: Any, tmp_path: Path) -> None:
    target = tmp_path / "out"
    spark.range(10).write.format("fastrec").mode("append").save(str(target))
    before = names(target)
    bad = spark.range(100, numPartitions=4).selectExpr("id", "if(id = 90, assert_true(false), 1) x")
    for mode in ("append", "overwrite"):
        with pytest.raises(Exception, match="is not true"):
            bad.selectExpr("id", "cast(x as long) x").write.format("fastrec").mode(mode).save(
                str(target)
            )
        assert names(target) == before
        assert [name for name in os.listdir(target) if name.startswith("_temporary")] == []


@pytest.mark.parametrize("fails_at", range(6))
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_commit_that_fails_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overwrite: bool, fails_at: int
) -> None:
    (tmp_path / "k=1").mkdir()
    for name in ("a.tfrecord", "k=1/b.tfrecord"):
        (tmp_path / name).write_bytes(b"old")
    schema = types.StructType([types.StructField(n, types.LongType()) for n in ("id", "k")])
    source = TFRecordSource({"path": str(tmp_path), "partitionBy": "k"})
    writer = source.writer(schema, overwrite)
    rows = pa.record_batch({"id": [1, 2, 3, 4], "k": [1, 1, 2, 3]})
    message = writer.write(iter([rows]))
    move, calls = _core.move, itertools.count()

    def failing(source: str, target: str, replace: bool) -> None:
        if next(calls) == fails_at:
            raise OSError(5, "Input/output error", target)
        move(source, target, replace)

    steps = 5 if overwrite else 3
    monkeypatch.setattr(_core, "move", failing)
    if fails_at >= steps:
        writer.commit([message, None])
        assert "_SUCCESS" in names(tmp_path)
        assert len([n for n in names(tmp_path) if "part-" in n]) == 3
        assert ("a.tfrecord" in names(tmp_path)) == (not overwrite)
        assert not list(tmp_path.glob("_temporary*"))
        return
    with pytest.raises(OSError, match="Input/output error"):
        writer.commit([message, None])
    pickle.loads(pickle.dumps(writer)).abort([message, None])
    assert names(tmp_path) == ["a.tfrecord", "k=1/b.tfrecord"]
    assert sorted(os.listdir(tmp_path)) == ["a.tfrecord", "k=1"]
    assert (tmp_path / "a.tfrecord").read_bytes() == b"old"


def test_damage_names_the_file_and_may_be_skipped(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "damaged.tfrecord"
    with fastrec.Writer(path) as writer:
        writer.write_batch({"id": np.arange(1000)})
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    reader = spark.read.format("fastrec").schema("id long")
    with pytest.raises(Exception, match=r"corrupted record at \d+ in .*damaged.tfrecord"):
        reader.load(str(path)).collect()
    assert reader.option("onError", "skip").load(str(path)).count() == 999


@pytest.mark.parametrize("kind", ["Example", "SequenceExample"])
def test_a_schema_is_inferred_without_records_that_are_skipped(
    spark: Any, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "some.tfrecord"
    with fastrec.Writer(path) as writer:
        for number in range(6):
            row = {"id": number, "word": "w"}
            writer.write(b"no message" if number % 4 == 1 else fastrec.encode_example(row))
    reader = spark.read.format("fastrec").options(recordType=kind, onError="skip")
    assert [row["id"] for row in rows(reader.load(str(path)))] == [0, 2, 3, 4]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"recordType": "Row"}, "recordType must be one of"),
        ({"sample": "x"}, "sample must be a positive integer"),
        ({"storageOptions": "endpoint"}, "storageOptions must be a JSON object"),
        ({"storageOptions": '{"token": "s3cr3t"}'}, "with 'token' cannot be pickled"),
        ({"path": "/nowhere"}, "No such file"),
    ],
)
def test_options_that_cannot_be(spark: Any, tmp_path: Path, options: Any, message: str) -> None:
    (tmp_path / "a.tfrecord").write_bytes(b"")
    reader = spark.read.format("fastrec").options(**{"path": str(tmp_path), **options})
    with pytest.raises(Exception, match=message):
        reader.load().collect()


def test_the_page_says_what_spark_gives(
    spark: Any,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = Path(__file__).parents[3] / "docs" / "data-engineers.md"
    found = re.search(r"## Spark.*?```python\n(.*?)```\n\n```\n(.*?)```", page.read_text(), re.S)
    assert found is not None
    (tmp_path / "train").mkdir()
    write_pets(tmp_path / "train")
    for name in ("pets", "changed", "damaged"):
        (tmp_path / "train" / f"{name}.tfrecord").unlink()
    code = found[1].replace('"train/"', f'"{tmp_path}/train/"')
    capsys.readouterr()
    exec(code.replace('"ones/"', f'"{tmp_path}/ones/"'), {"spark": spark})
    assert capsys.readouterr().out == found[2]


@pytest.fixture(scope="module")
def s3() -> Iterator[tuple[Any, dict[str, Any]]]:
    """A client with a bucket, and the storage options of its server, which asks for no key."""
    server_of = pytest.importorskip("moto.server", reason="moto is not installed")
    boto3 = pytest.importorskip("boto3", reason="boto3 is not installed")
    server = server_of.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    url = "http://{}:{}".format(*server.get_host_and_port())
    keys = {"aws_access_key_id": "key", "aws_secret_access_key": "secret"}
    client = boto3.client("s3", endpoint_url=url, region_name="us-east-1", **keys)
    client.create_bucket(Bucket="data-set")
    options = {"endpoint": url, "region": "us-east-1", "allow_http": True, "skip_signature": True}
    yield client, options
    server.stop()


def test_a_folder_of_a_store_is_read_by_the_executors(
    spark: Any, s3: tuple[Any, dict[str, Any]], tmp_path: Path
) -> None:
    client, options = s3
    for key, begin in (("k=1/a", 0), ("k=2/a", 1000), ("b", 2000), ("_temporary/c", 3000)):
        with fastrec.Writer(tmp_path / "x", overwrite=True) as writer:
            writer.write_batch({"id": np.arange(begin, begin + 1000)})
        public = {"ACL": "public-read"}
        client.upload_file(str(tmp_path / "x"), "data-set", f"train/{key}", ExtraArgs=public)
    for name in ("_SUCCESS", "b.frindex"):
        client.put_object(Bucket="data-set", Key=f"train/{name}", Body=b"no records")
    reader = spark.read.format("fastrec").option("storageOptions", json.dumps(options))
    frame = reader.option("partitionBytes", 10_000).load("s3://data-set/train")
    assert dict(frame.dtypes) == {"id": "bigint", "k": "bigint"}
    assert frame.rdd.getNumPartitions() > 5
    found = frame.groupBy("k").agg({"id": "sum", "*": "count"}).collect()
    assert {row.k: (row["sum(id)"], row["count(1)"]) for row in found} == {
        1: (499_500, 1000), 2: (1_499_500, 1000), None: (2_499_500, 1000)
    }  # fmt: skip
    assert reader.load("s3://data-set/train/k=*/a").count() == 2000
    assert reader.load(["s3://data-set/train/b", str(tmp_path / "x")]).count() == 2000
    with pytest.raises(Exception, match=r"s3://data-set/nothing"):
        reader.load("s3://data-set/nothing").count()


def test_an_object_of_a_server_is_read_in_ranges(spark: Any) -> None:
    pytest.importorskip("obstore", reason="obstore is not installed")
    records = [b"%d" % number * 50 for number in range(2000)]
    data = b"".join(map(_core.frame, records))
    with ObjectServer(Objects({"a.tfrecord": data})) as server:
        reader = spark.read.format("fastrec").option("recordType", "ByteArray")
        frame = reader.option("partitionBytes", 100_000).load(f"{server.url}/a.tfrecord")
        assert frame.rdd.getNumPartitions() > 3
        assert [bytes(row.byteArray) for row in frame.collect()] == records
        begins = {request.range[0] for request in server.requests if request.range}
        assert len(begins) > 3


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_store_is_not_written(spark: Any, mode: str) -> None:
    frame = spark.createDataFrame([(1,)], "id long")
    with pytest.raises(Exception, match=r"path must be a local .* 's3://data-set/out': files of"):
        frame.write.format("fastrec").mode(mode).save("s3://data-set/out")


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("id long, at timestamp", "'at': timestamp cannot be a feature"),
        ("id long, m map<string, long>", "'m': map<string,bigint> cannot be a feature"),
    ],
)
def test_types_that_no_feature_has_are_refused(
    spark: Any, tmp_path: Path, schema: str, message: str
) -> None:
    frame = spark.createDataFrame([], schema)
    with pytest.raises(Exception, match=message):
        frame.write.format("fastrec").mode("append").save(str(tmp_path / "out"))


# -- Filters ---------------------------------------------------------------------------------------


FILTERED = types.StructType(
    [
        types.StructField("id", types.LongType()),
        types.StructField("x", types.DoubleType()),
        types.StructField("word", types.StringType()),
        types.StructField("k", types.LongType()),
    ]
)
QUERIES = [
    "id = 7",
    "id <=> 7 and word is not null",
    "id > 10 and id <= 20",
    "x >= 3",
    "x = double('nan')",
    "x < 2 and not (id = 1)",
    "word in ('w1', 'w2', null)",
    "word is null",
    "word > 'w2' or id = 3",
    "k = 1",
    "k in (0, 2) and id < 30 and word = 'w1'",
    "id = 1000",
]


@pytest.fixture(scope="module")
def parted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files in a directory for each value of ``k``."""
    folder = tmp_path_factory.mktemp("filters")
    for k in range(3):
        (folder / f"k={k}").mkdir()
        with fastrec.Writer(folder / f"k={k}" / "part.tfrecord") as writer:
            for i in range(k, 60, 3):
                row = {"id": i, "x": float("nan") if i % 10 == 0 else i / 4}
                writer.write(row | ({"word": f"w{i % 4}"} if i % 5 else {}))
    return folder


@pytest.mark.parametrize("query", QUERIES)
def test_filters_that_are_pushed_change_no_result(spark: Any, parted: Path, query: str) -> None:
    def ask(pushes: bool) -> list[dict[str, Any]]:
        spark.conf.set("spark.sql.python.filterPushdown.enabled", str(pushes).lower())
        frame = spark.read.format("fastrec").schema(FILTERED)
        frame = frame.option("pushFilters", str(pushes).lower()).load(str(parted))
        return [{k: repr(v) for k, v in row.items()} for row in rows(frame.where(query))]

    assert ask(True) == ask(False)


def test_filters_leave_out_files_and_values(parted: Path) -> None:
    datasource = pytest.importorskip("pyspark.sql.datasource")
    if not hasattr(datasource, "EqualTo"):
        pytest.skip("Spark 4.1 has filters")
    options = {"path": str(parted), "pushFilters": "true"}
    schema = types.StructType(
        [field for field in FILTERED if field.name != "word"]
        + [types.StructField("word", types.LongType())]  # which is text
    )
    reader = TFRecordSource(options).reader(schema)
    wrong = datasource.EqualTo(("id",), 1000)
    filters = [datasource.EqualTo(("k",), 1), wrong]
    assert list(reader.pushFilters(filters)) == filters
    (part,) = reader.partitions()
    assert part.values == {"k": "1"}
    assert list(reader.read(part)) == []
    list(reader.pushFilters([datasource.EqualTo(("id",), 13)]))
    with pytest.raises(fastrec.ExampleParseError, match="word"):
        list(reader.read(part))


@pytest.mark.parametrize("filters", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
def test_tasks_may_leave_out_all_their_records_but_not_all_of_the_source(
    tmp_path: Path, fault: str, filters: bool
) -> None:
    datasource = pytest.importorskip("pyspark.sql.datasource")
    if filters and not hasattr(datasource, "EqualTo"):
        pytest.skip("Spark 4.1 has filters")
    schema = types.StructType(
        [types.StructField("id", types.LongType(), nullable=fault == "another count")]
    )

    def ids_of_tasks(on_error: str, *unusable: bool) -> list[int]:
        write_misfits(tmp_path, fault, unusable)
        options = {"path": str(tmp_path), "partitionBytes": "1000", "onError": on_error}
        reader = TFRecordSource(options | {"pushFilters": str(filters)}).reader(schema)
        if filters:
            list(reader.pushFilters([datasource.GreaterThan(("id",), 2)]))
        batches = itertools.chain.from_iterable(map(reader.read, reader.partitions()))
        return [i for batch in batches for i in batch["id"].to_pylist()]

    assert ids_of_tasks("skip", True, False) == USABLE[2 * filters :]
    with pytest.raises(ValueError, match="no record can be used: all of the first"):
        ids_of_tasks("skip", True, True)
    with pytest.raises(ValueError, match=r"0\.tfrecord"):
        ids_of_tasks("raise", True, False)
