"""Transaction metadata against a count of records one by one, as Debezium's `TransactionMonitor` has it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from connect_dagster.connectors.mysql.decode.events import EventType
from connect_dagster.connectors.mysql.decode.kernels import writable
from connect_dagster.connectors.mysql.decode.scan import scan_events
from connect_dagster.connectors.mysql.records.captured_table import CapturedTable
from connect_dagster.connectors.mysql.stream.change_tables import ChangeTable
from connect_dagster.connectors.mysql.stream.log_stream import LogPiece
from connect_dagster.connectors.mysql.stream.place import Place
from connect_dagster.connectors.mysql.stream.timeline import LogReading, timeline
from connect_dagster.connectors.mysql.stream.transactions import OpenTransaction, TransactionMonitor
from connect_dagster.connectors.mysql.table_ids import TableId
from tests.unit.connectors.mysql.stream.logs_by_chance import SOURCES, Step, written

MILLISECONDS = 1_700_000_000_000
READING = LogReading(commit_times=False)
BLOCK = pa.struct({"id": pa.string(), "total_order": pa.int64(), "data_collection_order": pa.int64()})
VALUE = pa.struct({"number": pa.int64(), "transaction": BLOCK, "op": pa.string()})


@dataclass(frozen=True)
class Row:
    """A record of a table: a tombstone, or a number that no other has."""

    table: str
    number: int
    tombstone: bool


@dataclass(frozen=True)
class Event:
    """An event, with the records that its rows have."""

    step: Step
    rows: tuple[Row, ...] = ()


@dataclass
class Counted:
    """Compute the expected records and boundaries."""

    blocks: dict[int, tuple[str, int, int]] = field(default_factory=dict)
    boundaries: list[dict[str, Any]] = field(default_factory=list)


@st.composite
def logs(draw: st.DrawFn) -> list[Event]:
    """Draw transactions with and without GTIDs, rows of some tables in them."""
    events: list[Event] = []
    numbers = iter(range(10_000))
    for number in range(draw(st.integers(1, 5))):
        if draw(st.booleans()):
            events.append(Event(Step(EventType.GTID, number=number + 1)))
        events.append(Event(Step(EventType.QUERY, "BEGIN", thread=7)))
        for _ in range(draw(st.integers(0, 3))):
            table = draw(st.sampled_from(["goods", "orders"]))
            tombstones = draw(st.lists(st.booleans(), max_size=3))
            rows = tuple(Row(table, next(numbers), dead) for dead in tombstones)
            events.append(Event(Step(EventType.WRITE_ROWS), rows))
        commit = draw(st.sampled_from([Step(EventType.XID), Step(EventType.QUERY, "COMMIT")]))
        events.append(Event(commit))
    return events


def one_by_one(events: Sequence[Event]) -> Counted:
    """Count as Debezium does."""
    found, gtid, position = Counted(), None, 4
    name, counts = "", dict[str, int]()
    for event in events:
        start, position = position, position + len(written([event.step]))
        match event.step:
            case Step(EventType.GTID, number=number):
                gtid = f"{SOURCES[0]}:{number}"
            case Step(EventType.QUERY, "BEGIN"):
                name, counts = gtid or f"file=log.000001,pos={start}", {}
                found.boundaries.append(boundary("BEGIN", name, None))
            case Step(EventType.WRITE_ROWS):
                for row in (row for row in event.rows if not row.tombstone):
                    table = f"ops.{row.table}"
                    counts[table] = counts.get(table, 0) + 1
                    found.blocks[row.number] = (name, sum(counts.values()), counts[table])
            case _:
                found.boundaries.append(boundary("END", name, counts))
    return found


def boundary(status: str, name: str, counts: dict[str, int] | None) -> dict[str, Any]:
    count = None if counts is None else sum(counts.values())
    lists = None if counts is None else dict(counts)
    return {"status": status, "id": name, "event_count": count, "data_collections": lists, "ts_ms": MILLISECONDS}


def read(
    events: Sequence[Event], cuts: Sequence[int], before: Place, monitor: TransactionMonitor
) -> Iterator[tuple[Place, Counted]]:
    """Read events in pieces; yield the place after each piece and what its records have."""
    data = writable(written([event.step for event in events], before.position))
    scanned, place = scan_events(data), before
    for start, end in zip((0, *cuts), (*cuts, len(events)), strict=True):
        between = scanned.between(start, end)
        piece = LogPiece(data, between, timeline(data, between, place, READING))
        made, batches = monitor.numbered(piece, changes(events[start:end], piece))
        place = piece.times.after
        found = Counted()
        for record in (one["value"] for table in made for one in table.rows.to_pylist()):
            if record is not None:
                found.blocks[record["number"]] = tuple(record["transaction"].values())
        for record in (one for batch in batches for one in batch.table.to_pylist()):
            assert record["key"] == {"id": record["value"]["id"]}
            lists = record["value"]["data_collections"]
            counts = lists if lists is None else {one["data_collection"]: one["event_count"] for one in lists}
            found.boundaries.append({**record["value"], "data_collections": counts})
        yield place, found


def changes(events: Sequence[Event], piece: LogPiece) -> list[ChangeTable]:
    """Return the records of rows by table, without those that were sent before a restart."""
    found = []
    for table in ("goods", "orders"):
        rows = [(at, row) for at, event in enumerate(events) for row in event.rows if row.table == table]
        places = np.array([at for at, _ in rows], np.int64)
        kept = ~piece.times.is_sent(places, np.zeros(len(rows), np.int64))
        values = [None if row.tombstone else {"number": row.number, "op": "c"} for _, row in rows]
        array = pa.array(values, VALUE).filter(pa.array(kept))
        captured = cast("CapturedTable", SimpleNamespace(id=TableId("ops", table)))
        if len(array):
            event = places[kept]
            found.append(ChangeTable(captured, pa.table({"value": array}), event, np.zeros(len(event), np.int64)))
    return found


def together(parts: Sequence[Counted]) -> Counted:
    blocks = {number: block for part in parts for number, block in part.blocks.items()}
    return Counted(blocks, [one for part in parts for one in part.boundaries])


def cuts_of(events: Sequence[Event], drawn: Sequence[int]) -> list[int]:
    return sorted({1 + at % len(events) for at in drawn} - {len(events)})


START = Place("log.000001", 4)


@given(logs(), st.lists(st.integers(0, 100), max_size=6))
def test_pieces_of_any_size(events: list[Event], drawn: list[int]) -> None:
    monitor = TransactionMonitor("shop.transaction")
    parts = [found for _, found in read(events, cuts_of(events, drawn), START, monitor)]
    assert together(parts) == one_by_one(events)
    assert monitor.entries() == {}


@given(logs(), st.integers(0, 100), st.data())
def test_a_restart_goes_on_with_the_numbers(events: list[Event], cut: int, data: st.DataObject) -> None:
    stopped = 1 + cut % len(events)
    monitor = TransactionMonitor("shop.transaction")
    ((place, before),) = read(events[:stopped], [], START, monitor)
    stored = place.stored()
    again = TransactionMonitor("shop.transaction")
    again.restore(monitor.entries())
    sizes = np.cumsum([4, *(len(written([event.step])) for event in events)])
    index = int(np.searchsorted(sizes, stored.position))
    rest = events[index:]
    more = cuts_of(rest, data.draw(st.lists(st.integers(0, 100), max_size=4))) if rest else []
    resumed = replace(Place.at(stored, None), gtid=place.gtid)
    after = [found for _, found in read(rest, more, resumed, again)] if rest else []
    assert together([before, *after]) == one_by_one(events)


def test_entries_of_offsets() -> None:
    entries = {"transaction_id": "u:7", "transaction_data_collection_order_ops.goods": 3}
    known = OpenTransaction.of({"file": "log.000001", **entries})
    assert known == OpenTransaction("u:7", {"ops.goods": 3})
    assert known is not None
    assert known.entries() == entries
    assert OpenTransaction.of({"file": "log.000001"}) is None
