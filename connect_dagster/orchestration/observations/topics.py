"""Readings of topics from the brokers: offsets, sizes and times of the newest records, and their metadata."""

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from confluent_kafka import KafkaException
from dagster import MetadataValue, TableColumn, TableRecord, TableSchema

from connect_dagster.errors import ConnectError
from connect_dagster.kafka.access import Bootstrap
from connect_dagster.kafka.topic_sizes import fetch_topic_sizes
from connect_dagster.orchestration._compat import DATA_VERSION_TAG
from connect_dagster.orchestration.observations.metadata import LAST_UPDATED
from connect_dagster.orchestration.observations.topic_offsets import (
    Bounds,
    Partition,
    fetch_newest_times,
    fetch_topic_bounds,
)

_MOST_ROWS = 100

Read = TypeVar("Read")


@dataclass(frozen=True, slots=True)
class TopicReading:
    """A topic at one moment, by partition number.

    Attributes:
        bounds: Its offsets.
        sizes: Its bytes; None when the brokers did not return them.
        newest: Largest timestamps of its records, in epoch seconds; None when the brokers did not return them.
    """

    bounds: Mapping[int, Bounds]
    sizes: Mapping[int, int] | None = None
    newest: Mapping[int, float] | None = None

    @property
    def version(self) -> str:
        """Return a hash of the end offsets: another one when records were added."""
        text = ",".join(f"{number}:{edge.end}" for number, edge in sorted(self.bounds.items()))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def metadata(self, now: float) -> dict[str, Any]:
        """Return the metadata of an observation at ``now`` (epoch seconds)."""
        edges = self.bounds.values()
        metadata: dict[str, Any] = {
            "partition_count": len(edges),
            "start_offset_total": sum(edge.start for edge in edges),
            "end_offset_total": sum(edge.end for edge in edges),
            # Less where records were compacted, or a transaction has its marker.
            "record_count_at_most": sum(edge.end - edge.start for edge in edges),
            "partitions": self._table(),
        }
        if self.sizes is not None:
            metadata["size_bytes"] = sum(self.sizes.values())
        if self.newest:
            newest = max(self.newest.values())
            metadata[LAST_UPDATED] = MetadataValue.timestamp(newest)
            metadata["newest_record_age_seconds"] = max(0.0, now - newest)
        return metadata

    def _table(self) -> MetadataValue:
        types = {"partition": "int", "start_offset": "int", "end_offset": "int"}
        if self.sizes is not None:
            types["size_bytes"] = "int"
        if self.newest is not None:
            types["newest_record"] = "string"
        schema = TableSchema([TableColumn(name, kind) for name, kind in types.items()])
        rows = [self._row(number) for number in sorted(self.bounds)[:_MOST_ROWS]]
        return MetadataValue.table([TableRecord({name: row[name] for name in types}) for row in rows], schema=schema)

    def _row(self, number: int) -> dict[str, int | str]:
        edge, newest = self.bounds[number], (self.newest or {}).get(number)
        return {
            "partition": number,
            "start_offset": edge.start,
            "end_offset": edge.end,
            "size_bytes": (self.sizes or {}).get(number, 0),
            "newest_record": ""
            if newest is None
            else datetime.fromtimestamp(newest, UTC).isoformat(timespec="seconds"),
        }


def version_tags(bounds: Mapping[Partition, Bounds] | None, topic: str) -> dict[str, str]:
    """Return the tag with the data version of a topic; none without its bounds."""
    own = _of(bounds or {}, topic)
    return {DATA_VERSION_TAG: TopicReading(own).version} if own else {}


def read_topics(
    brokers: Bootstrap, topics: Collection[str], timeout: float, warn: Callable[[str], None]
) -> dict[str, TopicReading]:
    """Return readings of those of ``topics`` that exist.

    Args:
        brokers: The brokers.
        topics: Names of topics.
        timeout: Bound for each request, in seconds.
        warn: Called with what could not be read: sizes need a right to the cluster, times brokers of Kafka 3.0.

    Raises:
        KafkaException: The brokers do not return the offsets in time.
        ConnectError: They refuse the login, or a setting of the client is wrong.
    """

    def readable(what: str, read: Callable[[Bootstrap, Collection[str], float], Read]) -> Read | None:
        try:
            return read(brokers, topics, timeout)
        except (KafkaException, ConnectError) as error:
            warn(f"The brokers did not return the {what} of topics: {error}")
            return None

    bounds = fetch_topic_bounds(brokers, topics, timeout)
    sizes, newest = readable("sizes", fetch_topic_sizes), readable("newest times", fetch_newest_times)
    return {
        topic: TopicReading(
            _of(bounds, topic),
            None if sizes is None else _of(sizes, topic),
            None if newest is None else _of(newest, topic),
        )
        for topic in {name for name, _ in bounds}
    }


def _of(found: Mapping[Partition, Read], topic: str) -> dict[int, Read]:
    return {number: value for (name, number), value in found.items() if name == topic}
