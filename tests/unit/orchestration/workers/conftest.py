from collections.abc import Iterator

import pytest
from dagster import DagsterInstance

from connect_dagster.embedded.ports import free_port
from connect_dagster.orchestration import KafkaConnectWorkspace, StandaloneConnectWorkerResource


@pytest.fixture(name="instance")
def instance_fixture() -> Iterator[DagsterInstance]:
    with DagsterInstance.ephemeral() as instance:
        yield instance


@pytest.fixture(name="worker")
def worker_fixture() -> StandaloneConnectWorkerResource:
    """A worker at an address where nobody answers."""
    return StandaloneConnectWorkerResource(workspace=KafkaConnectWorkspace(url=f"http://127.0.0.1:{free_port()}"))
