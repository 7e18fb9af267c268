"""Values from files of a folder, each the whole file of that name: ``${dir:/run/secrets:password}``.

Java: ``DirectoryConfigProvider``. This is how Kubernetes and Docker mount secrets.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import ClassVar

from connect_dagster.config_providers._support.allowed_paths import AllowedPathsConfig
from connect_dagster.errors import ConfigError
from connect_dagster.kafka_version import KAFKA_VERSION
from connect_dagster.plugin.config import ConfigDef
from connect_dagster.plugin.config_provider import ConfigData, ConfigProvider

log = logging.getLogger(__name__)


class DirectoryConfigProvider(ConfigProvider):
    """Reads files as they are, a last line end included; below the folder nothing is looked for."""

    config_def: ClassVar[type[ConfigDef]] = AllowedPathsConfig
    java_class = "org.apache.kafka.common.config.provider.DirectoryConfigProvider"
    version = KAFKA_VERSION
    polled = True

    def configure(self, config: Mapping[str, str]) -> None:
        self._paths = AllowedPathsConfig.parse(config)

    def get(self, path: str, keys: AbstractSet[str]) -> ConfigData:
        """Return the contents of these files; an empty result for a folder that does not exist or may not be read.

        Raises:
            ConfigError: a file or the folder is not readable, or a file not UTF-8; names it.
        """
        if not path:
            return ConfigData({})
        folder = self._paths.allowed(path)
        if folder is None:
            log.warning("The path %s is not allowed to be accessed: it is not within allowed.paths", path)
            return ConfigData({})
        if not folder.is_dir():
            log.warning("The path %s is not a directory", path)
            return ConfigData({})
        try:
            # A key is compared with what is there, so that none leads out of the folder.
            files = [file for file in folder.iterdir() if file.name in keys and file.is_file()]
        except OSError as error:
            raise ConfigError(f"Could not list directory {path}: {error.strerror}") from error
        return ConfigData({file.name: _content(file) for file in files})


def _content(file: Path) -> str:
    failed = f"Could not read file {file} for property {file.name}"
    try:
        return file.read_bytes().decode()
    except OSError as error:
        raise ConfigError(f"{failed}: {error.strerror}") from error
    except UnicodeDecodeError:
        raise ConfigError(f"{failed}: it is not UTF-8") from None  # whose text holds a part of the secret
