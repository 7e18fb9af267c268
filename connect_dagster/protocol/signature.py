"""Signatures of the requests that workers send each other (Java: ``InternalRequestSignature``, KIP-507).

The sender signs the raw bytes of the body with the group's session key; an empty body is signed as no bytes.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Mapping
from dataclasses import dataclass

from connect_dagster.java import base64 as java_base64

SIGNATURE_HEADER = "X-Connect-Authorization"
ALGORITHM_HEADER = "X-Connect-Request-Signature-Algorithm"
UNSIGNED = "Internal request missing required signature"

HMACS = {
    "HmacMD5": "md5",
    "HmacSHA1": "sha1",
    "HmacSHA224": "sha224",
    "HmacSHA256": "sha256",
    "HmacSHA384": "sha384",
    "HmacSHA512": "sha512",
    "HmacSHA3-224": "sha3_224",
    "HmacSHA3-256": "sha3_256",
    "HmacSHA3-384": "sha3_384",
    "HmacSHA3-512": "sha3_512",
}
"""Java's names of the algorithms that a worker can use, with Python's."""

# Java finds an algorithm by its name in any case.
_DIGESTS = {name.lower(): digest for name, digest in HMACS.items()}


@dataclass(frozen=True, slots=True)
class RequestSignature:
    """The proof of a request that a worker of the group sent it.

    Attributes:
        body: raw bytes of the body, as they came.
        algorithm: Java's name of the algorithm, such as ``HmacSHA256``, in the case in which it was sent.
        code: the authentication code that the sender computed.
    """

    body: bytes
    algorithm: str
    code: bytes

    @classmethod
    def of(cls, body: bytes, headers: Mapping[str, str]) -> RequestSignature | None:
        """Return the signature in a request's headers, ``None`` when a header is missing.

        Args:
            body: raw bytes of the body.
            headers: of the request; found by their names in any case.

        Raises:
            ValueError: the algorithm is unknown, or the code is not base64; in Java's words.
        """
        lowered = {name.lower(): value for name, value in headers.items()}
        code, algorithm = lowered.get(SIGNATURE_HEADER.lower()), lowered.get(ALGORITHM_HEADER.lower())
        if code is None or algorithm is None:
            return None
        _digest(algorithm)
        return cls(body, algorithm, java_base64.decode(code))

    def matches(self, key: bytes) -> bool:
        """Return whether the sender had this key. Raises ValueError for an unknown algorithm."""
        return hmac.compare_digest(self.code, _code(key, self.algorithm, self.body))


def signed_headers(key: bytes, algorithm: str, body: bytes) -> dict[str, str]:
    """Headers that sign a body. Raises ValueError for an unknown algorithm."""
    code = base64.b64encode(_code(key, algorithm, body)).decode()
    return {SIGNATURE_HEADER: code, ALGORITHM_HEADER: algorithm}


def _code(key: bytes, algorithm: str, body: bytes) -> bytes:
    return hmac.digest(key, body, _digest(algorithm))


def _digest(algorithm: str) -> str:
    if (digest := _DIGESTS.get(algorithm.lower())) is None:
        raise ValueError(f"Algorithm {algorithm} not available")
    return digest
