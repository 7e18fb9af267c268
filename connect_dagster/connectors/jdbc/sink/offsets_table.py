"""The table ``connect_offsets`` in a sink's database: the next offset of each partition, with the id of its topic."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from connect_dagster.connectors.jdbc.database import Connection
from connect_dagster.connectors.jdbc.dialects import Dialect
from connect_dagster.connectors.jdbc.sql_errors import DatabaseError, DatabaseUnavailableError
from connect_dagster.plugin.records import TopicPartition

log = logging.getLogger(__name__)

TABLE = "connect_offsets"
_ID = "topic_id"
_ID_TYPE = "VARCHAR(36){exactly}"
_CREATE = (
    f"CREATE TABLE {TABLE} (connector VARCHAR(200){{exactly}} NOT NULL, topic VARCHAR(249){{exactly}} NOT NULL, "
    f"kafka_partition INTEGER NOT NULL, next_offset BIGINT NOT NULL, {_ID} {_ID_TYPE}, "
    "PRIMARY KEY (connector, topic, kafka_partition))"
)
# Without the word COLUMN, which not every database takes.
_ADD_ID = f"ALTER TABLE {TABLE} ADD {_ID} {_ID_TYPE}"
# Topics that differ in upper and lower case alone are the same to MariaDB and MySQL otherwise.
_EXACTLY = " CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"


@dataclass(frozen=True, slots=True)
class WrittenOffset:
    """The records of a partition that are written.

    Attributes:
        next: the offset after the last one.
        topic_id: of the topic that they were read from; ``None`` when it is not known.
    """

    next: int
    topic_id: str | None = None

    def holds_for(self, topic_id: str | None) -> bool:
        """Return whether a topic with this id can be the one that was read."""
        return topic_id is None or self.topic_id is None or topic_id == self.topic_id


class OffsetsTable:
    """The rows of one connector.

    A table of an earlier version gets its column for ids with the first look; where that is not allowed, ids are
    neither read nor written.

    Args:
        connector: its name.
        dialect: of the database.
    """

    def __init__(self, connector: str, dialect: Dialect) -> None:
        self._connector = connector
        self._dialect = dialect
        self._has_ids = True

    def read(self, connection: Connection) -> dict[TopicPartition, WrittenOffset]:
        """Return all offsets, in a separate transaction; create what the table lacks. Raises DatabaseError."""
        try:
            found = self._rows(connection)
        except DatabaseUnavailableError:
            raise
        except DatabaseError:
            connection.rollback()
            self._prepare(connection)
            found = self._rows(connection)
        connection.commit()
        return found

    def insert(self, connection: Connection, place: TopicPartition, offset: WrittenOffset) -> None:
        """Insert a row. Raises DatabaseError, also when it exists."""
        row = {
            "connector": self._text(self._connector),
            "topic": self._text(place.topic),
            "kafka_partition": str(place.partition),
            "next_offset": str(offset.next),
        }
        if self._has_ids:
            row[_ID] = self._text_or_null(offset.topic_id)
        connection.execute(f"INSERT INTO {TABLE} ({', '.join(row)}) VALUES ({', '.join(row.values())})")

    def replace(
        self, connection: Connection, place: TopicPartition, known: WrittenOffset, offset: WrittenOffset
    ) -> bool:
        """Replace the known offset of a partition; return whether it was the one in the table. Raises DatabaseError."""
        values, seen = f"next_offset = {offset.next}", f"next_offset = {known.next}"
        if self._has_ids:
            values = f"{values}, {_ID} = {self._text_or_null(offset.topic_id)}"
            seen = f"{seen} AND {_ID} " + ("IS NULL" if known.topic_id is None else f"= {self._text(known.topic_id)}")
        return connection.execute(f"UPDATE {TABLE} SET {values} WHERE {self._of(place)} AND {seen}") == 1

    def delete(self, connection: Connection, place: TopicPartition | None = None) -> None:
        """Delete the offset of a partition, or all. Raises DatabaseError."""
        where = f"connector = {self._text(self._connector)}" if place is None else self._of(place)
        connection.execute(f"DELETE FROM {TABLE} WHERE {where}")

    def _rows(self, connection: Connection) -> dict[TopicPartition, WrittenOffset]:
        columns = {"topic": "string", "kafka_partition": "long", "next_offset": "long"}
        if self._has_ids:
            columns[_ID] = "string"
        where = f"connector = {self._text(self._connector)}"
        rows = connection.rows(f"SELECT {', '.join(columns)} FROM {TABLE} WHERE {where}", *columns.values())
        return {TopicPartition(topic, partition): WrittenOffset(*offset) for topic, partition, *offset in rows}

    def _prepare(self, connection: Connection) -> None:
        """Create the table, or add the column that those of earlier versions lack."""
        if not _has_column(connection, "topic"):
            self._run(connection, _CREATE, "topic", f"Could not create table {TABLE}")
        elif not _has_column(connection, _ID):
            without = f"Topics that are created again are not recognized: table {TABLE} has no column {_ID}"
            self._run(connection, _ADD_ID, _ID, without)
        self._has_ids = _has_column(connection, _ID)

    def _run(self, connection: Connection, statement: str, column: str, failing: str) -> None:
        """Run a statement that creates a column, unless another task is faster."""
        try:
            connection.execute(statement.format(exactly=_EXACTLY if self._dialect.is_mysql else ""))
            connection.commit()
        except DatabaseError as error:
            connection.rollback()
            if not _has_column(connection, column):
                log.warning("%s: %s", failing, error)

    def _of(self, place: TopicPartition) -> str:
        connector, topic = self._text(self._connector), self._text(place.topic)
        return f"connector = {connector} AND topic = {topic} AND kafka_partition = {place.partition}"

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
    connection.commit()
    return True
