"""Lines of text on their way to Kafka: what a source has read, without a Python object for each line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.plugin.frames import Offsets, Positioned, SourceFrame, SourceQuery, SourceTable

_PIECE_BYTES = 1 << 20
_TERMINATOR = r"\r\n|\n|\r"


@dataclass(frozen=True, slots=True)
class SourceLines(Positioned):
    r"""Records whose values are the lines of a text.

    The worker plans the lines of a topic once for any number of polls, few lines as those of a ``SourceTable``.

    Attributes:
        data: whole lines in UTF-8, each ended by ``\n``, ``\r\n`` or ``\r``, the last terminator left out.
        source_partition: the partition of the source.
        source_offset: the offset right after the last line.
        topic: topic of all lines.
        other_offsets: further partitions and offsets.

    Example:
        >>> SourceLines(b"first\nsecond", {"filename": "a.txt"}, {"position": 13}, "lines")
    """

    data: bytes
    source_partition: Mapping[str, Any]
    source_offset: Mapping[str, Any] | None
    topic: str
    other_offsets: Offsets = ()

    @property
    def count(self) -> int:
        """Return the number of lines."""
        ends = self.data.count(b"\n")
        if self.has_returns:
            ends += self.data.count(b"\r") - self.data.count(b"\r\n")
        return ends + 1

    def table(self) -> SourceTable:
        """Return the lines as a table, made by Python: for a few."""
        return self._table(re.split(_TERMINATOR, self.data.decode()))

    def frame(self, spark: SparkSession) -> SourceFrame:
        """Return the lines as a frame that Spark splits."""
        text = pa.array(pieces(self.data, _PIECE_BYTES), pa.binary()).cast(pa.string())
        # The newline itself, not its escape: Java splits at a single character without a regular expression.
        terminator = _TERMINATOR if self.has_returns else "\n"
        split = F.explode(F.split("value", terminator)).alias("value")
        return self.over(spark.createDataFrame(pa.table({"value": text})).select(split))

    def over(self, lines: DataFrame) -> SourceFrame:
        """Return a frame of the lines in a column ``value``, with the attributes of these lines."""
        return self._table([]).over(lines)

    @property
    def has_returns(self) -> bool:
        r"""Return whether ``\r`` may end lines."""
        return b"\r" in self.data

    def _table(self, values: list[str]) -> SourceTable:
        return SourceTable(
            pa.table({"value": pa.array(values, pa.string())}),
            self.source_partition,
            self.source_offset,
            self.other_offsets,
            self.topic,
        )


SourceBatch = SourceFrame | SourceTable | SourceLines | SourceQuery
"""Records of one poll."""


def pieces(data: bytes, size: int) -> list[memoryview]:
    r"""Return pieces of a text, cut after the first ``\n`` beyond a size, which is left out; one at least.

    Args:
        data: whole lines, the last terminator left out.
        size: least bytes of each piece but the last.
    """
    found, start, whole = [], 0, memoryview(data)
    while len(data) - start > size:
        end = data.find(b"\n", start + size)
        if end == -1:
            break
        found.append(whole[start : end - 1 if data[end - 1 : end] == b"\r" else end])
        start = end + 1
    return [*found, whole[start:]]
