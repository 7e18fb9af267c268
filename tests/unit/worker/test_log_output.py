"""Where log lines go, and in which form, as the options of a worker's file say."""

import io
import json
import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path

import pytest

from connect_dagster.errors import ConfigError
from connect_dagster.worker.logs import output
from connect_dagster.worker.logs.context import context
from connect_dagster.worker.logs.options import LoggingConfig

log = logging.getLogger("some.logger")
Configure = Callable[[Mapping[str, str]], io.StringIO]


@pytest.fixture
def configured(monkeypatch: pytest.MonkeyPatch) -> Iterator[Configure]:
    """Return a function that takes the options and returns standard output."""
    text, root = io.StringIO(), logging.getLogger()
    handlers, level = root.handlers[:], root.level
    levels = {name: logging.getLogger(name).level for name in ("some", "some.logger", "py4j", "kafka")}

    def configure(options: Mapping[str, str]) -> io.StringIO:
        monkeypatch.setattr(sys, "stdout", text)
        output.apply(LoggingConfig.parse(options))
        return text

    yield configure
    for handler in root.handlers:
        handler.close()
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, before in levels.items():
        logging.getLogger(name).setLevel(before)


def test_lines_in_json(configured: Configure) -> None:
    text = configured({"logging.format": "JSON"})
    with context("orders", "task-3"):
        try:
            raise ValueError("no Köln")
        except ValueError:
            log.exception("It %s\nfor two reasons", "failed")
    log.info("Started")
    first, second = map(json.loads, text.getvalue().splitlines())
    trace = first.pop("trace").splitlines()
    assert (trace[0], trace[-1]) == ("Traceback (most recent call last):", "ValueError: no Köln")
    assert datetime.fromisoformat(first.pop("time")).utcoffset() is not None
    assert first.pop("line") > 0
    assert first == {
        "level": "ERROR",
        "logger": "some.logger",
        "thread": "MainThread",
        "connector": "orders",
        "task": 3,
        "message": "It failed\nfor two reasons",
    }
    assert second.keys() == {"time", "level", "logger", "line", "thread", "message"}


def test_levels_from_the_start(configured: Configure) -> None:
    text = configured({"logging.level": "error", "logging.level.some": "debug"})
    log.debug("said")
    logging.getLogger("another").info("not said")
    (line,) = text.getvalue().splitlines()
    assert "] DEBUG said (some.logger:" in line


def test_a_file_that_is_renamed_when_it_is_full(configured: Configure, tmp_path: Path) -> None:
    file = tmp_path / "connect.log"
    options = {"logging.file": str(file), "logging.file.max.bytes": "300", "logging.file.backups": "2"}
    text = configured({**options, "logging.console": "false"})
    for number in range(20):
        log.info("line %d", number)
    assert text.getvalue() == ""
    assert sorted(one.name for one in tmp_path.iterdir()) == ["connect.log", "connect.log.1", "connect.log.2"]
    assert "line 19 (" in file.read_text()
    assert file.stat().st_size <= 300


def test_a_file_for_each_connector(configured: Configure, tmp_path: Path) -> None:
    text = configured({"logging.connectors.folder": str(tmp_path)})
    log.info("of the worker")
    for connector in ("orders", "../a b"):
        with context(connector, "worker"):
            log.info("of a connector")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["..%2Fa b.log", "orders.log"]
    (line,) = (tmp_path / "orders.log").read_text().splitlines()
    assert "] INFO [orders|worker] of a connector (some.logger:" in line
    assert len(text.getvalue().splitlines()) == 3


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"logging.level": "LOUD"}, "Invalid value LOUD for configuration logging.level: String must be one of"),
        (
            {"logging.level.a.b": "LOUD"},
            "Invalid value LOUD for configuration logging.level.a.b: String must be one of",
        ),
        ({"logging.format": "xml"}, "Invalid value xml for configuration logging.format: String must be one of"),
        ({"logging.file": ""}, "Invalid value  for configuration logging.file: String must be non-empty"),
        (
            {"logging.file": "/no/such/file"},
            "/no/such/file for configuration logging.file: The file cannot be written: No",
        ),
        ({"logging.file": "/"}, "logging.file: The file cannot be written: Is a directory"),
        (
            {"logging.connectors.folder": "/no/such"},
            "/no/such for configuration logging.connectors.folder: The folder does not exist",
        ),
        ({"logging.file.backups": "0"}, "logging.file.backups: Value must be at least 1"),
    ],
)
def test_wrong_options_are_named(configured: Configure, options: Mapping[str, str], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        configured(options)
