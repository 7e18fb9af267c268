"""A database that is away for a moment, tables that change under way."""

import json
import time

import pytest

from tests.databases import Database, MariaDB
from tests.integration import topics
from tests.integration.jdbc.conftest import JdbcWorker, seed_database
from tests.integration.jdbc.test_seed_modes import ids, orders, payloads


@pytest.mark.nightly
def test_the_database_restarts_in_mid_stream(worker: JdbcWorker, mariadb: MariaDB, topic_prefix: str) -> None:
    database = seed_database(mariadb)
    database.execute("INSERT INTO orders SELECT seq, 'a', 'b' FROM seq_1_to_20000")
    config = orders(database, topic_prefix, batch_max_rows="500", connection_backoff_ms="300")
    with worker.running(topic_prefix, config):
        topics.read_topic(worker.broker.bootstrap_servers, f"{topic_prefix}orders", 1000)
        mariadb.kill()
        time.sleep(1)
        mariadb.start()
        worker.process.wait_until(
            lambda: [one["offset"] for one in worker.offsets(topic_prefix)] == [{"incrementing": 20_000}],
            "read all",
            90,
        )
        worker.process.wait_states(topic_prefix, "RUNNING", "RUNNING")
    assert worker.size(f"{topic_prefix}orders") == 20_000


def test_columns_are_added_widened_and_removed(worker: JdbcWorker, kafkadb: Database, topic_prefix: str) -> None:
    topic = f"{topic_prefix}orders"
    with worker.running(topic_prefix, orders(kafkadb, topic_prefix)):
        kafkadb.execute("INSERT INTO orders VALUES (1, 'a', 'b')")
        assert ids(worker, topic, 1, "seq") == [1]
        kafkadb.execute("ALTER TABLE orders ADD price DECIMAL(9,2)", "INSERT INTO orders VALUES (2, 'a', 'b', 1.5)")
        assert list(payloads(worker, topic, 2)[1]) == ["seq", "name", "product", "price"]
        kafkadb.execute("ALTER TABLE orders MODIFY seq BIGINT, DROP name", "INSERT INTO orders VALUES (3, 'b', 2.5)")
        last = json.loads(worker.values(topic, 3)[2])
    assert last["schema"]["fields"][0]["type"] == "int64"
    assert list(last["payload"]) == ["seq", "product", "price"]


def test_a_dropped_table_is_told(worker: JdbcWorker, kafkadb: Database, topic_prefix: str) -> None:
    with worker.running(topic_prefix, orders(kafkadb, topic_prefix)):
        kafkadb.execute("DROP TABLE orders")
        worker.process.wait_states(topic_prefix, "RUNNING", "FAILED")
        trace = worker.trace(topic_prefix)
    assert "Table 'kafkadb.orders' doesn't exist" in trace
    assert "SQLState: 42S02" in trace
