"""GTIDs of a piece of the log as columns: their texts, their times, and what they add to a set."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from connect_dagster.connectors.mysql.decode.events import EventType, MariaDbGtidFlag
from connect_dagster.connectors.mysql.decode.kernels import Bytes, Flags, Longs
from connect_dagster.connectors.mysql.decode.scan import Events
from connect_dagster.connectors.mysql.decode.transaction_kernels import SOURCE_SIZE, gtid_fields, mariadb_gtid_fields
from connect_dagster.connectors.mysql.positions.gtid import GtidSet, MariaDbGtidSet, MySqlGtidSet

_MICROS = 1_000_000


@dataclass(frozen=True, slots=True)
class GtidColumns:
    """The GTIDs of some events, in the order of the log.

    Attributes:
        sources: texts that numbers are counted by: a UUID, or MariaDB's domain and server.
        source: index of each GTID's source.
        number: of each GTID.
        micros: time of the first commit in microseconds since 1970; that of the event where it is not known.
        begins: whether a transaction begins with the GTID itself, as in MariaDB.
        standalone: whether no commit event ends it.
    """

    sources: tuple[str, ...]
    source: Longs
    number: Longs
    micros: Longs
    begins: bool
    standalone: Flags

    def __len__(self) -> int:
        return len(self.number)

    @property
    def texts(self) -> pa.Array:
        """Return the GTIDs as texts."""
        between = "-" if self.begins else ":"
        sources = pa.array(self.sources, pa.string()).take(pa.array(self.source))
        numbers = pa.array(self.number.view(np.uint64)).cast(pa.string())
        return pc.binary_join_element_wise(sources, numbers, between)

    def added_to(self, completed: GtidSet, count: int) -> GtidSet:
        """Return a set with the first GTIDs of these.

        Args:
            completed: the set.
            count: of the GTIDs to add.
        """
        source, number = self.source[:count], self.number[:count]
        if isinstance(completed, MariaDbGtidSet):
            return self._last_of_domains(completed, source, number)
        for index in np.unique(source).tolist():
            for first, last in _runs(np.unique(number[source == index])):
                completed = completed.plus(self.sources[index], first, last)
        return completed

    def _last_of_domains(self, completed: MariaDbGtidSet, source: Longs, number: Longs) -> MariaDbGtidSet:
        found, from_end = np.unique(source[::-1], return_index=True)
        for index, place in sorted(zip(found.tolist(), from_end.tolist(), strict=True), key=lambda pair: -pair[1]):
            domain, server = map(int, self.sources[index].split("-"))
            completed = completed.plus(domain, server, int(number[len(number) - 1 - place]))
        return completed


def gtid_columns(buffer: Bytes, events: Events) -> tuple[Longs, GtidColumns]:
    """Return the indices of the events that are GTIDs, and these."""
    mariadb = np.flatnonzero(events.type == EventType.MARIADB_GTID)
    if len(mariadb):
        return mariadb, _of_mariadb(buffer, events, mariadb)
    found = np.flatnonzero(events.type == EventType.GTID)
    return found, _of_mysql(buffer, events, found)


def source_of(gtid: str) -> str:
    """Return the source of a GTID: a UUID, or MariaDB's domain and server."""
    return gtid.rpartition(":" if ":" in gtid else "-")[0]


def completed_with(completed: GtidSet, gtid: str) -> GtidSet:
    """Return a set with one more GTID, which is a text."""
    if isinstance(completed, MySqlGtidSet):
        source, _, number = gtid.partition(":")
        return completed.plus(source, int(number))
    domain, server, sequence = map(int, gtid.split("-"))
    return completed.plus(domain, server, sequence)


def _of_mysql(buffer: Bytes, events: Events, found: Longs) -> GtidColumns:
    raw = np.empty(len(found) * SOURCE_SIZE, np.uint8)
    number, micros = np.empty(len(found), np.int64), np.empty(len(found), np.int64)
    gtid_fields(buffer, events.body[found], events.length[found], raw, number, micros)
    uuids, source = np.unique(raw.view(f"V{SOURCE_SIZE}"), return_inverse=True)
    sources = tuple(str(UUID(bytes=uuid.tobytes())) for uuid in uuids)
    micros = np.where(micros == 0, events.timestamp[found] * _MICROS, micros)
    return GtidColumns(sources, source.astype(np.int64), number, micros, False, np.zeros(len(found), np.bool_))


def _of_mariadb(buffer: Bytes, events: Events, found: Longs) -> GtidColumns:
    number, domain, flags = (np.empty(len(found), np.int64) for _ in range(3))
    mariadb_gtid_fields(buffer, events.body[found], number, domain, flags)
    both = domain << 32 | events.server_id[found]
    streams, source = np.unique(both, return_inverse=True)
    sources = tuple(f"{stream >> 32}-{stream & 0xFFFFFFFF}" for stream in streams.tolist())
    standalone = flags & MariaDbGtidFlag.STANDALONE != 0
    micros = events.timestamp[found] * _MICROS
    return GtidColumns(sources, source.astype(np.int64), number, micros, True, standalone)


def _runs(numbers: Longs) -> list[tuple[int, int]]:
    """Return first and last of the numbers that follow each other without a gap."""
    ends = np.flatnonzero(np.diff(numbers) != 1)
    first, last = np.append(0, ends + 1), np.append(ends, len(numbers) - 1)
    return list(zip(numbers[first].tolist(), numbers[last].tolist(), strict=True))
