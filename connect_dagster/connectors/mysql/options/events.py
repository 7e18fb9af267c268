"""Options of what records there are, and of how many at a time."""

from __future__ import annotations

from collections.abc import Sequence

from connect_dagster.connectors.mysql.records.envelope import Operation
from connect_dagster.errors import ConfigError
from connect_dagster.plugin.config import ConfigDef, Importance, Type, Width, at_least, config_group, config_key

EVENTS = "Events"
_NONE = "none"
_BATCH_BYTES, _LEAST_BYTES = 8 << 20, 1 << 16


def _operations(name: str, value: Sequence[str] | None) -> None:
    known = [operation.value for operation in Operation]
    given = [one for one in value or () if one]
    wrong = [one for one in given if one not in (*known, _NONE)]
    if wrong:
        reason = f"'{wrong[0]}' is not an operation, which are {', '.join(known)}; 'none' for no operation"
        raise ConfigError.invalid(name, value, reason)
    if _NONE in given and len(given) > 1:
        raise ConfigError.invalid(name, value, "'none' is not given together with operations")


class EventOptions(ConfigDef):
    """Records beside the rows, and rows that are not sent."""

    with config_group(EVENTS, importance=Importance.MEDIUM, width=Width.SHORT):
        tombstones: bool = config_key(
            "tombstones.on.delete",
            default=True,
            display_name="Change the behaviour of Debezium with regards to delete operations",
            doc="Whether a record without a value follows that of a delete, so that a compacted topic drops the key.",
        )
        skipped: tuple[str, ...] = config_key(
            "skipped.operations",
            default=("t",),
            importance=Importance.LOW,
            validator=_operations,
            display_name="Skipped Operations",
            doc="Operations without records: c for inserts, u for updates, d for deletes, t for TRUNCATE, r for rows "
            "of snapshots, or none.",
        )
        skip_unchanged: bool = config_key(
            "skip.messages.without.change",
            default=False,
            display_name="Skip messages without change",
            doc="Whether an update has no record if no captured column changed.",
        )
        schema_changes: bool = config_key(
            "include.schema.changes",
            default=True,
            display_name="Include database schema changes",
            doc="Whether statements such as ALTER TABLE are sent to the topic that topic.prefix names.",
        )
        schema_comments: bool = config_key(
            "include.schema.comments",
            default=False,
            display_name="Include Table and Column Comments",
            doc="Whether these records and the schema history have the comments of tables and columns.",
        )
        queries: bool = config_key(
            "include.query",
            default=False,
            display_name="Include original SQL query with in change events",
            doc="Whether records have the statement that changed the row. MySQL must have binlog_rows_query_log_events "
            "on, MariaDB binlog_annotate_row_events.",
        )
        transactions: bool = config_key(
            "provide.transaction.metadata",
            default=False,
            importance=Importance.LOW,
            display_name="Store transaction metadata information in a dedicated topic.",
            doc="Whether beginnings and ends of transactions are sent to a topic, and records have their number in "
            "them.",
        )
        with_context_headers: bool = config_key(
            "extended.headers.enabled",
            default=True,
            importance=Importance.LOW,
            display_name="Enable/Disable extended headers",
            doc="Whether data records have headers __debezium.context.* that name the connector, its task and this "
            "run of it.",
        )
        queue_bytes: int = config_key(
            "max.queue.size.in.bytes",
            type=Type.LONG,
            default=0,
            validator=at_least(0),
            width=Width.LONG,
            display_name="Change event buffer size in bytes",
            doc="Bytes of the log, or of rows of a snapshot, that make a batch; 0 for 8 MB. One event, or row, may be "
            "larger.",
        )
        poll_interval_ms: int = config_key(
            "poll.interval.ms",
            type=Type.LONG,
            default=500,
            validator=at_least(1),
            display_name="Poll interval (ms)",
            doc="Longest wait for events in one poll. Events that come are sent at once, in Debezium after this time.",
        )

    @property
    def skipped_operations(self) -> frozenset[Operation]:
        """Return the operations without records."""
        return frozenset(Operation(one) for one in self.skipped if one and one != _NONE)

    @property
    def batch_bytes(self) -> int:
        """Return the bytes of the log, or of rows, that make a batch."""
        return max(self.queue_bytes or _BATCH_BYTES, _LEAST_BYTES)
