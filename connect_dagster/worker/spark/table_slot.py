"""Arrow tables in memory for plans that are kept: the same files, with other records for each run.

As :mod:`connect_dagster.worker.spark.text_slot`, for records with columns.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from connect_dagster.expressions.java_classes import new_instance
from connect_dagster.expressions.reader_frames import frame_of_readers
from connect_dagster.scratch import memory_folder
from connect_dagster.worker.spark.kept_projection import NotKeptError

_READERS = Path(__file__).with_name("TableReaders.java")
_MOST_FILES = 8
WHOLE = 0.9
"""A batch with a smaller share of the largest before it is the last for a while, as its source has no more."""


class TableSlot:
    """Files whose records plans read.

    Args:
        spark: the worker's session; its executors share the memory of this machine.

    Raises:
        NotKeptError: the files cannot be written, or Spark has other parts.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        try:
            self._readers = new_instance(_READERS)
            self._folder = Path(tempfile.mkdtemp(prefix="connect-dagster-table-", dir=memory_folder()))
            # Each Spark task reads one.
            count = min(_MOST_FILES, spark.sparkContext.defaultParallelism)
            self._files = [self._folder / f"{number}.arrow" for number in range(count)]
            for file in self._files:
                file.touch()
        except (OSError, PySparkException, Py4JError) as error:
            raise NotKeptError(str(error)) from error
        self._largest = 0

    def frame(self, schema: pa.Schema) -> DataFrame:
        """Return the records, in their order, of tables with the types of a schema in Spark (``to_arrow_schema``).

        Raises:
            NotKeptError: Spark has other parts.
        """
        try:
            session: Any = self._spark._jsparkSession
            rows = session.parseDataType(from_arrow_schema(schema).json())
            tasks = [[self._readers.part(str(file))] for file in self._files]
            return frame_of_readers(self._spark, tasks, self._readers, rows)
        except (PySparkException, Py4JError) as error:
            raise NotKeptError(str(error)) from error

    @contextmanager
    def holding(self, records: pa.Table) -> Iterator[None]:
        """Fill the files for a run; one at a time. Those of a smaller table than before are emptied after it.

        Args:
            records: in the types of the frame that runs.

        Raises:
            OSError: memory is full.
        """
        each = -(-len(records) // len(self._files))
        self._largest = max(self._largest, records.nbytes)
        try:
            for number, file in enumerate(self._files):
                # What follows the end of a stream is not read: the memory of the records before is used again.
                with file.open("r+b") as content, pa.ipc.new_stream(content, records.schema) as stream:
                    stream.write_table(records.slice(number * each, each))
            yield
        finally:
            if records.nbytes < self._largest * WHOLE:
                self._largest = 0
                for file in self._files:
                    os.truncate(file, 0)

    def close(self) -> None:
        """Remove the files."""
        shutil.rmtree(self._folder, ignore_errors=True)
