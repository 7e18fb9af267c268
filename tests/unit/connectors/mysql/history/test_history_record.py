"""Records of the schema history, and the table changes of the records of schema changes."""

import json
from typing import Any

import pytest

from connect_dagster.connectors.mysql.flavor import Flavor
from connect_dagster.connectors.mysql.history.history_record import HistoryRecord
from connect_dagster.connectors.mysql.records.service_records import CHANGE_SCHEMA
from connect_dagster.connectors.mysql.schema.ddl.parser import DdlParser
from connect_dagster.connectors.mysql.schema.model import Tables
from connect_dagster.connectors.mysql.schema.table_changes import TableChange
from connect_dagster.converters.json.envelope import value_to_json
from connect_dagster.errors import DataError

GOODS = (
    "CREATE TABLE goods (id INT(11) UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, price DECIMAL(5,2) DEFAULT 1.5, "
    "kind ENUM('it''s', 'b') CHARACTER SET latin1 NOT NULL DEFAULT 'b')"
)
# As Debezium 3.6.1 writes it.
ENTRY = (
    '{"type":"CREATE","id":"\\"ops\\".\\"goods\\"","table":{"defaultCharsetName":"utf8mb4",'
    '"primaryKeyColumnNames":["id"],"columns":[{"name":"id","jdbcType":4,"typeName":"INT UNSIGNED",'
    '"typeExpression":"INT UNSIGNED","charsetName":null,"length":11,"position":1,"optional":false,'
    '"autoIncremented":true,"generated":true,"comment":null,"hasDefaultValue":false,"enumValues":[]},'
    '{"name":"price","jdbcType":3,"typeName":"DECIMAL","typeExpression":"DECIMAL","charsetName":null,"length":5,'
    '"scale":2,"position":2,"optional":true,"autoIncremented":false,"generated":false,"comment":null,'
    '"hasDefaultValue":true,"defaultValueExpression":"1.5","enumValues":[]},'
    '{"name":"kind","jdbcType":1,"typeName":"ENUM","typeExpression":"ENUM","charsetName":"latin1","length":1,'
    '"position":3,"optional":false,"autoIncremented":false,"generated":false,"comment":null,'
    '"hasDefaultValue":true,"defaultValueExpression":"b","enumValues":["\'it\'\'s\'","\'b\'"]}],"attributes":[]},'
    '"comment":null}'
)
SOURCE, POSITION = {"server": "shop"}, {"ts_sec": 1700000000, "file": "binlog.000003", "pos": 986}


def changes(*statements: str) -> list[TableChange]:
    parser = DdlParser(Tables(), Flavor.MYSQL, server_charset="utf8mb4")
    events = [event for statement in statements for event in parser.parse(statement, "ops")]
    return [change for event in events if (change := TableChange.of(event)) is not None]


def dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def test_a_record_as_debezium_writes_it() -> None:
    created = changes(GOODS)
    record = HistoryRecord(SOURCE, POSITION, 1700000000150, "ops", "CREATE …", tuple(created))
    written = (
        '{"source":{"server":"shop"},"position":{"ts_sec":1700000000,"file":"binlog.000003","pos":986},'
        f'"ts_ms":1700000000150,"databaseName":"ops","ddl":"CREATE …","tableChanges":[{ENTRY}]}}'
    )
    assert record.to_json() == written
    assert HistoryRecord.parse(written.encode()) == record


@pytest.mark.parametrize(
    ("statements", "entries"),
    [
        (["DROP TABLE goods"], ['{"type":"DROP","id":"\\"ops\\".\\"goods\\""}']),
        (['DROP TABLE `a"b`'], ['{"type":"DROP","id":"\\"ops\\".\\"a\\"\\"b\\""}']),
        (["TRUNCATE goods", "CREATE DATABASE d", "RENAME TABLE unknown TO x"], []),
    ],
)
def test_changes_without_a_table(statements: list[str], entries: list[str]) -> None:
    found = changes(*statements)
    assert [dumped(change.history_entry()) for change in found] == entries
    assert [TableChange.parse(json.loads(entry)) for entry in entries] == found


def test_a_rename_has_the_name_before() -> None:
    renamed = changes(GOODS, "RENAME TABLE goods TO shop.items")[1]
    entry = dumped(renamed.history_entry())
    assert entry.startswith(
        '{"type":"ALTER","id":"\\"shop\\".\\"items\\"","previousId":"\\"ops\\".\\"goods\\"","table":{'
    )
    assert TableChange.parse(json.loads(entry)) == renamed


def test_changes_are_applied() -> None:
    tables = Tables()
    for change in changes(GOODS, "RENAME TABLE goods TO items", "CREATE TABLE x (a INT)", "DROP TABLE x"):
        change.apply(tables)
    assert [table.name for table in tables] == ["items"]


def test_records_of_older_versions() -> None:
    assert HistoryRecord.parse('{"source":{"server":"shop"},"position":{"pos":4},"ddl":"USE d"}') == HistoryRecord(
        SOURCE, {"pos": 4}, ddl="USE d"
    )
    entry = json.loads(ENTRY)
    for column in entry["table"]["columns"]:
        del column["hasDefaultValue"], column["enumValues"], column["comment"]
    entry["table"]["columns"][2]["typeExpression"] = "ENUM('it''s','b')"
    del entry["table"]["attributes"], entry["comment"]
    assert TableChange.parse(entry) == changes(GOODS)[0]


def test_comments_and_attributes() -> None:
    entry = json.loads(ENTRY)
    entry["comment"] = "c"
    entry["table"]["attributes"] = [{"name": "a", "value": "b"}]
    change = TableChange.parse(entry)
    assert change.table is not None
    assert (change.table.comment, change.table.attributes) == ("c", (("a", "b"),))
    assert change.history_entry() == entry


def test_the_value_of_a_schema_change_has_all_fields() -> None:
    created, dropped = changes(GOODS, "DROP TABLE goods")
    assert value_to_json(CHANGE_SCHEMA, created.record_value()) == created.record_value()
    assert dropped.record_value() == {"type": "DROP", "id": '"ops"."goods"', "table": None}
    table = created.record_value()["table"]
    assert list(table) == ["defaultCharsetName", "primaryKeyColumnNames", "columns", "comment"]
    assert [(column["scale"], column["enumValues"]) for column in table["columns"]] == [
        (None, None),
        (2, None),
        (None, ["'it''s'", "'b'"]),
    ]


@pytest.mark.parametrize("value", ["", "[]", '{"source":{}}', '{"source":{},"position":null}', b"\xff"])
def test_what_is_not_a_record(value: str | bytes) -> None:
    with pytest.raises(DataError, match="Not a record of a schema history: "):
        HistoryRecord.parse(value)


@pytest.mark.parametrize(
    "entry", ['{"type":"OTHER","id":"\\"a\\""}', '{"type":"DROP","id":"a.b"}', '{"type":"CREATE","id":"\\"a\\""}']
)
def test_what_is_not_a_change(entry: str) -> None:
    with pytest.raises(DataError, match="Not a change of a table in a schema history: "):
        TableChange.parse(json.loads(entry))
