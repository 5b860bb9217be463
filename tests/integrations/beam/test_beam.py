# SPDX-License-Identifier: Apache-2.0
"""Record files in pipelines of Apache Beam, on its DirectRunner."""

from __future__ import annotations

import gzip
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("apache_beam", reason="apache_beam is not installed")

import apache_beam as beam
from apache_beam.io import tfrecordio
from apache_beam.io.filesystem import CompressionTypes
from apache_beam.options.value_provider import StaticValueProvider
from apache_beam.testing.util import assert_that, equal_to

import fastrec
import fastrec.beam

RECORDS = [b"%d" % number * (number % 50) for number in range(2000)]


def written(path: Path, records: list[bytes] = RECORDS, **options: Any) -> str:
    with fastrec.Writer(path, **options) as writer:
        writer.write_many(records)
    return str(path)


def check(transform: Any, expected: list[Any], source: Any = None) -> None:
    with beam.Pipeline() as pipeline:
        begin = pipeline if source is None else pipeline | beam.Create(source)
        assert_that(begin | transform, equal_to(expected))


def test_records_of_a_file_are_read_in_ranges(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tfrecord")
    assert len(fastrec.file_ranges(path, 1000)) > 10
    check(fastrec.beam.ReadFromTFRecord(path, desired_bundle_size=1000), RECORDS)


def test_records_equal_those_of_beams_own_transform(tmp_path: Path) -> None:
    with beam.Pipeline() as pipeline:
        (
            pipeline
            | beam.Create(RECORDS)
            | tfrecordio.WriteToTFRecord(str(tmp_path / "theirs"), num_shards=3)
        )
    check(fastrec.beam.ReadFromTFRecord(f"{tmp_path}/theirs-*"), RECORDS)
    with beam.Pipeline() as pipeline:
        (
            pipeline
            | beam.Create(RECORDS)
            | fastrec.beam.WriteToTFRecord(str(tmp_path / "ours"), num_shards=3)
        )
    check(tfrecordio.ReadFromTFRecord(f"{tmp_path}/ours-*"), RECORDS)
    assert fastrec.verify(f"{tmp_path}/ours-*").records == len(RECORDS)


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2"])
def test_compression_follows_the_name_or_the_content(tmp_path: Path, suffix: str) -> None:
    with beam.Pipeline() as pipeline:
        (
            pipeline
            | beam.Create(RECORDS)
            | fastrec.beam.WriteToTFRecord(
                str(tmp_path / "a"), file_name_suffix=f".tfrecord{suffix}", num_shards=2
            )
        )
    files = sorted(tmp_path.iterdir())
    assert [each.name for each in files] == [
        f"a-0000{number}-of-00002.tfrecord{suffix}" for number in range(2)
    ]
    if suffix == ".gz":
        assert gzip.decompress(files[0].read_bytes())
    check(fastrec.beam.ReadFromTFRecord(f"{tmp_path}/a-*"), RECORDS)
    check(tfrecordio.ReadFromTFRecord(f"{tmp_path}/a-*"), RECORDS)


def test_a_compressed_file_without_a_suffix_is_recognised(tmp_path: Path) -> None:
    path = written(tmp_path / "a", compression="GZIP")
    check(fastrec.beam.ReadFromTFRecord(path), RECORDS)
    check(fastrec.beam.ReadFromTFRecord(path, compression_type=CompressionTypes.GZIP), RECORDS)


def test_file_names_as_elements_give_records_with_their_file(tmp_path: Path) -> None:
    paths = [written(tmp_path / f"{name}.tfrecord", [name.encode()]) for name in "abc"]
    transform = fastrec.beam.ReadAllFromTFRecord(with_filename=True)
    check(transform, [(path, Path(path).stem.encode()) for path in paths], paths)


def test_a_coder_converts_records(tmp_path: Path) -> None:
    coder = beam.coders.StrUtf8Coder()
    with beam.Pipeline() as pipeline:
        (
            pipeline
            | beam.Create(["a", "\u00e4"])
            | fastrec.beam.WriteToTFRecord(str(tmp_path / "a"), coder)
        )
    check(fastrec.beam.ReadFromTFRecord(f"{tmp_path}/a-*", coder), ["a", "\u00e4"])


def test_a_value_provider_is_read_when_the_pipeline_runs(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tfrecord")
    check(fastrec.beam.ReadFromTFRecord(StaticValueProvider(str, path)), RECORDS)


def test_a_pattern_without_files_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no record files match"):
        fastrec.beam.ReadFromTFRecord(f"{tmp_path}/*.tfrecord")
    fastrec.beam.ReadFromTFRecord(f"{tmp_path}/*.tfrecord", validate=False)
    with pytest.raises(Exception, match="no record files match"):
        check(fastrec.beam.ReadAllFromTFRecord(), [], [f"{tmp_path}/*.tfrecord"])


def test_a_missing_shard_is_an_error(tmp_path: Path) -> None:
    written(tmp_path / "a.tfrecord", shards=3)
    (tmp_path / "a-00001-of-00003.tfrecord").unlink()
    with pytest.raises(fastrec.MissingRecordsError, match="a-00001-of-00003"):
        fastrec.beam.ReadFromTFRecord(f"{tmp_path}/a-*")
    check(
        fastrec.beam.ReadFromTFRecord(f"{tmp_path}/a-*", shards="any")
        | beam.combiners.Count.Globally(),
        [1333],
    )


def test_indexes_beside_the_files_are_no_records(tmp_path: Path) -> None:
    written(tmp_path / "a.tfrecord", index=True)
    check(fastrec.beam.ReadFromTFRecord(f"{tmp_path}/a*"), RECORDS)


def test_damage_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    path = Path(written(tmp_path / "a.tfrecord"))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(Exception, match=r"a\.tfrecord"):
        check(fastrec.beam.ReadFromTFRecord(str(path), desired_bundle_size=1000), RECORDS)


def run_twice(tmp_path: Path, counts: tuple[int, int], **options: Any) -> None:
    for count in counts:
        with beam.Pipeline() as pipeline:
            (
                pipeline
                | beam.Create(RECORDS)
                | fastrec.beam.WriteToTFRecord(str(tmp_path / "a"), num_shards=count, **options)
            )


@pytest.mark.parametrize("counts", [(2, 2), (3, 2)])
def test_files_are_replaced_only_on_request(tmp_path: Path, counts: tuple[int, int]) -> None:
    with pytest.raises(Exception, match="overwrite=True"):
        run_twice(tmp_path, counts)
    assert len(list(tmp_path.iterdir())) == counts[0]
    run_twice(tmp_path, counts, overwrite=True)
    assert len([each for each in tmp_path.iterdir() if "beam-temp" not in each.name]) == 2
    assert fastrec.count(f"{tmp_path}/a-*") == len(RECORDS)


@pytest.mark.parametrize("name", ["ReadFromTFRecord", "ReadAllFromTFRecord", "WriteToTFRecord"])
def test_the_parameters_are_those_of_beam(name: str) -> None:
    def parameters(make: Callable[..., Any]) -> list[str]:
        found = inspect.signature(make).parameters.values()
        return [each.name for each in found if each.kind is each.POSITIONAL_OR_KEYWORD]

    ours, theirs = getattr(fastrec.beam, name), getattr(tfrecordio, name)
    assert parameters(ours) == parameters(theirs)


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(TypeError, match="file_pattern must be a str"):
        fastrec.beam.ReadFromTFRecord(3)
    with pytest.raises(TypeError, match="compression_type"):
        fastrec.beam.ReadAllFromTFRecord(compression_type="xz?")
    with pytest.raises(ValueError, match="shards must be"):
        fastrec.beam.ReadAllFromTFRecord(shards="some")
