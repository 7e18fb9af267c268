"""Commands with which a replica asks for a binary log (MySQL: ``sql/rpl_replica.cc``, "Replication Protocol").

A command is a number and the bytes after it, without the packet's header.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntFlag
from uuid import UUID

from connect_dagster.connectors.mysql.positions.gtid import MySqlGtidSet
from connect_dagster.connectors.mysql.positions.position import FIRST_POSITION

REGISTER_REPLICA, DUMP, DUMP_GTID = 0x15, 0x12, 0x1E


class DumpFlag(IntFlag):
    """Flags of a dump."""

    NONE = 0
    ANNOTATE_ROWS = 2  # MariaDB also sends events with statements


@dataclass(frozen=True, slots=True)
class Command:
    """A command to a server."""

    number: int
    content: bytes


def register_replica(server_id: int, host: str = "", port: int = 0) -> Command:
    """Return the command by which a server lists its replica (``SHOW REPLICAS``).

    Args:
        server_id: of the replica.
        host: name of its host.
        port: where others would reach it.
    """
    name = host.encode()[:255]
    texts = bytes([len(name)]) + name + b"\0\0"  # neither user nor password
    return Command(REGISTER_REPLICA, struct.pack("<I", server_id) + texts + struct.pack("<HII", port, 0, 0))


def dump_from_file(server_id: int, file: str, position: int, flags: DumpFlag = DumpFlag.NONE) -> Command:
    """Return the command for the log from a position of a file on."""
    return Command(DUMP, struct.pack("<IHI", position, flags, server_id) + file.encode())


def dump_without(server_id: int, executed: MySqlGtidSet) -> Command:
    """Return the command for all transactions that are not in a set (``COM_BINLOG_DUMP_GTID``)."""
    sources = [_source(source, intervals) for source, intervals in executed.intervals.items()]
    content = struct.pack("<Q", len(sources)) + b"".join(sources)
    head = struct.pack("<HIIQI", DumpFlag.NONE, server_id, 0, FIRST_POSITION, len(content))
    return Command(DUMP_GTID, head + content)


def _source(source: str, intervals: tuple[tuple[int, int], ...]) -> bytes:
    pairs = b"".join(struct.pack("<QQ", first, last + 1) for first, last in intervals)
    return UUID(source).bytes + struct.pack("<Q", len(intervals)) + pairs
