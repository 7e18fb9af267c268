"""The key that signs requests between workers of a group: its making, its age, and checks with it (KIP-507)."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from connect_dagster.errors import BadRequestError, RestError, java_text
from connect_dagster.herder.distributed.config import DistributedConfig
from connect_dagster.protocol.config_records import SessionKey
from connect_dagster.protocol.signature import UNSIGNED, RequestSignature

# As Java's key generators make them, in bytes.
_DEFAULT_BYTES = {
    "HmacMD5": 64,
    "HmacSHA1": 64,
    "HmacSHA224": 28,
    "HmacSHA256": 32,
    "HmacSHA384": 48,
    "HmacSHA512": 64,
    "HmacSHA3-224": 28,
    "HmacSHA3-256": 32,
    "HmacSHA3-384": 48,
    "HmacSHA3-512": 64,
}


@dataclass(frozen=True, slots=True)
class SessionKeys:
    """Rules for session keys, from a worker's configuration.

    Attributes:
        algorithm: for which algorithm keys are made.
        size: their size in bytes.
        ttl_ms: how long one is used, in milliseconds; 0 for no limit.
        accepted: algorithms of signatures that this worker accepts.
    """

    algorithm: str
    size: int
    ttl_ms: int
    accepted: tuple[str, ...]

    @classmethod
    def of(cls, config: DistributedConfig) -> SessionKeys:
        """Return the rules of a worker."""
        algorithm, bits = config.inter_worker_key_generation_algorithm, config.inter_worker_key_size
        size = _DEFAULT_BYTES[algorithm] if bits is None else (bits + 7) // 8
        return cls(algorithm, size, config.inter_worker_key_ttl_ms, config.inter_worker_verification_algorithms)

    def made(self, now_ms: int) -> SessionKey:
        """Return a new key."""
        return SessionKey(secrets.token_bytes(self.size), self.algorithm, now_ms)

    def renewal(self, key: SessionKey | None) -> float:
        """When a leader must distribute a new key, in epoch milliseconds; 0 for at once."""
        if key is None or key.algorithm != self.algorithm or len(key.key) != self.size:
            return 0
        return key.creation_timestamp + self.ttl_ms if self.ttl_ms > 0 else float("inf")

    def check(self, signature: RequestSignature | None, key: SessionKey | None) -> None:
        """Check that a worker of the group sent a request.

        Raises:
            BadRequestError: it is not signed, or with an algorithm that this worker does not accept.
            RestError: 503 without a key, 403 when the signature is wrong.
        """
        if signature is None:
            raise BadRequestError(UNSIGNED)
        if signature.algorithm not in self.accepted:
            raise BadRequestError(
                f"This worker does not support the '{signature.algorithm}' key signing algorithm used by other "
                f"workers. This worker is currently configured to use: {java_text(self.accepted)}. Check that all "
                "workers' configuration files permit the same set of signature algorithms, and correct any "
                "misconfigured worker and restart it."
            )
        if key is None:
            raise RestError(
                503,
                "This worker is still starting up and has not been able to read a session key from the config topic "
                "yet",
            )
        if not signature.matches(key.key):
            raise RestError(403, "Internal request contained invalid signature.")
