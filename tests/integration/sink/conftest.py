"""Sinks in this process: topics of the run's broker, and a way to start connectors on them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from connect_dagster.worker.spark.session import Session
from tests.conftest import Broker
from tests.integration.sink.kafka_topics import Topics
from tests.integration.sink.running_sink import RunningSink

StartSink = Callable[..., RunningSink]


@pytest.fixture
def topics(broker: Broker) -> Topics:
    """The run's broker."""
    return Topics(broker.bootstrap_servers)


@pytest.fixture
def start_sink(spark_session: Session, broker: Broker, topic_prefix: str, tmp_path: Path) -> Iterator[StartSink]:
    """Starts a sink `start(config, worker)`, which is stopped with the test."""
    with ExitStack() as running:

        def start(
            config: dict[str, str], worker: dict[str, str] | None = None, bootstrap: str = broker.bootstrap_servers
        ) -> RunningSink:
            sink = RunningSink(spark_session, bootstrap, tmp_path, f"{topic_prefix}sink", config, worker)
            return running.enter_context(sink)

        yield start
