"""One worker for the tests of this folder, with a connector that obeys orders."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Broker
from tests.integration.worker_process import WorkerProcess
from tests.rest_calls import Answer

PLUGINS = Path(__file__).with_name("plugins")


@dataclass(frozen=True, slots=True)
class ObedientConnector:
    """A connector named after its test, and the folder with its orders."""

    worker: WorkerProcess
    name: str
    folder: Path

    def config(self, **more: str) -> dict[str, str]:
        return {"connector.class": "Obedient", "orders": str(self.folder)} | {
            name.replace("_", "."): value for name, value in more.items()
        }

    def order(self, *orders: str) -> None:
        for order in orders:
            (self.folder / order).touch()

    def revoke(self, *orders: str) -> None:
        for order in orders:
            (self.folder / order).unlink()

    def journal(self) -> list[str]:
        file = self.folder / "journal"
        return file.read_text().splitlines() if file.exists() else []

    def put(self, **more: str) -> Answer:
        return self.call("PUT", "/config", self.config(**more))

    def call(self, method: str, below: str = "", body: Any = None) -> Answer:
        return self.worker.call(method, f"/connectors/{self.name}{below}", body)

    def later(self, method: str, below: str = "", body: Any = None) -> "Future[Answer]":
        """Call without waiting for the answer."""
        answer: Future[Answer] = Future()
        threading.Thread(target=lambda: answer.set_result(self.call(method, below, body)), daemon=True).start()
        return answer

    def wait_states(self, *states: str) -> dict[str, Any]:
        return self.worker.wait_states(self.name, *states, timeout=60)

    def wait_journal(self, line: str, times: int = 1) -> None:
        self.worker.wait_until(lambda: self.journal().count(line) >= times, f"write {line!r}", 60)


@pytest.fixture(scope="package")
def worker(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    props = {"bootstrap.servers": broker.bootstrap_servers, "plugin.path": str(PLUGINS)}
    with WorkerProcess(props, [], tmp_path_factory.mktemp("herder")) as process:
        yield process


@pytest.fixture
def obedient(worker: WorkerProcess, topic_prefix: str, tmp_path: Path) -> Iterator[ObedientConnector]:
    connector = ObedientConnector(worker, f"{topic_prefix}c", tmp_path)
    yield connector
    for order in tmp_path.glob("block-*"):
        order.unlink()
    connector.call("DELETE")
