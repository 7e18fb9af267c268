"""Encodes a batch that is too large for memory through the disk.

Spark writes the records to files, in their order and in pieces of some megabytes; Python turns them piece by piece into
an Arrow file, which it maps: the table looks like any other, and its bytes are read from the file when they are sent.
The file has no name from then on: the system removes it with the table, or with the process, however that ends.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from connect_dagster.plugin.frame_columns import RAW_RECORD, ROW
from connect_dagster.worker.spark.progress import planned_rows

# Of rows as they are, since a piece is read as a whole: compressed it could have a hundred times as many.
_PIECE_BYTES = 4 << 20
_OPTIONS = {
    "compression": "uncompressed",
    "parquet.enable.dictionary": "false",
    "parquet.block.size": str(_PIECE_BYTES),
    # Rows between two looks at the size of a piece: those that become larger must not pile up.
    "parquet.page.size.row.check.min": "1",
    "parquet.page.size.row.check.max": "10",
}
_ROWS_EACH = 10_000


@dataclass(frozen=True, slots=True)
class Spilled:
    """Records on disk.

    Attributes:
        table: the records, in a file that is mapped.
        bytes: that Spark has written.
    """

    table: pa.Table
    bytes: int


def spilled(spark: SparkSession, plan: DataFrame, finished: Callable[[pa.Table], pa.Table]) -> Spilled:
    """Run a plan and return its records, of which a piece at a time is in memory.

    Args:
        spark: the worker's session; its executors share the disk of this machine.
        plan: columns for a producer; ``RAW_RECORD``, whose type may be any, is left out.
        finished: makes of a piece of the plan's records those to send; called with each piece, in their order.

    Raises:
        OSError: the disk is full.
    """
    rows = planned_rows(spark, plan).drop(RAW_RECORD)
    if ROW in rows.columns:  # by Spark, whose sorting needs little memory, and with one exchange instead of samples
        rows = rows.repartition(1).sortWithinPartitions(ROW).drop(ROW)
    with tempfile.TemporaryDirectory(prefix="connect-dagster-spill-") as folder:
        written, file = Path(folder, "rows"), Path(folder, "records.arrow")
        rows.write.options(**_OPTIONS).parquet(str(written))
        return Spilled(*_mapped(_pieces(written), file, finished))


def _pieces(folder: Path) -> Iterator[pa.Table]:
    """Yield the rows of Parquet files in the order of the Spark tasks, and remove each file that was read."""
    # Spark numbers them with five digits, and with more where those do not suffice.
    for part in sorted(folder.glob("part-*.parquet"), key=lambda part: (len(part.name), part.name)):
        with pq.ParquetFile(part) as rows:
            yield rows.schema_arrow.empty_table()
            for number in range(rows.num_row_groups):
                yield rows.read_row_group(number, use_threads=False)
        part.unlink()


def _mapped(pieces: Iterator[pa.Table], file: Path, finished: Callable[[pa.Table], pa.Table]) -> tuple[pa.Table, int]:
    size = 0
    first = finished(next(pieces)).replace_schema_metadata()
    with pa.OSFile(str(file), "wb") as out, pa.ipc.new_file(out, first.schema) as writer:
        for piece in pieces:
            size += piece.nbytes
            for start in range(0, piece.num_rows, _ROWS_EACH):
                writer.write_table(finished(piece.slice(start, _ROWS_EACH)).cast(first.schema))
    with pa.memory_map(str(file)) as mapped:
        return pa.ipc.open_file(mapped).read_all(), size
