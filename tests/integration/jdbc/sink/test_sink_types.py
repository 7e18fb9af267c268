"""Each type that a record can have, as each database has it: in tables that the sink makes, and in existing ones."""

import base64
import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from tests.databases import Database, PostgreSQL
from tests.integration.jdbc.sink.conftest import Records, Sinks

LOGICAL = "org.apache.kafka.connect.data."


def logical(name: str, physical: str, **parameters: str) -> dict[str, Any]:
    return {
        "type": physical,
        "optional": True,
        "name": LOGICAL + name,
        "version": 1,
        **({"parameters": parameters} if parameters else {}),
    }


def decimal(unscaled: int) -> str:
    size = (unscaled.bit_length() + 8) // 8
    return base64.b64encode(unscaled.to_bytes(size, "big", signed=True)).decode()


TYPES: Mapping[str, Any] = {
    "id": "int32",
    "i8": "int8?",
    "i16": "int16?",
    "i32": "int32?",
    "i64": "int64?",
    "f32": "float?",
    "f64": "double?",
    "flag": "boolean?",
    "name": "string?",
    "data": "bytes?",
    "price": logical("Decimal", "bytes", scale="2"),
    "day": logical("Date", "int32"),
    "clock": logical("Time", "int32"),
    "moment": logical("Timestamp", "int64"),
}
RECORDS = Records(TYPES)
SOME: Mapping[str, Any] = {
    "id": 1,
    "i8": -128,
    "i16": 32767,
    "i32": -2147483648,
    "i64": 9223372036854775807,
    "f32": 1.5,
    "f64": -2.5e-300,
    "flag": True,
    "name": "\\ \t 가나다 😀",
    "data": base64.b64encode(bytes(range(256))).decode(),
    "price": decimal(-12345678901234567890),
    "day": 19013,
    "clock": 2_653_123,
    "moment": 1642725853123,
}
NONE = {"id": 2, **dict.fromkeys(list(TYPES)[1:])}


UPSERT = {"insert.mode": "upsert", "pk.mode": "record_value", "pk.fields": "id"}


@pytest.mark.parametrize("mode", [{}, pytest.param(UPSERT, marks=pytest.mark.nightly)])
def test_all_types(sinks: Sinks, database: Database, mode: dict[str, str]) -> None:
    mysql = database.server.scheme == "mysql"
    clock = dt.timedelta(milliseconds=2_653_123)
    expected = (
        1,
        -128,
        32767,
        -2147483648,
        9223372036854775807,
        1.5,
        -2.5e-300,
        1 if mysql else True,
        SOME["name"],
        bytes(range(256)),
        Decimal("-123456789012345678.90"),
        dt.date(2022, 1, 21),
        clock if mysql else (dt.datetime.min + clock).time(),
        dt.datetime(2022, 1, 21, 0, 44, 13, 123000),
    )
    with sinks.running(database, {"auto.create": "true", **mode}) as sink:
        sink.send(RECORDS.record(SOME), RECORDS.record(NONE))
        sink.await_rows([expected, (2, *[None] * 13)])


def test_points_in_time_in_the_databases_zone(sinks: Sinks, database: Database) -> None:
    records = Records({name: TYPES[name] for name in ("day", "clock", "moment")} | {"counted": "int64"})
    config = {"db.timezone": "Asia/Seoul", "timestamp.fields.list": "counted", "auto.create": "true"}
    with sinks.running(database, config) as sink:
        sink.send(records.record({"day": 19013, "clock": 0, "moment": 1642725853123, "counted": 1642725853123456}))
        expected = ("2022-01-21", "09:00:00", "2022-01-21 09:44:13.123", "2022-01-21 09:44:13.123456")
        kind = "CHAR" if database.server.scheme == "mysql" else "TEXT"
        columns = ", ".join(f"CAST({name} AS {kind})" for name in ("day", "clock", "moment", "counted"))

        def shortened(row: tuple[Any, ...]) -> tuple[Any, ...]:
            return (row[0], row[1].removesuffix(".000"), row[2], row[3])

        query = f"SELECT {columns} FROM {{table}}"
        sink.process.wait_until(lambda: len(sink.rows(query)) == 1, "write the row", 40)
        assert [shortened(row) for row in sink.rows(query)] == [expected]


def test_columns_of_postgresqls_own(sinks: Sinks, postgresql: PostgreSQL) -> None:
    """COPY reads text into whatever type a column has."""
    database = postgresql.new_database()
    items = {"type": "array", "items": {"type": "string"}, "optional": True}
    numbers = {"type": "array", "items": {"type": "int32", "optional": True}, "optional": True}
    records = Records(
        {"id": "string", "body": "string", "at": TYPES["moment"], "tags": items, "numbers": numbers, "n": "string"}
    )
    id = "123e4567-e89b-12d3-a456-426614174000"
    with sinks.running(database, {"db.timezone": "America/New_York", "fields.whitelist": ""}) as sink:
        database.execute(
            f"CREATE TABLE {sink.table} (id UUID PRIMARY KEY, body JSONB, at TIMESTAMPTZ, tags TEXT[], numbers INT[], "
            "n NUMERIC(10,2)) PARTITION BY HASH (id)",
            f"CREATE TABLE part PARTITION OF {sink.table} FOR VALUES WITH (MODULUS 1, REMAINDER 0)",
        )
        sink.process.call("PATCH", f"/connectors/{sink.name}/config", {"table.types": "TABLE,PARTITIONED TABLE"})
        sink.send(
            records.record(
                {
                    "id": id,
                    "body": '{"a": "x\\ty"}',
                    "at": 1642725853123,
                    "tags": ['with "quotes", \\', "tab\t", ""],
                    "numbers": [1, None],
                    "n": "1.5",
                }
            )
        )
        query = "SELECT CAST(id AS TEXT), body->>'a', at AT TIME ZONE 'UTC', tags, numbers, n FROM {table}"
        moment = dt.datetime(2022, 1, 21, 0, 44, 13, 123000)
        sink.await_rows([(id, "x\ty", moment, ['with "quotes", \\', "tab\t", ""], [1, None], Decimal("1.50"))], query)
