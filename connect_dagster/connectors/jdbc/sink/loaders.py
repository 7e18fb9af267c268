"""Loaders of rows: the database's bulk load, else Spark's JDBC writer.

=============  ======================================  =============================================
database       straight into a table                   waiting for a merge
=============  ======================================  =============================================
PostgreSQL     ``COPY … FROM STDIN``                   the same, into a temporary table
MariaDB/MySQL  ``LOAD DATA LOCAL``                     the same, into a temporary table
any other      never                                   Spark writes a table, which is dropped after
=============  ======================================  =============================================

Bulk loads take lines of text that Spark makes of the rows. The driver reads them from a file in memory, as py4j would
pass them character by character.
"""

from __future__ import annotations

import hashlib
import logging
import tempfile
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.sql import Column, SparkSession

from connect_dagster.connectors.jdbc.database import Connection, Database
from connect_dagster.connectors.jdbc.sink.fields import SinkField, SinkFields
from connect_dagster.connectors.jdbc.sink.merge_order import KEY
from connect_dagster.connectors.jdbc.sink.row_text import Text, is_binary, lines, mysql_text, postgresql_text
from connect_dagster.connectors.jdbc.sink.statements import empty_copy
from connect_dagster.connectors.jdbc.sink.tables import Table
from connect_dagster.connectors.jdbc.sink.values import SinkValues
from connect_dagster.connectors.jdbc.sql_errors import DatabaseError
from connect_dagster.expressions.arrow_text import text_bytes, write_all
from connect_dagster.expressions.java_calls import jvm
from connect_dagster.scratch import free_bytes, memory_folder

log = logging.getLogger(__name__)

_LINE = "line"
_BUFFER = 1 << 18
_STAGE = "connect_stage_"
# Most staging tables at once; records whose schemas alternate use them one after the other.
_MOST_STAGES = 16


@dataclass(frozen=True, slots=True)
class Load:
    """Rows that go into one table.

    Attributes:
        table: their table.
        fields: the fields of their columns.
        rows: with the columns of ``Loader.columns``.
        keys_only: whether only the columns of the key are loaded.
    """

    table: Table
    fields: SinkFields
    rows: pa.Table
    keys_only: bool = False

    @property
    def loaded(self) -> tuple[SinkField, ...]:
        """Return the fields to load."""
        return self.fields.keys if self.keys_only else self.fields.all

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the table's columns for them."""
        return tuple(self.table.column(field.name) or field.name for field in self.loaded)


def folder_for(size: int) -> Path | None:
    """Return a folder for ``size`` bytes: in memory, up to half of its free space, as other tasks use it too."""
    memory = memory_folder()
    return memory if 2 * size <= free_bytes(memory) else None


class Loader(ABC):
    """A loader of rows over one connection at a time, within its transaction.

    Args:
        database: where to.
        values: what is written of records.
    """

    text: Text
    needs_spark: ClassVar[bool] = False
    """True when Spark is busy while it loads."""

    def __init__(self, database: Database, values: SinkValues) -> None:
        self.database = database
        self.values = values

    def key_text(self, fields: SinkFields) -> Column:
        """Return the text of the key's columns."""
        return lines(fields.keys, self.values, type(self).text)

    def opened(self, connection: Connection) -> None:  # noqa: B027 (optional hook)
        """Make a new connection ready. Raises DatabaseError."""

    def prepare(self, connection: Connection, loads: Sequence[Load]) -> None:  # noqa: B027 (optional hook)
        """Prepare for the transaction in which these rows will be staged. Raises DatabaseError."""

    @abstractmethod
    def columns(self, fields: SinkFields) -> Sequence[Column]:
        """Return the columns of records that it needs."""

    @abstractmethod
    def goes_straight(self, load: Load) -> bool:
        """Return whether :meth:`insert` is possible."""

    @abstractmethod
    def insert(self, connection: Connection, load: Load) -> None:
        """Insert rows into their table; all of them or none. Raises DatabaseError."""

    @abstractmethod
    def stage(self, connection: Connection, load: Load) -> str:
        """Return the staging table, quoted, after putting the rows into it. Raises DatabaseError."""

    def committed(self, connection: Connection) -> None:  # noqa: B027 (optional hook)
        """Notify the loader of a commit: staged rows have been merged."""


class _TextLoader(Loader):
    """A loader of lines of text."""

    def columns(self, fields: SinkFields) -> Sequence[Column]:
        return [lines(fields.all, self.values, type(self).text).alias(_LINE)]

    def goes_straight(self, load: Load) -> bool:
        return load.table.kind != "VIEW"

    def insert(self, connection: Connection, load: Load) -> None:
        self._load(connection, self._quoted(load), load)

    @abstractmethod
    def _load(self, connection: Connection, target: str, load: Load) -> None: ...

    def _listed(self, load: Load) -> str:
        return ", ".join(map(self.database.dialect.quoting.name, load.columns))

    def _selected(self, load: Load) -> str:
        """Return a query with the columns of a stage."""
        return f"SELECT {self._listed(load)} FROM {self._quoted(load)}"

    def _quoted(self, load: Load) -> str:
        return self.database.dialect.quoting.table(load.table.id)

    @contextmanager
    def _stream(self, load: Load) -> Iterator[Any]:
        """Return the lines as an ``InputStream``."""
        parts = list(text_bytes(load.rows[KEY if load.keys_only else _LINE]))
        folder = folder_for(sum(part.size for part in parts))
        with tempfile.NamedTemporaryFile(dir=folder, prefix="connect-rows-", buffering=0) as file:
            for part in parts:
                write_all(file.fileno(), memoryview(part))
            stream = jvm().java.io.FileInputStream(file.name)
            try:
                with self.database.translated_errors(f"Cannot write to table {load.table.shown}"):
                    yield stream
            finally:
                stream.close()


class CopyLoader(_TextLoader):
    """PostgreSQL's ``COPY``."""

    text = staticmethod(postgresql_text)

    def __init__(self, database: Database, values: SinkValues) -> None:
        super().__init__(database, values)
        self._waiting: set[str] = set()

    @staticmethod
    def works(connection: Connection) -> bool:
        """Return whether the driver is PostgreSQL's: to py4j any connection has the method, until it is called."""
        try:
            connection.java.getCopyAPI()
        except Py4JError:
            return False
        return True

    def prepare(self, connection: Connection, loads: Sequence[Load]) -> None:
        self._waiting.clear()  # a new transaction, without staging tables yet

    def stage(self, connection: Connection, load: Load) -> str:
        text = repr((load.table.id, load.columns, [load.table.columns.get(name) for name in load.columns]))
        name = self.database.dialect.quoting.name(_STAGE + hashlib.sha256(text.encode()).hexdigest()[:16])
        # Created again in each transaction: one with yesterday's columns would round values that fit today.
        made = f"CREATE TEMPORARY TABLE IF NOT EXISTS {name} ON COMMIT DROP AS {self._selected(load)}"
        connection.execute(f"{made} WITH NO DATA")
        if name in self._waiting:  # these rows have been merged
            connection.execute(f"TRUNCATE {name}")
        self._waiting.add(name)
        self._load(connection, name, load)
        return name

    def _load(self, connection: Connection, target: str, load: Load) -> None:
        with self._stream(load) as stream:
            statement = f"COPY {target} ({self._listed(load)}) FROM STDIN"
            connection.java.getCopyAPI().copyIn(statement, stream, _BUFFER)


class LoadDataLoader(_TextLoader):
    """``LOAD DATA LOCAL`` of MariaDB and MySQL.

    With LOCAL the server reports errors as warnings, since it cannot stop the client; the loader raises them as errors.

    Where the engine Aria exists, staging tables use it, as that takes a third less time. They are filled in an earlier
    transaction: InnoDB would roll back another's rather than one that has changed such a table
    (docs/decisions/0014-what-a-row-costs.md).
    """

    text = staticmethod(mysql_text)

    def __init__(self, database: Database, values: SinkValues) -> None:
        super().__init__(database, values)
        self._engine = ""
        self._stages: dict[int, str] = {}

    @staticmethod
    def works(connection: Connection) -> bool:
        """Return whether server and driver allow it, by a load without rows."""
        if connection.rows("SELECT @@local_infile", "long") != [(1,)]:
            return False
        try:
            connection.execute(f"CREATE TEMPORARY TABLE {_STAGE}try (a INT)")
        except DatabaseError:  # not needed where all rows go straight
            return True
        try:
            with connection.database.translated_errors("Cannot load rows"):
                _load_data(connection, jvm().java.io.InputStream.nullInputStream(), f"INTO TABLE {_STAGE}try")
        except DatabaseError as error:
            log.warning("%s", error)
            return False
        finally:
            connection.execute(f"DROP TEMPORARY TABLE {_STAGE}try")
        return True

    def opened(self, connection: Connection) -> None:
        aria = "SELECT 1 FROM information_schema.engines WHERE engine = 'Aria' AND support <> 'NO'"
        enforced = connection.rows("SHOW VARIABLES LIKE 'enforce_storage_engine'", "string", "string")
        may = bool(connection.rows(aria, "long")) and not any(engine for _, engine in enforced)
        self._engine = " ENGINE = Aria TRANSACTIONAL = 0" if may else ""
        self._stages.clear()
        strict = "CONCAT(REPLACE(@@SESSION.sql_mode, 'NO_BACKSLASH_ESCAPES', ''), ',STRICT_ALL_TABLES')"
        connection.execute(f"SET SESSION sql_mode = {strict}, SESSION sql_notes = 0")

    def prepare(self, connection: Connection, loads: Sequence[Load]) -> None:
        self.committed(connection)  # some are left of a transaction that was rolled back
        for number, load in enumerate(loads[:_MOST_STAGES]):
            self._stages[id(load)] = self._filled(connection, load, f"{_STAGE}{number}", self._engine)
        connection.commit()

    def stage(self, connection: Connection, load: Load) -> str:
        return self._stages.get(id(load)) or self._filled(connection, load, f"{_STAGE}further")

    def _filled(self, connection: Connection, load: Load, name: str, engine: str = "") -> str:
        stage = self.database.dialect.quoting.name(name)
        connection.execute(f"DROP TEMPORARY TABLE IF EXISTS {stage}")
        connection.execute(f"CREATE TEMPORARY TABLE {stage}{engine} AS {self._selected(load)} LIMIT 0")
        self._load(connection, stage, load)
        return stage

    def committed(self, connection: Connection) -> None:
        with suppress(DatabaseError):
            for stage in self._stages.values():
                connection.execute(f"DROP TEMPORARY TABLE {stage}")
        self._stages.clear()

    def _load(self, connection: Connection, target: str, load: Load) -> None:
        read, assigned = self._reading(load)
        assignments = f" SET {', '.join(assigned)}" if assigned else ""
        with self._stream(load) as stream:
            rest = f"INTO TABLE {target} CHARACTER SET utf8mb4 ({', '.join(read)}){assignments}"
            _load_data(connection, stream, rest)
        for _, code, message in connection.rows("SHOW WARNINGS LIMIT 1", "string", "long", "string"):
            raise DatabaseError(f"Cannot write to table {load.table.shown}: {message} (errorCode: {code})", code=code)

    def _reading(self, load: Load) -> tuple[list[str], list[str]]:
        """Return columns or variables for the values of a line, and the assignments of the variables."""
        read, assigned = [], []
        for number, (field, column) in enumerate(zip(load.loaded, load.columns, strict=True)):
            name = self.database.dialect.quoting.name(column)
            if is_binary(field):
                read.append(f"@v{number}")
                assigned.append(f"{name} = UNHEX(@v{number})")
            elif load.table.columns.get(column) == "bit":
                read.append(f"@v{number}")
                assigned.append(f"{name} = CAST(@v{number} AS UNSIGNED)")
            else:
                read.append(name)
        return read, assigned


def _load_data(connection: Connection, stream: Any, rest: str) -> None:
    statement = connection.java.createStatement()
    try:
        statement.setLocalInfileInputStream(stream)
        statement.execute(f"LOAD DATA LOCAL INFILE 'rows' {rest}")
    finally:
        statement.close()


class SparkLoader(Loader):
    """Spark's JDBC writer with its own connections, into a table that is dropped after the merge.

    Args:
        database: where to.
        values: what is written of records.
        spark: the worker's session.
        batch_size: rows sent at once.
    """

    text = staticmethod(mysql_text)
    needs_spark = True

    def __init__(self, database: Database, values: SinkValues, spark: SparkSession, batch_size: int) -> None:
        super().__init__(database, values)
        self._spark = spark
        self._batch_size = batch_size
        self._prefix = f"{_STAGE}{uuid.uuid4().hex[:8]}_"
        self._written: dict[int, str] = {}

    def columns(self, fields: SinkFields) -> Sequence[Column]:
        return [self.values.column(field).alias(f"c{number}") for number, field in enumerate(fields.all)]

    def goes_straight(self, load: Load) -> bool:
        return False

    def insert(self, connection: Connection, load: Load) -> None:
        raise AssertionError("unreachable: nothing goes straight")

    def prepare(self, connection: Connection, loads: Sequence[Load]) -> None:
        self._written.clear()
        for number, load in enumerate(loads):
            name = f"{self._prefix}{number}"
            self._create(connection, load, self.database.dialect.quoting.name(name))
            self._written[id(load)] = name
            self._write(load, self.database.dialect.quoting.name(name))

    def stage(self, connection: Connection, load: Load) -> str:
        return self.database.dialect.quoting.name(self._written[id(load)])

    def committed(self, connection: Connection) -> None:
        for name in self._written.values():
            with suppress(DatabaseError):
                connection.execute(f"DROP TABLE {self.database.dialect.quoting.name(name)}")
                connection.commit()
        self._written.clear()

    def _create(self, connection: Connection, load: Load, name: str) -> None:
        dialect = self.database.dialect
        columns = ", ".join(map(dialect.quoting.name, load.columns))
        with suppress(DatabaseError):  # left behind by a batch that failed
            connection.execute(f"DROP TABLE {name}")
        connection.commit()
        connection.execute(empty_copy(dialect.name, name, columns, dialect.quoting.table(load.table.id)))
        connection.commit()

    def _write(self, load: Load, name: str) -> None:
        rows = load.rows.select([f"c{number}" for number in range(len(load.loaded))]).rename_columns(load.columns)
        options = {**self.database.spark_options(), "dbtable": name, "numPartitions": "1"}
        if self._batch_size:
            options["batchsize"] = str(self._batch_size)
        with self.database.translated_errors(f"Cannot write to table {load.table.shown}"):
            # One partition: not every database lets several write at a time.
            frame = self._spark.createDataFrame(rows).coalesce(1)
            frame.write.format("jdbc").options(**options).mode("append").save()
