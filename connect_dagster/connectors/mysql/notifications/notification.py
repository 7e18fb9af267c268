"""A notification and its record (Debezium: ``Notification``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from connect_dagster.connectors.mysql.records.service_tables import ServiceRecord
from connect_dagster.java.hashes import hash_map_order

CONNECTOR_NAME = "connector_name"
DATA_COLLECTIONS = "data_collections"
CURRENT_COLLECTION = "current_collection_in_progress"
SCANNED_COLLECTION = "scanned_collection"
TOTAL_ROWS, STATUS = "total_rows_scanned", "status"
_LOAD_FACTOR, _FIRST_CAPACITY = 0.75, 16


class Aggregate(Enum):
    """Things that notifications are about."""

    INITIAL = "Initial Snapshot"
    INCREMENTAL = "Incremental Snapshot"


class Progress(Enum):
    """How far a snapshot is."""

    STARTED = "STARTED"
    IN_PROGRESS = "IN_PROGRESS"
    TABLE_SCAN_COMPLETED = "TABLE_SCAN_COMPLETED"
    COMPLETED = "COMPLETED"
    PAUSED = "PAUSED"
    RESUMED = "RESUMED"
    ABORTED = "ABORTED"
    SKIPPED = "SKIPPED"


class ScanStatus(Enum):
    """How the scan of a table ended."""

    SUCCEEDED = "SUCCEEDED"
    EMPTY = "EMPTY"
    NO_PRIMARY_KEY = "NO_PRIMARY_KEY"
    SKIPPED = "SKIPPED"
    SQL_EXCEPTION = "SQL_EXCEPTION"
    UNKNOWN_SCHEMA = "UNKNOWN_SCHEMA"


@dataclass(frozen=True, slots=True)
class Notification:
    """One notification.

    Attributes:
        id: of the signal that the snapshot follows, else by chance.
        data: further facts, in the order of Java's map.
        timestamp: milliseconds since 1970.
    """

    id: str
    aggregate: Aggregate
    type: Progress
    data: Mapping[str, str]
    timestamp: int

    def record(self) -> ServiceRecord:
        """Return the record of the topic of notifications."""
        value = {
            "id": self.id,
            "type": self.type.value,
            "aggregate_type": self.aggregate.value,
            "additional_data": list(self.data.items()),
            "timestamp": self.timestamp,
        }
        return ServiceRecord({"id": self.id}, value)

    def __str__(self) -> str:
        """Return the text as Java logs it."""
        data = ", ".join(f"{key}={value}" for key, value in self.data.items())
        return (
            f"{{id='{self.id}', aggregateType='{self.aggregate.value}', type='{self.type.value}', "
            f"additionalData={{{data}}}, timestamp={self.timestamp}}}"
        )


def in_java_order(data: Mapping[str, str], connector: str) -> dict[str, str]:
    """Return facts with the connector's name, in the order of Java's ``HashMap`` of them."""
    capacity = int(len(data) / _LOAD_FACTOR + 1) if data else _FIRST_CAPACITY
    every = {**data, CONNECTOR_NAME: connector}
    return {key: every[key] for key in hash_map_order(every, capacity)}
