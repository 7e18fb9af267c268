"""The worker's one Spark session: what it is told, and the warm-up of its first batch.

Knows nothing of connectors.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import pyarrow as pa
from pyspark.sql import SparkSession

from connect_dagster.worker import jvm

SPARK_PREFIX = "spark."
# Measured: docs/decisions/0002-spark-session.md
_SETTINGS: Mapping[str, str] = {
    "spark.master": "local[*]",
    "spark.app.name": "connect_dagster",
    "spark.ui.enabled": "false",
    "spark.scheduler.mode": "FAIR",
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
    "spark.sql.execution.arrow.localRelationThreshold": "1048576",
    "spark.sql.streaming.numRecentProgressUpdates": "1000",
    "spark.sql.streaming.stopTimeout": "10s",
}


class Session:
    """Spark and its JVM, for as long as the worker lives.

    Args:
        settings: `spark.*` keys of the worker's configuration; they win over ours.
        jvm_options: further options of the JVM.
    """

    def __init__(self, settings: Mapping[str, str], jvm_options: Sequence[str] = ()) -> None:
        merged = {**_SETTINGS, **settings}
        local = merged["spark.master"].startswith("local")
        self._gateway = jvm.launch(merged["spark.driver.memory"], local=local, settings=merged, options=jvm_options)
        self.spark = _connect(self._gateway, merged)

    def warm_up(self) -> None:
        """Run one small batch: Spark's first costs seconds, whoever asks for it (planner, code generation, Arrow)."""
        blob = pa.table({"blob": ["a\nb\nc"]})
        lines = self.spark.createDataFrame(blob).selectExpr("explode(split(blob, '\n')) as value")
        lines.selectExpr("""cast(concat('{"payload":', to_json(struct(value)), '}') as binary) as value""").toArrow()

    @property
    def alive(self) -> bool:
        """Whether the JVM still runs: without it no task of this worker can go on."""
        return self._gateway.process.poll() is None

    def stop(self, seconds: float = 5) -> None:
        """Stop Spark, and its JVM within so many seconds."""
        if self.alive:
            gateway = self.spark.sparkContext._gateway
            self.spark.stop()
            if gateway is not None:
                gateway.shutdown()
        self._gateway.stop(seconds)


def _connect(gateway: jvm.Gateway, settings: Mapping[str, str]) -> SparkSession:
    os.environ["PYSPARK_GATEWAY_PORT"] = str(gateway.port)
    os.environ["PYSPARK_GATEWAY_SECRET"] = gateway.secret
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    with _interrupt_handler_kept():
        return builder.getOrCreate()


@contextmanager
def _interrupt_handler_kept() -> Iterator[None]:
    """PySpark installs a SIGINT handler that cancels all jobs: a graceful stop must be able to finish them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
