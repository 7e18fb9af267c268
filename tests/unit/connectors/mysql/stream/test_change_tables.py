"""Rows of a log as records: operations, keys, tombstones, headers, and the struct `source`."""

import logging
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from connect_dagster.connectors.mysql.decode.events import EventType
from connect_dagster.connectors.mysql.decode.kernels import writable
from connect_dagster.connectors.mysql.decode.scan import scan_events
from connect_dagster.connectors.mysql.decode.table_map import TableMap
from connect_dagster.connectors.mysql.options.failures import DEFAULT_RULES, FailureMode, FailureRules
from connect_dagster.connectors.mysql.positions.gtid import MySqlGtidSet
from connect_dagster.connectors.mysql.positions.gtid_sources import GtidSources
from connect_dagster.connectors.mysql.records.captured_table import CapturedTable, RecordRules, captured_table
from connect_dagster.connectors.mysql.records.change_records import RecordChoice
from connect_dagster.connectors.mysql.records.envelope import Operation, source_schema
from connect_dagster.connectors.mysql.records.name_adjustment import NameAdjustment
from connect_dagster.connectors.mysql.records.record_tables import RecordParts
from connect_dagster.connectors.mysql.records.source_info import SourceConstants
from connect_dagster.connectors.mysql.records.topics import TopicNames
from connect_dagster.connectors.mysql.records.type_modes import TypeModes
from connect_dagster.connectors.mysql.schema.model import Column, Table
from connect_dagster.connectors.mysql.selection.column_rules import ColumnRules
from connect_dagster.connectors.mysql.selection.filters import CaptureFilters
from connect_dagster.connectors.mysql.selection.message_keys import MessageKeys
from connect_dagster.connectors.mysql.selection.regex_lists import NameFilter, RegexList
from connect_dagster.connectors.mysql.stream.change_tables import ChangeTable, ChangeTables
from connect_dagster.connectors.mysql.stream.event_place import EventPlace
from connect_dagster.connectors.mysql.stream.log_stream import LogPiece
from connect_dagster.connectors.mysql.stream.place import Place
from connect_dagster.connectors.mysql.stream.timeline import LogReading, timeline
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.errors import ConnectError
from tests import binlog
from tests.binlog import event, rows_event, table_map
from tests.unit.connectors.mysql.stream.logs_by_chance import SOURCES, Step

NUMBER, TEXT = binlog.integer(3, 4, signed=True), binlog.varchar(40)
COLUMNS = [NUMBER, TEXT]
GOODS = Table("ops", "goods", (Column("id", "INT", optional=False), Column("name", "VARCHAR", 10)), key=("id",))
NONE = NameFilter(RegexList("t.include.list"), RegexList("t.exclude.list"))
NOW = 1_700_000_009_123_456


def rules(**changes: Any) -> RecordRules:
    made = {
        "source": source_schema("mysql"),
        "names": TopicNames("shop"),
        "filters": CaptureFilters(NONE, NONE, NONE, RegexList("snapshot.include.collection.list")),
        "modes": TypeModes(),
        "keys": MessageKeys(),
        "columns": ColumnRules(),
        "schema_names": NameAdjustment.NONE,
        "field_names": NameAdjustment.NONE,
        **changes,
    }
    return RecordRules(**made)


class Known:
    """Tables of a model."""

    def __init__(self, table: Table = GOODS, **changes: Any) -> None:
        self.table = captured_table(table, rules(**changes))

    def captured(self, announced: TableMap, _: EventPlace) -> CapturedTable | None:
        return self.table if announced.name == self.table.id.name else None

    def truncated(self, table: TableId) -> CapturedTable | None:
        return self.table if table == self.table.id else None


def piece(*bodies: tuple[EventType, bytes], place: Place | None = None) -> LogPiece:
    """Return events of one transaction, each with a position after it."""
    begin = [
        (EventType.GTID, Step(EventType.GTID, number=7, micros=1_700_000_000_654_321).body()),
        (EventType.QUERY, Step(EventType.QUERY, "BEGIN", thread=12).body()),
    ]
    data, end = b"", 4
    for kind, body in [*begin, *bodies, (EventType.XID, bytes(8))]:
        end += 19 + len(body)
        data += event(kind, body, timestamp=1_700_000_001, server_id=5, end=end)
    buffer = writable(data)
    events = scan_events(buffer)
    before = place or Place("log.000001", 4, completed=MySqlGtidSet())
    return LogPiece(buffer, events, timeline(buffer, events, before, LogReading()))


MAP = (EventType.TABLE_MAP, table_map(1, COLUMNS))


def rows(kind: EventType, *images: tuple[int | None, bytes | None]) -> tuple[EventType, bytes]:
    return kind, rows_event(kind, 1, COLUMNS, [list(image) for image in images])


INSERT = rows(EventType.WRITE_ROWS, (1, "별".encode()), (2, None))
UPDATE = rows(EventType.UPDATE_ROWS, (1, b"a"), (1, b"b"), (2, None), (3, None))
DELETE = rows(EventType.DELETE_ROWS, (1, b"b"))


def tables(
    one: LogPiece,
    known: Known | None = None,
    choice: RecordChoice | None = None,
    headers: dict[str, bytes | None] | None = None,
    sources: GtidSources | None = None,
    failures: FailureRules = DEFAULT_RULES,
) -> list[ChangeTable]:
    parts = RecordParts(
        SourceConstants("3.6.1.Final", "mysql", "shop"), headers or {}, lambda _, key: str(key).encode()
    )
    return ChangeTables(known or Known(), choice or RecordChoice(), parts, sources, lambda: NOW, None, failures).of(one)


def records(*arguments: Any, **more: Any) -> list[dict[str, Any]]:
    (made,) = tables(*arguments, **more)
    found: list[dict[str, Any]] = made.rows.to_pylist()
    return found


def brief(record: dict[str, Any]) -> tuple[Any, ...]:
    value = record["value"]
    if value is None:
        return record["key"]["id"], None
    images = tuple(value[name] and (value[name]["id"], value[name]["name"]) for name in ("before", "after"))
    return record["key"]["id"], value["op"], *images


def test_an_insert() -> None:
    one = piece(MAP, INSERT)
    first, second = records(one)
    start = int(one.events.position[3])
    assert first == {
        "key": {"id": 1},
        "value": {
            "before": None,
            "after": {"id": 1, "name": "별"},
            "source": {
                "version": "3.6.1.Final",
                "connector": "mysql",
                "name": "shop",
                "ts_ms": 1_700_000_000_654,
                "snapshot": None,
                "db": "ops",
                "sequence": None,
                "ts_us": 1_700_000_000_654_321,
                "ts_ns": 1_700_000_000_654_321_000,
                "table": "goods",
                "server_id": 5,
                "gtid": f"{SOURCES[0]}:7",
                "file": "log.000001",
                "pos": start,
                "row": 0,
                "thread": 12,
                "query": None,
            },
            "transaction": None,
            "op": "c",
            "ts_ms": 1_700_000_009_123,
            "ts_us": NOW,
            "ts_ns": NOW * 1000,
        },
    }
    assert second["value"]["after"] == {"id": 2, "name": None}
    assert (second["value"]["source"]["pos"], second["value"]["source"]["row"]) == (start, 1)


def test_updates_that_change_the_key_and_others() -> None:
    assert [brief(record) for record in records(piece(MAP, UPDATE, DELETE))] == [
        (1, "u", (1, "a"), (1, "b")),
        (2, "d", (2, None), None),
        (2, None),
        (3, "c", None, (3, None)),
        (1, "d", (1, "b"), None),
        (1, None),
    ]


def test_tombstones_are_marked() -> None:
    made = records(piece(MAP, UPDATE))
    assert [record["tombstone"] for record in made] == [False, False, True, False]
    assert "tombstone" not in records(piece(MAP, UPDATE), choice=RecordChoice(tombstones=False))[0]


@pytest.mark.parametrize(
    ("choice", "operations"),
    [
        (RecordChoice(tombstones=False), "ccudcd"),
        (RecordChoice(skipped=frozenset({Operation.CREATE})), "udtdt"),
        (RecordChoice(skipped=frozenset({Operation.UPDATE})), "ccdt"),
        (RecordChoice(skipped=frozenset({Operation.DELETE})), "ccuc"),
        (RecordChoice(skipped=frozenset(Operation)), ""),
    ],
)
def test_operations_without_records(choice: RecordChoice, operations: str) -> None:
    made = tables(piece(MAP, INSERT, UPDATE, DELETE), choice=choice)
    found = [record["value"] for one in made for record in one.rows.to_pylist()]
    assert "".join(value["op"] if value else "t" for value in found) == operations


def test_updates_that_change_nothing() -> None:
    same = rows(EventType.UPDATE_ROWS, (1, b"a"), (1, b"a"), (2, None), (2, b"c"), (3, None), (3, None))
    assert len(records(piece(MAP, same))) == 3
    (left,) = records(piece(MAP, same), choice=RecordChoice(skips_unchanged=True))
    assert brief(left) == (2, "u", (2, None), (2, "c"))


def test_a_table_without_a_key() -> None:
    known = Known(Table("ops", "goods", GOODS.columns))
    made = records(piece(MAP, UPDATE, DELETE), known)
    assert [record["value"] and record["value"]["op"] for record in made] == ["u", "u", "d", None]
    assert "key" not in made[0]
    assert known.table.key_schema is None


def test_keys_are_not_masked() -> None:
    masked = ColumnRules.parse({"column.mask.with.3.chars": "ops.goods.name"})
    known = Known(keys=MessageKeys.parse("ops.goods:name"), columns=masked)
    first, second = records(piece(MAP, INSERT), known)
    assert (first["key"], first["value"]["after"]) == ({"name": "별"}, {"id": 1, "name": "***"})
    assert (second["key"], second["value"]["after"]) == ({"name": None}, {"id": 2, "name": "***"})
    row = known.table.row_schema.fields[1].schema
    assert (row.parameters, known.table.key[0].type.schema.parameters) == ((("masked", "true"),), ())


def test_headers() -> None:
    context: dict[str, bytes | None] = {"a": b"1", "b": None}
    plain = [{"key": "a", "value": b"1"}, {"key": "b", "value": None}]
    (only,) = records(piece(MAP, DELETE), headers=context, choice=RecordChoice(tombstones=False))
    assert only["headers"] == plain
    made = records(piece(MAP, UPDATE), headers=context)
    new = {"key": "__debezium.newkey", "value": b"{'id': 3}"}
    old = {"key": "__debezium.oldkey", "value": b"{'id': 2}"}
    assert [record["headers"] for record in made] == [plain, [new, *plain], [new, *plain], [old, *plain]]
    without = records(piece(MAP, UPDATE))
    assert [record["headers"] for record in without] == [[], [new], [new], [old]]
    assert "headers" not in records(piece(MAP, INSERT))[0]


def test_rows_that_were_sent_before() -> None:
    place = Place("log.000001", 4, completed=MySqlGtidSet(), skipped=(2, 1))
    assert [brief(one) for one in records(piece(MAP, INSERT, DELETE, place=place))][:1] == [(2, "c", None, (2, None))]
    assert not tables(piece(MAP, DELETE, place=Place("log.000001", 4, skipped=(3, 0))))


def test_rows_of_servers_that_do_not_count() -> None:
    def sources(*names: str, of_rows: bool = True) -> GtidSources:
        included = RegexList.of_items("gtid.source.includes", names)
        return GtidSources(NameFilter(included, RegexList("gtid.source.excludes")), of_rows)

    assert not tables(piece(MAP, DELETE), sources=sources(SOURCES[1]))
    assert tables(piece(MAP, DELETE), sources=sources(SOURCES[0]))
    assert tables(piece(MAP, DELETE), sources=sources(SOURCES[1], of_rows=False))


def test_columns_that_are_left_out() -> None:
    filters = CaptureFilters(
        NONE,
        NONE,
        NameFilter(RegexList("c.include.list"), RegexList.parse("c.exclude.list", "ops.goods.id")),
        NONE.included,
    )
    known = Known(filters=filters)
    (made,) = records(piece(MAP, DELETE), known, choice=RecordChoice(tombstones=False))
    assert (made["key"], made["value"]["before"]) == ({"id": 1}, {"name": "b"})


def test_names_that_avro_allows() -> None:
    table = Table("my-ops", "goods", (Column("a-b", "INT"),), key=("a-b",))
    made = captured_table(table, rules(schema_names=NameAdjustment.AVRO, field_names=NameAdjustment.AVRO))
    assert made.value_schema.name == "shop.my_ops.goods.Envelope"
    assert made.key_schema is not None
    assert (made.key_schema.name, made.key_schema.fields[0].name) == ("shop.my_ops.goods.Key", "a_b")
    assert (made.row_schema.name, made.row_schema.fields[0].name) == ("shop.my_ops.goods.Value", "a_b")
    assert made.topic == "shop.my-ops.goods"


def test_a_time_that_is_none_is_the_default_value_where_null_is_not_allowed() -> None:
    column = Column("c", "TIMESTAMP", optional=False, has_default=True, default="2000-01-01 00:00:00")
    (field,) = captured_table(Table("shop", "goods", (column,)), rules()).row
    values = pa.array([None, "2020-01-01T00:00:00Z"], pa.string())
    assert field.values(values).to_pylist() == ["2000-01-01T00:00:00Z", "2020-01-01T00:00:00Z"]


def test_a_table_that_is_truncated() -> None:
    known = Known()
    statement = piece((EventType.QUERY, Step(EventType.QUERY, "TRUNCATE TABLE goods").body()))

    def made(choice: RecordChoice, name: str = "goods") -> ChangeTable | None:
        parts = RecordParts(SourceConstants("3.6.1.Final", "mysql", "shop"), {}, lambda _, value: value)
        return ChangeTables(known, choice, parts, None, lambda: NOW).truncated(statement, TableId("ops", name))

    found = made(RecordChoice())
    assert found is not None
    (value,) = found.rows.column("value").to_pylist()
    assert (value["op"], value["before"], value["after"], value["source"]["table"]) == ("t", None, None, "goods")
    assert value["source"]["ts_us"] == 1_700_000_000_654_000
    assert (found.captured.key_schema, found.rows.schema.names) == (None, ["value"])
    assert made(RecordChoice(skipped=frozenset({Operation.TRUNCATE}))) is None
    assert made(RecordChoice(), "other") is None


def test_a_comment_of_a_column_is_the_documentation_of_its_field() -> None:
    column = Column("c", "INT", optional=False, comment="its number")
    made = captured_table(Table("shop", "goods", (column,), key=("c",)), rules())
    assert made.key_schema is not None
    assert [schema.fields[0].schema.doc for schema in (made.row_schema, made.key_schema)] == ["its number"] * 2


def test_tables_that_are_not_captured() -> None:
    other = (EventType.TABLE_MAP, table_map(1, COLUMNS, name="other"))
    assert not tables(piece(other, INSERT))


def cut(event: tuple[EventType, bytes]) -> tuple[EventType, bytes]:
    return event[0], event[1][:-1]


def test_an_event_that_cannot_be_read() -> None:
    one = piece(MAP, INSERT, cut(INSERT), DELETE)
    start = int(one.events.position[4])
    with pytest.raises(ConnectError, match=rf"ops.goods at log.000001:{start} .* cannot be read: .*handling.mode=warn"):
        tables(one)


@pytest.mark.parametrize("place", range(4))
def test_an_event_that_cannot_be_read_may_be_left_out(place: int, caplog: pytest.LogCaptureFixture) -> None:
    events = [INSERT, INSERT, DELETE]
    events.insert(place, cut(UPDATE))
    failures = DEFAULT_RULES
    made = tables(
        piece(MAP, *events), failures=replace(failures, events=replace(failures.events, mode=FailureMode.WARN))
    )
    operations = [value["op"] for one in made for value in one.rows.column("value").to_pylist() if value is not None]
    assert operations == ["c", "c", "c", "c", "d"]
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


@pytest.mark.parametrize("mode", FailureMode)
def test_a_date_that_no_calendar_has(mode: FailureMode, caplog: pytest.LogCaptureFixture) -> None:
    columns = [NUMBER, binlog.date()]
    known = Known(Table("ops", "goods", (Column("id", "INT", optional=False), Column("day", "DATE")), key=("id",)))
    event = rows_event(EventType.WRITE_ROWS, 1, columns, [[1, (2024, 2, 29)], [2, (2023, 2, 29)]])
    one = piece((EventType.TABLE_MAP, table_map(1, columns)), (EventType.WRITE_ROWS, event))
    failures = DEFAULT_RULES
    failures = replace(failures, values=replace(failures.values, mode=mode))
    if mode is FailureMode.FAIL:
        with pytest.raises(
            ConnectError, match=r"Column day of table ops.goods .* February 30, in the event log.000001"
        ):
            tables(one, known, failures=failures)
        return
    (made,) = tables(one, known, failures=failures)
    assert [value["after"]["day"] for value in made.rows.column("value").to_pylist()] == [19782, None]
    assert len(caplog.records) == (mode is FailureMode.WARN)
