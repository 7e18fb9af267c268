"""Where the log lines of a worker's process go."""

from __future__ import annotations

import logging
import sys
import threading

from connect_dagster.isolation.hidden_values import HiddenValues
from connect_dagster.kafka.client_logs import python_client_loggers
from connect_dagster.worker.logs.files import ConnectorFiles, Rotation, file_handler
from connect_dagster.worker.logs.formats import JsonFormatter, TextFormatter
from connect_dagster.worker.logs.levels import LEVELS, LEVELS_OF_PROCESS, TRACE
from connect_dagster.worker.logs.options import FILE, FOLDER, LoggingConfig

_FORMATTERS = {"text": TextFormatter(), "json": JsonFormatter()}


def hide(values: HiddenValues) -> None:
    """Have no line of this process show these values, nor those added to them later."""
    TextFormatter.hidden = values


def configure() -> None:
    """Send all log lines of this process to standard output, in Java's form, those of uncaught exceptions too."""
    logging.addLevelName(TRACE, "TRACE")
    LEVELS_OF_PROCESS.start(logging.INFO)
    _send_to([logging.StreamHandler(sys.stdout)], "text")
    logging.captureWarnings(True)
    python_client_loggers()
    threading.excepthook = _log_uncaught


def apply(config: LoggingConfig) -> None:
    """Log as the options of a worker's file say.

    Raises:
        ConfigError: a file cannot be written.
    """
    rotation = Rotation(config.file_max_bytes, config.file_backups)
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stdout)] if config.console else []
    if config.file is not None:
        handlers.append(file_handler(FILE, config.file, rotation))
    if config.connectors_folder is not None:
        handlers.append(ConnectorFiles(FOLDER, config.connectors_folder, rotation))
    _send_to(handlers, config.format)
    LEVELS_OF_PROCESS.start(LEVELS[config.level.upper()])
    for name, word in config.levels.items():
        LEVELS_OF_PROCESS.set(name, LEVELS[word.upper()])


def _send_to(handlers: list[logging.Handler], form: str) -> None:
    for handler in handlers:
        handler.setFormatter(_FORMATTERS[form.lower()])
        handler.addFilter(LEVELS_OF_PROCESS.passes)
    logging.getLogger().handlers[:] = handlers


def _log_uncaught(what: threading.ExceptHookArgs) -> None:
    name = what.thread.name if what.thread is not None else "unknown"
    trace = (what.exc_type, what.exc_value or what.exc_type(), what.exc_traceback)
    logging.getLogger(__name__).error("Uncaught exception in thread %s", name, exc_info=trace)
