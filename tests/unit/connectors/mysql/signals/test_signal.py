"""Signals: what they ask for, and what is wrong with bad ones."""

import json
from typing import Any

import pytest

from connect_dagster.connectors.mysql.schema.model import Table
from connect_dagster.connectors.mysql.signals.signal import (
    BadSignalError,
    ChangeSchema,
    Condition,
    ExecuteSnapshot,
    LogMessage,
    PauseSnapshot,
    Request,
    ResumeSnapshot,
    SetPosition,
    Signal,
    StopSnapshot,
    request,
)
from connect_dagster.connectors.mysql.table_ids import TableId

UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
CHANGE = {
    "type": "CREATE",
    "id": '"ops"."goods"',
    "table": {
        "defaultCharsetName": "utf8mb4",
        "primaryKeyColumnNames": ["id"],
        "columns": [
            {"name": "id", "jdbcType": 4, "typeName": "INT", "optional": False, "autoIncremented": False, "position": 1}
        ],
    },
}


def asked(kind: str | None, data: Any = None) -> Request:
    text = data if data is None or isinstance(data, str) else json.dumps(data)
    return request(Signal("s1", kind, text))


@pytest.mark.parametrize(
    ("kind", "data", "expected"),
    [
        ("execute-snapshot", {"data-collections": [" ops.goods "]}, ExecuteSnapshot(("ops.goods",))),
        (
            "execute-snapshot",
            {
                "type": "incremental",
                "data-collections": ["ops.goods", r"ops\.o.*"],
                "additional-conditions": [{"data-collection": "ops.goods", "filter": "id > 5"}],
                "surrogate-key": "number",
            },
            ExecuteSnapshot(("ops.goods", r"ops\.o.*"), (Condition("ops.goods", "id > 5"),), "number"),
        ),
        ("execute-snapshot", {"data-collections": ["a.b"], "surrogate-key": " "}, ExecuteSnapshot(("a.b",))),
        ("stop-snapshot", None, StopSnapshot((".*",))),
        ("stop-snapshot", "", StopSnapshot((".*",))),
        ("stop-snapshot", {"data-collections": ["a.b"], "type": "INCREMENTAL"}, StopSnapshot(("a.b",))),
        ("pause-snapshot", {}, PauseSnapshot()),
        ("resume-snapshot", {}, ResumeSnapshot()),
        ("log", {"message": "at {}"}, LogMessage("at {}")),
        (
            "set-binlog-position",
            {"binlog_filename": "binlog.000003", "binlog_position": 4},
            SetPosition("binlog.000003", 4),
        ),
        ("set-binlog-position", {"gtid_set": f"{UUID}:1-7"}, SetPosition(gtids=f"{UUID}:1-7")),
        ("set-binlog-position", {"gtid_set": "0-1-100,1-2-200"}, SetPosition(gtids="0-1-100,1-2-200")),
    ],
)
def test_what_signals_ask_for(kind: str, data: Any, expected: Request) -> None:
    assert asked(kind, data) == expected


def test_changes_of_tables() -> None:
    found = asked("schema-changes", {"database": "ops", "changes": [CHANGE]})
    assert isinstance(found, ChangeSchema)
    (change,) = found.changes
    assert (found.database, change.id) == ("ops", TableId("ops", "goods"))
    assert isinstance(change.table, Table)


TABLES = {"data-collections": ["ops.goods"]}


@pytest.mark.parametrize(
    ("kind", "data", "reason"),
    [
        ("snapshot", {}, "its type is not one of execute-snapshot, stop-snapshot, pause-snapshot"),
        (None, {}, "its type is not one of"),
        ("log", "{", "its data is not JSON"),
        ("log", "[]", "its data is not a JSON object: []"),
        ("log", {}, "its data has no message"),
        ("log", {"message": 5}, "its message is not a text: 5"),
        ("execute-snapshot", None, "its data has no data-collections, which must be a list of tables"),
        ("execute-snapshot", {"data-collections": []}, "its data has no data-collections"),
        ("execute-snapshot", {"data-collections": "ops.goods"}, "its data-collections is not a list: 'ops.goods'"),
        ("execute-snapshot", {"data-collections": [5]}, "has something else than a text: [5]"),
        ("execute-snapshot", {"data-collections": ["ops.(goods"]}, "Invalid value ops.(goods"),
        ("execute-snapshot", {**TABLES, "type": "BLOCKING"}, "blocking snapshots are not supported here"),
        ("execute-snapshot", {**TABLES, "type": "full"}, "its data has the type 'full', which is not INCREMENTAL"),
        ("execute-snapshot", {**TABLES, "surrogate-key": 5}, "its surrogate-key is not a text: 5"),
        ("execute-snapshot", {**TABLES, "additional-conditions": {}}, "its additional-conditions is not a list: {}"),
        ("execute-snapshot", {**TABLES, "additional-conditions": ["x"]}, "lacks data-collection or filter: x"),
        (
            "execute-snapshot",
            {**TABLES, "additional-conditions": [{"data-collection": "ops.goods"}]},
            "lacks data-collection or filter",
        ),
        (
            "execute-snapshot",
            {**TABLES, "additional-conditions": [{"data-collection": "(", "filter": "1"}]},
            "Invalid value (",
        ),
        ("stop-snapshot", {"type": "blocking"}, "blocking snapshots are not supported here"),
        ("schema-changes", {"database": "ops"}, "its data has no changes"),
        ("schema-changes", {"changes": [CHANGE]}, "its data has no database"),
        ("schema-changes", {"database": "ops", "changes": [{}]}, "Not a change of a table"),
        ("set-binlog-position", {}, "must have either gtid_set, or binlog_filename and binlog_position"),
        (
            "set-binlog-position",
            {"gtid_set": "0-1-1", "binlog_filename": "binlog.000003", "binlog_position": 4},
            "must have either",
        ),
        ("set-binlog-position", {"gtid_set": "x"}, "its gtid_set is not one"),
        ("set-binlog-position", {"binlog_filename": "binlog.000003"}, "not 'binlog.000003' and None"),
        ("set-binlog-position", {"binlog_position": 4}, "not None and 4"),
        ("set-binlog-position", {"binlog_filename": "binlog.3", "binlog_position": 4}, "not 'binlog.3' and 4"),
        ("set-binlog-position", {"binlog_filename": "b.000003", "binlog_position": -4}, "not 'b.000003' and -4"),
        ("set-binlog-position", {"binlog_filename": "b.000003", "binlog_position": True}, "is not a number: True"),
    ],
)
def test_bad_signals(kind: str | None, data: Any, reason: str) -> None:
    with pytest.raises(BadSignalError) as raised:
        asked(kind, data)
    assert reason in str(raised.value)
