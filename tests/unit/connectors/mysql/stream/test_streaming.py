"""Batches of a stream: which of them has the offset, and what signals add."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import pyarrow as pa

from connect_dagster.connectors.mysql.decode.events import EventType
from connect_dagster.connectors.mysql.metric_groups import MetricPlace
from connect_dagster.connectors.mysql.positions.gtid import MySqlGtidSet
from connect_dagster.connectors.mysql.positions.position import Position
from connect_dagster.connectors.mysql.records.change_records import RecordChoice
from connect_dagster.connectors.mysql.records.record_tables import RecordParts
from connect_dagster.connectors.mysql.records.source_info import SourceConstants
from connect_dagster.connectors.mysql.stream.change_tables import ChangeTable, ChangeTables
from connect_dagster.connectors.mysql.stream.log_stream import LogPiece, LogStream
from connect_dagster.connectors.mysql.stream.place import Place
from connect_dagster.connectors.mysql.stream.streaming import Streaming
from connect_dagster.connectors.mysql.stream.streaming_metrics import StreamingMetrics
from connect_dagster.plugin.frames import SourceTable
from connect_dagster.testing.contexts import CollectedMetrics
from tests.unit.connectors.mysql.stream.test_change_tables import DELETE, INSERT, MAP, NOW, Known, piece

PARTITION = {"server": "shop"}


class Stream:
    """Gives pieces, and nothing where they are at their end."""

    def __init__(self, *pieces: LogPiece | None) -> None:
        self.place = Place("log.000001", 4, completed=MySqlGtidSet())
        self._pieces = deque(pieces)

    def next(self, _: float) -> LogPiece | None:
        found = self._pieces.popleft() if self._pieces else None
        if found is not None:
            self.place = found.times.after
        return found


class Signals:
    """Adds batches of a topic."""

    def __init__(self, *, after: int = 0, idle: int = 0) -> None:
        self._after, self._idle = after, idle
        self.seen: list[list[str]] = []

    def stored(self, position: Position) -> Position:
        return replace(position, others=(("more", 1),))

    def after(self, _: LogPiece, changes: Sequence[ChangeTable], __: Place) -> list[SourceTable]:
        self.seen.append([one.captured.topic for one in changes])
        return self._made(self._after)

    def idle(self, _: Place) -> list[SourceTable]:
        return self._made(self._idle)

    def _made(self, count: int) -> list[SourceTable]:
        return [SourceTable(pa.table({"value": ["x"]}), {}, None, topic="notices") for _ in range(count)]


def streaming(signals: Signals, *pieces: LogPiece | None) -> Streaming:
    parts = RecordParts(SourceConstants("3.6.1.Final", "mysql", "shop"), {}, lambda _, __: None)
    changes = ChangeTables(Known(), RecordChoice(), parts, None, lambda: NOW)
    stream = cast("LogStream", Stream(*pieces))
    metrics = StreamingMetrics(CollectedMetrics(), MetricPlace("mysql", "shop"), lambda: NOW)
    return Streaming(stream, changes, cast("Any", None), signals, PARTITION, metrics)


def offsets(batches: list[SourceTable] | None) -> list[tuple[str | None, bool]]:
    return [(one.topic, one.source_offset is not None) for one in batches or []]


def test_the_last_batch_has_the_offset() -> None:
    signals = Signals()
    reading = streaming(signals, piece(MAP, INSERT, DELETE))
    (batch,) = reading.next(0) or []
    assert signals.seen == [["shop.ops.goods"]]
    assert (batch.source_partition, batch.source_offset) == (
        PARTITION,
        {**reading.position.offset(), "more": 1},
    )


def test_what_signals_add_comes_last() -> None:
    reading = streaming(Signals(after=2), piece(MAP, INSERT))
    assert offsets(reading.next(0)) == [("shop.ops.goods", False), ("notices", False), ("notices", True)]


def test_signals_may_add_to_a_piece_without_records() -> None:
    reading = streaming(Signals(after=1), piece((EventType.ROWS_QUERY, b"\1x")))
    assert offsets(reading.next(0)) == [("notices", True)]


def test_nothing_comes() -> None:
    assert streaming(Signals()).next(0) is None
    assert offsets(streaming(Signals(idle=1)).next(0)) == [("notices", True)]
