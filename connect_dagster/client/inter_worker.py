"""HTTP from worker to worker: forwarded requests, and those that workers sign (Java: ``RestClient``).

One request for each connection, without proxies, redirects or credentials of the machine: only what the caller passes
is sent. Knows no route.
"""

from __future__ import annotations

import json
import logging
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from types import MappingProxyType
from typing import Any
from urllib.parse import SplitResult, urlsplit

from connect_dagster.errors import RestError
from connect_dagster.protocol.signature import signed_headers

log = logging.getLogger(__name__)

# Jetty's client in Java's worker waits as long for a connection.
CONNECT_SECONDS = 15.0
# Java: RestServer.DEFAULT_REST_REQUEST_TIMEOUT_MS, after which the client stops waiting.
ANSWER_SECONDS = 90.0

NO_HEADERS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Answer:
    """A success.

    Attributes:
        status: 200 to 299.
        headers: names in lower case.
        body: a JSON document, or empty with the status 204.
    """

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


class RestClient:
    """Asks other workers. Safe to use from many threads.

    Args:
        tls: makes the settings for ``https`` URLs; called for each request to one, so that a worker without them
            never reads its key store (KAFKA-14816). The machine's trusted authorities by default.
    """

    def __init__(self, tls: Callable[[], ssl.SSLContext] = ssl.create_default_context) -> None:
        self._tls = tls

    def request(
        self,
        url: str,
        method: str,
        headers: Mapping[str, str] = NO_HEADERS,
        body: bytes | None = None,
        signature_key: bytes | None = None,
        signature_algorithm: str | None = None,
    ) -> Answer:
        """Send a request and wait for the response.

        Args:
            url: of the other worker, with path and query, percent-encoded.
            method: the HTTP method.
            headers: to send with those that every request has.
            body: a JSON document, ``None`` for none.
            signature_key: the group's session key; with it and an algorithm the request is signed.
            signature_algorithm: Java's name of the algorithm.

        Raises:
            RestError: with status and text of the response when that is an error; with the status 500 when it is
                not a worker's response, or there is none.
        """
        sent = {"Accept": "application/json", "User-Agent": "kafka-connect", **headers}
        if body is not None:
            sent["Content-Type"] = "application/json"
        if signature_key is not None and signature_algorithm is not None:
            sent |= signed_headers(signature_key, signature_algorithm, body or b"")
        try:
            return _checked(self._send(urlsplit(url), method, sent, body))
        except RestError as error:
            log.error("Error forwarding REST request to %s: %s", url, error)
            raise
        except (OSError, HTTPException, ValueError) as error:
            log.error("IO error forwarding REST request to %s: %s", url, error)
            raise RestError(500, f"IO Error trying to forward REST request: {error}") from error
        except Exception as error:
            log.exception("Error forwarding REST request to %s", url)
            raise RestError(500, f"Error trying to forward REST request: {error}") from error

    def _send(self, url: SplitResult, method: str, headers: Mapping[str, str], body: bytes | None) -> Answer:
        connection = self._connection(url)
        try:
            connection.connect()
            connection.sock.settimeout(ANSWER_SECONDS)
            target = url._replace(scheme="", netloc="", path=url.path or "/").geturl()
            connection.request(method, target, body, dict(headers))
            response = connection.getresponse()
            named = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, named, response.read())
        finally:
            connection.close()

    def _connection(self, url: SplitResult) -> HTTPConnection:
        host = url.hostname or ""
        if url.scheme == "https":
            return HTTPSConnection(host, url.port, timeout=CONNECT_SECONDS, context=self._tls())
        return HTTPConnection(host, url.port, timeout=CONNECT_SECONDS)


def _checked(answer: Answer) -> Answer:
    if answer.status == HTTPStatus.NO_CONTENT:
        return answer
    if answer.status >= HTTPStatus.BAD_REQUEST:
        raise RestError(answer.status, _message(json.loads(answer.body)))
    if answer.status not in range(200, 300):
        raise RestError(500, f"Unexpected status code when handling forwarded request: {answer.status}")
    json.loads(answer.body)
    return answer


def _message(document: Any) -> str:
    if not isinstance(document, dict) or "message" not in document:
        raise ValueError(f"the other worker's error is not an error document: {document}")
    return str(document["message"])
