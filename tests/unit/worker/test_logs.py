"""The form of log lines."""

import io
import logging
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterator

import pytest

from connect_dagster.isolation.hidden_values import HiddenValues
from connect_dagster.kafka.client_logs import client_logger
from connect_dagster.worker.logs import output
from connect_dagster.worker.logs.context import context, set_context
from connect_dagster.worker.logs.formats import TextFormatter

LINE = re.compile(
    r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] (INFO|WARN|ERROR|DEBUG|TRACE) "
    r"(\[[^|]+[|](task-\d+|worker)\] )?.+ \(\S+\)$"
)
log = logging.getLogger("some.logger")


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], list[str]]]:
    """Configures logging; answers the lines written since."""
    text = io.StringIO()
    monkeypatch.setattr(sys, "stdout", text)
    root, hook, own = logging.getLogger(), threading.excepthook, logging.getLogger("py4j").level
    handlers, level = root.handlers[:], root.level
    output.configure()
    yield lambda: text.getvalue().splitlines()
    root.handlers[:], threading.excepthook = handlers, hook
    root.setLevel(level)
    logging.getLogger("py4j").setLevel(own)
    logging.captureWarnings(False)


@pytest.mark.parametrize(
    ("level", "word"),
    [(logging.INFO, "INFO"), (logging.WARNING, "WARN"), (logging.ERROR, "ERROR"), (logging.CRITICAL, "ERROR")],
)
def test_s1_20_a_line(written: Callable[[], list[str]], level: int, word: str) -> None:
    log.log(level, "a %s", "message")
    (line,) = written()
    assert LINE.match(line)
    assert re.search(rf"\] {word} a message \(some\.logger:\d+\)$", line)


def test_s1_20_a_line_of_a_task(written: Callable[[], list[str]]) -> None:
    with context("local-file-source", "task-0"):
        log.info("inside")
    log.info("outside")
    inside, outside = written()
    assert LINE.match(inside)
    assert "] INFO [local-file-source|task-0] inside (" in inside
    assert "] INFO outside (" in outside


def test_lines_show_no_secrets(written: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    values = HiddenValues()
    values.add({"${f:/s:password}": "hunter2", "${e:TOPIC}": "orders"}, ["hunter2"])
    monkeypatch.setattr(TextFormatter, "hidden", HiddenValues())
    output.hide(values)
    log.info("orders for hunter2")
    try:
        raise ValueError("hunter2 of orders")
    except ValueError:
        log.exception("no orders")
    info, error, *trace = written()
    assert "] INFO orders for ${f:/s:password} (" in info
    assert "] ERROR no ${e:TOPIC} (" in error
    assert trace[-1] == "ValueError: ${f:/s:password} of ${e:TOPIC}"
    logging.getLogger().setLevel(logging.DEBUG)
    log.debug("shunter2e")
    assert "] DEBUG s${f:/s:password}e (" in written()[-1]


def test_the_context_is_that_of_the_thread(written: Callable[[], list[str]]) -> None:
    def run() -> None:
        set_context("c", "worker")
        log.info("there")

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    log.info("here")
    assert [("[c|worker] " in line) for line in written()] == [True, False]


def test_s1_20_what_follows_the_first_line_continues_it(written: Callable[[], list[str]]) -> None:
    log.error("first\n\tsecond\nthird")
    first, *others = written()
    assert LINE.match(first)
    assert "first (some.logger:" in first
    assert others == ["\tsecond", "third"]


def test_s1_20_a_trace_follows_its_line(written: Callable[[], list[str]]) -> None:
    try:
        raise ValueError("wrong")
    except ValueError:
        log.exception("It failed")
    first, *others = written()
    assert LINE.match(first)
    assert others[0] == "Traceback (most recent call last):"
    assert others[-1] == "ValueError: wrong"


def test_s1_20_an_uncaught_exception_of_a_thread(written: Callable[[], list[str]]) -> None:
    thread = threading.Thread(target=lambda: 1 / 0, name="some-thread")
    thread.start()
    thread.join()
    first, *others = written()
    assert LINE.match(first)
    assert "] ERROR Uncaught exception in thread some-thread (" in first
    assert others[-1] == "ZeroDivisionError: division by zero"


def test_a_warning_of_python(written: Callable[[], list[str]]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(True)
        warnings.warn("old", UserWarning, stacklevel=1)
    assert LINE.match(written()[0])


def test_clients_repeat_nothing_and_raise_no_alarm(written: Callable[[], list[str]]) -> None:
    logger = client_logger()
    for attempt in range(5):
        logger.error("Connect to 10.0.0.1:9092 failed: refused (after %dms)", attempt)
    logger.error("Authentication failed")
    logger.warning("GETPID Failed to acquire idempotence PID from broker b:9092/1: Broker: Coordinator load: retrying")
    lines = written()
    assert [line.partition("] ")[2].split()[0] for line in lines] == ["WARN", "WARN", "INFO"]
    assert all(LINE.match(line) for line in lines)
    assert client_logger().filters == logger.filters


def test_a_broker_that_restarts_is_no_error_of_the_group(written: Callable[[], list[str]]) -> None:
    """Fails at ce718d3: 255 of 296 lines with ERROR in an hour of faults were of this kind, one for each attempt."""
    connections, membership = logging.getLogger("kafka.net.manager"), logging.getLogger("kafka.coordinator.heartbeat")
    for attempt in range(5):
        connections.error("Connection failed: KafkaConnectionError: 127.0.0.1:9092: refused after %d ms", attempt)
    membership.error("Heartbeat failed: authorization error")
    lines = written()
    assert [line.partition("] ")[2].split()[0] for line in lines] == ["WARN", "ERROR"]
