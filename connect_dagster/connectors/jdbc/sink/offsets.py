"""``exactly.once``: the offsets after a batch, written in its own transaction into a table beside its rows.

A task knows which offset it has written last of a partition and changes only that one: a task that was thought dead and
still writes finds another, and its transaction is undone. The topic's id is written as well (KIP-516): an offset of a
topic that was deleted and created again does not hold for the new one.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from connect_dagster.connectors.jdbc.database import Connection
from connect_dagster.connectors.jdbc.dialects import Dialect
from connect_dagster.connectors.jdbc.sink.merge_order import OFFSET, PARTITION
from connect_dagster.connectors.jdbc.sink.record_tables import RecordTable
from connect_dagster.connectors.jdbc.sql_errors import DatabaseError, DatabaseUnavailableError
from connect_dagster.errors import ConnectError, RetriableError
from connect_dagster.plugin.records import TopicPartition

log = logging.getLogger(__name__)

TABLE = "connect_offsets"
_COLUMNS = "connector, topic, kafka_partition, next_offset"
_ID = "topic_id"
_ID_TYPE = "VARCHAR(36){exactly}"
_CREATE = (
    f"CREATE TABLE {TABLE} (connector VARCHAR(200){{exactly}} NOT NULL, topic VARCHAR(249){{exactly}} NOT NULL, "
    f"kafka_partition INTEGER NOT NULL, next_offset BIGINT NOT NULL, {_ID} {_ID_TYPE}, "
    "PRIMARY KEY (connector, topic, kafka_partition))"
)
_ADD_ID = f"ALTER TABLE {TABLE} ADD {_ID} {_ID_TYPE}"
# Topics that differ in upper and lower case alone are the same to MariaDB and MySQL otherwise.
_EXACTLY = " CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"


class OffsetsMovedError(RetriableError):
    """Another task has written the partition's records."""


class OffsetsRefusedError(ConnectError):
    """The database rejects the offsets, whatever the records; the cause holds its error."""


@dataclass(frozen=True, slots=True)
class KeptOffset:
    """A row of the table.

    Attributes:
        next: the offset after the last record that is written.
        topic_id: of the topic with these records; ``None`` when it was not known.
    """

    next: int
    topic_id: str | None = None

    def holds_for(self, topic_id: str | None) -> bool:
        """Return whether a topic with this id can be the one whose records are written."""
        return topic_id is None or self.topic_id is None or topic_id == self.topic_id


class SinkOffsets:
    """The offsets of one connector's partitions in its database.

    Args:
        connector: its name.
        dialect: of the database.
    """

    def __init__(self, connector: str, dialect: Dialect) -> None:
        self._connector = connector
        self._dialect = dialect
        self._has_ids = True
        self._ids: dict[str, str] = {}
        self._known: dict[TopicPartition, KeptOffset | None] = {}
        self._begun: dict[TopicPartition, int] = {}
        self._written: dict[TopicPartition, int] = {}

    def open(
        self, connection: Connection, partitions: Iterable[TopicPartition], topic_ids: Mapping[str, str]
    ) -> dict[TopicPartition, int]:
        """Look up the offsets of partitions.

        Args:
            connection: to the database.
            partitions: of the task.
            topic_ids: ids of their topics, where the brokers have ids.

        Returns:
            The existing ones, without those of topics that were deleted and created again.

        Raises:
            DatabaseError: the table cannot be read.
        """
        wanted = list(partitions)
        found = self.read(connection)
        self._ids.update(topic_ids)
        self._known.update({place: found.get(place) for place in wanted})
        begun: dict[TopicPartition, int] = {}
        for place in wanted:
            if (offset := self._written_to(place)) is not None:
                begun[place] = offset
            elif place in found:
                log.warning("Offset %d of %s in table %s is of a topic deleted since", found[place].next, place, TABLE)
        self._begun = {place: at for place, at in self._begun.items() if place not in wanted} | begun
        return begun

    def close(self, partitions: Iterable[TopicPartition]) -> None:
        """Forget partitions."""
        for place in partitions:
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
        self._known.update({place: KeptOffset(end, self._ids.get(place.topic)) for place, end in self._written.items()})

    def read(self, connection: Connection) -> dict[TopicPartition, KeptOffset]:
        """Return all offsets of the connector; creates the table, or its column for ids. Raises DatabaseError."""
        try:
            found = self._rows(connection)
        except DatabaseError:
            connection.rollback()
            self._prepare(connection)
            found = self._rows(connection)
        connection.commit()
        return found

    def set(self, connection: Connection, offsets: Mapping[TopicPartition, int | None]) -> None:
        """Replace offsets; ``None`` removes one, an empty mapping all. Raises DatabaseError."""
        self.read(connection)
        if not offsets:
            connection.execute(f"DELETE FROM {TABLE} WHERE connector = {self._name}")
        for place, offset in offsets.items():
            connection.execute(f"DELETE FROM {TABLE} WHERE {self._of(place)}")
            if offset is not None:
                self._insert(connection, place, offset, None)
        connection.commit()

    @property
    def _name(self) -> str:
        return self._text(self._connector)

    def _written_to(self, place: TopicPartition) -> int | None:
        """Return the offset that the topic with the present id is written to."""
        known = self._known.get(place)
        return known.next if known is not None and known.holds_for(self._ids.get(place.topic)) else None

    def _rows(self, connection: Connection) -> dict[TopicPartition, KeptOffset]:
        columns, getters = "topic, kafka_partition, next_offset", ("string", "long", "long")
        if self._has_ids:
            columns, getters = f"{columns}, {_ID}", (*getters, "string")
        rows = connection.rows(f"SELECT {columns} FROM {TABLE} WHERE connector = {self._name}", *getters)
        return {TopicPartition(topic, partition): KeptOffset(*kept) for topic, partition, *kept in rows}

    def _prepare(self, connection: Connection) -> None:
        if not _has_column(connection, "topic"):
            self._try(connection, _CREATE, f"Could not create table {TABLE}")
        elif not _has_column(connection, _ID):  # it was created by an earlier version
            without = f"Topics that are created again are not recognized without a column {_ID} in table {TABLE}"
            self._try(connection, _ADD_ID, without)
            self._has_ids = _has_column(connection, _ID)

    def _try(self, connection: Connection, statement: str, failing: str) -> None:
        try:
            connection.execute(statement.format(exactly=_EXACTLY if self._dialect.is_mysql else ""))
            connection.commit()
        except DatabaseError as error:  # another task was faster, or the next look fails as well
            connection.rollback()
            log.warning("%s: %s", failing, error)

    def _move(self, connection: Connection, place: TopicPartition, end: int) -> None:
        known, id = self._known.get(place), self._ids.get(place.topic)
        start = "the first" if known is None else known.next
        moved = f"The records of {place} from offset {start} on were written by another task"
        if known is None:
            try:
                self._insert(connection, place, end, id)
            except DatabaseUnavailableError:
                raise
            except DatabaseError as error:
                connection.rollback()
                if place not in self.read(connection):
                    raise
                raise OffsetsMovedError(moved) from error
            return
        values, seen = f"next_offset = {end}", f"next_offset = {known.next}"
        if self._has_ids:
            values = f"{values}, {_ID} = {self._text_or_null(id)}"
            seen = f"{seen} AND {_ID} " + ("IS NULL" if known.topic_id is None else f"= {self._text(known.topic_id)}")
        changed = connection.execute(f"UPDATE {TABLE} SET {values} WHERE {self._of(place)} AND {seen}")
        if changed != 1:
            raise OffsetsMovedError(moved)

    def _insert(self, connection: Connection, place: TopicPartition, end: int, id: str | None) -> None:
        columns, values = _COLUMNS, f"{self._name}, {self._text(place.topic)}, {place.partition}, {end}"
        if self._has_ids:
            columns, values = f"{columns}, {_ID}", f"{values}, {self._text_or_null(id)}"
        connection.execute(f"INSERT INTO {TABLE} ({columns}) VALUES ({values})")

    def _of(self, place: TopicPartition) -> str:
        topic = self._text(place.topic)
        return f"connector = {self._name} AND topic = {topic} AND kafka_partition = {place.partition}"

    def _text_or_null(self, text: str | None) -> str:
        return "NULL" if text is None else self._text(text)

    def _text(self, text: str) -> str:
        escaped = text.replace("\\", "\\\\") if self._dialect.is_mysql else text
        return "'" + escaped.replace("'", "''") + "'"


def _has_column(connection: Connection, name: str) -> bool:
    try:
        connection.rows(f"SELECT {name} FROM {TABLE} WHERE 1 = 0", "string")
    except DatabaseUnavailableError:
        raise
    except DatabaseError:
        connection.rollback()
        return False
    return True
