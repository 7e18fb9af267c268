"""Differences of databases, a row for each (Java: ``DatabaseDialect`` and its providers). Pure.

A database without a row gets statements of the SQL standard.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from connect_dagster.connectors.jdbc.identifiers import Quoting, TableId
from connect_dagster.errors import ConfigError

LIMIT = "LIMIT {rows}"
FETCH_FIRST = "FETCH FIRST {rows} ROWS ONLY"
_SUBPROTOCOL = re.compile(r"jdbc:(?:jtds:)?([\w+-]+):?")


@dataclass(frozen=True, slots=True)
class Dialect:
    """One kind of database.

    Attributes:
        name: value of ``dialect.name``, Java's.
        subprotocols: words after ``jdbc:`` in its URLs.
        driver: where a user finds a driver that no worker has; empty for those that every worker has.
        quoting: marks around names.
        catalogs: whether the first part of a name with two is a catalog.
        now: query of one row with the database's time.
        now_on_wall: whether that is the time of its clock on the wall, without a zone.
        timestamp: a literal of a time on the wall, with ``{}`` for its text.
        session_isolation: statement that sets a session's isolation, with ``{}`` for its level.
        limit: the end of a query with at most ``{rows}`` rows.
        any_order: how a query is sorted that is only sorted because the limit demands it.
        hides_catalog: whether the driver's catalog only repeats the database that the URL names.
        system_schemas: schemas whose tables are not the user's.
    """

    name: str
    subprotocols: tuple[str, ...] = ()
    driver: str = ""
    quoting: Quoting = field(default_factory=Quoting)
    catalogs: bool = False
    now: str = "SELECT CURRENT_TIMESTAMP"
    now_on_wall: bool = False
    timestamp: str = "TIMESTAMP '{}'"
    session_isolation: str = "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {}"
    limit: str = FETCH_FIRST
    any_order: str = ""
    hides_catalog: bool = False
    system_schemas: frozenset[str] = frozenset()

    @property
    def is_mysql(self) -> bool:
        """Return whether it is MariaDB or MySQL."""
        return self.name == MYSQL

    @property
    def is_postgresql(self) -> bool:
        """Return whether it is PostgreSQL."""
        return self.name == POSTGRESQL

    def limited(self, query: str, rows: int) -> str:
        """Return a sorted query that ends after ``rows`` rows."""
        return f"{query} {self.limit.format(rows=rows)}"

    def some(self, query: str, rows: int) -> str:
        """Return an unsorted query with any ``rows`` rows."""
        return self.limited(f"{query}{self.any_order}", rows)

    def table(self, catalog: str | None, schema: str | None, name: str) -> TableId:
        """Return the id of a table as the driver names it."""
        return TableId(name, schema or None, None if self.hides_catalog else catalog or None)

    def parse_table(self, text: str) -> TableId:
        """Parse the name of a table as a user, or the connector for its tasks, has written it. Raises ConnectError."""
        return self.quoting.parse(text, catalogs=self.catalogs)


MYSQL = "MySqlDatabaseDialect"
POSTGRESQL = "PostgreSqlDatabaseDialect"
GENERIC = "GenericDatabaseDialect"

_ROWS = (
    Dialect(
        MYSQL,
        ("mysql", "mariadb"),
        quoting=Quoting("`", "`"),
        catalogs=True,
        limit=LIMIT,
        now_on_wall=True,
        timestamp="'{}'",
        session_isolation="SET SESSION TRANSACTION ISOLATION LEVEL {}",
    ),
    Dialect(
        POSTGRESQL,
        ("postgresql",),
        limit=LIMIT,
        timestamp="'{}'",
        hides_catalog=True,
        system_schemas=frozenset({"pg_catalog", "information_schema"}),
    ),
    Dialect("SqliteDatabaseDialect", ("sqlite",), "org.xerial:sqlite-jdbc", limit=LIMIT, timestamp="'{}'"),
    Dialect(
        "OracleDatabaseDialect",
        ("oracle",),
        "com.oracle.database.jdbc:ojdbc11",
        now="SELECT CURRENT_TIMESTAMP FROM dual",
    ),
    Dialect(
        "SqlServerDatabaseDialect",
        ("sqlserver", "microsoft:sqlserver"),
        "com.microsoft.sqlserver:mssql-jdbc",
        Quoting("[", "]"),
        limit="OFFSET 0 ROWS FETCH NEXT {rows} ROWS ONLY",
        any_order=" ORDER BY (SELECT NULL)",
        now_on_wall=True,
        timestamp="'{}'",
        session_isolation="SET TRANSACTION ISOLATION LEVEL {}",
    ),
    Dialect(
        "Db2DatabaseDialect", ("db2", "ibmdb"), "com.ibm.db2:jcc", now="VALUES CURRENT TIMESTAMP", now_on_wall=True
    ),
    Dialect(
        "DerbyDatabaseDialect",
        ("derby",),
        "org.apache.derby:derby",
        now="VALUES CURRENT_TIMESTAMP",
        timestamp="TIMESTAMP('{}')",
    ),
    Dialect("SapHanaDatabaseDialect", ("sap",), "com.sap.cloud.db.jdbc:ngdbc", limit=LIMIT),
    Dialect("VerticaDatabaseDialect", ("vertica",), "com.vertica.jdbc:vertica-jdbc", limit=LIMIT),
    Dialect("SybaseDatabaseDialect", ("sybase",), "jConnect for JDBC"),
    Dialect(GENERIC),
)
DIALECTS: Mapping[str, Dialect] = {row.name: row for row in _ROWS}
"""By name; the last is for any database."""


def find_dialect(url: str, name: str = "", *, quoted: bool = True) -> Dialect:
    """Return the dialect of a database.

    Args:
        url: the JDBC URL.
        name: value of ``dialect.name``; empty to go by the URL.
        quoted: whether names are quoted.

    Raises:
        ConfigError: the dialect is unknown, or it is not a JDBC URL.
    """
    found = _named(name) if name.strip() else _of_url(url)
    return replace(found, quoting=replace(found.quoting, always=quoted))


def _named(name: str) -> Dialect:
    wanted = name.strip().lower()
    for row in _ROWS:
        if wanted in (row.name.lower(), row.name.lower().removesuffix("databasedialect")):
            return row
    raise ConfigError.invalid("dialect.name", name, f"There is {', '.join(DIALECTS)}")


def _of_url(url: str) -> Dialect:
    if (found := _SUBPROTOCOL.match(url)) is None:
        raise ConfigError(
            "Invalid value for configuration connection.url: it must be a JDBC URL, such as "
            "jdbc:mysql://localhost:3306/shop",
            name="connection.url",
        )
    return next((row for row in _ROWS if found[1] in row.subprotocols), DIALECTS[GENERIC])
