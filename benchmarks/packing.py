# SPDX-License-Identifier: Apache-2.0
"""Tokens packed per core second: fastrec, its parser alone, Grain's three packers, and Zephon.

    pip install fastrec-io grain array_record 'zephon[parquet]'
    python benchmarks/packing.py [--documents 49152] [--length 2048] [--rounds 3]

Documents of lognormal length are packed into rows. fastrec reads them from a record file, verifies
and parses them. Grain reads them from its own format, array_record, and Zephon from Parquet. Times
are processor times of all threads; the fastest round counts. A further round, which is not timed,
compares the sums of all tokens. Zephon delivers whole chunks of 16,384 documents only.
"""

from __future__ import annotations

import argparse
import datetime
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import fastrec
from fastrec import _core
from fastrec.bench.machine import cpu_name

WINDOW = 1 << 16
FEATURES = {"tokens": fastrec.RaggedFeature(np.int64)}
Batches = Iterator[tuple[Any, Any]]  # tokens and segment ids; None instead of these without padding


def fastrec_packed(path: str, length: int, fit: Any) -> Batches:
    packing = fastrec.Packing("tokens", length, fit=fit, window=WINDOW)
    batcher = fastrec.Batcher(path, FEATURES, 64, shuffle=True, seed=0, threads=1, packing=packing)
    for batch in batcher:
        yield batch["tokens"], batch["segment_ids"]


def fastrec_parsed(path: str) -> Batches:
    for batch in fastrec.Batcher(path, FEATURES, 256, shuffle=True, seed=0, threads=1):
        yield batch["tokens"].values, None


def write_array_record(path: str, documents: list[Any]) -> None:
    from array_record.python import array_record_module

    writer = array_record_module.ArrayRecordWriter(path, "group_size:1,uncompressed")
    for document in documents:
        writer.write(document.tobytes())
    writer.close()


def write_parquet(folder: str, documents: list[Any]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    os.makedirs(folder)
    lists = pa.array([document.tolist() for document in documents], pa.list_(pa.int32()))
    parquet.write_table(pa.table({"tokens": lists}), os.path.join(folder, "part-00000.parquet"))


def grain_packed(path: str, length: int, name: str) -> Batches:
    import grain
    from grain import experimental

    source = grain.MapDataset.source(grain.sources.ArrayRecordDataSource(path)).shuffle(seed=0)
    parent = source.map(lambda record: {"tokens": np.frombuffer(record, np.int32)}).to_iter_dataset(
        grain.ReadOptions(num_threads=0)
    )
    kind = getattr(experimental, name)
    if name == "ConcatThenSplitIterDataset":
        packed = kind(parent, length_struct={"tokens": length})
    else:
        packed = kind(parent, length_struct={"tokens": length}, num_packing_bins=64)
    for row in packed:
        yield row["tokens"], row["tokens_segment_ids"]


def zephon_packed(folder: str, length: int, algorithm: Any) -> Batches:
    from zephon import Pipeline
    from zephon.io import Dataset
    from zephon.work import MixtureSpec, StaticMixtureWorkSource

    source = StaticMixtureWorkSource(
        datasets=[Dataset.from_path("train", folder)], mixture=MixtureSpec({"train": 1.0}), seed=0
    )
    pipeline = Pipeline(source).pack_flat(
        length,
        num_bins=None if algorithm == "wrap" else 64,
        algorithm=algorithm,
        tokens_field="tokens",
        pad_token_id=0,
    )
    for row in pipeline:
        tokens = np.asarray(row.payload["tokens"])
        yield tokens, tokens


def timed(run: Callable[[], Batches], rounds: int) -> float:
    """Return the least processor time of a round."""
    best = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        for _batch in run():
            pass
        best = min(best, time.process_time() - began)
    return best


def counted(run: Callable[[], Batches]) -> tuple[int, int, int]:
    """Return the cells, the tokens, and the sum of the tokens of a round."""
    cells = tokens = checksum = 0
    for values, ids in run():
        cells += values.size
        tokens += values.size if ids is None else int((ids > 0).sum())
        checksum += int(values.sum())
    return cells, tokens, checksum


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--documents", type=int, default=3 << 14)
    parser.add_argument("--length", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    sizes = np.clip(rng.lognormal(6, 1, arguments.documents).astype(int), 1, arguments.length)
    values = rng.integers(1, 50_000, sizes.sum())
    splits = np.concatenate([[0], np.cumsum(sizes)])
    small = [np.array(part, np.int32) for part in np.split(values, splits[1:-1])]
    total = int(values.sum())
    print(
        f"{arguments.documents} documents, {len(values)} tokens, {cpu_name()}, "
        f"{datetime.date.today()}"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "documents.tfrecord")
        with fastrec.Writer(path, index=True) as writer:
            writer.write_batch({"tokens": fastrec.Ragged(values, splits)})
        fastrec.Index.build(path, columns="len(tokens)").save()
        other = os.path.join(folder, "documents.array_record")
        try:
            write_array_record(other, small)
        except ImportError as error:
            print(f"array_record is left out: {error}")
        jobs: dict[str, Callable[[], Batches]] = {
            f"fastrec, {fit}": lambda fit=fit: fastrec_packed(path, arguments.length, fit)  # type: ignore[misc]
            for fit in ("best", "first", "split")
        }
        jobs["fastrec, parsed only"] = lambda: fastrec_parsed(path)
        for kind in ("FirstFitPack", "BestFitPack", "ConcatThenSplit"):
            jobs[f"Grain, {kind}"] = lambda kind=kind: grain_packed(  # type: ignore[misc]
                other, arguments.length, f"{kind}IterDataset"
            )
        parquet = os.path.join(folder, "parquet")
        try:
            write_parquet(parquet, small)
        except ImportError as error:
            print(f"Parquet is left out: {error}")
        for algorithm in ("first_fit", "wrap"):
            jobs[f"Zephon, {algorithm}"] = lambda algorithm=algorithm: zephon_packed(  # type: ignore[misc]
                parquet, arguments.length, algorithm
            )
        baseline = 0.0
        for name, run in jobs.items():
            try:
                cells, tokens, checksum = counted(run)
            except ImportError as error:
                print(f"{name:24} left out: {error}")
                continue
            rate = tokens / timed(run, arguments.rounds)
            baseline = baseline or rate
            whole = "" if checksum == total else f"  {tokens / len(values):.2%} of the tokens"
            print(
                f"{name:24} {rate / 1e6:7.1f} M tokens/core s  {baseline / rate:6.1f}x  "
                f"rows {tokens / cells:.2%} full{whole}"
            )
    lengths = np.clip(rng.lognormal(6, 1, 1 << 16).astype(np.uint32), 1, None)
    best = float("inf")
    for _ in range(20):
        began = time.process_time()
        _core.RowPlan(lengths, length=arguments.length, fit="best", overlong="split")
        best = min(best, time.process_time() - began)
    print(f"planning, best fit: {len(lengths) / best / 1e6:.0f} M documents/core s")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
