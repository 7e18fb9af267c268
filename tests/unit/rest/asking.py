"""Asks an ASGI application, without sockets."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from starlette.types import ASGIApp, Message, Scope


@dataclass(slots=True)
class Answer:
    """What the application sent."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def message(self) -> str:
        """Text of an error document, after checking that its code repeats the status."""
        assert self.json["error_code"] == self.status
        return str(self.json["message"])


@dataclass(frozen=True, slots=True)
class Asking:
    """An application and how to ask it."""

    app: ASGIApp

    def __call__(self, method: str, target: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
        """Send a request; a body that is no bytes is sent as JSON, with its content type."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        typed = {} if body is None else {"Content-Type": "application/json"}
        content = b"" if body is None else raw
        return asyncio.run(self._ask(scope_of(method, target, {**typed, **(headers or {})}), content))

    async def _ask(self, scope: Scope, body: bytes) -> Answer:
        answer = Answer()

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer.status = message["status"]
                answer.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            else:
                answer.body += message["body"]

        await self.app(scope, receive, send)
        return answer


def scope_of(method: str, target: str, headers: dict[str, str]) -> Scope:
    """A request without its body."""
    path, _, query = target.partition("?")
    sent = {"Host": "here:8083", **headers}
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "server": ("127.0.0.1", 8083),
        "client": ("127.0.0.1", 4711),
        "root_path": "",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.lower().encode(), value.encode()) for name, value in sent.items() if value],
    }
