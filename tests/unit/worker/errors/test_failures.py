"""Which failures of reading pass by themselves."""

import pytest

from connect_dagster.expressions.java_errors import chain
from connect_dagster.worker.errors.failures import is_passing_read, says

_READER = "\n\tat org.apache.spark.sql.kafka010.consumer.InternalKafkaConsumer.fetch(KafkaDataConsumer.scala:90)"
_TIMEOUT = "org.apache.kafka.common.errors.TimeoutException: Timeout of 60000ms expired"


@pytest.mark.parametrize(
    "text",
    [
        _TIMEOUT + _READER,
        "Job aborted: java.util.concurrent.TimeoutException: Cannot fetch record for offset 5 in 10000 ms" + _READER,
        "org.apache.kafka.common.errors.DisconnectException" + _READER,
        _TIMEOUT + "\n\tat connect.dagster.KafkaRangeReader.fetch(Unknown Source)",
    ],
)
def test_brokers_that_are_away_come_back(text: str) -> None:
    assert is_passing_read(RuntimeError(text))


@pytest.mark.parametrize(
    "text",
    [
        _TIMEOUT,  # such as that of a producer which a sink uses itself
        "java.sql.SQLTimeoutException: TimeoutException",
        "org.apache.kafka.common.errors.TopicAuthorizationException: Not authorized" + _READER,
        "no such row",
    ],
)
def test_anything_else_ends_the_task(text: str) -> None:
    assert not is_passing_read(RuntimeError(text))


def test_an_error_is_found_behind_those_that_hide_it() -> None:
    hidden = RuntimeError(_TIMEOUT + _READER)
    error = ValueError("could not write")
    error.__cause__ = hidden
    assert is_passing_read(error)
    assert says(error, "TimeoutException")
    assert list(chain(error)) == [error, hidden]
