# SPDX-License-Identifier: Apache-2.0
"""The detector of contents, on bytes from the writers of each format."""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import json
import lzma
import pickle
import sqlite3
import struct
import tarfile
import wave
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastrec
from fastrec import _core
from fastrec.records.content import EXAMINED, file_content, message_content, value_content
from fastrec.records.verify import LineEnds

EXAMPLE = fastrec.encode_example({"image": b"x" * 40, "label": 3})


def frame(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    sums = (_core.masked_crc32c(part).to_bytes(4, "little") for part in (length, data))
    return length + next(sums) + data + next(sums)


RECORDS = frame(EXAMPLE) * 20


def written(write: Callable[[io.BytesIO], object]) -> bytes:
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def tar_of(*names: str) -> bytes:
    def write(file: io.BytesIO) -> None:
        with tarfile.open(fileobj=file, mode="w") as tar:
            for name in names:
                member = tarfile.TarInfo(name)
                member.size = len(RECORDS)
                tar.addfile(member, io.BytesIO(RECORDS))

    return written(write)


def zip_of(name: str) -> bytes:
    def write(file: io.BytesIO) -> None:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr(name, RECORDS)

    return written(write)


def sound() -> bytes:
    def write(file: io.BytesIO) -> None:
        with wave.open(file, "wb") as sound:
            sound.setparams((1, 2, 8000, 0, "NONE", ""))
            sound.writeframes(bytes(400))

    return written(write)


def faulty(checksum: Callable[[bytes], int], order: str = "<") -> bytes:
    length = struct.pack(f"{order}Q", len(EXAMPLE))
    header = length + struct.pack(f"{order}I", checksum(length))
    return (header + EXAMPLE + struct.pack(f"{order}I", checksum(EXAMPLE))) * 3


def mds() -> bytes:
    config = json.dumps({"column_encodings": ["int"]}).encode()
    start = 8 + 4 * 2
    offsets = [start + len(config) + 8 * i for i in range(3)]
    return struct.pack("<4I", 2, *offsets) + config + bytes(16)


def mask(crc: int) -> int:
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def hadoop_snappy(data: bytes) -> bytes:
    literal = bytes([(len(data) << 0) & 0x7F | 0x80, len(data) >> 7])  # a varint of two bytes
    block = literal + bytes([61 << 2]) + struct.pack("<H", len(data) - 1) + data
    return struct.pack(">II", len(data), len(block)) + block


FILES: dict[str, tuple[bytes, str]] = {
    "records": (RECORDS, "TFRecord"),
    "gzip": (gzip.compress(RECORDS), "GZIP"),
    "zlib": (zlib.compress(RECORDS), "ZLIB"),
    "xz": (lzma.compress(RECORDS), "xz"),
    "lzma": (lzma.compress(RECORDS, lzma.FORMAT_ALONE), "LZMA"),
    "bzip2": (bz2.compress(RECORDS), "bzip2"),
    "zstd": (b"\x28\xb5\x2f\xfd\x04\x58\x39\x00" + bytes(99), "Zstandard"),
    "framed snappy": (b"\xff\x06\0\0sNaPpY\0\0", "snappy"),
    "Hadoop snappy": (hadoop_snappy(RECORDS), "Hadoop snappy"),
    "raw snappy": (hadoop_snappy(RECORDS)[8:], "raw snappy"),
    "tar": (tar_of("a.tfrecord", "b.tfrecord"), "tar"),
    "webdataset": (tar_of("1.jpg", "1.cls", "2.jpg", "2.cls"), "WebDataset"),
    "zip": (zip_of("a.tfrecord"), "ZIP"),
    "npz": (written(lambda file: np.savez(file, a=np.zeros(3))), "NPZ"),
    "npy": (written(lambda file: np.save(file, np.zeros(3))), "NPY"),
    "pickle": (pickle.dumps({"a": [1, 2]}), "pickle"),
    "mds": (mds(), "MDS"),
    "litdata": (struct.pack("<4I", 2, 16, 20, 24) + bytes(8), "LitData"),
    "lmdb": (bytes(16) + b"\xde\xc0\xef\xbe" + bytes(99), "LMDB"),
    "recordio": (b"\x0a\x23\xd7\xce" + bytes(99), "RecordIO"),
    "lance": (b"\x07" * 99 + b"LANC", "Lance"),
    "html": (b"\n<!DOCTYPE html>\n<html><title>Sign in</title></html>", "HTML"),
    "xml": (b"<?xml version='1.0'?>\n<Error><Code>AccessDenied</Code></Error>", "XML error"),
    "json": (b'{"a": [1, 2]}', "JSON"),
    "json lines": (b'{"a": 1}\n{"a": 2}\n', "JSON Lines"),
    "csv": (b"a,b\n1,2\n3,4\n", "CSV"),
    "text": (b"once upon a time\nthere was a file\n", "text"),
    "utf-16": ("a text".encode("utf-16"), "text"),
    "lfs": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS pointer"),
    "annex": (b"/annex/objects/SHA256E-s3--0\n", "git-annex pointer"),
    "empty": (b"", "empty"),
    "zeros": (bytes(5000), "zeros"),
    "head missing": (RECORDS[5:], "damaged TFRecord"),
    "cr lf": (RECORDS.replace(b"\n", b"\r\n"), "TFRecord, LF to CR LF"),
    "u+fffd": (RECORDS.decode(errors="replace").encode(), "decoded as UTF-8"),
    "latin-1": (RECORDS.decode("latin-1").encode(), "Latin-1 to UTF-8"),
    "base64": (base64.b64encode(RECORDS), "base64 of TFRecord"),
    "base64 lines": (base64.encodebytes(RECORDS), "base64 of TFRecord"),
    "crc32": (faulty(lambda data: mask(zlib.crc32(data))), "faulty TFRecord"),
    "crc32 unmasked": (faulty(zlib.crc32), "faulty TFRecord"),
    "crc32c unmasked": (faulty(_core.crc32c), "faulty TFRecord"),
    "big-endian": (faulty(_core.masked_crc32c, ">"), "faulty TFRecord"),
    "no checksums": (faulty(lambda data: 0), "faulty TFRecord"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_named_by_its_content(name: str) -> None:
    data, expected = FILES[name]
    assert file_content(data).name == expected
    assert str(file_content(data)).isascii()


@pytest.mark.parametrize("name", [name for name in FILES if FILES[name][1] not in ("empty",)])
def test_reading_any_file_gives_all_its_records_or_names_it(name: str, tmp_path: Path) -> None:
    data, content = FILES[name]
    path = tmp_path / "file"
    path.write_bytes(data)
    if content in ("TFRecord", "GZIP", "ZLIB"):
        assert len(list(fastrec.Reader(path, on_error="skip"))) == 20
        return
    if content == "damaged TFRecord":
        assert len(list(fastrec.Reader(path, on_error="skip"))) == 19
        return
    if content in ("tar", "WebDataset"):  # of record files: samples are in test_tar.py
        with pytest.raises(fastrec.CorruptRecordError, match="extract the archive first"):
            list(iter(fastrec.Reader(path)))
        return
    if content == "Zstandard":  # it is read, or requires a library: test_zstd.py
        with pytest.raises((fastrec.CorruptRecordError, ModuleNotFoundError), match=r"zstd|ZSTD"):
            list(iter(fastrec.Reader(path)))
        return
    for policy in ("raise", "skip", "tolerate_tail"):
        with pytest.raises(fastrec.CorruptRecordError) as caught:
            list(iter(fastrec.Reader(path, on_error=policy)))
        assert caught.value.content == content
        assert "it looks like" in str(caught.value)
        assert "saves the rest" not in str(caught.value)


def test_pyarrow_and_sqlite_files_are_named(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    feather = pytest.importorskip("pyarrow.feather")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pa.table({"a": [1, 2]})
    parquet.write_table(table, tmp_path / "a.parquet")
    feather.write_feather(table, tmp_path / "a.feather")
    with (
        pa.OSFile(str(tmp_path / "a.stream"), "wb") as file,
        pa.ipc.new_stream(file, table.schema) as writer,
    ):
        writer.write_table(table)
    database = sqlite3.connect(tmp_path / "a.sqlite")
    database.execute("create table a (b)")
    database.commit()
    database.close()
    named = {path.suffix: file_content(path.read_bytes()).name for path in tmp_path.iterdir()}
    expected = {".parquet": "Parquet", ".feather": "Arrow", ".stream": "Arrow"}
    assert named == {**expected, ".sqlite": "SQLite"}


def test_gzip_within_gzip_names_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord.gz"
    path.write_bytes(gzip.compress(gzip.compress(RECORDS)))
    with pytest.raises(fastrec.CorruptRecordError, match="decompress it once"):
        list(fastrec.Reader(path))


def tensor(array: Any) -> bytes:
    def sized(number: int, data: bytes) -> bytes:
        return bytes([number << 3 | 2, len(data)]) + data

    shape = b"".join(sized(2, bytes([8, size])) for size in array.shape)
    return bytes([8, 1]) + sized(2, shape) + sized(4, array.tobytes())


VALUES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "empty"),
    "wav": (sound(), "WAV 8-bit"[:3]),
    "avif": (b"\0\0\0\x20ftypavif" + bytes(20), "AVIF"),
    "heic": (b"\0\0\0\x20ftypheic" + bytes(20), "HEIC"),
    "mp4": (b"\0\0\0\x20ftypisom" + bytes(20), "MP4"),
    "pnm": (b"P6\n3 2\n255\n" + bytes(18), "PNM 3x2"),
    "base64": (base64.b64encode(b"\xff\xd8\xff\xe0" + bytes(99)), "base64 of JPEG"),
    "data url": (b"data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(99)),
                 "base64 of PNG"),
    "raw": (bytes(range(256)) * 147, "raw pixels uint8 (112, 112, 3)"),
    "path": (b"images/cat/001.jpg", "path"),
    "url": (b"https://example.org/cat.jpg", "URL"),
    "tensor": (tensor(np.ones((3, 4), np.float32)), "TensorProto float32 (3, 4)"),
    "npy": (written(lambda file: np.save(file, np.zeros(3, "f4"))), "NPY float32 (3,)"),
    "pickle": (pickle.dumps([1, 2]), "pickle"),
    "json": (b'{"a": 1}', "JSON"),
    "text": ("Grüße".encode(), "text"),
    "example": (EXAMPLE, "Example"),
    "bm text": (b"BMW is a maker of cars", "text"),
    "riff text": (b"RIFF raff", "text"),
    "noise": (bytes(range(255, 200, -1)), "bytes"),
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_a_value_is_named_by_its_content(name: str) -> None:
    data, expected = VALUES[name]
    assert value_content(data).label == expected


@pytest.mark.parametrize(
    ("kind", "label"),
    [("JPEG", "JPEG 7x5"), ("PNG", "PNG 7x5"), ("GIF", "GIF 7x5"), ("BMP", "BMP 7x5"),
     ("WEBP", "WebP 7x5"), ("TIFF", "TIFF"), ("PPM", "PNM 7x5"), ("JPEG2000", "JPEG 2000")],
)  # fmt: skip
def test_images_of_pillow_are_named_with_their_size(kind: str, label: str) -> None:
    image = pytest.importorskip("PIL.Image")
    try:
        data = written(lambda file: image.new("RGB", (7, 5)).save(file, kind))
    except (KeyError, OSError):
        pytest.skip(f"this Pillow does not write {kind}")
    assert value_content(data).label == label


MESSAGES = {
    "example": (EXAMPLE, "Example"),
    "no features": (b"", "Example"),
    "sequence": (fastrec.encode_sequence_example({"a": 1}, {"b": [[1], [2]]}), "SequenceExample"),
    "event": (b"\x09" + struct.pack("<d", 1.7e9) + b"\x1a\x0dbrain.Event:2", "Event"),
    "other": (b"\x08\x96\x01\x12\x03\xff\xfe\xfd", "protobuf"),
    "text": (b"hello, world", "text"),
    "framed": (frame(EXAMPLE), "TFRecord"),
    "gzip": (gzip.compress(EXAMPLE), "GZIP"),
    "noise": (b"\xff\xff\xff\xff\xff\xff", "bytes"),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_is_named_by_its_content(name: str) -> None:
    data, expected = MESSAGES[name]
    assert message_content(data).name == expected


SEEDS = st.sampled_from([data for table in (FILES, VALUES, MESSAGES) for data, _ in table.values()])


@given(SEEDS, st.binary(max_size=40), st.integers(0, 200), st.integers(0, 400))
def test_detection_never_raises(seed: bytes, patch: bytes, at: int, size: int) -> None:
    data = (seed[:at] + patch + seed[at + len(patch) :])[: size or None]
    for detect in (file_content, value_content, message_content):
        found = detect(data)
        assert found.name
        assert found.phrase
        assert str(found).isascii()
        assert "\n" not in str(found)


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=20))
def test_an_intact_record_file_is_never_taken_for_anything_else(records: list[bytes]) -> None:
    data = b"".join(map(frame, records))
    if b"\r\n" not in data:
        assert file_content(data).name == "TFRecord"
    assert file_content(data).name.startswith("TFRecord")


@given(st.binary(min_size=1, max_size=2000))
def test_no_other_bytes_are_taken_for_an_intact_record_file(data: bytes) -> None:
    assert file_content(data).name != "TFRecord"


@pytest.mark.parametrize("before", [0, 1, 5])
@pytest.mark.parametrize("damaged", [b"\r\n", b"a\nb\r\nc\r\n", b"\n\r\n\n\r\n\r\n"])
@pytest.mark.parametrize("after", [0, 1, 9])
def test_carriage_returns_that_were_dropped_are_named(
    before: int, damaged: bytes, after: int, tmp_path: Path
) -> None:
    records = [b"x\n"] * before + [damaged] + [b"x\r\ny"] * after
    path = tmp_path / "x.tfrecord"
    with fastrec.Writer(path) as writer:
        writer.write_many(records)
    path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n"))
    with pytest.raises(fastrec.CorruptRecordError, match="every CR LF became LF; transfer"):
        list(fastrec.Reader(path))


@pytest.mark.parametrize("first", [0, 3])
def test_repair_restores_line_ends(first: int, tmp_path: Path) -> None:
    records = [b"without"] * first + [EXAMPLE, b"a\r\nb\r\r\n\n"] * 20
    data = b"".join(map(frame, records))
    path = tmp_path / "a.tfrecord"
    path.write_bytes(data.replace(b"\n", b"\r\n"))
    with pytest.raises(fastrec.CorruptRecordError, match="every LF became CR LF") as caught:
        list(iter(fastrec.Reader(path)))
    assert "fastrec repair" in str(caught.value)
    [report] = fastrec.verify(path, on_error="skip").reports
    assert report.content == "TFRecord, LF to CR LF"
    done = fastrec.repair(path)
    assert (done.records, done.skipped) == (len(records), ())
    assert Path(done.path).read_bytes() == data


def test_repair_writes_nothing_for_a_file_of_another_format(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    path.write_bytes(b"PAR1" + bytes(99) + b"PAR1")
    with pytest.raises(fastrec.CorruptRecordError, match="Parquet"):
        fastrec.repair(path)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1 << 16])
def test_line_ends_are_restored_across_the_borders_of_reads(size: int) -> None:
    data = b"a\r\nb\r\r\nc\n\r\r\r\n\r"
    file = LineEnds(io.BytesIO(data.replace(b"\n", b"\r\n")), "name")
    assert b"".join(iter(lambda: file.read(size), b"")) == data


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (b"", "an empty value"),
        (VALUES["avif"][0], "an AVIF image; store it as JPEG or PNG"),
        (VALUES["base64"][0], "base64 of a JPEG image; store base64.b64decode"),
        (b"images/cat.jpg", "a path; read the file and store its bytes"),
        (VALUES["tensor"][0], "a serialized TensorProto (float32 (3, 4))"),
    ],
)
@pytest.mark.parametrize("shape", [None, (8, 8)])
def test_an_image_feature_names_a_value_that_is_not_an_image(
    value: bytes, says: str, shape: Any
) -> None:
    pytest.importorskip("PIL")
    feature = fastrec.ImageFeature(shape, fit="resize" if shape else None)
    record = fastrec.encode_example({"image": value})
    with pytest.raises(fastrec.ExampleParseError) as caught:
        fastrec.parse_example([record], {"image": feature})
    assert says in str(caught.value)


def test_samples_that_do_not_fit_are_refused() -> None:
    image = pytest.importorskip("PIL.Image")
    data = written(lambda file: image.fromarray(np.full((8, 8), 0.5, "f4")).save(file, "TIFF"))
    record = fastrec.encode_example({"image": data})
    with pytest.raises(fastrec.ExampleParseError, match="float32 samples do not fit in 8 bits"):
        fastrec.parse_example([record], {"image": fastrec.ImageFeature()})


def test_an_image_of_another_size_names_the_remedy() -> None:
    image = pytest.importorskip("PIL.Image")
    data = written(lambda file: image.new("RGB", (7, 5)).save(file, "JPEG"))
    record = fastrec.encode_example({"image": data})
    with pytest.raises(fastrec.ExampleParseError, match='got 5x7; fit="resize"') as caught:
        fastrec.parse_example([record], {"image": fastrec.ImageFeature((8, 8))})
    assert "cannot be decoded" not in str(caught.value)


def test_inference_names_formats_and_other_messages(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    with fastrec.Writer(path) as writer:
        writer.write_many([fastrec.encode_example({"mel": VALUES["tensor"][0]})] * 3)
    features = fastrec.infer_features(path)
    assert features.stats["mel"].format == "TensorProto float32 (3, 4)"
    with fastrec.Writer(path, overwrite=True) as writer:
        writer.write(MESSAGES["gzip"][0])
    with pytest.raises(fastrec.ExampleParseError, match="it is GZIP data"):
        fastrec.infer_features(path)


def test_strings_compare_with_one_string_element_by_element() -> None:
    strings = fastrec.Bytes.from_list([b"cat", b"", b"cat"])
    assert (strings == b"cat").tolist() == (strings == "cat").tolist() == [True, False, True]
    assert (strings != b"cat").tolist() == [False, True, False]
    assert strings == [b"cat", b"", b"cat"]
    assert strings != [b"cat"]


def test_arguments_of_the_wrong_type_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    with fastrec.Writer(path, overwrite=True) as writer:
        writer.write(fastrec.train.Example())
    assert list(fastrec.Reader(path)) == [b""]
    with pytest.raises(TypeError, match="seed must be an int or None, got '0'"):
        fastrec.Batcher(path, None, 1, seed="0")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"shape must be \(height, width\), got 64"):
        fastrec.ImageFeature(64)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="path must be the path of an image, got a JPEG image"):
        fastrec.image.decode(b"\xff\xd8\xff\xe0\0")  # type: ignore[arg-type]


def test_a_mean_of_bytes_is_refused() -> None:
    with pytest.raises(ValueError, match="divide mean and std by 255"):
        fastrec.image.Normalize((123.7, 116.3, 103.5), (58.4, 57.1, 57.4))


@pytest.mark.parametrize("compressed", [False, True])
def test_a_long_file_of_unknown_format_is_never_an_empty_record_file(
    compressed: bool, tmp_path: Path
) -> None:
    data = b"\x01" * 20 + np.random.default_rng(0).bytes(EXAMINED + 1000)
    path = tmp_path / "a.tfrecord"
    path.write_bytes(gzip.compress(data) if compressed else data)
    sources: list[Any] = [path, io.BytesIO(path.read_bytes())]
    for source in sources:
        with pytest.raises(fastrec.CorruptRecordError, match="data of an unknown format"):
            list(fastrec.Reader(source, on_error="skip"))
    with pytest.raises(fastrec.CorruptRecordError, match="data of an unknown format"):
        list(fastrec.Batcher(path, None, 4, on_error="skip"))
    # Records that follow are read: the start was damaged.
    with fastrec.Writer(tmp_path / "b.tfrecord") as writer:
        writer.write_many([b"one", b"two"])
    data += (tmp_path / "b.tfrecord").read_bytes()
    path.write_bytes(gzip.compress(data) if compressed else data)
    assert list(fastrec.Reader(path, on_error="skip")) == [b"one", b"two"]
