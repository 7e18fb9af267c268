"""Signed assertions by which a client shows a token endpoint who it is (RFC 7523).

Java: ``DefaultAssertionCreator``, ``FileAssertionCreator`` and the templates of ``sasl.oauthbearer.assertion.*``.
"""

from __future__ import annotations

import base64
import json
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from connect_dagster.errors import ConfigError
from connect_dagster.plugin.config import Type, parse_value

ASSERTION = "sasl.oauthbearer.assertion."
_KEY, _TEMPLATE, _FILE = f"{ASSERTION}private.key.file", f"{ASSERTION}template.file", f"{ASSERTION}file"
_ALGORITHM = f"{ASSERTION}algorithm"
_CLAIMS = ("aud", "iss", "sub")
_P256_BYTES = 32


@dataclass(frozen=True, slots=True)
class Assertion:
    """An assertion that is read from a file, or signed for each request.

    Attributes:
        settings: of a client in Java's names.
    """

    settings: Mapping[str, str]

    @classmethod
    def parse(cls, settings: Mapping[str, str]) -> Assertion:
        """Return the assertion of settings. Raises ConfigError without a file or a key, or for another algorithm."""
        if _FILE not in settings and _KEY not in settings:
            raise ConfigError(f"An assertion needs {_KEY}, which signs it, or {_FILE} with one that is signed")
        algorithm = settings.get(_ALGORITHM, "RS256")
        if algorithm not in ("RS256", "ES256"):
            raise ConfigError.invalid(_ALGORITHM, algorithm, "It must be one of: RS256, ES256")
        return cls(settings)

    def text(self) -> str:
        """Return the signed JWT. Raises ConfigError when a file cannot be read, or the key is of another kind."""
        if _FILE in self.settings:
            return _read(_FILE, self.settings[_FILE]).decode().strip()
        algorithm = self.settings.get(_ALGORITHM, "RS256")
        template = self._template()
        now = int(time.time())
        claims = {
            **template.get("payload", {}),
            **{claim: self.settings[f"{ASSERTION}claim.{claim}"] for claim in _CLAIMS if self._has(claim)},
            "iat": now,
            "exp": now + self._number("exp.seconds", 300),
            "nbf": now - self._number("nbf.seconds", 60),
        }
        if self.settings.get(f"{ASSERTION}claim.jti.include", "false").lower() == "true":
            claims["jti"] = str(uuid.uuid4())
        header = {"typ": "JWT", **template.get("header", {}), "alg": algorithm}
        signed = f"{_encoded(json.dumps(header).encode())}.{_encoded(json.dumps(claims).encode())}"
        return f"{signed}.{_encoded(self._signature(algorithm, signed.encode()))}"

    def _has(self, claim: str) -> bool:
        return f"{ASSERTION}claim.{claim}" in self.settings

    def _number(self, claim: str, default: int) -> int:
        name = f"{ASSERTION}claim.{claim}"
        return int(parse_value(name, self.settings[name], Type.INT)) if name in self.settings else default

    def _template(self) -> dict[str, Any]:
        if _TEMPLATE not in self.settings:
            return {}
        try:
            found = json.loads(_read(_TEMPLATE, self.settings[_TEMPLATE]))
        except ValueError:
            found = None
        if not isinstance(found, dict) or not all(isinstance(part, dict) for part in found.values()):
            reason = 'It must be a file with JSON: {"header": {…}, "payload": {…}}'
            raise ConfigError.invalid(_TEMPLATE, self.settings[_TEMPLATE], reason)
        return found

    def _signature(self, algorithm: str, content: bytes) -> bytes:
        file, passphrase = self.settings[_KEY], self.settings.get(f"{ASSERTION}private.key.passphrase")
        try:
            key = load_pem_private_key(_read(_KEY, file), None if passphrase is None else passphrase.encode())
        except (ValueError, TypeError) as error:
            raise ConfigError.invalid(_KEY, file, f"It must be a private key as PEM: {error}") from error
        if algorithm == "RS256" and isinstance(key, rsa.RSAPrivateKey):
            return key.sign(content, padding.PKCS1v15(), SHA256())
        if algorithm == "ES256" and isinstance(key, ec.EllipticCurvePrivateKey):
            pair = decode_dss_signature(key.sign(content, ec.ECDSA(SHA256())))
            return b"".join(number.to_bytes(_P256_BYTES, "big") for number in pair)
        raise ConfigError.invalid(_KEY, file, f"Its key is of another kind than {_ALGORITHM}={algorithm} needs")


def _read(name: str, file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise ConfigError.invalid(name, file, f"It cannot be read: {error.strerror}") from error


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
