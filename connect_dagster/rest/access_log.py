"""One log line for each request: the extended NCSA format with milliseconds, as Java's worker logs it."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

logger = logging.getLogger(__name__)


class AccessLog:
    """ASGI middleware that logs what was asked and answered."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request and log it, also when it fails."""
        began, status, size = time.perf_counter(), 0, 0

        async def counting(message: Message) -> None:
            nonlocal status, size
            status = message.get("status", status)
            size += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, counting)
        finally:
            took = (time.perf_counter() - began) * 1000
            asked = f'{_client(scope)} "{_request_line(scope)}"'
            logger.info("%s %d %d %s %d", asked, status, size, _agents(scope), took)


def _client(scope: Scope) -> str:
    host = (scope.get("client") or ("-",))[0]
    return f"{host} - - [{time.strftime('%d/%b/%Y:%H:%M:%S %z')}]"


def _request_line(scope: Scope) -> str:
    query: bytes = scope["query_string"]
    target = scope["raw_path"] + (b"?" + query if query else b"")
    return f"{scope['method']} {target.decode('latin-1')} HTTP/{scope['http_version']}"


def _agents(scope: Scope) -> str:
    referer, agent = (_header(scope["headers"], name) for name in (b"referer", b"user-agent"))
    return f'"{referer}" "{agent}"'


def _header(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in headers if key == name), "")
