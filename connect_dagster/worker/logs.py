"""Log lines as Kafka Connect's log4j writes them, with the connector context of KIP-449.

``[2026-11-20 23:17:40,123] INFO [local-file-source|task-0] message (logger:line)``
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from connect_dagster.isolation.hidden_values import HiddenValues
from connect_dagster.isolation.plugin_source import plain_names
from connect_dagster.kafka.client_logs import python_client_loggers

TRACE = 5
_context = ContextVar("connector context", default="")
# kafka-python's selector warns of each of its steps that takes 0.1 s, as many do on a busy machine.
_LIBRARIES = {"py4j": logging.WARNING, "kafka": logging.WARNING, "kafka.net.selector": logging.ERROR}
_LEVEL_WORDS = {"WARNING": "WARN", "CRITICAL": "ERROR", "NOTSET": "TRACE"}


def set_context(connector: str, scope: str) -> None:
    """Have the lines of this thread begin with ``[connector|scope]``; the scope is ``worker`` or ``task-N``.

    A thread that runs in a copy of this thread's context (``contextvars.copy_context``) has it as well.
    """
    _context.set(f"[{connector}|{scope}] ")


@contextmanager
def context(connector: str, scope: str) -> Iterator[None]:
    """The same for a block of code."""
    before = _context.get()
    set_context(connector, scope)
    try:
        yield
    finally:
        _context.set(before)


class _Formatter(logging.Formatter):
    """The first line of a message is a line of the log; what follows, such as a stack trace, continues it."""

    hidden = HiddenValues()

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        if record.levelno >= logging.ERROR:
            return self.hidden.in_error(text)
        return self.hidden.in_log(text, detailed=record.levelno < logging.INFO)

    def formatException(self, ei: Any) -> str:  # noqa: N802 (the standard library's name)
        return self.hidden.in_error(super().formatException(ei))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (the standard library's name)
        first, newline, rest = record.message.partition("\n")
        word = _LEVEL_WORDS.get(record.levelname, record.levelname)
        place = f"({_one_word(plain_names(record.name))}:{record.lineno})"
        return f"[{record.asctime}] {word} {_context.get()}{first} {place}{newline}{rest}"

    def usesTime(self) -> bool:  # noqa: N802 (the standard library's name)
        return True


_FORMATTER = _Formatter()


def hide(values: HiddenValues) -> None:
    """Have no line of this process show these values, nor those added to them later."""
    _FORMATTER.hidden = values


def configure(level: int = logging.INFO) -> None:
    """Send all log lines of this process to standard output, in this form, those of uncaught exceptions too."""
    logging.addLevelName(TRACE, "TRACE")
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(_FORMATTER)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    logging.captureWarnings(True)
    for library, least in _LIBRARIES.items():
        logging.getLogger(library).setLevel(least)
    python_client_loggers()
    threading.excepthook = _log_uncaught


def _one_word(logger: str) -> str:
    return logger.replace(" ", "_")


def _log_uncaught(what: threading.ExceptHookArgs) -> None:
    name = what.thread.name if what.thread is not None else "unknown"
    trace = (what.exc_type, what.exc_value or what.exc_type(), what.exc_traceback)
    logging.getLogger(__name__).error("Uncaught exception in thread %s", name, exc_info=trace)
