"""Log levels at run time (KIP-495; Java: ``Loggers``).

Python keeps numbers where Java has words, lets a logger without a level follow its parent, and has no level that lets
everything through but "not set". So levels are read as they take effect, and a number between two words is the
word whose messages still come through.
"""

from __future__ import annotations

import threading
import time

from connect_dagster.errors import NotFoundError
from connect_dagster.herder.interface import LoggerLevel
from connect_dagster.worker.logs.java_names import loggers_of
from connect_dagster.worker.logs.levels import CONNECTOR, LEVELS, LEVELS_OF_PROCESS, OFF, ROOT

_modified: dict[str, int] = {}
_lock = threading.Lock()


def levels() -> dict[str, LoggerLevel]:
    """Return the level of each logger that logs anything, and of each connector that has one, by name."""
    names = sorted({ROOT, *LEVELS_OF_PROCESS.known()})
    found = {name: _shown(name, LEVELS_OF_PROCESS.effective(name)) for name in names}
    found = {name: level for name, level in found.items() if level.level != OFF}
    connectors = LEVELS_OF_PROCESS.connectors().items()
    return found | {f"{CONNECTOR}{name}": _shown(f"{CONNECTOR}{name}", number) for name, number in connectors}


def level(name: str) -> LoggerLevel:
    """Return the level that applies to a logger, to one of Java's, or to a connector.

    Raises:
        NotFoundError: nothing logs under that name.
    """
    connectors = LEVELS_OF_PROCESS.connectors()
    if name.removeprefix(CONNECTOR) in connectors and name.startswith(CONNECTOR):
        return _shown(name, connectors[name.removeprefix(CONNECTOR)])
    known = {ROOT, *LEVELS_OF_PROCESS.known()}
    for logger in (name, *loggers_of(name)):
        if logger in known:
            return _shown(name, LEVELS_OF_PROCESS.effective(logger))
    raise NotFoundError(f"Logger {name} not found.")


def set_level(namespace: str, word: str) -> list[str]:
    """Set the level of a logger and all below it, or of a connector; return those that had another one, sorted.

    Raises:
        NotFoundError: the level does not exist (Java replies 404 as well).
    """
    number = LEVELS.get(word.upper())
    if number is None:
        raise NotFoundError(f"invalid log level '{word}'.")
    with _lock:
        before, now = levels(), time.time_ns() // 1_000_000
        names = LEVELS_OF_PROCESS.set(namespace, number)
        changed = [name for name in names if name not in before or before[name].level != word.upper()]
        _modified.update(dict.fromkeys(changed, now))
        return changed


def _shown(name: str, number: int) -> LoggerLevel:
    word = next((word for word, least in LEVELS.items() if least >= number), OFF)
    return LoggerLevel(word, _modified.get(name))
