# SPDX-License-Identifier: Apache-2.0
"""Errors of object stores say what the server said; requests that cannot succeed end at once."""

from __future__ import annotations

import contextlib
import errno
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import fastrec
from fastrec import _core
from fastrec.storage import remote, sequential
from fastrec.storage.options import StorageOptions

XML = '<?xml version="1.0" encoding="utf-8"?>\n<Error><Code>{}</Code><Message>{}</Message></Error>'
RECORDS = [bytes([n % 251]) * (n * 31 % 4000) for n in range(300)]
FRAMES = b"".join(map(_core.frame, RECORDS))


class Server:
    """An HTTP server that ignores ranges, or gives the same error for each request."""

    def __init__(self) -> None:
        self.status, self.text = 200, ""
        self.objects: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.payers: list[str | None] = []  # who pays for each request
        self.broken_after: list[int] = []  # sizes of the next answers
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.requests.append(f"{self.command} {self.path}")
                outer.payers.append(self.headers.get("x-amz-request-payer"))
                data = outer.text.encode()
                status = outer.status
                if status == 200:
                    status = 200 if self.path in outer.objects else 404
                    data = outer.objects.get(self.path, b"")
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.send_header("Last-Modified", "Wed, 21 Oct 2015 07:28:00 GMT")
                self.end_headers()
                if self.command == "HEAD":
                    return
                if outer.broken_after:
                    data = data[: outer.broken_after.pop(0)]
                    self.close_connection = True
                with contextlib.suppress(ConnectionError):  # of a client that has enough
                    self.wfile.write(data)

            do_HEAD = do_GET

            def log_message(self, *words: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "ALLOW_HTTP", "ENDPOINT_URL", "PROFILE"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_REGION", "us-east-1")


def keys(url: str, **more: Any) -> StorageOptions:
    options = {
        "endpoint": url, "allow_http": True, "access_key_id": "key", "secret_access_key": "secret",
    }  # fmt: skip
    return StorageOptions({**options, **more})


SOURCES = ["s3://data-set/a.tfrecord", "s3://data-set/*.tfrecord", "s3://data-set/folder/"]


def test_requests_to_a_bucket_whose_requester_pays_say_so(server: Server) -> None:
    server.objects["/data-set/a.tfrecord"] = FRAMES
    for options, payer in (({"request_payer": True}, "requester"), ({}, None)):
        server.payers.clear()
        storage = keys(server.url, **options)
        assert [*fastrec.Reader(SOURCES[0], storage_options=storage)] == RECORDS
        assert set(server.payers) == {payer}


@pytest.mark.parametrize("source", SOURCES[1:])
def test_a_missing_bucket_is_named_by_a_listing(server: Server, source: str) -> None:
    server.status, server.text = 404, XML.format("NoSuchBucket", "The bucket does not exist")
    with pytest.raises(FileNotFoundError) as caught:
        fastrec.Reader(source, storage_options=keys(server.url))
    assert "404 Not Found: NoSuchBucket: The bucket does not exist" in str(caught.value)
    assert caught.value.filename.startswith("s3://data-set/")
    assert len(server.requests) == 1


def test_the_name_of_an_object_without_features_has_no_credentials(
    server: Server, tmp_path: Path
) -> None:
    pytest.importorskip("pyarrow")
    server.objects["/e.tfrecord"] = server.objects["/e.tfrecord?X-Amz-Signature=hidden"] = b""
    url = server.url.replace("//", "//user:hidden@") + "/e.tfrecord?X-Amz-Signature=hidden"
    calls: list[Any] = [
        lambda: fastrec.arrow.table(url),
        lambda: fastrec.arrow.table((url,)),
        lambda: fastrec.convert(url, tmp_path / "e.parquet"),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"/e.tfrecord' has no features") as caught:
            call()
        assert "hidden" not in str(caught.value)


def test_an_object_in_a_missing_bucket_names_the_bucket(server: Server) -> None:
    server.status, server.text = 404, XML.format("NoSuchBucket", "The bucket does not exist")
    with pytest.raises(FileNotFoundError, match="NoSuchBucket"):
        fastrec.Reader(SOURCES[0], storage_options=keys(server.url))


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(("status", "code"), [(403, "InvalidAccessKeyId"), (401, "Unauthorized")])
def test_wrong_credentials_are_a_permission_error(
    server: Server, source: str, status: int, code: str
) -> None:
    server.status, server.text = status, XML.format(code, "The key does not exist")
    with pytest.raises(PermissionError) as caught:
        fastrec.Reader(source, storage_options=keys(server.url))
    assert str(status) in str(caught.value)
    assert "secret" not in str(caught.value)
    assert len(server.requests) == 1
    if source != SOURCES[0]:  # HEAD has no body
        assert f"{code}: The key does not exist" in str(caught.value)


@pytest.mark.parametrize("status", [400, 405, 409, 412])
def test_a_refused_listing_is_not_requested_again(server: Server, status: int) -> None:
    server.status, server.text = status, '{"error": {"code": 400, "message": "Not like this"}}'
    with pytest.raises(OSError, match=f"{status} .*Not like this"):
        fastrec.Reader(SOURCES[1], storage_options=keys(server.url))
    assert len(server.requests) == 1


@pytest.mark.parametrize("source", SOURCES)
def test_missing_credentials_are_a_permission_error(server: Server, source: str) -> None:
    options = StorageOptions({"endpoint": server.url, "allow_http": True})
    with pytest.raises(PermissionError, match="no credentials: set the store's environment"):
        fastrec.Reader(source, storage_options=options)
    assert server.requests == []


def test_the_environment_may_allow_http(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.objects = {"/data-set/a.tfrecord": FRAMES[:16]}
    for name, value in {
        "ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "secret", "ENDPOINT_URL": server.url,
    }.items():  # fmt: skip
        monkeypatch.setenv(f"AWS_{name}", value)
    with pytest.raises(OSError, match="AWS_ALLOW_HTTP=true") as caught:
        fastrec.Reader(SOURCES[0])
    assert caught.value.errno == errno.EINVAL
    assert "attempts" not in str(caught.value)
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    assert list(fastrec.Reader(SOURCES[0])) == [b""]
    refused = StorageOptions({"allow_http": False})
    with pytest.raises(OSError, match="AWS_ALLOW_HTTP=true"):
        fastrec.Reader(SOURCES[0], storage_options=refused)


def test_the_environments_client_settings_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    from fastrec.storage import locations

    monkeypatch.setenv("AWS_USER_AGENT", "mine")
    monkeypatch.setenv("GOOGLE_PROXY_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AZURE_TIMEOUT", "7s")
    assert locations._client_environment("s3") == {"user_agent": "mine"}
    assert locations._client_environment("gs") == {"proxy_url": "http://127.0.0.1:1"}
    assert locations._client_environment("az") == {"timeout": "7s"}
    assert locations._client_environment("https") == {}


@pytest.mark.parametrize("source", SOURCES)
def test_a_server_that_is_not_there_is_given_up_after_five_attempts(
    source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "_BACKOFF_S", 0.1)
    monkeypatch.setattr(remote, "_LONGEST_BACKOFF_S", 10.0)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(OSError, match="after 5 attempts"):
        fastrec.Reader(source, storage_options=keys(f"http://127.0.0.1:{port}"))


# -- Servers that ignore ranges --------------------------------------------------------------------

READERS: dict[str, Callable[[Any], list[bytes]]] = {
    "iterate": list,
    "blocks": lambda reader: [bytes(r) for block in reader.blocks(7) for r in block],
}


@pytest.mark.parametrize("how", READERS)
def test_a_server_without_ranges_is_read_in_one_pass(
    server: Server, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sequential, "_LEAST_PART", 1 << 20)
    server.objects = {f"/{name}": FRAMES for name in "abc"}
    reader = fastrec.Reader([f"{server.url}/{name}" for name in "abc"])
    assert READERS[how](reader) == RECORDS * 3
    gets = Counter(request for request in server.requests if request.startswith("GET"))
    for name in "abc":
        assert gets[f"GET /{name}"] <= 3  # a range, the start, and the whole object
        assert gets[f"GET /{name}.frindex"] <= 1
    assert len(gets) <= 2 * 3


def test_a_broken_connection_is_made_up_for_without_ranges(server: Server) -> None:
    server.objects = {"/a": FRAMES}
    reader = fastrec.Reader(f"{server.url}/a", compression=None)
    server.broken_after = [len(FRAMES)] * 4 + [200_000, 300_000, 20]
    assert list(reader) == RECORDS


def test_any_order_is_read_from_a_cache_without_ranges(server: Server, tmp_path: Path) -> None:
    server.objects = {"/a": FRAMES}
    options = StorageOptions(cache=tmp_path / "cache")
    reader = fastrec.Reader(f"{server.url}/a", storage_options=options)
    assert [reader[i] for i in (5, 299, 0)] == [RECORDS[i] for i in (5, 299, 0)]


def test_random_order_without_ranges_is_refused_with_a_remedy(server: Server) -> None:
    server.objects = {"/a": FRAMES}
    reader = fastrec.Reader(f"{server.url}/a")
    with pytest.raises(OSError, match=r"does not support range requests.*cache=") as caught:
        reader[250]
    assert caught.value.errno == errno.EOPNOTSUPP


# -- A file system and URLs ------------------------------------------------------------------------


def test_urls_name_objects_of_a_given_file_system(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    obstore = pytest.importorskip("obstore.store")
    folder = tmp_path / "bucket" / "train"
    folder.mkdir(parents=True)
    for name in ("a", "b"):
        (folder / f"{name}.tfrecord").write_bytes(FRAMES)
    local = StorageOptions(filesystem=fsspec.filesystem("file"))
    memory = fsspec.filesystem("memory")
    memory.pipe("/bucket/train/a.tfrecord", FRAMES)
    memory.pipe("/bucket/train/b.tfrecord", FRAMES)
    below = StorageOptions(filesystem=obstore.LocalStore(str(tmp_path / "bucket")))
    for options, root in (
        (local, f"file://{tmp_path}/bucket"),
        (StorageOptions(filesystem=memory), "memory://bucket"),
        (below, ""),
    ):
        start = f"{root}/" if root else ""
        for source in ("train/a.tfrecord", "train/*.tfrecord", "train/"):
            count = len(list(fastrec.Reader(start + source, storage_options=options)))
            assert count == len(RECORDS) * (1 if source.endswith("a.tfrecord") else 2)
    memory.rm("/bucket", recursive=True)
