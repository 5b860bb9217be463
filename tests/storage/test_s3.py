# SPDX-License-Identifier: Apache-2.0
"""S3, as moto's server speaks it, straight and through a link that fails."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from object_server import Fault, Link, ObjectServer, Request, Upstream

import fastrec
from fastrec.storage.options import StorageOptions

moto_server = pytest.importorskip("moto.server")
boto3 = pytest.importorskip("boto3")
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SECRET = "s3cr3t-s3cr3t"
RECORDS = [bytes([n % 251]) * (n * 31 % 4000) for n in range(300)]


@pytest.fixture(scope="module")
def moto() -> Iterator[tuple[str, int]]:
    server = moto_server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    yield server.get_host_and_port()
    server.stop()


@pytest.fixture
def bucket(moto: tuple[str, int]) -> Iterator[Any]:
    client = boto3.client(
        "s3",
        endpoint_url=f"http://{moto[0]}:{moto[1]}",
        region_name="us-east-1",
        aws_access_key_id="key",
        aws_secret_access_key=SECRET,
    )
    client.create_bucket(Bucket="data-set")
    yield client
    for found in client.list_objects_v2(Bucket="data-set").get("Contents", []):
        client.delete_object(Bucket="data-set", Key=found["Key"])
    client.delete_bucket(Bucket="data-set")
    client.close()


def options_for(url: str, **more: Any) -> StorageOptions:
    store = {
        "endpoint": url,
        "region": "us-east-1",
        "access_key_id": "key",
        "secret_access_key": SECRET,
        "allow_http": True,
        "retry_config": {"max_retries": 3},
    }
    return StorageOptions(store, **more)


def keys(client: Any) -> list[str]:
    return [each["Key"] for each in client.list_objects_v2(Bucket="data-set").get("Contents", [])]


def test_what_is_written_is_read(bucket: Any, moto: tuple[str, int]) -> None:
    options = options_for(f"http://{moto[0]}:{moto[1]}")
    with fastrec.Writer(
        "s3://data-set/a/t.tfrecord", shards=2, index=True, storage_options=options
    ) as writer:
        writer.write_many(RECORDS)
    assert len(keys(bucket)) == 4
    reader = fastrec.Reader("s3://data-set/a/t-*.tfrecord", storage_options=options)
    assert sorted(iter(reader)) == sorted(RECORDS)
    assert reader[3] == RECORDS[6]
    assert list(reader.read_many([0, 150])) == [RECORDS[0], RECORDS[1]]
    bucket.put_object(
        Bucket="data-set",
        Key="z.gz",
        Body=gzip.compress(b"".join(map(fastrec._core.frame, RECORDS))),
    )
    assert list(iter(fastrec.Reader("s3://data-set/z.gz", storage_options=options))) == RECORDS
    assert len(fastrec.Reader("s3://data-set/a", storage_options=options).paths) == 2
    with pytest.raises(FileNotFoundError):
        fastrec.Reader("s3://data-set/no.tfrecord", storage_options=options)
    with pytest.raises(FileExistsError):
        fastrec.Writer("s3://data-set/z.gz", overwrite=False, storage_options=options)


def test_an_object_that_is_replaced(bucket: Any, moto: tuple[str, int]) -> None:
    options = options_for(f"http://{moto[0]}:{moto[1]}")
    for words in ([b"one", b"two"], [b"six", b"ten"]):
        with fastrec.Writer(
            "s3://data-set/t.tfrecord", overwrite=True, storage_options=options
        ) as writer:
            writer.write_many(words)
        if words[0] == b"one":
            reader = fastrec.Reader("s3://data-set/t.tfrecord", storage_options=options)
            assert list(iter(reader)) == words
    with pytest.raises(OSError, match="changed"):
        list(iter(reader))


def test_a_large_object_goes_in_parts_that_are_repeated(bucket: Any, moto: tuple[str, int]) -> None:
    record = bytes(range(256)) * 4096
    failed: list[int] = []

    def faults(request: Request, number: int) -> Fault:
        if request.method == "PUT" and len(failed) < 2:
            failed.append(number)
            return Fault("status", status=503)
        return Fault()

    with ObjectServer(Upstream(*moto), faults) as server:
        options = options_for(server.url)
        with fastrec.Writer("s3://data-set/t.tfrecord", storage_options=options) as writer:
            writer.write_many([record] * 20)
        assert len(failed) == 2
        assert sum("partNumber" in request.path for request in server.requests) >= 5
        found = list(iter(fastrec.Reader("s3://data-set/t.tfrecord", storage_options=options)))
        assert found == [record] * 20


UPLOADS = """
import sys
import fastrec
from fastrec.storage.options import StorageOptions

options = StorageOptions({
    "endpoint": sys.argv[1], "region": "us-east-1", "access_key_id": "key",
    "secret_access_key": "secret", "allow_http": True,
})
writer = fastrec.Writer("s3://data-set/t.tfrecord", storage_options=options)
writer.write_many([bytes(1 << 20)] * 96)
try:
    writer.close()
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


def test_an_upload_that_is_interrupted_leaves_nothing(bucket: Any, moto: tuple[str, int]) -> None:
    begun = threading.Event()

    def faults(request: Request, number: int) -> Fault:
        if "partNumber" in request.path:
            begun.set()
        return Fault()

    with ObjectServer(Upstream(*moto), faults, link=Link(latency_s=0.3)) as server:
        package = str(Path(fastrec.__file__).parents[1])
        child = subprocess.Popen(
            [sys.executable, "-c", UPLOADS, server.url],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": package},
        )
        with child:
            assert begun.wait(60)
            child.send_signal(signal.SIGINT)
            assert child.communicate(timeout=60)[0] == b"stopped\n"
        assert sum("partNumber" in request.path for request in server.requests) < 12
    assert keys(bucket) == []
    assert bucket.list_multipart_uploads(Bucket="data-set").get("Uploads", []) == []


@pytest.mark.parametrize("fault", [Fault("status", status=403), Fault("refuse")], ids=str)
def test_an_upload_that_fails_leaves_nothing(
    bucket: Any, moto: tuple[str, int], fault: Fault
) -> None:
    def faults(request: Request, number: int) -> Fault:
        late = "partNumber=2" in request.path and request.method == "PUT"
        return fault if late else Fault()

    with ObjectServer(Upstream(*moto), faults) as server:
        writer = fastrec.Writer(
            "s3://data-set/t.tfrecord", storage_options=options_for(server.url, retries=1)
        )
        writer.write_many([bytes(1 << 20)] * 20)
        with pytest.raises(OSError) as caught:  # noqa: PT011
            writer.close()
    assert SECRET not in str(caught.value)
    assert caught.value.filename == "s3://data-set/t.tfrecord"
    assert keys(bucket) == []
    assert bucket.list_multipart_uploads(Bucket="data-set").get("Uploads", []) == []


def test_shards_that_cannot_all_be_stored_leave_nothing(
    bucket: Any, moto: tuple[str, int], tmp_path: Path
) -> None:
    def faults(request: Request, number: int) -> Fault:
        late = "t-00001" in request.path and "partNumber=2" in request.path
        return Fault("status", status=403) if late else Fault()

    source = tmp_path / "t.tfrecord"
    with fastrec.Writer(source) as writer:
        writer.write_many([bytes([n]) * (1 << 20) for n in range(24)])
    with ObjectServer(Upstream(*moto), faults) as server:
        options = options_for(server.url, retries=1)
        with pytest.raises(OSError, match="t-00001"):
            fastrec.reshard(source, "s3://data-set/t", shards=2, storage_options=options)
        assert keys(bucket) == []
        assert bucket.list_multipart_uploads(Bucket="data-set").get("Uploads", []) == []
        server.faults = lambda request, number: Fault()
        done = fastrec.reshard(source, "s3://data-set/t", shards=2, storage_options=options)
        found = fastrec.reshard(done.paths, tmp_path / "back", storage_options=options)
    assert found.records == 24
    assert (tmp_path / "back").read_bytes() == source.read_bytes()


def test_faults_of_the_link_cost_no_record(bucket: Any, moto: tuple[str, int]) -> None:
    body = b"".join(map(fastrec._core.frame, RECORDS))
    bucket.put_object(Bucket="data-set", Key="t.tfrecord", Body=body)
    kinds = [
        Fault("status", status=503, retry_after=True),
        Fault("status", status=429),
        Fault("reset", 5000),
        Fault("truncate", 900),
        Fault("refuse"),
    ]

    def faults(request: Request, number: int) -> Fault:
        return kinds[number // 2 % len(kinds)] if number % 2 else Fault()

    with ObjectServer(Upstream(*moto), faults) as server:
        options = options_for(server.url, retries=20)
        reader = fastrec.Reader("s3://data-set/*.tfrecord", storage_options=options)
        assert list(iter(reader)) == RECORDS
        assert reader.__getitems__([5, 290]) == [RECORDS[5], RECORDS[290]]


def test_the_environment_says_where_the_store_is(
    bucket: Any, moto: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {
        "AWS_ENDPOINT_URL": f"http://{moto[0]}:{moto[1]}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    for name in ("a/1.tfrecord", "a/2.tfrecord", "a/b/3.tfrecord", "c/4.tfrecord"):
        body = b"".join(map(fastrec._core.frame, [name.encode()]))
        bucket.put_object(Bucket="data-set", Key=name, Body=body)
    for source, expected in {
        "s3://data-set/a/*.tfrecord": [b"a/1.tfrecord", b"a/2.tfrecord"],
        "s3://data-set/**/*.tfrecord": [
            b"a/1.tfrecord",
            b"a/2.tfrecord",
            b"a/b/3.tfrecord",
            b"c/4.tfrecord",
        ],
        "s3://data-set/c/4.tfrecord": [b"c/4.tfrecord"],
    }.items():
        assert list(iter(fastrec.Reader(source))) == expected
    with pytest.raises(FileNotFoundError, match=r"NoSuchBucket|missing-bucket"):
        fastrec.Reader("s3://missing-bucket/*.tfrecord")


def test_random_order_takes_two_requests_for_each_object_with_an_index(
    bucket: Any, moto: tuple[str, int]
) -> None:
    options = options_for(f"http://{moto[0]}:{moto[1]}")
    with fastrec.Writer(
        "s3://data-set/t.tfrecord", shards=8, index=True, storage_options=options
    ) as writer:
        writer.write_many(RECORDS)
    with ObjectServer(Upstream(*moto)) as server:
        reader = fastrec.Reader("s3://data-set/t-*", storage_options=options_for(server.url))
        order: list[int] = []
        for epoch in range(2):  # of torch.Dataset: a batch at a time
            for start in range(0, len(reader), 32):
                order = [(7 * n + epoch) % len(reader) for n in range(start, start + 32)]
                assert reader.__getitems__(order) == [reader[n] for n in order]
    paths = [request.path for request in server.requests if request.path.endswith(".tfrecord")]
    requests = {path: paths.count(path) for path in paths}
    assert len(requests) == 8
    assert max(requests.values()) <= 2  # the first bytes, and the whole object


def test_wrong_credentials_are_not_shown(bucket: Any, moto: tuple[str, int]) -> None:
    with ObjectServer(
        Upstream(*moto), lambda request, number: Fault("status", status=403)
    ) as server:
        options = options_for(server.url)
        with pytest.raises(PermissionError) as caught:
            fastrec.Reader("s3://data-set/t.tfrecord", storage_options=options)
        assert SECRET not in str(caught.value)
    options = StorageOptions({**options.options, "no_such": SECRET})
    with pytest.raises(ValueError, match="storage_options") as refused:
        fastrec.Reader("s3://data-set/t", storage_options=options)
    assert SECRET not in str(refused.value)


def test_s3fs_reads_and_writes(bucket: Any, moto: tuple[str, int]) -> None:
    s3fs = pytest.importorskip("s3fs")
    filesystem = s3fs.S3FileSystem(
        endpoint_url=f"http://{moto[0]}:{moto[1]}",
        key="key",
        secret=SECRET,
        skip_instance_cache=True,
    )
    filesystem.retries = 1
    options = StorageOptions(filesystem=filesystem)
    with fastrec.Writer("data-set/t.tfrecord", storage_options=options) as writer:
        writer.write_many(RECORDS)
    reader = fastrec.Reader("data-set/*.tfrecord", storage_options=options)
    assert list(iter(reader)) == RECORDS
    assert reader[299] == RECORDS[299]
    bucket.put_object(Bucket="data-set", Key="t.tfrecord", Body=b"another")
    with pytest.raises(OSError, match="changed"):
        list(iter(reader))
