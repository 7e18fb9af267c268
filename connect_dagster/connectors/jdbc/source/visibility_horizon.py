"""The visibility horizon: up to it, no open transaction can add rows.

A row's timestamp, or number, is made when it is written; others see the row when its transaction is committed. A read
up to the newest row in between would miss it forever. So rows are read up to the begin of the oldest open transaction.

Promise: no row is lost whose timestamp is the time of its statement or transaction, by the database's clock. Rows
with an earlier timestamp, set by an application, are not covered.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from connect_dagster.connectors.jdbc.database import Connection
from connect_dagster.connectors.jdbc.dialects import MYSQL, POSTGRESQL
from connect_dagster.connectors.jdbc.source.row_reader import RowReader
from connect_dagster.connectors.jdbc.sql_errors import DatabaseError
from connect_dagster.errors import ConfigError, ConnectError

_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class _Query:
    """Queries of a database.

    Attributes:
        now: the database's clock.
        oldest: when the oldest open transaction began, by the same clock.
        hidden: how many transactions the user may not see.
        privilege: what makes them visible.
    """

    now: str
    oldest: str
    hidden: str | None
    privilege: str


# InnoDB's times are the server's own zone's, of whole seconds; a statement may have begun before its transaction. A
# transaction that has only read so far does not count there: what it writes has the time of its statement. InnoDB
# shows its transactions as they were up to 0.1 s ago, so nothing younger than 0.2 s is below the horizon, nor any other
# row of that second, as most columns keep whole ones.
_QUERIES: Mapping[str, _Query] = {
    MYSQL: _Query(
        now="SELECT SYSDATE(6)",
        oldest="SELECT MIN(began) FROM ("
        "SELECT CONVERT_TZ(trx_started, 'SYSTEM', @@session.time_zone) AS began FROM information_schema.innodb_trx "
        "WHERE trx_mysql_thread_id <> CONNECTION_ID() AND trx_is_read_only = 0 AND trx_autocommit_non_locking = 0 "
        "AND (trx_rows_modified > 0 OR trx_query IS NOT NULL) UNION ALL "
        "SELECT SYSDATE(6) - INTERVAL (TIME + 1) SECOND FROM information_schema.processlist "
        "WHERE ID <> CONNECTION_ID() AND COMMAND IN ('Query', 'Execute') AND INFO IS NOT NULL "
        "AND UPPER(LTRIM(INFO)) NOT LIKE 'SELECT%' UNION ALL "
        "SELECT FROM_UNIXTIME(FLOOR(UNIX_TIMESTAMP(SYSDATE(6) - INTERVAL 200000 MICROSECOND)))) t",
        hidden=None,
        privilege="the privilege PROCESS",
    ),
    POSTGRESQL: _Query(
        now="SELECT clock_timestamp()",
        oldest="SELECT MIN(began) FROM (SELECT xact_start AS began FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type <> 'autovacuum worker' "
        "UNION ALL SELECT prepared FROM pg_prepared_xacts WHERE database = current_database()) t",
        hidden="SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND state IS NULL "
        "AND backend_type = 'client backend'",
        privilege="the role pg_read_all_stats",
    ),
}


class VisibilityHorizon:
    """The horizon of a target's rows.

    Args:
        reader: of the target.

    Raises:
        ConfigError: the database does not report open transactions.
    """

    def __init__(self, reader: RowReader) -> None:
        self._reader = reader
        query = _QUERIES.get(reader.dialect.name)
        if query is None:
            raise ConfigError.invalid(
                "open.transactions.wait",
                "true",
                f"{reader.dialect.name} is not supported: MariaDB, MySQL and PostgreSQL report open transactions",
            )
        self._query = query
        # Highest numbers that were seen, each with a time after its query.
        self._seen: deque[tuple[int, int]] = deque()
        self._readable: int | None = None

    def oldest_begin(self) -> int | None:
        """Return the begin of the oldest open transaction, in nanoseconds of UTC; ``None`` when none is open."""
        connection = self._reader.connection
        self._require_visibility(connection)
        try:
            ((oldest,),) = connection.rows(self._query.oldest, "timestamp")
        except DatabaseError as error:
            if error.code == 1227:
                raise self._not_visible() from error
            raise
        return None if oldest is None else self._reader.told_time(oldest)

    def highest(self, column: str, where: str) -> int | None:
        """Return the number up to which rows can be read; ``None`` when no new row can.

        A number that others see belongs to a transaction that had begun by then. Once all that were open have ended,
        none below it can be missing.

        Args:
            column: the incrementing column.
            where: condition for rows that are new.
        """
        connection = self._reader.connection
        key = f"{column} AS connect_key"
        if self._reader.target.table is not None:
            source = self._reader.statement(where, select=self._reader.selecting(key))
        else:
            source = f"SELECT {key} FROM ({self._reader.statement(where)}) q"
        ((highest,),) = connection.rows(f"SELECT MAX(connect_key) FROM ({source}) p", "whole")
        # Queried afterwards: every transaction that wrote a lower number had begun by now.
        ((now,),) = connection.rows(self._query.now, "timestamp")
        if highest is not None and (not self._seen or highest > self._seen[-1][1]):
            self._seen.append((self._reader.told_time(now), highest))
        oldest = self.oldest_begin()
        while self._seen and (oldest is None or self._seen[0][0] < oldest):
            self._readable = self._seen.popleft()[1]
        return self._readable if highest is not None else None

    def _require_visibility(self, connection: Connection) -> None:
        if self._query.hidden is not None and connection.rows(self._query.hidden, "long")[0][0]:
            raise self._not_visible()

    def _not_visible(self) -> ConnectError:
        return ConnectError(
            f"open.transactions.wait needs to see all transactions: the user of {self._reader.config.database().shown} "
            f"lacks {self._query.privilege}"
        )
