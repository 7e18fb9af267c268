"""The brokers of a cluster, with the settings of a login or of certificates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from connect_dagster.kafka.settings.java_settings import Settings

CLIENT_ID = "connect-dagster"
"""The client's name in the brokers' logs."""


@dataclass(frozen=True, slots=True)
class Brokers:
    """Brokers of one cluster.

    Attributes:
        servers: ``host:port``, separated by commas.
        properties: further settings of clients in Java's names, such as ``security.protocol``; never shown.
    """

    servers: str
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        return self.servers


Bootstrap = str | Brokers
"""Brokers that are reached as they are, or with settings."""


def client_settings(bootstrap: Bootstrap) -> Settings:
    """Return the settings of a client for these brokers, in Java's names."""
    properties = bootstrap.properties if isinstance(bootstrap, Brokers) else {}
    return {"client.id": CLIENT_ID, **properties, "bootstrap.servers": str(bootstrap)}


def with_servers(brokers: Brokers, servers: str | None) -> Brokers:
    """Return the same settings for other brokers, if there are any."""
    return brokers if servers is None else Brokers(servers, brokers.properties)
