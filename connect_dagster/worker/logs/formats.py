"""Forms of log lines: as Kafka Connect's log4j writes them, and a JSON object for each.

``[2026-11-20 23:17:40,123] INFO [local-file-source|task-0] message (logger:line)``
"""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any

from connect_dagster.isolation.hidden_values import HiddenValues
from connect_dagster.isolation.plugin_source import plain_names
from connect_dagster.worker.logs.context import current_scope

_LEVEL_WORDS = {"WARNING": "WARN", "CRITICAL": "ERROR", "NOTSET": "TRACE"}


def level_word(record: logging.LogRecord) -> str:
    """Return Java's word for the level of a line."""
    return _LEVEL_WORDS.get(record.levelname, record.levelname)


class TextFormatter(logging.Formatter):
    """The first line of a message is a line of the log; what follows, such as a stack trace, continues it.

    Attributes:
        hidden: values that no line shows.
    """

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
        scope = current_scope()
        about = f"[{scope.connector}|{scope.part}] " if scope.connector else ""
        place = f"({_one_word(plain_names(record.name))}:{record.lineno})"
        return f"[{record.asctime}] {level_word(record)} {about}{first} {place}{newline}{rest}"

    def usesTime(self) -> bool:  # noqa: N802 (the standard library's name)
        return True


class JsonFormatter(TextFormatter):
    """One JSON object in a line, with a stack trace as one of its fields.

    The fields are ``time`` (ISO 8601, UTC), ``level``, ``logger``, ``line``, ``thread`` and ``message``, and, where
    there is one, ``connector``, ``task`` (a number) and ``trace``.
    """

    def format(self, record: logging.LogRecord) -> str:
        hide = self.hidden.in_error if record.levelno >= logging.ERROR else self._in_log(record)
        scope = current_scope()
        fields = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": level_word(record),
            "logger": plain_names(record.name),
            "line": record.lineno,
            "thread": record.threadName,
            "connector": scope.connector or None,
            "task": scope.task,
            "message": hide(record.getMessage()),
            "trace": self.formatException(record.exc_info) if record.exc_info else None,
        }
        return json.dumps({name: value for name, value in fields.items() if value is not None}, ensure_ascii=False)

    def _in_log(self, record: logging.LogRecord) -> Any:
        return lambda text: self.hidden.in_log(text, detailed=record.levelno < logging.INFO)


def _one_word(logger: str) -> str:
    return logger.replace(" ", "_")
