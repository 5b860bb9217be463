# SPDX-License-Identifier: Apache-2.0
"""DataLoader workers that are started anew read S3, with credentials from the environment."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fastrec

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("obstore", reason="obstore is not installed")
pytest.importorskip("moto.server", reason="moto is not installed")
boto3 = pytest.importorskip("boto3", reason="boto3 is not installed")

from torch.utils.data import DataLoader  # noqa: E402

from fastrec.torch import Dataset, IterableDataset  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:fastrec.torch.IterableDataset reads ahead"),
]

FEATURES = {"id": fastrec.FixedLenFeature((), np.int64)}
COUNT = 90


def answers(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """Three objects on a server in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    environment = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    try:
        for _ in range(3000):
            if answers(port):
                break
            time.sleep(0.1)
        with pytest.MonkeyPatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            client = boto3.client("s3", endpoint_url=environment["AWS_ENDPOINT_URL"])
            client.create_bucket(Bucket="data-set")
            client.close()
            for begin in range(0, COUNT, 30):
                with fastrec.Writer(f"s3://data-set/part-{begin:02}.tfrecord") as writer:
                    writer.write_batch({"id": np.arange(begin, begin + 30)})
            yield "s3://data-set/part-*.tfrecord"
    finally:
        server.kill()
        server.wait()


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
@pytest.mark.parametrize("kind", ["Dataset", "IterableDataset"])
def test_workers_read_every_record_of_s3(bucket: str, kind: str, method: str) -> None:
    dataset: Any
    options: dict[str, Any]
    if kind == "Dataset":
        dataset, options = Dataset(bucket, FEATURES), {"batch_size": 8, "shuffle": True}
    else:
        dataset = IterableDataset(bucket, FEATURES, 8, shuffle="blocks", seed=0)
        options = {"batch_size": None}
    loader = DataLoader(dataset, num_workers=2, multiprocessing_context=method, **options)
    for _ in range(2):
        assert sorted(int(i) for batch in loader for i in batch["id"]) == list(range(COUNT))
