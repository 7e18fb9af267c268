"""Errors of Spark's jobs in one line."""

import pytest

from connect_dagster.expressions.java_errors import summary

FAILED = """An error occurred while calling o348.save.
: org.apache.spark.SparkException: Job aborted: Lost task 0.3: org.apache.kafka.common.KafkaException: No producer
\tat org.apache.kafka.clients.producer.KafkaProducer.<init>(KafkaProducer.java:476)
Caused by: javax.security.auth.login.LoginException: Cannot locate KDC
\tat java.base/java.lang.Thread.run(Thread.java:840)
\t... 24 more

Driver stacktrace:
\tat org.apache.spark.scheduler.DAGScheduler.$anonfun$abortStage$2(DAGScheduler.scala:2935)
Caused by: org.apache.kafka.common.KafkaException: No producer
"""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            FAILED,
            "An error occurred while calling o348.save. : org.apache.spark.SparkException: Job aborted: Lost task 0.3: "
            "org.apache.kafka.common.KafkaException: No producer "
            "Caused by: javax.security.auth.login.LoginException: Cannot locate KDC",
        ),
        ("no\n  stack at all", "no stack at all"),
        ("", ""),
    ],
)
def test_the_causes_are_named_without_the_frames_of_their_stacks(text: str, line: str) -> None:
    assert summary(ValueError(text)) == line
