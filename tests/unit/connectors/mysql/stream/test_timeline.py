"""Facts of transactions as columns, compared with a reader that goes event by event, however a log is cut."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect_dagster.connectors.mysql.decode.events import EventType
from connect_dagster.connectors.mysql.decode.kernels import writable
from connect_dagster.connectors.mysql.decode.scan import scan_events
from connect_dagster.connectors.mysql.positions.gtid import GtidSet, MariaDbGtidSet, MySqlGtidSet
from connect_dagster.connectors.mysql.positions.position import Position
from connect_dagster.connectors.mysql.stream.place import Place, Transaction
from connect_dagster.connectors.mysql.stream.timeline import LogReading, lone_events, timeline, without_beats
from tests.binlog import event
from tests.unit.connectors.mysql.stream.logs_by_chance import (
    DDL,
    SOURCES,
    OneByOne,
    Step,
    mariadb_steps,
    mysql_steps,
    written,
)

START = Place("log.000001", 4, completed=MySqlGtidSet())


def completed_of(walk: OneByOne, empty: GtidSet) -> str:
    for stream, numbers in walk.completed.items():
        for number in numbers:
            if isinstance(empty, MariaDbGtidSet):
                domain, server = map(int, stream.split("-"))
                empty = empty.plus(domain, server, number)
            else:
                empty = empty.plus(stream, number)
    return str(empty)


def check(steps: list[Step], lengths: list[int], empty: GtidSet, reading: LogReading) -> None:
    walk, place, position = OneByOne(), replace(START, completed=empty), 4
    while steps:
        piece, steps = steps[: lengths[0]], steps[lengths[0] :]
        lengths = [*lengths[1:], lengths[0]]
        data = written(piece, position)
        buffer = writable(data)
        events = scan_events(buffer)
        found = timeline(buffer, events, place, reading)
        every = np.arange(len(events))
        columns = [
            found.ordinal.tolist(),
            found.micros.tolist(),
            found.gtids(every).to_pylist(),
            [None if thread < 0 else thread for thread in found.thread.tolist()],
            found.queries(every).to_pylist(),
        ]
        expected = list(walk.facts(piece, position, commit_times=reading.commit_times))
        assert list(zip(*columns, strict=True)) == expected
        place, position = found.after, position + len(data)
        stored = place.stored()
        if isinstance(empty, MySqlGtidSet):  # in MariaDB the last of a domain is what matters
            assert stored.gtids or completed_of(walk, empty) == ""
        assert stored.position == (walk.position if walk.begin is None else walk.begin)
        assert stored.events == (0 if walk.begin is None else walk.events)


@given(mysql_steps(), st.lists(st.integers(1, 8), min_size=1))
def test_a_log_of_mysql(steps: list[Step], lengths: list[int]) -> None:
    check(steps, lengths, MySqlGtidSet(), LogReading(queries=True))


@given(mysql_steps(), st.lists(st.integers(1, 8), min_size=1))
def test_times_of_events(steps: list[Step], lengths: list[int]) -> None:
    check(steps, lengths, MySqlGtidSet(), LogReading(commit_times=False, queries=True))


@given(mariadb_steps(), st.lists(st.integers(1, 8), min_size=1))
def test_a_log_of_mariadb(steps: list[Step], lengths: list[int]) -> None:
    check(steps, lengths, MariaDbGtidSet(), LogReading(commit_times=False, queries=True))


ROW_EVENT = Step(EventType.WRITE_ROWS)
TRANSACTION = [Step(EventType.QUERY, "BEGIN"), Step(EventType.TABLE_MAP), ROW_EVENT, ROW_EVENT, Step(EventType.XID)]


def sent(place: Place, steps: list[Step], rows: int = 3) -> tuple[list[list[int]], Place]:
    """Return for each row event the rows that were sent before, of three in each, and the place after."""
    buffer = writable(written(steps))
    events = scan_events(buffer)
    found = timeline(buffer, events, place, LogReading())
    those = np.flatnonzero(events.type == EventType.WRITE_ROWS)
    number = np.arange(rows)
    return [number[found.is_sent(np.repeat(one, rows), number)].tolist() for one in those.tolist()], found.after


@pytest.mark.parametrize(
    ("skipped", "expected"),
    [
        ((0, 0), [[], []]),
        ((2, 0), [[], []]),
        ((2, 2), [[0, 1], []]),
        ((2, 3), [[0, 1, 2], []]),
        ((3, 0), [[0, 1, 2], []]),
        ((3, 1), [[0, 1, 2], [0]]),
        ((4, 0), [[0, 1, 2], [0, 1, 2]]),
    ],
)
def test_rows_that_were_sent_before_a_restart(skipped: tuple[int, int], expected: list[list[int]]) -> None:
    place = replace(START, skipped=skipped)
    assert sent(place, [*TRANSACTION, *TRANSACTION])[0] == [*expected, [], []]
    for cut in range(1, len(TRANSACTION)):
        first, between = sent(place, TRANSACTION[:cut])
        second, after = sent(between, [*TRANSACTION[cut:], *TRANSACTION])
        assert [*first, *second] == [*expected, [], []]
        assert after.skipped == (0, 0)


def test_an_offset_inside_of_a_transaction_leads_back_to_it() -> None:
    steps = [Step(EventType.GTID, number=7), *TRANSACTION]
    buffer = writable(written(steps))
    for count in range(1, len(steps) + 1):
        events = scan_events(buffer).between(0, count)
        stored = timeline(buffer, events, START, LogReading()).after.stored()
        begin = 4 + 19 + len(steps[0].body())
        if 2 <= count < len(steps):
            assert (stored.position, stored.events, stored.gtids) == (begin, count - 1, "")
            assert Place.at(stored, MySqlGtidSet()).skipped == (count - 1, 0)
        else:
            assert (stored.position, stored.events) == (int(events.end_position[-1]), 0)
    assert stored.gtids == f"{SOURCES[0]}:7-7"


def test_a_statement_and_the_place_after_it() -> None:
    steps = [Step(EventType.GTID, number=7), Step(EventType.QUERY, DDL)]
    buffer = writable(written(steps))
    events = scan_events(buffer)
    assert lone_events(buffer, events) == [1]
    before = timeline(buffer, events.between(0, 1), START, LogReading()).after
    end = int(events.end_position[1])
    assert before.at_statement(end, 5).stored() == Position("log.000001", end, "", server_id=5, timestamp=1_700_000_000)
    after = timeline(buffer, events.between(1, 2), before, LogReading()).after.after_statement()
    assert after.stored().gtids == f"{SOURCES[0]}:7-7"


def test_a_statement_of_mariadb_is_the_second_event_of_its_transaction() -> None:
    steps = [Step(EventType.MARIADB_GTID, number=7, flags=1), Step(EventType.QUERY, DDL)]
    buffer = writable(written(steps))
    events = scan_events(buffer)
    start, reading = replace(START, completed=MariaDbGtidSet()), LogReading(commit_times=False)
    before = timeline(buffer, events.between(0, 1), start, reading).after
    assert before.transaction == Transaction(4, 1, standalone=True)
    stored = before.at_statement(int(events.end_position[1]), 5).stored()
    assert (stored.position, stored.events, stored.gtids) == (4, 1, "")
    after = timeline(buffer, events.between(1, 2), before, reading).after.after_statement().stored()
    assert (after.position, after.events, after.gtids) == (int(events.end_position[1]), 0, "0-5-7")


def test_a_statement_before_the_rows_of_its_transaction_does_not_end_it() -> None:
    """CREATE TABLE with SELECT is logged as BEGIN, CREATE TABLE and rows."""
    steps = [Step(EventType.GTID, number=7), Step(EventType.QUERY, "BEGIN"), Step(EventType.QUERY, DDL)]
    buffer = writable(written(steps))
    events = scan_events(buffer)
    before = timeline(buffer, events.between(0, 2), START, LogReading()).after
    after = timeline(buffer, events.between(2, 3), before, LogReading()).after.after_statement()
    stored = after.stored()
    assert (stored.position, stored.events, stored.gtids) == (int(events.end_position[0]), 2, "")
    assert after.thread == before.thread


def test_a_statement_of_mariadb_within_a_transaction_does_not_end_it() -> None:
    """SAVEPOINT, or CREATE TABLE with SELECT; the commit comes later."""
    steps = [Step(EventType.MARIADB_GTID, number=7), Step(EventType.QUERY, DDL)]
    buffer = writable(written(steps))
    events = scan_events(buffer)
    start, reading = replace(START, completed=MariaDbGtidSet()), LogReading(commit_times=False)
    before = timeline(buffer, events.between(0, 1), start, reading).after
    stored = timeline(buffer, events.between(1, 2), before, reading).after.after_statement().stored()
    assert (stored.position, stored.events, stored.gtids) == (4, 2, "")


def test_other_files_and_statements_stand_alone() -> None:
    kinds = [EventType.ROTATE, EventType.XID, EventType.FORMAT_DESCRIPTION, EventType.TABLE_MAP, EventType.INCIDENT]
    statements = [Step(EventType.QUERY, text) for text in ("commit", "Begin", "XA END 'x'", "BEGIN2", "")]
    buffer = writable(b"".join(event(kind, bytes(8)) for kind in kinds) + written(statements))
    assert lone_events(buffer, scan_events(buffer)) == [0, 2, 4, 7, 8, 9]


def test_heartbeats_are_no_events_of_the_log() -> None:
    beats = event(EventType.HEARTBEAT, b"log") + event(EventType.XID, bytes(8)) + event(EventType.HEARTBEAT_V2, b"")
    buffer = writable(beats)
    assert without_beats(scan_events(buffer)).type.tolist() == [EventType.XID]
