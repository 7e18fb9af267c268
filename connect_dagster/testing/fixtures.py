"""Fixtures for tests of plugins: Spark, a broker, workers. pytest finds them where connect_dagster is installed.

A process of a test run starts each once, when a test first asks for it. What they need is imported then.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from connect_dagster.embedded.broker import EmbeddedBroker
    from connect_dagster.testing.connect_worker import ConnectWorker


@pytest.fixture(scope="session")
def connect_spark() -> Iterator[SparkSession]:
    """Return a small Spark session."""
    from connect_dagster.testing.contexts import local_spark

    with local_spark() as session:
        yield session


@pytest.fixture(scope="session")
def connect_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    """Start a broker; Java 17 to 23 must be on the path. Its JARs are downloaded the first time."""
    from connect_dagster.embedded.broker import EmbeddedBroker

    with EmbeddedBroker(tmp_path_factory.mktemp("connect-broker"), 0, heap="512m") as broker:
        yield broker


@pytest.fixture(scope="session")
def connect_worker_properties(pytestconfig: pytest.Config) -> Mapping[str, str]:
    """Return further properties of the workers: by default the tests' root folder is their ``plugin.path``.

    Override it in a ``conftest.py`` for others, such as converters.
    """
    return {"plugin.path": str(pytestconfig.rootpath)}


@pytest.fixture(scope="session")
def connect_worker(
    connect_broker: EmbeddedBroker,
    connect_worker_properties: Mapping[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[ConnectWorker]:
    """Start a standalone worker with the broker."""
    from connect_dagster.testing.connect_worker import ConnectWorker

    properties = {"bootstrap.servers": connect_broker.bootstrap_servers, **connect_worker_properties}
    with ConnectWorker(properties, tmp_path_factory.mktemp("connect-worker")) as worker:
        yield worker


@pytest.fixture(scope="session")
def connect_distributed_worker(
    connect_broker: EmbeddedBroker,
    connect_worker_properties: Mapping[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[ConnectWorker]:
    """Start a distributed worker with the broker, alone in its group."""
    from connect_dagster.testing.connect_worker import GROUP, ConnectWorker

    properties = {"bootstrap.servers": connect_broker.bootstrap_servers, **GROUP, **connect_worker_properties}
    with ConnectWorker(properties, tmp_path_factory.mktemp("connect-distributed")) as worker:
        yield worker


@pytest.fixture
def connect_topic() -> str:
    """Return a name for a topic, or a connector, that no other test has."""
    return f"test-{uuid.uuid4().hex[:12]}"
