"""Log lines as Kafka Connect's log4j writes them, with the connector context of KIP-449.

``[2026-11-20 23:17:40,123] INFO [local-file-source|task-0] message (logger:line)``
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

TRACE = 5
_local = threading.local()
_LEVEL_WORDS = {"WARNING": "WARN", "CRITICAL": "ERROR", "NOTSET": "TRACE"}


def set_context(connector: str, scope: str) -> None:
    """Have the lines of this thread begin with ``[connector|scope]``; the scope is ``worker`` or ``task-N``."""
    _local.context = f"[{connector}|{scope}] "


@contextmanager
def context(connector: str, scope: str) -> Iterator[None]:
    """The same for a block of code."""
    before = getattr(_local, "context", "")
    set_context(connector, scope)
    try:
        yield
    finally:
        _local.context = before


class _Formatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        record.word = _LEVEL_WORDS.get(record.levelname, record.levelname)
        record.context = getattr(_local, "context", "")
        return super().format(record)


def configure(level: int = logging.INFO) -> None:
    """Send all log lines of this process to standard output, in this form."""
    logging.addLevelName(TRACE, "TRACE")
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(_Formatter("[%(asctime)s] %(word)s %(context)s%(message)s (%(name)s:%(lineno)d)"))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    logging.captureWarnings(True)
    logging.getLogger("py4j").setLevel(logging.WARNING)
