"""Snapshots in chunks beside a log: what comes, in which order, and what is stored."""

from __future__ import annotations

import json
import logging
from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connect_dagster.connectors.mysql.incremental.keys import NO_KEY, Key
from connect_dagster.connectors.mysql.records.change_records import RecordChoice
from connect_dagster.connectors.mysql.records.envelope import Operation
from connect_dagster.connectors.mysql.schema.model import Column, Table
from connect_dagster.errors import ConnectError, RetriableError
from tests.unit.connectors.mysql.incremental.simulated_server import GOODS, Connector, SimulatedServer, Write

TABLE = "ops.goods"


def executed(server: SimulatedServer, **more: object) -> None:
    server.signal("s1", "execute-snapshot", **{"data-collections": [TABLE], **more})


def begun(rows: int = 7) -> Connector:
    """A connector whose first chunk is read."""
    connector = Connector(SimulatedServer({key: f"v{key}" for key in range(1, rows + 1)}))
    executed(connector.server)
    connector.deliver(1)
    return connector


def progress(connector: Connector) -> list[str]:
    return [one["type"] for one in connector.topics.notices]


def test_all_rows_come_in_chunks() -> None:
    connector = begun()
    assert (connector.context.is_running, connector.topics.reads()) == (True, [])
    connector.finish()
    assert connector.topics.reads() == [1, 2, 3, 4, 5, 6, 7]
    assert progress(connector) == [
        "STARTED",
        "IN_PROGRESS",
        "IN_PROGRESS",
        "IN_PROGRESS",
        "TABLE_SCAN_COMPLETED",
        "COMPLETED",
    ]
    assert {one["id"] for one in connector.topics.notices} == {"s1"}
    assert connector.stored[1] == {}


def test_a_record() -> None:
    connector = begun(1)
    connector.deliver(2)
    (record,) = connector.topics.records
    value = record["value"]
    assert (record["key"], value["op"], value["before"]) == ({"id": 1}, "r", None)
    assert value["after"] == {"id": 1, "name": "v1"}
    source = value["source"]
    assert (source["snapshot"], source["table"], source["row"]) == ("incremental", "goods", 0)
    # The rest is that of the row that ends the window; the time is the present one.
    assert (source["file"], source["server_id"], source["thread"]) == ("log.000001", 5, 12)
    assert source["gtid"].endswith(":2")
    assert source["ts_ms"] == 1_700_000_009_123


def test_offsets_say_how_far_a_snapshot_is() -> None:
    connector = begun()
    assert connector.stored[1] == {
        "incremental_snapshot_primary_key": NO_KEY,
        "incremental_snapshot_maximum_key": integer(7),
        "incremental_snapshot_collections": '[{"incremental_snapshot_collections_id":"ops.goods",'
        '"incremental_snapshot_collections_additional_condition":null,'
        '"incremental_snapshot_collections_surrogate_key":null}]',
        "incremental_snapshot_correlation_id": "s1",
    }
    connector.deliver(2)
    assert connector.stored[1]["incremental_snapshot_primary_key"] == integer(3)


def integer(value: int) -> str:
    return (
        "aced0005757200135b4c6a6176612e6c616e672e4f626a6563743b90ce589f1073296c02000078700000000173720011"
        "6a6176612e6c616e672e496e746567657212e2a0a4f781873802000149000576616c7565787200106a6176612e6c616e"
        f"672e4e756d62657286ac951d0b94e08b0200007870{value:08x}"
    )


def test_an_offset_of_java_is_continued() -> None:
    connector = Connector(SimulatedServer({key: f"v{key}" for key in range(1, 8)}))
    connector.stored = (
        0,
        {
            "incremental_snapshot_primary_key": integer(3),
            "incremental_snapshot_maximum_key": integer(6),
            "incremental_snapshot_collections": '[{"incremental_snapshot_collections_id":"ops.goods",'
            '"incremental_snapshot_collections_additional_condition":"(id > 0)",'
            '"incremental_snapshot_collections_surrogate_key":null}]',
            "incremental_snapshot_correlation_id": None,
        },
    )
    connector.restart()
    (table,) = connector.context.tables
    assert (str(table.id), table.condition, table.surrogate) == (TABLE, "(id > 0)", None)
    connector.finish()
    assert connector.topics.reads() == [4, 5, 6]


def test_an_offset_that_is_damaged() -> None:
    connector = Connector(SimulatedServer())
    connector.stored = (0, {"incremental_snapshot_collections": "[{}]"})
    with pytest.raises(ConnectError, match=r"incremental snapshot cannot be read.*\[{}\]"):
        connector.restart()


def test_after_a_restart_a_chunk_is_read_again_and_old_marks_do_not_count() -> None:
    connector = begun()
    connector.deliver(2)
    connector.restart()
    assert len(connector.server.opened) == 3
    connector.deliver(2)  # marks of the chunk that was read before the restart
    assert connector.topics.reads() == [1, 2, 3]
    connector.finish()
    assert connector.topics.reads() == [1, 2, 3, 4, 5, 6, 7]


def test_rows_that_the_log_has_in_the_window_are_dropped() -> None:
    connector = Connector(SimulatedServer({key: f"v{key}" for key in range(1, 7)}))
    executed(connector.server)
    before_open, before_rows, before_close = [("update", 1, 90)], [("update", 2, 91)], [("delete", 3, 0)]
    connector.server.meanwhile = deque([before_open, [], before_rows, before_close])
    connector.finish()
    # What was written before the window does not count; of the others the log has the newest version.
    assert connector.topics.reads() == [1, 4, 5, 6]
    assert connector.topics.values == {1: "v90", 2: "v91", 3: None, 4: "v4", 5: "v5", 6: "v6"}


def test_a_row_that_the_log_has_after_the_window_in_the_same_piece_is_not_sent_behind_it() -> None:
    connector = begun(3)
    connector.server.write("update", 2, 99)
    connector.deliver(10)
    assert connector.topics.reads() == [1, 3]
    assert connector.topics.values == {1: "v1", 2: "v99", 3: "v3"}


def test_windows_that_end_with_a_delete() -> None:
    connector = Connector(SimulatedServer({key: f"v{key}" for key in range(1, 5)}, deletes=True))
    executed(connector.server)
    connector.finish()
    assert connector.topics.reads() == [1, 2, 3, 4]


def test_signals_are_heard_although_inserts_are_skipped() -> None:
    skipping = RecordChoice(skipped=frozenset({Operation.CREATE}))
    connector = Connector(SimulatedServer({1: "v1"}), choice=skipping)
    executed(connector.server)
    connector.finish()
    assert connector.topics.reads() == [1]


def test_a_table_without_rows() -> None:
    connector = begun(0)
    assert progress(connector) == ["STARTED", "TABLE_SCAN_COMPLETED", "COMPLETED"]
    assert dict(connector.topics.notices[1]["additional_data"])["status"] == "EMPTY"
    assert not connector.context.is_running


def test_a_pause() -> None:
    connector = begun()
    connector.server.signal("p", "pause-snapshot")
    connector.server.signal("p", "pause-snapshot")  # has no effect
    for _ in range(9):
        connector.deliver(1)
    assert connector.topics.reads() == [1, 2, 3, 4, 5, 6]  # the second chunk waited: it is sent
    connector.server.signal("p", "resume-snapshot")
    connector.finish()
    assert connector.topics.reads() == [1, 2, 3, 4, 5, 6, 7]
    assert progress(connector)[2:6] == ["IN_PROGRESS", "PAUSED", "RESUMED", "IN_PROGRESS"]


def test_a_stop_comes_after_the_chunk_that_waits() -> None:
    connector = begun()
    connector.server.signal("x", "stop-snapshot")
    connector.finish()
    assert connector.topics.reads() == [1, 2, 3, 4, 5, 6]
    assert progress(connector)[2:] == ["IN_PROGRESS", "COMPLETED", "ABORTED"]  # as Debezium reports it
    aborted = connector.topics.notices[-1]
    assert dict(aborted["additional_data"]) == {"connector_name": "shop", "data_collections": TABLE}


def test_another_table_is_added_and_stopped() -> None:
    connector = begun()
    other = Table("ops", "other", GOODS.columns, key=("id",))
    connector.server.tables.put(other)
    connector.server.signal("s2", "execute-snapshot", **{"data-collections": [r"ops\.o.*"]})
    connector.server.signal("s3", "stop-snapshot", **{"data-collections": ["ops.other"]})
    connector.deliver(4)
    assert [str(one.id) for one in connector.context.tables] == [TABLE, "ops.other"]
    assert connector.context.correlation == "s2"
    connector.deliver(2)  # the chunk that waited is sent
    assert [str(one.id) for one in connector.context.tables] == [TABLE]
    connector.finish()
    assert connector.topics.reads() == [1, 2, 3, 4, 5, 6, 7]


def test_a_table_that_changes_is_read_again() -> None:
    connector = begun(3)
    changed = Table("ops", "goods", GOODS.columns, key=("id",), comment="new")
    connector.server.tables.put(changed)
    connector.deliver(2)
    assert (connector.topics.reads(), len(connector.server.opened)) == ([], 2)
    connector.finish()
    assert connector.topics.reads() == [1, 2, 3]


def test_a_table_whose_key_changes_is_read_from_its_beginning() -> None:
    connector = begun()
    connector.deliver(2)
    key = connector.context.sent
    assert key == Key.parse(integer(3))
    connector.context.read = connector.context.maximum = Key((1, 2), "")
    connector.server.tables.put(Table("ops", "goods", GOODS.columns, key=("id",), comment="new"))
    connector.context.sent = Key((1, 2), "")
    connector.finish()
    assert connector.topics.reads() == [1, 2, 3, 1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize(
    ("name", "table", "status", "reason"),
    [
        ("ops.nothing", None, "UNKNOWN_SCHEMA", "structure is not known"),
        ("ops.bare", Table("ops", "bare", GOODS.columns), "NO_PRIMARY_KEY", "surrogate-key"),
        (
            "ops.shape",
            Table("ops", "shape", (Column("at", "POINT"),), key=("at",)),
            "SQL_EXCEPTION",
            "cannot be a key",
        ),
    ],
)
def test_tables_that_are_skipped(
    name: str, table: Table | None, status: str, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    connector = Connector(SimulatedServer({1: "v1"}))
    if table is not None:
        connector.server.tables.put(table)
    connector.server.signal("s", "execute-snapshot", **{"data-collections": [name, TABLE]})
    connector.finish()
    assert connector.topics.reads() == [1]
    assert dict(connector.topics.notices[1]["additional_data"])["status"] == status
    (warning,) = [one.message for one in caplog.records if one.levelno == logging.WARNING]
    assert name in warning
    assert reason in warning


def test_a_table_without_a_key_is_divided_by_another_column() -> None:
    server = SimulatedServer({key: f"v{key}" for key in range(1, 6)})
    server.tables.put(Table("ops", "goods", GOODS.columns))
    connector = Connector(server)
    executed(server, **{"surrogate-key": "id"})
    before_rows, before_close = [("update", 1, 9)], [("update", 2, 9), ("delete", 3, 0)]
    server.meanwhile = deque([[], [], before_rows, before_close])
    connector.finish()
    rows = [(one["value"]["after"] or {}).get("id") for one in connector.topics.records if one["value"]]
    assert rows == [1, 2, None, 4, 5]
    assert [one["value"]["op"] for one in connector.topics.records if one["value"]] == ["u", "u", "d", "r", "r"]


def test_a_surrogate_key_that_is_not_a_column(caplog: pytest.LogCaptureFixture) -> None:
    connector = Connector(SimulatedServer({1: "v1"}))
    executed(connector.server, **{"surrogate-key": "number"})
    connector.finish()
    assert "it has no column number, which the signal names as surrogate-key" in caplog.text


def test_a_lost_connection_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    connector = begun()
    connector.server.failing = deque([RetriableError("gone"), RetriableError("gone")])
    connector.deliver(2)
    assert connector.topics.reads() == [1, 2, 3]
    connector.deliver(1)
    assert len(connector.server.opened) == 1  # it is not time yet
    connector.finish()
    assert connector.topics.reads() == [1, 2, 3, 4, 5, 6, 7]
    assert caplog.text.count("The chunk is read again in 5 s") == 2


def test_an_error_of_the_server_skips_the_table_at_the_end_of_the_window(caplog: pytest.LogCaptureFixture) -> None:
    connector = begun()
    connector.server.meanwhile.clear()
    connector.server.failing = deque()
    original, calls = connector.server.chunk, []

    def failing(*arguments: object) -> object:
        calls.append(arguments)
        raise ConnectError("Unknown column 'x' [error 1054]")

    connector.server.chunk = failing  # type: ignore[assignment, method-assign]
    connector.deliver(2)
    assert (connector.context.is_running, len(calls)) == (True, 1)  # the table may have changed
    connector.finish()
    assert dict(connector.topics.notices[-2]["additional_data"])["status"] == "SQL_EXCEPTION"
    assert "skips table ops.goods: Unknown column" in caplog.text
    connector.server.chunk = original  # type: ignore[method-assign]


def test_a_signal_table_that_cannot_be_written_to(caplog: pytest.LogCaptureFixture) -> None:
    connector = Connector(SimulatedServer({1: "v1"}))
    connector.server.failing = deque([ConnectError("INSERT command denied [error 1142]")])
    executed(connector.server)
    connector.finish()
    assert "the signal table cannot be written to: INSERT command denied" in caplog.text
    assert progress(connector) == ["STARTED", "TABLE_SCAN_COMPLETED", "COMPLETED"]


def test_a_notification_of_a_chunk() -> None:
    connector = begun(3)
    value = connector.topics.notices[1]
    assert (value["type"], value["aggregate_type"]) == ("IN_PROGRESS", "Incremental Snapshot")
    assert dict(value["additional_data"]) == {
        "connector_name": "shop",
        "data_collections": TABLE,
        "current_collection_in_progress": TABLE,
        "maximum_key": "3",
        "last_processed_key": "3",
    }


KEYS = st.integers(1, 9)
WRITES = st.tuples(st.sampled_from(["insert", "update", "delete", "rekey"]), KEYS, st.integers(1, 12))
ACTS = st.one_of(
    WRITES,
    WRITES,
    st.tuples(st.just("deliver"), st.integers(1, 4), st.just(0)),
    st.tuples(st.just("deliver"), st.integers(1, 9), st.just(0)),
    st.tuples(st.sampled_from(["execute", "restart", "pause", "resume", "alter"]), st.just(0), st.just(0)),
)


@settings(max_examples=150, deadline=None)
@given(
    present=st.sets(KEYS),
    acts=st.lists(ACTS, max_size=25),
    meanwhile=st.lists(st.lists(WRITES, max_size=3), max_size=30),
    deletes=st.booleans(),
)
def test_the_topic_ends_as_the_table(
    present: set[int], acts: list[Write], meanwhile: list[list[Write]], deletes: bool
) -> None:
    server = SimulatedServer({key: f"old{key}" for key in present}, deletes=deletes)
    connector = Connector(server)
    server.meanwhile = deque(meanwhile)
    executed(server)
    for kind, first, second in acts:
        match kind:
            case "deliver":
                connector.deliver(first)
            case "execute":
                executed(server)
            case "restart":
                connector.restart()
            case "alter":
                server.tables.put(Table("ops", "goods", GOODS.columns, key=("id",), comment=str(len(server.log))))
            case "pause" | "resume":
                server.signal("p", f"{kind}-snapshot")
            case _:
                server.write(kind, first, second)
    server.signal("r", "resume-snapshot")
    connector.finish()
    sent = {key: value for key, value in connector.topics.values.items() if value is not None}
    assert sent == server.rows
    assert json.loads(json.dumps(connector.stored[1])) == connector.stored[1]
