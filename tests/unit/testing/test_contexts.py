"""Contexts for tests of plugins keep what a plugin requests."""

import pytest

from connect_dagster.errors import ConnectError
from connect_dagster.plugin.connector import ConnectorContext, ErrantRecordReporter, SinkTaskContext, SourceTaskContext
from connect_dagster.plugin.records import SinkRecord, TopicPartition
from connect_dagster.testing.contexts import CollectedReports, connector_context, sink_context, source_context

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)
FAILED = SinkRecord("t", 1, 7, None, "x", None, None, None)


def test_the_context_of_a_connector() -> None:
    requests = connector_context([({"file": "a"}, {"position": 3})])
    context: ConnectorContext = requests
    context.request_task_reconfiguration()
    context.raise_error(ValueError("away"))
    assert requests.reconfigurations == 1
    assert [str(error) for error in requests.errors] == ["away"]
    assert requests.offsets.offset({"file": "a"}) == {"position": 3}
    assert context.load_class("decimal.Decimal").__name__ == "Decimal"


def test_the_context_of_a_sink_task() -> None:
    requests = sink_context(FIRST, SECOND, config={"a": "b"})
    context: SinkTaskContext = requests
    context.offset({FIRST: 5})
    context.pause(FIRST, SECOND)
    context.resume(SECOND)
    context.timeout(20)
    context.request_commit()
    assert context.assignment == {FIRST, SECOND}
    assert context.configs() == {"a": "b"}
    assert (requests.rewound, requests.paused, requests.timeout_ms, requests.commits) == ({FIRST: 5}, {FIRST}, 20, 1)
    with pytest.raises(ConnectError, match=r"sink_context\(spark=...\)"):
        _ = context.spark


def test_reported_records() -> None:
    reports = CollectedReports()
    reporter: ErrantRecordReporter = reports
    assert reporter.report(FAILED, ValueError("too long")).done()
    assert reports.reported == [("t", 1, 7, "too long")]
    with pytest.raises(ConnectError, match="too long"):
        CollectedReports(tolerates=False).report(FAILED, ValueError("too long"))


def test_offsets_of_many_partitions_are_in_their_order() -> None:
    stored = [({"file": "a"}, {"line": 1}), ({"file": "b"}, {"line": 2})]
    asked = [{"file": name} for name in ("b", "none", "a")]
    for offsets in (source_context(offsets=stored).offsets, connector_context(stored).offsets):
        assert offsets.offsets(iter(asked)) == [{"line": 2}, None, {"line": 1}]


def test_the_configuration_of_a_source_task_may_change() -> None:
    config = {"password": "first"}
    context: SourceTaskContext = source_context(config=config)
    config["password"] = "second"
    assert context.configs() == {"password": "second"}
