"""Events of the binary log that are read one by one: header, checksum, and the bodies that are not rows.

MySQL documents them in ``libs/mysql/binlog/event`` of its sources, MariaDB in "Replication Protocol" of its manual.
A body is the event without its header and checksum.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from enum import IntEnum
from uuid import UUID

from connect_dagster.connectors.mysql.decode.wire import Reader
from connect_dagster.protocol.wire import MalformedBytes

HEADER_SIZE = 19
CHECKSUM_SIZE = 4

_MICROSECOND_BYTES, _HAS_ORIGINAL_TIME = 7, 1 << 55
_VERSION_BYTES, _HAS_ORIGINAL_VERSION = 4, 1 << 31
_LOGICAL_TIMESTAMPS = 2
_CHECKSUMMED_SINCE = {"mysql": (5, 6, 1), "mariadb": (5, 3, 0)}


class EventType(IntEnum):
    """Types of events; the names are MySQL's, from 160 on MariaDB's."""

    QUERY = 2
    STOP = 3
    ROTATE = 4
    INTVAR = 5
    RAND = 13
    USER_VAR = 14
    FORMAT_DESCRIPTION = 15
    XID = 16
    TABLE_MAP = 19
    WRITE_ROWS_V1 = 23
    UPDATE_ROWS_V1 = 24
    DELETE_ROWS_V1 = 25
    INCIDENT = 26
    HEARTBEAT = 27
    IGNORABLE = 28
    ROWS_QUERY = 29
    WRITE_ROWS = 30
    UPDATE_ROWS = 31
    DELETE_ROWS = 32
    GTID = 33
    ANONYMOUS_GTID = 34
    PREVIOUS_GTIDS = 35
    TRANSACTION_CONTEXT = 36
    VIEW_CHANGE = 37
    XA_PREPARE = 38
    PARTIAL_UPDATE_ROWS = 39
    TRANSACTION_PAYLOAD = 40
    HEARTBEAT_V2 = 41
    GTID_TAGGED = 42
    ANNOTATE_ROWS = 160
    BINLOG_CHECKPOINT = 161
    MARIADB_GTID = 162
    MARIADB_GTID_LIST = 163
    START_ENCRYPTION = 164
    QUERY_COMPRESSED = 165
    WRITE_ROWS_COMPRESSED_V1 = 166
    UPDATE_ROWS_COMPRESSED_V1 = 167
    DELETE_ROWS_COMPRESSED_V1 = 168
    WRITE_ROWS_COMPRESSED = 169
    UPDATE_ROWS_COMPRESSED = 170
    DELETE_ROWS_COMPRESSED = 171


@dataclass(frozen=True, slots=True)
class EventHeader:
    """The first 19 bytes of an event.

    Attributes:
        timestamp: second in which the statement began.
        type: one of EventType, or a number that is newer.
        server_id: of the server that wrote it first.
        size: bytes of the event with header and checksum.
        end_position: in the file; 0 for an event that is in no file.
    """

    timestamp: int
    type: int
    server_id: int
    size: int
    end_position: int
    flags: int

    @classmethod
    def parse(cls, event: bytes) -> EventHeader:
        """Return the header of an event.

        Raises:
            MalformedBytes: there are fewer bytes than it says.
        """
        read = Reader(event)
        header = cls(*(read.unsigned(width) for width in (4, 1, 4, 4, 4, 2)))
        if header.size < HEADER_SIZE or header.size > len(event):
            raise MalformedBytes(f"an event of {header.size} bytes, {len(event)} are there", 9, len(event))
        return header


def verify_checksum(event: bytes) -> None:
    """Compare an event with its CRC32, which are its last four bytes.

    Raises:
        MalformedBytes: they differ.
    """
    content, written = event[:-CHECKSUM_SIZE], int.from_bytes(event[-CHECKSUM_SIZE:], "little")
    if zlib.crc32(content) != written:
        reason = f"the CRC32 is {zlib.crc32(content):#010x}, the event says {written:#010x}"
        raise MalformedBytes(reason, len(content), len(event))


@dataclass(frozen=True, slots=True)
class FormatDescription:
    """FORMAT_DESCRIPTION: the first event of each file.

    Attributes:
        checksums: whether the events of the file end with a CRC32.
    """

    binlog_version: int
    server_version: str
    checksums: bool

    @classmethod
    def parse(cls, body: bytes) -> FormatDescription:
        """Return the event of a body that ends with the number of the checksum's algorithm.

        Args:
            body: with the algorithm, where the server has them, and without the checksum itself, which this event
                always has.

        Raises:
            MalformedBytes: it is not version 4, which MySQL 5.0 and all later servers write.
        """
        read = Reader(body)
        version, server = read.unsigned(2), read.text(50).rstrip("\0")
        read.unsigned(4)
        if version != 4 or read.unsigned(1) != HEADER_SIZE:
            raise read.malformed(f"binary log of version {version} where 4 is known")
        lengths = read.rest()
        return cls(version, server, _writes_checksums(server) and lengths[-1:] == b"\x01")


def _writes_checksums(server: str) -> bool:
    numbers = tuple(int(part) for part in server.split("-")[0].split(".") if part.isdigit())
    return numbers >= _CHECKSUMMED_SINCE["mariadb" if "mariadb" in server.lower() else "mysql"]


@dataclass(frozen=True, slots=True)
class Rotate:
    """ROTATE: the log goes on in another file."""

    file: str
    position: int

    @classmethod
    def parse(cls, body: bytes) -> Rotate:
        """Return the event of a body."""
        read = Reader(body)
        position = read.unsigned(8)
        return cls(read.text(read.left), position)


@dataclass(frozen=True, slots=True)
class Gtid:
    """GTID or ANONYMOUS_GTID of MySQL: a transaction begins.

    Attributes:
        source: UUID of the server on which it was committed first; all zeros when anonymous.
        number: of the transaction among those of the source.
        commit_micros: microseconds since 1970 of the first commit; ``None`` before MySQL 8.0.1.
    """

    source: UUID
    number: int
    commit_micros: int | None = None

    @classmethod
    def parse(cls, body: bytes) -> Gtid:
        """Return the event of a body."""
        read = Reader(body)
        read.unsigned(1)
        source, number = UUID(bytes=read.take(16)), read.unsigned(8)
        if not read.left or read.unsigned(1) != _LOGICAL_TIMESTAMPS:
            return cls(source, number)
        read.take(16)
        if read.left < _MICROSECOND_BYTES:
            return cls(source, number)
        micros = read.unsigned(_MICROSECOND_BYTES)
        if micros & _HAS_ORIGINAL_TIME:
            micros = read.unsigned(_MICROSECOND_BYTES)
        return cls(source, number, micros)

    def __str__(self) -> str:
        return f"{self.source}:{self.number}"


class MariaDbGtidFlag(IntEnum):
    """Flags of MariaDB's GTID event."""

    STANDALONE = 1
    GROUP_COMMIT_ID = 2
    TRANSACTIONAL = 4
    DDL = 32
    PREPARED_XA = 64
    COMPLETED_XA = 128


@dataclass(frozen=True, slots=True)
class MariaDbGtid:
    """GTID of MariaDB: a transaction or a statement begins; there is no BEGIN after it.

    Attributes:
        flags: of MariaDbGtidFlag. A STANDALONE one has no commit event.
    """

    domain: int
    server_id: int
    number: int
    flags: int = 0

    @classmethod
    def parse(cls, body: bytes, server_id: int) -> MariaDbGtid:
        """Return the event of a body and of the server id in its header."""
        read = Reader(body)
        number, domain, flags = read.unsigned(8), read.unsigned(4), read.unsigned(1)
        return cls(domain, server_id, number, flags)

    @property
    def standalone(self) -> bool:
        """Return whether it is one statement that no commit event ends."""
        return bool(self.flags & MariaDbGtidFlag.STANDALONE)

    def __str__(self) -> str:
        return f"{self.domain}-{self.server_id}-{self.number}"


@dataclass(frozen=True, slots=True)
class Query:
    """QUERY: a statement as text: DDL, BEGIN, or a change under ``binlog_format=STATEMENT``."""

    thread: int
    schema: str
    text: str
    error_code: int = 0

    @classmethod
    def parse(cls, body: bytes) -> Query:
        """Return the event of a body."""
        read = Reader(body)
        thread, _, schema, error, variables = (read.unsigned(width) for width in (4, 4, 1, 2, 2))
        read.take(variables)
        name = read.text(schema)
        read.unsigned(1)
        return cls(thread, name, read.text(read.left), error)


def parse_rows_query(body: bytes) -> str:
    """Return the statement of a ROWS_QUERY event, whose first byte is a length that does not count."""
    return body[1:].decode(errors="replace")


def parse_annotate_rows(body: bytes) -> str:
    """Return the statement of an ANNOTATE_ROWS event."""
    return body.decode(errors="replace")
