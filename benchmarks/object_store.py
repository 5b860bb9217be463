# SPDX-License-Identifier: Apache-2.0
"""Records over a link of 20 ms and 1 Gbit/s: the share of the link that is used, and the requests.

    pip install 'fastrec-io[remote]' fsspec aiohttp requests 'smart_open[http]' tfrecord
    python benchmarks/object_store.py [--mib 64] [--rounds 3] [--latency-ms 20] [--gbit 1]

A server in a process of its own simulates the link (tests/helpers/object_server.py). Jobs take
turns, and each is divided by the time of one GET of the whole object over the same link, whose rate
is the link's when the machine has nothing else to do. What is not installed is left out.
"""

from __future__ import annotations

import argparse
import http.client
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

import fastrec

RECORD = 50_000
SHARDS = 4


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
    batcher.load_state_dict({**state, "used": len(fastrec.Reader(urls)) // 2 // 64 * 64})
    assert sum(map(len, batcher)) > 0


def two_readers(urls: list[str]) -> None:
    import threading

    halves = [urls[: len(urls) // 2], urls[len(urls) // 2 :]]
    threads = [threading.Thread(target=sequential, args=(half,)) for half in halves]
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


JOBS: dict[str, tuple[Callable[[list[str]], None], float]] = {
    "one GET an object": (whole, 1.0),
    "Reader, in sequence": (sequential, 1.0),
    "two Readers side by side": (two_readers, 1.0),
    "Batcher, shuffled in blocks": (in_blocks, 1.0),
    "Batcher, resumed in the middle": (resumed, 0.5),
    "fsspec and the tfrecord package": (with_fsspec, 1.0),
    "smart_open and Reader": (with_smart_open, 1.0),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mib", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--latency-ms", type=float, default=20.0)
    parser.add_argument("--gbit", type=float, default=1.0)
    arguments = parser.parse_args()
    rate = arguments.gbit * 1e9 / 8
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        files = Path(folder) / "files"
        files.mkdir()
        count = (arguments.mib << 20) // RECORD
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
    base = statistics.median(seconds["one GET an object"])
    print(f"{size / 1e6:.0f} MB in {SHARDS} objects; the link alone takes {size / rate:.2f} s")
    print(f"{'':34}{'of the link':>12}{'of a GET':>12}{'requests':>10}")
    for name, (_, part) in JOBS.items():
        if found := seconds[name]:
            took = statistics.median(found)
            share, ratio = size * part / rate / took, base * part / took
            print(f"{name:34}{share:>11.0%}{ratio:>12.0%}{requests[name]:>10}")


if __name__ == "__main__":
    main()
