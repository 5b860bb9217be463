# SPDX-License-Identifier: Apache-2.0
"""What every one of many readers fetches: all of them read, one after another, and are counted.

    pip install 'fastrec-io[remote,torch]'
    python benchmarks/scale_ranks.py [--ranks 64] [--megabytes 130] [--workers 1]

Files are read with a cold page cache, where the bytes from the disk count; objects are read through
a local server, which counts bytes and requests. Prints a table in Markdown.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from scale_out import server_of, table, write
from scale_readers import RECORD_BYTES

import fastrec

ORDERS: dict[str, Any] = {"file order": False, "blocks": "blocks", "buffer": 1000}
OBJECTS, BATCH = 8, 128
FEATURES = {"i": fastrec.FixedLenFeature((), np.int64)}


def numbers(paths: list[str], order: Any, rank: int, ranks: int, workers: int) -> Iterator[Any]:
    """Yield the numbers of the records of one rank, batch by batch."""
    options: dict[str, Any] = {"shuffle": order, "seed": 0, "shard": (rank, ranks)}
    if workers == 1:
        for batch in fastrec.Batcher(paths, FEATURES, BATCH, **options):
            yield batch["i"]
        return
    from torch.utils.data import DataLoader

    from fastrec.torch import IterableDataset

    dataset = IterableDataset(paths, FEATURES, batch_size=BATCH, **options)
    # A child made by fork() cannot use object stores, but need not read libraries from the disk.
    context = "spawn" if "://" in paths[0] else "fork"
    for batch in DataLoader(dataset, None, num_workers=workers, multiprocessing_context=context):
        yield np.asarray(batch["i"])


def from_disk() -> int:
    """Return the bytes that this process and its ended children have read from the disk."""
    return int(Path("/proc/self/io").read_text().partition("\nread_bytes: ")[2].split()[0])


def evict(paths: list[str]) -> None:
    """Remove files from the page cache."""
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def row(source: str, name: str, found: list[tuple[int, int, int]], records: int) -> list[str]:
    """Return cells for the records, bytes of data and requests of each rank."""
    shares = [size / (rows * RECORD_BYTES) for rows, size, _ in found]
    size, requests = sum(each[1] for each in found), sum(each[2] for each in found)
    cells = [f"{source}, {name}", f"{max(shares):.2f}", f"{size / (records * RECORD_BYTES):.2f}"]
    return [*cells, f"{size / requests / (1 << 20):.2f} MiB" if requests else ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--read", type=int, default=0, help="of these ranks; 0 for all")
    parser.add_argument("--megabytes", type=int, default=130)
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args()
    ranks, workers = arguments.ranks, arguments.workers
    read = range(0, ranks, max(1, ranks // (arguments.read or ranks)))
    warnings.simplefilter("ignore")
    os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp()
    records = arguments.megabytes * 1_000_000 // RECORD_BYTES // OBJECTS * OBJECTS
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder, began = Path(name), time.monotonic()
        write(folder, OBJECTS, records)
        paths = [str(folder / f"{number}.tfrecord") for number in range(OBJECTS)]
        with server_of(folder, 0.0, None) as (url, traffic):
            for label, order in ORDERS.items():
                found, seen = [], []
                for rank in read:
                    urls = [f"{url}/{rank}/{number}.tfrecord" for number in range(OBJECTS)]
                    seen.append(np.concatenate([*numbers(urls, order, rank, ranks, workers)]))
                    each = traffic()[str(rank)]
                    size, requests = each.size - each.side_size, each.requests - each.side_requests
                    found.append((len(seen[-1]), size, requests))
                if len(read) == ranks:
                    assert len(np.unique(np.concatenate(seen))) == records == sum(map(len, seen))
                rows.append(row("remote", label, found, sum(map(len, seen))))
        for label, order in ORDERS.items():
            found = []
            for rank in read:
                evict(paths)
                before = from_disk()
                count = sum(map(len, numbers(paths, order, rank, ranks, workers)))
                found.append((count, from_disk() - before, 0))
            rows.append(row("local, cold", label, found, sum(each[0] for each in found)))
    print(
        f"{len(read)} of {ranks} ranks, {arguments.megabytes} MB, {workers} workers each, ", end=""
    )
    print(f"{time.monotonic() - began:.0f} s\n")
    print(table(("", "most bytes of one, of its share", "bytes of all", "requests"), rows))


if __name__ == "__main__":
    main()
