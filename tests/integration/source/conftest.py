"""One worker for the tests of this folder, with their plugins on its path."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Broker
from tests.integration import topics
from tests.integration.worker_process import WorkerProcess

PLUGINS = Path(__file__).with_name("plugins")


@dataclass(frozen=True, slots=True)
class SourceWorker:
    """A running worker, and its broker."""

    process: WorkerProcess
    broker: Broker

    def create(self, name: str, config: Mapping[str, str], *states: str) -> None:
        """Create a connector and wait for its states, RUNNING with one task unless given."""
        answer = self.process.call("PUT", f"/connectors/{name}/config", {"name": name, **config})
        assert answer.status == 201, answer.body
        self.process.wait_states(name, *(states or ("RUNNING", "RUNNING")))

    def create_file_source(self, name: str, file: Path, topic: str, **more: str) -> None:
        """Create a FileStreamSource."""
        config = {"connector.class": "FileStreamSource", "file": str(file), "topic": topic}
        self.create(name, {**config, **{key.replace("_", "."): value for key, value in more.items()}})

    def values(self, topic: str, count: int) -> list[str]:
        """Values of the first `count` records of a topic."""
        return topics.values(self.broker.bootstrap_servers, topic, count)

    def size(self, topic: str) -> int:
        """How many records a topic has had."""
        return topics.size(self.broker.bootstrap_servers, topic)

    def offsets(self, name: str) -> list[dict[str, Any]]:
        """What `GET …/offsets` answers."""
        return list(self.process.call("GET", f"/connectors/{name}/offsets").json["offsets"])

    def wait_position(self, name: str, file: Path, position: int) -> None:
        """Wait until this position of a file is committed."""
        wanted = [({"filename": str(file)}, position)]

        def committed() -> bool:
            return [(one["partition"], one["offset"]["position"]) for one in self.offsets(name)] == wanted

        self.process.wait_until(committed, f"commit {position}", 30)

    def trace(self, name: str, task: int = 0) -> str:
        """Trace of a failed task."""
        return str(self.process.call("GET", f"/connectors/{name}/tasks/{task}/status").json["trace"])


@pytest.fixture(scope="session")
def worker(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SourceWorker]:
    props = {
        "bootstrap.servers": broker.bootstrap_servers,
        "plugin.path": str(PLUGINS),
        "key.converter.schemas.enable": "false",
        "config.providers": "secrets",
        "config.providers.secrets.class": "org.apache.kafka.common.config.provider.DirectoryConfigProvider",
    }
    with WorkerProcess(props, [], tmp_path_factory.mktemp("source-worker")) as process:
        yield SourceWorker(process, broker)
