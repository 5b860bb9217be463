# SPDX-License-Identifier: Apache-2.0
"""Measure `write_many` into 4 shards and into 4 files one after the other, relative to one file.

    python benchmarks/shards.py DIRECTORY

20 MB of records of one size are written without fsync. Each time is the least processor time of
some rounds in which the three ways alternate.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable

import fastrec

SIZE = 20_000_000  # bytes of records
SHARDS = 4


def one_file(folder: str, records: fastrec.Bytes) -> None:
    with fastrec.Writer(f"{folder}/one", fsync=False) as writer:
        writer.write_many(records)


def four_files(folder: str, records: fastrec.Bytes) -> None:
    some = len(records) // SHARDS
    for shard in range(SHARDS):
        with fastrec.Writer(f"{folder}/{shard}", fsync=False) as writer:
            writer.write_many(records[shard * some : (shard + 1) * some])


def four_shards(folder: str, records: fastrec.Bytes) -> None:
    with fastrec.Writer(f"{folder}/train", shards=SHARDS, fsync=False) as writer:
        writer.write_many(records)


def seconds(
    job: Callable[[str, fastrec.Bytes], None], parent: str, records: fastrec.Bytes
) -> float:
    """Return the processor time of one call, which writes to a new folder."""
    with tempfile.TemporaryDirectory(dir=parent) as folder:
        before = time.process_time()
        job(folder, records)
        return time.process_time() - before


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure sharded writing.")
    parser.add_argument("directory")
    parser.add_argument("--rounds", type=int, default=30)
    arguments = parser.parse_args()
    jobs = (one_file, four_files, four_shards)
    print("| record, bytes | one file, ms | four files | four shards |\n|--:|--:|--:|--:|")
    for size in (100, 1_000, 10_000, 100_000):
        records = fastrec.Bytes.from_list([bytes(size)] * (SIZE // size))
        rounds = [
            [seconds(job, arguments.directory, records) for job in jobs]
            for _ in range(arguments.rounds)
        ]
        one, files, shards = map(min, zip(*rounds, strict=True))
        print(
            f"| {size:,} | {one * 1e3:.1f} | {files / one:.2f} | {shards / one:.2f} |", flush=True
        )


if __name__ == "__main__":
    main()
