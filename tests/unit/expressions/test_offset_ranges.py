"""Which Spark jobs failed because Kafka gave them no records. No Spark."""

import pytest
from pyspark.errors import PySparkException

from connect_dagster.expressions.offset_ranges import is_refused_read

_READER = "\n\tat org.apache.spark.sql.kafka010.consumer.InternalKafkaConsumer.fetch(KafkaDataConsumer.scala:90)"
_JOB = "Job aborted due to stage failure: Task 0 in stage 1.0 failed: "
_ERRORS = "org.apache.kafka.common.errors."


@pytest.mark.parametrize(
    "text",
    [
        f"{_ERRORS}TimeoutException: Timeout of 60000ms expired before the position could be determined",
        "java.util.concurrent.TimeoutException: Cannot fetch record for offset 5 in 10000 milliseconds",
        f"{_ERRORS}TopicAuthorizationException: Not authorized to access topics: [t]",
        f"{_ERRORS}SaslAuthenticationException: Authentication failed",
        "org.apache.kafka.common.KafkaException: Received exception when fetching the next record from t-0",
        "org.apache.kafka.common.KafkaException: Failed to construct kafka consumer\nCaused by: "
        "org.apache.kafka.common.config.ConfigException: No resolvable bootstrap urls given in bootstrap.servers",
    ],
)
def test_what_brokers_refuse_is_read_again(text: str) -> None:
    assert is_refused_read(PySparkException(_JOB + text + _READER))
    behind = RuntimeError("a kept plan")
    behind.__cause__ = PySparkException(_JOB + text + _READER)
    assert is_refused_read(behind)


@pytest.mark.parametrize(
    "text",
    [
        f"{_ERRORS}TimeoutException: Timeout of 60000ms expired",  # of a client that a transform uses
        f"org.apache.kafka.common.KafkaException: Failed to construct kafka consumer{_READER}",
        "java.lang.ArithmeticException: long overflow",
        f"Some data may have been lost because they are not available in Kafka any more{_READER}",
    ],
)
def test_anything_else_fails_the_task(text: str) -> None:
    assert not is_refused_read(PySparkException(_JOB + text))
