# SPDX-License-Identifier: Apache-2.0
"""The viewer's server, which accepts local requests that carry its token."""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from fastrec.cli.report import explained
from fastrec.errors import FastrecError
from fastrec.parsing.conditions import WhereError
from fastrec.viewer.cells import MEDIA, media_of
from fastrec.viewer.model import Model
from fastrec.viewer.page import STATIC, index_html

__all__ = ["Server"]

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; media-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Server(ThreadingHTTPServer):
    """Serves one model at ``url`` until :meth:`shutdown`."""

    daemon_threads = True

    def __init__(self, model: Model, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.model = model
        self.token: str = secrets.token_urlsafe(24)
        self.host: str = f"127.0.0.1:{self.server_address[1]}"

    @property
    def url(self) -> str:
        return f"http://{self.host}/{self.token}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore browsers that disconnect."""


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    timeout = 60

    def log_message(self, format: str, *arguments: object) -> None:
        """Log nothing, because the terminal shows the output of the command."""

    def do_GET(self) -> None:
        # Refuse pages of other sites that use a host name which resolves to this machine.
        if self.headers.get("Host") != self.server.host:
            return self._send(403, b"forbidden", "text/plain")
        parts = urlsplit(self.path)
        token, _, path = parts.path.lstrip("/").partition("/")
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            return self._send(403, b"forbidden", "text/plain")
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if path == "":
            return self._send(200, index_html().encode(), "text/html; charset=utf-8")
        if path in STATIC:
            kind, data = STATIC[path]
            return self._send(200, data, kind)
        return self._answer(path, query)

    def _answer(self, path: str, query: dict[str, str]) -> None:
        model = self.server.model
        answers: dict[str, Callable[[], Any]] = {
            "api/summary": model.summary,
            "api/page": lambda: model.page(
                int(query["begin"]),
                int(query["count"]),
                order=query.get("order", "file"),
                by=query.get("by", ""),
                descending=query.get("down") == "1",
                seed=int(query.get("seed", 0)) % 2**32,
            ),
            "api/record": lambda: model.record(int(query["number"])),
            "api/search": lambda: model.search(
                query.get("where", ""), int(query["begin"]), int(query["count"])
            ),
        }
        try:
            if path == "media":
                data = model.media(int(query["number"]), query["name"], int(query["i"]))
                kind = media_of(data)
                if kind is None:
                    raise LookupError("no image and no sound")
                return self._send(200, data, MEDIA[kind])
            if path not in answers:
                return self._send(404, b"not found", "text/plain")
            answer = answers[path]()
        except (LookupError, ValueError, FastrecError, OSError) as error:
            bad = isinstance(error, (WhereError, FastrecError, OSError))
            text = explained(error) if bad else "no such thing"
            return self._send_json(400, {"error": text})
        return self._send_json(200, answer)

    def _send_json(self, status: int, value: Any) -> None:
        self._send(status, json.dumps(value).encode(), "application/json")

    def _send(self, status: int, data: bytes, kind: str) -> None:
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
