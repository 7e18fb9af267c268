"""A source that ends its transactions itself: groups of numbers, every third of which it aborts."""

import threading

from connect_dagster.plugin.config import ConfigDef, Importance, Type, config_key
from connect_dagster.plugin.connector import (
    ConnectorTransactionBoundaries,
    ExactlyOnceSupport,
    Properties,
    SourceConnector,
    SourceTask,
)
from connect_dagster.plugin.records import SourceRecord
from connect_dagster.plugin.schema import STRING_SCHEMA

POLL_SECONDS = 0.02
POLLED = 3
"""Records of a poll: no group ends with one."""


class GroupsConfig(ConfigDef):
    """Configuration of the connector."""

    topic: str = config_key("topic", importance=Importance.HIGH, doc="Topic of the records.")
    size: int = config_key("size", type=Type.INT, default=5, importance=Importance.LOW, doc="Records of a group.")
    count: int = config_key("count", type=Type.INT, importance=Importance.HIGH, doc="Number of records.")


def is_aborted(n: int, size: int) -> bool:
    """Return whether a number is in a group that is aborted."""
    return n // size % 3 == 2


class GroupsTask(SourceTask):
    """Goes on behind its last committed record."""

    def start(self, config: Properties) -> None:
        self.config = GroupsConfig.parse(config)
        self.ending = threading.Event()
        committed = self.context.offsets.offset({"groups": "all"})
        self.next = 0 if committed is None else committed["n"] + 1

    def poll(self) -> list[SourceRecord] | None:
        if self.ending.wait(POLL_SECONDS) or self.next >= self.config.count:
            return None
        numbers = range(self.next, min(self.next + POLLED, self.config.count))
        self.next = numbers.stop
        return [self._record(n) for n in numbers]

    def stop(self) -> None:
        self.ending.set()

    def _record(self, n: int) -> SourceRecord:
        record = SourceRecord({"groups": "all"}, {"n": n}, self.config.topic, str(n), STRING_SCHEMA)
        context = self.context.transaction_context
        if context is not None and n % self.config.size == self.config.size - 1:
            if is_aborted(n, self.config.size):
                context.abort_transaction(record)
            else:
                context.commit_transaction(record)
        return record


class GroupsConnector(SourceConnector):
    """One task."""

    config_def = GroupsConfig
    task_class = GroupsTask

    def exactly_once_support(self, config: Properties) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED

    def can_define_transaction_boundaries(self, config: Properties) -> ConnectorTransactionBoundaries:
        return ConnectorTransactionBoundaries.SUPPORTED
