"""Groups of the metrics of a capture, under the names of Debezium's attributes, as its users' boards have them.

Debezium: ``BinlogStreamingChangeEventSourceMetricsMXBean``, ``SnapshotChangeEventSourceMetricsMXBean``. An attribute of
the bean ``debezium.mysql:type=connector-metrics,context=streaming,server=shop`` becomes
``debezium_metrics_MilliSecondsBehindSource{plugin="mysql",name="shop",context="streaming"}``.
"""

from __future__ import annotations

from dataclasses import dataclass

from connect_dagster.plugin.metrics import MetricGroup

_PREFIX, _TYPE = "debezium_metrics", "connector-metrics"
_TAGS = ("plugin", "name", "context")
CAPTURE = MetricGroup(
    _TYPE,
    _PREFIX,
    _TAGS,
    {
        "Connected": "Whether the binary log comes: 1 or 0.",
        "NumberOfDisconnects": "Connections that were lost since the task began.",
        "MilliSecondsBehindSource": "Time from the last change on the server until its record was made; -1 before one.",
        "MilliSecondsSinceLastEvent": "Time since the last record; -1 before one.",
        "NumberOfCommittedTransactions": "Transactions that were read to their end.",
        "TotalNumberOfEventsSeen": "Records of changed rows.",
        "TotalNumberOfCreateEventsSeen": "Records of new rows.",
        "TotalNumberOfUpdateEventsSeen": "Records of rows that were changed.",
        "TotalNumberOfDeleteEventsSeen": "Records of rows that were deleted.",
        "BinlogPosition": "Position in the file of the binary log.",
        "BinlogRetentionSeconds": "Time for which the server keeps its log, 0 for no end; without a counterpart there.",
        "TotalTableCount": "Tables of the snapshot.",
        "RemainingTableCount": "Tables of the snapshot that are not read to their end.",
        "SnapshotRunning": "Whether a snapshot is taken: 1 or 0.",
        "SnapshotCompleted": "Whether a snapshot was taken to its end: 1 or 0.",
        "SnapshotAborted": "Whether a snapshot ended before it had all rows: 1 or 0.",
        "SnapshotSkipped": "Whether no snapshot was needed: 1 or 0.",
        "SnapshotDurationInSeconds": "Time that the snapshot has taken so far, or took.",
    },
    {"BinlogFilename": "File of the binary log."},
    has_worker_tags=False,
)
TABLES = MetricGroup(
    _TYPE,
    _PREFIX,
    (*_TAGS, "table"),
    {
        "RowsScanned": "Rows of a table that the snapshot has read.",
        "RowsEstimated": "Rows of a table as the server estimates them; without a counterpart in Debezium.",
    },
    has_worker_tags=False,
)


@dataclass(frozen=True, slots=True)
class MetricPlace:
    """The connector whose metrics these are.

    Attributes:
        plugin: ``mysql`` or ``mariadb``.
        name: ``topic.prefix``.
    """

    plugin: str
    name: str

    def tags(self, context: str) -> tuple[str, ...]:
        """Return the values of the tags."""
        return self.plugin, self.name, context
