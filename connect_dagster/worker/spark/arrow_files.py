"""Rows of a DataFrame as an Arrow table, by way of files in memory.

``DataFrame.toArrow`` copies a batch from the heap of Spark's tasks to that of its driver, through a socket, and into
Python's. Here tasks write what Python maps (docs/decisions/0047-rows-by-way-of-files-in-memory.md).
"""

from __future__ import annotations

import errno
import logging
import os
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.captured import unwrap_spark_exception
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from connect_dagster.expressions.java_calls import kept_in_jvm
from connect_dagster.expressions.java_classes import new_instance
from connect_dagster.expressions.java_errors import is_spark_gone, java_texts
from connect_dagster.plugin.frames import executors_are_local
from connect_dagster.scratch import free_bytes, memory_folder

log = logging.getLogger(__name__)

_CLASS = Path(__file__).with_name("ArrowFiles.java")
# A batch has some ten megabytes, and several are on their way. Containers have 64 MB unless told otherwise.
_LEAST_FREE = 256 << 20
_FULL = os.strerror(errno.ENOSPC)


def to_arrow(df: DataFrame) -> pa.Table:
    """Return the rows of a DataFrame.

    Args:
        df: planned on first use, and run each time.

    Returns:
        What ``DataFrame.toArrow`` returns; the bytes are in memory that the system shares, and gives back with the
        table.

    Raises:
        Py4JError, PySparkException: as by ``DataFrame.toArrow``.
    """
    files, folder = _files(df.sparkSession), memory_folder()
    if files is None or not _has_room(folder):
        return df.toArrow()
    try:
        return _through(files, df, folder)
    except (Py4JError, PySparkException) as error:
        if not any(_FULL in text for text in java_texts(error)):
            raise
        log.info("%s is full, rows come through a socket", folder)
        return df.toArrow()


def _through(files: Any, df: DataFrame, root: Path) -> pa.Table:
    # Tasks of a job that was cancelled may still write.
    with tempfile.TemporaryDirectory(prefix="connect-dagster-rows-", dir=root, ignore_cleanup_errors=True) as folder:
        with unwrap_spark_exception():
            tasks = files.write(df._jdf, folder)
        batches: list[pa.RecordBatch] = []
        for number in range(tasks):
            with pa.memory_map(f"{folder}/{number}") as file:
                batches += pa.ipc.open_stream(file)
    made = to_arrow_schema(df.schema)
    return pa.Table.from_batches(batches).cast(made) if batches else made.empty_table()


@kept_in_jvm(8)
def _files(spark: SparkSession) -> Any | None:
    if not executors_are_local(spark):
        return None
    try:
        return new_instance(_CLASS)
    except (Py4JError, PySparkException) as error:
        if is_spark_gone(error):
            raise
        log.info("Spark has other parts than in Spark 4.1, rows come through a socket: %s", error)
        return None


def _has_room(folder: Path) -> bool:
    try:
        return free_bytes(folder) >= _LEAST_FREE
    except OSError:
        return False
