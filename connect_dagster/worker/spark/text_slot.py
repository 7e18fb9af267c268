"""Text in memory for plans that are kept: the same files, with other content for each run.

Spark plans, optimizes and generates code for a DataFrame once, however often it runs. What differs from batch to batch
is the content of the files that it reads; Spark looks at them when a job runs.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.scratch import memory_folder

PIECES = 8


class TextSlot:
    """Files that plans read, each as a whole.

    Args:
        spark: the worker's session; its executors share the memory of this machine.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="connect-dagster-text-", dir=memory_folder()))
        for number in range(PIECES):
            (self._folder / f"{number}.txt").write_bytes(b"-")
        whole = spark.read.text(str(self._folder), wholetext=True)
        # Spark reads files in its own order, which is settled when a DataFrame is made.
        names = [row.name for row in whole.select(F.col("_metadata.file_name").alias("name")).collect()]
        self._files = [self._folder / name for name in names]
        self.df: DataFrame = whole.where("value != ''")
        """The pieces in their order, in the column ``value``."""

    def write(self, pieces: Sequence[bytes]) -> None:
        """Replace the content; a run that is under way must have ended.

        Args:
            pieces: at most ``PIECES`` of them, each of which a Spark task reads as a whole; none is empty.

        Raises:
            OSError: memory is full.
        """
        for number, file in enumerate(self._files):
            file.write_bytes(pieces[number] if number < len(pieces) else b"")

    def close(self) -> None:
        """Remove the files."""
        shutil.rmtree(self._folder, ignore_errors=True)
