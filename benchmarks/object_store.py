# SPDX-License-Identifier: Apache-2.0
"""Records over a link of 20 ms and 1 Gbit/s: the share of the link that is used, and the requests.

    pip install 'fastrec-io[remote]' fsspec aiohttp requests 'smart_open[http]' tfrecord
    python benchmarks/object_store.py [--scale 1] [--rounds 3] [--latency-ms 20] [--gbit 1]

A server in a process of its own simulates the link (tests/helpers/object_server.py). Jobs take
turns, and each is divided by the time of one GET of the whole object over the same link, whose rate
is the link's when the machine has nothing else to do. What is not installed is named, and left out.

tf.data is not among the peers: TensorFlow has no file system for http://, and that for s3:// is in
tensorflow-io, whose last version, 0.37.1, requires TensorFlow 2.16.
"""

from __future__ import annotations

import argparse
import datetime
import http.client
import multiprocessing
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

import fastrec
from fastrec.bench.machine import cpu_name

RECORD = 50_000
SHARDS = 8


def serve(folder: str, latency_s: float, rate: float, pipe: Any) -> None:
    """Serve the files of a folder, and the number of requests so far when asked."""
    from object_server import Link, Objects, ObjectServer

    objects = Objects({path.name: path.read_bytes() for path in Path(folder).iterdir()})
    with ObjectServer(objects, link=Link(latency_s, rate)) as server:
        pipe.send(server.url)
        while pipe.recv():
            pipe.send(len(server.requests))


def whole(urls: list[str]) -> None:
    for url in urls:
        parts = urlsplit(url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
        connection.request("GET", parts.path)
        answer = connection.getresponse()
        while answer.read(1 << 20):
            pass


def sequential(urls: list[str]) -> None:
    assert sum(map(len, fastrec.Reader(urls).blocks(256))) > 0


def in_blocks(urls: list[str]) -> None:
    shuffle = fastrec.BlockShuffle(16, 16)
    assert sum(map(len, fastrec.Batcher(urls, None, 64, shuffle=shuffle, seed=1))) > 0


def resumed(urls: list[str]) -> None:
    """The second half of a shuffled epoch, from a state."""
    batcher = fastrec.Batcher(urls, None, 64, shuffle=fastrec.BlockShuffle(16, 16), seed=1)
    state = batcher.state_dict()
    batcher.load_state_dict({**state, "used": len(batcher) // 2 * 64})
    assert sum(map(len, batcher)) > 0


def side_by_side(readers: int, urls: list[str]) -> None:
    """The objects, dealt out to Readers in threads of their own."""
    threads = [
        threading.Thread(target=sequential, args=(urls[number::readers],))
        for number in range(readers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def with_fsspec(urls: list[str]) -> None:
    """Files are copied by fsspec, and then read by the tfrecord package, which checks nothing."""
    import fsspec
    import tfrecord.reader

    with tempfile.TemporaryDirectory() as folder:
        for url in urls:
            path = fsspec.open_local(f"simplecache::{url}", simplecache={"cache_storage": folder})
            for _ in tfrecord.reader.tfrecord_iterator(path):
                pass


def with_smart_open(urls: list[str]) -> None:
    import smart_open

    for url in urls:
        with smart_open.open(url, "rb") as file:
            assert sum(map(len, fastrec.Reader(file).blocks(256))) > 0


BASE = "one GET an object"
JOBS: dict[str, tuple[Callable[[list[str]], None], float]] = {
    BASE: (whole, 1.0),
    "Reader": (sequential, 1.0),
    "2 Readers": (partial(side_by_side, 2), 1.0),
    "4 Readers": (partial(side_by_side, 4), 1.0),
    "8 Readers": (partial(side_by_side, 8), 1.0),
    "Batcher, shuffled in blocks": (in_blocks, 1.0),
    "Batcher, resumed in the middle": (resumed, 0.5),
    "fsspec and the tfrecord package": (with_fsspec, 1.0),
    "smart_open and Reader": (with_smart_open, 1.0),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="of the 256 MiB of data")
    parser.add_argument("--only", default="", help="a part of the names of the jobs to run")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--latency-ms", type=float, default=20.0)
    parser.add_argument("--gbit", type=float, default=1.0)
    arguments = parser.parse_args()
    rate = arguments.gbit * 1e9 / 8
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        files = Path(folder) / "files"
        files.mkdir()
        count = int(arguments.scale * (256 << 20)) // RECORD
        with fastrec.Writer(files / "t.tfrecord", shards=SHARDS, index=True) as writer:
            for _ in range(count):
                writer.write(os.urandom(RECORD))
        size = sum(path.stat().st_size for path in files.glob("*.tfrecord"))
        here, there = multiprocessing.Pipe()
        server = multiprocessing.get_context("spawn").Process(
            target=serve, args=(str(files), arguments.latency_ms / 1e3, rate, there), daemon=True
        )
        server.start()
        url = here.recv()
        urls = [f"{url}/{path.name}" for path in sorted(files.glob("*.tfrecord"))]
        seconds: dict[str, list[float]] = {name: [] for name in JOBS}
        requests: dict[str, int] = {}
        for _ in range(arguments.rounds):
            for name, (job, _) in JOBS.items():
                if arguments.only not in name and name != BASE:
                    continue
                here.send(True)
                before = here.recv()
                began = time.perf_counter()
                try:
                    job(urls)
                except ImportError:
                    continue
                seconds[name].append(time.perf_counter() - began)
                here.send(True)
                requests[name] = here.recv() - before
        here.send(False)
        server.join()
    print(table(arguments, size, seconds, requests))


def table(
    arguments: argparse.Namespace,
    size: int,
    seconds: dict[str, list[float]],
    requests: dict[str, int],
) -> str:
    """The results as a page of Markdown."""
    link = size / (arguments.gbit * 1e9 / 8)
    base = statistics.median(seconds[BASE])
    lines = [
        f"`{' '.join(['python benchmarks/object_store.py', *sys.argv[1:]])}`, "
        f"{datetime.date.today()}: {cpu_name()}, "
        f"{os.cpu_count()} processors. {size / 1e6:.0f} MB in {SHARDS} objects; "
        f"{arguments.latency_ms:g} ms and {arguments.gbit:g} Gbit/s, which take {link:.2f} s.",
        "",
        "| in sequence, unless it says shuffled | of the link | of one GET after the other "
        "| requests |",
        "|---|--:|--:|--:|",
    ]
    for name, (_, part) in JOBS.items():
        if arguments.only not in name and name != BASE:
            continue
        if not (found := seconds[name]):
            lines.append(f"| {name} | not installed |  |  |")
            continue
        took = statistics.median(found)
        lines.append(
            f"| {name} | {link * part / took:.0%} | {base * part / took:.0%} | {requests[name]} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
