"""Records that have no place in any table, and configurations that cannot be: each in one clear sentence."""

import json
from collections.abc import Mapping

import pytest

from tests.databases import Database, MariaDB, PostgreSQL
from tests.integration.jdbc.conftest import SINK
from tests.integration.jdbc.sink.conftest import Records, Sinks
from tests.integration.worker_process import JSON_CONVERTER

PLAIN = Records({"id": "int32"})
KEYED = Records({"id": "int32"}, {"id": "int32"})
NEEDS_VALUE = (
    "Sink connector '{name}' is configured with 'delete.enabled=false' and 'pk.mode={mode}' and therefore requires "
    "records with a non-null Struct or String value and non-null Struct or String schema, but found record at "
    "(topic='{topic}',partition=0,offset=0,timestamp="
)
NEEDS_KEY = (
    "Sink connector '{name}' is configured with 'delete.enabled=false' and 'pk.mode={mode}' and therefore requires "
    "records with a non-null key and non-null Struct or primitive key schema, but found record at "
    "(topic='{topic}',partition=0,offset=0,timestamp="
)
SCHEMALESS = {"value.converter": JSON_CONVERTER, "value.converter.schemas.enable": "false"}
RECORD_KEY = {"pk.mode": "record_key", "insert.mode": "upsert"}


@pytest.fixture
def database(postgresql: PostgreSQL) -> Database:
    """What is refused here never reaches the database."""
    return postgresql.new_database()


@pytest.mark.parametrize(
    ("record", "config", "head", "tail"),
    [
        ((None, None), {}, NEEDS_VALUE, "with a null value and null value schema."),
        (KEYED.record(None, {"id": 1}), RECORD_KEY, NEEDS_VALUE, "with a null value and null value schema."),
        (
            (None, json.dumps({"id": 1}).encode()),
            SCHEMALESS,
            NEEDS_VALUE,
            "with a HashMap value and null value schema.",
        ),
        (PLAIN.record({"id": 1}), RECORD_KEY, NEEDS_KEY, "with a null key and null key schema."),
    ],
    ids=["tombstone", "tombstone with a key", "schemaless", "no key"],
)
def test_records_without_a_place(
    sinks: Sinks,
    database: Database,
    record: tuple[bytes | None, bytes | None],
    config: Mapping[str, str],
    head: str,
    tail: str,
) -> None:
    with sinks.running(database, {"auto.create": "true", **config}) as sink:
        sink.send(record)
        sink.await_failure(head.format(name=sink.name, topic=sink.topic, mode=config.get("pk.mode", "none")))
        assert tail in sink.trace()


@pytest.mark.parametrize(
    ("records", "config", "message"),
    [
        (KEYED, {"pk.fields": "code", **RECORD_KEY}, "PK mode for table"),
        (PLAIN, {"pk.mode": "kafka", "pk.fields": "a,b"}, "or exactly 3, defined fields are: [a, b]"),
        (PLAIN, {"insert.mode": "upsert"}, "in UPSERT mode requires key field names to be known"),
        (
            Records({"m": {"type": "map", "keys": {"type": "string"}, "values": {"type": "string"}, "optional": True}}),
            {},
            "Unsupported source data type: MAP of field m",
        ),
    ],
    ids=["no such key field", "two of three", "upsert without a key", "a map"],
)
def test_schemas_that_do_not_fit(
    sinks: Sinks, database: Database, records: Records, config: Mapping[str, str], message: str
) -> None:
    with sinks.running(database, {"auto.create": "true", **config}) as sink:
        payload = {name: None if name == "m" else 1 for name in records.value}
        sink.send(records.record(payload))
        sink.await_failure(message)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"insert.mode": "merge"}, "Invalid value merge for configuration insert.mode: Invalid enumerator"),
        ({"delete.enabled": "true"}, "Deletes are only supported for pk.mode record_key"),
        ({"db.timezone": "Mars/Phobos"}, "Invalid value Mars/Phobos for configuration db.timezone"),
        ({"table.types": ""}, "At least one value must be specified"),
        ({"batch.size": "-1"}, "Value must be at least 0"),
    ],
)
def test_what_cannot_be(sinks: Sinks, wrong: Mapping[str, str], text: str) -> None:
    config = {"connector.class": SINK, "topics": "t", "connection.url": "jdbc:postgresql://localhost/x", **wrong}
    answer = sinks.process.call("PUT", "/connectors/never/config", config)
    assert answer.status == 400
    assert text in answer.message


def test_a_wrong_password_is_told_without_it(sinks: Sinks, mariadb: MariaDB) -> None:
    database = mariadb.new_database()
    with sinks.running(database, {"connection.password": "wrong-secret"}) as sink:
        sink.await_failure(f"127.0.0.1:{mariadb.port}")
        assert "kafka" in sink.trace()
        assert "wrong-secret" not in sink.process.log()


def test_a_driver_that_is_missing_is_named(sinks: Sinks, database: Database) -> None:
    with sinks.running(database, {"connection.url": "jdbc:sqlserver://localhost;databaseName=x"}) as sink:
        sink.await_failure("No suitable driver found for jdbc:sqlserver://localhost")
        assert "com.microsoft.sqlserver:mssql-jdbc" in sink.trace()


def test_a_text_is_a_column_of_its_own(sinks: Sinks, database: Database) -> None:
    config = {"auto.create": "true", "value.converter": "org.apache.kafka.connect.storage.StringConverter"}
    with sinks.running(database, config) as sink:
        sink.send((None, b"hello"))
        sink.await_rows([("hello",)], "SELECT record_value FROM {table}")
