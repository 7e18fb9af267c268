"""Records that Spark's executors write to Kafka themselves, where they run on other machines than the worker."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession

from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.kafka.settings.security import jvm_security

# Spark's sink sets these itself and refuses to take them.
_SPARK_OWNS = frozenset({"key.serializer", "value.serializer"})
# With Java's own, 16 kB and no wait, a Spark task waits for the brokers most of its time.
_LARGER_BATCHES = {"batch.size": "524288", "linger.ms": "5"}


class ExecutorWriter:
    """Spark's Kafka sink with the settings of a task's producer.

    Args:
        settings: of the producer in Java's names, which is what the executors' client takes.
        name: of the task.
    """

    def __init__(self, settings: Settings, name: str) -> None:
        given = {**_LARGER_BATCHES, **jvm_security(settings)}
        self._options = {f"kafka.{key}": value for key, value in given.items() if key not in _SPARK_OWNS}
        self._tag = f"connect-dagster-send-{name}".replace(",", "_")
        self._spark: SparkSession | None = None
        self._lock = threading.Lock()

    def write(self, rows: DataFrame, topic: str) -> None:
        """Write records, and wait for their acknowledgement.

        Each Spark task writes its records in their order.

        Args:
            rows: columns that Spark's Kafka sink knows.
            topic: of all of them.

        Raises:
            PySparkException: a record could not be evaluated or written, or the job was cancelled.
        """
        options = {"topic": topic, "includeHeaders": "true" if "headers" in rows.columns else "false"}
        with self._cancellable(rows.sparkSession):
            rows.write.format("kafka").options(**self._options, **options).save()

    def cancel(self) -> None:
        """Cancel the job that is running, from another thread."""
        with self._lock:
            if self._spark is not None:
                self._spark.sparkContext.cancelJobsWithTag(self._tag)

    @contextmanager
    def _cancellable(self, spark: SparkSession) -> Iterator[None]:
        context = spark.sparkContext
        context.addJobTag(self._tag)
        context.setInterruptOnCancel(True)
        with self._lock:
            self._spark = spark
        try:
            yield
        finally:
            with self._lock:
                self._spark = None
            context.removeJobTag(self._tag)
