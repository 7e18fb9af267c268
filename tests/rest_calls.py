"""One HTTP request as it is written, for tests that look at status, headers and bytes of an answer.

Unlike `requests` it adds no header, normalises no path and follows nothing.
"""

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

SECONDS = 100.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, parsed."""
        return json.loads(self.body)

    @property
    def message(self) -> str:
        """The text of an error document."""
        return str(self.json["message"])


def call(
    url: str, method: str, target: str, body: bytes | Any = None, headers: Mapping[str, str] | None = None
) -> Answer:
    """Send one request on a connection of its own.

    Args:
        url: the server, as `http://host:port`.
        method: the HTTP method.
        target: path and query, sent as they are.
        body: bytes go as they are, other values as JSON; declared as JSON unless `headers` say otherwise.
        headers: more headers; an empty value leaves a header out.
    """
    parts = urlsplit(url)
    assert parts.hostname
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=SECONDS)
    try:
        connection.putrequest(method, target, skip_accept_encoding=True)
        content = _content(body)
        declared = {"Content-Type": "application/json", "Content-Length": str(len(content))}
        for name, value in {**(declared if body is not None else {}), **(headers or {})}.items():
            if value:
                connection.putheader(name, value)
        connection.endheaders(content or None)
        response = connection.getresponse()
        named = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, named, response.read())
    finally:
        connection.close()


def _content(body: Any) -> bytes:
    if body is None:
        return b""
    return body if isinstance(body, bytes) else json.dumps(body).encode()
