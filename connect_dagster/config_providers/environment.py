"""Values from the worker's environment: ``${env:DB_PASSWORD}`` (Java: ``EnvVarConfigProvider``)."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any, ClassVar

from connect_dagster.errors import ConfigError
from connect_dagster.java.bounded_patterns import BoundedPattern, PatternSyntaxError, RunawayPatternError
from connect_dagster.kafka_version import KAFKA_VERSION
from connect_dagster.plugin.config import ConfigDef, Importance, config_key
from connect_dagster.plugin.config_provider import ConfigData, ConfigProvider

log = logging.getLogger(__name__)


def _regular_expression(name: str, value: Any) -> None:
    try:
        BoundedPattern(value)
    except PatternSyntaxError as error:
        raise ConfigError.invalid(name, value, f"It is not a regular expression: {error}") from error


class EnvVarConfig(ConfigDef):
    """Options of the provider."""

    allowlist_pattern: str = config_key(
        "allowlist.pattern",
        default=".*",
        importance=Importance.LOW,
        validator=_regular_expression,
        doc="Regular expression that the whole name of a variable must match to be read.",
    )


class EnvVarConfigProvider(ConfigProvider):
    """Knows the variables that the worker was started with."""

    config_def: ClassVar[type[ConfigDef]] = EnvVarConfig
    java_class = "org.apache.kafka.common.config.provider.EnvVarConfigProvider"
    version = KAFKA_VERSION

    def configure(self, config: Mapping[str, str]) -> None:
        if "allowlist.pattern" not in config:
            log.info("No pattern for environment variables provided. Using default pattern '(.*)'.")
        expression = EnvVarConfig.parse(config).allowlist_pattern
        pattern = BoundedPattern(expression)
        try:
            self._allowed = {name: value for name, value in os.environ.items() if pattern.fullmatch(name)}
        except RunawayPatternError as error:
            raise ConfigError.invalid("allowlist.pattern", expression, str(error)) from error

    def get(self, path: str, keys: AbstractSet[str]) -> ConfigData:
        """Return the values of variables. Raises ConfigError for a path, as variables have none."""
        if path:
            raise ConfigError(f"Path is not supported for EnvVarConfigProvider, invalid value '{path}'")
        return ConfigData({key: self._allowed[key] for key in keys if key in self._allowed})
