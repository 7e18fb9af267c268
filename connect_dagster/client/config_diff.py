"""Differences between a declared configuration and the live one, key by key and without secrets."""

from collections.abc import Mapping
from dataclasses import dataclass

from connect_dagster.client.masking import mask_config

Config = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class ConfigDiff:
    """Differences between two configurations of one connector.

    Attributes:
        live: What the cluster has; None when it has no such connector.
        declared: What it is to have.
        secret_keys: Secret keys, in addition to those with a secret name.
    """

    live: Config | None
    declared: Config
    secret_keys: frozenset[str] = frozenset()

    @property
    def changed_keys(self) -> list[str]:
        """Return the keys that are added, removed or have another value, sorted."""
        live = self.live or {}
        return sorted(key for key in live.keys() | self.declared.keys() if live.get(key) != self.declared.get(key))

    @property
    def is_empty(self) -> bool:
        """Return True if the connector exists with exactly the declared configuration."""
        return self.live is not None and not self.changed_keys

    def lines(self) -> list[str]:
        """Return one line ``- key=value`` for what goes, one ``+ key=value`` for what comes; secrets masked.

        A secret that changes shows two equal lines: that it changes, not what it is.
        """
        live, declared = self._masked(self.live or {}), self._masked(self.declared)
        return [line for key in self.changed_keys for line in _change(key, live, declared)]

    def _masked(self, config: Config) -> dict[str, str | None]:
        return mask_config(config, self.secret_keys)


def _change(key: str, live: Config, declared: Config) -> list[str]:
    sides = (("-", live), ("+", declared))
    return [f"{sign} {key}={config[key]}" for sign, config in sides if config.get(key) is not None]
