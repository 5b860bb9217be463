# SPDX-License-Identifier: Apache-2.0
"""Google Cloud Storage, by the XML API that obstore speaks.

gcp-storage-emulator, the emulator that installs from the package index, has the JSON API only: it
answers 501 to obstore's HEAD, GET and listing. What these need is served here.
"""

from __future__ import annotations

from urllib.parse import parse_qs, unquote
from xml.sax.saxutils import escape

import pytest
from object_server import Answer, Fault, Objects, ObjectServer, Request

import fastrec
from fastrec.storage.options import StorageOptions

RECORDS = [bytes([n % 251]) * (n * 31 % 4000) for n in range(300)]
TOKEN = "t0ken-t0ken"


class Bucket(Objects):
    """The bucket ``data-set``, by the XML API."""

    def __call__(self, request: Request) -> Answer:
        path, _, query = request.path.partition("?")
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return Answer(403, {}, b"who is there?")
        if unquote(path) != "/data-set":
            answer = super().__call__(request)
            return answer._replace(
                headers={**answer.headers, "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT"}
            )
        asked = {key: found[0] for key, found in parse_qs(query).items()}
        begin = f"data-set/{asked.get('prefix', '')}"
        names = sorted(name for name in self._objects if name.startswith(begin))
        if "delimiter" in asked:
            names = [name for name in names if "/" not in name[len(begin) :]]
        listed = "".join(
            f"<Contents><Key>{escape(name.removeprefix('data-set/'))}</Key>"
            f"<Size>{len(self._objects[name])}</Size><ETag>{escape(self._etags[name])}</ETag>"
            "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
            for name in names
        )
        body = f"<?xml version='1.0'?><ListBucketResult>{listed}</ListBucketResult>"
        return Answer(200, {"Content-Type": "application/xml"}, body.encode())


def options_for(server: ObjectServer) -> StorageOptions:
    return StorageOptions({"base_url": server.url, "bearer_token": TOKEN, "allow_http": True})


def test_what_is_written_is_read() -> None:
    def faults(request: Request, number: int) -> Fault:
        kind = {3: "status", 6: "truncate"}.get(number % 8, "none")
        return Fault(kind, 700) if request.method == "GET" else Fault()

    with ObjectServer(Bucket(), faults) as server:
        options = options_for(server)
        with fastrec.Writer(
            "gs://data-set/a/t.tfrecord", shards=2, storage_options=options
        ) as writer:
            writer.write_many(RECORDS)
        for source in ("gs://data-set/a/t-*.tfrecord", "gs://data-set/a"):
            reader = fastrec.Reader(source, storage_options=options)
            assert sorted(iter(reader)) == sorted(RECORDS)
            assert reader[3] == RECORDS[6]
        batches = fastrec.Batcher(
            "gs://data-set/a/t-*", None, 32, shuffle="blocks", storage_options=options
        )
        assert sorted(record for batch in batches for record in batch) == sorted(RECORDS)
        with pytest.raises(FileNotFoundError):
            fastrec.Reader("gs://data-set/no.tfrecord", storage_options=options)


def test_a_token_is_not_shown() -> None:
    with ObjectServer(Bucket()) as server:
        options = StorageOptions({**options_for(server).options, "bearer_token": "s3cr3t-s3cr3t"})
        with pytest.raises(PermissionError) as caught:
            fastrec.Reader("gs://data-set/no.tfrecord", storage_options=options)
        assert "s3cr3t" not in repr(caught.value) + str(caught.value)
