"""Fixtures for all tests: a real broker for the run, one for a single test, names nobody else uses."""

import os
import signal
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from connect_dagster.embedded.broker import EmbeddedBroker
from tests.shared_broker import shared_broker
from tests.spark_session import spark, spark_session

__all__ = ["spark", "spark_session"]  # fixtures that live in a module of their own

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A test run in the background inherits this, and would hand it, and with Dagster's help SIGTERM, to its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@dataclass(frozen=True, slots=True)
class Broker:
    """The run's broker. Shared: use names of your own (`topic_prefix`), and never stop it."""

    bootstrap_servers: str


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """One embedded broker for all processes of the test run."""
    base = tmp_path_factory.getbasetemp()
    run = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with shared_broker(run / "shared-broker") as bootstrap_servers:
        yield Broker(bootstrap_servers)


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[EmbeddedBroker]:
    """A broker of this test alone, which it may kill, restart, pause and resume."""
    with EmbeddedBroker(tmp_path / "own-broker", 0, heap="512m") as own:
        yield own


@pytest.fixture
def topic_prefix(request: pytest.FixtureRequest) -> str:
    """A prefix for topics, groups and connectors that no other test or run uses."""
    return f"{request.node.originalname.removeprefix('test_')[:40]}-{uuid.uuid4().hex[:8]}-".replace("_", "-")
