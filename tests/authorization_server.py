"""An authorization server of OAuth 2: a token endpoint for one client, and the keys that its tokens are signed with."""

import base64
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256

CLIENT_ID, CLIENT_SECRET = "connect", "client-secret"
AUDIENCE = "kafka"
_HANDLERS = "org.apache.kafka.common.security.oauthbearer"


class AuthorizationServer:
    """The server; a context manager's value.

    Attributes:
        url: of both addresses.
        seconds: for which a token is valid.
        requests: bodies of the requests for tokens, as dictionaries, and the header with the credentials.
        status: what a request for a token gets instead of 200, until it is set back.
    """

    def __init__(self) -> None:
        self._key = rsa.generate_private_key(65537, 2048)
        self.url = ""
        self.seconds = 3600.0
        self.requests: list[dict[str, str]] = []
        self.status = 200

    @property
    def token_url(self) -> str:
        return f"{self.url}/token"

    @property
    def keys_url(self) -> str:
        return f"{self.url}/keys"

    def token(self, subject: str = CLIENT_ID, **claims: Any) -> str:
        now = time.time()
        header = {"alg": "RS256", "kid": "one", "typ": "JWT"}
        body = {"sub": subject, "aud": AUDIENCE, "iat": int(now), "exp": now + self.seconds, **claims}
        signed = ".".join(_encoded(json.dumps(part).encode()) for part in (header, body))
        return f"{signed}.{_encoded(self._key.sign(signed.encode(), padding.PKCS1v15(), SHA256()))}"

    def keys(self) -> dict[str, Any]:
        numbers = self._key.public_key().public_numbers()
        parts = {"n": numbers.n.to_bytes(256, "big"), "e": numbers.e.to_bytes(3, "big")}
        key = {"kty": "RSA", "use": "sig", "kid": "one", "alg": "RS256"}
        return {"keys": [key | {name: _encoded(value) for name, value in parts.items()}]}

    def login(self, secret: str = CLIENT_SECRET, **more: str) -> dict[str, str]:
        """Settings of Kafka clients that get their tokens here."""
        return {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.login.callback.handler.class": f"{_HANDLERS}.OAuthBearerLoginCallbackHandler",
            "sasl.oauthbearer.token.endpoint.url": self.token_url,
            "sasl.jaas.config": f'{_HANDLERS}.OAuthBearerLoginModule required clientId="{CLIENT_ID}" '
            f'clientSecret="{secret}";',
            **{name.replace("_", "."): value for name, value in more.items()},
        }

    def broker_settings(self, listener: str) -> dict[str, str]:
        """Settings of a broker whose listener takes the tokens."""
        prefix = f"listener.name.{listener.lower()}."
        of_mechanism = f"{prefix}oauthbearer."
        return {
            f"{prefix}sasl.enabled.mechanisms": "OAUTHBEARER",
            f"{of_mechanism}sasl.jaas.config": f"{_HANDLERS}.OAuthBearerLoginModule required;",
            f"{of_mechanism}sasl.server.callback.handler.class": f"{_HANDLERS}.OAuthBearerValidatorCallbackHandler",
            "sasl.oauthbearer.jwks.endpoint.url": self.keys_url,
            "sasl.oauthbearer.expected.audience": AUDIENCE,
        }

    @property
    def jvm_options(self) -> tuple[str, ...]:
        """Options of the broker's JVM, without which Kafka 4 asks no server for keys."""
        return (f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={self.keys_url}",)

    def answer(self, body: dict[str, str], credentials: str) -> tuple[int, dict[str, Any]]:
        self.requests.append(body | {"credentials": credentials})
        expected = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
        if self.status != 200:
            return self.status, {"error": "server_error", "error_description": "It is told to fail"}
        if credentials != f"Basic {expected}" and not {"assertion", "client_assertion"} & set(body):
            return 401, {"error": "invalid_client", "error_description": "Wrong name or secret"}
        return 200, {"access_token": self.token(), "token_type": "Bearer", "expires_in": self.seconds}


@contextmanager
def authorization_server() -> Iterator[AuthorizationServer]:
    """Run the server on this machine."""
    made = AuthorizationServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send(200, made.keys())

        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers["Content-Length"])).decode()
            body = {name: values[0] for name, values in parse_qs(text).items()}
            self._send(*made.answer(body, self.headers.get("Authorization", "")))

        def _send(self, status: int, document: dict[str, Any]) -> None:
            content = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
