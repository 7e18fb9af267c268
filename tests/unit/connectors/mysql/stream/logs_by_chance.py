"""Logs of transactions drawn by chance, and a reader that goes through them event by event, as Debezium does."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from hypothesis import strategies as st

from connect_dagster.connectors.mysql.decode.events import EventType, MariaDbGtidFlag
from tests.binlog import event

SOURCES = ("24bc7850-2c16-11e6-a073-0242ac110002", "3e11fa47-71ca-11e1-9e33-c80aa9429562")
DDL = "ALTER TABLE goods ADD x INT"


@dataclass(frozen=True)
class Step:
    """An event as it is drawn: its type and what it says."""

    kind: EventType
    text: str = ""
    source: int = 0
    number: int = 0
    micros: int = 0
    thread: int = 0
    flags: int = 0
    second: int = 1_700_000_000

    def body(self) -> bytes:
        match self.kind:
            case EventType.GTID:
                times = b"\2" + bytes(16) + struct.pack("<Q", self.micros)[:7] if self.micros else b""
                return b"\1" + UUID(SOURCES[self.source]).bytes + struct.pack("<Q", self.number) + times
            case EventType.MARIADB_GTID:
                return struct.pack("<QIB", self.number, self.source, self.flags) + bytes(6)
            case EventType.QUERY:
                return struct.pack("<IIBHH", self.thread, 0, 3, 0, 2) + b"\0\1" + b"ops\0" + self.text.encode()
            case EventType.ROWS_QUERY:
                return bytes([len(self.text)]) + self.text.encode()
            case EventType.ANNOTATE_ROWS:
                return self.text.encode()
            case _:
                return bytes(8)


def written(steps: Sequence[Step], start: int = 4) -> bytes:
    """Return the events one after the other, each with its position after it."""
    data, position = b"", start
    for step in steps:
        body = step.body()
        position += 19 + len(body)
        data += event(step.kind, body, timestamp=step.second, server_id=5 + step.source, end=position)
    return data


@dataclass
class OneByOne:
    """The state after each event (Debezium: ``BinlogOffsetContext``)."""

    gtid: str | None = None
    completed: dict[str, list[int]] = field(default_factory=dict)
    pending: tuple[str, int] | None = None
    position: int = 4
    begin: int | None = None
    events: int = 0
    micros: int | None = None
    thread: int | None = None
    query: str | None = None

    def facts(self, steps: Sequence[Step], start: int, *, commit_times: bool) -> Iterator[tuple[object, ...]]:
        """Yield for each event what holds when it is handled: ordinal, time, GTID, thread and statement."""
        position = start
        for step in steps:
            before, position = position, position + 19 + len(step.body())
            self._begun(step, before)
            inside = self.begin is not None
            own = step.second * 1_000_000
            if commit_times and step.kind is EventType.GTID:
                self.micros = step.micros or own
            yield (
                self.events if inside else -1,
                self.micros if self.micros is not None else own,
                self.gtid,
                self.thread,
                self.query,
            )
            if not commit_times:
                self.micros = own
            self._done(step, position)

    def _begun(self, step: Step, before: int) -> None:
        if step.kind in (EventType.GTID, EventType.MARIADB_GTID):
            self._complete()
            mysql = step.kind is EventType.GTID
            stream = SOURCES[step.source] if mysql else f"{step.source}-{5 + step.source}"
            self.gtid = f"{stream}{':' if mysql else '-'}{step.number}"
            self.pending = stream, step.number
        if step.kind is EventType.MARIADB_GTID or step.text == "BEGIN":
            self.begin, self.events = before, 0
            self.thread = step.thread if step.text == "BEGIN" else None
        if step.kind in (EventType.ROWS_QUERY, EventType.ANNOTATE_ROWS):
            self.query = step.text

    def _done(self, step: Step, position: int) -> None:
        self.position = position
        self.events += 1
        if step.kind is EventType.XID or step.text == "COMMIT":
            self._complete()
            self.begin = self.thread = self.query = None

    def _complete(self) -> None:
        if self.pending is not None:
            self.completed.setdefault(self.pending[0], []).append(self.pending[1])
        self.pending = None


ROWS = [EventType.TABLE_MAP, EventType.WRITE_ROWS, EventType.UPDATE_ROWS]


@st.composite
def mysql_steps(draw: st.DrawFn) -> list[Step]:
    """Draw transactions with GTIDs of two servers, and statements between them."""
    steps, numbers = [], [draw(st.integers(1, 50)), draw(st.integers(1, 50))]
    for _ in range(draw(st.integers(1, 6))):
        source = draw(st.integers(0, 1))
        second = draw(st.integers(1_700_000_000, 1_700_000_009))
        micros = draw(st.sampled_from([0, second * 1_000_000 + 5]))
        steps.append(Step(EventType.GTID, "", source, numbers[source], micros, second=second))
        numbers[source] += draw(st.integers(1, 2))
        if draw(st.booleans()):
            steps.append(Step(EventType.QUERY, DDL, source, second=second))
            continue
        steps.append(Step(EventType.QUERY, "BEGIN", source, thread=draw(st.integers(1, 9)), second=second))
        steps += draw(rows(EventType.ROWS_QUERY, source, second))
        steps.append(draw(st.sampled_from([Step(EventType.XID), Step(EventType.QUERY, "COMMIT")])))
    return steps


@st.composite
def mariadb_steps(draw: st.DrawFn) -> list[Step]:
    """Draw transactions of two domains, and statements that are one by themselves."""
    steps, numbers = [], [draw(st.integers(1, 50)), draw(st.integers(1, 50))]
    for _ in range(draw(st.integers(1, 6))):
        source, standalone = draw(st.integers(0, 1)), draw(st.booleans())
        second = draw(st.integers(1_700_000_000, 1_700_000_009))
        flags = MariaDbGtidFlag.STANDALONE if standalone else 0
        steps.append(Step(EventType.MARIADB_GTID, "", source, numbers[source], flags=flags, second=second))
        numbers[source] += draw(st.integers(1, 2))
        if standalone:
            steps.append(Step(EventType.QUERY, DDL, source, second=second))
        else:
            steps += draw(rows(EventType.ANNOTATE_ROWS, source, second))
            steps.append(Step(EventType.XID, source=source, second=second))
    return steps


@st.composite
def rows(draw: st.DrawFn, statement: EventType, source: int, second: int) -> list[Step]:
    steps = []
    for _ in range(draw(st.integers(0, 3))):
        if draw(st.booleans()):
            steps.append(Step(statement, f"UPDATE {draw(st.integers(0, 9))}", source, second=second))
        steps += [Step(kind, source=source, second=second) for kind in draw(st.lists(st.sampled_from(ROWS)))]
    return steps
