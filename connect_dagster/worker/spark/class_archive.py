"""Makes the class archive that lets later worker starts skip loading 20,000 classes one by one (AppCDS).

Made once for each machine, JVM and set of jars, in about 20 seconds and 140 MB, by
``python -m connect_dagster.worker.spark.class_archive``, which prints its path.
A worker without it starts some seconds slower, so that a failure is a warning, and prints nothing.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from connect_dagster.errors import ConnectError
from connect_dagster.worker.spark.jvm import SparkJvm, class_archive
from connect_dagster.worker.spark.session import Session
from connect_dagster.worker.spark.settings import CLASS_PATH, spark_settings

_WRITE_SECONDS = 120.0


def make() -> Path:
    """Make the archive unless it exists; return its path.

    Raises:
        ConnectError: the JVM did not start, or did not write the archive in time.
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
            # A JVM that is killed may leave a part of it.
            if not one.stop(_WRITE_SECONDS) or not fresh.exists():
                raise ConnectError(f"The JVM did not write it within {_WRITE_SECONDS:.0f} s")
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


def main() -> None:
    """Make the archive and print its path; warn when that is not possible."""
    try:
        archive = make()
    except Exception as error:
        sys.stderr.write(
            "WARNING: the archive of the JVM's classes was not made: workers start some seconds slower, and the next "
            f"`make install` tries again. {type(error).__name__}: {error}\n"
        )
    else:
        sys.stdout.write(f"{archive}\n")


if __name__ == "__main__":
    main()
