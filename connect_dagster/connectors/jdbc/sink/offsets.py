"""``exactly.once``: the offsets after a batch, written in its own transaction into a table beside its rows.

A task knows which offset it has written last of a partition and changes only that one: a task that was thought dead and
still writes finds another, and its transaction is undone. An offset holds for the topic whose records were written, by
its id (KIP-516): of a topic that was deleted and created again, all records are written.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from connect_dagster.connectors.jdbc.database import Connection
from connect_dagster.connectors.jdbc.dialects import Dialect
from connect_dagster.connectors.jdbc.sink.merge_order import OFFSET, PARTITION
from connect_dagster.connectors.jdbc.sink.offsets_table import TABLE, OffsetsTable, WrittenOffset
from connect_dagster.connectors.jdbc.sink.record_tables import RecordTable
from connect_dagster.connectors.jdbc.sql_errors import DatabaseError, DatabaseUnavailableError
from connect_dagster.errors import ConnectError, RetriableError
from connect_dagster.plugin.records import TopicPartition

log = logging.getLogger(__name__)


class OffsetsMovedError(RetriableError):
    """Another task has written the partition's records."""


class OffsetsRefusedError(ConnectError):
    """The database rejects the offsets, whatever the records; the cause holds its error."""


class SinkOffsets:
    """The offsets of one connector's partitions in its database.

    Args:
        connector: its name.
        dialect: of the database.
    """

    def __init__(self, connector: str, dialect: Dialect) -> None:
        self._table = OffsetsTable(connector, dialect)
        self._topic_ids: dict[TopicPartition, str | None] = {}
        self._known: dict[TopicPartition, WrittenOffset | None] = {}
        self._begun: dict[TopicPartition, int] = {}
        self._written: dict[TopicPartition, int] = {}

    def open(
        self, connection: Connection, partitions: Iterable[TopicPartition], topic_ids: Mapping[str, str]
    ) -> dict[TopicPartition, int]:
        """Look up the offsets of partitions.

        Args:
            connection: to the database.
            partitions: of the task.
            topic_ids: ids of their topics, without those that the brokers do not have.

        Returns:
            The existing ones, without those of topics that were deleted and created again.

        Raises:
            DatabaseError: the table cannot be read.
        """
        wanted = list(partitions)
        found = self._table.read(connection)
        self.close(wanted)
        for place in wanted:
            self._topic_ids[place] = topic_ids.get(place.topic)
            self._known[place] = self._identified(connection, place, found.get(place))
        connection.commit()
        begun = {place: offset for place in wanted if (offset := self._written_to(place)) is not None}
        self._begun.update(begun)
        return begun

    def close(self, partitions: Iterable[TopicPartition]) -> None:
        """Forget partitions."""
        for place in partitions:
            self._topic_ids.pop(place, None)
            self._known.pop(place, None)
            self._begun.pop(place, None)

    def unwritten(self, table: RecordTable) -> RecordTable:
        """Return the records that are not written yet, by their offsets.

        Raises:
            ConnectError: they are before the offset that was asked for: the topic is not the one that was written.
        """
        partitions = table.rows[PARTITION]
        fresh = pa.chunked_array([pa.array([True] * table.rows.num_rows, pa.bool_())])
        for partition in pc.unique(partitions).to_pylist():
            place = TopicPartition(table.read_from, partition)
            known = self._written_to(place)
            if known is not None and pc.min(table.rows[OFFSET]).as_py() < known:
                old = pc.and_(pc.equal(partitions, partition), pc.less(table.rows[OFFSET], known))
                self._check_begin(place, pc.min(table.rows[OFFSET].filter(old)).as_py())
                fresh = pc.and_not(fresh, old)
        return table if pc.all(fresh).as_py() else table.where(fresh)

    def _check_begin(self, place: TopicPartition, first: int | None) -> None:
        begun = self._begun.get(place, 0)
        if first is not None and first < begun:
            raise ConnectError(
                f"By table {TABLE} the records of {place} are written up to offset {begun}, but the topic has come to "
                f"offset {first}. If it was deleted and created again, reset the connector's offsets to write all"
            )

    def write(self, connection: Connection, tables: Sequence[RecordTable]) -> None:
        """Write the offsets after records, in their transaction.

        Raises:
            OffsetsMovedError: they are not where this task has left them.
            DatabaseUnavailableError: try again.
            OffsetsRefusedError: the database refuses.
        """
        ends: dict[TopicPartition, int] = {}
        for table in tables:
            for place, end in table.ends().items():
                ends[place] = max(end, ends.get(place, end))
        try:
            for place, end in ends.items():
                self._move(connection, place, end)
        except DatabaseUnavailableError:
            raise
        except DatabaseError as error:
            raise OffsetsRefusedError(f"Offsets cannot be written to table {TABLE}: {error}") from error
        self._written = ends

    def committed(self) -> None:
        """Record that the transaction is committed."""
        self._known.update({place: self._after(place, end) for place, end in self._written.items()})

    def set(self, connection: Connection, offsets: Mapping[TopicPartition, int | None]) -> None:
        """Replace offsets; ``None`` removes one, an empty mapping all. Raises DatabaseError.

        They hold for the topic that the next task finds.
        """
        self._table.read(connection)
        if not offsets:
            self._table.delete(connection)
        for place, offset in offsets.items():
            self._table.delete(connection, place)
            if offset is not None:
                self._table.insert(connection, place, WrittenOffset(offset))
        connection.commit()

    def _written_to(self, place: TopicPartition) -> int | None:
        """Return the offset that the present topic is written to."""
        known = self._known.get(place)
        return known.next if known is not None and known.holds_for(self._topic_ids.get(place)) else None

    def _identified(
        self, connection: Connection, place: TopicPartition, found: WrittenOffset | None
    ) -> WrittenOffset | None:
        """Give an offset of an earlier version, or of a user, the id of the present topic."""
        topic_id = self._topic_ids[place]
        if found is None or topic_id in (None, found.topic_id):
            return found
        if not found.holds_for(topic_id):
            log.warning(
                "Ignoring offset %d of %s in table %s: its topic was deleted and created again since",
                found.next,
                place,
                TABLE,
            )
            return found
        identified = WrittenOffset(found.next, topic_id)
        return identified if self._table.replace(connection, place, found, identified) else found

    def _after(self, place: TopicPartition, end: int) -> WrittenOffset:
        """Return the offset after a write; while the id is not known, the one before stays."""
        known, topic_id = self._known.get(place), self._topic_ids.get(place)
        return WrittenOffset(end, known.topic_id if topic_id is None and known is not None else topic_id)

    def _move(self, connection: Connection, place: TopicPartition, end: int) -> None:
        known, after = self._known.get(place), self._after(place, end)
        start = "the first" if known is None else known.next
        moved = f"The records of {place} from offset {start} on were written by another task"
        if known is not None:
            if not self._table.replace(connection, place, known, after):
                raise OffsetsMovedError(moved)
            return
        try:
            self._table.insert(connection, place, after)
        except DatabaseUnavailableError:
            raise
        except DatabaseError as error:
            connection.rollback()
            if place not in self._table.read(connection):
                raise
            raise OffsetsMovedError(moved) from error
