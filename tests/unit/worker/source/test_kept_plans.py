"""Failures of a query that a source task keeps. No Spark."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.errors import PySparkException

from connect_dagster.worker.source.kept_plans import _runs_of
from connect_dagster.worker.spark.kept_projection import NotKeptError

_READER = "\n\tat org.apache.spark.sql.kafka010.consumer.InternalKafkaConsumer.fetch(KafkaDataConsumer.scala:90)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("java.lang.ArithmeticException: division by zero", NotKeptError),
        ("org.apache.kafka.common.errors.TimeoutException: no response" + _READER, PySparkException),
    ],
)
def test_another_plan_is_not_run_for_what_the_source_refuses(text: str, expected: type[Exception]) -> None:
    def fail() -> None:
        raise PySparkException(f"Job aborted: {text}")

    query, batch = SimpleNamespace(toArrow=fail), SimpleNamespace(set_rows=lambda: None)
    with pytest.raises(expected):
        _runs_of(cast("Any", query))(cast("Any", batch))
