"""Log levels at run time (KIP-495; Java: ``Loggers``)."""

from __future__ import annotations

import logging
import time

from connect_dagster.herder.interface import LoggerLevel
from connect_dagster.plugin.errors import NotFoundError
from connect_dagster.worker.logs import TRACE

ROOT = "root"
LEVELS = {
    "TRACE": TRACE,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
    "OFF": logging.CRITICAL + 10,
}
_WORDS = {number: word for word, number in LEVELS.items()}
_modified: dict[str, int] = {}


def levels() -> dict[str, LoggerLevel]:
    """Level of each logger that has one or has been used, by name."""
    return {name: level(name) for name in sorted({ROOT, *_known()})}


def level(name: str) -> LoggerLevel:
    """Level that applies to a logger.

    Raises:
        NotFoundError: nothing logs under that name.
    """
    if name != ROOT and name not in _known():
        raise NotFoundError(f"Logger {name} not found.")
    effective = _logger(name).getEffectiveLevel()
    return LoggerLevel(_WORDS.get(effective, "INFO"), _modified.get(name))


def set_level(namespace: str, word: str) -> list[str]:
    """Set the level of a logger and all below it; answers those it changed, sorted.

    Raises:
        NotFoundError: there is no such level (Java answers 404, too).
    """
    number = LEVELS.get(word.upper())
    if number is None:
        raise NotFoundError(f"invalid log level '{word}'.")
    affected = [name for name in {namespace, *_known()} if _below(name, namespace)]
    for name in affected:
        _logger(name).setLevel(number)
        _modified[name] = time.time_ns() // 1_000_000
    return sorted(affected)


def _known() -> set[str]:
    return {name for name, one in logging.root.manager.loggerDict.items() if isinstance(one, logging.Logger)}


def _logger(name: str) -> logging.Logger:
    return logging.getLogger() if name == ROOT else logging.getLogger(name)


def _below(name: str, namespace: str) -> bool:
    return namespace == ROOT or name == namespace or name.startswith(f"{namespace}.")
