"""``exactly.once``: the offsets after a batch, written in its own transaction into a table beside its rows.

A task knows which offset it has written last of a partition and changes only that one: a task that was thought dead and
still writes finds another, and its transaction is undone.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence

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
_CREATE = (
    f"CREATE TABLE {TABLE} (connector VARCHAR(200){{exactly}} NOT NULL, topic VARCHAR(249){{exactly}} NOT NULL, "
    "kafka_partition INTEGER NOT NULL, next_offset BIGINT NOT NULL, "
    "PRIMARY KEY (connector, topic, kafka_partition))"
)
# Topics that differ in upper and lower case alone are the same to MariaDB and MySQL otherwise.
_EXACTLY = " CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"


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
        self._connector = connector
        self._dialect = dialect
        self._known: dict[TopicPartition, int | None] = {}
        self._begun: dict[TopicPartition, int] = {}
        self._written: dict[TopicPartition, int] = {}

    def open(self, connection: Connection, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Look up the offsets of partitions; returns the existing ones. Raises DatabaseError."""
        wanted = list(partitions)
        found = self.read(connection)
        self._known.update({place: found.get(place) for place in wanted})
        begun = {place: found[place] for place in wanted if place in found}
        self._begun.update(begun)
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
            known = self._known.get(place)
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
        self._known.update(self._written)

    def read(self, connection: Connection) -> dict[TopicPartition, int]:
        """Return all offsets of the connector; creates the table when it does not exist. Raises DatabaseError."""
        query = f"SELECT topic, kafka_partition, next_offset FROM {TABLE} WHERE connector = {self._name}"
        try:
            rows = connection.rows(query, "string", "long", "long")
        except DatabaseError:
            connection.rollback()
            self._create(connection)
            rows = connection.rows(query, "string", "long", "long")
        connection.commit()
        return {TopicPartition(topic, partition): offset for topic, partition, offset in rows}

    def set(self, connection: Connection, offsets: Mapping[TopicPartition, int | None]) -> None:
        """Replace offsets; ``None`` removes one, an empty mapping all. Raises DatabaseError."""
        self.read(connection)
        if not offsets:
            connection.execute(f"DELETE FROM {TABLE} WHERE connector = {self._name}")
        for place, offset in offsets.items():
            connection.execute(f"DELETE FROM {TABLE} WHERE {self._of(place)}")
            if offset is not None:
                self._insert(connection, place, offset)
        connection.commit()

    @property
    def _name(self) -> str:
        return self._text(self._connector)

    def _create(self, connection: Connection) -> None:
        try:
            connection.execute(_CREATE.format(exactly=_EXACTLY if self._dialect.is_mysql else ""))
            connection.commit()
        except DatabaseError as error:  # another task was faster, or the next look fails as well
            connection.rollback()
            log.warning("Could not create table %s: %s", TABLE, error)

    def _move(self, connection: Connection, place: TopicPartition, end: int) -> None:
        known = self._known.get(place)
        moved = f"The records of {place} from offset {known or 'the first'} on were written by another task"
        if known is None:
            try:
                self._insert(connection, place, end)
            except DatabaseUnavailableError:
                raise
            except DatabaseError as error:
                connection.rollback()
                if place not in self.read(connection):
                    raise
                raise OffsetsMovedError(moved) from error
            return
        changed = connection.execute(
            f"UPDATE {TABLE} SET next_offset = {end} WHERE {self._of(place)} AND next_offset = {known}"
        )
        if changed != 1:
            raise OffsetsMovedError(moved)

    def _insert(self, connection: Connection, place: TopicPartition, end: int) -> None:
        values = f"{self._name}, {self._text(place.topic)}, {place.partition}, {end}"
        connection.execute(f"INSERT INTO {TABLE} ({_COLUMNS}) VALUES ({values})")

    def _of(self, place: TopicPartition) -> str:
        topic = self._text(place.topic)
        return f"connector = {self._name} AND topic = {topic} AND kafka_partition = {place.partition}"

    def _text(self, text: str) -> str:
        escaped = text.replace("\\", "\\\\") if self._dialect.is_mysql else text
        return "'" + escaped.replace("'", "''") + "'"
