# SPDX-License-Identifier: Apache-2.0
"""An object server over HTTP whose link is slow, narrow or broken as a schedule says."""

from __future__ import annotations

import hashlib
import http.client
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import unquote

__all__ = ["Answer", "Fault", "Link", "ObjectServer", "Objects", "Request", "Upstream"]

_PIECE = 1 << 16


class Request(NamedTuple):
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def range(self) -> tuple[int, int] | None:
        """First and last byte that are asked for."""
        match = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("range", ""))
        return (int(match[1]), int(match[2])) if match else None


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: Any = b""


@dataclass(frozen=True)
class Fault:
    """How one answer goes wrong.

    Attributes
    ----------
    kind : str
        ``"none"``; ``"status"`` (an error, `status`, with Retry-After if `retry_after`);
        ``"refuse"`` (the connection is closed before an answer); after `after` bytes of the body
        ``"reset"``, ``"truncate"`` (closed cleanly), ``"stall"`` (nothing more for a while);
        ``"drip"`` (the first `after` bytes one by one); ``"etag"`` (another one); ``"range"``
        (other bytes than asked for, and says so); ``"shift"`` (the same, and does not say so);
        ``"empty head"`` (HEAD says that the object is empty).
    """

    kind: str = "none"
    after: int = 0
    status: int = 503
    retry_after: bool = False


class Objects:
    """A backend in memory."""

    def __init__(self, objects: Mapping[str, bytes] | None = None) -> None:
        self._objects = {name: memoryview(data) for name, data in (objects or {}).items()}
        self._etags = {name: self._etag(data) for name, data in self._objects.items()}

    @staticmethod
    def _etag(data: Any) -> str:
        return f'"{hashlib.md5(data).hexdigest()}"'

    def put(self, name: str, data: bytes) -> None:
        self._objects[name], self._etags[name] = memoryview(data), self._etag(data)

    def names(self) -> list[str]:
        return sorted(self._objects)

    def get(self, name: str) -> bytes:
        return bytes(self._objects[name])

    def __call__(self, request: Request) -> Answer:
        name = unquote(request.path.partition("?")[0].lstrip("/"))
        if request.method in ("PUT", "POST"):
            self.put(name, request.body)
            return Answer(200, {"ETag": self._etags[name]})
        data = self._objects.get(name)
        if request.method == "DELETE" and data is not None:
            del self._objects[name]
            return Answer(204, {})
        if data is None:
            return Answer(404, {}, b"no such object")
        headers = {"ETag": self._etags[name], "Accept-Ranges": "bytes"}
        if request.range is None:
            return Answer(200, headers, data)
        first, last = request.range
        if first >= len(data):
            return Answer(416, {"Content-Range": f"bytes */{len(data)}"})
        last = min(last, len(data) - 1)
        headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
        return Answer(206, headers, data[first : last + 1])


class Upstream:
    """A backend that is another server."""

    def __init__(self, host: str, port: int) -> None:
        self._address = host, port

    def __call__(self, request: Request) -> Answer:
        connection = http.client.HTTPConnection(*self._address, timeout=30)
        try:
            connection.request(
                request.method, request.path, request.body or None, dict(request.headers)
            )
            answer = connection.getresponse()
            body = answer.read()
            dropped = ("transfer-encoding", "connection", "date", "server")
            headers = {k: v for k, v in answer.getheaders() if k.lower() not in dropped}
            return Answer(answer.status, headers, body)
        finally:
            connection.close()


class Link:
    """Latency of every answer, and a bandwidth that all connections share.

    Parameters
    ----------
    latency_s : float
    bytes_per_s : float or None
    """

    def __init__(self, latency_s: float = 0.0, bytes_per_s: float | None = None) -> None:
        self.latency_s = latency_s
        self._rate = bytes_per_s
        self._lock = threading.Lock()
        self._free = 0.0  # when the link has sent what it was given

    def send(self, connection: socket.socket, data: Any) -> None:
        view = memoryview(data)
        if self._rate is None:
            connection.sendall(view)
            return
        for begin in range(0, len(view), _PIECE):
            piece = view[begin : begin + _PIECE]
            with self._lock:
                now = time.monotonic()
                self._free = max(now - 0.002, self._free) + len(piece) / self._rate
                wait = self._free - now
            if wait > 0.001:
                time.sleep(wait)
            connection.sendall(piece)


class ObjectServer:
    """Serves a backend on a port of this machine.

    Parameters
    ----------
    backend : callable
        From a Request to an Answer.
    faults : callable, optional
        From a Request and its number to a Fault.
    link : Link, optional

    Attributes
    ----------
    requests : list of Request
        Those of so far, without their bodies.
    """

    def __init__(
        self,
        backend: Callable[[Request], Answer],
        faults: Callable[[Request, int], Fault] = lambda request, number: Fault(),
        link: Link | None = None,
    ) -> None:
        self.backend, self.faults, self.link = backend, faults, link or Link()
        self.requests: list[Request] = []
        self._lock = threading.Lock()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def handle_one_request(self) -> None:
                try:
                    super().handle_one_request()
                except OSError:
                    self.close_connection = True

            def do_GET(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                headers = {key.lower(): value for key, value in self.headers.items()}
                request = Request(self.command, self.path, headers, self.rfile.read(length))
                owner.answer(self, request)

            do_HEAD = do_PUT = do_POST = do_DELETE = do_PROPFIND = do_GET

            def log_message(self, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            request_queue_size = 64
            daemon_threads = True

            def handle_error(self, *args: Any) -> None:
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> ObjectServer:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, handler: BaseHTTPRequestHandler, request: Request) -> None:
        with self._lock:
            number = len(self.requests)
            self.requests.append(request._replace(body=b""))
        fault = self.faults(request, number)
        if self.link.latency_s:
            time.sleep(self.link.latency_s)
        if fault.kind == "refuse":
            self._cut(handler, hard=False)
            return
        if fault.kind == "status":
            headers = {"Retry-After": "0"} if fault.retry_after else {}
            answer = Answer(fault.status, headers, b"please come back")
        else:
            answer = self._bent(request, fault)
        handler.send_response(answer.status)
        for key, value in answer.headers.items():
            if key.lower() != "content-length":
                handler.send_header(key, value)
        length = answer.headers.get("Content-Length") if request.method == "HEAD" else None
        handler.send_header("Content-Length", length or str(len(answer.body)))
        handler.end_headers()
        handler.wfile.flush()
        if request.method != "HEAD":
            self._send(handler, answer.body, fault)

    def _bent(self, request: Request, fault: Fault) -> Answer:
        """The backend's answer, with what the fault changes in it."""
        if fault.kind in ("range", "shift") and request.range is not None and request.range[0]:
            first, last = request.range
            other = {**request.headers, "range": f"bytes={first - 1}-{last - 1}"}
            answer = self.backend(request._replace(headers=other))
            if fault.kind == "shift" and answer.status == 206:
                size = answer.headers["Content-Range"].partition("/")[2]
                answer.headers["Content-Range"] = f"bytes {first}-{last}/{size}"
            return answer
        answer = self.backend(request)
        if fault.kind == "empty head" and request.method == "HEAD":
            return answer._replace(body=b"")
        if fault.kind == "etag" and answer.status < 300:
            for key in answer.headers:
                if key.lower() == "etag":
                    answer.headers[key] = '"another"'
        return answer

    def _send(self, handler: BaseHTTPRequestHandler, body: Any, fault: Fault) -> None:
        view = memoryview(body)
        if fault.kind == "drip":
            for at in range(min(fault.after, len(view))):
                handler.connection.sendall(view[at : at + 1])
                time.sleep(0.001)
            view = view[fault.after :]
        if fault.kind not in ("reset", "truncate", "stall") or fault.after >= len(view):
            self.link.send(handler.connection, view)
            return
        self.link.send(handler.connection, view[: fault.after])
        if fault.kind == "stall":
            time.sleep(3)
        self._cut(handler, hard=fault.kind == "reset")

    @staticmethod
    def _cut(handler: BaseHTTPRequestHandler, *, hard: bool) -> None:
        handler.close_connection = True
        if hard:
            linger = struct.pack("ii", 1, 0)
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            handler.connection.close()
        else:
            handler.connection.shutdown(socket.SHUT_RDWR)
