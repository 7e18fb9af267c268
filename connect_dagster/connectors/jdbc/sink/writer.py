"""Writes the records of a batch in one transaction, for one or more tables."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import SparkSession

from connect_dagster.connectors.jdbc.database import Connection, Database, HeldConnection
from connect_dagster.connectors.jdbc.sink.config import InsertMode, JdbcSinkConfig, KeyMode
from connect_dagster.connectors.jdbc.sink.loaders import CopyLoader, Load, LoadDataLoader, Loader, SparkLoader
from connect_dagster.connectors.jdbc.sink.merge_order import MergeStep, by_key, in_any_order
from connect_dagster.connectors.jdbc.sink.offsets import SinkOffsets
from connect_dagster.connectors.jdbc.sink.record_tables import RecordTable
from connect_dagster.connectors.jdbc.sink.statements import Merge, deleted, merged
from connect_dagster.connectors.jdbc.sink.tables import SinkTables, Table
from connect_dagster.connectors.jdbc.sink.values import SinkValues
from connect_dagster.errors import ConnectError

log = logging.getLogger(__name__)


class SinkWriter:
    """One task's connection, with the tables it knows.

    Args:
        config: the connector's configuration.
        database: where to write.
        spark: the worker's session.
        offsets: written with each batch; ``None`` without ``exactly.once``.
    """

    def __init__(
        self, config: JdbcSinkConfig, database: Database, spark: SparkSession, offsets: SinkOffsets | None
    ) -> None:
        self._config = config
        self._database = database
        self._spark = spark
        self._offsets = offsets
        self._tables = SinkTables(config, database.dialect)
        self._stopping = threading.Event()
        self._held = HeldConnection(self._opened)
        self._loader: Loader | None = None

    def connection(self) -> Connection:
        """Return the connection, in a transaction. Raises DatabaseError."""
        return self._held.get()

    @property
    def loader(self) -> Loader:
        """Return the loader for this database. Raises DatabaseError."""
        if self._loader is None:
            self._loader = self._chosen(self.connection())
            self._loader.opened(self.connection())
        return self._loader

    def write(self, records: Sequence[RecordTable]) -> None:
        """Write records; all of them or none.

        Raises:
            TableError: a table does not fit them.
            DatabaseError: the database refuses, now or for good.
            OffsetsMovedError: another task has written them.
            OffsetsRefusedError: the database refuses their offsets.
            ConnectError: the configuration does not allow them.
        """
        loader, connection = self.loader, self.connection()
        loads = [load for of_table in self._by_table(connection, records) for load in self._loads(*of_table)]
        connection.commit()  # the snapshot in which the tables were read is old
        loader.prepare(connection, [load for load in loads if not self._straight(load)])
        if self._offsets is not None:  # first: only the offset shows that another task has written these rows
            self._offsets.write(connection, records)
        for load in loads:
            self._carry_out(connection, load)
        connection.commit()
        if self._offsets is not None:
            self._offsets.committed()
        loader.committed(connection)

    def reset(self) -> None:
        """Drop the connection with its transaction, and the cached tables."""
        self._held.drop()
        self._tables.forget()

    def undo(self) -> None:
        """Give up the transaction alone. Raises DatabaseUnavailableError."""
        self.connection().rollback()

    def wait_no_more(self) -> None:
        """Stop waiting for a database that is down."""
        self._stopping.set()

    def close(self) -> None:
        """Close the connection; called once."""
        self._held.drop()

    def abort(self) -> None:
        """Close the connection while another thread waits for the database: its transaction is rolled back."""
        self._held.abort()

    def _opened(self) -> Connection:
        config = self._config
        connection = self._database.connect_patiently(
            config.connection_attempts, config.connection_backoff_ms / 1000, self._stopping.wait
        )
        with self._database.translated_errors("Cannot begin a transaction"):
            connection.java.setAutoCommit(False)
        if self._loader is not None:
            self._loader.opened(connection)
        return connection

    def _chosen(self, connection: Connection) -> Loader:
        values = SinkValues(self._config)
        dialect = self._database.dialect
        if dialect.is_postgresql and CopyLoader.works(connection):
            return CopyLoader(self._database, values)
        if dialect.is_mysql and LoadDataLoader.works(connection):
            return LoadDataLoader(self._database, values)
        log.info("Spark's JDBC writer writes rows to %s", self._database.shown)
        return SparkLoader(self._database, values, self._spark, self._config.batch_size)

    def _by_table(
        self, connection: Connection, records: Sequence[RecordTable]
    ) -> list[tuple[Sequence[Table], Sequence[RecordTable]]]:
        """Return the records of each table, with the table as each of them finds it."""
        found: dict[str, tuple[list[Table], list[RecordTable]]] = {}
        for record_table in sorted(records, key=RecordTable.first_offset):  # the first to miss a column has it added
            table = self._tables.ready(connection, record_table.topic, record_table.fields)
            tables, together = found.setdefault(str(table.id), ([], []))
            tables.append(table)
            together.append(record_table)
        return list(found.values())

    def _loads(self, tables: Sequence[Table], records: Sequence[RecordTable]) -> list[Load]:
        """Return the rows to load, in order; keys alone are those of rows to delete."""
        mode = self._config.insert_mode
        if mode is not InsertMode.INSERT and self._config.pk_mode is KeyMode.NONE:
            raise ConnectError(
                f"Write to table '{tables[0].shown}' in {mode.name} mode requires key field names to be known, check "
                "the primary key configuration"
            )
        rows = [record_table.rows for record_table in records]
        merges = mode is not InsertMode.INSERT or self._config.delete_enabled
        steps = (
            by_key(rows, last_only=mode is not InsertMode.INSERT)
            if self._config.keyed and merges
            else in_any_order(rows)
        )
        return [
            Load(tables[-1], records[step.frame].fields, _taken(records[step.frame], step), step.deletes)
            for step in steps
        ]

    def _straight(self, load: Load) -> bool:
        return not load.keys_only and self._config.insert_mode is InsertMode.INSERT and self.loader.goes_straight(load)

    def _carry_out(self, connection: Connection, load: Load) -> None:
        if self._straight(load):
            self.loader.insert(connection, load)
            return
        stage = self.loader.stage(connection, load)
        dialect = self._database.dialect
        keys = len(load.fields.keys)
        merge = Merge(
            dialect.quoting, dialect.quoting.table(load.table.id), stage, load.columns[:keys], load.columns[keys:]
        )
        name = dialect.name
        statements = [deleted(name, merge)] if load.keys_only else merged(name, self._config.insert_mode, merge)
        for statement in statements:
            connection.execute(statement)


def _taken(record_table: RecordTable, step: MergeStep) -> pa.Table:
    return record_table.rows if step.rows is None else record_table.rows.take(step.rows)
