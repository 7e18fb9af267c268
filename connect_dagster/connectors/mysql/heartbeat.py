"""Records at intervals, by which the stored offset moves while no captured table changes.

Debezium: ``HeartbeatImpl``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from connect_dagster.connectors.mysql.positions.position import Position
from connect_dagster.connectors.mysql.records.heartbeats import heartbeat_batch
from connect_dagster.errors import ConnectError
from connect_dagster.plugin.frames import SourceTable

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HeartbeatRules:
    """Options of heartbeats.

    Attributes:
        topic: of the records.
        server: ``topic.prefix``.
        seconds: between two of them.
        partition: of the offsets.
        query: statement that runs with each, perhaps; ``None`` for none.
    """

    topic: str
    server: str
    seconds: float
    partition: Mapping[str, str]
    query: Callable[[], object] | None = None


class Heartbeat:
    """Decides when a record is due.

    Args:
        rules: options.
        monotonic: gives the seconds of a clock.
        milliseconds: gives the present time since 1970.
    """

    def __init__(self, rules: HeartbeatRules, monotonic: Callable[[], float], milliseconds: Callable[[], int]) -> None:
        self._rules = rules
        self._monotonic = monotonic
        self._milliseconds = milliseconds
        self._last = monotonic()

    def batch(self, position: Position) -> SourceTable | None:
        """Return the record that is due, with the offset of a position; ``None`` where none is."""
        now = self._monotonic()
        if now - self._last < self._rules.seconds:
            return None
        self._last = now
        self._run_query()
        batch = heartbeat_batch(self._rules.topic, self._rules.server, self._milliseconds())
        return replace(batch, source_partition=self._rules.partition, source_offset=position.offset())

    def _run_query(self) -> None:
        if self._rules.query is None:
            return
        try:
            self._rules.query()
        except ConnectError as error:
            log.error("The statement of heartbeat.action.query fails: %s", error)
