"""How ``connect-dagster topic list -J`` prints a cluster: in the words of kcat. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what the client library does not export
    from confluent_kafka.admin._metadata import ClusterMetadata, PartitionMetadata


def cluster_json(cluster: ClusterMetadata) -> str:
    """Brokers, and topics with their partitions, as one JSON object on one line."""
    return json.dumps(
        {
            "brokers": [
                {"id": broker.id, "name": f"{broker.host}:{broker.port}"}
                for broker in sorted(cluster.brokers.values(), key=lambda broker: broker.id)
            ],
            "topics": [
                {
                    "topic": name,
                    "partitions": [_partition(found.partitions[number]) for number in sorted(found.partitions)],
                }
                for name, found in sorted(cluster.topics.items())
            ],
        },
        separators=(",", ":"),
    )


def _partition(partition: PartitionMetadata) -> dict[str, Any]:
    return {
        "partition": partition.id,
        "leader": partition.leader,
        "replicas": [{"id": broker} for broker in partition.replicas],
        "isrs": [{"id": broker} for broker in partition.isrs],
    }
