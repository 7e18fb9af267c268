"""Fixtures for all tests: a real broker for the run, one for a single test, names nobody else uses."""

import os
import signal
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

from connect_dagster.embedded.broker import EmbeddedBroker
from tests.binlog_servers import mariadb_with_log, mariadb_with_log_database, mysql, mysql_database
from tests.databases import (
    mariadb,
    mariadb_database,
    mariadb_explicit_timestamps,
    postgresql,
    postgresql_database,
)
from tests.golden_answers import golden
from tests.registry_server import shared_registry
from tests.shared_broker import shared_broker
from tests.spark_session import spark, spark_session

__all__ = [  # fixtures that live in modules of their own
    "golden",
    "mariadb",
    "mariadb_database",
    "mariadb_explicit_timestamps",
    "mariadb_with_log",
    "mariadb_with_log_database",
    "mysql",
    "mysql_database",
    "postgresql",
    "postgresql_database",
    "spark",
    "spark_session",
]

pytest_plugins = ["tests.flaky"]

# Folders whose files share a worker: they run in one process. Of other folders each file does.
ONE_PROCESS = tuple(f"tests/integration/{folder}" for folder in ("jdbc", "mysql", "rest", "source"))

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A test run in the background inherits this, and would hand it, and with Dagster's help SIGTERM, to its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples in each run, however long they take.
settings.register_profile("any machine", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


class ByModule(LoadScopeScheduling):  # type: ignore[misc]  # without types
    """Runs a test module, or the modules of a folder of `ONE_PROCESS`, in one process."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return next((folder for folder in ONE_PROCESS if file.startswith(f"{folder}/")), file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Replace the scheduler of `--dist loadscope`; the groups of `loadgroup` are lost in pytest 9.2."""
    return ByModule(config, log)


@dataclass(frozen=True, slots=True)
class Broker:
    """The run's broker. Shared: use names of your own (`topic_prefix`), and never stop it."""

    bootstrap_servers: str


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """One embedded broker for all processes of the test run."""
    with shared_broker(_of_run(tmp_path_factory) / "shared-broker") as bootstrap_servers:
        yield Broker(bootstrap_servers)


@pytest.fixture(scope="session")
def schema_registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of one schema registry for all processes of the test run: use subjects of your own."""
    with shared_registry(_of_run(tmp_path_factory) / "shared-registry") as url:
        yield url


def _of_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that all processes of the test run share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[EmbeddedBroker]:
    """A broker of this test alone, which it may kill, restart, pause and resume."""
    with EmbeddedBroker(tmp_path / "own-broker", 0, heap="512m") as own:
        yield own


@pytest.fixture
def topic_prefix(request: pytest.FixtureRequest) -> str:
    """A prefix for topics, groups and connectors that no other test or run uses."""
    return f"{request.node.originalname.removeprefix('test_')[:40]}-{uuid.uuid4().hex[:8]}-".replace("_", "-")
