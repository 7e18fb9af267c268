"""Connectors with faulty plugins, in this process: real worker, broker and Spark."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import cast

import pytest
from confluent_kafka import Message

from connect_dagster.protocol.dead_letter_headers import PREFIX
from connect_dagster.protocol.states import TaskId
from connect_dagster.worker.spark.session import Session
from tests.conftest import Broker
from tests.integration.errors.faulty_plugins import NumbersSource, path
from tests.integration.sink.kafka_topics import Topics
from tests.integration.sink.running_sink import RunningSink
from tests.integration.topics import read_topic

ALL = {"errors.tolerance": "all"}


class Running(RunningSink):
    """One connector of either direction."""

    def count(self, name: str) -> int:
        """A number of the group of errors in the task's metrics."""
        task = self.worker._tasks[TaskId(self.name, 0)]
        return int(task._metrics.errors.read().values[name])

    def await_count(self, name: str, count: int) -> None:
        """Wait for such a number."""
        self.wait(lambda: self.count(name) >= count, f"{name} of {count}")
        assert self.count(name) == count

    def counts(self) -> dict[str, int]:
        """All of these numbers that are not 0, but for the time of the last error."""
        task = self.worker._tasks[TaskId(self.name, 0)]
        values = task._metrics.errors.read().values
        return {name: int(value) for name, value in values.items() if value and name != "last-error-timestamp"}


Start = Callable[..., Running]


@pytest.fixture
def topics(broker: Broker) -> Topics:
    """The run's broker."""
    return Topics(broker.bootstrap_servers)


@pytest.fixture
def start(spark_session: Session, broker: Broker, topic_prefix: str, tmp_path: Path) -> Iterator[Start]:
    """Starts a connector `start(config, worker)`, which is stopped with the test."""
    with ExitStack() as running:

        def begin(config: dict[str, str], worker: dict[str, str] | None = None) -> Running:
            name = f"{topic_prefix}connector"
            return running.enter_context(
                Running(spark_session, broker.bootstrap_servers, tmp_path, name, config, worker)
            )

        yield begin


@pytest.fixture
def start_source(start: Start, topic_prefix: str) -> Start:
    """Starts a source of numbered values into the topic `<prefix>t`."""

    def begin(count: int, config: dict[str, str], worker: dict[str, str] | None = None) -> Running:
        own = {"connector.class": path(NumbersSource), "topic": f"{topic_prefix}t", "count": str(count)}
        return start({**own, **config}, worker)

    return begin


def dead_letters(topic: str, **more: str) -> dict[str, str]:
    """Options of a dead letter queue with context headers."""
    queue = "errors.deadletterqueue"
    return {
        f"{queue}.topic.name": topic,
        f"{queue}.topic.replication.factor": "1",
        f"{queue}.context.headers.enable": "true",
        **more,
    }


def transform(of: type, **options: str) -> dict[str, str]:
    """Options of a chain with one transform."""
    given = {f"transforms.faulty.{name}": value for name, value in options.items()}
    return {"transforms": "faulty", "transforms.faulty.type": path(of), **given}


def read(topics: Topics, topic: str, count: int) -> list[Message]:
    """Records of a topic."""
    return read_topic(topics.bootstrap, topic, count)


def values(topics: Topics, topic: str, count: int) -> list[str]:
    """Their values."""
    return [(one.value() or b"null").decode() for one in read(topics, topic, count)]


def header_list(message: Message) -> list[tuple[str, bytes | None]]:
    """Headers in their order; the client takes a dictionary too, but always gives a list."""
    return cast("list[tuple[str, bytes | None]]", message.headers() or [])


def headers(message: Message) -> dict[str, str]:
    """What a dead letter tells, without the prefix of its headers."""
    return {
        name.removeprefix(PREFIX): (value or b"null").decode()
        for name, value in header_list(message)
        if name.startswith(PREFIX)
    }
