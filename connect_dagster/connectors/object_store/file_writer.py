"""The Spark job that writes files of the rows that have waited for them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import types as spark_types

from connect_dagster.connectors.object_store.formats import FileFormat
from connect_dagster.connectors.object_store.record_forms import FILE, OFFSET, RecordForm

# Spark's own name of a file ends with a number of the file in its task, and the extension.
_EXTENSION = re.compile(r"[.-]c\d{3,}(\..+)$")
# Else Spark writes Parquet's old timestamps of 96 bits, without a time zone.
_TIMESTAMPS = ("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MILLIS")


class FileWriter:
    """Writes files of one format.

    Args:
        spark: the worker's session.
        format: of the files.
    """

    def __init__(self, spark: SparkSession, format: FileFormat) -> None:
        self._spark = spark.newSession()  # has separate settings
        self._spark.conf.set(*_TIMESTAMPS)
        self._format = format

    def write(self, form: RecordForm, rows: Sequence[Path], count: int, folder: Path) -> None:
        """Write all files of some rows.

        Args:
            form: of the rows.
            rows: Parquet files.
            count: number of files to write.
            folder: to create.
        """
        schema = spark_types.StructType([spark_types.StructField(name, kind) for name, kind in form.kept.items()])
        df = self._spark.read.schema(schema).parquet(*(path.as_uri() for path in rows))
        tasks = min(count, self._spark.sparkContext.defaultParallelism)
        df = df.coalesce(1) if tasks == 1 else df.repartition(tasks, FILE)
        # A file has its records in the order of Kafka.
        df = df.sortWithinPartitions(FILE, OFFSET).select(FILE, *form.rows)
        options = {**self._format.options, "maxRecordsPerFile": "0"}
        df.write.format(self._format.spark).options(**options).partitionBy(FILE).save(folder.as_uri())

    def files(self, folder: Path) -> Iterator[tuple[int, Path, str]]:
        """Yield the files in a folder: number, path and extension."""
        for directory in folder.glob(f"{FILE}=*"):
            (content,) = (one for one in directory.iterdir() if not one.name.startswith((".", "_")))
            yield int(directory.name.partition("=")[2]), content, self._extension(content.name)

    def _extension(self, name: str) -> str:
        if self._format.extension is not None:
            return self._format.extension
        found = _EXTENSION.search(name)
        return "" if found is None else found[1]
