"""The records of a batch by Kafka partition and offset, across its schemas."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from connect_dagster.connectors.object_store.partitioners import Partitioner
from connect_dagster.connectors.object_store.record_forms import RecordTable
from connect_dagster.connectors.object_store.rotation import Numbers, Records
from connect_dagster.plugin.records import TopicPartition


@dataclass(frozen=True, slots=True)
class PlacedRecords:
    """Records of one Kafka partition, by offset.

    Attributes:
        place: the partition.
        indices: of their rows in the batch.
        records: the columns that decide about files.
    """

    place: TopicPartition
    indices: Numbers
    records: Records

    def after(self, offset: int) -> PlacedRecords:
        """Return the records behind an offset."""
        records, begin = self.records, int(np.searchsorted(self.records.offsets, offset, side="right"))
        if begin == 0:
            return self
        columns = (records.offsets, records.times, records.directories, records.schemas, records.sizes)
        return PlacedRecords(self.place, self.indices[begin:], Records(*(one[begin:] for one in columns)))


class BatchRows:
    """The records of a batch.

    Args:
        tables: of its schemas; at least one, with at least one record each.
    """

    def __init__(self, tables: Sequence[RecordTable]) -> None:
        self._tables = tables
        self._bases = np.cumsum([0, *map(len, tables)])

    def by_place(
        self, partitioner: Partitioner, directory: Callable[[str, str], int], now: int
    ) -> Iterator[PlacedRecords]:
        """Yield the records of each Kafka partition.

        Args:
            partitioner: gives the directories.
            directory: returns the number of a directory below that of a topic.
            now: milliseconds since 1970.

        Raises:
            DataError: a record's time is not in the range of dates.
        """
        topics, topic_names = _encoded([table.topics for table in self._tables])
        origins, origin_names = _encoded([table.read_from for table in self._tables])
        partitions = self._all(lambda table: table.partitions)
        offsets, sizes = self._all(lambda table: table.offsets), self._all(lambda table: table.sizes())
        times = self._all(lambda table: table.times(now))
        schemas = self._all(lambda table: np.full(len(table), table.form.number, np.int64))
        texts = None
        if partitioner.fields:
            texts = pa.chunked_array([chunk for table in self._tables for chunk in table.texts.chunks], pa.string())
        order = np.lexsort((offsets, partitions, origins))
        for run in _runs(order, origins, partitions):
            place = TopicPartition(origin_names[origins[run[0]]], int(partitions[run[0]]))
            directories = np.empty(len(run), np.int64)
            for topic in np.unique(topics[run]).tolist():
                here = np.flatnonzero(topics[run] == topic)
                mine = run[here]
                found, indices = partitioner.directories(
                    place.partition, times[mine], None if texts is None else texts.take(mine)
                )
                numbers = np.array([directory(topic_names[topic], one) for one in found], np.int64)
                directories[here] = numbers[indices]
            yield PlacedRecords(place, run, Records(offsets[run], times[run], directories, schemas[run], sizes[run]))

    def take(self, indices: Numbers, files: Numbers) -> Iterator[tuple[int, pa.Table]]:
        """Yield rows as they wait for their files, with the number of their schema.

        Args:
            indices: of the rows.
            files: numbers of their files.
        """
        tables = np.searchsorted(self._bases, indices, side="right") - 1
        for number in np.unique(tables).tolist():
            here = tables == number
            table = self._tables[number]
            yield table.form.number, table.take(indices[here] - self._bases[number], files[here])

    def _all(self, column: Callable[[RecordTable], Numbers]) -> Numbers:
        return np.concatenate([column(table) for table in self._tables])


def _encoded(columns: Sequence[pa.ChunkedArray]) -> tuple[Numbers, list[str]]:
    """Return a number for each text, and the texts by their numbers."""
    chunks = [chunk for column in columns for chunk in column.chunks]
    encoded = pa.chunked_array(chunks, pa.string()).combine_chunks().dictionary_encode()
    return encoded.indices.to_numpy().astype(np.int64), encoded.dictionary.to_pylist()


def _runs(order: Numbers, *columns: Numbers) -> Iterator[Numbers]:
    """Yield the parts of an order in which columns have equal values."""
    changes = np.zeros(len(order) - 1, np.bool_)
    for column in columns:
        changes |= np.diff(column[order]) != 0
    yield from np.split(order, np.flatnonzero(changes) + 1)
