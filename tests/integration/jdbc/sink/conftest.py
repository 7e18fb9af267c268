"""Sinks on one worker, which read JSON with a schema, and the databases they write to."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from tests.conftest import Broker
from tests.databases import Database, DatabaseServer
from tests.integration.jdbc.conftest import SINK, JdbcWorker
from tests.integration.topics import create
from tests.integration.worker_process import WorkerProcess

SERVERS = (pytest.param("mariadb", marks=pytest.mark.nightly), "postgresql")
# The topics' names are others to the sink than to Kafka.
ROUTED = {
    "transforms": "route",
    "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms.route.regex": ".*",
    "transforms.route.replacement": "routed",
}
Fields = Mapping[str, str | Mapping[str, Any]]
"""Type of each field; a type that ends with `?` is optional, a mapping is a schema of its own."""


def schema(fields: Fields, *, optional: bool = False) -> dict[str, Any]:
    """A struct's schema."""
    return {
        "type": "struct",
        "optional": optional,
        "fields": [{"field": name, **field_schema(kind)} for name, kind in fields.items()],
    }


def field_schema(kind: str | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(kind, str):
        return {"type": kind.removesuffix("?"), "optional": kind.endswith("?")}
    return dict(kind)


def enveloped(schema: Mapping[str, Any], payload: Any) -> bytes:
    """As Jackson writes it."""
    return json.dumps({"schema": schema, "payload": payload}, ensure_ascii=False, separators=(",", ":")).encode()


@dataclass(frozen=True, slots=True)
class Records:
    """Makes the bytes of records.

    Attributes:
        key: fields of the keys; `None` for none, a single type for a key that is no struct.
        value: fields of the values.
    """

    value: Fields
    key: Fields | str | None = None

    def record(self, payload: Mapping[str, Any] | None, key: Any = None) -> tuple[bytes | None, bytes | None]:
        """Key and value; fields of the key are taken from the value unless given."""
        value = None if payload is None else enveloped(schema(self.value), payload)
        if self.key is None:
            return None, value
        if isinstance(self.key, str):
            return enveloped(field_schema(self.key), key), value
        found = key if key is not None else {name: (payload or {})[name] for name in self.key}
        return enveloped(schema(self.key), found), value


class Server(Protocol):
    """What tests ask of a server."""

    scheme: str


class Target(Protocol):
    """What tests of a sink ask of a database."""

    @property
    def server(self) -> Server:
        """Where it is."""

    @property
    def connection_config(self) -> dict[str, str]:
        """The connection keys of a connector."""

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """The rows of a statement."""


@dataclass(slots=True)
class Sink:
    """One running sink of a topic with the same name as its table."""

    process: WorkerProcess
    bootstrap: str
    name: str
    topic: str
    database: Target

    def send(self, *records: tuple[bytes | None, bytes | None], topic: str = "", partition: int = 0) -> None:
        """Send records, and wait until the broker has them."""
        # In one batch of the log, so that a sink reads all or none; the flush ends the wait.
        producer = Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 1000})
        for key, value in records:
            producer.produce(topic or self.topic, value, key, partition=partition)
        assert producer.flush(30) == 0

    def rows(self, query: str | None = None) -> list[tuple[Any, ...]]:
        """Rows of the table, or of a query in which `{table}` stands for it; none while it is not there."""
        text = (query or "SELECT * FROM {table} ORDER BY 1").format(table=self.table)
        try:
            return self.database.query(text)
        except Exception as error:
            if "exist" in str(error):
                return []
            raise

    @property
    def table(self) -> str:
        """The table's name, quoted."""
        quote = "`" if self.database.server.scheme == "mysql" else '"'
        return f"{quote}{self.topic}{quote}"

    def await_rows(self, expected: Sequence[tuple[Any, ...]], query: str | None = None, seconds: float = 40) -> None:
        """Wait until these are the rows."""
        try:
            self.process.wait_until(lambda: self.rows(query) == list(expected), "write the rows", seconds)
        except AssertionError as error:
            raise AssertionError(f"{self.rows(query)}\nis not\n{list(expected)}\n{self.trace()}\n{error}") from error

    def await_failure(self, text: str, seconds: float = 40) -> None:
        """Wait until the task has failed with a text in its trace."""
        self.process.wait_states(self.name, "RUNNING", "FAILED", timeout=seconds)
        assert text in self.trace()

    def trace(self) -> str:
        """Trace of a failed task."""
        tasks = self.process.call("GET", f"/connectors/{self.name}/status").json.get("tasks", [])
        return "\n".join(task.get("trace", "") for task in tasks)


def paused(sink: Sink) -> None:
    """Have a running sink rest."""
    sink.process.wait_states(sink.name, "RUNNING", "RUNNING")
    assert sink.process.call("PUT", f"/connectors/{sink.name}/pause").status == 202
    sink.process.wait_states(sink.name, "PAUSED", "PAUSED")


def resumed(sink: Sink) -> None:
    """Have it go on."""
    assert sink.process.call("PUT", f"/connectors/{sink.name}/resume").status == 202


@dataclass(frozen=True, slots=True)
class Sinks:
    """Starts sinks on the worker."""

    process: WorkerProcess
    broker: Broker
    prefix: str

    def group_back_to_the_start(self, sink: Sink) -> None:
        """Have the group of a stopped sink begin anew, without asking the connector."""
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap_servers})
        group = f"connect-{sink.name}"
        admin.delete_consumer_groups([group])[group].result(30)

    @contextmanager
    def running(
        self, database: Target, config: Mapping[str, str], partitions: int = 1, name: str = ""
    ) -> Iterator[Sink]:
        """A sink of a topic of its own, gone after the block."""
        name = name or f"{self.prefix}{database.server.scheme}"
        topic = name.replace("-", "_")
        create(self.broker.bootstrap_servers, topic, partitions)
        sink = Sink(self.process, self.broker.bootstrap_servers, name, topic, database)
        whole = {
            "connector.class": SINK,
            "topics": topic,
            "retry.backoff.ms": "500",
            "max.retries": "3",
            **database.connection_config,
            **config,
        }
        answer = self.process.call("PUT", f"/connectors/{name}/config", whole)
        assert answer.status == 201, answer.body
        try:
            yield sink
        finally:
            self.process.call("DELETE", f"/connectors/{name}")


@pytest.fixture
def sinks(worker: JdbcWorker, broker: Broker, topic_prefix: str) -> Sinks:
    """Starts sinks."""
    return Sinks(worker.process, broker, topic_prefix)


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest) -> DatabaseServer:
    """Each of the databases that load in bulk."""
    found: DatabaseServer = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def database(server: DatabaseServer) -> Database:
    """An empty database of this test."""
    return server.new_database()
