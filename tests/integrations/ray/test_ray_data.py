# SPDX-License-Identifier: Apache-2.0
"""fastrec.ray on a cluster of this machine: blocks, splitting, retries, writing."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from misfits import FAULTS, USABLE, write_misfits
from pets import write_pets

import fastrec

ray = pytest.importorskip("ray", reason="ray is not installed")
pytest.importorskip("ray.data", reason="ray[data] is not installed")

import pyarrow as pa  # noqa: E402
import pyarrow.fs  # noqa: E402
from ray.data.expressions import col  # noqa: E402

from fastrec import _core, arrow  # noqa: E402
from fastrec.ray import (  # noqa: E402
    TFRecordDatasink,
    TFRecordDatasource,
    read_tfrecords,
    reshard,
    write_tfrecords,
)
from fastrec.records import reshard_units  # noqa: E402
from fastrec.records.compression import Compression  # noqa: E402

COUNT = 103
pytestmark = pytest.mark.filterwarnings("ignore")  # of Ray, and of what it imports


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    paths = os.pathsep.join([str(Path(fastrec.__file__).parents[1])])
    runtime = {"env_vars": {"PYTHONPATH": paths}}
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env=runtime)
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One file of 12 MB."""
    path = str(tmp_path_factory.mktemp("large") / "large.tfrecord")
    draw = np.random.default_rng(0)
    with fastrec.Writer(path) as writer:
        for i in range(3000):
            writer.write({"id": i, "x": draw.random(1000, np.float32)})
    return path


def check(rows: list[dict[str, Any]]) -> None:
    found = sorted(rows, key=lambda row: int(row["id"]))
    assert [row["id"] for row in found] == list(range(COUNT))
    for row in found:
        number = row["id"]
        assert np.asarray(row["x"]).tolist() == [number] * 5
        assert row["name"] == b"n%d" % number
        assert len(row["tokens"]) == number % 4


@pytest.mark.parametrize("given", [True, False])
def test_files_become_blocks_of_stable_types(
    files: str, features: dict[str, Any], given: bool
) -> None:
    dataset = read_tfrecords(files, features=features if given else None, include_paths=True)
    rows = dataset.take_all()
    check(rows)
    assert {os.path.basename(row["path"]) for row in rows} == {
        os.path.basename(path) for path in fastrec.Reader(files).paths
    }
    schema = dataset.schema()
    assert dict(zip(schema.names, schema.types, strict=True))["id"] == pa.int64()


def test_one_file_is_read_by_many_tasks_each_record_once(large: str) -> None:
    dataset = read_tfrecords(large, columns=["id"], override_num_blocks=6).materialize()
    assert dataset.num_blocks() >= 6
    assert sorted(row["id"] for row in dataset.take_all()) == list(range(3000))
    assert dataset.schema().names == ["id"]
    total = read_tfrecords(large).map_batches(lambda b: {"n": [len(b["id"])]}).sum("n")
    assert total == 3000


@pytest.mark.slow
def test_only_the_columns_that_are_selected_are_parsed(large: str) -> None:
    broken = {name: fastrec.FixedLenFeature((), np.int64) for name in ("id", "none")}
    dataset = read_tfrecords(large, features=broken)
    assert dataset.select_columns(["id"]).sum("id") == 3000 * 2999 // 2
    with pytest.raises(Exception, match="none"):
        dataset.sum("none")


def test_filters_and_tensors_work_on_the_blocks(files: str, features: dict[str, Any]) -> None:
    dataset = read_tfrecords(files, features=features)
    kept = dataset.filter(expr="id < 10")
    assert sorted(row["id"] for row in kept.take_all()) == list(range(10))
    batch = dataset.take_batch(8)
    assert batch["x"].shape == (8, 5)
    assert batch["x"].dtype == np.float32


def test_an_index_tells_the_number_of_rows_without_reading(large: str, tmp_path: Path) -> None:
    path = tmp_path / "x.tfrecord"
    path.write_bytes(Path(large).read_bytes())
    fastrec.Index.build(path).save()
    tasks = TFRecordDatasource(path).get_read_tasks(5)
    assert sum(task.metadata.num_rows for task in tasks) == 3000
    for task in tasks:
        assert sum(block.num_rows for block in task()) == task.metadata.num_rows
    (path.parent / "x.tfrecord.frindex").unlink()
    assert TFRecordDatasource(path).get_read_tasks(5)[0].metadata.num_rows is None


def test_a_manifest_tells_the_number_of_rows_without_reading(large: str, tmp_path: Path) -> None:
    with fastrec.Writer(tmp_path / "x.tfrecord.gz", compression="GZIP") as writer:
        writer.write_batch({"id": np.arange(50)})
    paths = [shutil.copy(large, tmp_path), str(tmp_path / "x.tfrecord.gz")]
    fastrec.Manifest.build(paths).save(tmp_path / "all.json")
    options: dict[str, Any] = {"manifest": tmp_path / "all.json", "columns": ["id"]}
    for filesystem in (None, pyarrow.fs.LocalFileSystem()):
        source = TFRecordDatasource(paths, filesystem=filesystem, **options)
        (task,) = source.get_read_tasks(1)  # of which Ray takes the count
        assert task.metadata.num_rows == 3050 == sum(block.num_rows for block in task())
        (filtered,) = source.apply_predicate(col("id") < 40).get_read_tasks(1)
        assert filtered.metadata.num_rows is None
        assert sum(block.num_rows for block in filtered()) == 80
    assert read_tfrecords(paths, **options).count() == 3050


def test_files_that_differ_from_the_manifest_are_refused(large: str, tmp_path: Path) -> None:
    path = shutil.copy(large, tmp_path)
    manifest = fastrec.Manifest.build(path)
    with pytest.raises(ValueError, match="mutually exclusive"):
        TFRecordDatasource(path, manifest=manifest, on_error="skip")
    with pytest.raises(fastrec.MissingRecordsError, match=r"other.tfrecord' is not in the man"):
        TFRecordDatasource(
            [path, shutil.copy(path, tmp_path / "other.tfrecord")], manifest=manifest
        )
    (entry,) = manifest
    (task,) = TFRecordDatasource(
        path, manifest=fastrec.Manifest([entry._replace(records=2999)])
    ).get_read_tasks(1)
    with pytest.raises(fastrec.MissingRecordsError, match=r"3000 records, the manifest says 2999"):
        list(task())
    with pytest.raises(fastrec.MissingRecordsError, match=r"bytes, the manifest says 7"):
        TFRecordDatasource(path, manifest=fastrec.Manifest([entry._replace(size=7)]))


def test_filters_spare_what_they_drop_from_being_parsed(large: str) -> None:
    features = {
        "id": fastrec.FixedLenFeature((), np.int64),
        "x": fastrec.FixedLenFeature((1000,), np.float32),
        "none": fastrec.FixedLenFeature((), np.int64),
    }
    source = TFRecordDatasource(large, features=features, batch_size=100)

    def tables(source: Any) -> Any:
        tasks = source.get_read_tasks(4)
        return [block for task in tasks for block in task()]

    nothing = tables(source.apply_predicate(col("id") < 0))
    assert len(nothing) >= 4  # an empty block of every task tells the schema
    assert {block.num_rows for block in nothing} == {0}
    assert {tuple(block.column_names) for block in nothing} == {("id", "x", "none")}
    # The records that are kept are parsed, and errors have their numbers in the file.
    (task,) = source.apply_predicate(col("id") == 1234).get_read_tasks(1)
    with pytest.raises(fastrec.ExampleParseError, match="none") as caught:
        list(task())
    assert caught.value.record == 1234
    kept = source.apply_predicate(col("id") % 2 == 0).apply_predicate(col("id") >= 2900)
    found = pa.concat_tables(tables(kept.apply_projection({"x": "x"})))
    assert found.column_names == ["x"]
    whole = pa.table(arrow.table(large, {"x": features["x"]}))
    even = whole["x"].take(pa.array(range(2900, 3000, 2)))
    assert found["x"].combine_chunks().equals(even.combine_chunks())


def test_filters_on_what_has_several_values_are_left_to_ray(
    files: str, features: dict[str, Any]
) -> None:
    source = TFRecordDatasource(files, features=features, include_paths=True)
    for name in ("tokens", "x", "path"):
        assert source.apply_predicate(col(name).is_not_null()) is source
    assert source.apply_predicate(col("name").is_not_null()) is not source


def test_filters_of_sequence_examples_and_of_large_blocks(tmp_path: Path) -> None:
    with fastrec.Writer(tmp_path / "a.tfrecord") as writer:
        for i in range(200):
            writer.write(
                fastrec.encode_sequence_example({"id": i}, {"word": [[b"a"] * (i % 3 + 1)]})
            )
    features = fastrec.SequenceFeatures(
        {"id": fastrec.FixedLenFeature((), np.int64)}, {"word": fastrec.RaggedFeature(bytes)}
    )
    source = TFRecordDatasource(tmp_path / "a.tfrecord", features=features)
    (task,) = source.apply_predicate(col("id") > 150).get_read_tasks(1)
    found = pa.concat_tables(task())
    assert found["id"].to_pylist() == list(range(151, 200))
    assert found["word"].to_pylist() == [[[b"a"] * (i % 3 + 1)] for i in range(151, 200)]
    with fastrec.Writer(tmp_path / "b.tfrecord") as writer:
        writer.write_batch({"id": np.arange(200_000)})
    whole = TFRecordDatasource(tmp_path / "b.tfrecord", batch_size=200_000)
    (task,) = whole.apply_predicate(col("id") % 2 == 1).get_read_tasks(1)
    assert np.array_equal(pa.concat_tables(task())["id"].to_numpy(), np.arange(1, 200_000, 2))


@pytest.mark.parametrize("expression", ["id < 10", "name == 'n3' or id > 100", "not (id < 90)"])
def test_pushed_filters_keep_what_those_of_ray_keep(
    files: str, features: dict[str, Any], expression: str
) -> None:
    dataset = read_tfrecords(files, features=features)
    pushed = dataset.filter(expr=expression).select_columns(["name"]).take_all()
    whole = dataset.materialize().filter(expr=expression).select_columns(["name"]).take_all()
    assert pushed == whole
    assert 0 < len(pushed) < COUNT


def test_a_task_that_is_run_again_gives_the_same_blocks(large: str) -> None:
    for task in TFRecordDatasource(large, batch_size=100).get_read_tasks(4):
        assert all(a.equals(b) for a, b in zip(task(), task(), strict=True))


@pytest.mark.slow
def test_a_worker_that_is_killed_costs_no_record(large: str, tmp_path: Path) -> None:
    marker = str(tmp_path / "killed")

    def kill_once(batch: dict[str, Any]) -> dict[str, Any]:
        if 1500 in batch["id"] and not os.path.exists(marker):
            Path(marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return batch

    dataset = read_tfrecords(large, columns=["id"], override_num_blocks=4, batch_size=100)
    rows = dataset.map_batches(kill_once).take_all()
    assert os.path.exists(marker)
    assert sorted(row["id"] for row in rows) == list(range(3000))


@pytest.mark.slow
def test_a_writer_that_is_killed_leaves_no_part(large: str, tmp_path: Path) -> None:
    marker, target = str(tmp_path / "killed"), str(tmp_path / "out")

    def kill_once(batch: dict[str, Any]) -> dict[str, Any]:
        if 2500 in batch["id"] and not os.path.exists(marker):
            Path(marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return batch

    dataset = read_tfrecords(large, override_num_blocks=4).map_batches(kill_once)
    write_tfrecords(dataset, target)
    names = sorted(os.listdir(target))
    assert names == [f"part-{i:05d}-of-{len(names):05d}.tfrecord" for i in range(len(names))]
    fastrec.verify(target)
    found = fastrec.arrow.table(target)
    assert sorted(pa.table(found)["id"].to_pylist()) == list(range(3000))


@pytest.mark.parametrize("compression", [None, "GZIP"])
def test_what_is_written_is_read_again(
    files: str, features: dict[str, Any], tmp_path: Path, compression: Compression
) -> None:
    dataset = read_tfrecords(files, features=features)
    target = tmp_path / "out"
    write_tfrecords(dataset, str(target), compression=compression, name="x.tfrecord")
    check(read_tfrecords(str(target), features=features).take_all())
    check(read_tfrecords(f"file://{target}", features=features).take_all())
    local = pyarrow.fs.LocalFileSystem()
    rows = read_tfrecords(str(target), features=features, filesystem=local, include_paths=True)
    check(rows.take_all())


def test_a_job_that_fails_publishes_nothing(files: str, tmp_path: Path) -> None:
    def fail(batch: dict[str, Any]) -> dict[str, Any]:
        if 50 in batch["id"]:
            raise ValueError("no")
        return batch

    dataset = read_tfrecords(files, override_num_blocks=3).map_batches(fail)
    with pytest.raises(Exception, match="no"):
        write_tfrecords(dataset, str(tmp_path / "out"))
    assert os.listdir(tmp_path / "out") == []


def test_files_that_cannot_all_be_put_in_place_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    move, calls = _core.move, itertools.count()

    def failing(source: str, target: str, replace: bool) -> None:
        if next(calls) == 1:
            raise OSError(28, "No space left on device", target)
        move(source, target, replace)

    monkeypatch.setattr(_core, "move", failing)
    sink = TFRecordDatasink(str(tmp_path))
    sink.on_write_start()
    blocks = [pa.table({"id": [number]}) for number in range(3)]
    done = [sink.write([block], SimpleNamespace(task_idx=i)) for i, block in enumerate(blocks)]
    with pytest.raises(OSError, match="No space left") as caught:
        sink.on_write_complete(SimpleNamespace(write_returns=done))
    sink.on_write_failed(caught.value)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("remote", [False, True])
def test_files_that_exist_are_replaced_only_with_overwrite(tmp_path: Path, remote: bool) -> None:
    """A file system that is not local stands for a store."""
    filesystem = pyarrow.fs.SubTreeFileSystem("/", pyarrow.fs.LocalFileSystem()) if remote else None

    def write(rows: int, **options: Any) -> None:
        sink = TFRecordDatasink(str(tmp_path), filesystem=filesystem, **options)
        sink.on_write_start()
        done = sink.write([pa.table({"id": range(rows)})], SimpleNamespace(task_idx=0))
        sink.on_write_complete(SimpleNamespace(write_returns=[done]))

    write(3)
    with pytest.raises(FileExistsError, match=r"part-00000-of-00001.tfrecord"):
        write(4)
    assert os.listdir(tmp_path) == ["part-00000-of-00001.tfrecord"]
    assert len(fastrec.Reader(tmp_path)) == 3
    write(4, overwrite=True)
    assert len(fastrec.Reader(tmp_path)) == 4


def test_the_page_says_what_ray_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = Path(__file__).parents[3] / "docs" / "data-engineers.md"
    found = re.search(r"## Ray.*?```python\n(.*?)```\n\n```\n(.*?)```", page.read_text(), re.S)
    assert found is not None
    write_pets(tmp_path)
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    exec(found[1], {})
    assert capsys.readouterr().out == found[2]


def test_columns_of_numpy_become_lists(tmp_path: Path) -> None:
    def make(batch: dict[str, Any]) -> dict[str, Any]:
        ids = batch["id"]
        uneven = np.empty(len(ids), object)
        uneven[:] = [np.arange(i % 3) for i in ids]
        return {"id": ids, "even": np.ones((len(ids), 2, 3), np.float32), "uneven": uneven}

    write_tfrecords(ray.data.range(20).map_batches(make), str(tmp_path / "out"))
    features = fastrec.infer_features(str(tmp_path / "out"), None)
    assert features["even"] == fastrec.FixedLenFeature((6,), np.float32)
    rows = pa.table(arrow.table(str(tmp_path / "out"))).to_pylist()
    assert all(row["uneven"] == list(range(row["id"] % 3)) for row in rows)


def test_damage_names_the_file_and_may_be_skipped(large: str, tmp_path: Path) -> None:
    data = bytearray(Path(large).read_bytes())
    data[len(data) // 2] ^= 1
    path = tmp_path / "damaged.tfrecord"
    path.write_bytes(data)
    with pytest.raises(Exception, match=r"corrupted record at \d+ in .*damaged.tfrecord"):
        read_tfrecords(str(path)).materialize()
    kept = read_tfrecords(str(path), on_error="skip", override_num_blocks=4)
    assert len(kept.take_all()) == 2999


def ids_of_tasks(source: TFRecordDatasource) -> list[int]:
    blocks = itertools.chain.from_iterable(task() for task in source.get_read_tasks(3))
    return [i for block in blocks for i in block["id"].to_pylist()]


@pytest.mark.parametrize("filters", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
def test_tasks_may_leave_out_all_their_records_but_not_all_of_the_source(
    tmp_path: Path, fault: str, filters: bool
) -> None:
    features = {
        "id": arrow.Optional(np.int64)
        if fault == "another count"
        else fastrec.FixedLenFeature((), np.int64)
    }

    def source(*unusable: bool, **options: Any) -> TFRecordDatasource:
        paths = write_misfits(tmp_path, fault, unusable)
        found = TFRecordDatasource(paths, features=features, **options)
        return found.apply_predicate(col("id") > 2) if filters else found

    assert ids_of_tasks(source(True, False, on_error="skip")) == USABLE[2 * filters :]
    with pytest.raises(ValueError, match="no record can be used: all of the first 40 were left"):
        ids_of_tasks(source(True, True, on_error="skip"))
    with pytest.raises(ValueError, match=r"0\.tfrecord"):
        ids_of_tasks(source(True, False))


@pytest.mark.parametrize("order", [{}, {"shuffle": True, "seed": 11}])
def test_resharding_writes_what_one_process_writes(
    large: str, files: str, tmp_path: Path, order: dict[str, Any]
) -> None:
    source = [large, *map(os.fsdecode, fastrec.Reader(files).paths)]
    written = []
    for function, name in ((fastrec.reshard, "here"), (reshard, "there")):
        (tmp_path / name).mkdir()
        target = tmp_path / name / "x.tfrecord"
        done = function(source, target, shards=5, memory=2 << 20, **order)
        assert done.records == 3000 + COUNT
        written.append({path.name: path.read_bytes() for path in target.parent.iterdir()})
    assert len(written[0]) == 5
    assert written[0] == written[1]


def test_resharding_skips_damage_and_tells_its_progress(large: str, tmp_path: Path) -> None:
    data = bytearray(Path(large).read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "damaged.tfrecord").write_bytes(data)
    options: dict[str, Any] = {"shuffle": True, "seed": 3, "shard_bytes": 3_000_000}
    options |= {"on_error": "skip", "memory": 4 << 20}
    here = fastrec.reshard(tmp_path / "damaged.tfrecord", tmp_path / "here", **options)
    told: list[tuple[int, int]] = []
    options["progress"] = lambda done, total: told.append((done, total))
    there = reshard(tmp_path / "damaged.tfrecord", tmp_path / "there", **options)
    assert here.records == there.records == 2999
    assert [Path(p).read_bytes() for p in here.paths] == [Path(p).read_bytes() for p in there.paths]
    assert len(here.paths) == 5
    assert told[-1] == (2 * 2999, 2 * 2999)
    assert len(told) > 5


def test_resharding_that_fails_changes_nothing(large: str, tmp_path: Path) -> None:
    data = bytearray(Path(large).read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "damaged.tfrecord").write_bytes(data)
    (tmp_path / "out.tfrecord").write_bytes(b"old")
    with pytest.raises(fastrec.CorruptRecordError, match=r"corrupted record at \d+") as caught:
        reshard(
            tmp_path / "damaged.tfrecord", tmp_path / "out.tfrecord", shuffle=True, overwrite=True
        )
    assert caught.value.path == str(tmp_path / "damaged.tfrecord")
    assert sorted(os.listdir(tmp_path)) == ["damaged.tfrecord", "out.tfrecord"]
    assert (tmp_path / "out.tfrecord").read_bytes() == b"old"


@pytest.mark.slow
def test_resharding_goes_on_without_a_worker_that_is_killed(
    large: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker, write = tmp_path / "killed", reshard_units._write

    def kill_once(plan: Any, places: tuple[int, int]) -> str:
        if not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return write(plan, places)

    options: dict[str, Any] = {"shards": 3, "shuffle": True, "seed": 5}
    here = fastrec.reshard(large, tmp_path / "here.tfrecord", **options)
    monkeypatch.setattr(reshard_units, "_write", kill_once)
    there = reshard(large, tmp_path / "there.tfrecord", **options)
    assert marker.exists()
    for a, b in zip(here.paths, there.paths, strict=True):
        assert Path(a).read_bytes() == Path(b).read_bytes()
    assert not (tmp_path / "there.tfrecord.reshard").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": ["z"]}, "'z' is not in features"),
        ({"batch_size": 0}, "batch_size must be at least 1"),
        (
            {"features": {"path": arrow.Optional(bytes)}, "include_paths": True},
            "'path' is a feature",
        ),
    ],
)
def test_options_that_cannot_be(large: str, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TFRecordDatasource(large, **options)


def test_files_that_are_missing_or_empty(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_tfrecords(str(tmp_path / "none"))
    (tmp_path / "a.tfrecord").touch()
    with pytest.raises(ValueError, match="features is required"):
        read_tfrecords(str(tmp_path))


# -- Objects ---------------------------------------------------------------------------------------


def test_objects_are_read_by_many_tasks(files: str, features: dict[str, Any], large: str) -> None:
    pytest.importorskip("obstore")
    from object_server import Objects, ObjectServer

    shards = sorted(map(Path, map(os.fsdecode, fastrec.Reader(files).paths)))
    objects = {path.name: path.read_bytes() for path in [*shards, Path(large)]}
    with ObjectServer(Objects(objects)) as server:
        options: dict[str, Any] = {"storage_options": {"allow_http": True}}
        urls = [f"{server.url}/{path.name}" for path in shards]
        check(read_tfrecords(urls, features=features, include_paths=True, **options).take_all())
        source = TFRecordDatasource(f"{server.url}/large.tfrecord", columns=["id"], **options)
        assert len(source.get_read_tasks(6)) >= 6
        dataset = ray.data.read_datasource(source, override_num_blocks=6)
        assert sorted(row["id"] for row in dataset.take_all()) == list(range(3000))
        headers = {"default_headers": {"token": "s3cr3t"}}
        secret: dict[str, Any] = {"storage_options": {"client_options": headers}}
        with pytest.raises(Exception, match="client_options") as caught:
            read_tfrecords(urls, features=features, **secret).take_all()
        assert "s3cr3t" not in str(caught.value)


def test_objects_are_resharded_into_objects(large: str, tmp_path: Path) -> None:
    pytest.importorskip("obstore")
    from object_server import Objects, ObjectServer

    options: dict[str, Any] = {"shards": 3, "shuffle": True, "seed": 4, "memory": 4 << 20}
    here = fastrec.reshard(large, tmp_path / "out.tfrecord", **options)
    backend = Objects({"large": Path(large).read_bytes()})
    with ObjectServer(backend) as server:
        work, target = tmp_path / "work", f"{server.url}/out.tfrecord"
        done = reshard(f"{server.url}/large", target, work=work, **options)
        assert not work.exists()
        assert done.records == here.records == 3000
        names = [os.path.basename(path) for path in here.paths]
        assert done.paths == [f"{server.url}/{name}" for name in names]
        for name, path in zip(names, here.paths, strict=True):
            assert backend.get(name) == Path(path).read_bytes()
        with pytest.raises(ValueError, match="work is a directory that all nodes see"):
            reshard(f"{server.url}/large", target)
