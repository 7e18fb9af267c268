"""Log levels at run time (KIP-495; Java: ``Loggers``).

Python keeps numbers where Java has words, lets a logger without a level follow its parent, and has no level that lets
everything through but "not set". So levels are read as they take effect, and a number between two words is the
word whose messages still come through.
"""

from __future__ import annotations

import logging
import threading
import time

from connect_dagster.errors import NotFoundError
from connect_dagster.herder.interface import LoggerLevel
from connect_dagster.worker.logs import TRACE

ROOT = "root"
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

_modified: dict[str, int] = {}
_lock = threading.Lock()


def levels() -> dict[str, LoggerLevel]:
    """Return the level of each logger that logs anything, by name."""
    found = {name: _level(name) for name in sorted({ROOT, *_known()})}
    return {name: level for name, level in found.items() if level.level != OFF}


def level(name: str) -> LoggerLevel:
    """Return the level that applies to a logger.

    Raises:
        NotFoundError: nothing logs under that name.
    """
    if name != ROOT and name not in _known():
        raise NotFoundError(f"Logger {name} not found.")
    return _level(name)


def set_level(namespace: str, word: str) -> list[str]:
    """Set the level of a logger and all below it; return those that had another one, sorted.

    Raises:
        NotFoundError: the level does not exist (Java replies 404 as well).
    """
    number = LEVELS.get(word.upper())
    if number is None:
        raise NotFoundError(f"invalid log level '{word}'.")
    with _lock:
        before, now = levels(), time.time_ns() // 1_000_000
        names = sorted(name for name in {namespace, *_known()} if _below(name, namespace))
        changed = [name for name in names if name not in before or before[name].level != word.upper()]
        for name in names:
            logger = _logger(name)
            logger.setLevel(number)
            logger.disabled = False  # logging.config disables loggers that it does not configure
        _modified.update(dict.fromkeys(changed, now))
        return changed


def _level(name: str) -> LoggerLevel:
    logger = _logger(name)
    effective = LEVELS[OFF] if logger.disabled else logger.getEffectiveLevel()
    word = next((word for word, number in LEVELS.items() if number >= effective), OFF)
    return LoggerLevel(word, _modified.get(name))


def _known() -> set[str]:
    # A copy, because other threads make loggers while this one looks.
    everything = logging.root.manager.loggerDict.copy()
    return {name for name, one in everything.items() if isinstance(one, logging.Logger)}


def _logger(name: str) -> logging.Logger:
    return logging.getLogger() if name == ROOT else logging.getLogger(name)


def _below(name: str, namespace: str) -> bool:
    return namespace == ROOT or name == namespace or name.startswith(f"{namespace}.")
