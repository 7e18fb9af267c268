"""Failures of a query that a source task keeps. No Spark."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.errors import PySparkException

from connect_dagster.worker.source import kept_plans
from connect_dagster.worker.spark.kept_projection import NotKeptError

_READER = "\n\tat org.apache.spark.sql.kafka010.consumer.InternalKafkaConsumer.fetch(KafkaDataConsumer.scala:90)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("java.lang.ArithmeticException: division by zero", NotKeptError),
        ("org.apache.kafka.common.errors.TimeoutException: no response" + _READER, PySparkException),
    ],
)
def test_another_plan_is_not_run_for_what_the_source_refuses(
    text: str, expected: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise PySparkException(f"Job aborted: {text}")

    monkeypatch.setattr(kept_plans, "to_arrow", fail)
    with pytest.raises(expected):
        kept_plans._runs_of(cast("Any", None))(cast("Any", SimpleNamespace(set_rows=lambda: None)))
