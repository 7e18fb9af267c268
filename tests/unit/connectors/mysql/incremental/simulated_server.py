"""A server with a table `ops.goods`, a table of signals and a log of both, and a connector that reads them.

The log has the bytes of a real one. Only chunks come from memory.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from connect_dagster.connectors.mysql.decode.events import EventType
from connect_dagster.connectors.mysql.decode.kernels import writable
from connect_dagster.connectors.mysql.decode.scan import scan_events
from connect_dagster.connectors.mysql.decode.table_map import TableMap
from connect_dagster.connectors.mysql.flavor import Flavor
from connect_dagster.connectors.mysql.incremental.chunk_plan import ChunkPlan, ChunkPlans
from connect_dagster.connectors.mysql.incremental.chunk_server import CLOSE, OPEN, ChunkRows
from connect_dagster.connectors.mysql.incremental.context import IncrementalContext
from connect_dagster.connectors.mysql.incremental.incremental_notices import IncrementalNotices
from connect_dagster.connectors.mysql.incremental.incremental_snapshots import ChunkParts, IncrementalSnapshots
from connect_dagster.connectors.mysql.incremental.keys import Key
from connect_dagster.connectors.mysql.incremental.read_records import ReadRecords
from connect_dagster.connectors.mysql.notifications.notifications import Notifications
from connect_dagster.connectors.mysql.positions.gtid import MySqlGtidSet
from connect_dagster.connectors.mysql.records.captured_table import CapturedTable, captured_table
from connect_dagster.connectors.mysql.records.change_records import RecordChoice
from connect_dagster.connectors.mysql.records.record_tables import RecordParts
from connect_dagster.connectors.mysql.records.source_info import SourceConstants
from connect_dagster.connectors.mysql.schema.model import Column, Table, Tables
from connect_dagster.connectors.mysql.signals.signal_actions import ActionParts, SignalActions
from connect_dagster.connectors.mysql.signals.signal_table import SignalTable
from connect_dagster.connectors.mysql.signals.signalling import SignalChannels, Signalling
from connect_dagster.connectors.mysql.signals.snapshot_requests import SnapshotRequests
from connect_dagster.connectors.mysql.stream.change_tables import ChangeTables
from connect_dagster.connectors.mysql.stream.log_stream import LogPiece
from connect_dagster.connectors.mysql.stream.place import Place
from connect_dagster.connectors.mysql.stream.timeline import LogReading, timeline
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.plugin.frames import SourceTable
from tests import binlog
from tests.binlog import event, rows_event, table_map
from tests.unit.connectors.mysql.stream.logs_by_chance import Step
from tests.unit.connectors.mysql.stream.test_change_tables import rules

GOODS = Table("ops", "goods", (Column("id", "INT", optional=False), Column("name", "VARCHAR", 40)), key=("id",))
SIGNALS = Table("ops", "signals", tuple(Column(name, "VARCHAR", 2048) for name in ("id", "type", "data")), key=("id",))
NOW = 1_700_000_009_123_456
_COLUMNS = {
    "goods": (1, [binlog.integer(3, 4, signed=True), binlog.varchar(40)]),
    "signals": (2, [binlog.varchar(2048)] * 3),
}
_KINDS = {"c": EventType.WRITE_ROWS, "u": EventType.UPDATE_ROWS, "d": EventType.DELETE_ROWS}

Row = tuple[Any, ...]
Write = tuple[str, int, int]
"""Describe one change of the table: insert, update, delete or new key; the key; the value or the new key."""


@dataclass
class SimulatedServer:
    """The server.

    Attributes:
        rows: of `goods`.
        log: of all changes: kind, table and images.
        meanwhile: what others write before each step of the connector.
    """

    rows: dict[int, str] = field(default_factory=dict)
    log: list[tuple[str, str, list[Row]]] = field(default_factory=list)
    meanwhile: deque[list[Write]] = field(default_factory=deque)
    chunk_rows: int = 3
    deletes: bool = False
    failing: deque[Exception] = field(default_factory=deque)
    tables: Tables = field(default_factory=Tables)
    opened: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for table in (GOODS, SIGNALS):
            self.tables.put(table)

    def write(self, kind: str, key: int, number: int) -> None:
        """Change the table, if the change is possible."""
        before, value = self.rows.get(key), f"v{number}"
        match kind:
            case "insert" if before is None:
                self._log("c", (key, value))
                self.rows[key] = value
            case "update" if before is not None:
                self._log("u", (key, before), (key, value))
                self.rows[key] = value
            case "delete" if before is not None:
                self._log("d", (key, before))
                del self.rows[key]
            case "rekey" if before is not None and number not in self.rows:
                self._log("u", (key, before), (number, before))
                self.rows[number] = self.rows.pop(key)

    def signal(self, number: str, kind: str, **data: Any) -> None:
        """Insert a signal, as users do."""
        self.signal_row(number, kind, json.dumps(data))

    def signal_row(self, *row: str) -> None:
        """Insert any row into the table of signals."""
        self.log.append(("c", "signals", [row]))

    def _log(self, kind: str, *images: Row) -> None:
        self.log.append((kind, "goods", list(images)))

    def open_window(self, chunk: str) -> None:
        self._others()
        self.opened.append(chunk)
        self.signal_row(f"{chunk}-open", OPEN, "{}")

    def close_window(self, chunk: str) -> None:
        self._others()
        if self.deletes:
            self.log.append(("d", "signals", [(f"{chunk}-open", OPEN, "{}")]))
        else:
            self.signal_row(f"{chunk}-close", CLOSE, "{}")

    def maximum(self, plan: ChunkPlan) -> Key | None:
        self._others()
        return _key(plan, max(self.rows)) if self.rows else None

    def chunk(self, plan: ChunkPlan, after: Key | None, maximum: Key) -> ChunkRows:
        self._others()
        low = None if after is None else after.values[0]
        found = [
            key
            for key in sorted(self.rows)
            if low is None or (key > low and key <= maximum.values[0])  # type: ignore[operator]
        ][: self.chunk_rows]
        if not found:
            return ChunkRows(0, {}, None)
        names = pa.array([self.rows[key] for key in found], pa.string())
        columns = {"id": pa.array(found, pa.int64()), "name": names}
        return ChunkRows(len(found), {name: columns[name] for name in plan.readings}, _key(plan, found[-1]))

    def close(self) -> None: ...

    def _others(self) -> None:
        if self.failing:
            raise self.failing.popleft()
        for write in self.meanwhile.popleft() if self.meanwhile else ():
            self.write(*write)


def _key(plan: ChunkPlan, value: int) -> Key:
    return Key.of([(plan.key[0].type, value)])


class Captured:
    """The tables at the place that the log has reached."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def captured(self, announced: TableMap, _: object) -> CapturedTable | None:
        known = self._tables.get(TableId(announced.schema, announced.name))
        return None if known is None else captured_table(known, rules())

    def truncated(self, table: TableId) -> CapturedTable | None:
        raise AssertionError(f"no statement truncates {table}")


@dataclass
class Topics:
    """Hold the sent records: the newest value of each key, all records of goods, notifications."""

    values: dict[int, str | None] = field(default_factory=dict)
    records: list[dict[str, Any]] = field(default_factory=list)
    notices: list[dict[str, Any]] = field(default_factory=list)

    def take(self, batches: Iterable[SourceTable]) -> None:
        for batch in batches:
            for record in batch.table.to_pylist():
                if batch.topic == "shop.ops.goods":
                    self._take(record)
                elif batch.topic == "notices":
                    self.notices.append(record["value"])

    def _take(self, record: dict[str, Any]) -> None:
        self.records.append(record)
        after = record["value"] and record["value"]["after"]
        if "key" in record:
            self.values[record["key"]["id"]] = after and after["name"]

    def reads(self) -> list[int]:
        """The keys of the records that a snapshot read."""
        return [one["key"]["id"] for one in self.records if one["value"] and one["value"]["op"] == "r"]


class Connector:
    """Reads the log in pieces, and the tables in chunks. What it has sent and stored outlives a restart."""

    def __init__(self, server: SimulatedServer, *, choice: RecordChoice | None = None) -> None:
        self.server = server
        self.topics = Topics()
        self.stored: tuple[int, dict[str, Any]] = (0, {})
        self.clock = 0.0
        self._choice = choice or RecordChoice()
        self.restart()

    def restart(self) -> None:
        """Begin at the stored offset."""
        server, now = self.server, lambda: NOW
        self.place = Place("log.000001", 4, completed=MySqlGtidSet())
        parts = RecordParts(SourceConstants("3.6.1.Final", "mysql", "shop"), {}, lambda _, __: None)
        self._changes = ChangeTables(Captured(server.tables), self._choice, parts, None, now, SIGNALS.id)
        self.context = IncrementalContext()
        plans = ChunkPlans(server.tables, rules())
        notices = IncrementalNotices(Notifications("shop", "notices", True, now), self.context)
        self.snapshots = IncrementalSnapshots(
            ChunkParts(server, plans, ReadRecords(parts, now), self._seconds), self.context, notices
        )
        asked = SnapshotRequests(self.snapshots, server.tables)
        self.actions = SignalActions(ActionParts(Flavor.MYSQL, _no_changes(), asked, now))
        channels = SignalChannels(SignalTable(SIGNALS.id, server.deletes))
        self.signals = Signalling(channels, self.actions, self.context, self.snapshots, None)
        self.next, offset = self.stored
        self.signals.restore(offset)
        self.idle()

    def _seconds(self) -> float:
        return self.clock

    def idle(self) -> None:
        """Let time pass without events."""
        self._send(self.signals.idle(self.place))

    def deliver(self, count: int) -> None:
        """Read the next transactions of the log as one piece."""
        entries = self.server.log[self.next : self.next + count]
        if not entries:
            self.idle()
            return
        piece = self._piece(entries)
        self.place = piece.times.after
        self.next += len(entries)
        changes = self._changes.of(piece)
        self._send([*(one.batch() for one in changes), *self.signals.after(piece, changes, self.place)])

    def finish(self) -> None:
        """Read all of the log, until nothing more comes."""
        for _ in range(1000):
            if self.next == len(self.server.log) and not self.context.is_running:
                return
            self.clock += 10
            self.deliver(5)
        raise AssertionError("no end")

    def _send(self, batches: list[SourceTable]) -> None:
        self.topics.take(batches)
        if batches:
            self.stored = self.next, dict(self.signals.stored(self.place.stored()).others)

    def _piece(self, entries: Iterable[tuple[str, str, list[Row]]]) -> LogPiece:
        data, end = b"", self.place.position
        for number, (kind, table, images) in enumerate(entries, 1):
            table_id, columns = _COLUMNS[table]
            cells = [[one.encode() if isinstance(one, str) else one for one in image] for image in images]
            bodies = [
                (EventType.GTID, Step(EventType.GTID, number=number, micros=1_700_000_000_000_000).body()),
                (EventType.QUERY, Step(EventType.QUERY, "BEGIN", thread=12).body()),
                (EventType.TABLE_MAP, table_map(table_id, columns, name=table)),
                (_KINDS[kind], rows_event(_KINDS[kind], table_id, columns, cells)),
                (EventType.XID, bytes(8)),
            ]
            for one, body in bodies:
                end += 19 + len(body)
                data += event(one, body, timestamp=1_700_000_001, server_id=5, end=end)
        buffer = writable(data)
        events = scan_events(buffer)
        return LogPiece(buffer, events, timeline(buffer, events, self.place, LogReading()))


def _no_changes() -> Any:
    return None
