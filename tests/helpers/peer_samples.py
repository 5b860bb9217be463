# SPDX-License-Identifier: Apache-2.0
"""Samples of MDS and LitData, and the program that recorded what their packages write for them.

``python tests/helpers/peer_samples.py`` writes ``tests/data/sample_folders.zip``, with
mosaicml-streaming 0.13.0 and litdata 0.2.76. Both require packages of several gigabytes, so tests
read the recorded directories.
"""

from __future__ import annotations

import decimal
import os
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

RECORDED = Path(__file__).resolve().parents[1] / "data" / "sample_folders.zip"
COLUMNS = {
    "bytes": "bytes", "str": "str", "int": "int", "u8": "uint8", "u64": "uint64", "i16": "int16",
    "f16": "float16", "f32": "float32", "f64": "float64", "json": "json", "si": "str_int",
    "sf": "str_float", "sd": "str_decimal", "jpeg": "jpeg", "png": "png", "pil": "pil",
    "jpegs": "list[jpeg]", "fixed": "ndarray:uint8:2,3", "vector": "ndarray:int64:3",
    "shaped": "ndarray:float32", "free": "ndarray",
}  # fmt: skip
FEW = {name: COLUMNS[name] for name in ("int", "str", "vector")}
MDS_SAMPLES, LITDATA_SAMPLES = 5, 6


def mds_sample(number: int, image: Any = None) -> dict[str, Any]:
    """Sample of an MDS set; `image` stands for the encoded images."""
    i = number
    return {
        "bytes": bytes([i, 0, 255]), "str": f"t\u00e9xt {i}", "int": -i, "u8": i, "u64": 2**40 + i,
        "i16": -i, "f16": 0.5 * i, "f32": 0.25 * i, "f64": i / 3, "json": {"a": [i, None]},
        "si": 10**30 + i, "sf": i / 3, "sd": decimal.Decimal(f"{i}.10"), "jpeg": image,
        "png": image, "pil": image, "jpegs": [image] * (i % 3 + 1),
        "fixed": np.arange(6, dtype=np.uint8).reshape(2, 3) + i, "vector": np.arange(3) + i,
        "shaped": np.arange(i + 1, dtype=np.float32), "free": np.full((i + 1, 2), i, np.int16),
    }  # fmt: skip


def pixels_of(number: int) -> Any:
    """Pixels of the image of a sample."""
    return np.full((3, 4, 3), 40 * number, np.uint8)


def litdata_sample(number: int) -> dict[str, Any]:
    """Sample of a LitData set, without tensors."""
    i = number
    return {
        "x": i, "f": 0.25 * i, "t": f"t\u00e9xt {i}", "b": bytes([i, 0, 255]), "flag": i % 2 == 0,
        "v": np.arange(3) + i, "w": np.arange(i, dtype=np.float32),
        "m": np.full((2, i + 1), i, np.int16),
    }  # fmt: skip


def _write_mds(folder: str) -> None:
    from PIL import Image
    from streaming import MDSWriter

    def write(name: str, columns: dict[str, str], **options: Any) -> None:
        with MDSWriter(columns=columns, out=f"{folder}/mds/{name}", **options) as writer:
            for i in range(MDS_SAMPLES):
                sample = mds_sample(i, Image.fromarray(pixels_of(i))) | {"pickle": {i}}
                writer.write({column: sample[column] for column in columns})

    write("all", COLUMNS, size_limit=4000)
    write("plain", FEW, size_limit=450)
    write("sha1", FEW, hashes=["sha1"])
    write("xxh64", FEW, hashes=["xxh64"])
    write("zstd", FEW, compression="zstd:7", hashes=["sha256"])
    write("gz", FEW, compression="gz")
    write("bz2", FEW, compression="bz2")
    write("pickle", {"pickle": "pkl"})


def _write_litdata(folder: str) -> None:
    import torch
    from litdata.streaming.writer import BinaryWriter

    def write(name: str, samples: list[Any], **options: Any) -> None:
        writer = BinaryWriter(f"{folder}/litdata/{name}", chunk_size=4, **options)
        for number, sample in enumerate(samples):
            writer.add_item(number, sample)
        writer.done()
        writer.merge(1)

    numbers = range(LITDATA_SAMPLES)
    samples = [
        litdata_sample(i) | {"t1": torch.arange(3) + i, "t2": torch.full((2, 2), 0.5 * i)}
        for i in numbers
    ]
    rows = [{"x": i, "t": f"t\u00e9xt {i}", "l": [i] * i} for i in numbers]
    write("plain", samples)
    write("batch", samples, compression="zstd", compression_batch_size=3)
    write("chunk", samples, compression="zstd", compression_level="chunk")
    write("sample", samples, compression="zstd", compression_level="sample")
    write("rows", rows)
    write("packed_rows", rows, compression="zstd")
    write("tree", [{"a": {"b": np.arange(2) + i}, "d": [np.arange(3), i]} for i in numbers])
    write("leaf", [np.arange(3) + i for i in numbers])
    write("pickle", [{"a": {i}, "b": np.arange(2)} for i in numbers])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        _write_mds(place)
        _write_litdata(place)
        with zipfile.ZipFile(RECORDED, "w") as archive:
            for file in sorted(Path(place).rglob("*")):
                if file.is_file():
                    member = zipfile.ZipInfo(file.relative_to(place).as_posix())
                    archive.writestr(member, file.read_bytes(), zipfile.ZIP_DEFLATED)
        sys.stdout.write(f"{RECORDED}: {os.path.getsize(RECORDED)} bytes\n")
