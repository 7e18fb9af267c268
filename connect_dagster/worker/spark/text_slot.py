"""Text in memory for plans that are kept: the same files, with other lines for each run.

Spark plans, optimizes and generates code for a DataFrame once, however often it runs. What differs from batch to batch
is the content of the files that it reads; Spark looks at them when a job runs.
"""

from __future__ import annotations

import codecs
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.scratch import memory_folder
from connect_dagster.worker.spark.kept_projection import NotKeptError

PIECES = 8
# Spark plans with the length that a file has then: it neither divides one of this length, nor reads beyond it.
_FILE_BYTES = 4 << 20


class TextSlot:
    r"""Files whose lines plans read.

    Args:
        spark: the worker's session; its executors share the memory of this machine.
        has_returns: whether ``\r`` may end lines.

    Raises:
        NotKeptError: the files cannot be written, or Spark does not read each once, as where its settings divide files
            that are small.
    """

    def __init__(self, spark: SparkSession, has_returns: bool) -> None:
        # The last line may be empty, and a newline behind a return would not be a terminator by itself.
        self._terminator = b"\r" if has_returns else b"\n"
        try:
            self._folder = Path(tempfile.mkdtemp(prefix="connect-dagster-text-", dir=memory_folder()))
            try:
                self._files = self._empty_files()
                lines = spark.read.text(str(self._folder), lineSep=None if has_returns else "\n")
                self.df: DataFrame = lines.select(F.coalesce("value", F.lit("")).alias("value"))
                """The lines in their order, in the column ``value``, which Spark's own may be null for all it knows."""
                self._files = self._in_order_of_spark()
            except BaseException:
                self.close()
                raise
        except (OSError, PySparkException, Py4JJavaError) as error:
            raise NotKeptError(str(error)) from error

    def _empty_files(self) -> list[Path]:
        files = [self._folder / f"{number}.txt" for number in range(PIECES)]
        for file in files:
            with file.open("wb") as empty:
                empty.truncate(_FILE_BYTES)
        return files

    def _in_order_of_spark(self) -> list[Path]:
        """Return the files in the order in which Spark reads them, which is settled when a DataFrame is made."""
        self.write([str(number).encode() for number in range(PIECES)])
        order = [int(row.value) for row in self.df.collect()]
        if sorted(order) != [*range(PIECES)]:
            raise NotKeptError(f"Spark has read the files {order} of {PIECES}")
        return [self._files[number] for number in order]

    def write(self, pieces: Sequence[bytes | memoryview]) -> None:
        """Replace the content; a run that is under way must have ended.

        Args:
            pieces: at most ``PIECES`` of them, whole lines without the last terminator.

        Raises:
            OSError: memory is full.
            NotKeptError: Spark would not read a piece as it is.
        """
        for piece in pieces:
            if len(piece) >= _FILE_BYTES:
                raise NotKeptError("a piece is longer than its file")
            if piece[: len(codecs.BOM_UTF8)] == codecs.BOM_UTF8:
                raise NotKeptError("a piece begins with a byte order mark, which Spark leaves out")
        for number, file in enumerate(self._files):
            with file.open("r+b") as content:
                if number < len(pieces):
                    content.write(pieces[number])
                    content.write(self._terminator)
                content.truncate()  # at the end, so that the memory of the lines before is used again

    def close(self) -> None:
        """Remove the files."""
        shutil.rmtree(self._folder, ignore_errors=True)
