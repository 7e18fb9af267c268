"""Both kinds of servers, sessions as a snapshot's readers have them, and one worker for all tests of this folder."""

import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from connect_dagster.connectors.mysql.server.sessions import Connection, SnapshotSession, query
from tests.binlog_servers import BinlogServer, MySQL, User
from tests.conftest import Broker
from tests.databases import Database
from tests.distributed_process import DistributedProcess, group_properties
from tests.integration import topics
from tests.integration.worker_process import WorkerProcess

Connect = Callable[..., Connection]

CONNECTORS = {
    "mysql": "io.debezium.connector.mysql.MySqlConnector",
    "mariadb": "io.debezium.connector.mariadb.MariaDbConnector",
}
_PLAIN = {
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "key.converter.schemas.enable": "false",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}


@dataclass(slots=True)
class Capture:
    """A worker with its broker, and the connectors of one test."""

    process: WorkerProcess
    broker: Broker
    prefix: str = field(default_factory=lambda: f"cdc-{uuid.uuid4().hex[:8]}")

    def config(self, database: Database, **more: str) -> dict[str, str]:
        """A connector for one database; `more` has underscores for dots."""
        server = database.server
        assert isinstance(server, BinlogServer)
        user = server.new_user()
        return {
            "connector.class": CONNECTORS["mysql" if isinstance(server, MySQL) else "mariadb"],
            "database.hostname": "127.0.0.1",
            "database.port": str(server.port),
            "database.user": user.name,
            "database.password": user.password,
            "database.server.id": str(5000 + uuid.uuid4().int % 100_000),
            "database.include.list": database.name,
            "topic.prefix": self.prefix,
            "schema.history.internal.kafka.bootstrap.servers": self.broker.bootstrap_servers,
            "schema.history.internal.kafka.topic": f"{self.prefix}-history",
            **_PLAIN,
            **{key.replace("_", "."): value for key, value in more.items()},
        }

    def create(self, config: Mapping[str, str], *states: str) -> None:
        """Create a connector and wait for its states, RUNNING with one task unless given."""
        answer = self.process.call("PUT", f"/connectors/{self.prefix}/config", {"name": self.prefix, **config})
        assert answer.status == 201, answer.body
        self.process.wait_states(self.prefix, *(states or ("RUNNING", "RUNNING")))

    def change(self, config: Mapping[str, str]) -> None:
        """Give the connector another configuration, and wait until it runs."""
        answer = self.process.call("PUT", f"/connectors/{self.prefix}/config", {"name": self.prefix, **config})
        assert answer.status == 200, answer.body
        self.process.wait_states(self.prefix, "RUNNING", "RUNNING")

    def stopped(self) -> None:
        """Stop the connector."""
        assert self.process.call("PUT", f"/connectors/{self.prefix}/stop").status == 204
        self.process.wait_states(self.prefix, "STOPPED")

    def resumed(self) -> None:
        """Have the connector run again."""
        assert self.process.call("PUT", f"/connectors/{self.prefix}/resume").status == 202
        self.process.wait_states(self.prefix, "RUNNING", "RUNNING")

    def deleted(self) -> None:
        """Delete the connector."""
        assert self.process.call("DELETE", f"/connectors/{self.prefix}").status == 204

    @contextmanager
    def running(self, config: Mapping[str, str], *states: str) -> Iterator[None]:
        """A connector that is created and deleted."""
        self.create(config, *states)
        try:
            yield
        finally:
            self.deleted()

    def records(self, topic: str, count: int) -> list[tuple[Any, Any]]:
        """Keys and values of the first `count` records of a topic."""
        try:
            found = topics.read_topic(self.broker.bootstrap_servers, topic, count, timeout=90)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.process.log()[-6000:]}") from error
        return [(_parsed(one.key()), _parsed(one.value())) for one in found]

    def trace(self) -> str:
        """Trace of whatever failed."""
        status = self.process.call("GET", f"/connectors/{self.prefix}/status").json
        return str(next(part["trace"] for part in (status["connector"], *status["tasks"]) if "trace" in part))

    def offset(self) -> dict[str, Any]:
        """The connector's committed offset."""
        (found,) = self.process.call("GET", f"/connectors/{self.prefix}/offsets").json["offsets"]
        assert found["partition"] == {"server": self.prefix}
        return dict(found["offset"])


def _parsed(content: bytes | str | None) -> Any:
    return None if content is None else json.loads(content)


@pytest.fixture(scope="session")
def cdc_worker(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """A worker for all tests of this folder."""
    folder: Path = tmp_path_factory.mktemp("cdc-worker")
    prefix = f"cdc-{uuid.uuid4().hex[:8]}-"
    with DistributedProcess(group_properties(broker.bootstrap_servers, prefix), folder) as process:
        yield process


@pytest.fixture
def capture(cdc_worker: WorkerProcess, broker: Broker) -> Capture:
    """Connectors of one test."""
    return Capture(cdc_worker, broker)


@pytest.fixture(scope="session", params=["mysql", pytest.param("mariadb_with_log", marks=pytest.mark.nightly)])
def server(request: pytest.FixtureRequest) -> BinlogServer:
    """Each kind of server in turn."""
    found: BinlogServer = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def database(server: BinlogServer) -> Iterator[Database]:
    """An empty database of this test."""
    made = server.new_database()
    yield made
    made.drop()


@pytest.fixture
def connect(server: BinlogServer, database: Database) -> Iterator[Connect]:
    """Open a session in the test's database, of a user with few rights if one is given."""
    opened: list[Connection] = []

    def connection(user: User | None = None) -> Connection:
        made = server.connection_as(user.name, user.password) if user else server.connection(database.name)
        opened.append(made)
        for statement in SnapshotSession().statements():
            query(made, statement)
        return made

    yield connection
    for made in opened:
        if made.open:
            made.close()
