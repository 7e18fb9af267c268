"""Log files that are renamed when they are full, one for all lines or one for each connector."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from logging.handlers import RotatingFileHandler
from pathlib import Path
from urllib.parse import quote

from connect_dagster.errors import ConfigError
from connect_dagster.worker.logs.context import current_scope


@dataclass(frozen=True, slots=True)
class Rotation:
    """When a file is renamed, and how many of them stay.

    Attributes:
        max_bytes: size of a file at most; 0 for any.
        backups: number of former files.
    """

    max_bytes: int
    backups: int

    def handler(self, file: Path) -> RotatingFileHandler:
        """Return the handler that appends to a file. Raises OSError."""
        return RotatingFileHandler(file, maxBytes=self.max_bytes, backupCount=self.backups, encoding="utf-8")


def file_handler(setting: str, file: str, rotation: Rotation) -> logging.Handler:
    """Return the handler of a file.

    Raises:
        ConfigError: it cannot be written.
    """
    try:
        return rotation.handler(Path(file))
    except OSError as error:
        raise ConfigError.invalid(setting, file, f"The file cannot be written: {error.strerror}") from error


class ConnectorFiles(logging.Handler):
    """Appends the lines about each connector to ``<connector>.log`` in a folder, its name as in a URL.

    Args:
        setting: that names the folder, for the error.
        folder: of the files; it must exist.
        rotation: of each file.

    Raises:
        ConfigError: the folder does not exist.
    """

    def __init__(self, setting: str, folder: str, rotation: Rotation) -> None:
        super().__init__()
        if not Path(folder).is_dir():
            raise ConfigError.invalid(setting, folder, "The folder does not exist")
        self._folder = Path(folder)
        self._rotation = rotation
        self._files: dict[str, RotatingFileHandler] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Append a line, where it is about a connector."""
        connector = current_scope().connector
        if not connector:
            return
        try:
            if (file := self._files.get(connector)) is None:
                file = self._rotation.handler(self._folder / f"{quote(connector, safe=' ')}.log")
                file.setFormatter(self.formatter)
                self._files[connector] = file
            file.emit(record)
        except OSError:
            self.handleError(record)

    def close(self) -> None:
        """Close all files."""
        for file in self._files.values():
            file.close()
        super().close()
