"""One database: its driver, its connections in Spark's JVM, and the options of Spark's JDBC source and sink.

These connections query offsets, names and types. Spark reads the rows.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from types import TracebackType
from typing import Any, Self

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException

from connect_dagster.connectors.jdbc.dialects import Dialect, find_dialect
from connect_dagster.connectors.jdbc.identifiers import TableId
from connect_dagster.connectors.jdbc.sql_errors import (
    DatabaseError,
    DatabaseUnavailableError,
    sql_error,
    without_secrets,
)
from connect_dagster.errors import ConfigError, DataError
from connect_dagster.expressions.java_calls import jvm
from connect_dagster.plugin.config import Password, under_prefix

log = logging.getLogger(__name__)

_PREFIX = "connection."
_OWN = frozenset({"url", "user", "password", "attempts", "backoff.ms"})
_MYSQL_SCHEME, _MARIADB_SCHEME, _PERMISSION = "jdbc:mysql:", "jdbc:mariadb:", "permitMysqlScheme"
_ALIVE_SECONDS = 5


@dataclass(frozen=True, slots=True)
class Database:
    """The address of a database, with user and driver.

    Attributes:
        url: JDBC URL, as the user wrote it.
        dialect: the kind of database.
        user, password: ``None`` where the URL has them, or none are needed.
        properties: further properties of the driver.
        hidden: the user's query, which no message may contain.
    """

    url: str
    dialect: Dialect
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    hidden: str = field(default="", repr=False)

    @classmethod
    def of(
        cls,
        url: str,
        user: str | None,
        password: Password | None,
        originals: Mapping[str, str],
        *,
        dialect: str = "",
        quoted: bool = True,
    ) -> Self:
        """Return the database of a connector's configuration.

        Args:
            url: ``connection.url``.
            user: ``connection.user``.
            password: ``connection.password``.
            originals: the whole configuration; further keys ``connection.<name>`` go to the driver as ``<name>``.
            dialect: ``dialect.name``.
            quoted: whether names are quoted.

        Raises:
            ConfigError: it is not a JDBC URL, or the dialect is unknown.
        """
        further = {name: value for name, value in under_prefix(originals, _PREFIX).items() if name not in _OWN}
        found = find_dialect(url, dialect, quoted=quoted)
        return cls(url, found, user, None if password is None else password.value, further)

    @property
    def shown(self) -> str:
        """Return the URL as messages show it."""
        user = "" if self.user is None else f" as user {self.user}"
        return f"{without_secrets(self.url)}{user}"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return the texts that no message may contain."""
        return tuple(filter(None, (self.hidden, self.password)))

    def connect(self) -> Connection:
        """Open a separate connection, which commits each statement.

        Raises:
            ConfigError: no driver accepts the URL.
            DatabaseError: the database refuses; it is also a RetriableError when the database may come back.
        """
        driver, url = self._driver()
        properties = jvm().java.util.Properties()
        for name, value in self._properties().items():
            properties.setProperty(name, value)
        with self.translated_errors(f"Cannot connect to {self.shown}"):
            opened = driver.connect(url, properties)
        return Connection(self, opened)

    def connect_patiently(self, attempts: int, back_off: float, wait: Callable[[float], object]) -> Connection:
        """Open a connection, with several attempts.

        Args:
            attempts: ``connection.attempts``.
            back_off: seconds between two of them.
            wait: called with the seconds to wait.

        Raises:
            DatabaseError: the last attempt failed, or the database refused user or password.
        """
        for attempt in range(1, attempts + 1):
            try:
                return self.connect()
            except DatabaseError as error:
                if attempt == attempts or error.refused:
                    raise
                log.info(
                    "Unable to connect on attempt %d/%d. Will retry in %d s: %s", attempt, attempts, back_off, error
                )
                wait(back_off)
        raise AssertionError("unreachable: the last attempt returns or raises")

    def spark_options(self) -> dict[str, str]:
        """Return the options of Spark's JDBC source and sink: URL, user, driver. Raises ConfigError."""
        driver, url = self._driver()
        options = {"url": url, "driver": str(driver.getClass().getName()), **self._properties()}
        if self.dialect.is_mysql and url.startswith(_MARIADB_SCHEME):
            # Spark knows the dialect by this scheme only.
            options["url"] = _permitted(_MYSQL_SCHEME + url.removeprefix(_MARIADB_SCHEME))
        return options

    @contextmanager
    def translated_errors(self, what: str) -> Iterator[None]:
        """Convert an exception of Java to a ``DatabaseError`` whose text begins with ``what``."""
        try:
            yield
        except (Py4JJavaError, CapturedException) as error:
            raise sql_error(error, what, self.secrets) or error from None

    def _properties(self) -> dict[str, str]:
        given = {"user": self.user, "password": self.password, **self.properties}
        return {name: value for name, value in given.items() if value is not None}

    def _driver(self) -> tuple[Any, str]:
        """Return the driver for the URL, and the URL as that driver takes it."""
        drivers = list(_registered())
        urls = (self.url, _permitted(self.url)) if self.url.startswith(_MYSQL_SCHEME) else (self.url,)
        for url in urls:
            for driver in drivers:
                with suppress(Py4JJavaError):  # some raise instead of returning false
                    if driver.acceptsURL(url):
                        return driver, url
        raise self._no_driver(drivers)

    def _no_driver(self, drivers: list[Any]) -> ConfigError:
        there = ", ".join(str(driver.getClass().getName()) for driver in drivers)
        hint = f" ({self.dialect.driver})" if self.dialect.driver else ""
        shown = without_secrets(self.url)
        return ConfigError.invalid(
            "connection.url",
            shown,
            f"No suitable driver found for {shown}: put the jar of the database's JDBC driver{hint} into a folder on "
            f"plugin.path and start the worker again. It has the drivers {there}",
        )


class Connection:
    """An open connection, for one thread; a context manager that closes it.

    Args:
        database: of the connection.
        java: the ``java.sql.Connection``.
    """

    def __init__(self, database: Database, java: Any) -> None:
        self.database = database
        self.java = java

    def execute(self, sql: str) -> int:
        """Run a statement; returns the number of changed rows, -1 for a statement without.

        Raises:
            DatabaseError: the database refused it.
        """
        with self._statement(sql) as statement:
            return -1 if statement.execute(sql) else int(statement.getUpdateCount())

    def rows(self, sql: str, *getters: str) -> list[tuple[Any, ...]]:
        """Return all rows of a small query.

        Args:
            sql: the query.
            getters: one for each column: ``string``, ``long``, ``object``, ``whole`` for an integer of any size, or
                ``timestamp`` for nanoseconds since 1970 in local time.

        Raises:
            DatabaseError: the database refused it.
        """
        with self._statement(sql) as statement:
            return list(read(statement.executeQuery(sql), *getters))

    def isolate(self, level: str) -> None:
        """Set the isolation of its transactions, by a name such as ``READ_COMMITTED``. Raises DatabaseError."""
        with self.database.translated_errors(f"Cannot set the isolation {level} in {self.database.shown}"):
            self.java.setTransactionIsolation(getattr(jvm().java.sql.Connection, f"TRANSACTION_{level}"))

    def commit(self) -> None:
        """Commit the transaction. Raises DatabaseError."""
        with self.database.translated_errors("Cannot commit"):
            self.java.commit()

    def rollback(self) -> None:
        """Roll the transaction back; that of a lost connection is rolled back already."""
        with suppress(Py4JError):
            self.java.rollback()

    def metadata(self, what: str, read_it: Callable[[Any], Any]) -> Any:
        """Return metadata of the database.

        Args:
            what: for an error's text.
            read_it: called with the ``DatabaseMetaData``.
        """
        with self.database.translated_errors(f"Cannot read {what} of {self.database.shown}"):
            return read_it(self.java.getMetaData())

    def located(self, table: TableId) -> TableId:
        """Return a table with its default schema or database, where its name has none."""
        if len(table.parts) > 1:
            return table
        if self.database.dialect.catalogs:
            return replace(table, catalog=self.catalog)
        with self.database.translated_errors(f"Cannot find {table} in {self.database.shown}"):
            return replace(table, schema=self.java.getSchema())

    def column_metadata(self, sql: str, read_it: Callable[[Any], Any]) -> Any:
        """Return metadata of a query's columns; ``read_it`` is called with the ``ResultSetMetaData``."""
        with self._statement(sql) as statement:
            return read_it(statement.executeQuery(sql).getMetaData())

    @property
    def catalog(self) -> str | None:
        """Return the default database of names without one."""
        with self.database.translated_errors(f"Cannot look up the current database of {self.database.shown}"):
            found = self.java.getCatalog()
        return None if found is None else str(found)

    @property
    def alive(self) -> bool:
        """Return whether the database still responds."""
        try:
            return bool(self.java.isValid(_ALIVE_SECONDS))
        except Py4JError:
            return False

    def close(self) -> None:
        """Close it; one that is lost is closed already."""
        with suppress(Py4JError):
            self.java.close()

    def abort(self) -> None:
        """Close it while another thread waits for the database; drivers may make ``close`` wait as well."""
        with suppress(Py4JError):
            self.java.abort(jvm().java.util.concurrent.ForkJoinPool.commonPool())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _statement(self, sql: str) -> Iterator[Any]:
        with self.database.translated_errors(
            f"{self.database.shown} refuses {_shortened(without_secrets(sql, self.database.secrets))}"
        ):
            statement = self.java.createStatement()
            try:
                yield statement
            finally:
                with suppress(Py4JError):
                    statement.close()


class HeldConnection:
    """A connection that is kept, and opened again after it was lost.

    Args:
        connect: opens one.
    """

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self._connect = connect
        self._held: Connection | None = None
        self._used = 0.0
        self._aborted = False

    def get(self) -> Connection:
        """Return the connection; after an idle time it is validated first.

        Raises:
            DatabaseUnavailableError: it was aborted while it was opened.
        """
        if self._held is not None and time.monotonic() - self._used > _ALIVE_SECONDS and not self._held.alive:
            self.drop()
        if self._held is None:
            self._held = self._connect()
            if self._aborted:
                self.drop()
                raise DatabaseUnavailableError("The connection is not wanted any more")
        self._used = time.monotonic()
        return self._held

    def drop(self) -> None:
        """Close it; the next :meth:`get` opens another."""
        held, self._held = self._held, None
        if held is not None:
            held.close()

    def abort(self) -> None:
        """Close it for good although another thread uses it, or opens it now."""
        self._aborted = True
        held, self._held = self._held, None
        if held is not None:
            held.abort()


def read(results: Any, *getters: str) -> Iterator[tuple[Any, ...]]:
    """Yield rows of a ``ResultSet``, by the getter for each column."""
    while results.next():
        yield tuple(_READERS[getter](results, place) for place, getter in enumerate(getters, 1))


def _long(results: Any, place: int) -> int | None:
    value = results.getLong(place)
    return None if results.wasNull() else int(value)


def _string(results: Any, place: int) -> str | None:
    value = results.getString(place)
    return None if value is None else str(value)


def _whole(results: Any, place: int) -> int | None:
    value = results.getString(place)
    if value is None:
        return None
    number = Decimal(str(value))
    if number != int(number):
        raise DataError(f"{value} is not a whole number, which incrementing columns and keys must be")
    return int(number)


def _timestamp(results: Any, place: int) -> int | None:
    value = results.getTimestamp(place)
    return None if value is None else int(value.getTime()) // 1000 * 1_000_000_000 + int(value.getNanos())


_READERS: Mapping[str, Callable[[Any, int], Any]] = {
    "long": _long,
    "string": _string,
    "whole": _whole,
    "timestamp": _timestamp,
    "object": lambda results, place: results.getObject(place),
}


def _registered() -> Iterator[Any]:
    drivers = jvm().java.sql.DriverManager.getDrivers()
    while drivers.hasMoreElements():
        yield drivers.nextElement()


def _permitted(url: str) -> str:
    """Return a URL of MySQL as the MariaDB driver takes it."""
    return url if _PERMISSION in url else f"{url}{'&' if '?' in url else '?'}{_PERMISSION}"


def _shortened(sql: str) -> str:
    return sql if len(sql) <= 1000 else f"{sql[:1000]}…"
