"""Settings of its Kafka clients that a connector may override (Java: ``ConnectorClientConfigOverridePolicy``)."""

from __future__ import annotations

import functools
import logging
from collections.abc import Mapping
from dataclasses import dataclass

from connect_dagster.errors import ConfigError, ConnectError, java_text
from connect_dagster.kafka.settings import ClientKind, definitions
from connect_dagster.plugin.config import Password, Type, UniqueValues, parse_value
from connect_dagster.plugin.config.table import Properties

log = logging.getLogger(__name__)

POLICY = "connector.client.config.override.policy"
ALLOWLIST = "connector.client.config.override.allowlist"

_PACKAGE = "org.apache.kafka.connect.connector.policy."
_SUFFIX = "ConnectorClientConfigOverridePolicy"
_PRINCIPAL = frozenset({"sasl.jaas.config", "sasl.mechanism", "security.protocol"})
_SETUP = "Setting up %s"
_SAID = {
    "All": "All Policy for ConnectorClientConfigOverride. This will allow all client configurations to be overridden",
    "None": "None Policy for ConnectorClientConfigOverride. This will disallow any client configuration to be "
    "overridden",
    "Principal": "Principal policy for ConnectorClientConfigOverride. This will allow `sasl` client configuration to "
    "be overridden.",
    "Allowlist": "Allowlist policy for ConnectorClientConfigOverride. This will allow the following client "
    "configurations to be overridden. %s",
}


@dataclass(frozen=True, slots=True)
class ClientPolicy:
    """The settings that connectors may override.

    Attributes:
        name: All, None, Principal or Allowlist.
        allowed: the settings; ``None`` for all of them.
    """

    name: str = "All"
    allowed: frozenset[str] | None = None

    @classmethod
    def of(cls, worker: Properties) -> ClientPolicy:
        """Parse the policy of a worker's configuration.

        Raises:
            ConfigError: the policy is unknown, or its list is malformed.
        """
        given = worker.get(POLICY) or "All"
        name = given.removeprefix(_PACKAGE).removesuffix(_SUFFIX)
        if name not in _SAID:
            reason = f"Custom policies are JVM classes and cannot be loaded by this worker. Use one of {_choices()}"
            raise ConfigError.invalid(POLICY, given, reason)
        listed = _allowlist(worker) if name == "Allowlist" else ()
        return cls(name, {"All": None, "None": frozenset(), "Principal": _PRINCIPAL}.get(name, frozenset(listed)))

    def announce(self) -> None:
        """Log the settings that connectors may override."""
        if self.name == "Principal":
            log.warning(
                "The Principal ConnectorClientConfigOverridePolicy is deprecated, use the Allowlist policy instead. To "
                'replicate the Principal policy behavior, set the %s configuration to "%s"',
                ALLOWLIST,
                ",".join(sorted(_PRINCIPAL)),
            )
        text = _SAID[self.name]
        log.info(_SETUP, text % java_text(sorted(self.allowed or ())) if self.name == "Allowlist" else text)

    def refusal(self, name: str) -> str | None:
        """Return Java's text for a setting that may not be overridden; ``None`` when it may."""
        if self.allowed is None or name in self.allowed:
            return None
        return f"The '{self.name}' policy does not allow '{name}' to be overridden in the connector configuration."

    def require(self, overrides: Mapping[str, str]) -> None:
        """Raise ConnectError for overrides that are not allowed (Java: ``connectorClientConfigOverrides``).

        Unlike Java's, its text hides the values of passwords, and of settings that Kafka's clients do not define.
        """
        refused = [
            f"Config({name}, {value if name in _harmless() else Password(value)}, [], [{text}], true)"
            for name, value in overrides.items()
            if (text := self.refusal(name)) is not None
        ]
        if refused:
            raise ConnectError(f"Client Config Overrides not allowed [{', '.join(refused)}]")


@functools.cache
def _harmless() -> frozenset[str]:
    """Return the settings of clients other than passwords."""
    keys = [key for kind in ClientKind for key in definitions(kind)]
    return frozenset(key.name for key in keys if key.type is not Type.PASSWORD)


def _allowlist(worker: Properties) -> tuple[str, ...]:
    names = parse_value(ALLOWLIST, worker.get(ALLOWLIST) or "", Type.LIST)
    # One that comes twice is dropped, as the worker's own lists do.
    unique = tuple(dict.fromkeys(names))
    UniqueValues()(ALLOWLIST, unique)
    return unique


def _choices() -> str:
    return ", ".join(_SAID)
