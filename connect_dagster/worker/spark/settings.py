"""Settings of a worker's Spark session, and the JDBC drivers of its JVM.

Light to import: the JVM starts with it before PySpark is loaded.
"""

from __future__ import annotations

import os
import shlex
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from connect_dagster.embedded import jars
from connect_dagster.kafka.security.jaas import realm_options

SPARK_PREFIX = "spark."
CLASS_PATH = "spark.driver.extraClassPath"
_JARS = "spark.jars"
_EXECUTOR_OPTIONS = "spark.executor.extraJavaOptions"
_PLUGIN_PATH, _PLACEHOLDER = "plugin.path", "${"
_DRIVER_SERVICE = "META-INF/services/java.sql.Driver"
# A jar may lie in a folder, one folder down, or where Confluent packs those of a connector.
_DRIVER_PLACES = ("*.jar", "*/*.jar", "*/lib/*.jar")

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
    # Characters that a character set lacks are replaced, as Java does.
    "spark.sql.legacy.codingErrorAction": "true",
    # The place where an expression was made, for messages: several calls into the JVM for each.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # A database has cut the blanks behind a CHAR already, or wants them to stay.
    "spark.sql.readSideCharPadding": "false",
    # Spark keeps what its UI shows of a thousand jobs, with the texts of their plans.
    "spark.ui.retainedJobs": "50",
    "spark.ui.retainedStages": "50",
    "spark.ui.retainedTasks": "1000",
    "spark.sql.ui.retainedExecutions": "50",
    # Spark has a consumer for each partition, and opens those without a place here for each batch.
    "spark.kafka.consumer.cache.capacity": "256",
    "spark.sql.streaming.numRecentProgressUpdates": "1000",
    "spark.sql.streaming.stopTimeout": "10s",
    # Hadoop's own local files start a process for each chmod and readlink: 19 a micro-batch, 90 ms.
    "spark.hadoop.fs.file.impl": "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
}
# As in the driver's JVM: the timestamps of JDBC drivers depend on it.
_EXECUTOR_ZONE = "-Duser.timezone=UTC"
# A local master needs no name of this machine, which may not even resolve.
_LOCAL = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def spark_settings(worker: Mapping[str, str]) -> dict[str, str]:
    """Spark settings of a worker: ours, and the ``spark.*`` keys of its file, which win.

    JDBC drivers come to both. A cluster's executors get them, and what reads and writes Kafka, from this machine, and
    look for the realms of Kerberos in the same file as this process.

    Raises:
        ConfigError: ``KAFKA_OPTS`` cannot be read.
    """
    merged = {**_SETTINGS, **{name: value for name, value in worker.items() if name.startswith(SPARK_PREFIX)}}
    drivers = driver_jars(worker)
    merged[CLASS_PATH] = os.pathsep.join(filter(None, (merged.get(CLASS_PATH), _joined(drivers, os.pathsep))))
    if merged["spark.master"].startswith("local"):
        return {**_LOCAL, **merged}
    shipped = [*drivers, *jars.resolve("spark-kafka")]
    return {
        **merged,
        _JARS: ",".join(filter(None, (merged.get(_JARS), _joined(shipped, ",")))),
        _EXECUTOR_OPTIONS: " ".join(filter(None, (_own_executor_options(), merged.get(_EXECUTOR_OPTIONS)))),
    }


def _own_executor_options() -> str:
    return shlex.join([_EXECUTOR_ZONE, *realm_options(os.environ)])


def is_complete(worker: Mapping[str, str]) -> bool:
    """Return whether no property that the Spark settings depend on has a placeholder, which config providers fill."""
    return not any(
        _PLACEHOLDER in value for name, value in worker.items() if name.startswith(SPARK_PREFIX) or name == _PLUGIN_PATH
    )


def driver_jars(worker: Mapping[str, str]) -> list[Path]:
    """Return the jars of all drivers in their order: those on ``plugin.path`` that register one, then ours.

    Args:
        worker: the worker's properties.

    Raises:
        JarUnavailable: one of ours is missing and cannot be downloaded.
    """
    folders = (folder.strip() for folder in worker.get(_PLUGIN_PATH, "").split(","))
    given = [jar for folder in folders if folder for jar in _drivers_in(Path(folder))]
    return [*dict.fromkeys(given), *jars.resolve("jdbc-drivers")]


def _drivers_in(folder: Path) -> Iterator[Path]:
    for place in _DRIVER_PLACES:
        yield from filter(_registers_driver, sorted(folder.glob(place)))


def _registers_driver(jar: Path) -> bool:
    try:
        with zipfile.ZipFile(jar) as archive:
            return _DRIVER_SERVICE in archive.namelist()
    except (OSError, ValueError, NotImplementedError, RuntimeError, zipfile.BadZipFile):
        return False


def _joined(paths: Iterable[Path], separator: str) -> str:
    """Return the paths as one setting."""
    return separator.join(str(path.absolute()) for path in paths)
