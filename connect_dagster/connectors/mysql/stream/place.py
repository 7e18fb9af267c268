"""A place between two events of a log: facts of the events before it (Debezium: ``BinlogOffsetContext``)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from connect_dagster.connectors.mysql.positions.gtid import GtidSet
from connect_dagster.connectors.mysql.positions.position import Position
from connect_dagster.connectors.mysql.stream.gtid_columns import completed_with

MICROS = 1_000_000


@dataclass(frozen=True, slots=True)
class Transaction:
    """A transaction that has begun and is not committed.

    Attributes:
        position: of its first event in the file: BEGIN, or the GTID of MariaDB.
        events: of it that are done, the first one included.
        standalone: whether it is a single statement of MariaDB, which no commit ends.
    """

    position: int
    events: int
    standalone: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the log.

    Attributes:
        file: of the log.
        position: of the next event.
        last_event: position of the last event.
        completed: transactions that are completely done; ``None`` where offsets have no GTIDs.
        pending: the last GTID, where its transaction is not done.
        transaction: the one that has begun.
        gtid: the last one, done or not.
        micros: microseconds since 1970 for the events that follow, until one has a time itself.
        thread: of the server that writes the transaction; ``None`` outside of one.
        query: statement that changes the rows that follow.
        server_id: of the last event.
        skipped: events, and rows of the one after them, of the next transaction that were sent before a restart.
    """

    file: str
    position: int
    last_event: int = 0
    completed: GtidSet | None = None
    pending: str | None = None
    transaction: Transaction | None = None
    gtid: str | None = None
    micros: int | None = None
    thread: int | None = None
    query: str | None = None
    server_id: int = 0
    skipped: tuple[int, int] = (0, 0)

    @classmethod
    def at(cls, stored: Position, completed: GtidSet | None) -> Place:
        """Return the place at which reading goes on.

        Args:
            stored: where it ended.
            completed: the transactions that the server is asked to leave out.
        """
        micros = None if stored.timestamp is None else stored.timestamp * MICROS
        skipped = (stored.events, stored.rows)
        return cls(stored.file, stored.position, completed=completed, micros=micros, skipped=skipped)

    def at_statement(self, end_position: int, server_id: int) -> Place:
        """Return the place of a statement itself, as its records and the schema history have it.

        Args:
            end_position: after the statement.
            server_id: of the server that wrote it.
        """
        return replace(self, position=end_position, server_id=server_id)

    def after_statement(self) -> Place:
        """Return the place after a statement all of whose effects are done.

        It is a transaction by itself, but for one inside of a transaction that is committed later: SAVEPOINT, or CREATE
        TABLE with SELECT, before the rows that it adds.
        """
        if self.transaction is not None and not self.transaction.standalone:
            return self
        completed = self.completed
        if completed is not None and self.pending is not None:
            completed = completed_with(completed, self.pending)
        return replace(self, completed=completed, pending=None, transaction=None)

    def stored(self) -> Position:
        """Return the position to store once all before this place is sent."""
        start = self.position if self.transaction is None else self.transaction.position
        return Position(
            self.file,
            start,
            None if self.completed is None else str(self.completed),
            0 if self.transaction is None else self.transaction.events,
            server_id=self.server_id,
            timestamp=None if self.micros is None else self.micros // MICROS,
        )
