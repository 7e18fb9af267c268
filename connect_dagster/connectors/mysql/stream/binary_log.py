"""The log of a server without an end: where its connection is lost, it is opened again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import suppress

import pymysql

from connect_dagster.connectors.mysql.options.failures import FailureRule, Reconnects
from connect_dagster.connectors.mysql.positions.position import Position
from connect_dagster.connectors.mysql.server.login import Login
from connect_dagster.connectors.mysql.server.server_error import (
    DENIED,
    ErrorNumber,
    ServerError,
    as_connect_error,
    reported,
)
from connect_dagster.connectors.mysql.stream.beginning import LogFacts, Replica, log_beginning
from connect_dagster.connectors.mysql.stream.log_buffer import LogBuffer
from connect_dagster.connectors.mysql.stream.log_connection import LogConnection
from connect_dagster.connectors.mysql.stream.log_stream import LogEndedError, LogStream
from connect_dagster.connectors.mysql.stream.streaming import Streaming
from connect_dagster.connectors.mysql.stream.streaming_metrics import StreamingMetrics
from connect_dagster.connectors.mysql.waits import waits
from connect_dagster.errors import ConnectError, RetriableError
from connect_dagster.plugin.frames import SourceTable
from connect_dagster.protocol.wire import MalformedBytes

log = logging.getLogger(__name__)

_WAIT_SECONDS = 0.5
_SAME_ID = "same server_uuid/server_id"
_PURGED = ("could not find first log file", "purged", "not in the master's binlog", "not in the source's binlog")
"""Parts of the texts of error 1236 where the log of a position is gone, in lower case."""


class BinaryLog:
    """Reads the log of one server.

    Args:
        login: address and access.
        replica: the connector as the server sees it.
        facts: asks the server.
        streaming: makes batches of a stream.
        reconnects: how often, and when, a lost connection is made again.
        corrupt: what happens with an event whose checksum is wrong.
        metrics: show whether the log comes.
        batch_bytes: of the log that are read at once, at most.

    Attributes:
        stored: what to store after the last batches; ``None`` before the first ones.
    """

    def __init__(
        self,
        login: Login,
        replica: Replica,
        facts: Callable[[], LogFacts],
        streaming: Callable[[LogStream], Streaming],
        reconnects: Reconnects,
        corrupt: FailureRule,
        metrics: StreamingMetrics,
        batch_bytes: int,
    ) -> None:
        self._login = login
        self._replica = replica
        self._facts = facts
        self._streaming = streaming
        self._reconnects = reconnects
        self._corrupt = corrupt
        self._metrics = metrics
        self._batch_bytes = batch_bytes
        self._connection: LogConnection | None = None
        self.stored: Position | None = None

    def batches(self, position: Position) -> Iterator[list[SourceTable]]:
        """Yield the batches from a position on, without an end; none of them where nothing comes for a while.

        Raises:
            ConnectError: the server does not give the log from there, or it cannot be read.
        """
        attempt = 0
        while True:
            try:
                stream = self._open(position)
                while True:
                    found = stream.next(_WAIT_SECONDS)
                    position, self.stored = stream.position, stream.stored
                    if found:
                        attempt = 0
                    yield found or []
            except (RetriableError, LogEndedError) as error:
                self.close()
                attempt += 1
                delay = None if _is_final(error) else self._reconnects.delay(attempt)
                if delay is None:
                    raise self._explained(error, position) from error
                log.warning("%s. It is read on from %s in %.1f s", error, position.offset(), delay)
                yield from waits(delay)
            except MalformedBytes as error:
                raise ConnectError(f"The binary log cannot be read after {position.offset()}: {error}") from error

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._metrics.disconnected()
            with suppress(OSError):
                self._connection.close()
        self._connection = None

    def _open(self, position: Position) -> Streaming:
        try:
            facts = self._facts()
            beginning = log_beginning(position, facts, self._replica)
            self._connection = LogConnection.open(
                self._login, beginning.statements, beginning.commands, self._replica.session.silence_seconds
            )
        except (pymysql.MySQLError, OSError) as error:
            raise self._opening_error(error) from error
        self._metrics.connected(facts.retention_seconds)
        buffer = LogBuffer(self._batch_bytes, checksums=facts.checksums)
        log.info("The binary log is read from %s", position.offset())
        return self._streaming(
            LogStream(self._connection.receive, buffer, beginning.place, beginning.reading, self._corrupt)
        )

    def _opening_error(self, error: Exception) -> ConnectError:
        if reported(error).number in DENIED:
            return self._denied(reported(error))
        return as_connect_error(f"to read the binary log as {self._login.address}", error)

    def _denied(self, error: ServerError) -> ConnectError:
        return ConnectError(
            f"The right REPLICATION SLAVE to read the binary log is missing for {self._login.address}: {error}"
        )

    def _explained(self, error: ConnectError, position: Position) -> ConnectError:
        found = error.error if isinstance(error, LogEndedError) else None
        if found is None:
            return error
        if found.number in DENIED:
            return self._denied(found)
        if _SAME_ID in found.text:
            server_id = self._replica.server_id
            return ConnectError(
                f"Another replica uses database.server.id={server_id}: {found}. Each connector and each replica of "
                "a server needs a separate number"
            )
        if any(part in found.text.lower() for part in _PURGED):
            return ConnectError(
                f"The server no longer has the binary log of the position {position.offset()}: {found}. "
                "snapshot.mode=when_needed takes a new snapshot at the next start"
            )
        return error


def _is_final(error: ConnectError) -> bool:
    found = error.error if isinstance(error, LogEndedError) else None
    return found is not None and found.number in {ErrorNumber.ER_MASTER_FATAL_ERROR_READING_BINLOG, *DENIED}
