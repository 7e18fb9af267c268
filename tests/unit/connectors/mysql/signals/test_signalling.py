"""Signals of a table: what is done, and the one warning of a bad one."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any, cast

import pytest

from connect_dagster.connectors.mysql.flavor import Flavor
from connect_dagster.connectors.mysql.incremental.context import IncrementalContext
from connect_dagster.connectors.mysql.incremental.keys import NO_KEY
from connect_dagster.connectors.mysql.incremental.snapshot_tables import SnapshotTable, stored_tables
from connect_dagster.connectors.mysql.positions.position import Position
from connect_dagster.connectors.mysql.records.heartbeats import heartbeat_batch
from connect_dagster.connectors.mysql.signals.signal import Signal
from connect_dagster.connectors.mysql.signals.signal_actions import ActionParts, SignalActions
from connect_dagster.connectors.mysql.signals.signalling import SignalChannels, Signalling
from connect_dagster.connectors.mysql.stream.place import Place
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.plugin.frames import SourceTable
from tests.unit.connectors.mysql.incremental.simulated_server import NOW, Connector, SimulatedServer

UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.message for one in caplog.records if one.levelno >= logging.WARNING]


def test_a_message_for_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    connector = Connector(SimulatedServer())
    connector.server.signal("1", "log", message="at {} and {}")
    connector.deliver(1)
    (text,) = [one.message for one in caplog.records if one.message.startswith("at ")]
    assert text.startswith("at {ts_sec=1700000000, file=log.000001, pos=")
    assert text.endswith("} and {}")


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (("1", "nothing", "{}"), "The signal 1 of type nothing is passed over: its type is not one of"),
        (("1", "execute-snapshot", "{}"), "its data has no data-collections"),
        (("1", "execute-snapshot", '{"data-collections":["goods"]}'), "matches no table and names none: goods"),
        (("1", "stop-snapshot", ""), "no incremental snapshot reads any of .*"),
        (("1", "set-binlog-position", '{"gtid_set":"0-1-1"}'), "its gtid_set is not of this kind of server: 0-1-1"),
    ],
)
def test_a_bad_signal_is_one_warning(row: tuple[str, ...], reason: str, caplog: pytest.LogCaptureFixture) -> None:
    connector = Connector(SimulatedServer({1: "v1"}))
    connector.server.signal_row(*row)
    connector.deliver(1)
    (warning,) = warnings(caplog)
    assert reason in warning
    assert not connector.context.is_running
    assert connector.actions.chosen_position is None


def test_updates_and_deletes_of_signals_are_none(caplog: pytest.LogCaptureFixture) -> None:
    connector = Connector(SimulatedServer({1: "v1"}))
    row = ("1", "execute-snapshot", '{"data-collections":["ops.goods"]}')
    connector.server.log += [("u", "signals", [row, row]), ("d", "signals", [row])]
    connector.deliver(2)
    assert not connector.context.is_running


def test_marks_that_nobody_expects_are_passed_over() -> None:
    connector = Connector(SimulatedServer({1: "v1"}))
    connector.server.signal_row("x-open", "snapshot-window-open", "{}")
    connector.server.signal_row("x-close", "snapshot-window-close", "{}")
    connector.deliver(2)
    assert connector.topics.reads() == []


def actions(flavor: Flavor = Flavor.MYSQL, schema_changes: Any = None) -> SignalActions:
    return SignalActions(ActionParts(flavor, schema_changes, None, lambda: NOW))


PLACE = Place("binlog.000009", 900, last_event=850, micros=1_700_000_000_000_000, gtid=f"{UUID}:5")


def test_snapshots_need_a_table_of_signals(caplog: pytest.LogCaptureFixture) -> None:
    for kind, data in [
        ("execute-snapshot", '{"data-collections":["a.b"]}'),
        ("stop-snapshot", ""),
        ("pause-snapshot", ""),
        ("resume-snapshot", ""),
    ]:
        assert actions().act(Signal(None, kind, data), PLACE) == []
    assert [one.count("give the connector signal.data.collection") for one in warnings(caplog)] == [1, 1, 1, 1]


class Topic:
    """Has signals once."""

    def __init__(self, signals: list[Signal]) -> None:
        self._signals = signals

    def read(self) -> list[Signal]:
        found, self._signals = self._signals, []
        return found


def test_a_snapshot_that_cannot_go_on_stays_in_the_offset(caplog: pytest.LogCaptureFixture) -> None:
    entries = {
        "incremental_snapshot_primary_key": NO_KEY,
        "incremental_snapshot_maximum_key": NO_KEY,
        "incremental_snapshot_collections": stored_tables([SnapshotTable(TableId("ops", "goods"))]),
        "incremental_snapshot_correlation_id": "s1",
    }
    signals = Signalling(SignalChannels(), actions(), IncrementalContext(), None, None)
    signals.restore({**entries, "transaction_id": "x"})
    assert warnings(caplog) == ["The incremental snapshot of ops.goods waits for a signal.data.collection"]
    assert dict(signals.stored(Position("b.000003", 4)).others) == entries


def test_a_chosen_position_is_stored_from_then_on() -> None:
    sent = []

    def beat() -> SourceTable:
        sent.append(1)
        return heartbeat_batch("beats", "shop", NOW // 1000)

    acting = actions()
    topic = Topic([Signal("1", "set-binlog-position", '{"binlog_filename":"b.000003","binlog_position":4}')])
    signals = Signalling(SignalChannels(topic=cast("Any", topic)), acting, IncrementalContext(), None, beat)
    reached = Position("binlog.000009", 900, f"{UUID}:1-5", 2, 1, 5, 1_700_000_000)
    assert signals.stored(reached) == reached
    made = signals.idle(PLACE)
    assert [one.topic for one in made] == ["beats"]
    record = {"key": {"serverName": "shop"}, "value": {"ts_ms": NOW // 1000}, "partition": 0}
    assert made[0].table.to_pylist() == [record]
    chosen = signals.stored(reached)
    assert (chosen.file, chosen.position, chosen.gtids, chosen.events, chosen.rows) == ("b.000003", 4, None, 0, 0)
    acting.act(Signal("1", "set-binlog-position", f'{{"gtid_set":"{UUID}:1-7"}}'), replace(PLACE))
    assert signals.stored(reached).gtids == f"{UUID}:1-7"
    assert len(sent) == 1


class Changes:
    """Takes the changes of tables."""

    def __init__(self) -> None:
        self.put_changes: list[Any] = []

    def put(self, *arguments: Any) -> list[SourceTable]:
        self.put_changes.append(arguments)
        return []


def test_changes_of_tables_are_put() -> None:
    changes = Changes()
    data = '{"database":"ops","changes":[{"type":"DROP","id":"\\"ops\\".\\"goods\\""}]}'
    assert actions(schema_changes=changes).act(Signal("1", "schema-changes", data), PLACE) == []
    (((change,), database, place),) = changes.put_changes
    assert (str(change.id), database) == ("ops.goods", "ops")
    assert (place.start, place.micros, place.gtid) == (850, 1_700_000_000_000_000, f"{UUID}:5")
    assert place.position.file == "binlog.000009"
