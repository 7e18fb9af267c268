"""Each way to write a record, and each place its key may come from, on MariaDB and on PostgreSQL."""

import pytest

from tests.databases import Database
from tests.integration.jdbc.sink.conftest import Records, Sinks, paused, resumed

VALUE = {"id": "int32", "name": "string", "price": "double?"}
PLAIN = Records(VALUE)
KEYED = Records(VALUE, {"id": "int32"})
CREATE = {"auto.create": "true"}


def test_insert_without_a_key(sinks: Sinks, database: Database) -> None:
    with sinks.running(database, CREATE) as sink:
        odd = "tab\tand\nline\r\\ 'quote' 바나나 \\N"
        sink.send(
            PLAIN.record({"id": 1, "name": odd, "price": 1.5}), PLAIN.record({"id": 2, "name": "", "price": None})
        )
        sink.await_rows([(1, odd, 1.5), (2, "", None)])


def test_insert_by_kafkas_coordinates(sinks: Sinks, database: Database) -> None:
    with sinks.running(database, {**CREATE, "pk.mode": "kafka"}) as sink:
        sink.send(
            PLAIN.record({"id": 7, "name": "a", "price": 0.0}), PLAIN.record({"id": 7, "name": "b", "price": 0.0})
        )
        sink.await_rows(
            [(sink.topic, 0, 0, 7, "a", 0.0), (sink.topic, 0, 1, 7, "b", 0.0)], "SELECT * FROM {table} ORDER BY 3"
        )


@pytest.mark.parametrize("mode", ["record_key", "record_value"])
def test_upsert(sinks: Sinks, database: Database, mode: str) -> None:
    config = {**CREATE, "insert.mode": "upsert", "pk.mode": mode, "pk.fields": "id"}
    with sinks.running(database, config) as sink:
        sink.send(
            *(KEYED.record({"id": id, "name": name, "price": 1.0}) for id, name in ((1, "a"), (2, "b"), (1, "c")))
        )
        sink.await_rows([(1, "c", 1.0), (2, "b", 1.0)])
        sink.send(
            KEYED.record({"id": 2, "name": "d", "price": None}), KEYED.record({"id": 3, "name": "e", "price": 2.0})
        )
        sink.await_rows([(1, "c", 1.0), (2, "d", None), (3, "e", 2.0)])


def test_an_upsert_leaves_other_columns_alone(sinks: Sinks, database: Database) -> None:
    config = {"insert.mode": "upsert", "pk.mode": "record_key", "fields.whitelist": "price"}
    with sinks.running(database, config) as sink:
        database.execute(
            f"CREATE TABLE {sink.table} (id INT PRIMARY KEY, name VARCHAR(20), price DOUBLE PRECISION)",
            f"INSERT INTO {sink.table} VALUES (1, 'kept', 1)",
        )
        sink.send(*(KEYED.record({"id": id, "name": "unused", "price": 2.5}) for id in (1, 2)))
        sink.await_rows([(1, "kept", 2.5), (2, None, 2.5)])


def test_update_changes_what_is_there(sinks: Sinks, database: Database) -> None:
    config = {"insert.mode": "update", "pk.mode": "record_key"}
    with sinks.running(database, config) as sink:
        database.execute(
            f"CREATE TABLE {sink.table} (id INT PRIMARY KEY, name VARCHAR(20), price DOUBLE PRECISION)",
            f"INSERT INTO {sink.table} VALUES (1, 'old', 1), (2, 'other', 2)",
        )
        sink.send(*(KEYED.record({"id": id, "name": f"new{id}", "price": None}) for id in (1, 3)))
        sink.await_rows([(1, "new1", None), (2, "other", 2.0)])


def test_a_key_that_is_a_single_value(sinks: Sinks, database: Database) -> None:
    records = Records({"name": "string"}, "string")
    config = {**CREATE, "insert.mode": "upsert", "pk.mode": "record_key", "pk.fields": "code"}
    with sinks.running(database, config) as sink:
        sink.send(*(records.record({"name": name}, key) for key, name in (("a\tb", "x"), ("c", "y"), ("a\tb", "z"))))
        sink.await_rows([("z", "a\tb"), ("y", "c")], "SELECT name, code FROM {table} ORDER BY code")


def test_deletes_in_the_order_of_the_records(sinks: Sinks, database: Database) -> None:
    config = {**CREATE, "insert.mode": "upsert", "pk.mode": "record_key", "delete.enabled": "true"}

    def written(id: int, name: str) -> tuple[bytes | None, bytes | None]:
        return KEYED.record({"id": id, "name": name, "price": None})

    def gone(id: int) -> tuple[bytes | None, bytes | None]:
        return KEYED.record(None, {"id": id})

    with sinks.running(database, config) as sink:
        sink.send(written(1, "a"), written(2, "b"), gone(1), written(3, "c"), gone(3), written(3, "again"), gone(9))
        sink.await_rows([(2, "b", None), (3, "again", None)])
        sink.send(gone(2), written(4, "d"), gone(3))
        sink.await_rows([(4, "d", None)])


def test_schemas_that_take_turns_in_one_key(sinks: Sinks, database: Database) -> None:
    """Each record changes other columns, so none may be left out: as many merges as there are records."""
    turns = [Records({"id": "int32", name: "int32?"}, {"id": "int32"}) for name in ("even", "odd")]
    config = {"insert.mode": "upsert", "pk.mode": "record_key"}
    with sinks.running(database, config) as sink:
        database.execute(f"CREATE TABLE {sink.table} (id INT PRIMARY KEY, even INT, odd INT)")
        paused(sink)
        sink.send(*(turns[n % 2].record({"id": 1, ("even", "odd")[n % 2]: n}) for n in range(40)))
        resumed(sink)
        sink.await_rows([(1, 38, 39)])


def test_tables_by_the_topics_name(sinks: Sinks, database: Database) -> None:
    """One sink, two topics, and a format for the name with a schema in it."""
    schema = "" if database.server.scheme == "mysql" else "public."
    with sinks.running(database, {**CREATE, "table.name.format": f"{schema}kafka_${{topic}}"}) as sink:
        other = f"{sink.topic}_2"
        sink.process.call("PATCH", f"/connectors/{sink.name}/config", {"topics": f"{sink.topic},{other}"})
        sink.send(PLAIN.record({"id": 2, "name": "b", "price": None}), topic=other)
        sink.send(PLAIN.record({"id": 1, "name": "a", "price": None}))
        for topic, row in ((sink.topic, (1, "a", None)), (other, (2, "b", None))):
            quote = "`" if database.server.scheme == "mysql" else '"'
            sink.await_rows([row], f"SELECT * FROM {quote}kafka_{topic}{quote}")


def test_names_without_quotes(sinks: Sinks, database: Database) -> None:
    records = Records({"Id": "int32", "Name": "string"})
    with sinks.running(database, {"quote.sql.identifiers": "never", "table.name.format": "Plain"}) as sink:
        database.execute("CREATE TABLE Plain (id INT, name VARCHAR(9))")
        sink.send(records.record({"Id": 1, "Name": "x"}))
        sink.await_rows([(1, "x")], "SELECT * FROM Plain")
