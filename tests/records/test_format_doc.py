# SPDX-License-Identifier: Apache-2.0
"""The worked example of csrc/format/FORMAT.md is what the library writes, reads and computes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

import fastrec

DOC = (Path(__file__).parents[2] / "csrc" / "format" / "FORMAT.md").read_text()
ROW = {"id": 300, "name": b"cat", "w": 0.5}


def record() -> bytes:
    block = re.search(r"```hex\n(.*?)```", DOC, re.DOTALL)
    assert block is not None
    rows = (line.split("   ")[0] for line in block.group(1).splitlines())
    return bytes.fromhex(" ".join(rows))


def test_the_record_in_the_document_is_what_the_writer_writes(tmp_path: Path) -> None:
    path = tmp_path / "one.tfrecord"
    with fastrec.Writer(path) as writer:
        writer.write(ROW)
    assert path.read_bytes() == record()
    assert f"{len(record())} bytes in the file" in DOC


def test_the_record_in_the_document_reads_as_the_document_says(tmp_path: Path) -> None:
    path = tmp_path / "one.tfrecord"
    path.write_bytes(record())
    (data,) = fastrec.Reader(path)
    assert data == record()[12:-4]
    features = {
        "id": fastrec.FixedLenFeature((), np.int64),
        "name": fastrec.FixedLenFeature((), bytes),
        "w": fastrec.FixedLenFeature((), np.float32),
    }
    row = fastrec.parse_single_example(data, features)
    assert dict(row.items()) == ROW


def test_the_checksums_in_the_document_are_those_of_its_bytes() -> None:
    of_length, of_data = (int(found, 16) for found in re.findall(r"mask\((0x[0-9a-f]{8})\)", DOC))
    data = record()[12:-4]
    assert fastrec.crc32c(record()[:8]) == of_length
    assert fastrec.crc32c(data) == of_data
    assert fastrec.masked_crc32c(record()[:8]).to_bytes(4, "little") == record()[8:12]
    assert fastrec.masked_crc32c(data).to_bytes(4, "little") == record()[-4:]
    assert f"length: {len(data)}\n" in DOC
    assert "`0xE3069283`" in DOC
    assert fastrec.crc32c(b"123456789") == 0xE3069283


def test_the_kinds_of_damage_in_the_document_are_those_of_the_library() -> None:
    table = re.findall(r"^\| (`[^|]*`) \|", DOC, re.MULTILINE)
    kinds = set(re.findall(r"`([a-z-]+)`", " ".join(table)))
    source = (Path(__file__).parents[2] / "csrc" / "base" / "status.c").read_text()
    names = re.search(r"fr_fault_name\(.*?^}", source, re.DOTALL | re.MULTILINE)
    assert names is not None
    assert kinds == set(re.findall(r'"([a-z-]+)"', names.group(0)))
