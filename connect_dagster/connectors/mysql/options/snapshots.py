"""Options of snapshots: when, of what, under which locks, how fast; and of incremental ones."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from connect_dagster.connectors.mysql.locking_modes import LOCKS, LockingMode, Locks
from connect_dagster.connectors.mysql.options.checks import choice, chosen
from connect_dagster.connectors.mysql.selection.regex_lists import RegexList, regexes
from connect_dagster.connectors.mysql.selection.select_overrides import OPTION as OVERRIDES
from connect_dagster.connectors.mysql.selection.select_overrides import SelectOverrides
from connect_dagster.connectors.mysql.snapshot_modes import MODES, SnapshotMode, SnapshotPlan, When
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.errors import ConfigError
from connect_dagster.plugin.config import (
    ConfigDef,
    Importance,
    Type,
    Width,
    at_least,
    between,
    config_group,
    config_key,
)

SNAPSHOT = "Snapshot"
IN_SNAPSHOT = "snapshot.include.collection.list"
_THREADS, _CHUNK = "snapshot.max.threads", "incremental.snapshot.chunk.size"
_OUR_THREADS, _OUR_CHUNK = 2, 20_000
_MOST_THREADS = 64
_BY_SWITCHES = "snapshot.mode.configuration.based."


class TableOrder(Enum):
    """``snapshot.tables.order.by.row.count``."""

    DISABLED = "disabled"
    ASCENDING = "ascending"
    DESCENDING = "descending"


class WatermarkStrategy(Enum):
    """``incremental.snapshot.watermarking.strategy``."""

    INSERT_INSERT = "INSERT_INSERT"
    INSERT_DELETE = "INSERT_DELETE"


class _QueryMode(Enum):
    SELECT_ALL = "select_all"


@dataclass(frozen=True, slots=True)
class IncrementalOptions:
    """How incremental snapshots read.

    Attributes:
        chunk_rows: rows that are read at a time.
        strategy: rows of the signal table that mark a chunk's window.
    """

    chunk_rows: int
    strategy: WatermarkStrategy


def _tables(name: str, value: str | None) -> None:
    for table in filter(None, map(str.strip, (value or "").split(","))):
        TableId.parse(name, table)


def _size(name: str, value: int | None) -> None:
    if value is not None:
        at_least(0)(name, value)


def _false(name: str, value: bool | None) -> None:
    if value:
        reason = "It is not supported here: an incremental snapshot writes to the signal table. Leave it out"
        raise ConfigError.invalid(name, value, reason)


class SnapshotOptions(ConfigDef):
    """Snapshots."""

    with config_group(SNAPSHOT, importance=Importance.MEDIUM, width=Width.SHORT):
        snapshot_mode: str = config_key(
            "snapshot.mode",
            default=SnapshotMode.INITIAL.value,
            importance=Importance.LOW,
            validator=choice(SnapshotMode, {"custom": "A snapshotter of the JVM cannot be loaded"}),
            display_name="Snapshot mode",
            doc="When a snapshot is taken: 'initial' once; 'initial_only' once, without the log after it; 'always' at "
            "each start; 'when_needed' also when the server no longer has the log of the stored position; 'no_data' "
            "once, of the structure alone; 'recovery' of the structure at each start, to make a lost schema history "
            "again; 'configuration_based' by five more options; 'never', of Debezium 1.x, not at all.",
        )
        by_switches_data: bool = config_key(
            f"{_BY_SWITCHES}snapshot.data",
            default=False,
            width=Width.MEDIUM,
            display_name="Snapshot mode property based snapshot data",
            doc="With configuration_based: whether a snapshot has rows.",
        )
        by_switches_schema: bool = config_key(
            f"{_BY_SWITCHES}snapshot.schema",
            default=False,
            width=Width.MEDIUM,
            display_name="Snapshot mode property based snapshot schema",
            doc="With configuration_based: whether a snapshot has the structure of tables.",
        )
        by_switches_stream: bool = config_key(
            f"{_BY_SWITCHES}start.stream",
            default=False,
            width=Width.MEDIUM,
            display_name="Snapshot mode property based start stream",
            doc="With configuration_based: whether the log is read after the snapshot.",
        )
        by_switches_on_schema_error: bool = config_key(
            f"{_BY_SWITCHES}snapshot.on.schema.error",
            default=False,
            width=Width.MEDIUM,
            display_name="Snapshot mode property based snapshot on schema error",
            doc="With configuration_based: whether the structure is read again if the schema history is lost.",
        )
        by_switches_on_data_error: bool = config_key(
            f"{_BY_SWITCHES}snapshot.on.data.error",
            default=False,
            width=Width.MEDIUM,
            display_name="Snapshot mode property based snapshot on data error",
            doc="With configuration_based: whether all is read again if the server has no longer the stored position.",
        )
        query_mode: str = config_key(
            "snapshot.query.mode",
            default=_QueryMode.SELECT_ALL.value,
            importance=Importance.LOW,
            validator=choice(
                _QueryMode, {"custom": f"A class of the JVM cannot be loaded: {OVERRIDES} gives tables own statements"}
            ),
            display_name="Snapshot query mode",
            doc=f"How rows are read: all of them; {OVERRIDES} has statements of single tables.",
        )
        in_snapshot: tuple[str, ...] = config_key(
            IN_SNAPSHOT,
            default=(),
            width=Width.LONG,
            validator=regexes,
            display_name="Snapshot mode include data collection",
            doc="Captured tables whose rows are read in a snapshot: regular expressions for database.table. Left out, "
            "all.",
        )
        overridden: str | None = config_key(
            OVERRIDES,
            default=None,
            width=Width.LONG,
            validator=_tables,
            display_name="List of tables where the default select statement used during snapshotting should be "
            "overridden.",
            doc=f"Tables, as database.table, that a statement reads which is the value of {OVERRIDES}.database.table.",
        )
        max_threads: int = config_key(
            _THREADS,
            default=1,
            validator=between(1, _MOST_THREADS),
            display_name="Snapshot maximum threads",
            doc="Connections that read tables at the same time. Left out, they are 2.",
        )
        fetch_size: int | None = config_key(
            "snapshot.fetch.size",
            default=None,
            validator=_size,
            width=Width.MEDIUM,
            display_name="Snapshot fetch size",
            doc="Most rows of a batch of a snapshot. Left out, batches are of 8 to 16 MB.",
        )
        lock_timeout_ms: int = config_key(
            "snapshot.lock.timeout.ms",
            type=Type.LONG,
            default=10_000,
            validator=at_least(0),
            width=Width.LONG,
            display_name="Snapshot lock timeout (ms)",
            doc="Longest wait for locks of tables; then the snapshot fails.",
        )
        delay_ms: int = config_key(
            "snapshot.delay.ms",
            type=Type.LONG,
            default=0,
            importance=Importance.LOW,
            validator=at_least(0),
            width=Width.MEDIUM,
            display_name="Snapshot Delay (milliseconds)",
            doc="Time between the start and the snapshot.",
        )
        streaming_delay_ms: int = config_key(
            "streaming.delay.ms",
            type=Type.LONG,
            default=0,
            importance=Importance.LOW,
            validator=at_least(0),
            width=Width.MEDIUM,
            display_name="Streaming Delay (milliseconds)",
            doc="Time between the snapshot and the log, in which the snapshot's offset can be committed.",
        )
        table_order_name: str = config_key(
            "snapshot.tables.order.by.row.count",
            default=TableOrder.DISABLED.value,
            validator=choice(TableOrder),
            width=Width.NONE,
            display_name="Initial snapshot tables order by row count",
            doc="Order in which tables are read: 'ascending' or 'descending' by their number of rows; 'disabled' by "
            "the include list.",
        )
        chunk_size: int = config_key(
            _CHUNK,
            default=1024,
            validator=at_least(1),
            width=Width.MEDIUM,
            display_name="Incremental snapshot chunk size",
            doc="Rows that an incremental snapshot reads at a time. Left out, they are 20000.",
        )
        watermarks: str = config_key(
            "incremental.snapshot.watermarking.strategy",
            default=WatermarkStrategy.INSERT_INSERT.value,
            importance=Importance.LOW,
            validator=choice(WatermarkStrategy),
            width=Width.MEDIUM,
            display_name="Incremental snapshot watermarking strategy",
            doc="How the window of a chunk ends: 'INSERT_INSERT' with another row in the signal table, 'INSERT_DELETE' "
            "with the delete of the row that began it.",
        )
        read_only: bool = config_key(
            "read.only",
            default=False,
            importance=Importance.LOW,
            validator=_false,
            display_name="Read only connection",
            doc="Whether incremental snapshots do without the signal table. Only false is supported here.",
        )

    @property
    def plan(self) -> SnapshotPlan:
        """Return what the mode does."""
        mode = chosen(SnapshotMode, self.snapshot_mode)
        return self._switched if mode is SnapshotMode.CONFIGURATION_BASED else MODES[mode]

    def locks(self, mode: str) -> Locks:
        """Return what a ``snapshot.locking.mode`` locks."""
        return LOCKS[chosen(LockingMode, mode)]

    @property
    def of_snapshot(self) -> RegexList:
        """Return the expressions for tables whose rows are read."""
        return RegexList.of_items(IN_SNAPSHOT, self.in_snapshot)

    @property
    def overrides(self) -> SelectOverrides:
        """Return the statements of single tables."""
        return SelectOverrides.parse(self.originals)

    @property
    def threads(self) -> int:
        """Return the number of connections that read tables."""
        return self.max_threads if _THREADS in self.originals else _OUR_THREADS

    @property
    def table_order(self) -> TableOrder:
        """Return the order of tables."""
        return chosen(TableOrder, self.table_order_name)

    @property
    def incremental(self) -> IncrementalOptions:
        """Return how incremental snapshots read."""
        rows = self.chunk_size if _CHUNK in self.originals else _OUR_CHUNK
        return IncrementalOptions(rows, chosen(WatermarkStrategy, self.watermarks))

    @property
    def _switched(self) -> SnapshotPlan:
        return SnapshotPlan(
            data=_always_if(self.by_switches_data),
            schema=_always_if(self.by_switches_schema),
            streams=self.by_switches_stream,
            again_without_history=self.by_switches_on_schema_error,
            again_without_position=self.by_switches_on_data_error,
        )


def _always_if(switch: bool) -> When:
    return When.ALWAYS if switch else When.NEVER
