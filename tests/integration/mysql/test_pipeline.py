"""From MySQL to PostgreSQL: Debezium's format, flat rows, the JDBC sink; with JSON and with Avro."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.databases import Database, PostgreSQL
from tests.integration.jdbc.conftest import SINK
from tests.integration.mysql.conftest import Capture

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(300)]

JSON = "org.apache.kafka.connect.json.JsonConverter"
AVRO = "io.confluent.connect.avro.AvroConverter"

UNWRAPPED = {
    "schema.name.adjustment.mode": "avro",
    "transforms": "row",
    "transforms.row.type": "io.debezium.transforms.ExtractNewRecordState",
    "transforms.row.delete.tombstone.handling.mode": "delete-to-tombstone",
}


def eventually(found: Callable[[], Any], expected: Any) -> None:
    deadline = time.monotonic() + 120
    while (now := found()) != expected:
        assert time.monotonic() < deadline, now
        time.sleep(0.3)


def rows(copy: Database, columns: str = "*") -> list[tuple[Any, ...]]:
    try:
        return copy.query(f"SELECT {columns} FROM orders ORDER BY id")
    except Exception:  # the sink has not made it yet
        return []


@pytest.mark.parametrize("converter", [JSON, AVRO])
def test_a_table_follows_another(
    capture: Capture, mysql_database: Database, postgresql: PostgreSQL, schema_registry: str, converter: str
) -> None:
    copy = postgresql.new_database()
    mysql_database.execute(
        "CREATE TABLE orders (id INT PRIMARY KEY, name VARCHAR(40), price DECIMAL(10,2) NOT NULL, made DATETIME)",
        "INSERT INTO orders VALUES (1, '별', 12.50, '2024-05-01 10:00:00'), (2, NULL, 0.01, NULL)",
    )
    more = {"schema.registry.url": schema_registry} if converter == AVRO else {"schemas.enable": "true"}
    converters = {
        f"{side}.converter{rest}": value
        for side in ("key", "value")
        for rest, value in (("", converter), *((f".{name}", value) for name, value in more.items()))
    }
    sink = Capture(capture.process, capture.broker)
    sink_config = {
        "connector.class": SINK,
        "topics.regex": rf"{capture.prefix}\.{mysql_database.name}\..*",
        **copy.connection_config,
        "insert.mode": "upsert",
        "pk.mode": "record_key",
        "delete.enabled": "true",
        "auto.create": "true",
        "auto.evolve": "true",
        "transforms": "table",
        "transforms.table.type": "org.apache.kafka.connect.transforms.RegexRouter",
        "transforms.table.regex": r".*\.([^.]+)",
        "transforms.table.replacement": "$1",
        "consumer.override.metadata.max.age.ms": "2000",
        **converters,
    }
    source = capture.config(mysql_database, time_precision_mode="connect") | converters | UNWRAPPED
    for name in ("key.converter.schemas.enable", "value.converter.schemas.enable"):
        if converter == AVRO:
            source.pop(name)
    with capture.running(source), sink.running(sink_config):
        eventually(
            lambda: [(row[0], row[1], str(row[2])) for row in rows(copy)], [(1, "별", "12.50"), (2, None, "0.01")]
        )
        mysql_database.execute(
            "INSERT INTO orders VALUES (3, 'c', 3, NULL)",
            "UPDATE orders SET id = 30, price = 30 WHERE id = 3",
            "DELETE FROM orders WHERE id = 2",
            "ALTER TABLE orders ADD COLUMN city VARCHAR(20)",
            "UPDATE orders SET city = 'Seoul', price = 13 WHERE id = 1",
        )
        eventually(
            lambda: [(row[0], row[1], str(row[2]), row[3]) for row in rows(copy, "id, name, price, city")],
            [(1, "별", "13.00", "Seoul"), (30, "c", "30.00", None)],
        )
