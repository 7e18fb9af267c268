"""What is reported of failed records, and in which words."""

import logging
from dataclasses import replace
from typing import Any, cast

import pytest

from connect_dagster.errors import ConfigError, DataError
from connect_dagster.protocol.dead_letter_headers import MESSAGE, TRACE
from connect_dagster.protocol.states import TaskId
from connect_dagster.worker.config.sink import SinkConnectorConfig
from connect_dagster.worker.config.source import SourceConnectorConfig
from connect_dagster.worker.errors.dead_letter_queue import context_headers
from connect_dagster.worker.errors.failures import FailedRecord, Failure, RawRecord, ToleranceExceededError
from connect_dagster.worker.errors.policy import DeadLetterSettings, ErrorPolicy
from connect_dagster.worker.errors.reporter import ErrorReporter
from connect_dagster.worker.metrics.errors import ErrorMetrics
from connect_dagster.worker.sink.errant_record_reporter import WorkerErrantRecordReporter, _Reported

TASK = TaskId("orders", 3)
NAMED = {"name": "orders", "connector.class": "Orders"}
FAILURE = Failure("VALUE_CONVERTER", "x.Json", "org.apache.kafka.connect.errors.DataException", "no JSON")
READ = RawRecord("t", b"k", b"v", partition=2, offset=7, timestamp=5, timestamp_type="CreateTime")
POLLED = RawRecord("t", None, b"v", source_partition='{"file":"a"}', source_offset='{"position":9}')


def reports(policy: ErrorPolicy) -> tuple[ErrorReporter, ErrorMetrics]:
    metrics = ErrorMetrics(TASK)
    return ErrorReporter(TASK, policy, metrics), metrics


def test_policy_of_a_connector() -> None:
    assert ErrorPolicy.of(SinkConnectorConfig.parse(NAMED)) == ErrorPolicy()
    queue = "errors.deadletterqueue"
    config = {
        "errors.tolerance": "all",
        "errors.retry.timeout": "-1",
        "errors.retry.delay.max.ms": "10",
        "errors.log.enable": "true",
        "errors.log.include.messages": "TRUE",
        f"{queue}.topic.name": " dead ",
        f"{queue}.topic.replication.factor": "1",
        f"{queue}.context.headers.enable": "true",
    }
    expected = ErrorPolicy(True, -1, 10, True, True, DeadLetterSettings("dead", 1, True))
    for kind in (SinkConnectorConfig, SourceConnectorConfig):
        assert ErrorPolicy.of(kind.parse(NAMED | config)) == expected
    with pytest.raises(ConfigError, match=r"Invalid value x for configuration errors\.retry\.timeout"):
        SinkConnectorConfig.parse(NAMED | {"errors.retry.timeout": "x"})


@pytest.mark.parametrize(
    ("original", "messages", "shown"),
    [
        (READ, False, "."),
        (
            READ,
            True,
            ", where consumed record is {topic='t', partition=2, offset=7, timestamp=5, timestampType=CreateTime}.",
        ),
        (
            POLLED,
            True,
            ', where source record is = SourceRecord{sourcePartition={"file":"a"}, sourceOffset={"position":9}} '
            "ConnectRecord{topic='t', kafkaPartition=null, key=null, value=v, timestamp=null}.",
        ),
    ],
)
def test_the_log(caplog: pytest.LogCaptureFixture, original: RawRecord, messages: bool, shown: str) -> None:
    found, metrics = reports(ErrorPolicy(tolerate=True, log=True, log_messages=messages))
    with caplog.at_level(logging.ERROR):
        found.failed([FailedRecord(FAILURE, original)])
    first, second, *_ = caplog.messages[0].splitlines()
    told = "Error encountered in task orders-3. Executing stage 'VALUE_CONVERTER' with class 'x.Json'"
    assert first == told + shown
    assert second == "org.apache.kafka.connect.errors.DataException: no JSON"
    assert metrics.read().values["total-errors-logged"] == 1


def test_without_tolerance_the_first_one_ends_the_task() -> None:
    found, metrics = reports(ErrorPolicy())
    error = DataError("no JSON")
    with pytest.raises(ToleranceExceededError, match="Tolerance exceeded in error handler") as raised:
        found.failed([FailedRecord(FAILURE, READ, error), FailedRecord(FAILURE, READ)])
    assert raised.value.__cause__ is error
    values = metrics.read().values
    assert (values["total-record-errors"], values["total-records-skipped"]) == (1, 0)
    found.failed([])


def test_what_is_found_later_is_a_failure_alone() -> None:
    found, metrics = reports(ErrorPolicy(tolerate=True))
    found.execute_failed([FailedRecord(FAILURE, READ)] * 2)
    counted = {name: value for name, value in metrics.read().values.items() if value}
    assert counted.pop("last-error-timestamp")
    assert counted == {"total-record-failures": 2}


def test_context_headers_have_no_secrets() -> None:
    failure = replace(FAILURE, message="got hunter2", trace="at hunter2")
    told = dict(context_headers(TASK, FailedRecord(failure, READ), lambda text: text.replace("hunter2", "[hidden]")))
    assert told[MESSAGE] == b"got [hidden]"
    assert b"hunter2" not in (told[TRACE] or b"")


def test_context_headers() -> None:
    told = dict(context_headers(TASK, FailedRecord(FAILURE, READ)))
    shown = {name.removeprefix("__connect.errors."): value for name, value in told.items()}
    assert shown == {
        "topic": b"t",
        "partition": b"2",
        "offset": b"7",
        "connector.name": b"orders",
        "task.id": b"3",
        "stage": b"VALUE_CONVERTER",
        "class.name": b"x.Json",
        "exception.class.name": b"org.apache.kafka.connect.errors.DataException",
        "exception.message": b"no JSON",
        "exception.stacktrace": b"org.apache.kafka.connect.errors.DataException: no JSON\n\tat x.Json\n",
    }
    polled = dict(context_headers(TASK, FailedRecord(FAILURE, POLLED)))
    assert polled["__connect.errors.source.partition"] == b'{"file":"a"}'
    assert polled["__connect.errors.source.offset"] == b'{"position":9}'
    assert "__connect.errors.offset" not in polled


def test_who_waits_for_a_report_hears_that_it_failed() -> None:
    found, _ = reports(ErrorPolicy())
    errant = WorkerErrantRecordReporter(found, cast("Any", None))
    reported = _Reported("t", 0, 0, FAILURE)
    errant._take([reported])
    with pytest.raises(ToleranceExceededError):
        errant.settle(None)
    assert isinstance(reported.settled.exception(timeout=0), ToleranceExceededError)
