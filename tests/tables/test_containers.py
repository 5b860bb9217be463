# SPDX-License-Identifier: Apache-2.0
"""Conversion to and from bagz, array_record and Riegeli, whose records stay as they are."""

from __future__ import annotations

import base64
import contextlib
import os
import struct
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from verbs import flip, number_records, write

import fastrec
from fastrec import cli
from fastrec.records import zstd
from fastrec.tables import bagz as native

RECORDS = [b"abcdef", b"", b"123" * 10, *number_records(200)]
SMALL = [b"abcdef", b"", b"123" * 10]

# What bagz 0.3.8 writes for SMALL.
BAG = b"abcdef" + b"123" * 10 + struct.pack("<3Q", 6, 6, 36)
BAGZ = base64.b64decode(
    "KLUv/SAGMQAAYWJjZGVmKLUv/SAeTQAAGDEyMwEAhm4IDwAAAAAAAAAPAAAAAAAAACEAAAAAAAAA"
)


def has_zstd() -> bool:
    try:
        zstd.library()
    except ModuleNotFoundError:
        return False
    return True


needs_zstd = pytest.mark.skipif(not has_zstd(), reason="requires a library for zstd")
NAMES = [
    "a.bag",
    pytest.param("a.bagz", marks=needs_zstd),
    pytest.param("a.array_record", marks=needs_zstd),
    pytest.param("a.riegeli", marks=needs_zstd),
]


def read(path: Path) -> list[bytes]:
    return list(fastrec.Reader(path))


def put(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("records", [RECORDS, [], [b""], [bytes(3 << 20), b"x"]])
def test_records_come_back_byte_by_byte(tmp_path: Path, name: str, records: list[bytes]) -> None:
    source = write(tmp_path / "source", records)
    done = fastrec.convert(source, tmp_path / name)
    assert done == (len(records), [str(tmp_path / name)], [], [])
    done = fastrec.convert(tmp_path / name, tmp_path / "back.tfrecord")
    assert done.records == len(records)
    assert read(tmp_path / "back.tfrecord") == records


@pytest.mark.parametrize("name", NAMES)
def test_shards_are_files_of_a_number_of_records(tmp_path: Path, name: str) -> None:
    source = write(tmp_path / "source", RECORDS)
    done = fastrec.convert(source, tmp_path / name, shard_records=70)
    assert [os.path.basename(path)[:16] for path in done.paths] == [
        "a-00000-of-00003", "a-00001-of-00003", "a-00002-of-00003"
    ]  # fmt: skip
    fastrec.convert(done.paths, tmp_path / "back.tfrecord")
    assert read(tmp_path / "back.tfrecord") == RECORDS


def test_files_of_bagz_are_read(tmp_path: Path) -> None:
    fastrec.convert(put(tmp_path / "a.bag", BAG), tmp_path / "back")
    assert read(tmp_path / "back") == SMALL


@needs_zstd
def test_compressed_files_of_bagz_are_read(tmp_path: Path) -> None:
    fastrec.convert(put(tmp_path / "a.bagz", BAGZ), tmp_path / "back")
    assert read(tmp_path / "back") == SMALL


@pytest.mark.parametrize("name", NAMES[:2])
def test_the_package_bagz_reads_the_same_records(tmp_path: Path, name: str) -> None:
    bagz = pytest.importorskip("bagz")
    fastrec.convert(write(tmp_path / "source", RECORDS), tmp_path / name)
    assert list(bagz.Reader(str(tmp_path / name))) == RECORDS
    assert bagz.Reader(str(tmp_path / name))[2] == RECORDS[2]


@pytest.mark.parametrize("name", NAMES[:2])
@pytest.mark.parametrize("placement", ["TAIL", "SEPARATE"])
def test_files_of_the_package_bagz_are_read(tmp_path: Path, name: str, placement: str) -> None:
    bagz = pytest.importorskip("bagz")
    path = str(tmp_path / name)
    options = bagz.Writer.Options(limits_placement=getattr(bagz.LimitsPlacement, placement))
    with bagz.Writer(path, options) as writer:
        for record in RECORDS:
            writer.write(record)
    fastrec.convert(path, tmp_path / "back")
    assert read(tmp_path / "back") == RECORDS


@given(records=st.lists(st.binary(max_size=50), max_size=30))
def test_any_records_fit_into_a_bag(
    tmp_path_factory: pytest.TempPathFactory, records: list[bytes]
) -> None:
    folder = tmp_path_factory.mktemp("bag")
    fastrec.convert(write(folder / "source", records), folder / "a.bag")
    data = (folder / "a.bag").read_bytes()
    assert data[: sum(map(len, records))] == b"".join(records)
    fastrec.convert(folder / "a.bag", folder / "back")
    assert read(folder / "back") == records


# -- Rules -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_outputs_are_replaced_under_the_rules_of_all_files(tmp_path: Path, name: str) -> None:
    source = write(tmp_path / "source", RECORDS)
    target = put(tmp_path / name, b"some file")
    with pytest.raises(FileExistsError):
        fastrec.convert(source, target)
    assert target.read_bytes() == b"some file"
    done = fastrec.convert(source, target, overwrite=True)
    records = write(tmp_path / "records", RECORDS)
    kind = done.paths[0].rpartition(".")[2]
    with pytest.raises(FileExistsError, match="a record file cannot be replaced"):
        fastrec.convert(source, records, target_format=kind, overwrite=True)  # type: ignore[arg-type]
    with pytest.raises(FileExistsError, match="an input of the same call"):
        fastrec.convert(target, target, target_format="tfrecord", overwrite=True)
    assert read(records) == RECORDS
    assert read(source) == RECORDS


@pytest.mark.parametrize("name", NAMES)
def test_damage_publishes_nothing_or_is_left_out(tmp_path: Path, name: str) -> None:
    data = flip((write(tmp_path / "source", SMALL)).read_bytes(), 8 * 14)
    source = put(tmp_path / "bad", data)
    with pytest.raises(fastrec.CorruptRecordError):
        fastrec.convert(source, tmp_path / name)
    assert not (tmp_path / name).exists()
    done = fastrec.convert(source, tmp_path / name, on_error="skip")
    fastrec.convert(tmp_path / name, tmp_path / "back")
    assert read(tmp_path / "back") == SMALL[1:]
    assert done.records == 2


@pytest.mark.parametrize("name", [NAMES[0], NAMES[2]])
def test_options_that_change_records_are_refused(tmp_path: Path, name: str) -> None:
    source = write(tmp_path / "source", SMALL)
    wrong: list[dict[str, Any]] = [
        {"features": ["x"]}, {"raw": True}, {"text": True}, {"compression": "GZIP"},
        {"index": True}, {"base64": True}, {"level": 99},
    ]  # fmt: skip
    for options in wrong:
        with pytest.raises((ValueError, TypeError), match=next(iter(options))):
            fastrec.convert(source, tmp_path / name, **options)
    with pytest.raises(ValueError, match="convert to records first"):
        fastrec.convert(put(tmp_path / "b.bag", BAG), tmp_path / "a.csv")
    assert not (tmp_path / name).exists()


def test_the_command_converts_between_files_and_streams(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    source = put(tmp_path / "a.bag", BAG)
    assert cli.main(["convert", str(source), "-o", str(tmp_path / "b.tfrecord")]) == 0
    assert b"3 records" in capfdbinary.readouterr().out
    assert cli.main(["convert", str(tmp_path / "b.tfrecord"), "--to", "bag", "-o", "-"]) == 0
    assert capfdbinary.readouterr().out == BAG
    assert cli.main(["convert", str(source), "-o", str(tmp_path / "c.array_record")]) == 2


@pytest.mark.parametrize("name", ["a.bagz", "a.array_record", "a.riegeli"])
def test_a_missing_package_is_an_error_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    for module in ("compression", "zstandard"):
        monkeypatch.setitem(sys.modules, module, None)
    zstd.library.cache_clear()
    try:
        with pytest.raises(ModuleNotFoundError, match=r"pip install 'fastrec-io\[zstd\]'"):
            fastrec.convert(write(tmp_path / "source", SMALL), tmp_path / name)
    finally:
        zstd.library.cache_clear()
    assert not (tmp_path / name).exists()


# -- Hostile files ---------------------------------------------------------------------------------


def lengths(*ends: int) -> bytes:
    return struct.pack(f"<{len(ends)}Q", *ends)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"short", "5 bytes, fewer"),
        (b"abc" + lengths(1 << 40), "state 1099511627776 bytes"),
        (b"abcdefgh" + b"1234" + lengths(3, 8), "not a multiple of 8"),
        (b"abcdefgh" + lengths(9, 8), "record 0 ends at 9"),
        (b"abcdefgh" + lengths(5, 4, 8), "record 1 ends at 4, after 5"),
        (b"#ROSBAG V2.0\n" + bytes(range(256)), "a ROS bag"),
        (b"PAR1" + b"\xff" * 99, "a Parquet file"),
    ],
)
def test_a_table_that_lies_is_refused(tmp_path: Path, data: bytes, text: str) -> None:
    path = put(tmp_path / "a.bag", data)
    with pytest.raises(fastrec.CorruptRecordError) as caught:
        fastrec.convert(path, tmp_path / "back")
    assert text in str(caught.value)
    assert caught.value.path == str(path)
    assert not (tmp_path / "back").exists()


def test_a_separate_table_must_end_where_the_records_end(tmp_path: Path) -> None:
    path = put(tmp_path / "a.bag", b"abcdef")
    for table in (lengths(3, 5), lengths(3, 7), lengths(3)[:5], b""):
        put(tmp_path / "limits.a.bag", table)
        with pytest.raises(fastrec.CorruptRecordError):
            fastrec.convert(path, tmp_path / "back")
    put(tmp_path / "limits.a.bag", lengths(3, 6))
    fastrec.convert(path, tmp_path / "back")
    assert read(tmp_path / "back") == [b"abc", b"def"]


@pytest.mark.parametrize(
    "name", ["a.bag.gz", "a.bagz.zst", "a.bagz.gz", "a.array_record.gz", "a.npz.gz", "a.tar.gz"]
)
def test_a_name_that_promises_more_compression_is_refused(tmp_path: Path, name: str) -> None:
    source = write(tmp_path / "source", RECORDS)
    with pytest.raises(ValueError, match="leave out the last suffix"):
        fastrec.convert(source, tmp_path / name)
    assert os.listdir(tmp_path) == ["source"]


def test_two_tables_of_one_file_are_refused(tmp_path: Path) -> None:
    put(tmp_path / "limits.a.bag", lengths(8, 24))
    path = put(tmp_path / "a.bag", b"aaaabbbb" + lengths(4, 8))
    with pytest.raises(fastrec.CorruptRecordError, match=r"limits\.a\.bag' is another one"):
        fastrec.convert(path, tmp_path / "back")
    # Records may end in zeros, which only seem to be a table.
    path.write_bytes(b"aaaabbbb" + bytes(16))
    fastrec.convert(path, tmp_path / "back")
    assert read(tmp_path / "back") == [b"aaaabbbb", bytes(16)]


@needs_zstd
def test_a_record_with_a_stated_size_of_zero_is_refused(tmp_path: Path) -> None:
    frame = zstd.library().compressor(3)(b"x" * 64)
    put(tmp_path / "a.bagz", frame[:5] + b"\0" + frame[6:] + lengths(len(frame)))
    with pytest.raises(fastrec.CorruptRecordError, match="record 0"):
        fastrec.convert(tmp_path / "a.bagz", tmp_path / "back")


@pytest.mark.parametrize("name", NAMES)
def test_readers_of_many_files_are_not_open_at_once(tmp_path: Path, name: str) -> None:
    resource = pytest.importorskip("resource")
    source = write(tmp_path / "a.tfrecord", number_records(60))
    done = fastrec.convert(source, tmp_path / name, shard_records=1)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/dev/fd")) + 50, limits[1]))
    try:
        assert fastrec.convert(done.paths, tmp_path / "back.tfrecord").records == 60
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.mark.parametrize(("name", "data"), [("a.bag", BAG), ("a.bagz", BAGZ)])
def test_a_file_cut_anywhere_never_gives_wrong_records(
    tmp_path: Path, name: str, data: bytes
) -> None:
    if name == "a.bagz" and not has_zstd():
        pytest.skip("requires a library for zstd")
    for size in range(1, len(data)):
        path = put(tmp_path / name, data[:size])
        with pytest.raises(fastrec.CorruptRecordError):
            fastrec.convert(path, tmp_path / "back", overwrite=True)
    assert not (tmp_path / "back").exists()


@needs_zstd
@pytest.mark.parametrize(
    "record", [b"not zstd", BAGZ[:10], b"\x28\xb5\x2f\xfd\x00\xff" + bytes(9), BAGZ[:15] + b"x"]
)
def test_a_damaged_record_of_a_bagz_file_is_named(tmp_path: Path, record: bytes) -> None:
    data = BAGZ[:15] + record + lengths(15, 15 + len(record))
    with pytest.raises(fastrec.CorruptRecordError, match="record 1") as caught:
        fastrec.convert(put(tmp_path / "a.bagz", data), tmp_path / "back")
    assert (caught.value.record, caught.value.offset) == (1, 15)


@needs_zstd
def test_a_record_that_expands_beyond_the_limit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "_MOST_RECORD", 1 << 22)
    bomb = b"\x28\xb5\x2f\xfd\x00\x58" + b"\x02\x00\x10a" * 100_000
    path = put(tmp_path / "a.bagz", bomb + lengths(len(bomb)))
    with pytest.raises(fastrec.FastrecError, match="4194304"):
        fastrec.convert(path, tmp_path / "back")


@pytest.mark.parametrize("name", NAMES[2:])
def test_damaged_chunks_never_give_wrong_records(tmp_path: Path, name: str) -> None:
    source = write(tmp_path / "source", RECORDS)
    fastrec.convert(source, tmp_path / name)
    data = (tmp_path / name).read_bytes()
    for number in range(40):
        bad = flip(data, number * 31 % (8 * len(data)))
        if number % 4 == 0:
            bad = data[: number * len(data) // 40]
        path = put(tmp_path / name, bad)
        with contextlib.suppress(fastrec.CorruptRecordError):
            fastrec.convert(path, tmp_path / "back", overwrite=True)
            assert read(tmp_path / "back") == RECORDS
