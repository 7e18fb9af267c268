"""Levels of loggers and of connectors, and the names that they go by."""

import importlib
import io
import logging

import pytest

from connect_dagster.worker.logs.context import context
from connect_dagster.worker.logs.java_names import JAVA_NAMES
from connect_dagster.worker.logs.levels import TRACE, Levels


class Loggers:
    """Loggers of their own, with a handler that says what it writes."""

    def __init__(self) -> None:
        root = logging.RootLogger(logging.INFO)
        self.manager = logging.Manager(root)
        root.manager = self.manager
        self.levels = Levels(root)
        self.text = io.StringIO()
        handler = logging.StreamHandler(self.text)
        handler.addFilter(self.levels.passes)
        root.addHandler(handler)
        self.worker, self.library = self.manager.getLogger("worker.task"), self.manager.getLogger("py4j")
        self.library.setLevel(logging.WARNING)

    def said(self) -> list[str]:
        """Return the lines since the last call, of all loggers at all levels, with and without connector."""
        for connector in ("orders", "customers", ""):
            with context(connector, "task-0"):
                for logger in (self.worker, self.library):
                    for level in (logging.DEBUG, logging.INFO, logging.ERROR):
                        logger.log(level, "%s %s %s", connector or "-", logger.name, logging.getLevelName(level)[0])
        lines = self.text.getvalue().splitlines()
        self.text.seek(0)
        self.text.truncate()
        return [line for line in lines if "worker.task" in line] + [line for line in lines if line.endswith("py4j D")]


@pytest.fixture
def loggers() -> Loggers:
    return Loggers()


def lines(connector: str, levels: str) -> list[str]:
    return [f"{connector} worker.task {level}" for level in levels]


def test_a_connector_has_a_level_of_its_own(loggers: Loggers) -> None:
    usual = [*lines("orders", "IE"), *lines("customers", "IE"), *lines("-", "IE")]
    assert loggers.said() == usual
    assert loggers.levels.set("connector:orders", logging.DEBUG) == ["connector:orders"]
    assert loggers.said() == [*lines("orders", "DIE"), *usual[2:]], "neither other connectors nor libraries say more"
    loggers.levels.set("connector:customers", logging.ERROR)
    assert loggers.said() == [*lines("orders", "DIE"), *lines("customers", "E"), *lines("-", "IE")]
    assert loggers.levels.connectors() == {"orders": logging.DEBUG, "customers": logging.ERROR}
    for connector in ("orders", "customers"):
        loggers.levels.set(f"connector:{connector}", logging.INFO)
    assert loggers.said() == usual
    assert loggers.worker.getEffectiveLevel() == logging.INFO


def test_levels_of_loggers_are_kept_under_those_of_connectors(loggers: Loggers) -> None:
    loggers.levels.set("connector:orders", TRACE)
    assert loggers.levels.set("worker", logging.ERROR) == ["worker", "worker.task"]
    assert loggers.levels.effective("worker.task") == logging.ERROR
    assert loggers.said() == [*lines("orders", "DIE"), *lines("customers", "E"), *lines("-", "E")]
    assert loggers.levels.effective("root") == logging.INFO


def test_javas_names_reach_the_loggers_that_say_the_same(loggers: Loggers) -> None:
    name = "org.apache.kafka.connect.runtime.rest"
    below = loggers.manager.getLogger("connect_dagster.rest.server")
    assert loggers.levels.set(name, logging.DEBUG) == ["connect_dagster.rest", "connect_dagster.rest.server", name]
    assert below.isEnabledFor(logging.DEBUG)
    assert not loggers.worker.isEnabledFor(logging.DEBUG)


@pytest.mark.parametrize("name", [name for names in JAVA_NAMES.values() for name in names if "." in name])
def test_javas_names_stand_for_modules(name: str) -> None:
    if name.startswith("connect_dagster"):
        importlib.import_module(name)
