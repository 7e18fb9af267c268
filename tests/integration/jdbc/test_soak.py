"""Tables that change while a worker is killed again and again: no row is lost, a copy ends as its source."""

import functools
import itertools
import json
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.conftest import Broker
from tests.databases import Database, MariaDB, PostgreSQL
from tests.integration import topics
from tests.integration.jdbc.conftest import SINK, seed_database
from tests.integration.jdbc.test_seed_modes import customers, orders, products
from tests.integration.worker_process import WorkerProcess, write_properties

KILLS = 20
# Of 1,000 inserts and updates each.
STEPS = 500
CHANGES = {
    "orders": ["INSERT INTO orders (name, product) SELECT 'a', seq FROM seq_1_to_400"],
    "products": [
        "INSERT INTO products (name) SELECT 'a' FROM seq_1_to_150",
        "UPDATE products SET name = CONCAT(name, 'x') ORDER BY RAND() LIMIT 150",
    ],
    "customers": [
        "INSERT INTO customers (name, email) SELECT 'a', UUID() FROM seq_1_to_150",
        "UPDATE customers SET name = CONCAT(name, 'x') ORDER BY RAND() LIMIT 150",
    ],
}
KEYS = {"orders": "seq", "products": "seq", "customers": "id"}


def change(database: Database, killed: threading.Event) -> None:
    """Insert and update as an application does while the worker is killed: a transaction for each statement."""
    with database.connected() as connection, connection.cursor() as cursor:
        for step in itertools.count(1):
            for statements in CHANGES.values():
                for statement in statements:
                    cursor.execute(statement)
            if step >= STEPS and killed.is_set():
                return
            time.sleep(0.5)


def sent(broker: Broker, topic: str, key: str) -> dict[int, str]:
    """The last name that a topic tells of each row."""
    count = topics.size(broker.bootstrap_servers, topic)
    found = topics.read_topic(broker.bootstrap_servers, topic, count, timeout=120)
    rows = (json.loads(one.value() or b"{}")["payload"] for one in found)
    return {row[key]: row["name"] for row in rows}


def configs(source: Database, target: Database, prefix: str) -> Mapping[str, Mapping[str, str]]:
    """Sources in the three modes that go on where they were, and a sink that follows one of them."""
    waiting = {"open_transactions_wait": "true", "poll_interval_ms": "100"}
    return {
        "customers": customers(source, prefix, **waiting),
        "products": products(source, prefix, **waiting),
        "orders": orders(source, prefix, **waiting),
        "sink": {
            "connector.class": SINK,
            "topics": f"{prefix}customers",
            "table.name.format": "customers",
            "auto.create": "true",
            "insert.mode": "upsert",
            "pk.mode": "record_value",
            "pk.fields": "id",
            **target.connection_config,
        },
    }


@pytest.mark.soak
@pytest.mark.timeout(3000)
def test_tables_change_while_the_worker_is_killed_twenty_times(
    broker: Broker, mariadb: MariaDB, postgresql: PostgreSQL, topic_prefix: str, tmp_path: Path
) -> None:
    source, target = seed_database(mariadb), postgresql.new_database()
    for name in KEYS:
        topics.create(broker.bootstrap_servers, f"{topic_prefix}{name}", 1)
    files = [
        write_properties(tmp_path / name, {"name": f"{topic_prefix}{name}", **config})
        for name, config in configs(source, target, topic_prefix).items()
    ]
    props = {
        "bootstrap.servers": broker.bootstrap_servers,
        "offset.flush.interval.ms": "300",
        "consumer.session.timeout.ms": "6000",
    }
    worker = WorkerProcess(props, files, tmp_path / "worker")
    killed = threading.Event()
    changing = threading.Thread(target=change, args=(source, killed), daemon=True)
    changing.start()
    for _ in range(KILLS):
        before = topics.size(broker.bootstrap_servers, f"{topic_prefix}customers")
        worker.start()
        worker.wait_ready()
        worker.wait_until(
            lambda: topics.size(broker.bootstrap_servers, f"{topic_prefix}customers") > before,  # noqa: B023
            "go on",
            120,
        )
        worker.kill()
    killed.set()
    changing.join()
    with worker:
        for table, key in KEYS.items():
            wanted = dict(source.query(f"SELECT {key}, name FROM {table}"))
            told = functools.partial(sent, broker, f"{topic_prefix}{table}", key)
            worker.wait_until(lambda: told() == wanted, f"send the last of each row of {table}", 300)  # noqa: B023
        rows = "SELECT id, name, email FROM customers ORDER BY id"
        worker.wait_until(lambda: target.query(rows) == source.query(rows), "write what the source has", 300)
