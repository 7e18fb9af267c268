"""Where the records of a batch are in Kafka, for tasks that want to know."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from connect_dagster.plugin.frame_columns import RECEIPT


class Places:
    """The partitions and offsets in Kafka that the records of a table have got.

    Args:
        rows: number of the table's records.

    Attributes:
        partitions: of each record.
        offsets: of each record; -1 where it was not delivered.
    """

    def __init__(self, rows: int) -> None:
        self.partitions: npt.NDArray[np.int32] = np.zeros(rows, np.int32)
        self.offsets: npt.NDArray[np.int64] = np.full(rows, -1, np.int64)

    def part(self, start: int, rows: int) -> Places:
        """Return the places of some of the records, which are those of the table as well."""
        part = Places(0)
        part.partitions = self.partitions[start : start + rows]
        part.offsets = self.offsets[start : start + rows]
        return part

    def note(self, number: int, count: int, partition: int, offset: int) -> None:
        """Note records from a number on that are in one partition, one after the other from an offset on."""
        self.partitions[number : number + count] = partition
        self.offsets[number : number + count] = np.arange(offset, offset + count)


def receipts(table: pa.Table, topic: str | None, places: Places) -> pa.Table:
    """Return the receipts of the records that Kafka has.

    Args:
        table: as it was sent, with the column ``receipt``.
        topic: topic of all of them, unless the table has a column for it.
        places: of the records.

    Returns:
        Columns ``receipt, topic, partition, offset, timestamp, size``, in the order of the table.
    """
    names, rows = table.column_names, table.num_rows
    made = {
        RECEIPT: table.column(RECEIPT),
        "topic": table.column("topic") if "topic" in names else pa.repeat(topic, rows),
        "partition": places.partitions,
        "offset": places.offsets,
        "timestamp": table.column("timestamp") if "timestamp" in names else pa.nulls(rows, pa.int64()),
        "size": pc.binary_length(table.column("value")),
    }
    return pa.table(made).filter(places.offsets >= 0)
