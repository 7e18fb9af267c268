"""Log lines of Kafka's clients while brokers are away: warnings, and one of a kind a while.

They report each failed attempt to connect, many times a second, as an error; to a worker nothing is lost.
"""

from __future__ import annotations

import logging
import re
import threading
import time

_AGAIN_SECONDS = 10.0
_MOST_KINDS = 1000
_LATER = "No `bootstrap.servers` configured"
"""Of clients that get theirs once they can connect by a relay (``kafka.security.sasl_relay``)."""
# Of the first idempotent producer of a cluster, whose coordinator has just been made.
_PASSING = re.compile(r"Failed to acquire \w+ PID from broker .*: retrying$")
_NUMBERS = re.compile(r"\d+")
# Loggers of kafka-python; final errors, such as a refused login, reach the worker as exceptions.
_OF_PYTHON_CLIENT = ("cluster", "coordinator", "net.connection", "net.inet", "net.manager", "net.transport")


class _OneOfAKind(logging.Filter):
    """Makes warnings of errors, and passes one of a kind a while."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._said: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if record.levelno > logging.WARNING:
            record.levelno, record.levelname = logging.WARNING, "WARNING"
        if _PASSING.search(text):
            record.levelno, record.levelname = logging.INFO, "INFO"
        kind, now = _NUMBERS.sub("", text), time.monotonic()
        if _LATER in kind:
            return False
        with self._lock:
            if now - self._said.get(kind, -_AGAIN_SECONDS) < _AGAIN_SECONDS:
                return False
            if len(self._said) >= _MOST_KINDS:
                self._said.clear()
            self._said[kind] = now
            return True


def client_logger() -> logging.Logger:
    """Return the logger for librdkafka's clients."""
    return _filtered("org.apache.kafka.clients")


def python_client_loggers() -> list[logging.Logger]:
    """Return the loggers for the connections of kafka-python's clients."""
    return [_filtered(f"kafka.{name}") for name in _OF_PYTHON_CLIENT]


def _filtered(name: str) -> logging.Logger:
    logger = logging.getLogger(name)
    if not any(isinstance(filter, _OneOfAKind) for filter in logger.filters):
        logger.addFilter(_OneOfAKind())
    return logger
