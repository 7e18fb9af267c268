"""The log of the Kafka clients, which report each failed attempt to connect, many times a second, as an error.

To a worker these are warnings: the client goes on trying, and nothing is lost. One of a kind a while is enough.
"""

from __future__ import annotations

import logging
import re
import threading
import time

_AGAIN_SECONDS = 10.0
_MOST_KINDS = 1000
_NUMBERS = re.compile(r"\d+")


class _OneOfAKind(logging.Filter):
    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._said: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno > logging.WARNING:
            record.levelno, record.levelname = logging.WARNING, "WARNING"
        kind, now = _NUMBERS.sub("", record.getMessage()), time.monotonic()
        with self._lock:
            if now - self._said.get(kind, -_AGAIN_SECONDS) < _AGAIN_SECONDS:
                return False
            if len(self._said) >= _MOST_KINDS:
                self._said.clear()
            self._said[kind] = now
            return True


def client_logger() -> logging.Logger:
    """Return the logger for Kafka clients."""
    logger = logging.getLogger("org.apache.kafka.clients")
    if not logger.filters:
        logger.addFilter(_OneOfAKind())
    return logger
