"""Heartbeats: when they are due, and what is in them."""

import logging

import pytest

from connect_dagster.connectors.mysql.heartbeat import Heartbeat, HeartbeatRules
from connect_dagster.connectors.mysql.positions.position import Position
from connect_dagster.errors import ConnectError

POSITION = Position("log.000001", 986, "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-7", server_id=1)


def test_one_in_each_interval() -> None:
    clock, queries = [100.0], []
    rules = HeartbeatRules("beats", "shop", 5.0, {"server": "shop"}, lambda: queries.append(clock[0]))
    heartbeat = Heartbeat(rules, lambda: clock[0], lambda: 1_700_000_000_123)
    assert heartbeat.batch(POSITION) is None
    clock[0] = 105.0
    batch = heartbeat.batch(POSITION)
    assert batch is not None
    assert batch.table.to_pylist() == [
        {"key": {"serverName": "shop"}, "value": {"ts_ms": 1_700_000_000_123}, "partition": 0}
    ]
    assert (batch.topic, batch.source_partition, batch.source_offset) == (
        "beats",
        {"server": "shop"},
        POSITION.offset(),
    )
    assert heartbeat.batch(POSITION) is None
    assert queries == [105.0]


def test_a_statement_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def query() -> None:
        raise ConnectError("no such table")

    rules = HeartbeatRules("beats", "shop", 0.0, {"server": "shop"}, query)
    with caplog.at_level(logging.ERROR):
        assert Heartbeat(rules, lambda: 0.0, lambda: 0).batch(POSITION) is not None
    assert caplog.messages == ["The statement of heartbeat.action.query fails: no such table"]
