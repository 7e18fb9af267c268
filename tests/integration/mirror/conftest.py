"""Two clusters and a worker on the second, for flows from the first one to it."""

import os
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.conftest import Broker
from tests.distributed_process import DistributedProcess, group_properties
from tests.integration.mirror.clusters import Cluster
from tests.shared_broker import shared_broker

_PACKAGE = "org.apache.kafka.connect.mirror."
SHORT = {
    "refresh.topics.interval.seconds": "1",
    "sync.topic.configs.interval.seconds": "1",
    "sync.topic.acls.interval.seconds": "1",
    "refresh.groups.interval.seconds": "1",
    "emit.checkpoints.interval.seconds": "1",
    "sync.group.offsets.interval.seconds": "1",
    "consumer.poll.timeout.ms": "200",
    # No test has the aliases of another: each flow would copy the heartbeats of all others once more.
    "heartbeats.replication.enabled": "false",
    "replication.factor": "1",
    "offset-syncs.topic.replication.factor": "1",
    "checkpoints.topic.replication.factor": "1",
    "heartbeats.topic.replication.factor": "1",
}
"""Options of all three connectors that suit tests: intervals of a second, one replica."""


@pytest.fixture(scope="session")
def source_bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A second broker for all processes of the test run: the cluster that is mirrored."""
    base = tmp_path_factory.getbasetemp()
    run = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with shared_broker(run / "source-broker") as bootstrap_servers:
        yield bootstrap_servers


@pytest.fixture(scope="session")
def source(source_bootstrap: str) -> Cluster:
    return Cluster(source_bootstrap)


@pytest.fixture(scope="session")
def target(broker: Broker) -> Cluster:
    return Cluster(broker.bootstrap_servers)


@pytest.fixture(scope="module")
def worker(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DistributedProcess]:
    """A worker on the target, for the flows of a module."""
    with DistributedProcess(mirror_properties(broker.bootstrap_servers), tmp_path_factory.mktemp("worker")) as running:
        yield running


def mirror_properties(bootstrap_servers: str, **more: str) -> dict[str, str]:
    """Properties of workers of a new group that leave records as they are; `more` with `_` for the dots."""
    converters = dict.fromkeys(
        ("key.converter", "value.converter", "header.converter"),
        "org.apache.kafka.connect.converters.ByteArrayConverter",
    )
    options = {"offset_flush_interval_ms": "1000", **more}
    return {**group_properties(bootstrap_servers, f"mirror-{uuid.uuid4().hex[:8]}-", **options), **converters}


@dataclass(slots=True)
class Flow:
    """A flow of one test; its alias is in the names of all its topics.

    Attributes:
        alias: of the source.
        source: the cluster that is read.
        target: the cluster that is written.
        worker: runs the connectors.
    """

    alias: str
    source: Cluster
    target: Cluster
    worker: DistributedProcess
    _names: list[str] = field(default_factory=list)

    def config(self, kind: str, options: Mapping[str, str]) -> dict[str, str]:
        """The configuration of a connector, such as of kind `Source`."""
        return {
            "connector.class": f"{_PACKAGE}Mirror{kind}Connector",
            "source.cluster.alias": self.alias,
            "target.cluster.alias": f"target-of-{self.alias}",
            "source.cluster.bootstrap.servers": self.source.bootstrap_servers,
            "target.cluster.bootstrap.servers": self.target.bootstrap_servers,
            **SHORT,
            **options,
        }

    def start(self, kind: str, **options: str) -> str:
        """Create a connector; answers its name. Options have `_` for the dots of their names."""
        config = self.config(kind, {key.replace("_", "."): value for key, value in options.items()})
        return self.create(f"{self.alias}-{kind.lower()}", config)

    def create(self, name: str, config: Mapping[str, str]) -> str:
        """Create a connector of a configuration; answers its name."""
        answer = self.worker.call("PUT", f"/connectors/{name}/config", config)
        assert answer.status == 201, answer.json
        self._names.append(name)
        return name

    def remote(self, topic: str) -> str:
        """The name of a topic on the target."""
        return f"{self.alias}.{topic}"

    def status(self, name: str) -> Any:
        """The status of a connector."""
        return self.worker.call("GET", f"/connectors/{name}/status").json

    def end(self) -> None:
        """Delete the connectors."""
        for name in self._names:
            self.worker.call("DELETE", f"/connectors/{name}")


@pytest.fixture
def flow(source: Cluster, target: Cluster, worker: DistributedProcess) -> Iterator[Flow]:
    made = Flow(f"s{uuid.uuid4().hex[:8]}", source, target, worker)
    yield made
    made.end()
