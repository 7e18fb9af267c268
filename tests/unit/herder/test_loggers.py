import logging
import time
from collections.abc import Iterator
from uuid import uuid4

import pytest

from connect_dagster.errors import NotFoundError
from connect_dagster.herder import loggers
from connect_dagster.herder.interface import LoggerLevel
from connect_dagster.worker.logs.levels import TRACE


@pytest.fixture
def name() -> str:
    return f"test{uuid4().hex}"


@pytest.fixture
def all_levels() -> Iterator[None]:
    """Levels of all loggers are put back."""
    before = {one: logging.getLogger(one).level for one in logging.root.manager.loggerDict}
    root = logging.getLogger().level
    yield
    logging.getLogger().setLevel(root)
    for one, number in before.items():
        logging.getLogger(one).setLevel(number)


def test_a_logger_nobody_used_is_not_found(name: str) -> None:
    with pytest.raises(NotFoundError, match=f"Logger {name} not found."):
        loggers.level(name)
    logging.getLogger(f"{name}.child")
    with pytest.raises(NotFoundError):
        loggers.level(name)


def test_a_level_counts_for_all_below_and_for_those_to_come(name: str) -> None:
    child = logging.getLogger(f"{name}.child")
    other = logging.getLogger(f"{name}x")
    child.setLevel(logging.ERROR)
    assert loggers.set_level(name, "debug") == [name, f"{name}.child"]
    assert (child.level, other.level) == (logging.DEBUG, logging.NOTSET)
    assert logging.getLogger(f"{name}.later").isEnabledFor(logging.DEBUG)
    assert loggers.level(f"{name}.later").level == "DEBUG"
    assert loggers.level(f"{name}.later").last_modified is None


def test_only_those_that_change_are_told(name: str) -> None:
    began = time.time_ns() // 1_000_000
    assert loggers.set_level(name, "TRACE") == [name]
    assert loggers.level(name).level == "TRACE"
    modified = loggers.level(name).last_modified
    assert modified is not None
    assert began <= modified <= time.time_ns() // 1_000_000
    assert loggers.set_level(name, "trace") == []
    assert loggers.level(name) == LoggerLevel("TRACE", modified)
    assert logging.getLogger(name).level == TRACE


def test_off_is_silent_and_hidden_from_the_list(name: str) -> None:
    assert loggers.set_level(name, "OFF") == [name]
    assert not logging.getLogger(name).isEnabledFor(logging.CRITICAL)
    assert loggers.level(name).level == "OFF"
    assert name not in loggers.levels()
    assert loggers.set_level(name, "INFO") == [name]
    assert loggers.levels()[name].level == "INFO"


def test_all_lets_everything_through_whatever_the_parent_says(name: str) -> None:
    loggers.set_level(name, "ERROR")
    loggers.set_level(f"{name}.child", "ALL")
    assert logging.getLogger(f"{name}.child").isEnabledFor(2)
    assert loggers.level(f"{name}.child").level == "ALL"


@pytest.mark.parametrize(("number", "word"), [(15, "INFO"), (2, "TRACE"), (35, "ERROR"), (99, "OFF")])
def test_numbers_between_the_words(name: str, number: int, word: str) -> None:
    logging.getLogger(name).setLevel(number)
    assert loggers.level(name).level == word


def test_a_disabled_logger_logs_again(name: str) -> None:
    logging.getLogger(name).disabled = True
    assert loggers.level(name).level == "OFF"
    assert loggers.set_level(name, "INFO") == [name]
    assert logging.getLogger(name).isEnabledFor(logging.INFO)


def test_an_unknown_level_changes_nothing(name: str) -> None:
    with pytest.raises(NotFoundError, match=r"invalid log level 'LOUD'\."):
        loggers.set_level(name, "LOUD")
    with pytest.raises(NotFoundError):
        loggers.level(name)


@pytest.mark.usefixtures("all_levels")
def test_the_root_is_all_loggers(name: str) -> None:
    logging.getLogger(name).setLevel(logging.ERROR)
    loggers.set_level("root", "FATAL")
    changed = loggers.set_level("root", "WARN")
    assert {"root", name} <= set(changed)
    assert changed == sorted(changed)
    assert logging.getLogger().level == logging.getLogger(name).level == logging.WARNING
    assert loggers.levels()["root"].level == "WARN"
