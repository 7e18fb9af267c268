"""The log of a server without an end: where its connection is lost, it is opened again."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pymysql

from connect_dagster.connectors.mysql.login import Login
from connect_dagster.connectors.mysql.options.failures import Reconnects
from connect_dagster.connectors.mysql.positions import Position
from connect_dagster.connectors.mysql.stream.beginning import LogFacts, Replica, log_beginning
from connect_dagster.connectors.mysql.stream.log_buffer import LogBuffer
from connect_dagster.connectors.mysql.stream.log_connection import LogConnection
from connect_dagster.connectors.mysql.stream.log_stream import LogEndedError, LogStream
from connect_dagster.connectors.mysql.stream.server_error import ErrorNumber, ServerError
from connect_dagster.connectors.mysql.stream.streaming import Streaming
from connect_dagster.errors import ConnectError, RetriableError
from connect_dagster.plugin.frames import SourceTable

log = logging.getLogger(__name__)

_BUFFER_BYTES = 8 << 20
_WAIT_SECONDS = 0.5
_SAME_ID = "same server_uuid/server_id"
_REFUSED = frozenset({ErrorNumber.ACCESS_DENIED, ErrorNumber.SPECIFIC_ACCESS_DENIED})


class BinaryLog:
    """Reads the log of one server.

    Args:
        login: address and access.
        replica: the connector as the server sees it.
        facts: asks the server.
        streaming: makes batches of a stream.
        reconnects: how often, and when, a lost connection is made again.

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
    ) -> None:
        self._login = login
        self._replica = replica
        self._facts = facts
        self._streaming = streaming
        self._reconnects = reconnects
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
                    attempt, position, self.stored = 0, stream.position, stream.stored
                    yield found or []
            except (RetriableError, LogEndedError) as error:
                self.close()
                attempt += 1
                delay = None if _is_final(error) else self._reconnects.delay(attempt)
                if delay is None:
                    raise self._explained(error) from error
                log.warning("%s. It is read on from %s in %.1f s", error, position.offset(), delay)
                yield from _waits(delay)

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            with suppress(OSError):
                self._connection.close()
        self._connection = None

    def _open(self, position: Position) -> Streaming:
        try:
            facts = self._facts()
            beginning = log_beginning(position, facts, self._replica)
            self._connection = LogConnection.open(self._login, beginning.statements, beginning.commands)
        except pymysql.OperationalError as error:
            raise _opening_error(error) from error
        buffer = LogBuffer(_BUFFER_BYTES, checksums=facts.checksums)
        log.info("The binary log is read from %s", position.offset())
        return self._streaming(LogStream(self._connection.receive, buffer, beginning.place, beginning.reading))

    def _explained(self, error: ConnectError) -> ConnectError:
        reported = error.error if isinstance(error, LogEndedError) else None
        if reported is not None and _SAME_ID in reported.text:
            server_id = self._replica.server_id
            return ConnectError(
                f"Another replica uses database.server.id={server_id}: {reported}. Each connector and each replica of "
                "a server needs a separate number"
            )
        return error


def _opening_error(error: pymysql.OperationalError) -> ConnectError:
    number, text = error.args if len(error.args) == 2 else (0, str(error))
    message = f"The binary log cannot be asked for: {ServerError(number, '', text)}"
    return ConnectError(message) if number in _REFUSED else RetriableError(message)


def _is_final(error: ConnectError) -> bool:
    reported = error.error if isinstance(error, LogEndedError) else None
    return reported is not None and reported.number in {ErrorNumber.FATAL_REPLICATION_ERROR, *_REFUSED}


def _waits(seconds: float) -> Iterator[list[SourceTable]]:
    """Yield nothing for some time, so that a task can be stopped meanwhile."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, _WAIT_SECONDS))
        yield []
