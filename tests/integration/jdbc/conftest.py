"""One worker of a cluster for the JDBC tests, and the seed's database."""

import json
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from tests.conftest import Broker
from tests.databases import PASSWORD, USER, Database, MariaDB
from tests.distributed_process import DistributedProcess, group_properties
from tests.integration import topics
from tests.integration.worker_process import WorkerProcess

SOURCE = "io.confluent.connect.jdbc.JdbcSourceConnector"
SINK = "io.confluent.connect.jdbc.JdbcSinkConnector"

TABLES = {
    "customers": """CREATE TABLE customers (
        id INTEGER NOT NULL AUTO_INCREMENT PRIMARY KEY,
        name VARCHAR(255) NOT NULL,
        email VARCHAR(255) NOT NULL UNIQUE KEY,
        created DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
        modified TIMESTAMP DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP)""",
    "products": """CREATE TABLE products (
        seq INTEGER NOT NULL AUTO_INCREMENT PRIMARY KEY,
        name VARCHAR(255) NOT NULL,
        created DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
        modified TIMESTAMP DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP)""",
    "orders": """CREATE TABLE orders (
        seq INTEGER NOT NULL AUTO_INCREMENT PRIMARY KEY,
        name VARCHAR(255) NOT NULL,
        product VARCHAR(255) NOT NULL)""",
    "bulk_tab": "CREATE TABLE bulk_tab (name VARCHAR(255), log VARCHAR(255))",
}
"""The seed's tables, as it prints them."""


def seed_database(server: MariaDB, name: str = "kafkadb") -> Database:
    """An empty database with the seed's tables."""
    database = server.new_database(name)
    database.execute(*TABLES.values())
    return database


@pytest.fixture
def kafkadb(mariadb: MariaDB) -> Database:
    """The seed's database, empty."""
    return seed_database(mariadb)


@dataclass(frozen=True, slots=True)
class JdbcWorker:
    """A running worker, and its broker."""

    process: WorkerProcess
    broker: Broker
    offsets_topic: str

    def create(self, name: str, config: Mapping[str, str], *states: str) -> None:
        """Create a connector and wait for its states, RUNNING with one task unless given."""
        answer = self.process.call("PUT", f"/connectors/{name}/config", {"name": name, **config})
        assert answer.status == 201, answer.body
        self.process.wait_states(name, *(states or ("RUNNING", "RUNNING")))

    @contextmanager
    def running(self, name: str, config: Mapping[str, str], *states: str) -> Iterator[None]:
        """A connector that is created and deleted."""
        self.create(name, config, *states)
        yield
        assert self.process.call("DELETE", f"/connectors/{name}").status == 204

    def values(self, topic: str, count: int) -> list[str]:
        """Values of the first `count` records of a topic."""
        try:
            return topics.values(self.broker.bootstrap_servers, topic, count, timeout=40)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.process.log()[-6000:]}") from error

    def timestamps(self, topic: str, count: int) -> list[int]:
        """When the first `count` records of a topic were sent, in milliseconds."""
        return [one.timestamp()[1] for one in topics.read_topic(self.broker.bootstrap_servers, topic, count)]

    def topics(self) -> set[str]:
        """The names of all topics."""
        return set(AdminClient({"bootstrap.servers": self.broker.bootstrap_servers}).list_topics(timeout=20).topics)

    def size(self, topic: str) -> int:
        """How many records a topic has had."""
        return topics.size(self.broker.bootstrap_servers, topic)

    def offsets(self, name: str) -> list[dict[str, Any]]:
        """What `GET …/offsets` answers."""
        return list(self.process.call("GET", f"/connectors/{name}/offsets").json["offsets"])

    def wait_offset(self, name: str, offset: Mapping[str, Any]) -> None:
        """Wait until the one offset of a connector is this."""
        self.process.wait_until(
            lambda: [one["offset"] for one in self.offsets(name)] == [offset], f"commit {offset} of {name}", 30
        )

    def trace(self, name: str) -> str:
        """Trace of whatever failed first of a connector."""
        status = self.process.call("GET", f"/connectors/{name}/status").json
        return str(next(part["trace"] for part in (status["connector"], *status["tasks"]) if "trace" in part))

    def log_of(self, name: str) -> list[str]:
        """Lines of the worker's log that belong to a connector."""
        return [line for line in self.process.log().splitlines() if f"[{name}|" in line]

    def statements(self, name: str) -> list[str]:
        """Statements that the log says it uses."""
        told = "Begin using SQL query: "
        return [line.partition(told)[2].rpartition(" (")[0] for line in self.log_of(name) if told in line]

    def offset_records(self, name: str) -> list[tuple[int, bytes, bytes | None]]:
        """Partition, key and value of each record in the offsets topic that belongs to a connector."""
        count = topics.size(self.broker.bootstrap_servers, self.offsets_topic)
        found = topics.read_topic(self.broker.bootstrap_servers, self.offsets_topic, count)
        mine = [one for one in found if json.loads(one.key() or b"[]")[0] == name]
        return [(one.partition() or 0, one.key() or b"", one.value()) for one in mine]

    def stopped(self, name: str) -> None:
        """Stop a connector."""
        assert self.process.call("PUT", f"/connectors/{name}/stop").status == 204
        self.process.wait_states(name, "STOPPED")

    def resumed(self, name: str, *states: str) -> None:
        """Have a connector that was stopped run again."""
        assert self.process.call("PUT", f"/connectors/{name}/resume").status == 202
        self.process.wait_states(name, *(states or ("RUNNING", "RUNNING")))


def source(database: Database, mode: str, prefix: str, **more: str) -> dict[str, str]:
    """A source's configuration as the seed writes them; `more` has underscores for dots."""
    return {
        "connector.class": SOURCE,
        "tasks.max": "10",
        "connection.url": f"{database.jdbc_url}?user={USER}&password={PASSWORD}",
        "mode": mode,
        "topic.prefix": prefix,
        "poll.interval.ms": "500",
        **{key.replace("_", "."): value for key, value in more.items()},
    }


@pytest.fixture(scope="session")
def worker(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JdbcWorker]:
    """A worker for all tests of this folder."""
    folder: Path = tmp_path_factory.mktemp("jdbc-worker")
    prefix = f"jdbc-{uuid.uuid4().hex[:8]}-"
    with DistributedProcess(group_properties(broker.bootstrap_servers, prefix), folder) as process:
        yield JdbcWorker(process, broker, f"{prefix}offsets")
