"""What a worker's Spark session is told. Light to import: the JVM starts with it before PySpark is loaded."""

from __future__ import annotations

from collections.abc import Mapping

SPARK_PREFIX = "spark."

# Measured: docs/decisions/0002-spark-session.md
_SETTINGS: Mapping[str, str] = {
    "spark.master": "local[*]",
    "spark.app.name": "connect_dagster",
    "spark.ui.enabled": "false",
    "spark.scheduler.mode": "FAIR",
    "spark.driver.memory": "1g",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "false",
    "spark.task.maxDirectResultSize": "64m",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    "spark.sql.execution.arrow.localRelationThreshold": "1048576",
    # Records are Kafka's: fields `a` and `A` are two, and of an object's equal keys the last one counts.
    "spark.sql.caseSensitive": "true",
    "spark.sql.variant.allowDuplicateKeys": "true",
    "spark.sql.streaming.numRecentProgressUpdates": "1000",
    "spark.sql.streaming.stopTimeout": "10s",
    # Hadoop's own local files start a process for each chmod and readlink: 19 a micro-batch, 90 ms.
    "spark.hadoop.fs.file.impl": "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
}
# A local master needs no name of this machine, which may not even resolve.
_LOCAL = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def spark_settings(worker: Mapping[str, str]) -> dict[str, str]:
    """Spark settings of a worker: ours, and the ``spark.*`` keys of its file, which win."""
    merged = {**_SETTINGS, **{name: value for name, value in worker.items() if name.startswith(SPARK_PREFIX)}}
    return {**_LOCAL, **merged} if merged["spark.master"].startswith("local") else merged
