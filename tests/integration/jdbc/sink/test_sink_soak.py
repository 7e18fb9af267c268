"""Sinks whose worker is killed again and again: an upsert ends as what was sent, exactly once has no duplicate."""

import functools
import random
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.conftest import Broker
from tests.databases import Database, MariaDB, PostgreSQL
from tests.integration.jdbc.conftest import SINK
from tests.integration.jdbc.sink.conftest import Records
from tests.integration.topics import create
from tests.integration.worker_process import WorkerProcess, write_properties

KILLS = 20
RECORDS = 500_000
KEYS = 50_000
ROWS = Records({"id": "int32", "n": "int32"}, {"id": "int32"})


def produced(bootstrap: str, topic: str, done: threading.Event) -> None:
    """Send inserts and updates, paced so that the killing goes on meanwhile."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, "queue.buffering.max.messages": 1_000_000})
    for number, (key, value) in enumerate(changes()):
        producer.produce(topic, value, key, partition=number % KEYS % 2)
        if number % 5_000 == 0:
            producer.flush(60)
            done.wait(1.0)
    assert producer.flush(60) == 0


def changes() -> Iterator[tuple[bytes | None, bytes | None]]:
    for number in range(RECORDS):
        yield ROWS.record({"id": number % KEYS, "n": number})


def count(database: Database) -> int:
    """How many rows there are, of a table that may not be there yet."""
    there = "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'soak'"
    if database.query(f"{there} AND table_schema IN ('public', '{database.name}')") == [(0,)]:
        return 0
    ((found,),) = database.query("SELECT COUNT(*) FROM soak")
    return int(found)


def grown(database: Database, before: int) -> bool:
    """Whether rows have come, or all were there."""
    return count(database) > min(before, RECORDS - 1)


@pytest.mark.soak
@pytest.mark.timeout(3000)
def test_killed_twenty_times(
    broker: Broker, mariadb: MariaDB, postgresql: PostgreSQL, topic_prefix: str, tmp_path: Path
) -> None:
    topic = f"{topic_prefix}soak"
    create(broker.bootstrap_servers, topic, 2)
    upserted, inserted = mariadb.new_database(), postgresql.new_database()
    common = {"connector.class": SINK, "topics": topic, "table.name.format": "soak", "auto.create": "true"}
    upsert = {**common, "insert.mode": "upsert", "pk.mode": "record_key", **upserted.connection_config}
    once = {**common, "exactly.once": "true", **inserted.connection_config}
    files = [
        write_properties(tmp_path / f"{name}.properties", {"name": f"{topic_prefix}{name}", **config})
        for name, config in (("upsert", upsert), ("once", once))
    ]
    chance, done = random.Random(5), threading.Event()
    sending = threading.Thread(target=produced, args=(broker.bootstrap_servers, topic, done))
    sending.start()
    try:
        props = {"bootstrap.servers": broker.bootstrap_servers, "consumer.session.timeout.ms": "6000"}
        worker = WorkerProcess(props, files, tmp_path / "worker")
        for _ in range(KILLS):
            before = count(inserted)
            worker.start()
            worker.wait_ready()
            worker.wait_until(functools.partial(grown, inserted, before), "go on", 120)
            done.wait(chance.uniform(0, 3))
            worker.kill()
        with worker:
            sending.join()
            worker.wait_until(lambda: count(inserted) >= RECORDS, "insert all", 600)
            last = [(id, RECORDS - KEYS + id) for id in range(KEYS)]
            worker.wait_until(lambda: count(upserted) == KEYS, "upsert each key", 600)
            worker.wait_until(lambda: upserted.query("SELECT id, n FROM soak ORDER BY id") == last, "upsert all", 600)
            assert inserted.query("SELECT COUNT(*), COUNT(DISTINCT n) FROM soak") == [(RECORDS, RECORDS)]
    finally:
        done.set()
        sending.join()
