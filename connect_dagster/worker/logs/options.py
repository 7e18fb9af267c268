"""Options of a worker's file for its log: ``logging.*``."""

from __future__ import annotations

from typing import Self

from connect_dagster.plugin.config import (
    ConfigDef,
    FindClass,
    Importance,
    Type,
    at_least,
    config_key,
    non_empty_string,
    one_of_ignoring_case,
)
from connect_dagster.plugin.config.table import Properties
from connect_dagster.worker.logs.levels import LEVELS

LEVEL = "logging.level"
FILE = "logging.file"
FOLDER = "logging.connectors.folder"
_IS_LEVEL = one_of_ignoring_case(*LEVELS)


class LoggingConfig(ConfigDef):
    """Level, form and files of the log."""

    level: str = config_key(
        LEVEL,
        default="INFO",
        importance=Importance.LOW,
        validator=_IS_LEVEL,
        doc="Level of all loggers. logging.level.NAME is that of one logger and those below it, by the name of a "
        "Python module or of a class or package of Kafka Connect; logging.level.connector:NAME that of all lines about "
        "a connector.",
    )
    format: str = config_key(
        "logging.format",
        default="text",
        importance=Importance.LOW,
        validator=one_of_ignoring_case("text", "json"),
        doc="Form of the lines: text as Kafka Connect's log4j writes it, or json, an object in each line.",
    )
    console: bool = config_key(
        "logging.console",
        default=True,
        importance=Importance.LOW,
        doc="Whether the log goes to standard output.",
    )
    file: str | None = config_key(
        FILE,
        default=None,
        importance=Importance.LOW,
        validator=non_empty_string,
        doc="File that the log is appended to.",
    )
    connectors_folder: str | None = config_key(
        FOLDER,
        default=None,
        importance=Importance.LOW,
        validator=non_empty_string,
        doc="Folder for a file of each connector, NAME.log, with the lines about it and its tasks.",
    )
    file_max_bytes: int = config_key(
        "logging.file.max.bytes",
        type=Type.LONG,
        default=100 * 1024 * 1024,
        importance=Importance.LOW,
        validator=at_least(0),
        doc="Size at which a file is renamed to NAME.1; 0 for never.",
    )
    file_backups: int = config_key(
        "logging.file.backups",
        default=10,
        importance=Importance.LOW,
        validator=at_least(1),
        doc="Number of renamed files that stay.",
    )

    @property
    def levels(self) -> dict[str, str]:
        """Return the levels of single loggers and of connectors, by name."""
        return self.with_prefix(f"{LEVEL}.")

    @classmethod
    def parse(cls, props: Properties, find_class: FindClass | None = None) -> Self:
        """Return the options of a worker's file.

        Raises:
            ConfigError: a value is wrong.
        """
        config = super().parse(props, find_class)
        for name, word in config.levels.items():
            _IS_LEVEL(f"{LEVEL}.{name}", word)
        return config
