"""Ends of a stream of packets: an error that the server reports, or its EOF."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from connect_dagster.connectors.mysql.decode.wire import Reader

_ERROR, _STATE_MARK, _STATE_SIZE = 0xFF, ord("#"), 5


class ErrorNumber(IntEnum):
    """Numbers of errors that decide on what to do next."""

    ACCESS_DENIED = 1045
    SHUTDOWN = 1053
    SPECIFIC_ACCESS_DENIED = 1227
    FATAL_REPLICATION_ERROR = 1236
    CONNECTION_KILLED = 1927
    SERVER_GONE = 2006
    SERVER_LOST = 2013
    NO_TLS = 2026
    SERVER_LOST_EXTENDED = 2055
    CLIENT_INTERACTION_TIMEOUT = 4031


@dataclass(frozen=True, slots=True)
class ServerError:
    """An error packet.

    Attributes:
        number: of the error.
        state: SQLSTATE; empty where there is none.
        text: the server's words.
    """

    number: int
    state: str
    text: str

    def __str__(self) -> str:
        state = f" ({self.state})" if self.state else ""
        return f"{self.text} [error {self.number}{state}]"


def server_error(packet: bytes) -> ServerError | None:
    """Return the error of a packet's content; ``None`` for an EOF packet.

    Raises:
        MalformedBytes: an error packet ends too early.
    """
    read = Reader(packet)
    if not packet or read.unsigned(1) != _ERROR:
        return None
    number, rest = read.unsigned(2), read.rest()
    if rest[:1] == bytes([_STATE_MARK]):
        state, rest = rest[1 : 1 + _STATE_SIZE].decode(errors="replace"), rest[1 + _STATE_SIZE :]
        return ServerError(number, state, rest.decode(errors="replace"))
    return ServerError(number, "", rest.decode(errors="replace"))
