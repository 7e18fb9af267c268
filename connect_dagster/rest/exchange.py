"""A request and its reply as plain values, and the table row that joins them.

The routes are pure functions from a herder and a :class:`Call` to a :class:`Reply`. Independent of sockets,
threads or the web framework.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from connect_dagster.herder.interface import Herder
from connect_dagster.rest.openapi_schemas import Operation

JSON = "application/json"
TEXT = "text/plain"
NO_HEADERS: Mapping[str, str] = MappingProxyType({})

# Characters that need no escape in a path segment (RFC 3986 pchar), without ";", which starts a matrix parameter.
SEGMENT_SAFE = "!$&'()*+,:=@~"


@dataclass(frozen=True, slots=True)
class Call:
    """A request whose route is known.

    Attributes:
        origin: scheme, host and port the client used, as ``http://host:8083``.
        params: parts of the path by name, percent-decoded.
        query: values of each query parameter, in order.
        body: the raw body, empty when there is none.
        headers: of the request, names in lower case; the first of several of one name.
    """

    origin: str = ""
    params: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    def first(self, parameter: str) -> str | None:
        """First value of a query parameter."""
        return next(iter(self.query.get(parameter, ())), None)

    def flag(self, parameter: str, *, default: bool) -> bool:
        """Return a query parameter as Java reads a Boolean: ``true`` in any case is true, other text is false."""
        text = self.first(parameter)
        return text.lower() == "true" if text else default


@dataclass(frozen=True, slots=True)
class Reply:
    """A response: status, body and the headers that belong to it."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def json(cls, entity: Any, status: int = 200, headers: Mapping[str, str] = NO_HEADERS) -> Reply:
        """Return a reply that carries a JSON document."""
        return cls(status, json_bytes(entity), {**headers, "Content-Type": JSON})

    @classmethod
    def error(cls, status: int, message: str | None, *, typed: bool = True) -> Reply:
        """Return an error document (Java: ``ErrorMessage``); ``typed`` to name its content type."""
        body = json_bytes({"error_code": status, "message": message})
        return cls(status, body, {"Content-Type": JSON} if typed else NO_HEADERS)


def json_bytes(entity: Any) -> bytes:
    """JSON as Jackson writes it: no blanks, no escapes; a lone surrogate, unknown to UTF-8, becomes ``?``."""
    return json.dumps(entity, separators=(",", ":"), ensure_ascii=False).encode(errors="replace")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One row of the route table.

    Attributes:
        method: HTTP method; a GET serves HEAD too.
        path: template, with parameters as ``{connector}``.
        answer: computes the reply; may block.
        operation: its documents and parameters; ``None`` for a request among workers, which is signed instead of
            authenticated, and not documented.
        json_only: refuses requests that declare another content type (Java: ``@Consumes``).
        reads_body: refuses a body that declares no content type.
        produces: media types of its replies; a request that accepts none of them is refused (Java: ``@Produces``).
        seconds: longest duration of ``answer``.
        late: makes the reply when it takes longer, from the stage's sentence; by default a 500.
        kept: query parameters that stay when the request is forwarded to another worker.
        resent: body of the forwarded request, from what was read of it; by default there is none.
        reserved: has threads that other routes cannot take, for requests that watch the worker.
    """

    method: str
    path: str
    answer: Callable[[Herder, Call], Reply]
    operation: Operation | None
    json_only: bool = True
    reads_body: bool = False
    produces: tuple[str, ...] = (JSON,)
    seconds: float = 90.0
    late: Callable[[str], Reply] = lambda stage: Reply.error(500, f"Request timed out. {stage}")
    kept: tuple[str, ...] = ()
    resent: Callable[[Call], bytes | None] = lambda call: None
    reserved: bool = False

    @property
    def internal(self) -> bool:
        """True if it is for requests among workers."""
        return self.operation is None

    def target(self, params: Mapping[str, str]) -> str:
        """Return the path with its parameters in place, percent-encoded."""
        return self.path.format_map({name: quote(value, safe=SEGMENT_SAFE) for name, value in params.items()})
