"""A connector goes from Java's worker to ours and back while its tables change: nothing is lost."""

import itertools
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.binlog_servers import REPLICATION_RIGHTS, BinlogServer, MySQL
from tests.conformance.java_cluster import JavaDistributed
from tests.conformance.java_debezium import Debezium, plugin_path
from tests.conftest import Broker
from tests.databases import Database
from tests.distributed_process import DistributedProcess, group_properties
from tests.integration import topics
from tests.integration.worker_process import JSON_CONVERTER
from tests.rest_calls import call

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(900)]

Side = Literal["java", "ours"]
Way = Literal["stopped", "killed"]
HANDS: tuple[Side, ...] = ("java", "ours", "java", "ours")
SECONDS = 180.0
LARGE, FIRST_LARGE = 100_000, 1_000_000
CHUNKED = 20_000
GROUP = {
    "offset_flush_interval_ms": "500",
    "session_timeout_ms": "6000",
    "heartbeat_interval_ms": "500",
    "scheduled_rebalance_max_delay_ms": "0",
}


@dataclass
class Hands:
    """Workers of one group, of which one runs.

    Attributes:
        name: of the connector, and the prefix of its topics.
    """

    broker: str
    name: str
    java: JavaDistributed
    ours: DistributedProcess
    running: Side | None = None

    def take(self, side: Side) -> None:
        """Start a worker, and wait until it runs the connector, if there is one."""
        worker = self.java if side == "java" else self.ours
        worker.start()
        worker.wait_ready()
        self.running = side
        if self.call("GET", "/connectors").json:
            self.await_running()

    def release(self, way: Way) -> None:
        """End the worker that runs."""
        worker = self.java if self.running == "java" else self.ours
        if way == "killed":
            worker.kill()
        else:
            worker.stop(60)
        self.running = None

    def call(self, method: str, target: str, body: Any = None) -> Any:
        """Send a request to the worker that runs."""
        worker = self.java if self.running == "java" else self.ours
        return call(worker.rest_url.rstrip("/"), method, target, body)

    def await_running(self) -> None:
        """Wait until the connector and its task run."""

        def states() -> list[str]:
            answer = self.call("GET", f"/connectors/{self.name}/status")
            if answer.status != 200:
                return []
            status = answer.json
            assert not any(task["state"] == "FAILED" for task in status["tasks"]), status
            return [status["connector"]["state"], *(task["state"] for task in status["tasks"])]

        await_true(lambda: states() == ["RUNNING", "RUNNING"], f"{self.running} does not run the connector")

    def records(self, table: str) -> list[dict[str, Any]]:
        """Return the values of a table's topic, without tombstones."""
        topic = f"{self.name}.{table}"
        if topic not in topics.names(self.broker):
            return []
        found = topics.read_committed(self.broker, topic)
        return [json.loads(value) for one in found if (value := one.value()) is not None]


@dataclass
class Writer:
    """Change rows of a table without a pause; number each change.

    Attributes:
        done: numbers of the changes so far, by row.
    """

    database: Database
    done: Counter[int] = field(default_factory=Counter)
    number: int = 0

    def __post_init__(self) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._error: BaseException | None = None

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Write for as long as the context lasts."""
        self._thread.start()
        try:
            yield
        finally:
            self._stop.set()
            self._thread.join(60)
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            with self.database.connected() as connection, connection.cursor() as cursor:
                while not self._stop.is_set():
                    self.number += 1
                    row = self.number % 97
                    cursor.execute(
                        "INSERT INTO goods VALUES (%s, %s) ON DUPLICATE KEY UPDATE number = VALUES(number)",
                        (row, self.number),
                    )
                    connection.commit()
                    time.sleep(0.005)
        except BaseException as error:
            self._error = error


def await_true(condition: Any, aim: str) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, aim
        time.sleep(0.2)


@pytest.fixture
def hands(broker: Broker, tmp_path: Path) -> Iterator[Hands]:
    name = f"hands-{time.time_ns()}"
    props = group_properties(broker.bootstrap_servers, f"{name}-", **GROUP) | {
        "key.converter": JSON_CONVERTER,
        "value.converter": JSON_CONVERTER,
        "key.converter.schemas.enable": "false",
        "value.converter.schemas.enable": "false",
    }
    plugins = {"plugin.path": str(plugin_path(tmp_path / "plugins"))}
    made = Hands(
        broker.bootstrap_servers,
        name,
        JavaDistributed(props | plugins, tmp_path / "java", heap="768m"),
        DistributedProcess(props, tmp_path / "ours"),
    )
    yield made
    if made.running is not None:
        made.release("stopped")


@pytest.fixture(params=["mysql_database", "mariadb_with_log_database"])
def captured(request: pytest.FixtureRequest) -> Database:
    found: Database = request.getfixturevalue(request.param)
    found.execute(
        "CREATE TABLE goods (id INT PRIMARY KEY, number INT)",
        "CREATE TABLE chunked (id INT PRIMARY KEY, number INT)",
        "CREATE TABLE probes (id INT PRIMARY KEY)",
        "CREATE TABLE signals (id VARCHAR(60) PRIMARY KEY, type VARCHAR(32), data TEXT)",
    )
    return found


def config(hands: Hands, database: Database) -> dict[str, str]:
    server = database.server
    assert isinstance(server, BinlogServer)
    user = server.new_user((*REPLICATION_RIGHTS, "INSERT", "DELETE"))
    return {
        "name": hands.name,
        "connector.class": (Debezium.MYSQL if isinstance(server, MySQL) else Debezium.MARIADB).java_class,
        "database.hostname": "127.0.0.1",
        "database.port": str(server.port),
        "database.user": user.name,
        "database.password": user.password,
        "database.server.id": str(20_000 + time.time_ns() % 100_000),
        "database.include.list": database.name,
        "database.ssl.mode": "preferred" if isinstance(server, MySQL) else "disable",
        "topic.prefix": hands.name,
        "schema.history.internal.kafka.bootstrap.servers": hands.broker,
        "schema.history.internal.kafka.topic": f"{hands.name}-history",
        "signal.data.collection": f"{database.name}.signals",
        "incremental.snapshot.chunk.size": "40",
        "snapshot.mode": "no_data",
    }


def large_transaction(database: Database, start: int) -> None:
    """Insert rows in one transaction, in statements of a thousand."""
    with database.connected() as connection, connection.cursor() as cursor:
        cursor.execute("BEGIN")
        for first in range(start, start + LARGE, 1000):
            cursor.execute("INSERT INTO goods VALUES " + ",".join(f"({row},-1)" for row in range(first, first + 1000)))
        connection.commit()


@pytest.mark.parametrize("way", ["stopped", "killed"])
def test_a_connector_changes_hands_while_tables_change(hands: Hands, captured: Database, way: Way) -> None:
    table = f"{captured.name}.goods"
    hands.take(HANDS[0])
    begin(hands, captured)
    writer = Writer(captured)
    with writer.writing():
        for side in HANDS[1:]:
            await_number(hands, table, writer.number + 50)
            hands.release(way)
            time.sleep(0.5)
            hands.take(side)
        await_number(hands, table, writer.number + 50)
    await_number(hands, table, writer.number)
    seen = [value["after"]["number"] for value in hands.records(table) if value["op"] in "cu"]
    assert set(seen) == set(range(1, writer.number + 1))
    assert in_order(seen), "a change is followed by an older one that was not sent again"
    if way == "stopped":
        assert len(seen) - len(set(seen)) <= len(HANDS)


def await_number(hands: Hands, table: str, number: int) -> None:
    def is_there() -> bool:
        return any(value["after"]["number"] >= number for value in hands.records(table)[-200:] if value["after"])

    await_true(is_there, f"{hands.running} has not sent change {number}")


def in_order(seen: list[int]) -> bool:
    """Return whether each number follows the one before it, or begins a part that is sent again."""
    return all(after == before + 1 or after <= before for before, after in itertools.pairwise(seen))


@pytest.mark.parametrize("hands_over", [("java", "ours"), ("ours", "java")])
def test_inside_of_a_large_transaction(hands: Hands, captured: Database, hands_over: tuple[Side, Side]) -> None:
    table = f"{captured.name}.goods"
    first, second = hands_over
    hands.take(first)
    begin(hands, captured)
    captured.execute("INSERT INTO goods VALUES (1, 1)")
    await_true(lambda: len(sent(hands, table)) == 1, "the first row does not come")
    large_transaction(captured, FIRST_LARGE)
    await_true(lambda: len(sent(hands, table)) > 1_000, "the large transaction does not come")
    hands.release("killed")
    hands.take(second)
    captured.execute("INSERT INTO goods VALUES (2, 2)")
    await_true(lambda: 2 in sent(hands, table), f"{second} does not come to the end of the transaction")
    ids = sent(hands, table)
    assert set(ids) == {1, 2, *range(FIRST_LARGE, FIRST_LARGE + LARGE)}


def sent(hands: Hands, table: str) -> list[int]:
    """Return the keys of the records of new rows."""
    return [value["after"]["id"] for value in hands.records(table) if value["op"] in "cr"]


def begin(hands: Hands, database: Database) -> None:
    """Create the connector, and wait until it reads the log: a task that runs may not have its position yet."""
    assert hands.call("POST", "/connectors", {"name": hands.name, "config": config(hands, database)}).status == 201
    hands.await_running()
    row = itertools.count(-1, -1)

    def is_read() -> bool:
        database.execute(f"INSERT INTO probes VALUES ({next(row)})")
        time.sleep(0.5)
        return bool(hands.records(f"{database.name}.probes"))

    await_true(is_read, f"{hands.running} does not read the log")


@pytest.mark.parametrize("way", ["stopped", "killed"])
@pytest.mark.parametrize("hands_over", [("java", "ours"), ("ours", "java")])
def test_in_the_middle_of_an_incremental_snapshot(
    hands: Hands, captured: Database, hands_over: tuple[Side, Side], way: Way
) -> None:
    table = f"{captured.name}.chunked"
    first, second = hands_over
    captured.execute("INSERT INTO chunked VALUES " + ",".join(f"({row},{row})" for row in range(CHUNKED)))
    hands.take(first)
    begin(hands, captured)
    data = json.dumps({"data-collections": [table], "type": "incremental"})
    captured.execute(
        "CREATE TRIGGER slower BEFORE INSERT ON signals FOR EACH ROW DO SLEEP(0.02)",  # each chunk inserts its marks
        f"INSERT INTO signals VALUES ('ask', 'execute-snapshot', '{data}')",
    )
    await_true(lambda: len(sent(hands, table)) >= 300, "the snapshot does not begin")
    hands.release(way)
    before = len(sent(hands, table))
    captured.execute("DROP TRIGGER slower")
    hands.take(second)
    await_true(lambda: set(sent(hands, table)) == set(range(CHUNKED)), f"{second} does not end the snapshot")
    ids = sent(hands, table)
    assert before < CHUNKED, "the snapshot had ended before"
    assert len(ids) - len(set(ids)) <= before
