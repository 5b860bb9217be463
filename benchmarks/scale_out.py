# SPDX-License-Identifier: Apache-2.0
"""What each of many readers fetches, planned for datasets that no test can have, and measured.

    pip install 'fastrec-io[remote]' webdataset mosaicml-streaming tensorflow-cpu
    python benchmarks/scale_out.py [--readers 1 2 4 8] [--megabytes 64] [--mbytes-per-s 40]
        [--latency-ms 20] [--node-gbit 10] [--requests-per-s 5500] [--prefixes 1] [--usd 0.4]

First, processes read a dataset through a server whose link they share, and the model says what
each of them fetches (scale_model.py): the two have to agree. Then the model is asked about 10 TB.
What is not installed is named, and left out.
"""

from __future__ import annotations

import argparse
import multiprocessing
import queue
import sys
import tempfile
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from scale_model import HEADER, Dataset, Opening, Store, plan_reading, rows_of
from scale_readers import READERS, RECORD_BYTES, Read, Traffic, read_part, serve

import fastrec
from fastrec.batches.block_shuffle import Shuffle

SPAWN = multiprocessing.get_context("spawn")
BATCH = 16
LARGE = 10**13  # bytes of the datasets that are only planned, with records of 100 kB
SHUFFLES: dict[str, Shuffle] = {"fastrec, file order": False, "fastrec, blocks": "blocks"}


def write(folder: Path, objects: int, records: int) -> None:
    """Write the same samples as TFRecord files with indexes, and for peers that are installed."""
    generator, per = np.random.default_rng(0), records // objects
    payloads = [generator.bytes(RECORD_BYTES) for _ in range(64)]
    for number in range(objects):
        with fastrec.Writer(folder / f"{number}.tfrecord", index=True) as writer:
            for i in range(number * per, (number + 1) * per):
                writer.write({"i": i, "x": payloads[i % 64]})
    try:
        import webdataset
    except ImportError:
        pass
    else:
        for number in range(objects):
            with webdataset.TarWriter(str(folder / f"{number}.tar")) as tar:
                for i in range(number * per, (number + 1) * per):
                    tar.write({"__key__": f"{i:08d}", "i": str(i), "bin": payloads[i % 64]})
    try:
        from streaming import MDSWriter
    except ImportError:
        return
    columns = {"i": "int", "x": "bytes"}
    size = sum(path.stat().st_size for path in folder.glob("*.tfrecord"))
    target = folder / "mds"
    with MDSWriter(out=str(target), columns=columns, size_limit=size // objects) as writer:
        for i in range(records):
            writer.write({"i": i, "x": payloads[i % 64]})
    for path in target.iterdir():
        path.rename(folder / path.name)
    target.rmdir()


@contextmanager
def server_of(folder: Path, latency_s: float, rate: float | None) -> Iterator[tuple[str, Any]]:
    """Serve a folder in a process; yield the URL and what asks for the traffic."""
    here, there = SPAWN.Pipe()
    process = SPAWN.Process(target=serve, args=(str(folder), latency_s, rate, there), daemon=True)
    process.start()

    def traffic() -> dict[str, Traffic]:
        here.send(True)
        found: dict[str, Traffic] = here.recv()
        return found

    try:
        yield here.recv(), traffic
    finally:
        here.send(False)
        process.join()


def read_together(
    name: str, url: str, traffic: Any, objects: int, world: int
) -> list[tuple[Read, Traffic]] | str:
    """Read with a process for each rank; return what each did, or why one could not."""
    ranks = range(world)
    traffic()
    ready, results = SPAWN.Barrier(len(ranks)), SPAWN.Queue()
    processes = [
        SPAWN.Process(target=read_part, args=(name, url, objects, rank, world, ready, results))
        for rank in ranks
    ]
    for process in processes:
        process.start()
    try:
        found = dict(results.get(timeout=300) for _ in ranks)
    except queue.Empty:
        return "no answer within 300 s"
    finally:
        for process in processes:
            process.join(10)
            if process.is_alive():
                process.kill()
    fetched = traffic()
    for read in found.values():
        if isinstance(read, str):
            return read
    return [(found[rank], fetched[str(rank)]) for rank in ranks]


def opening_of(folder: Path, objects: int, records: int) -> Opening:
    """Measure what one reader requests and keeps before its first record, for each object."""
    counts, memory = {}, {}
    index = (folder / "0.tfrecord.frindex").stat().st_size
    numbers = sorted({max(1, objects // 2), objects})
    with server_of(folder, 0.0, None) as (url, traffic):
        for number in numbers:
            found = read_together("fastrec, blocks", url, traffic, number, 1)
            assert not isinstance(found, str), found
            counts[number] = found[0][1].side_requests
        for number in (1, *numbers):  # the first brings what is not there for each object
            tracemalloc.start()
            urls = [f"{url}/0/{each}.tfrecord" for each in range(number)]
            batcher = fastrec.Batcher(urls, None, BATCH, shuffle="blocks", seed=0)
            len(batcher)
            memory[number] = tracemalloc.get_traced_memory()[0]
            tracemalloc.stop()
    (few, less), (many, more) = min(counts.items()), max(counts.items())
    per_object = (more - less) / max(many - few, 1)
    kept = max(memory[many] - memory[few], 0) / max(many - few, 1)
    return Opening(more - per_object * many, per_object, index / records, kept)


def compare(
    folder: Path, arguments: argparse.Namespace, opening: Opening, dataset: Dataset
) -> list[list[str]]:
    """Read with 1 to 8 processes, and put what the model says beside each number."""
    rows = []
    rate = arguments.mbytes_per_s * 1e6
    with server_of(folder, arguments.latency_ms / 1e3, rate) as (url, traffic):
        for world in arguments.readers:
            for name, shuffle in SHUFFLES.items():
                found = read_together(name, url, traffic, dataset.objects, world)
                assert not isinstance(found, str), found
                rank = max(range(world), key=lambda each: found[each][0].seconds)
                read, fetched = found[rank]
                useful = read.rows * dataset.record_bytes / read.seconds / (rate / world)
                model = plan_reading(dataset, shuffle, rank, world, BATCH)
                store = Store(arguments.latency_ms / 1e3, rate / world, 1e9)
                side = opening.requests(dataset)
                share = dataset.size / world
                opened = store.latency_s * 3 + fetched.side_size / (rate / world)
                seconds = opened + store.seconds(model.requests, model.size, world)
                data = fetched.size - fetched.side_size
                rows.append(
                    [
                        name,
                        str(world),
                        f"{data / share:.2f} ({model.size / share:.2f})",
                        f"{fetched.requests} ({model.requests + side:.0f})",
                        f"{read.first_s:.2f} s",
                        f"{read.seconds:.2f} s ({seconds:.2f} s)",
                        f"{useful:.2f}",
                    ]
                )
    return rows


def compare_peers(folder: Path, arguments: argparse.Namespace, dataset: Dataset) -> list[list[str]]:
    """As many ranks as objects read together; the one that took longest is shown."""
    rows, world = [], dataset.objects
    rate = arguments.mbytes_per_s * 1e6
    with server_of(folder, arguments.latency_ms / 1e3, rate) as (url, traffic):
        for name in READERS:
            found = read_together(name, url, traffic, dataset.objects, world)
            if isinstance(found, str):
                rows.append([name, f"left out: {found[:60]}", "", "", ""])
                continue
            read, fetched = max(found, key=lambda each: each[0].seconds)
            share = read.rows / dataset.records * dataset.size
            size = fetched.size / max(1, fetched.requests - fetched.side_requests)
            rows.append(
                [
                    name,
                    f"{fetched.size / share:.2f}",
                    str(fetched.requests),
                    f"{size / (1 << 20):.1f} MiB",
                    f"{read.first_s:.2f} s",
                ]
            )
    return rows


def table(header: list[str] | tuple[str, ...], rows: list[list[str]]) -> str:
    """Return a table of Markdown whose columns but the first are aligned to the right."""
    rule = ["---"] + ["--:"] * (len(header) - 1)
    return "\n".join("| " + " | ".join(row) + " |" for row in [list(header), rule, *rows])


def main(words: list[str] | None = None) -> str:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--readers", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--objects", type=int, default=8)
    parser.add_argument("--megabytes", type=int, default=64, help="of the data that is read")
    parser.add_argument("--mbytes-per-s", type=float, default=40.0, help="of the simulated link")
    parser.add_argument("--latency-ms", type=float, default=20.0, help="to the first byte")
    parser.add_argument("--node-gbit", type=float, default=10.0, help="of a reader, planned")
    parser.add_argument("--requests-per-s", type=float, default=5500.0, help="of a prefix")
    parser.add_argument("--prefixes", type=int, default=1)
    parser.add_argument("--usd", type=float, default=0.4, help="of a million requests")
    parser.add_argument("--large", type=int, nargs="+", default=[10_000, 1_000_000])
    parser.add_argument("--many", type=int, nargs="+", default=[8, 128, 1024, 8192])
    arguments = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        records = arguments.megabytes * 1_000_000 // RECORD_BYTES
        records -= records % arguments.objects
        write(folder, arguments.objects, records)
        size = sum(path.stat().st_size for path in folder.glob("*.tfrecord"))
        dataset = Dataset(arguments.objects, records, size // records)
        opening = opening_of(folder, arguments.objects, records // arguments.objects)
        header = ["order", "readers", "bytes of one, relative to its share (model)"]
        header += ["requests of one (model)", "to the first batch", "all (model)"]
        header += ["useful, of its link"]
        pages = [table(header, compare(folder, arguments, opening, dataset))]
        print(pages[-1], end="\n\n", flush=True)
        header = ["one of as many readers as objects", "bytes, relative to its share"]
        header += ["requests", "of, on average", "to the first batch"]
        pages.append(table(header, compare_peers(folder, arguments, dataset)))
        print(pages[-1], end="\n\n", flush=True)
    store = Store(
        arguments.latency_ms / 1e3,
        arguments.node_gbit * 1e9 / 8,
        arguments.requests_per_s,
        arguments.prefixes,
        usd_per_million=arguments.usd,
    )
    planned = [
        rows_of(Dataset(objects, LARGE // 100_000, 100_000), opening, store, readers, shuffle, 256)
        for objects in arguments.large
        for readers in arguments.many
        for shuffle in SHUFFLES.values()
    ]
    pages.append(table(HEADER, planned))
    print(pages[-1])
    return "\n\n".join(pages)


if __name__ == "__main__":
    main()
