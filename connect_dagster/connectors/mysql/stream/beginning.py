"""The beginning of a stream: what to ask a server for, so that its log goes on where the last one ended.

Debezium: ``BinlogStreamingChangeEventSource.execute``, and ``filterGtidSet`` of its connections.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass

from connect_dagster.connectors.mysql.flavor import Flavor
from connect_dagster.connectors.mysql.positions.gtid import GtidSet, MariaDbGtidSet, MySqlGtidSet
from connect_dagster.connectors.mysql.positions.gtid_sources import GtidSources
from connect_dagster.connectors.mysql.positions.position import FIRST_POSITION, Position
from connect_dagster.connectors.mysql.server.login import LogSession
from connect_dagster.connectors.mysql.stream.commands import (
    Command,
    DumpFlag,
    dump_from_file,
    dump_without,
    register_replica,
)
from connect_dagster.connectors.mysql.stream.place import Place
from connect_dagster.connectors.mysql.stream.timeline import LogReading

_ALL_EVENTS = 4  # MariaDB: this replica knows GTIDs and what came before


@dataclass(frozen=True, slots=True)
class LogFacts:
    """Facts of a server.

    Attributes:
        gtids: whether its transactions have them.
        purged: transactions that are no longer in the log of MySQL; ``None`` for MariaDB, where they do not count.
        checksums: whether events end with a CRC32.
        retention_seconds: time for which it keeps its log, 0 for no end; ``None`` where it does not say.
    """

    flavor: Flavor
    gtids: bool
    purged: GtidSet | None
    checksums: bool
    retention_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Replica:
    """The connector as its server sees it.

    Attributes:
        server_id: its number among the replicas.
        session: settings of its session.
        sources: servers whose transactions count.
        uses_gtids: whether GTIDs of offsets count (not ``gtid.ignore.on.recovery``).
        queries: whether records have the statements that changed rows.
    """

    server_id: int
    session: LogSession
    sources: GtidSources
    uses_gtids: bool = True
    queries: bool = False


@dataclass(frozen=True, slots=True)
class LogBeginning:
    """A beginning.

    Attributes:
        statements: of the session.
        commands: after them.
        place: at which the log begins then.
        reading: of its events.
    """

    statements: tuple[str, ...]
    commands: tuple[Command, ...]
    place: Place
    reading: LogReading


def log_beginning(stored: Position, server: LogFacts, replica: Replica) -> LogBeginning:
    """Return the beginning at a position.

    Args:
        stored: the position; its file may be empty where it has GTIDs.
        server: to be asked.
        replica: that asks.
    """
    counts = server.gtids and replica.uses_gtids
    # A position of the time before the server had GTIDs has a file alone.
    is_found = stored.gtids is not None or not stored.file
    completed = merged(stored, server, replica.sources) if counts and is_found else None
    statements = [
        *replica.session.statements(),
        "SET @master_binlog_checksum = @@global.binlog_checksum",
    ]
    flags = DumpFlag.NONE
    if server.flavor is Flavor.MARIADB:
        statements.append(f"SET @mariadb_slave_capability = {_ALL_EVENTS}")
        flags = DumpFlag.ANNOTATE_ROWS if replica.queries else DumpFlag.NONE
    if isinstance(completed, MariaDbGtidSet):
        statements += [
            f"SET @slave_connect_state = '{completed}'",
            "SET @slave_gtid_strict_mode = 0",
            "SET @slave_gtid_ignore_duplicates = 0",
        ]
    if isinstance(completed, MySqlGtidSet):
        dump = dump_without(replica.server_id, completed)
    elif completed is not None:
        dump = dump_from_file(replica.server_id, "", FIRST_POSITION, flags)
    else:
        dump = dump_from_file(replica.server_id, stored.file, stored.position, flags)
    register = register_replica(replica.server_id, socket.gethostname())
    commit_times = counts and server.flavor is Flavor.MYSQL
    reading = LogReading(gtids=counts, commit_times=commit_times, queries=replica.queries)
    return LogBeginning(tuple(statements), (register, dump), Place.at(stored, completed), reading)


def merged(stored: Position, server: LogFacts, sources: GtidSources) -> GtidSet:
    """Return the transactions to leave out: those done before, and of other servers those that are gone.

    Args:
        stored: has the transactions that are done; without them all that the server still has are sent.
        server: knows which are gone.
        sources: servers whose transactions count.
    """
    if server.flavor is Flavor.MARIADB:
        return MariaDbGtidSet.parse(stored.gtids or "").retained(sources.keeps)
    assert isinstance(server.purged, MySqlGtidSet)
    done = MySqlGtidSet.parse(stored.gtids or "").retained(sources.keeps)
    return MySqlGtidSet(dict(sorted({**server.purged.intervals, **done.intervals}.items())))
