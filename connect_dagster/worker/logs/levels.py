"""Levels of loggers, and of connectors, whose lines are judged by the connector instead of the logger.

Python's loggers judge before a line is made, whatever it is about. So a connector with a lower level lowers those of
the loggers, and the handlers leave out what only its lines may say. A worker without such levels pays nothing.
"""

from __future__ import annotations

import logging
import threading

from connect_dagster.worker.logs.context import current_scope
from connect_dagster.worker.logs.java_names import loggers_of

TRACE = 5
OFF = "OFF"
LEVELS = {
    "ALL": 1,
    "TRACE": TRACE,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
    OFF: logging.CRITICAL + 10,
}
"""Java's words from the most to the least that is logged."""
ROOT = "root"
CONNECTOR = "connector:"
"""Begin of the names that stand for all lines about a connector."""
# kafka-python's selector warns of each of its steps that takes 0.1 s, as many do on a busy machine.
_LIBRARIES = {"py4j": logging.WARNING, "kafka": logging.WARNING, "kafka.net.selector": logging.ERROR}


class Levels:
    """The levels of a process.

    Args:
        root: the logger above all others.
    """

    def __init__(self, root: logging.Logger | None = None) -> None:
        self._root = root or logging.getLogger()
        self._lock = threading.RLock()
        self._connectors: dict[str, int] = {}
        # Own levels of the loggers that a connector has lowered.
        self._own: dict[str, int] = {}

    def start(self, level: int) -> None:
        """Set the level of the root, and those of libraries that would say more than anybody reads."""
        self._root.setLevel(level)
        for library, least in _LIBRARIES.items():
            self._logger(library).setLevel(least)

    def known(self) -> set[str]:
        """Return the names of all loggers but the root's."""
        # A copy, because other threads make loggers while this one looks.
        everything = self._root.manager.loggerDict.copy()
        return {name for name, one in everything.items() if isinstance(one, logging.Logger)}

    def set(self, namespace: str, level: int) -> list[str]:
        """Set the level of a logger and all below it, or of a connector; return their names, sorted.

        Args:
            namespace: a logger here, ``root``, one of Java's, or ``connector:`` and a connector.
            level: Python's number.
        """
        if namespace.startswith(CONNECTOR):
            self._set_connector(namespace.removeprefix(CONNECTOR), level)
            return [namespace]
        spaces = (namespace, *loggers_of(namespace))
        names = {name for name in {*spaces, *self.known()} if any(_below(name, space) for space in spaces)}
        with self._lock:
            for name in names:
                self._set_one(self._logger(name), level)
        return sorted(names)

    def effective(self, name: str) -> int:
        """Return the level of a logger, its own or that of the first above it that has one."""
        found: logging.Logger | None = self._logger(name)
        if found is not None and found.disabled:
            return LEVELS[OFF]
        while found is not None:
            if level := self._own.get(found.name, found.level):
                return level
            found = found.parent
        return logging.NOTSET

    def connectors(self) -> dict[str, int]:
        """Return the levels of connectors, by name."""
        with self._lock:
            return dict(self._connectors)

    def _set_one(self, logger: logging.Logger, level: int) -> None:
        logger.disabled = False  # logging.config disables loggers that it does not configure
        if self._connectors:
            self._own[logger.name] = level
            level = min(level, *self._connectors.values())
        logger.setLevel(level)

    def _set_connector(self, connector: str, level: int) -> None:
        with self._lock:
            for logger in self._lowered():
                self._own.setdefault(logger.name, logger.level)
            self._connectors[connector] = level
            least = min(self._connectors.values())
            for name, own in self._own.items():
                self._logger(name).setLevel(min(own, least))

    def passes(self, record: logging.LogRecord) -> bool:
        """Return whether a line is logged, for a thread that works for a connector or for none."""
        if not self._connectors:
            return True
        level = self._connectors.get(current_scope().connector)
        return record.levelno >= (self.effective(record.name) if level is None else level)

    def _lowered(self) -> list[logging.Logger]:
        """Return the loggers that a connector's level concerns: the root, and those with levels but for libraries."""
        everything = self._root.manager.loggerDict.copy()
        named = [one for one in everything.values() if isinstance(one, logging.Logger) and one.level]
        return [self._root, *(one for one in named if one.name not in _LIBRARIES)]

    def _logger(self, name: str) -> logging.Logger:
        return self._root if name == ROOT else self._root.manager.getLogger(name)


def _below(name: str, namespace: str) -> bool:
    return namespace == ROOT or name == namespace or name.startswith(f"{namespace}.")


LEVELS_OF_PROCESS = Levels()
"""Those of this process, as its loggers are."""
