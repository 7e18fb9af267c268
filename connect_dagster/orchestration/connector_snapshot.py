"""What one poll learns about a connector, from the worker and, when they can be asked, the brokers."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dagster import AssetKey

from connect_dagster.orchestration.asset_keys import topic_key
from connect_dagster.orchestration.lineage import ConnectorLineage
from connect_dagster.orchestration.records import Connector, Direction, PartitionOffset, TaskProgress
from connect_dagster.orchestration.topic_offsets import Bounds, Partition, lag


@dataclass(frozen=True, slots=True)
class ConnectorSnapshot:
    """A connector at one moment.

    Attributes:
        connector: Its configuration and states.
        lineage: What it reads and writes.
        offsets: Its committed offsets; None when they could not be read.
        progress: Spark progress of its tasks; empty from a Java worker.
        bounds: Bounds of its topics' partitions; None when the brokers were not, or could not be, asked.
    """

    connector: Connector
    lineage: ConnectorLineage
    offsets: tuple[PartitionOffset, ...] | None
    progress: Mapping[str, TaskProgress]
    bounds: Mapping[Partition, Bounds] | None = None

    def with_bounds(self, bounds: Mapping[Partition, Bounds]) -> "ConnectorSnapshot":
        """The same with those of ``bounds`` that belong to its topics."""
        own = {partition: edge for partition, edge in bounds.items() if partition[0] in self.lineage.topics}
        return replace(self, bounds=own)

    @property
    def offsets_json(self) -> dict[str, Any]:
        """The committed offsets in the shape REST gives them."""
        return {"offsets": [entry.model_dump() for entry in self.offsets or ()]}

    @property
    def offsets_text(self) -> str:
        """The committed offsets as text that is equal exactly when they are."""
        return "\n".join(sorted(json.dumps(entry.model_dump(), sort_keys=True) for entry in self.offsets or ()))

    @property
    def position(self) -> int:
        """All numbers of the committed offsets added up: records for a sink, bytes for a file."""
        values = [value for entry in self.offsets or () for value in (entry.offset or {}).values()]
        return sum(value for value in values if isinstance(value, int))

    @property
    def lag(self) -> int | None:
        """Records a sink has not committed yet; None for a source, or when it is not known."""
        if self.bounds is None or self.offsets is None or self.lineage.direction is not Direction.SINK:
            return None
        return lag(self.bounds, _committed(self.offsets))

    def end_offset_total(self, output: AssetKey) -> int | None:
        """Sum of a written topic's end offsets; None for other assets, or when the brokers were not asked."""
        if self.bounds is None:
            return None
        ends = [edge.end for (topic, _), edge in self.bounds.items() if topic_key(topic) == output]
        return sum(ends) if ends else None


def _committed(offsets: tuple[PartitionOffset, ...]) -> dict[Partition, int]:
    """Offsets of a sink by partition, in the shape KIP-875 gives them."""
    return {
        (str(entry.partition["kafka_topic"]), int(entry.partition["kafka_partition"])): int(
            entry.offset["kafka_offset"]
        )
        for entry in offsets
        if entry.offset is not None
    }
