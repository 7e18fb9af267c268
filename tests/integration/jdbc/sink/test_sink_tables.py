"""Tables that are missing, or that lack a column: created and amended where that is wanted, else one clear sentence."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.databases import Database
from tests.integration.jdbc.sink.conftest import Records, Sink, Sinks

OLD = Records({"id": "int32", "name": "string"}, {"id": "int32"})
NEW = Records({"id": "int32", "name": "string", "note": "string?"}, {"id": "int32"})
REQUIRED = Records({"id": "int32", "name": "string", "note": "string"}, {"id": "int32"})
DEFAULTED = Records(
    {"id": "int32", "name": "string", "note": {"type": "string", "optional": False, "default": "it's"}}, {"id": "int32"}
)
NOTE_STRUCT = "SinkRecordField{schema=Schema{STRING}, name='note', isPrimaryKey=false}"


def plain_table(sink: Sink, database: Database) -> None:
    database.execute(f"CREATE TABLE {sink.table} (id INT PRIMARY KEY, name VARCHAR(20))")


def shown(sink: Sink, database: Database) -> str:
    """The table as messages name it."""
    place = "public" if sink.database.server.scheme == "postgresql" else database.name
    return f'"{place}"."{sink.topic}"'


def test_a_table_is_created_with_its_key(sinks: Sinks, database: Database) -> None:
    config = {"auto.create": "true", "pk.mode": "record_key", "insert.mode": "upsert"}
    with sinks.running(database, config) as sink:
        sink.send(NEW.record({"id": 1, "name": "a", "note": None}))
        sink.await_rows([(1, "a", None)])
        columns = database.query(
            "SELECT column_name, is_nullable FROM information_schema.columns "
            f"WHERE table_name = '{sink.topic}' ORDER BY ordinal_position"
        )
        assert columns == [("id", "NO"), ("name", "NO"), ("note", "YES")]
        keys = database.query(
            f"SELECT column_name FROM information_schema.key_column_usage WHERE table_name = '{sink.topic}'"
        )
        assert keys == [("id",)]


def test_columns_are_added(sinks: Sinks, database: Database) -> None:
    """By records of three schemas in one batch, in turns."""
    config = {"auto.evolve": "true", "pk.mode": "record_key", "insert.mode": "upsert"}
    with sinks.running(database, config) as sink:
        plain_table(sink, database)
        sink.send(
            OLD.record({"id": 1, "name": "a"}),
            NEW.record({"id": 1, "name": "b", "note": "n"}),
            DEFAULTED.record({"id": 2, "name": "c", "note": "d"}),
            OLD.record({"id": 1, "name": "e"}),
            OLD.record({"id": 3, "name": "f"}),
        )
        sink.await_rows([(1, "e", "n"), (2, "c", "d"), (3, "f", None)])


@pytest.mark.parametrize(
    ("records", "config", "table", "message"),
    [
        (OLD, {}, False, "Table {table} is missing and auto-creation is disabled"),
        (NEW, {}, True, "Table {table} is missing fields ([" + NOTE_STRUCT + "]) and auto-evolution is disabled"),
        (
            REQUIRED,
            {"auto.evolve": "true"},
            True,
            "Cannot ALTER TABLE {table} to add missing field "
            + NOTE_STRUCT
            + ", as the field is not optional and does "
            "not have a default value",
        ),
    ],
    ids=["no table", "no column", "no default"],
)
def test_what_may_not_be_changed(
    sinks: Sinks, database: Database, records: Records, config: Mapping[str, str], table: bool, message: str
) -> None:
    with sinks.running(database, config) as sink:
        if table:
            plain_table(sink, database)
        values: dict[str, Any] = {"id": 1, "name": "a", "note": "n"}
        sink.send(records.record({name: values[name] for name in records.value}))
        sink.await_failure(message.replace("{table}", shown(sink, database)))
