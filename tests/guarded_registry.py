"""A schema registry that asks for a login, as one behind a gateway does."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import requests

from connect_dagster.embedded.ports import HOST


@contextmanager
def guarded_registry(registry: str, is_allowed: Callable[[str], bool]) -> Iterator[str]:
    """The address at which a registry is asked, by those who may.

    Args:
        registry: its own address.
        is_allowed: returns whether the header ``Authorization`` of a request, empty without one, is a login.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if not is_allowed(self.headers.get("Authorization", "")):
                self._send(401, b'{"error_code": 40101, "message": "Unauthorized"}')
                return
            headers = {name: self.headers[name] for name in ("Content-Type", "Accept") if name in self.headers}
            found = requests.request(self.command, f"{registry}{self.path}", data=body, headers=headers, timeout=60)
            self._send(found.status_code, found.content)

        def do_POST(self) -> None:
            self.do_GET()

        def _send(self, status: int, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None: ...

    http = ThreadingHTTPServer((HOST, 0), Handler)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    try:
        yield f"http://{HOST}:{http.server_port}"
    finally:
        http.shutdown()
        http.server_close()
