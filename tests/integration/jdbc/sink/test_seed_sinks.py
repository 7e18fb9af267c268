"""The seed's five sinks into PostgreSQL, with Avro and a registry: tables that follow those of MariaDB."""

import functools
import random
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.databases import Database, MariaDB, PostgreSQL
from tests.integration.jdbc.conftest import SINK, source
from tests.integration.jdbc.sink.conftest import Records, Sinks

COLUMNS: Mapping[str, Mapping[str, str]] = {
    "boards": {"title": "VARCHAR(255) NOT NULL", "body": "VARCHAR(255)"},
    "order_items": {"product_id": "INT NOT NULL", "quantity": "INT NOT NULL", "unit_price": "DOUBLE NOT NULL"},
    "products": {"name": "VARCHAR(255) NOT NULL", "price": "DOUBLE NOT NULL"},
    "customers": {"name": "VARCHAR(255) NOT NULL", "email": "VARCHAR(255) NOT NULL"},
    "orders": {"customer_id": "BIGINT NOT NULL", "paid": "BOOLEAN NOT NULL"},
}
MODIFIED = "modified TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3)"
SAMPLES = {"INT": "{number}", "BIGINT": "1099511627776 + {number}", "DOUBLE": "{number} / 8", "BOOLEAN": "{number} % 2"}
AVRO = "io.confluent.connect.avro.AvroConverter"


def ddl(table: str) -> str:
    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS[table].items())
    return f"CREATE TABLE {table} (id BIGINT NOT NULL PRIMARY KEY, {columns}, {MODIFIED})"


def changes(database: Database, table: str, count: int) -> Iterator[str]:
    """Yield random inserts, updates and deletes of rows that are there now: a scan has seen these."""
    chance = random.Random(f"{table} {count}")
    seen = {id for (id,) in database.query(f"SELECT id FROM {table}")}
    there = {*seen}
    for _ in range(count):
        id = chance.randrange(count // 3)
        values = {name: sample(kind, chance) for name, kind in COLUMNS[table].items()}
        if id not in there:
            there.add(id)
            yield f"INSERT INTO {table} (id, {', '.join(values)}) VALUES ({id}, {', '.join(values.values())})"
        elif id in seen and chance.random() < 0.3:
            there.remove(id)
            yield f"DELETE FROM {table} WHERE id = {id}"
        else:
            assigned = ", ".join(f"{name} = {value}" for name, value in values.items())
            yield f"UPDATE {table} SET {assigned} WHERE id = {id}"


def sample(kind: str, chance: random.Random) -> str:
    """Return a random value as SQL."""
    number, plain = chance.randrange(1000), kind.removesuffix(" NOT NULL")
    if plain in SAMPLES:
        return SAMPLES[plain].format(number=number)
    return "NULL" if plain == kind and chance.random() < 0.5 else f"'text {number}'"


def converters(registry: str) -> dict[str, str]:
    return {
        "key.converter": AVRO,
        "key.converter.schema.registry.url": registry,
        "value.converter": AVRO,
        "value.converter.schema.registry.url": registry,
    }


@pytest.mark.nightly
def test_s5_29_five_sinks_follow_their_source_tables(
    sinks: Sinks, mariadb: MariaDB, postgresql: PostgreSQL, schema_registry: str, tmp_path: Path
) -> None:
    tables, process = mariadb.new_database("ops"), sinks.process
    copies = postgresql.new_database()
    tables.execute(*(ddl(name) for name in COLUMNS))
    ops = {
        **source(tables, "timestamp", f"{sinks.prefix}mysqlavro-ops-", timestamp_column_name="modified"),
        **converters(schema_registry),
        "table.whitelist": ",".join(COLUMNS),
        "tasks.max": "1",
        # Rows of the same millisecond are read together.
        "timestamp.delay.interval.ms": "200",
        "delete.scan.interval.ms": "4000",
        "delete.scan.location": str(tmp_path),
    }
    connectors = {f"{sinks.prefix}mysqlavro-ops": ops}
    for name in COLUMNS:
        connectors[f"postgres_jdbc_ops_sink_{name}_avro_01"] = {
            "connector.class": SINK,
            "tasks.max": "1",
            "topics": f"{sinks.prefix}mysqlavro-ops-{name}",
            **converters(schema_registry),
            "transforms": "table",
            "transforms.table.type": "org.apache.kafka.connect.transforms.RegexRouter",
            "transforms.table.regex": ".*mysqlavro-ops-(.*)",
            "transforms.table.replacement": "$1",
            "insert.mode": "upsert",
            "pk.mode": "record_key",
            "delete.enabled": "true",
            "auto.create": "true",
            **copies.connection_config,
        }
    with ExitStack() as clean:
        for name, config in connectors.items():
            assert process.call("PUT", f"/connectors/{name}/config", config).status == 201
            clean.callback(process.call, "DELETE", f"/connectors/{name}")
        for name in connectors:
            process.wait_states(name, "RUNNING", "RUNNING", timeout=60)
        for count in (30, 300, 200):
            for name in COLUMNS:
                tables.execute(*changes(tables, name, count))
            for name in COLUMNS:
                assert tables.query(f"SELECT COUNT(*) FROM {name}") != [(0,)]
                process.wait_until(functools.partial(follows, copies, tables, name), f"have {name} follow", 120)
                process.wait_until(functools.partial(is_scanned, tmp_path, tables, name), f"scan {name}", 60)


def is_scanned(scans: Path, tables: Database, name: str) -> bool:
    """Return whether the last scan for deletes has seen all rows of a table."""
    folders = [folder for folder in scans.glob("*/*/seen") if unquote(folder.parent.name).split(".")[-1] == name]
    try:
        seen = [id for folder in folders for id in pq.read_table(folder).column("id").to_pylist()]
    except (OSError, pa.ArrowInvalid):  # the next scan is taking its place
        return False
    return sorted(seen) == [id for (id,) in tables.query(f"SELECT id FROM {name} ORDER BY id")]


def follows(copies: Database, tables: Database, name: str) -> bool:
    """Return whether a copy exists and equals its source table."""
    there = f"SELECT COUNT(*) FROM information_schema.tables WHERE table_name = '{name}'"
    if copies.query(there) == [(0,)]:
        return False
    columns = f"id, {', '.join(COLUMNS[name])}, modified"
    rows: tuple[list[tuple[Any, ...]], ...] = tuple(
        database.query(f"SELECT {columns} FROM {name} ORDER BY id") for database in (copies, tables)
    )
    return rows[0] == rows[1]


@pytest.mark.nightly
def test_s5_28_the_other_class_name_of_the_sink(sinks: Sinks, postgresql: PostgreSQL) -> None:
    config = {"connector.class": "io.aiven.connect.jdbc.JdbcSinkConnector", "auto.create": "true"}
    records = Records({"id": "int32"})
    with sinks.running(postgresql.new_database(), config) as sink:
        sink.send(records.record({"id": 7}))
        sink.await_rows([(7,)])
        assert sinks.process.call("GET", f"/connectors/{sink.name}/status").json["type"] == "sink"
