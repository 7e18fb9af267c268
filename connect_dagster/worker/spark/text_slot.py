"""Text in memory for plans that are kept: the same files, with other lines for each run.

Spark plans, optimizes and generates code for a DataFrame once, however often it runs. What differs from batch to batch
is the content of the files that it reads; readers of the project look at them when a job runs.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from connect_dagster.expressions.java_classes import new_instance
from connect_dagster.expressions.reader_frames import frame_of_readers
from connect_dagster.scratch import memory_folder
from connect_dagster.worker.spark.kept_projection import NotKeptError

PIECES = 8
_READERS = Path(__file__).with_name("TextReaders.java")
_LINES = StructType([StructField("value", StringType(), nullable=False)])


class TextSlot:
    r"""Files whose lines plans read.

    Args:
        spark: the worker's session; its executors share the memory of this machine.
        has_returns: whether ``\r`` may end lines.

    Raises:
        NotKeptError: the files cannot be written, or Spark has other parts.
    """

    def __init__(self, spark: SparkSession, has_returns: bool) -> None:
        # The last line may be empty, and a newline behind a return would not be a terminator by itself.
        self._terminator = b"\r" if has_returns else b"\n"
        try:
            self._folder = Path(tempfile.mkdtemp(prefix="connect-dagster-text-", dir=memory_folder()))
            self._files = [self._folder / f"{number}.txt" for number in range(PIECES)]
            try:
                for file in self._files:
                    file.touch()
                self.df: DataFrame = self._frame(spark, has_returns)
                """The lines in their order, in the column ``value``."""
            except BaseException:
                self.close()
                raise
        except (OSError, PySparkException, Py4JError) as error:
            raise NotKeptError(str(error)) from error

    def _frame(self, spark: SparkSession, has_returns: bool) -> DataFrame:
        readers = new_instance(_READERS, has_returns)
        parts = [readers.part(str(file)) for file in self._files]
        count = min(PIECES, spark.sparkContext.defaultParallelism)
        tasks = [parts[PIECES * number // count : PIECES * (number + 1) // count] for number in range(count)]
        session: Any = spark._jsparkSession
        schema = session.parseDataType(_LINES.json())
        return frame_of_readers(spark, tasks, readers, schema)

    def write(self, pieces: Sequence[bytes | memoryview]) -> None:
        """Replace the content; a run that is under way must have ended.

        Args:
            pieces: at most ``PIECES`` of them, whole lines without the last terminator.

        Raises:
            OSError: memory is full.
        """
        for number, file in enumerate(self._files):
            with file.open("r+b") as content:
                if number < len(pieces):
                    content.write(pieces[number])
                    content.write(self._terminator)
                content.truncate()  # at the end, so that the memory of the lines before is used again

    def close(self) -> None:
        """Remove the files."""
        shutil.rmtree(self._folder, ignore_errors=True)
