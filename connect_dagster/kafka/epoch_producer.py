"""Writes single records with timestamp 0, which confluent-kafka's producer would replace by the current time."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from confluent_kafka import KafkaError, KafkaException

from connect_dagster.kafka.client_statistics import StatisticsCollector
from connect_dagster.kafka.column_producer import LazyColumnProducer
from connect_dagster.kafka.settings.java_settings import Settings

log = logging.getLogger(__name__)

Record = Mapping[str, Any]
"""Arguments of ``Producer.produce``."""
_NO_EXTRA: Mapping[str, object] = {}
_SCHEMA = pa.schema(
    {
        "value": pa.binary(),
        "key": pa.binary(),
        "headers": pa.list_(pa.struct({"key": pa.string(), "value": pa.binary()})),
        "timestamp": pa.int64(),
    }
)


class EpochProducer:
    """A producer that is opened with its first record; for one thread.

    Args:
        settings: producer settings, in Java's names.
        on_failed: called for each record that was not delivered.
        extra: librdkafka's own settings, which go before.
        statistics: of the producer; ``None`` where nobody asks for them.
    """

    def __init__(
        self,
        settings: Settings,
        on_failed: Callable[[Record, KafkaError], None],
        extra: Mapping[str, object] = _NO_EXTRA,
        statistics: StatisticsCollector | None = None,
    ) -> None:
        self._on_failed = on_failed
        self._columns = LazyColumnProducer(settings, extra, self._failed, lambda _: None, statistics=statistics)
        self._sent: list[Record] = []

    def possible(self) -> bool:
        """Open the producer; return ``False``, with a warning at the first call, where librdkafka's own is missing.

        Raises:
            ConnectError: its login gets no token.
        """
        is_first = not self._columns.obstacle
        if self._columns.get(keeps_epoch=True) is None and is_first:
            log.warning("Records with timestamp 0 get the current time: %s", self._columns.obstacle)
        return not self._columns.obstacle

    def produce(self, record: Record) -> None:
        """Queue a record with ``topic``, ``value``, ``key`` and ``headers``, where it is :meth:`possible`.

        Raises:
            KafkaException: the record cannot be queued.
            ConnectError: librdkafka does not write timestamp 0.
        """
        producer, topic = self._columns.get(keeps_epoch=True), record["topic"]
        assert producer is not None, "it is possible"
        headers = [{"key": name, "value": value} for name, value in record.get("headers") or ()]
        row = {"value": record.get("value"), "key": record.get("key"), "headers": headers, "timestamp": 0}
        table = pa.Table.from_pylist([row], _SCHEMA)
        if not producer.knows(table, topic):
            raise KafkaException(KafkaError(KafkaError.TOPIC_EXCEPTION, f"Topic '{topic}' has no valid name"))
        self._sent.append(record)
        for _, _, error in producer.produce(table, topic, lambda: False, len(self._sent) - 1):
            raise KafkaException(error)

    def serve(self) -> None:
        """Call what waits to be called back."""
        if (producer := self._columns.opened) is not None:
            producer.serve()

    def flush(self, seconds: float) -> bool:
        """Wait for the deliveries of all records; return whether none is left."""
        producer = self._columns.opened
        if producer is not None and not producer.flush(seconds):
            return False
        self._sent.clear()
        return True

    def close(self) -> None:
        """Drop records that are not acknowledged, and end."""
        self._columns.close()

    def _failed(self, number: int, _: str, error: KafkaError) -> None:
        self._on_failed(self._sent[number], error)
