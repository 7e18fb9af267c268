"""Plugins that write into a journal what they were told, and a config provider whose values expire."""

import json
import time
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, ClassVar

from connect_dagster.errors import ConfigError
from connect_dagster.plugin.config import ConfigDef, Password, config_key
from connect_dagster.plugin.config_provider import ConfigData, ConfigProvider
from connect_dagster.plugin.connector import Properties, SourceConnector, SourceTask
from connect_dagster.plugin.converter import Transform
from connect_dagster.plugin.frames import Frame


class ToldConfig(ConfigDef):
    journal: str = config_key("journal", doc="File to write to.")
    user: str = config_key("user", default="", doc="Any text.")
    password: Password | None = config_key("password", default=None, doc="Shown nowhere.")


def note(config: Mapping[str, str], who: str) -> None:
    told = {name: config.get(name) for name in ("user", "password")}
    with Path(config["journal"]).open("a") as journal:
        journal.write(json.dumps({"who": who, **told}) + "\n")


class ToldTask(SourceTask):
    def start(self, config: Properties) -> None:
        note(config, f"task {config['number']}")

    def poll(self) -> None:
        time.sleep(0.1)

    def stop(self) -> None:
        """Nothing is open."""


class ToldConnector(SourceConnector):
    """Hands its whole configuration on to its tasks, as most connectors do."""

    config_def: ClassVar[type[ConfigDef]] = ToldConfig
    task_class: ClassVar[type[SourceTask]] = ToldTask

    def start(self, config: Properties) -> None:
        self._config = dict(config)
        note(config, "connector")

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [{**self._config, "number": str(number)} for number in range(max_tasks)]

    def alter_offsets(self, config: Properties, offsets: Any) -> bool:
        note(config, "offsets")
        return True

    def stop(self) -> None:
        """Nothing is open."""


class ToldTransform(Transform):
    config_def: ClassVar[type[ConfigDef]] = ToldConfig

    def configure(self, config: Mapping[str, str]) -> None:
        note(config, "transform")

    def apply(self, frame: Frame) -> Frame:
        return frame


class LeasedConfigProvider(ConfigProvider):
    """Values of a JSON file, which hold for half a second."""

    config_def: ClassVar[type[ConfigDef]] = ConfigDef

    def configure(self, config: Mapping[str, str]) -> None:
        """There are no options."""

    def get(self, path: str, keys: AbstractSet[str]) -> ConfigData:
        try:
            found = json.loads(Path(path).read_text())
        except OSError as error:
            raise ConfigError(f"The lease of {path} has ended") from error
        return ConfigData({key: found[key] for key in keys if key in found}, ttl_ms=500)
