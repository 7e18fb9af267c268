"""Delta's record of the partitions written to a table: a transaction id of each, whose version is the last offset.

Delta leaves out a write whose version it has already; so a batch is written in a transaction for each partition.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.plugin.frames import SinkFrame
from connect_dagster.plugin.records import TopicPartition


class DeltaTransactions:
    """The transactions of one connector in one table.

    Args:
        spark: a session with Delta's jars.
        path: of the table.
        connector: whose name sets its transactions apart from others'.
    """

    def __init__(self, spark: SparkSession, path: str, connector: str) -> None:
        self._spark = spark
        self._path = path
        self._connector = connector

    def ends(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the offset after the last record in the table, of the partitions that it has."""
        jvm = cast("Any", self._spark)._jvm
        table = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(cast("Any", self._spark)._jsparkSession, self._path)
        transactions = table.update(False, jvm.scala.Option.empty(), jvm.scala.Option.empty()).transactions()
        found = {place: transactions.get(self._id(place)) for place in partitions}
        return {place: int(version.get()) + 1 for place, version in found.items() if version.isDefined()}

    def parts(self, frames: Sequence[SinkFrame]) -> Iterator[tuple[list[SinkFrame], dict[str, str]]]:
        """Yield the records of each partition as read, with the options that make their write one transaction.

        Of all frames: their offsets interleave, and Delta would leave out what comes after a higher one.
        """
        ends: dict[tuple[str, int], int] = {}
        for frame in frames:
            topic, partition, offset = map(frame.original_coordinate, ("topic", "partition", "offset"))
            for row in frame.df.groupBy(topic, partition).agg(F.max(offset)).collect():
                ends[row[0], row[1]] = max(row[2], ends.get((row[0], row[1]), -1))
        for (name, number), last in sorted(ends.items()):
            mine = [
                frame.where(
                    (frame.original_coordinate("topic") == name) & (frame.original_coordinate("partition") == number)
                )
                for frame in frames
            ]
            yield mine, {"txnAppId": self._id(TopicPartition(name, number)), "txnVersion": str(last)}

    def _id(self, place: TopicPartition) -> str:
        return f"{self._connector}/{place}"
