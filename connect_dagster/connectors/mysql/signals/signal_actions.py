"""Does what signals ask for (Debezium: ``SignalProcessor``). A bad signal is one warning, and changes nothing."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

from connect_dagster.connectors.mysql.flavor import Flavor
from connect_dagster.connectors.mysql.history.schema_changes import SchemaChanges, StatementPlace
from connect_dagster.connectors.mysql.positions.gtid import MariaDbGtidSet, parse_gtid_set
from connect_dagster.connectors.mysql.positions.position import Position
from connect_dagster.connectors.mysql.signals.signal import (
    BadSignalError,
    ChangeSchema,
    ExecuteSnapshot,
    LogMessage,
    PauseSnapshot,
    Request,
    ResumeSnapshot,
    SetPosition,
    Signal,
    StopSnapshot,
    request,
)
from connect_dagster.connectors.mysql.signals.snapshot_requests import SnapshotRequests
from connect_dagster.connectors.mysql.stream.place import Place
from connect_dagster.errors import ConfigError, DataError
from connect_dagster.plugin.frames import SourceTable

log = logging.getLogger(__name__)

_NO_SNAPSHOTS = "incremental snapshots need a table of signals: give the connector signal.data.collection"


@dataclass(frozen=True, slots=True)
class ActionParts:
    """Parts that signals act on.

    Attributes:
        flavor: kind of the server.
        schema_changes: applies changes of tables.
        snapshots: take requests for incremental snapshots; ``None`` without a table of signals.
        micros: gives the present time in microseconds since 1970.
    """

    flavor: Flavor
    schema_changes: SchemaChanges
    snapshots: SnapshotRequests | None
    micros: Callable[[], int]


class SignalActions:
    """Acts on signals.

    Args:
        parts: of the connector.

    Attributes:
        chosen_position: at which the next start begins; ``None`` for where the log has been read to.
    """

    def __init__(self, parts: ActionParts) -> None:
        self.chosen_position: Position | None = None
        self._parts = parts

    def act(self, signal: Signal, place: Place) -> list[SourceTable]:
        """Do what a signal asks for; return batches without offsets.

        Args:
            signal: as it came.
            place: that the log has reached.

        Raises:
            ConnectError: the schema history cannot be written.
        """
        try:
            return self._done(request(signal), signal.id, place)
        except (DataError, ConfigError) as error:
            log.warning("The signal %s of type %s is passed over: %s", signal.id, signal.type, error)
            return []

    def _done(self, asked: Request, number: str | None, place: Place) -> list[SourceTable]:
        match asked:
            case LogMessage(message):
                log.info("%s", message.replace("{}", _java_map(place.stored()), 1))
            case ChangeSchema(database, changes):
                return self._parts.schema_changes.put(changes, database, self._place(place))
            case SetPosition():
                self._set_position(asked, place.stored())
            case ExecuteSnapshot():
                return self._snapshots.execute(asked, number)
            case StopSnapshot():
                return self._snapshots.stop(asked)
            case PauseSnapshot():
                return self._snapshots.pause()
            case ResumeSnapshot():
                return self._snapshots.go_on()
        return []

    @property
    def _snapshots(self) -> SnapshotRequests:
        if self._parts.snapshots is None:
            raise BadSignalError(_NO_SNAPSHOTS)
        return self._parts.snapshots

    def _place(self, place: Place) -> StatementPlace:
        micros = self._parts.micros() if place.micros is None else place.micros
        return StatementPlace(place.stored(), place.last_event, micros, place.gtid)

    def _set_position(self, asked: SetPosition, present: Position) -> None:
        if asked.gtids is not None:
            is_mariadb = isinstance(parse_gtid_set(asked.gtids), MariaDbGtidSet)
            if is_mariadb != (self._parts.flavor is Flavor.MARIADB):
                raise BadSignalError(f"its gtid_set is not of this kind of server: {asked.gtids}")
        clean = replace(present, events=0, rows=0)
        self.chosen_position = (
            replace(clean, gtids=asked.gtids)
            if asked.file is None
            else replace(clean, file=asked.file, position=asked.position, gtids=None)
        )
        log.info("The next start of the connector will begin at %s", self.chosen_position.offset())


def _java_map(position: Position) -> str:
    return "{" + ", ".join(f"{name}={value}" for name, value in position.offset().items()) + "}"
