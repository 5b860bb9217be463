# SPDX-License-Identifier: Apache-2.0
"""Riegeli and array_record files: those that the package array_record wrote, and damaged ones."""

from __future__ import annotations

import functools
import importlib.util
import struct
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from verbs import flip, write

import fastrec
from fastrec import _core
from fastrec.records import zstd
from fastrec.tables import riegeli_blocks
from fastrec.tables.riegeli import RiegeliReader
from fastrec.tables.riegeli_blocks import BLOCK, ChunkReader, ChunkWriter
from fastrec.tables.riegeli_chunks import (
    SIMPLE,
    TRANSPOSED,
    Compressor,
    encode_simple,
    expand,
    put_number,
)

# What package array_record 0.8.6 wrote for RECORDS with group_size:6 and transpose_bucket_size:64.
ARCHIVE = Path(__file__).parents[1] / "data" / "array_records.zip"
RECORDS = [
    *(
        fastrec.encode_example(
            {"id": [i], "w": [0.5 * i] * (i % 3), "name": [b"name %d" % i] * (i % 2 + 1)}
        )
        for i in range(12)
    ),
    b"no message", b"", b"\x0b\x10\x01\x0c",
]  # fmt: skip
SMALL = [b"abcdef", b"", b"123" * 10]
# From the specification of the format.
SIGNATURE = bytes.fromhex(
    "83af70d10d884a3f0000000000000000400000000000000091bac23c9287e1a9"
    "0000000000000000e19f13c0e9b1c3727300000000000000" + "00" * 8
)


def has_zstd() -> bool:
    try:
        zstd.library()
    except ModuleNotFoundError:
        return False
    return True


def put(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def read(path: Path) -> list[bytes]:
    return list(fastrec.Reader(path))


NEEDS = {"zstd": has_zstd(), "uncompressed": True}
NEEDS["brotli"] = importlib.util.find_spec("brotli") is not None
NEEDS["snappy"] = importlib.util.find_spec("cramjam") is not None
needs_zstd = pytest.mark.skipif(not has_zstd(), reason="requires a library for zstd")


@functools.cache
def stored(name: str) -> bytes:
    if not NEEDS[name.partition("-")[0]]:
        pytest.skip(f"requires the package for {name}")
    with zipfile.ZipFile(ARCHIVE) as archive:
        return archive.read(name)


NAMES = [f"{kind}-{layout}" for kind in NEEDS for layout in ("simple", "transposed")]


def records_of(path: Path, *, has_index: bool = False) -> list[bytes]:
    return list(RiegeliReader(str(path), has_index=has_index))


class Sink:
    """A file of the sink, in memory."""

    def __init__(self) -> None:
        self.data = b""

    def write_frames(self, data: bytes, records: int) -> None:
        self.data += data


def file_of(*chunks: tuple[int, int, int, bytes]) -> bytes:
    """Return a Riegeli file of these chunks: type, number of records, their size, and data."""
    sink = Sink()
    writer = ChunkWriter(sink)
    for chunk in chunks:
        writer.add(*chunk)
    writer.flush()
    return sink.data


def plain(*records: bytes) -> tuple[int, int, int, bytes]:
    """Return an uncompressed chunk of these records."""
    sizes, values = b"".join(put_number(len(record)) for record in records), b"".join(records)
    return SIMPLE, len(records), len(values), encode_simple(Compressor(None), sizes, values)


def test_the_checksum_is_that_of_the_format() -> None:
    assert _core.riegeli_hash(SIGNATURE[8:24]) == int.from_bytes(SIGNATURE[:8], "little")
    assert _core.riegeli_hash(SIGNATURE[32:]) == int.from_bytes(SIGNATURE[24:32], "little")
    assert _core.riegeli_hash(b"") == int.from_bytes(SIGNATURE[40:48], "little")
    with pytest.raises(TypeError):
        _core.riegeli_hash("text")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", NAMES)
def test_files_of_array_record_are_read(tmp_path: Path, name: str) -> None:
    path = put(tmp_path / "a.array_record", stored(name))
    fastrec.convert(path, tmp_path / "back")
    assert read(tmp_path / "back") == RECORDS
    # The index is not taken for records in a file with another name.
    assert records_of(put(tmp_path / "a.riegeli", stored(name))) == RECORDS


@pytest.mark.parametrize("kind", NEEDS)
@pytest.mark.parametrize("transpose", ["true", "false"])
def test_the_package_and_fastrec_read_the_same(tmp_path: Path, kind: str, transpose: str) -> None:
    module = pytest.importorskip("array_record.python.array_record_module")
    if not NEEDS[kind]:
        pytest.skip(f"requires the package for {kind}")
    records = [*RECORDS * 9, bytes(200_000), *SMALL]
    for more in ("group_size:1", "group_size:50", "group_size:9,pad_to_block_boundary:true"):
        path = str(tmp_path / "a.array_record")
        writer = module.ArrayRecordWriter(path, f"{kind},transpose:{transpose},{more}")
        for record in records:
            writer.write(record)
        writer.close()
        assert records_of(Path(path), has_index=True) == records


@needs_zstd
def test_the_package_reads_the_files_of_fastrec(tmp_path: Path) -> None:
    module = pytest.importorskip("array_record.python.array_record_module")
    records = [*RECORDS * 9, bytes(200_000), b"", b"last"]
    path = tmp_path / "a.array_record"
    fastrec.convert(write(tmp_path / "source", records), path)
    reader = module.ArrayRecordReader(str(path))
    assert reader.num_records() == len(records)
    assert reader.read_all() == records
    assert reader.read([len(records) - 1, 3]) == [b"last", records[3]]
    assert "group_size:1," in reader.writer_options_string()  # which Grain requires


@needs_zstd
def test_an_array_record_file_must_have_its_index(tmp_path: Path) -> None:
    source = write(tmp_path / "source", SMALL)
    fastrec.convert(source, tmp_path / "a.riegeli")
    with pytest.raises(fastrec.TruncatedFileError, match="no index of records"):
        fastrec.convert(tmp_path / "a.riegeli", tmp_path / "b", source_format="array_record")


@pytest.mark.parametrize(
    ("index", "text"),
    [
        (plain(b""), "index cannot be decoded"),
        ((SIMPLE, 1, 3, b"q\x01\x03abc"), "index cannot be decoded"),
        (plain(b"\x0a\x06\x08\x02\x10\x01\x18\x03", b"1"), "another version"),
        (plain(b"\x0a\x06\x08\x01\x10\x05\x18\x03", b"1"), "does not list all chunks"),
        (plain(b"\x0a\x06\x08\x01\x10\x01\x18\x09", b"1"), "its index states 9 records"),
    ],
)
def test_an_index_that_lies_is_refused(
    tmp_path: Path, index: tuple[int, int, int, bytes], text: str
) -> None:
    sink = Sink()
    writer = ChunkWriter(sink)
    writer.add(*plain(*SMALL))
    begin = writer.add(*index)
    writer.pad()
    writer.add(*plain(b"\x08" + put_number(begin) + b"\x10" + put_number(0x71930E704FDAE05E)))
    writer.pad()
    writer.flush()
    path = put(tmp_path / "a.array_record", sink.data)
    with pytest.raises(fastrec.CorruptRecordError, match=text) as caught:
        records_of(path, has_index=True)
    assert caught.value.path == str(path)


# -- Damage ----------------------------------------------------------------------------------------


def test_each_flipped_bit_is_an_error_with_its_place(tmp_path: Path) -> None:
    data = file_of(plain(*SMALL))
    path = put(tmp_path / "a.riegeli", data)
    assert records_of(path) == SMALL
    for bit in [*range(0, 8 * len(SIGNATURE), 9), *range(8 * len(SIGNATURE), 8 * len(data))]:
        put(path, flip(data, bit))
        with pytest.raises(fastrec.CorruptRecordError, match="not a whole Riegeli file") as caught:
            records_of(path)
        assert caught.value.path == str(path)
        assert caught.value.offset is not None


@pytest.mark.parametrize("name", ["uncompressed-simple", "uncompressed-transposed"])
def test_flipped_bits_of_array_record_files_are_errors(tmp_path: Path, name: str) -> None:
    data = stored(name)
    places = [*[at for at in range(len(data)) if data[at]][::8], *range(3000, len(data), 9973)]
    for number, at in enumerate(places):
        path = put(tmp_path / "a.array_record", flip(data, 8 * at + number % 8))
        with pytest.raises(fastrec.CorruptRecordError):
            records_of(path, has_index=True)


def test_a_file_cut_anywhere_ends_at_a_chunk_or_is_refused(tmp_path: Path) -> None:
    data = file_of(plain(*SMALL), plain(b"second"))
    ends = {len(SIGNATURE): 0, len(file_of(plain(*SMALL))): 3}
    for size in range(len(data)):
        path = put(tmp_path / "a.riegeli", data[:size])
        if size in ends:
            assert records_of(path) == SMALL[: ends[size]]
            continue
        with pytest.raises(fastrec.TruncatedFileError):
            records_of(path)


def test_chunks_cross_blocks(tmp_path: Path) -> None:
    rest = BLOCK - len(file_of(plain(b"")))
    # Chunks begin at every distance before a block header, and on it.
    for size in range(rest - 70, rest - 20):
        records = [bytes(size), b"after", bytes(3 * BLOCK), b"end"]
        data = file_of(plain(b""), *(plain(record) for record in records))
        path = put(tmp_path / "a.riegeli", data)
        assert records_of(path) == [b"", *records]
    for block in range(BLOCK, len(data), BLOCK):
        put(path, flip(data, 8 * block + 77))
        with pytest.raises(fastrec.CorruptRecordError, match=f"block header at {block} is wrong"):
            records_of(path)


def test_many_empty_records_are_padded(tmp_path: Path) -> None:
    for count in (40, 70_000, 2 * BLOCK + 30):
        path = put(tmp_path / "a.riegeli", file_of(plain(*[b""] * count), plain(b"end")))
        assert records_of(path) == [*[b""] * count, b"end"]


def test_other_chunks_are_passed_over(tmp_path: Path) -> None:
    chunks = [(ord("s"), 0, 0, b""), (ord("p"), 0, 0, bytes(99)), (ord("m"), 0, 9, b"metadata")]
    path = put(tmp_path / "a.riegeli", file_of(*chunks, plain(*SMALL), chunks[0]))
    assert records_of(path) == SMALL


def test_another_file_is_named(tmp_path: Path) -> None:
    cases = ((b"PAR1" + bytes(99), "a Parquet file"), (SIGNATURE[:60] + b"abcd", "is damaged"))
    for data, text in cases:
        path = put(tmp_path / "a.riegeli", data)
        with pytest.raises(fastrec.CorruptRecordError, match=text):
            fastrec.convert(path, tmp_path / "back")
    for size in (0, 1, 63):
        with pytest.raises(fastrec.TruncatedFileError, match="within the signature"):
            records_of(put(path, SIGNATURE[:size]))


# -- Chunks that lie, with right checksums ---------------------------------------------------------


@pytest.mark.parametrize(
    ("chunk", "text"),
    [
        ((ord("x"), 1, 3, b"abc"), "no known type"),
        ((SIMPLE, 1, 3, b""), "it is empty"),
        ((SIMPLE, 1, 3, b"\x00\x01\x03ab"), "3 are stated"),
        ((SIMPLE, 1, 3, b"\x00\x01\x04abc"), "4 are stated"),
        ((SIMPLE, 1, 3, b"\x00\x01\x03abcd"), "more than 3"),
        ((SIMPLE, 1, 3, b"\x00\x09\x03abc"), "sizes have 9 bytes"),
        ((SIMPLE, 2, 3, b"\x00\x01\x03abc"), "1 of 2 sizes"),
        ((SIMPLE, 2, 3, b"\x00\x02\x03\x03abc"), "6 bytes"),
        ((SIMPLE, 2, 3, b"\x00\x0b\x01" + b"\xff" * 9 + b"\x01abc"), "18446744073709551615|bytes"),
        ((SIMPLE, 1, 3, b"\x00" + b"\xff" * 11), "not a whole number"),
        ((SIMPLE, 1, 3, b"q\x01\x03abc"), "no known compression"),
        ((SIMPLE, 1, 3, b"z\x02\x01\x03abc"), "cannot be decoded"),
        ((SIMPLE, 1, 3, b"z\x0b\xff\xff\xff\xff\x0fabcdefabc"), "states 4294967295 bytes"),
        ((TRANSPOSED, 1, 3, b""), "it is empty"),
        ((TRANSPOSED, 1, 3, b"\x00\x09abc"), "size of the header"),
    ],
)
def test_a_chunk_that_lies_is_refused(
    tmp_path: Path, chunk: tuple[int, int, int, bytes], text: str
) -> None:
    if chunk[3][:1] == b"z" and not has_zstd():
        pytest.skip("requires a library for zstd")
    data = file_of(plain(*SMALL), chunk)
    path = put(tmp_path / "a.riegeli", data)
    with pytest.raises(fastrec.CorruptRecordError, match=text) as caught:
        fastrec.convert(path, tmp_path / "back")
    assert (caught.value.path, caught.value.record) == (str(path), 3)
    assert caught.value.offset == len(file_of(plain(*SMALL)))
    assert not (tmp_path / "back").exists()


@pytest.mark.parametrize(
    ("size", "count", "decoded", "kind"),
    [
        (1 << 62, 1, 3, fastrec.TruncatedFileError),
        (1 << 20, 1, 3, fastrec.TruncatedFileError),
        (3, 1 << 50, 3, fastrec.TruncatedFileError),
        (3, 1, 1 << 40, fastrec.LimitExceededError),
    ],
)
def test_a_header_that_promises_gigabytes_is_refused(
    tmp_path: Path, size: int, count: int, decoded: int, kind: type[Exception]
) -> None:
    rest = struct.pack("<QQQQ", size, _core.riegeli_hash(b"abc"), count << 8 | SIMPLE, decoded)
    head = struct.pack("<Q", _core.riegeli_hash(rest)) + rest
    with pytest.raises(kind):
        records_of(put(tmp_path / "a.riegeli", SIGNATURE + head + b"abc"))


@needs_zstd
@pytest.mark.parametrize("stated", [3, 1 << 22, 1 << 23])
def test_a_buffer_must_expand_to_its_stated_size(tmp_path: Path, stated: int) -> None:
    bomb = b"\x28\xb5\x2f\xfd\x00\x58" + b"\x02\x00\x10a" * 100 + b"\x03\x00\x10a"  # 13 MB
    data = b"z" + put_number(len(packed := Compressor(3)(put_number(stated)))) + packed
    data += put_number(stated) + bomb
    with pytest.raises(fastrec.CorruptRecordError, match="cannot be decoded"):
        records_of(put(tmp_path / "a.riegeli", file_of((SIMPLE, 1, stated, data))))


@needs_zstd
def test_an_empty_record_may_be_compressed(tmp_path: Path) -> None:
    empty, streamed = zstd.library().compressor(3)(b""), bytes.fromhex("28b52ffd0058010000")
    for frame in (empty, streamed):  # the second one does not state its size
        sizes = Compressor(3)(b"\0")
        data = b"z" + put_number(len(sizes)) + sizes + b"\0" + frame
        assert records_of(put(tmp_path / "a.riegeli", file_of((SIMPLE, 1, 0, data)))) == [b""]


@pytest.mark.skipif(not NEEDS["brotli"], reason="requires brotli")
def test_a_brotli_buffer_must_have_its_stated_size(tmp_path: Path) -> None:
    import brotli

    path = tmp_path / "a.riegeli"
    packed = brotli.compress(bytes(100_000))
    for stated in (100_000, 99_999, 100_001, 0):
        sizes = brotli.compress(put_number(stated))
        head = put_number(len(put_number(stated))) + sizes
        data = b"b" + put_number(len(head)) + head + put_number(stated) + packed
        put(path, file_of((SIMPLE, 1, stated, data)))
        if stated == 100_000:
            assert records_of(path) == [bytes(100_000)]
            continue
        with pytest.raises(fastrec.CorruptRecordError, match="cannot be decoded"):
            records_of(path)


@functools.cache
def transposed() -> tuple[bytes, int, int]:
    """Return a transposed chunk of the stored file: its data, its records and their bytes."""
    with zipfile.ZipFile(ARCHIVE) as archive:
        data = archive.read("uncompressed-transposed")
    size = struct.unpack_from("<Q", data, len(SIGNATURE) + 8)[0]
    count, decoded = struct.unpack_from("<QQ", data, len(SIGNATURE) + 24)
    begin = len(SIGNATURE) + 40
    return data[begin : begin + size], count >> 8, decoded


def transposed_records(data: bytes, count: int, size: int) -> list[bytes]:
    return _core.riegeli_records(TRANSPOSED, count, size, data, expand)


@settings(max_examples=2 * settings().max_examples)
@given(st.data())
def test_any_transposed_data_is_records_or_an_error(data: Any) -> None:
    chunk, count, size = transposed()
    assert transposed_records(chunk, count, size) == RECORDS[:count]
    changed = bytearray(chunk)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(chunk) - 1))
        changed[at] = data.draw(st.integers(0, 255))
    try:
        records = transposed_records(bytes(changed), count, size)
    except fastrec.CorruptRecordError:
        return
    except ModuleNotFoundError:  # the first byte names a compression
        return
    assert len(records) == count
    assert sum(map(len, records)) == size


def test_a_program_that_does_nothing_is_stopped() -> None:
    nodes = 50
    # Nodes without an action, each of which leads to the next one; the last one needs a transition.
    header = bytes([0, 0, nodes]) + bytes(nodes)
    header += bytes([nodes + at + 1 for at in range(nodes - 1)]) + bytes([0, 0])
    data = b"\0" + put_number(len(header)) + header + b"\0" * 100
    with pytest.raises(fastrec.CorruptRecordError, match="does nothing for too long"):
        transposed_records(data, 1, 99)
    loop = bytes([0, 0, 2, 0, 0, 3, 2, 0])  # each of two nodes leads to the other one
    with pytest.raises(fastrec.CorruptRecordError, match="form a loop"):
        transposed_records(b"\0" + put_number(len(loop)) + loop, 1, 99)


# -- Rules -----------------------------------------------------------------------------------------


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind, package in ((b"b", "brotli"), (b"s", "cramjam")):
        monkeypatch.setitem(sys.modules, package, None)
        data = file_of((SIMPLE, 1, 3, kind + b"\x02\x01\x03\x03abc"))
        path = put(tmp_path / "a.riegeli", data)
        remedy = rf"requires {package}: pip install 'fastrec-io\[riegeli\]'"
        with pytest.raises(ModuleNotFoundError, match=remedy):
            fastrec.convert(path, tmp_path / "back")


def test_a_chunk_larger_than_the_limit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.riegeli"
    monkeypatch.setattr(riegeli_blocks, "_MOST", 4000)
    for chunk in (plain(bytes(5000)), plain(*[b""] * 70)):  # a record takes memory, too
        put(path, file_of(plain(*SMALL), chunk))
        with pytest.raises(fastrec.LimitExceededError, match="smaller chunks") as caught:
            records_of(path)
        assert (caught.value.path, caught.value.record) == (str(path), 3)


def test_memory_is_that_of_one_chunk(tmp_path: Path) -> None:
    path = put(tmp_path / "a.riegeli", file_of(*[plain(bytes(3 * BLOCK))] * 40))
    chunks = ChunkReader(str(path), "Riegeli")
    begin = len(SIGNATURE)
    while begin < chunks.size:
        begin = chunks.chunks(begin, 0)[-1][1]
        assert len(chunks._room) <= 1 << 20
    chunks.close()
