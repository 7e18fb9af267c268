"""Tables of MariaDB that go through Kafka into PostgreSQL: compared row by row, for each converter."""

import datetime as dt
import decimal
import functools
from contextlib import ExitStack
from typing import Any

import pytest

from tests.databases import Database, MariaDB, PostgreSQL
from tests.integration.jdbc.conftest import SINK, SOURCE
from tests.integration.jdbc.sink.conftest import Sinks

COLUMNS = {
    "tiny": ("TINYINT", [None, -128, 127, 0, 1]),
    "small": ("SMALLINT", [None, -32768, 32767, 0, 1]),
    "plain": ("INT", [None, -2147483648, 2147483647, 0, 1]),
    "big": ("BIGINT", [None, -(2**63), 2**63 - 1, 0, 1]),
    "single": ("FLOAT", [None, 0.5, -1.25, 0.0, 1e10]),
    "dbl": ("DOUBLE", [None, 1e-300, -1.7976931348623157e308, 0.1, 3.0]),
    "amount": ("DECIMAL(20,4)", [None, "0.0001", "-9999999999999999.9999", "0.0000", "12.5000"]),
    "word": ("VARCHAR(40)", [None, "", "가나다 😀", "tab\tand\nline\r", "back\\slash \\N 'quote' \"two\""]),
    "long_text": ("TEXT", [None, "", "x" * 3000, "a\x01b", "end"]),
    "data": ("VARBINARY(300)", [None, b"", bytes(range(256)), b"\\", b"\n"]),
    "day": ("DATE", [None, "1970-01-01", "2022-01-21", "1969-12-31", "9999-12-31"]),
    "clock": ("TIME(3)", [None, "00:00:00", "23:59:59.999", "00:44:13.123", "12:00:00"]),
    "moment": ("DATETIME(3)", [None, "1970-01-01", "2022-01-21 00:44:13.123", "1969-12-31 23:59:59.999", "2038-01-20"]),
}
CONVERTERS = {
    "json": "org.apache.kafka.connect.json.JsonConverter",
    "avro": "io.confluent.connect.avro.AvroConverter",
    "protobuf": "io.confluent.connect.protobuf.ProtobufConverter",  # nulls are defaults to it, unless told otherwise
    "json_schema": "io.confluent.connect.json.JsonSchemaConverter",
}


def comparable(value: Any) -> Any:
    """A value as both databases' clients give it."""
    if isinstance(value, dt.timedelta):
        return (dt.datetime.min + value).time()
    if isinstance(value, memoryview):
        return bytes(value)
    return value.normalize() if isinstance(value, decimal.Decimal) else value


def rows(database: Database, table: str) -> list[list[Any]]:
    selected = ", ".join(["id", *COLUMNS])
    try:
        found = database.query(f"SELECT {selected} FROM {table} ORDER BY id")
    except Exception as error:
        if "exist" in str(error):
            return []
        raise
    return [[comparable(value) for value in row] for row in found]


@pytest.mark.parametrize(
    "converter",
    [
        pytest.param(converter, id=name, marks=[] if name == "avro" else pytest.mark.nightly)
        for name, converter in CONVERTERS.items()
    ],
)
def test_a_table_of_all_types(
    sinks: Sinks, mariadb: MariaDB, postgresql: PostgreSQL, schema_registry: str, converter: str
) -> None:
    here, there = mariadb.new_database(), postgresql.new_database()
    definitions = ", ".join(f"{name} {kind}" for name, (kind, _) in COLUMNS.items())
    here.execute(f"CREATE TABLE types (id INT AUTO_INCREMENT PRIMARY KEY, {definitions})")
    with here.connected() as connection, connection.cursor() as cursor:
        places = ", ".join(["%s"] * len(COLUMNS))
        cursor.executemany(
            f"INSERT INTO types ({', '.join(COLUMNS)}) VALUES ({places})",
            list(zip(*(values for _, values in COLUMNS.values()), strict=True)),
        )
    converters = {
        "value.converter": converter,
        "value.converter.schema.registry.url": schema_registry,
        "value.converter.optional.for.nullables": "true",
    }
    source = {
        "connector.class": SOURCE,
        "mode": "incrementing",
        "incrementing.column.name": "id",
        "table.whitelist": "types",
        "catalog.pattern": here.name,
        "topic.prefix": sinks.prefix,
        "poll.interval.ms": "500",
        **here.connection_config,
        **converters,
    }
    sink = {
        "connector.class": SINK,
        "topics": f"{sinks.prefix}types",
        "table.name.format": "types",
        "insert.mode": "upsert",
        "pk.mode": "record_value",
        "pk.fields": "id",
        "auto.create": "true",
        **there.connection_config,
        **converters,
    }
    process = sinks.process
    with ExitStack() as clean:
        for name, config in ((f"{sinks.prefix}from", source), (f"{sinks.prefix}to", sink)):
            assert process.call("PUT", f"/connectors/{name}/config", config).status == 201
            clean.callback(process.call, "DELETE", f"/connectors/{name}")
        expected = rows(here, "types")
        assert len(expected) == 5
        try:
            process.wait_until(functools.partial(_equal, there, expected), "copy the table", 60)
        except AssertionError as error:
            raise AssertionError(f"{rows(there, 'types')}\nis not\n{expected}\n{error}") from error


def _equal(database: Database, expected: list[list[Any]]) -> bool:
    return rows(database, "types") == expected
