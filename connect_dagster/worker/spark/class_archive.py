"""Makes the class archive that lets later worker starts skip loading 20,000 classes one by one (AppCDS).

Made once for each machine, JVM and set of jars, in about 20 seconds and 140 MB, by
``python -m connect_dagster.worker.spark.class_archive``, which prints its path.
A worker without it starts some seconds slower, so that a failure is a warning, and prints nothing.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession

from connect_dagster.converters.json.converter import JsonConverter
from connect_dagster.embedded.broker import EmbeddedBroker
from connect_dagster.embedded.errors import EmbeddedError
from connect_dagster.errors import ConnectError
from connect_dagster.worker.spark.arrow_files import to_arrow
from connect_dagster.worker.spark.jvm import SparkJvm, class_archive
from connect_dagster.worker.spark.kept_projection import KeptProjection
from connect_dagster.worker.spark.session import Session
from connect_dagster.worker.spark.settings import CLASS_PATH, spark_settings

_WRITE_SECONDS = 120.0
_TOPIC, _RECORDS = "lines", 1000


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
            _touch(one.spark)
            # A JVM that is killed may leave a part of it.
            if not one.stop(_WRITE_SECONDS) or not fresh.exists():
                raise ConnectError(f"The JVM did not write it within {_WRITE_SECONDS:.0f} s")
            fresh.replace(archive)
    return archive


def _touch(spark: SparkSession) -> None:
    """Do what connectors do, so that the archive has the classes of it."""
    with tempfile.TemporaryDirectory() as folder:
        _stream(spark, folder)
    try:
        with tempfile.TemporaryDirectory() as folder, EmbeddedBroker(Path(folder), 0) as broker:
            _read_topic(spark, broker.bootstrap_servers)
    except EmbeddedError as error:
        sys.stderr.write(f"WARNING: the archive has no classes of Kafka's consumer, as no broker started: {error}\n")


def _stream(spark: SparkSession, checkpoint: str) -> None:
    """Run a query of Structured Streaming, as SparkSource does."""
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()
    writer = rows.writeStream.foreachBatch(_collect).option("checkpointLocation", checkpoint)
    writer.trigger(once=True).start().awaitTermination(60)


def _read_topic(spark: SparkSession, bootstrap_servers: str) -> None:
    """Read records as sinks do: all by a job, then few by a kept projection."""
    producer = Producer({"bootstrap.servers": bootstrap_servers})
    for number in range(_RECORDS):
        producer.produce(_TOPIC, b'{"schema":{"type":"string","optional":false},"payload":"%d"}' % number)
    producer.flush()
    options = {"subscribe": _TOPIC, "kafka.bootstrap.servers": bootstrap_servers}
    records = spark.read.format("kafka").options(**options).load()
    converter = JsonConverter()
    converter.configure({}, is_key=False)
    (decoder,) = converter.decoders(records, "value")
    to_arrow(records.select(decoder.value))
    few = records.limit(1).toArrow()
    KeptProjection(spark, few.schema, lambda df: df.select(decoder.value)).run(few)


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
