"""JWT retrievers: where Kafka clients get the tokens of the mechanism OAUTHBEARER (KIP-1139).

Java: ``org.apache.kafka.common.security.oauthbearer.JwtRetriever``. Client settings name one in
``sasl.oauthbearer.jwt.retriever.class``; its distribution declares it in the group of entry points
``connect_dagster.jwt_retrievers``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class BearerToken:
    """A token that is not a JWT, with what a JWT would state.

    Attributes:
        value: the token, which is sent to the brokers.
        expires_at: its end, in seconds since 1970.
        principal: for whom it is.
    """

    value: str = field(repr=False)
    expires_at: float
    principal: str


class JwtRetriever(ABC):
    """Gets the tokens of a login; one object for all clients with the same settings.

    It is called for the first token, and before the last one ends, from one thread at a time. What it raises
    fails the client, and its text is logged: it must not contain a secret.

    Example:
        >>> def retrieve(self) -> str:
        ...     return self._vault.read("kafka/token")["jwt"]
    """

    def configure(self, config: Mapping[str, str], options: Mapping[str, str]) -> None:  # noqa: B027 (most need none)
        """Take the settings.

        Args:
            config: the client's settings whose names begin with ``sasl.``.
            options: of the login module in ``sasl.jaas.config``.
        """

    @abstractmethod
    def retrieve(self) -> str | BearerToken:
        """Return a new token: a JWT with the claim ``exp``, or any token with its end."""
