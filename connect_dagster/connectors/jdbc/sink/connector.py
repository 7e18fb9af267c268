"""JDBC sink: the records of topics become rows of tables.

    name=orders-db
    connector.class=io.confluent.connect.jdbc.JdbcSinkConnector
    tasks.max=1
    topics=orders
    connection.url=jdbc:postgresql://localhost:5432/shop
    connection.user=kafka
    connection.password=kafka123
    insert.mode=upsert
    pk.mode=record_key
    pk.fields=id
    delete.enabled=true
    auto.create=true

A batch is one transaction. Spark makes each record a line of text, which PostgreSQL, MariaDB and MySQL load in bulk,
big batches while Spark decodes the next; any other database gets rows by Spark's JDBC writer. Each record arrives at
least once; with ``exactly.once`` its offset is written in the same transaction. Source: ``JdbcSinkTask``.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import ClassVar

from connect_dagster.connectors.jdbc.database import Database
from connect_dagster.connectors.jdbc.sink.config import JdbcSinkConfig
from connect_dagster.connectors.jdbc.sink.failures import (
    Unwritable,
    Unwritten,
    fails_together,
    found_again,
    is_certain,
    write_apart,
)
from connect_dagster.connectors.jdbc.sink.offsets import OffsetsMovedError, OffsetsRefusedError, SinkOffsets
from connect_dagster.connectors.jdbc.sink.record_tables import RecordTable, RecordTables, starts
from connect_dagster.connectors.jdbc.sink.tables import TableError
from connect_dagster.connectors.jdbc.sink.write_behind import WriteBehind
from connect_dagster.connectors.jdbc.sink.writer import SinkWriter
from connect_dagster.connectors.jdbc.sql_errors import DatabaseError, DatabaseUnavailableError
from connect_dagster.errors import ConnectError, RetriableError
from connect_dagster.plugin.config import ConfigDef
from connect_dagster.plugin.connector import Properties, SinkConnector, SinkTask
from connect_dagster.plugin.frames import SinkBatch
from connect_dagster.plugin.records import TopicPartition

log = logging.getLogger(__name__)

# Smaller batches are written within put, which then raises their errors at once.
_WORTH_A_THREAD = 10_000
# Longest search for records that do not fit: the task must poll its group in between.
_BISECTION_SECONDS = 60.0
_STOP_SECONDS = 4.0


class JdbcSinkTask(SinkTask):
    """Write batches, each in a transaction."""

    needs_headers = False
    at_driver = True

    def start(self, config: Properties) -> None:
        """Connect; a wrong password or a missing driver fails now, later puts wait for a missing database."""
        self._config = JdbcSinkConfig.parse(config)
        self._database = _database(self._config)
        self._offsets = _offsets(self._config, self._database)
        self._writer = SinkWriter(self._config, self._database, self.context.spark, self._offsets)
        self._retries = self._config.max_retries
        self._behind = WriteBehind(self._writer.write, self.context.request_commit)
        self._in_turn: set[TopicPartition] = set()
        self._record_tables: RecordTables | None = None
        self._unopened: set[TopicPartition] = set()
        self._unreported: dict[tuple[str, int, int], Unwritten] = {}
        try:
            self._writer.connection()
        except DatabaseUnavailableError as error:
            log.warning("%s; the first records will try again", error)

    def open(self, partitions: Sequence[TopicPartition]) -> None:
        """Continue after the database's offsets of these partitions, or look them up before their first records."""
        if self._offsets is None:
            return
        self._settled()
        self._unopened.update(partitions)
        try:
            self._go_on(self._offsets)
        except DatabaseUnavailableError as error:
            log.warning("%s; the first records will try again", error)

    def put(self, batch: SinkBatch) -> None:
        """Write all records, in one transaction; many of them while the next are decoded."""
        try:
            if self._offsets is not None and self._unopened and (self._settled() or self._go_on(self._offsets)):
                raise RetriableError("Continuing from the offsets in the database")
            decoded = self._opened_record_tables().of(batch)
        except DatabaseUnavailableError as error:
            raise self._again(error) from error
        if self._settled():
            raise RetriableError("The records before these could not be written")
        if self._unreported:  # before records below the database's offset are left out
            self._report(found_again(self._unreported, decoded))
        tables = self._fresh(decoded)
        if self._goes_behind(tables):
            self._behind.begin(tables)
        elif tables:
            left = self._write(tables)
            if self._in_turn:
                self._in_turn.difference_update(starts(tables).keys() - left.keys())
        self._retries = self._config.max_retries

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Wait for the records being written; unwritten ones are not committed."""
        unwritten = self._settled()
        return {place: min(offset, unwritten.get(place, offset)) for place, offset in offsets.items()}

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        """Forget their offsets."""
        self._settled()
        self._in_turn.difference_update(partitions)
        gone = [place for place in self._unreported if TopicPartition(*place[:2]) in partitions]
        for place in gone:
            lost = self._unreported.pop(place)
            log.error("Rejected by the database, and the report failed: %s-%d@%d: %s", *place, lost.why)
        if self._offsets is not None:
            self._unopened.difference_update(partitions)
            self._offsets.close(partitions)

    def stop(self) -> None:
        """Close the connection."""
        if hasattr(self, "_behind"):
            self._writer.wait_no_more()
            if self._behind.close(_STOP_SECONDS):
                self._writer.close()
            else:
                log.warning("The database took longer than %.0f s for a batch, which is rolled back", _STOP_SECONDS)
                self._writer.abort()

    def _goes_behind(self, tables: Sequence[RecordTable]) -> bool:
        rows = sum(table.rows.num_rows for table in tables)
        return rows >= _WORTH_A_THREAD and not self._in_turn and not self._writer.loader.needs_spark

    def _settled(self) -> Mapping[TopicPartition, int]:
        """Wait for the records that are being written.

        Returns:
            The first offsets of those that could not be written. They are read again, and then written in turn, which
            finds the records that fail.
        """
        failed = self._behind.settle()
        if failed is None:
            return {}
        log.warning("Records could not be written and are read again: %s", failed.error)
        self._writer.reset()
        self._in_turn.update(failed.starts)
        self.context.offset(failed.starts)
        return failed.starts

    def _go_on(self, offsets: SinkOffsets) -> bool:
        """Seek new partitions to the database's offsets; returns whether it has any."""
        known = offsets.open(self._writer.connection(), self._unopened, self.context.topic_ids)
        self._unopened.clear()
        if known:
            self.context.offset(known)
        return bool(known)

    def _opened_record_tables(self) -> RecordTables:
        if self._record_tables is None:
            loader = self._writer.loader
            reporter = self.context.errant_record_reporter
            report = None if reporter is None else reporter.report_frame
            self._record_tables = RecordTables(self._config, loader.columns, loader.key_text, report)
        return self._record_tables

    def _fresh(self, tables: Sequence[RecordTable]) -> list[RecordTable]:
        if self._offsets is not None:
            tables = [self._offsets.unwritten(table) for table in tables]
        return [table for table in tables if table.rows.num_rows]

    def _write(self, tables: Sequence[RecordTable]) -> Mapping[TopicPartition, int]:
        """Write records; returns the first offsets of those to read again, when too many do not fit."""
        try:
            self._writer.write(tables)
        except OffsetsMovedError as error:
            raise self._moved(error) from error
        except OffsetsRefusedError as error:
            raise self._refused(error) from error
        except (DatabaseError, TableError) as error:
            self._writer.reset()
            if not (isinstance(error, TableError) or is_certain(error)) and self._retries > 0:
                raise self._again(error) from error
            left = starts(self._write_what_can_be(tables, error))
            self.context.offset(left)
            return left
        return {}

    def _write_what_can_be(self, tables: Sequence[RecordTable], error: ConnectError) -> list[RecordTable]:
        """Write all records but rejected ones, which are reported; returns those that did not fit the time limit."""
        reporter = self.context.errant_record_reporter
        try:
            # The cached description of the table may be old: a column may have been widened.
            try:
                self._write_again(tables)
            except (DatabaseError, TableError) as refused:
                if isinstance(refused, DatabaseUnavailableError):
                    raise
                if reporter is None and not fails_together(refused):
                    raise _failing(str(refused)) from error
            else:
                return []
            found: list[Unwritten] = []
            tolerates = reporter is not None and reporter.tolerates
            take = found.append if tolerates else self._first_fails
            try:
                return write_apart(tables, self._write_again, take, _BISECTION_SECONDS)
            finally:  # with exactly.once those that the database's offset has passed are not written again
                self._report(found)
        except DatabaseUnavailableError as lost:
            raise self._again(lost) from lost
        except OffsetsMovedError as moved:
            raise self._moved(moved) from moved
        except OffsetsRefusedError as without:
            raise self._refused(without) from without

    def _first_fails(self, one: Unwritten) -> None:
        """Fail the task here: with exactly.once it would continue after records written later than this one."""
        if self.context.errant_record_reporter is not None:
            self._report([one])
        raise _failing(one.why)

    def _report(self, found: Sequence[Unwritten]) -> None:
        """Report rejected records; those for which that fails are kept until they are read again."""
        reporter = self.context.errant_record_reporter
        self._unreported.update({one.place: one for one in found})
        for part in Unwritable.by_frame(found):
            assert reporter is not None
            reporter.report_frame(part.frame, part.text)
            for one in part.records:
                del self._unreported[one.place]

    def _write_again(self, tables: Sequence[RecordTable]) -> None:
        """Write some records by themselves; roll back where the database rejects them."""
        try:
            self._writer.write(tables)
        except DatabaseUnavailableError:
            raise
        except (DatabaseError, TableError):
            self._writer.undo()
            raise

    def _again(self, error: ConnectError) -> RetriableError:
        """Return the error that repeats the batch, as long as there are retries left."""
        self._writer.reset()
        if self._retries <= 0:
            raise ConnectError(str(error)) from error
        self._retries -= 1
        log.warning("Write failed, remainingRetries=%d: %s", self._retries, error)
        self.context.timeout(self._config.retry_backoff_ms)
        return RetriableError(str(error))

    def _refused(self, error: OffsetsRefusedError) -> ConnectError:
        """Return the error for another attempt, as after any refusal that may be temporary."""
        cause = error.__cause__
        return error if isinstance(cause, DatabaseError) and is_certain(cause) else self._again(error)

    def _moved(self, error: OffsetsMovedError) -> RetriableError:
        """Seek to where the other task stopped."""
        self._writer.reset()
        assert self._offsets is not None
        assigned = sorted(self.context.assignment, key=str)
        self.context.offset(self._offsets.open(self._writer.connection(), assigned, self.context.topic_ids))
        return error


class JdbcSinkConnector(SinkConnector):
    """A sink that writes records to the tables of a database.

    Any number of tasks, each with its connection.
    """

    config_def: ClassVar[type[ConfigDef]] = JdbcSinkConfig
    java_class: ClassVar[str] = "io.confluent.connect.jdbc.JdbcSinkConnector"
    java_task_class: ClassVar[str] = "io.confluent.connect.jdbc.sink.JdbcSinkTask"
    other_java_classes: ClassVar[tuple[str, ...]] = ("io.aiven.connect.jdbc.JdbcSinkConnector",)
    version: ClassVar[str] = "0.1.0"
    task_class = JdbcSinkTask

    def alter_offsets(self, config: Properties, offsets: Mapping[TopicPartition, int | None]) -> bool:
        """Change the database's own offsets as well with ``exactly.once``, as tasks continue at these."""
        parsed = JdbcSinkConfig.parse(config)
        database = _database(parsed)
        kept = _offsets(parsed, database)
        if kept is not None:
            with database.connect() as connection:
                connection.java.setAutoCommit(False)
                kept.set(connection, offsets)
        return True


def _failing(why: str) -> ConnectError:
    log.error("Failing task, its records cannot be written: %s", why)
    return ConnectError(why)


def _database(config: JdbcSinkConfig) -> Database:
    return Database.of(
        config.connection_url,
        config.connection_user,
        config.connection_password,
        config.originals,
        dialect=config.dialect_name,
        quoted=config.quoted,
    )


def _offsets(config: JdbcSinkConfig, database: Database) -> SinkOffsets | None:
    return SinkOffsets(config.originals["name"], database.dialect) if config.exactly_once else None
