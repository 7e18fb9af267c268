"""A source that logs its password and quotes it in its errors, as careless plugins do."""

import logging
from collections.abc import Sequence
from typing import Any, ClassVar

from connect_dagster.plugin.config import ConfigDef, Password, config_key
from connect_dagster.plugin.connector import Properties, SourceConnector, SourceTask
from connect_dagster.plugin.records import SourceRecord

log = logging.getLogger(__name__)


class QuotingConfig(ConfigDef):
    hash: Password = config_key("api.hash", doc="A password whose key has another name.")


class QuotingTask(SourceTask):
    def start(self, config: Properties) -> None:
        log.info("Logging in with %s", dict(config))
        self._config = config

    def poll(self) -> Sequence[SourceRecord]:
        raise ValueError(f"the server refuses {self._config['api.hash']}")

    def stop(self) -> None:
        """Nothing is open."""


class QuotingConnector(SourceConnector):
    config_def: ClassVar[type[ConfigDef]] = QuotingConfig
    task_class: ClassVar[type[SourceTask]] = QuotingTask

    def start(self, config: Properties) -> None:
        self._config = dict(config)
        log.debug("Connecting with xx%sxx", config["api.hash"])

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [self._config]

    def alter_offsets(self, config: Properties, offsets: Any) -> bool:
        raise ValueError(f"the server refuses {config['api.hash']}")

    def stop(self) -> None:
        """Nothing is open."""
