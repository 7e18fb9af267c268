"""Values from .properties files: ``${file:/secrets/db.properties:password}`` (Java: ``FileConfigProvider``)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import ClassVar

from connect_dagster.config_providers._support.allowed_paths import AllowedPathsConfig
from connect_dagster.errors import ConfigError
from connect_dagster.java.properties import parse_properties
from connect_dagster.kafka_version import KAFKA_VERSION
from connect_dagster.plugin.config import ConfigDef
from connect_dagster.plugin.config_provider import ConfigData, ConfigProvider

log = logging.getLogger(__name__)


class FileConfigProvider(ConfigProvider):
    """Reads the file again each time it is called."""

    config_def: ClassVar[type[ConfigDef]] = AllowedPathsConfig
    java_class = "org.apache.kafka.common.config.provider.FileConfigProvider"
    version = KAFKA_VERSION
    polled = True

    def configure(self, config: Mapping[str, str]) -> None:
        self._paths = AllowedPathsConfig.parse(config)

    def get(self, path: str, keys: AbstractSet[str]) -> ConfigData:
        """Return the values of a file; an empty result for a file that may not be read.

        Raises:
            ConfigError: the file is not there, not readable, not UTF-8 or malformed; names it.
        """
        if not path:
            return ConfigData({})
        file = self._paths.allowed(path)
        if file is None:
            log.warning("The path %s is not allowed to be accessed: it is not within allowed.paths", path)
            return ConfigData({})
        failed = f"Could not read properties from file {path}"
        try:
            found = parse_properties(file.read_bytes().decode("utf-8-sig"), path)
        except OSError as error:
            raise ConfigError(f"{failed}: {error.strerror}") from error
        # Their texts contain a part of the file, which is a secret.
        except UnicodeDecodeError:
            raise ConfigError(f"{failed}: it is not UTF-8") from None
        except ConfigError:
            raise ConfigError(f"{failed}: it has a malformed \\uxxxx escape; a backslash is written \\\\") from None
        return ConfigData({key: found[key] for key in keys if key in found})
