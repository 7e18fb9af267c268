"""Config providers: where ``${provider:path:key}`` in a configuration gets its value from (KIP-297).

Java: ``org.apache.kafka.common.config.provider.ConfigProvider``. A worker names its providers in ``config.providers``
and asks them only when a configuration is on its way to a plugin; what is stored and shown keeps the placeholder.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import ClassVar

from connect_dagster.plugin.config import ConfigDef


@dataclass(frozen=True, slots=True)
class ConfigData:
    """Values of a provider (Java: ``ConfigData``).

    Attributes:
        values: by key; a key that is left out keeps its placeholder.
        ttl_ms: milliseconds for which the values hold; then connectors that have them start again, unless their
            ``config.action.reload`` is ``none``. ``None`` for values that never expire.
    """

    values: Mapping[str, str]
    ttl_ms: int | None = None


class ConfigProvider(ABC):
    """Looks up values of configurations, such as passwords that should not stand in them.

    A worker makes one object of each name in ``config.providers`` and calls it from several threads at once. What it
    raises fails the connector, task or request that needed the value, and its text is logged: it must hold no value.

    Attributes:
        polled: whether the worker may call :meth:`get` every few seconds, to restart what has other values than those,
            as for files. ``False`` where a call costs much or makes a new password: there, ``ttl_ms`` is for that.

    Example:
        >>> def get(self, path: str, keys: AbstractSet[str]) -> ConfigData:
        ...     secrets = self._vault.read(path)
        ...     return ConfigData({key: secrets[key] for key in keys if key in secrets}, ttl_ms=3_600_000)
    """

    config_def: ClassVar[type[ConfigDef]]
    java_class: ClassVar[str | None] = None
    version: ClassVar[str] = "undefined"
    polled: ClassVar[bool] = False

    @abstractmethod
    def configure(self, config: Mapping[str, str]) -> None:
        """Take the options (without the ``config.providers.<name>.param.`` prefix)."""

    @abstractmethod
    def get(self, path: str, keys: AbstractSet[str]) -> ConfigData:
        """Values of these keys.

        Args:
            path: what stands between provider and key; empty in ``${provider:key}``.
            keys: names of the values.
        """

    def close(self) -> None:  # noqa: B027 (most providers hold nothing open)
        """Close all that the provider holds."""
