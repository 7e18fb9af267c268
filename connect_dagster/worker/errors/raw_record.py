"""A record in bytes, as a report of its failure shows it (Java: the consumer record of ``ProcessingContext``)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RawRecord:
    """A record as it was read from Kafka, or as a source polled it.

    Attributes:
        topic: the topic it was read from; for a record of a source, the topic it was written to.
        key: bytes of the key.
        value: bytes of the value.
        partition: of ``topic``; ``None`` where a source left the choice to the partitioner.
        offset: ``None`` for a record of a source.
        timestamp: epoch milliseconds; ``None`` for none.
        timestamp_type: ``CreateTime`` or ``LogAppendTime``; ``None`` where there is none.
        headers: in their order.
        source_partition: the partition of the source, as JSON.
        source_offset: as JSON, the offset right after the frame of the record.
    """

    topic: str | None
    key: bytes | None
    value: bytes | None
    partition: int | None = None
    offset: int | None = None
    timestamp: int | None = None
    timestamp_type: str | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    source_partition: str | None = None
    source_offset: str | None = None

    def log_text(self) -> str:
        """Return the record as Java's log shows it; of a record of a source, the parts known here."""
        if self.source_partition is None:
            time = ""
            if self.timestamp_type is not None:
                time = f", timestamp={self.timestamp}, timestampType={self.timestamp_type}"
            place = f"topic='{self.topic}', partition={self.partition}, offset={self.offset}"
            return f", where consumed record is {{{place}{time}}}"
        return (
            f", where source record is = SourceRecord{{sourcePartition={self.source_partition}, "
            f"sourceOffset={self.source_offset}}} ConnectRecord{{topic='{self.topic}', "
            f"kafkaPartition={_text(self.partition)}, key={_text(self.key)}, value={_text(self.value)}, "
            f"timestamp={_text(self.timestamp)}}}"
        )


def _text(value: bytes | int | None) -> str:
    if value is None:
        return "null"
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
