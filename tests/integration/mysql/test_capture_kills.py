"""A worker that is killed at random while twenty tables and their structure change: the topics have all of it."""

import json
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.binlog_servers import BinlogServer
from tests.conformance.topic_records import messages
from tests.conftest import Broker
from tests.databases import Database
from tests.distributed_process import DistributedProcess, group_properties
from tests.integration import topics
from tests.integration.mysql.conftest import Capture

TABLES = [f"t{number:02}" for number in range(20)]
ROWS = 200
SETTLED_SECONDS, STUCK_SECONDS = 3.0, 120.0
QUICK_GROUP = {
    "offset_flush_interval_ms": "300",
    "session_timeout_ms": "6000",
    "heartbeat_interval_ms": "500",
    "scheduled_rebalance_max_delay_ms": "0",
}


@dataclass
class Load:
    """Random changes of all tables, now and then of their structure.

    Attributes:
        database: whose tables change.
        chance: decides.
        columns: that each table has beside its key.
    """

    database: Database
    chance: random.Random
    columns: dict[str, list[str]] = field(default_factory=lambda: {table: ["a"] for table in TABLES})
    _made: int = 0
    _error: BaseException | None = None

    def create(self) -> None:
        """Make the tables."""
        self.database.execute(*(f"CREATE TABLE {table} (id INT PRIMARY KEY, a VARCHAR(40))" for table in TABLES))

    @contextmanager
    def running(self) -> Iterator[None]:
        """Change tables for as long as the context lasts."""
        ended = threading.Event()
        thread = threading.Thread(target=self._run, args=(ended,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join(120)
        if self._error is not None:
            raise self._error

    def _run(self, ended: threading.Event) -> None:
        try:
            with self.database.connected() as connection, connection.cursor() as cursor:
                while not ended.is_set():
                    if self.chance.random() < 0.02:
                        self._alter(cursor)
                    else:
                        self._transaction(cursor)
                        connection.commit()
                    time.sleep(0.01)
        except BaseException as error:
            self._error = error

    def _transaction(self, cursor: Any) -> None:
        cursor.execute("BEGIN")
        for _ in range(self.chance.choice((1, 1, 1, 5, 50))):
            table = self.chance.choice(TABLES)
            id = self.chance.randrange(ROWS)
            self._made += 1
            column = self.chance.choice(self.columns[table])
            match self.chance.randrange(4):
                case 0:
                    cursor.execute(f"DELETE FROM {table} WHERE id = {id}")
                case 1:
                    cursor.execute(f"UPDATE IGNORE {table} SET id = {self.chance.randrange(ROWS)} WHERE id = {id}")
                case _:
                    cursor.execute(
                        f"INSERT INTO {table} (id, {column}) VALUES ({id}, 'v{self._made}') "
                        f"ON DUPLICATE KEY UPDATE {column} = VALUES({column})"
                    )

    def _alter(self, cursor: Any) -> None:
        table = self.chance.choice(TABLES)
        columns = self.columns[table]
        if len(columns) > 3:
            gone = columns.pop(self.chance.randrange(len(columns)))
            cursor.execute(f"ALTER TABLE {table} DROP COLUMN {gone}")
        else:
            self._made += 1
            columns.append(f"c{self._made}")
            place = self.chance.choice(("FIRST", "AFTER id", ""))
            cursor.execute(f"ALTER TABLE {table} ADD COLUMN c{self._made} VARCHAR({20 + self._made % 300}) {place}")


def rebuilt(broker: str, topic: str) -> dict[int, dict[str, Any]]:
    """Return the rows that the records of a topic leave, by key."""
    rows: dict[int, dict[str, Any]] = {}
    for one in messages(broker, [topic]):
        key, value = json.loads(one.key() or b"")["id"], json.loads(one.value() or b"null")
        if value is None or value["op"] == "d":
            rows.pop(key, None)
        else:
            rows[key] = value["after"]
    return rows


def differences(load: Load, broker: str, prefix: str) -> list[str]:
    """Return in words where the topics leave other rows than the tables have."""
    found = []
    names = topics.names(broker)
    for table in TABLES:
        columns = ["id", *load.columns[table]]
        there = {row[0]: row for row in load.database.query(f"SELECT {', '.join(columns)} FROM {table}")}
        topic = f"{prefix}.{load.database.name}.{table}"
        known = rebuilt(broker, topic) if topic in names else {}
        made = {key: tuple(row.get(column) for column in columns) for key, row in known.items()}
        found += [
            f"{table} {key}: {made.get(key)}, not {there.get(key)}"
            for key in made.keys() | there.keys()
            if made.get(key) != there.get(key)
        ]
    return found


def await_equality(load: Load, broker: str, prefix: str, worker: DistributedProcess) -> None:
    """Wait until the topics leave the rows of the tables, for as long as records come."""
    captured = {f"{prefix}.{load.database.name}.{table}" for table in TABLES}
    count, since = -1, time.monotonic()
    while True:
        found = sum(topics.size(broker, name) for name in captured & topics.names(broker))
        quiet = time.monotonic() - since
        if found != count:
            count, since = found, time.monotonic()
        elif quiet > SETTLED_SECONDS:
            wrong = differences(load, broker, prefix)
            if not wrong:
                return
            assert quiet < STUCK_SECONDS, (len(wrong), wrong[:5], worker.log()[-3000:])
        time.sleep(1)


@pytest.mark.parametrize(
    "kills",
    [
        pytest.param(6, marks=[pytest.mark.nightly, pytest.mark.timeout(600)]),
        pytest.param(100, marks=[pytest.mark.soak, pytest.mark.timeout(7200)]),
    ],
)
@pytest.mark.parametrize("kind", ["mysql_database", "mariadb_with_log_database"])
def test_nothing_is_lost(request: pytest.FixtureRequest, kind: str, kills: int, broker: Broker, tmp_path: Path) -> None:
    database: Database = request.getfixturevalue(kind)
    assert isinstance(database.server, BinlogServer)
    chance = random.Random(kills)
    load = Load(database, chance)
    load.create()
    prefix = f"kills-{time.time_ns()}"
    props = group_properties(broker.bootstrap_servers, f"{prefix}-", **QUICK_GROUP)
    worker = DistributedProcess(props, tmp_path)
    worker.start()
    worker.wait_ready()
    capture = Capture(worker, broker, prefix)
    capture.create(capture.config(database))
    # A snapshot that begins again does not send the deletes of rows that it has sent before.
    worker.wait_log("The binary log is read from", timeout=60)
    with load.running():
        for _ in range(kills):
            time.sleep(chance.uniform(0.5, 6.0))
            worker.kill()
            worker.start()
            worker.wait_ready()
    await_equality(load, broker.bootstrap_servers, prefix, worker)
    assert "Task threw an uncaught" not in worker.log()
    worker.stop()
