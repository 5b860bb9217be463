# SPDX-License-Identifier: Apache-2.0
"""One reader of several, in a process of its own, and the server that counts what each fetches."""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.request import urlretrieve

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

__all__ = ["READERS", "Read", "Traffic", "read_part", "serve"]

RECORD_BYTES = 8000


class Traffic(NamedTuple):
    """Requests and bytes of one reader, and how many of the requests are not for records."""

    requests: int
    size: int
    side_requests: int
    side_size: int


class Read(NamedTuple):
    """Seconds to the first batch and to the last one, and the records of one reader."""

    first_s: float
    seconds: float
    rows: int


def serve(folder: str, latency_s: float, rate: float | None, pipe: Any) -> None:
    """Serve ``/READER/NAME`` from a folder; send the traffic of each reader when asked."""
    from object_server import Link, Objects, ObjectServer, Request

    objects = Objects({path.name: path.read_bytes() for path in Path(folder).iterdir()})

    def answer(request: Request) -> Any:
        return objects(request._replace(path="/" + request.path.rpartition("/")[2]))

    with ObjectServer(answer, link=Link(latency_s, rate)) as server:
        pipe.send(server.url)
        while pipe.recv():
            pipe.send(_traffic(server.requests, Path(folder)))
            server.requests.clear()


def _traffic(requests: list[Any], folder: Path) -> dict[str, Traffic]:
    from fastrec.records.framing import HEAD_SIZE

    found: dict[str, list[int]] = {}
    for request in requests:
        reader, _, name = request.path.partition("?")[0].strip("/").partition("/")
        counts = found.setdefault(reader, [0, 0, 0, 0])
        size, path = 0, folder / name.rpartition("/")[2]
        if request.method == "GET" and path.exists():
            first, last = request.range or (0, path.stat().st_size - 1)
            size = min(last + 1, path.stat().st_size) - first
        # A reader that opens an object requests its first bytes, to detect compression.
        is_data = size > HEAD_SIZE and path.suffix in (".tfrecord", ".tar", ".mds")
        counts[0] += 1
        counts[1] += size
        counts[2] += not is_data
        counts[3] += 0 if is_data else size
    return {reader: Traffic(*counts) for reader, counts in found.items()}


# --- readers ------------------------------------------------------------------------------------


def _fastrec(shuffle: Any) -> Callable[[str, int, int, int], Iterator[int]]:
    def read(url: str, objects: int, rank: int, world: int) -> Iterator[int]:
        import numpy as np

        import fastrec

        urls = [f"{url}/{number}.tfrecord" for number in range(objects)]
        features = {"i": fastrec.FixedLenFeature((), np.int64)}
        batcher = fastrec.Batcher(urls, features, 16, shuffle=shuffle, seed=0, shard=(rank, world))
        for batch in batcher:
            yield len(batch["i"])

    return read


def _webdataset(url: str, objects: int, rank: int, world: int) -> Iterator[int]:
    """Whole shards for each rank, and a buffer of 100 samples."""
    import webdataset

    os.environ["RANK"], os.environ["WORLD_SIZE"] = str(rank), str(world)
    urls = [f"pipe:curl -s -f {url}/{number}.tar" for number in range(objects)]
    dataset = webdataset.WebDataset(
        urls, shardshuffle=objects, nodesplitter=webdataset.split_by_node, seed=0
    )
    for batch in dataset.shuffle(100).batched(16, collation_fn=None):
        yield len(batch)


def _streaming(url: str, objects: int, rank: int, world: int) -> Iterator[int]:
    """Shards of MDS through the client for S3, whose endpoint is the server.

    The ranks of one machine share its local copies, because they also share its shared memory.
    """
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(world), "LOCAL_RANK": str(rank)}
    os.environ |= {"LOCAL_WORLD_SIZE": str(world), "S3_ENDPOINT_URL": url}
    os.environ |= {"AWS_REGION": "us-east-1"}
    os.environ |= {"AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none"}
    os.environ |= {"AWS_EC2_METADATA_DISABLED": "true", "MASTER_ADDR": "127.0.0.1"}
    port = int(url.rpartition(":")[2].partition("/")[0])
    os.environ["MASTER_PORT"] = str(20_000 + port % 10_000)
    from streaming import StreamingDataset

    dataset = StreamingDataset(
        remote="s3://bucket",
        local=os.path.join(tempfile.gettempdir(), f"fastrec-mds-{port}"),
        shuffle=True,
        batch_size=16,
    )
    rows = 0
    for _ in dataset:
        rows += 1
        if rows == 16:
            yield rows
            rows = 0
    yield rows


def _tf_data(url: str, objects: int, rank: int, world: int) -> Iterator[int]:
    """Whole files for each rank, each copied to the disk first: tf.data reads no http:// URLs."""
    import tensorflow as tf

    folder = tempfile.mkdtemp()

    def copies() -> Iterator[str]:
        for number in range(rank, objects, world):
            path, _ = urlretrieve(f"{url}/{number}.tfrecord", f"{folder}/{number}")
            yield path

    paths = tf.data.Dataset.from_generator(copies, output_signature=tf.TensorSpec((), tf.string))
    for batch in paths.flat_map(tf.data.TFRecordDataset).batch(16).prefetch(2):
        yield int(batch.shape[0])


READERS: dict[str, Callable[[str, int, int, int], Iterator[int]]] = {
    "fastrec, file order": _fastrec(False),
    "fastrec, blocks": _fastrec("blocks"),
    "WebDataset": _webdataset,
    "MosaicML Streaming": _streaming,
    "tf.data, copies of files": _tf_data,
}


def read_part(
    name: str, url: str, objects: int, rank: int, world: int, ready: Any, results: Any
) -> None:
    """Read the part of one rank after all have reached `ready`; put a Read or an error."""
    try:
        os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp()
        import fastrec

        # Importing libraries is not a part of the time.
        assert fastrec.Batcher
        importlib.import_module("obstore.store")
        if name == "WebDataset":
            import webdataset  # noqa: F401
        elif name == "MosaicML Streaming":
            import streaming  # noqa: F401
        elif name.startswith("tf.data"):
            import tensorflow  # noqa: F401
        ready.wait(timeout=120)
        began, first, rows = time.perf_counter(), 0.0, 0
        for count in READERS[name](f"{url}/{rank}", objects, rank, world):
            first = first or time.perf_counter() - began
            rows += count
        results.put((rank, Read(first, time.perf_counter() - began, rows)))
    except BaseException as error:
        ready.abort()
        results.put((rank, repr(error)))
