"""Makes the class archive that lets later worker starts skip loading 20,000 classes one by one (AppCDS).

Made once for each machine, JVM and set of jars, in about 20 seconds and 140 MB, by
``python -m connect_dagster.worker.spark.class_archive``.
A worker without it starts some seconds slower.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from connect_dagster.worker.spark.jvm import SparkJvm, class_archive
from connect_dagster.worker.spark.session import Session
from connect_dagster.worker.spark.settings import CLASS_PATH, spark_settings


def make() -> Path:
    """Make the archive unless it exists; return its path.

    Raises:
        ConnectError: the JVM did not start.
    """
    archive = class_archive()
    if not archive.exists():
        archive.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
            fresh = Path(folder) / "classes.jsa"
            settings = spark_settings({})
            del settings[CLASS_PATH]  # it differs from worker to worker, and may stand behind what the archive knows
            jvm = SparkJvm(settings, [f"-XX:ArchiveClassesAtExit={fresh}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off"])
            one = Session(settings, jvm)
            one.warm_up()
            _touch_streaming(one.spark)
            one.stop(seconds=120)
            fresh.replace(archive)
    return archive


def _touch_streaming(spark: SparkSession) -> None:
    """Run a query, so that the archive has the classes of Structured Streaming and of its Kafka source."""
    with tempfile.TemporaryDirectory() as checkpoint:
        rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()
        writer = rows.writeStream.foreachBatch(_collect).option("checkpointLocation", checkpoint)
        query = writer.trigger(once=True).start()
        query.awaitTermination(60)
    spark.readStream.format("kafka").options(subscribe="none", **{"kafka.bootstrap.servers": "127.0.0.1:9"}).load()


def _collect(df: DataFrame, _: int) -> None:
    df.toArrow()


if __name__ == "__main__":
    sys.stdout.write(f"{make()}\n")
