"""The login of Spark's Kafka source and sink, whose client is Java's of Kafka 3.9.

It gets tokens from a token endpoint with a client's secret, as it can itself; those of other origins (a file, an
assertion, the user's own class) from an endpoint that this process has for it, on the loopback address.
"""

from __future__ import annotations

import base64
import functools
import json
import secrets
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from connect_dagster.errors import ConnectError
from connect_dagster.kafka.security.jaas import LoginModule
from connect_dagster.kafka.security.jwt_retrievers import ENDPOINT_URL, EndpointRetriever, UnsecuredRetriever
from connect_dagster.kafka.security.oauth_login import OAuthLogin

HANDLER, RETRIEVER = "sasl.login.callback.handler.class", "sasl.oauthbearer.jwt.retriever.class"
_HANDLER_OF_ENDPOINTS = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
_OPTIONS = {
    "clientId": "sasl.oauthbearer.client.credentials.client.id",
    "clientSecret": "sasl.oauthbearer.client.credentials.client.secret",
    "scope": "sasl.oauthbearer.scope",
}


def with_jvm_tokens(settings: Mapping[str, str], module: LoginModule, login: OAuthLogin) -> dict[str, str]:
    """Return a client's settings with those by which a Java client of Kafka 3.9 gets the tokens of a login.

    Args:
        settings: in Java's names.
        module: the login module.
        login: gets the tokens.
    """
    kept = {name: value for name, value in settings.items() if name not in (HANDLER, RETRIEVER)}
    if isinstance(login.retriever, UnsecuredRetriever):
        return {**kept, "sasl.jaas.config": module.text()}
    if isinstance(login.retriever, EndpointRetriever) and login.retriever.has_secret:
        given = {option: settings[name] for option, name in _OPTIONS.items() if name in settings}
        url = settings[ENDPOINT_URL]
    else:
        name, secret, url = _server().add(login)
        given = {"clientId": name, "clientSecret": secret}
    options = {**{name: value for name, value in module.options.items() if name not in given}, **given}
    jaas = LoginModule(module.class_name, module.flag, options).text()
    return {**kept, ENDPOINT_URL: url, HANDLER: _HANDLER_OF_ENDPOINTS, "sasl.jaas.config": jaas}


class _TokenServer:
    """A token endpoint for this machine's JVMs; each login has a separate name and secret."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._names: dict[int, str] = {}
        self._logins: dict[str, tuple[str, OAuthLogin]] = {}
        serving = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                status, document = serving.answer(self.headers.get("Authorization", ""))
                content = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: Any) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, name="kafka-oauth-jvm", daemon=True).start()

    def add(self, login: OAuthLogin) -> tuple[str, str, str]:
        """Return name, secret and address by which a JVM gets the tokens of a login."""
        with self._lock:
            name = self._names.setdefault(id(login), secrets.token_urlsafe(16))
            secret, _ = self._logins.setdefault(name, (secrets.token_urlsafe(32), login))
        return name, secret, f"http://127.0.0.1:{self._server.server_port}/token"

    def answer(self, credentials: str) -> tuple[int, dict[str, Any]]:
        """Return status and document of the response."""
        try:
            name, _, given = base64.b64decode(credentials.removeprefix("Basic ")).decode().partition(":")
        except ValueError:
            name = given = ""
        secret, login = self._logins.get(name, ("", None))
        if login is None or not secrets.compare_digest(secret.encode(), given.encode()):
            return 401, {"error": "invalid_client"}
        try:
            return 200, {"access_token": login.token().value, "token_type": "Bearer"}
        except ConnectError as error:
            return 503, {"error": "temporarily_unavailable", "error_description": str(error)}


@functools.cache
def _server() -> _TokenServer:
    return _TokenServer()
