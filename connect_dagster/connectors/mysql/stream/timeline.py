"""Transactions of a piece of the log: for each event its time, its GTID, its place among the events of its transaction.

Debezium handles events one by one (``BinlogStreamingChangeEventSource``); here the same facts are columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from connect_dagster.connectors.mysql.decode.events import EventType, parse_annotate_rows, parse_rows_query
from connect_dagster.connectors.mysql.decode.kernels import Bytes, Flags, Longs
from connect_dagster.connectors.mysql.decode.scan import Events
from connect_dagster.connectors.mysql.decode.transaction_kernels import BEGIN, COMMIT, OTHER, statement_kinds
from connect_dagster.connectors.mysql.stream.gtid_columns import GtidColumns, completed_with, gtid_columns, source_of
from connect_dagster.connectors.mysql.stream.place import MICROS, Place, Transaction

_BEATS = [EventType.HEARTBEAT, EventType.HEARTBEAT_V2]
_ALONE = [EventType.ROTATE, EventType.FORMAT_DESCRIPTION, EventType.INCIDENT]
_STATEMENTS = {EventType.ROWS_QUERY: parse_rows_query, EventType.ANNOTATE_ROWS: parse_annotate_rows}
_NOWHERE = -(1 << 62)


@dataclass(frozen=True, slots=True)
class LogReading:
    """Facts about a server and a connector that decide on the meaning of events.

    Attributes:
        gtids: whether GTIDs count.
        commit_times: whether rows have the time of their commit, which MySQL's GTIDs have, not that of an event.
        queries: whether records have the statements that changed rows.
    """

    gtids: bool = True
    commit_times: bool = True
    queries: bool = False


@dataclass(frozen=True, slots=True)
class Timeline:
    """Facts about each event of a piece of the log.

    Attributes:
        before: the place before the events.
        after: the place after them.
        position: of each event in the file; of the last one before it that has one, as MariaDB's have none since 11.4
            inside of transactions.
        ordinal: number of the events of its transaction before each event; -1 outside of one.
        transaction: number of the last transaction that has begun; 0 for the one before the events.
        commits: whether each event commits a transaction.
        micros: microseconds since 1970.
        thread: of the server; -1 for none.
    """

    before: Place
    after: Place
    position: Longs
    ordinal: Longs
    transaction: Longs
    commits: Flags
    micros: Longs
    thread: Longs
    _gtid: Longs
    _gtids: GtidColumns
    _query: Longs
    _queries: tuple[str, ...]

    def gtids(self, events: Longs) -> pa.Array:
        """Return the GTIDs of events as texts; null where there are none."""
        known = pa.concat_arrays([pa.array([self.before.gtid], pa.string()), self._gtids.texts])
        return known.take(pa.array(self._gtid[events] + 1))

    def of_sources(self, keep: Callable[[str], bool]) -> Flags:
        """Return which events are in transactions of sources that a filter keeps; those without a GTID are."""
        carried = True if self.before.gtid is None else keep(source_of(self.before.gtid))
        kept = np.array([carried, *map(keep, self._gtids.sources)], np.bool_)
        source = np.append(self._gtids.source + 1, 0)
        found: Flags = kept[np.where(self._gtid >= 0, source[self._gtid], 0)]
        return found

    def queries(self, events: Longs) -> pa.Array:
        """Return the statements that changed the rows of events; null where they are not known."""
        known = pa.array([None, self.before.query, *self._queries], pa.string())
        return known.take(pa.array(self._query[events] + 2))

    def is_sent(self, events: Longs, rows: Longs) -> Flags:
        """Return which rows, by their events and their numbers in these, were sent before a restart."""
        done, rows_done = self.before.skipped
        if (done, rows_done) == (0, 0):
            return np.zeros(len(events), np.bool_)
        ordinal = self.ordinal[events]
        resumed = (self.transaction[events] == _resumed(self.before)) & (ordinal >= 0)
        sent: Flags = resumed & ((ordinal < done) | ((ordinal == done) & (rows < rows_done)))
        return sent


def without_beats(events: Events) -> Events:
    """Return the events without heartbeats, which are in no file: a log that is read again has others."""
    beats = np.isin(events.type, _BEATS)
    return Events(events.matrix[:, ~beats]) if beats.any() else events


def lone_events(buffer: Bytes, events: Events) -> list[int]:
    """Return the indices of events after which nothing may be as before: statements that change tables, other files."""
    queries = np.flatnonzero(events.type == EventType.QUERY)
    lone = np.isin(events.type, _ALONE)
    lone[queries[_statements(buffer, events, queries)[0] == OTHER]] = True
    found: list[int] = np.flatnonzero(lone).tolist()
    return found


def timeline(buffer: Bytes, events: Events, before: Place, reading: LogReading) -> Timeline:
    """Return the facts about events.

    Args:
        buffer: has the events' bodies.
        events: at least one; without heartbeats, and without those that are compressed.
        before: the place before them.
        reading: what counts.
    """
    found, gtids = gtid_columns(buffer, events) if reading.gtids else (_NO_LONGS, _NO_GTIDS)
    queries = np.flatnonzero(events.type == EventType.QUERY)
    kinds, threads = _statements(buffer, events, queries)
    begins, commits = np.zeros(len(events), np.bool_), events.type == EventType.XID
    begins[queries[kinds == BEGIN]] = True
    commits[queries[kinds == COMMIT]] = True
    if gtids.begins:
        begins[found] = True
    spans = _spans(begins, commits, before)
    thread = np.full(len(events), -1)
    thread[queries] = threads
    query, texts = _queries(buffer, events, spans, before) if reading.queries else (_all(events, -2), ())
    micros, micros_after = _times(events, found, gtids, before, reading)
    made = Timeline(
        before,
        replace(before, micros=micros_after),
        _positions(events, before),
        spans.ordinal,
        np.cumsum(begins),
        commits,
        micros,
        spans.of_begin(thread, -1 if before.thread is None else before.thread),
        _last_of(found, len(events), -1),
        gtids,
        query,
        texts,
    )
    return replace(made, after=_after(events, made, spans, found))


@dataclass(frozen=True, slots=True)
class _Spans:
    """Transactions as indices of events.

    Attributes:
        begin: of the event that began the transaction of each event; negative for one that had begun before.
        inside: whether each event is in a transaction, to which its commit belongs.
        open_end: whether the last event leaves one open.
        commit: of the last one before each event, or far below.
        last_commit: of all.
    """

    begin: Longs
    inside: Flags
    open_end: bool
    commit: Longs
    last_commit: int

    @property
    def ordinal(self) -> Longs:
        return np.where(self.inside, np.arange(len(self.begin)) - self.begin, -1)

    def of_begin(self, values: Longs, carried: int) -> Longs:
        """Return for each event the value at the beginning of its transaction; -1 outside of one."""
        known = np.where(self.begin >= 0, values[np.maximum(self.begin, 0)], carried)
        return np.where(self.inside, known, -1)


def _spans(begins: Flags, commits: Flags, before: Place) -> _Spans:
    index = np.arange(len(begins))
    begin, commit = (np.where(those, index, _NOWHERE) for those in (begins, commits))
    if before.transaction is not None:
        begin[0] = max(int(begin[0]), -before.transaction.events)
    begin, commit = np.maximum.accumulate(begin), np.maximum.accumulate(commit)
    earlier = np.append(_NOWHERE, commit[:-1])
    inside = begin > earlier
    return _Spans(begin, inside, bool(inside[-1] and not commits[-1]), earlier, int(commit[-1]))


def _statements(buffer: Bytes, events: Events, queries: Longs) -> tuple[Longs, Longs]:
    kinds, threads = np.empty(len(queries), np.int64), np.empty(len(queries), np.int64)
    statement_kinds(buffer, events.body[queries], events.length[queries], kinds, threads)
    return kinds, threads


def _positions(events: Events, before: Place) -> Longs:
    placed = np.flatnonzero(events.position > 0)
    last = _last_of(placed, len(events), -1)
    return np.where(last >= 0, np.append(events.position[placed], 0)[last], before.last_event)


def _times(
    events: Events, found: Longs, gtids: GtidColumns, before: Place, reading: LogReading
) -> tuple[Longs, int | None]:
    """Return the time of each event, and that of the events after them.

    It is that of the transaction's commit, or of the event before, as Debezium takes it.
    """
    own = events.timestamp * MICROS
    if reading.gtids and reading.commit_times:
        last, times = _last_of(found, len(events), -1), gtids.micros
    else:
        timed = np.flatnonzero(own > 0)
        last, times = np.append(-1, _last_of(timed, len(events), -1)[:-1]), own[timed]
    carried = own if before.micros is None else _all(events, before.micros)
    return np.where(last >= 0, np.append(times, 0)[last], carried), int(times[-1]) if len(times) else before.micros


def _queries(buffer: Bytes, events: Events, spans: _Spans, before: Place) -> tuple[Longs, tuple[str, ...]]:
    """Return the index of each event's statement, and these; -1 for the one before, -2 for none."""
    found = np.flatnonzero(np.isin(events.type, list(_STATEMENTS)))
    texts = tuple(_STATEMENTS[EventType(int(events.type[at]))](events.body_bytes(buffer, at)) for at in found.tolist())
    last = _last_of(found, len(events), -1)
    place = np.where(last >= 0, np.append(found, 0)[last], -1)
    return np.where(place > spans.commit, last, -2), texts


def _last_of(found: Longs, count: int, none: int) -> Longs:
    """Return for each of some events the number of the last one of those found up to it."""
    last = np.full(count, none)
    last[found] = np.arange(len(found))
    accumulated: Longs = np.maximum.accumulate(last) if count else last
    return accumulated


def _after(events: Events, made: Timeline, spans: _Spans, found: Longs) -> Place:
    before = made.before
    transaction = None
    if spans.open_end:
        start, done = int(spans.begin[-1]), int(made.ordinal[-1]) + 1
        if start >= 0:
            standalone = made._gtids.begins and bool(made._gtids.standalone[np.searchsorted(found, start)])
            transaction = Transaction(int(events.position[start]), done, standalone)
        elif before.transaction is not None:
            transaction = replace(before.transaction, events=done)
    last = len(events) - 1
    ends = events.end_position[events.end_position > 0]
    texts = made.gtids(np.array([last]))
    return replace(
        _completed(made, found, spans),
        position=int(ends[-1]) if len(ends) else before.position,
        last_event=int(made.position[-1]),
        transaction=transaction,
        gtid=texts[0].as_py(),
        thread=int(made.thread[-1]) if spans.open_end and made.thread[-1] >= 0 else None,
        query=made.queries(np.array([last]))[0].as_py() if spans.open_end else None,
        server_id=int(events.server_id[-1]),
        skipped=before.skipped if _is_resumed_after(made, spans.open_end) else (0, 0),
    )


def _completed(made: Timeline, found: Longs, spans: _Spans) -> Place:
    """Return the place with the transactions that are done; the last one is where it is committed."""
    before, gtids = made.after, made._gtids
    completed = before.completed
    if completed is None:
        return before
    if before.pending is not None and (len(found) or spans.last_commit >= 0):
        completed = completed_with(completed, before.pending)
    elif before.pending is not None:
        return before
    if not len(found):
        return replace(before, completed=completed, pending=None)
    is_done = spans.last_commit > int(found[-1])
    completed = gtids.added_to(completed, len(gtids) if is_done else len(gtids) - 1)
    return replace(before, completed=completed, pending=None if is_done else gtids.texts[-1].as_py())


def _resumed(before: Place) -> int:
    """Return the number of the transaction of which a part was sent before a restart."""
    return 0 if before.transaction is not None else 1


def _is_resumed_after(made: Timeline, is_open: bool) -> bool:
    begun, resumed = int(made.transaction[-1]), _resumed(made.before)
    return begun < resumed or (begun == resumed and is_open)


def _all(events: Events, value: int) -> Longs:
    return np.full(len(events), value)


_NO_LONGS: Longs = np.empty(0, np.int64)
_NO_GTIDS = GtidColumns((), _NO_LONGS, _NO_LONGS, _NO_LONGS, False, np.zeros(0, np.bool_))
